// Value_and_gradient prints the value of f(x) = a x² + b and its gradient. The nodes
// are made once; then x is rewritten and they are computed again.
//
//	go run .
package main

import (
	"fmt"
	"log"

	tensorlib "tensorlib/bindings/go"
)

func main() {
	cpu := must(tensorlib.NewBackend("cpu"))
	defer cpu.Close()
	ctx := must(tensorlib.NewContext())
	defer ctx.Close()
	a := must(tensorlib.NewTensorFrom(ctx, []float32{3}, 1))
	b := must(tensorlib.NewTensorFrom(ctx, []float32{2}, 1))
	x := must(ctx.NewTensor(tensorlib.F32, 1))

	f := must(ctx.Add(must(ctx.Mul(a, must(ctx.Sqr(x)))), b))
	slope := must(f.Gradients(x))[0] // one for each argument: here df/dx
	graph := must(tensorlib.NewGraph(ctx, f, slope))
	defer graph.Close()

	for _, value := range []float32{2, 0, -1.5, 10} {
		check(x.WriteF32([]float32{value}))
		check(graph.Compute(cpu))
		fmt.Printf("x = %g: f(x) = %g, df/dx = %g\n", value, must(f.GetF32(0)), must(slope.GetF32(0)))
	}
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
