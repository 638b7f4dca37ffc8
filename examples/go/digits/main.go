// Digits reads handwritten digits by their nearest neighbour: the first 1000
// rows of the file are references, the others are asked for.
//
// All squared distances come from one graph, by |x - y|² = |x|² + |y|² - 2 x·y:
// a product of matrices with the factor -2 in one of them, and two additions that
// repeat the norms along the rows and the columns. The pixels are small integers,
// so that every distance is exact.
//
//	go run . [--device cpu] [--threads 0] [--file digits.csv]
package main

import (
	"flag"
	"fmt"
	"log"

	tensorlib "tensorlib/bindings/go"
)

const references = 1000

func main() {
	log.SetFlags(0)
	device := flag.String("device", "cpu", "the device that computes")
	threads := flag.Int("threads", 0, "threads; 0 = all")
	file := flag.String("file", "../../data/digits.csv", "a CSV file of 64 pixels and a digit per line")
	flag.Parse()
	if err := run(*device, *threads, *file); err != nil {
		log.Fatal("digits: ", err)
	}
}

func run(device string, threads int, file string) error {
	known, asked, err := readImages(file)
	if err != nil {
		return err
	}
	backend, err := tensorlib.NewBackend(device, tensorlib.WithThreads(threads))
	if err != nil {
		return err
	}
	defer backend.Close()
	distances, err := squaredDistances(backend, known, asked)
	if err != nil {
		return err
	}
	right := 0
	for i, digit := range asked.digits {
		if known.digits[smallest(distances[i*references:(i+1)*references])] == digit {
			right++
		}
	}
	n := len(asked.digits)
	fmt.Printf("accuracy %.2f %% (%d of %d)\n", 100*float64(right)/float64(n), right, n)
	return nil
}

// squaredDistances gives a row per image of asked: its distance from each of known.
func squaredDistances(backend *tensorlib.Backend, known, asked images) ([]float32, error) {
	ctx, err := tensorlib.NewContext(tensorlib.WithBackend(backend))
	if err != nil {
		return nil, err
	}
	defer ctx.Close()
	n, m := int64(len(known.digits)), int64(len(asked.digits))
	x, err := tensorlib.NewTensorFrom(ctx, scaled(known.pixels, -2), pixels, n)
	if err != nil {
		return nil, err
	}
	y, err := tensorlib.NewTensorFrom(ctx, asked.pixels, pixels, m)
	if err != nil {
		return nil, err
	}
	xx, err := tensorlib.NewTensorFrom(ctx, known.norms(), n, 1)
	if err != nil {
		return nil, err
	}
	yy, err := tensorlib.NewTensorFrom(ctx, asked.norms(), 1, m)
	if err != nil {
		return nil, err
	}
	distances, err := ctx.MulMat(x, y) // (n, m)
	if err != nil {
		return nil, err
	}
	if distances, err = ctx.Add(distances, xx); err != nil {
		return nil, err
	}
	if distances, err = ctx.Add(distances, yy); err != nil {
		return nil, err
	}
	if err := backend.Compute(distances); err != nil {
		return nil, err
	}
	return tensorlib.ReadAll[float32](distances)
}

func scaled(values []float32, by float32) []float32 {
	result := make([]float32, len(values))
	for i, v := range values {
		result[i] = by * v
	}
	return result
}

func smallest(values []float32) int {
	best := 0
	for i, v := range values {
		if v < values[best] {
			best = i
		}
	}
	return best
}
