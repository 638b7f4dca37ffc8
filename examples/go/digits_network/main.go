// Digits_network teaches a network handwritten digits: 64 pixels, 256 hidden units,
// 10 classes.
//
//	go run . [--file digits.csv]
//
// Images 1 to 1000 of the file train it, the others test it. The nodes of a step
// (answers, loss, gradients, AdamW) are made once for each size of batch; then leafs
// are rewritten and the graph is computed again. First values, order and rates are
// those of examples/rust/digits_network.rs, so that the same numbers come out in every
// language.
package main

import (
	"flag"
	"fmt"
	"log"
	"math"

	tensorlib "tensorlib/bindings/go"
)

const (
	nPixels, hidden, classes         = 64, 256, 10
	train, batchSize, epochs, warmUp = 1000, 32, 60, 50
	seed                             = 1
	rate, lastFactor, decay          = 0.01, 0.01, 0.1
	beta1, beta2, epsilon            = 0.9, 0.999, 1e-8
)

// network holds what all batches share: the parameters and what AdamW needs.
type network struct {
	backend          *tensorlib.Backend
	ctx              *tensorlib.Context
	parameters, m, v []*tensorlib.Tensor
	settings         *tensorlib.Tensor
	images
}

// batch is the leafs of n images and what is computed of them; right, how many answers
// are, in testing alone.
type batch struct {
	n                      int
	x, digits, loss, right *tensorlib.Tensor
	graph                  *tensorlib.Graph
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("digits_network: ")
	file := flag.String("file", "../../data/digits.csv", "a CSV file of 64 pixels and a digit per line")
	flag.Parse()
	var net network
	net.images = must(readImages(*file))
	net.backend = must(tensorlib.NewBackend("cpu"))
	defer net.backend.Close()
	net.ctx = must(tensorlib.NewContext())
	defer net.ctx.Close()
	net.settings = must(net.ctx.NewTensor(tensorlib.F32, 7))
	for i, shape := range [][]int64{{nPixels, hidden}, {hidden}, {hidden, classes}, {classes}} {
		net.addParameter(shape, []int64{nPixels, nPixels, hidden, hidden}[i])
	}
	net.train()
	net.test()
}

// addParameter makes a leaf with values from -1/sqrt(inputs) to 1/sqrt(inputs), each as
// likely, by the seed and the parameter's number.
func (net *network) addParameter(shape []int64, inputs int64) {
	ctx := net.ctx
	value := must(ctx.NewTensor(tensorlib.F32, shape...))
	state := must(tensorlib.NewTensorFrom(ctx, []int64{seed, int64(len(net.parameters))}, 2))
	bound := 1 / math.Sqrt(float64(inputs))
	random := must(ctx.RandomUniform(state, []int64{value.Len()}, -bound, bound, 0))
	check(net.backend.Compute(random))
	check(tensorlib.Write(value, must(tensorlib.ReadAll[float32](random))))
	net.parameters = append(net.parameters, value)
	net.m = append(net.m, must(ctx.NewTensor(tensorlib.F32, shape...)))
	net.v = append(net.v, must(ctx.NewTensor(tensorlib.F32, shape...)))
}

// newBatch makes the nodes for n images: the loss, and steps down its gradients in
// training, how many answers are right in testing.
func (net *network) newBatch(n int, training bool) *batch {
	ctx, p := net.ctx, net.parameters
	b := &batch{n: n, x: must(ctx.NewTensor(tensorlib.F32, nPixels, int64(n))), digits: must(ctx.NewTensor(tensorlib.I32, 1, int64(n)))}
	inner := must(ctx.Relu(must(ctx.Add(must(ctx.MulMat(p[0], b.x)), p[1]))))
	logits := must(ctx.Add(must(ctx.MulMat(p[2], inner)), p[3])) // (10, n)
	ofDigits := must(ctx.Gather(must(ctx.LogSoftMax(logits)), b.digits, 0))
	b.loss = must(ctx.Scale(must(ctx.Sum(ofDigits, nil)), -1/float64(n), nil))
	outputs := []*tensorlib.Tensor{b.loss}
	if training {
		for i, gradient := range must(b.loss.Gradients(p...)) {
			outputs = append(outputs, must(ctx.OptStepAdamw(p[i], gradient, net.m[i], net.v[i], net.settings)))
		}
	} else {
		answers := must(ctx.Reshape(must(ctx.Argmax(logits, tensorlib.Along(0))), 1, -1))
		b.right = must(ctx.CountEqual(answers, b.digits))
		outputs = append(outputs, b.right)
	}
	b.graph = must(tensorlib.NewGraph(ctx, outputs...))
	return b
}

// compute computes a batch of the images with these numbers, and gives the loss.
func (net *network) compute(b *batch, numbers []int) float64 {
	var x []float32
	var digits []int32
	for _, number := range numbers {
		x = append(x, net.pixels[number*nPixels:][:nPixels]...)
		digits = append(digits, net.digits[number])
	}
	check(tensorlib.Write(b.x, x))
	check(tensorlib.Write(b.digits, digits))
	check(b.graph.Compute(net.backend))
	return float64(must(b.loss.GetF32(0)))
}

func (net *network) train() {
	whole, rest := net.newBatch(batchSize, true), net.newBatch(train%batchSize, true)
	defer whole.graph.Close()
	defer rest.graph.Close()
	step, steps := 0, epochs*((train+batchSize-1)/batchSize)
	for epoch := range epochs {
		sum, numbers := 0.0, shuffled(train, epoch)
		for ; len(numbers) > 0; step++ {
			b := whole
			if len(numbers) < batchSize {
				b = rest
			}
			check(tensorlib.Write(net.settings, settingsOf(step, steps)))
			sum += net.compute(b, numbers[:b.n]) * float64(b.n)
			numbers = numbers[b.n:]
		}
		if (epoch+1)%10 == 0 {
			fmt.Printf("epoch %d: loss %.12f\n", epoch+1, sum/train)
		}
	}
}

func (net *network) test() {
	b := net.newBatch(len(net.digits)-train, false)
	defer b.graph.Close()
	var numbers []int
	for i := range b.n {
		numbers = append(numbers, train+i)
	}
	net.compute(b, numbers)
	right := must(tensorlib.ReadAll[int64](b.right))[0]
	fmt.Printf("accuracy %.2f %%\n", 100*float64(right)/float64(b.n))
}

// settingsOf gives what a step is told: its rate, which rises over the first steps and
// falls along half a cosine, and AdamW's numbers.
func settingsOf(step, steps int) []float32 {
	part := float64(step-warmUp) / float64(steps-warmUp)
	factor := lastFactor + (1-lastFactor)*(1+math.Cos(math.Pi*part))/2
	if step < warmUp {
		factor = float64(step+1) / warmUp
	}
	unbias := func(beta float64) float32 { return float32(1 / (1 - math.Pow(beta, float64(step+1)))) }
	return []float32{float32(rate * factor), beta1, beta2, epsilon, decay, unbias(beta1), unbias(beta2)}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
