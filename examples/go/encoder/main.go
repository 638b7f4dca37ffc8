// Encoder prints the vector of a text, given as tokens, by a model of the BERT
// family.
//
//	go run . MODEL.gguf TOKEN...
//
// MODEL.gguf has the architecture bert. The vector is the mean of the tokens'
// vectors in the last layer, whatever pooling the file names, divided by its length.
// It is printed one element a line, with six digits after the point.
// TENSORLIB_DEVICE names the device; the CPU is the default.
package main

import (
	"cmp"
	"fmt"
	"log"
	"os"
	"strconv"

	tensorlib "tensorlib/bindings/go"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Print("usage: encoder MODEL.gguf TOKEN...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal("encoder: ", err)
	}
}

func run(path string, arguments []string) error {
	backend, err := tensorlib.NewBackend(cmp.Or(os.Getenv("TENSORLIB_DEVICE"), "cpu"))
	if err != nil {
		return err
	}
	defer backend.Close()
	e, err := open(path, backend)
	if err != nil {
		return err
	}
	defer e.close()
	tokens := make([]int32, len(arguments))
	for i, text := range arguments {
		token, err := strconv.ParseInt(text, 10, 32)
		if err != nil || token < 0 || token >= e.vocabulary() {
			return fmt.Errorf("token %s: 0 to %d are valid", text, e.vocabulary()-1)
		}
		tokens[i] = int32(token)
	}
	vector, err := e.encode(tokens)
	if err != nil {
		return err
	}
	for _, value := range vector {
		fmt.Printf("%.6f\n", value)
	}
	return nil
}

// An encoder's functions that make tensors keep the first error, so that a graph is
// written down without a test at each node; encode returns it.
type encoder struct {
	file                 *tensorlib.GGUF
	backend              *tensorlib.Backend
	ctx                  *tensorlib.Context // the weights and the nodes
	embeddings           *tensorlib.Tensor  // (width, vocabulary)
	width, layers, heads int64
	eps                  float64
	err                  error
}

func open(path string, backend *tensorlib.Backend) (_ *encoder, err error) {
	e := &encoder{backend: backend}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if e.file, err = tensorlib.OpenGGUF(path); err != nil {
		return nil, err
	}
	architecture, err := e.file.Text("general.architecture")
	if err != nil {
		return nil, err
	}
	if architecture != "bert" {
		return nil, fmt.Errorf("the architecture is '%s': bert is valid", architecture)
	}
	if e.layers, err = e.count("bert.block_count"); err != nil {
		return nil, err
	}
	if e.heads, err = e.count("bert.attention.head_count"); err != nil {
		return nil, err
	}
	if e.eps, err = e.file.Float("bert.attention.layer_norm_epsilon"); err != nil {
		return nil, err
	}
	if e.ctx, err = tensorlib.NewContext(tensorlib.WithBackend(backend)); err != nil {
		return nil, err
	}
	if e.embeddings, err = e.ctx.GGUFTensor(e.file, "token_embd.weight"); err != nil {
		return nil, err
	}
	if e.width = e.embeddings.Dim(0); e.width%e.heads != 0 {
		return nil, fmt.Errorf("%d heads do not divide the width, %d", e.heads, e.width)
	}
	return e, nil
}

func (e *encoder) close() {
	e.ctx.Close()
	e.file.Close()
}

// count gives a setting that is a whole number of 1 or more.
func (e *encoder) count(key string) (int64, error) {
	value, err := e.file.Int(key)
	if err == nil && value < 1 {
		err = fmt.Errorf("%s is %d: 1 or more is valid", key, value)
	}
	return value, err
}

func (e *encoder) vocabulary() int64 { return e.embeddings.Dim(1) }

// encode gives the vector of these tokens, each below vocabulary.
func (e *encoder) encode(tokens []int32) ([]float32, error) {
	ctx, n := e.ctx, int64(len(tokens))
	ids := e.try(tensorlib.NewTensorFrom(ctx, tokens, n))
	positions := e.try(ctx.Narrow(e.weight("position_embd.weight"), 1, 0, n))
	first := e.try(ctx.Narrow(e.weight("token_types.weight"), 1, 0, 1)) // all are of the first type
	x := e.add(e.add(e.try(ctx.GetRows(e.embeddings, ids)), positions), first)
	x = e.norm("token_embd_norm", x)
	for i := int64(0); i < e.layers && e.err == nil; i++ {
		x = e.layer(i, x)
	}
	mean := e.try(ctx.Mean(x, tensorlib.Along(1))) // of the tokens
	vector := e.try(ctx.L2Norm(mean, 1e-12))
	if e.err != nil {
		return nil, e.err
	}
	if err := e.backend.Compute(vector); err != nil {
		return nil, err
	}
	return tensorlib.ReadAll[float32](vector)
}

func (e *encoder) layer(number int64, x *tensorlib.Tensor) *tensorlib.Tensor {
	blk := fmt.Sprintf("blk.%d.", number)
	q := e.splitHeads(e.linear(blk+"attn_q", x))
	k := e.splitHeads(e.linear(blk+"attn_k", x))
	v := e.splitHeads(e.linear(blk+"attn_v", x))
	attended := e.try(e.ctx.FlashAttnExt(q, k, v, nil, nil, nil)) // (width / heads, heads, tokens)
	attended = e.try(e.ctx.Reshape(attended, e.width, -1))
	x = e.norm(blk+"attn_output_norm", e.add(e.linear(blk+"attn_output", attended), x))
	inner := e.try(e.ctx.GeluErf(e.linear(blk+"ffn_up", x)))
	return e.norm(blk+"layer_output_norm", e.add(e.linear(blk+"ffn_down", inner), x))
}

// splitHeads gives (width, tokens) as (width / heads, tokens, heads).
func (e *encoder) splitHeads(x *tensorlib.Tensor) *tensorlib.Tensor {
	parts := e.try(e.ctx.Reshape(x, e.width/e.heads, e.heads, -1))
	return e.try(e.ctx.Permute(parts, [4]int{0, 2, 1, 3}))
}

func (e *encoder) linear(name string, x *tensorlib.Tensor) *tensorlib.Tensor {
	return e.add(e.try(e.ctx.MulMat(e.weight(name+".weight"), x)), e.weight(name+".bias"))
}

func (e *encoder) norm(name string, x *tensorlib.Tensor) *tensorlib.Tensor {
	scaled := e.try(e.ctx.Mul(e.try(e.ctx.Norm(x, e.eps)), e.weight(name+".weight")))
	return e.add(scaled, e.weight(name+".bias"))
}

func (e *encoder) add(a, b *tensorlib.Tensor) *tensorlib.Tensor { return e.try(e.ctx.Add(a, b)) }

func (e *encoder) weight(name string) *tensorlib.Tensor { return e.try(e.ctx.GGUFTensor(e.file, name)) }

// try keeps the first error. Operations refuse the nil that comes with it.
func (e *encoder) try(t *tensorlib.Tensor, err error) *tensorlib.Tensor {
	if e.err == nil {
		e.err = err
	}
	return t
}
