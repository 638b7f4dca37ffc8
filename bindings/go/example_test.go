package tensorlib_test

import (
	"errors"
	"fmt"
	"log"

	tensorlib "tensorlib/bindings/go"
)

// The product of two matrices, from slices to slices.
func Example() {
	cpu, err := tensorlib.NewBackend("cpu") // all cores
	if err != nil {
		log.Fatal(err)
	}
	defer cpu.Close()
	ctx, err := tensorlib.NewContext()
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()

	a, err := tensorlib.NewTensorFrom(ctx, []float32{2, 8, 5, 1, 4, 2, 8, 6}, 2, 4) // 4 rows of 2
	if err != nil {
		log.Fatal(err)
	}
	b, err := tensorlib.NewTensorFrom(ctx, []float32{10, 5, 9, 9, 5, 4}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	c, err := ctx.MulMat(a, b) // (4, 3); nothing is computed yet
	if err != nil {
		log.Fatal(err)
	}
	if err := cpu.Compute(c); err != nil {
		log.Fatal(err)
	}
	values, err := tensorlib.ReadAll[float32](c)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c)
	for row := 0; row < len(values); row += 4 {
		fmt.Println(values[row : row+4])
	}
	// Output:
	// mul_mat: f32 [4, 3]
	// [60 55 50 110]
	// [90 54 54 126]
	// [42 29 28 64]
}

// A graph is made once and computed for each new input.
func ExampleGraph() {
	cpu, err := tensorlib.NewBackend("cpu", tensorlib.WithThreads(2))
	if err != nil {
		log.Fatal(err)
	}
	defer cpu.Close()
	ctx, err := tensorlib.NewContext()
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	x, err := ctx.NewTensor(tensorlib.F32, 3)
	if err != nil {
		log.Fatal(err)
	}
	twice, err := ctx.Add(x, x)
	if err != nil {
		log.Fatal(err)
	}
	graph, err := tensorlib.NewGraph(ctx, twice)
	if err != nil {
		log.Fatal(err)
	}
	defer graph.Close()

	result := make([]float32, 3)
	for _, input := range [][]float32{{1, 2, 3}, {10, 20, 30}} {
		if err := tensorlib.Write(x, input); err != nil {
			log.Fatal(err)
		}
		if err := graph.Compute(cpu); err != nil {
			log.Fatal(err)
		}
		if err := tensorlib.Read(twice, result); err != nil {
			log.Fatal(err)
		}
		fmt.Println(result)
	}
	// Output:
	// [2 4 6]
	// [20 40 60]
}

// Options that are left out have their defaults, and nil stands for all defaults.
// An operand that may be left out is nil too: here one tensor holds both the gate
// and the values that it multiplies.
func ExampleContext_Glu() {
	cpu, err := tensorlib.NewBackend("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer cpu.Close()
	ctx, err := tensorlib.NewContext()
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	x, err := tensorlib.NewTensorFrom(ctx, []float32{-1, 2, 3, 4}, 4)
	if err != nil {
		log.Fatal(err)
	}
	gated, err := ctx.Glu(x, nil, tensorlib.GluOpReglu, nil)
	if err != nil {
		log.Fatal(err)
	}
	scaled, err := ctx.Scale(gated, 0.5, &tensorlib.ScaleOptions{Bias: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := cpu.Compute(scaled); err != nil {
		log.Fatal(err)
	}
	result := make([]float32, 2)
	if err := tensorlib.Read(scaled, result); err != nil {
		log.Fatal(err)
	}
	fmt.Println(result)
	// Output: [1 5]
}

// Every error has a status to test and a message to show.
func ExampleError() {
	ctx, err := tensorlib.NewContext()
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	_, err = tensorlib.NewTensorFrom(ctx, []float32{1, 2, 3}, 2, 2)
	var e *tensorlib.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code)
	}
	fmt.Println(err)
	// Output:
	// TL_STATUS_INVALID_ARGUMENT
	// tensor: 3 values given, the shape [2, 2] has 4 elements
}

// A function that becomes a node of a graph.
func ExampleNewCustomOp() {
	softClip, err := tensorlib.NewCustomOp("soft_clip", func(s *tensorlib.CustomSlice) error {
		x, err := tensorlib.CustomInput[float32](s, 0)
		if err != nil {
			return err
		}
		y, err := tensorlib.CustomOutput[float32](s)
		begin, end := s.Range()
		for i, v := range x[begin:end] {
			y[i] = v / (1 + max(v, -v))
		}
		return err
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer softClip.Close() // the context keeps it as long as it has nodes of it

	ctx, err := tensorlib.NewContext()
	if err != nil {
		log.Fatal(err)
	}
	defer ctx.Close()
	x, err := tensorlib.NewTensorFrom(ctx, []float32{-1, 0, 3}, 3)
	if err != nil {
		log.Fatal(err)
	}
	y, err := ctx.Custom(softClip, x)
	if err != nil {
		log.Fatal(err)
	}
	cpu, err := tensorlib.NewBackend("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer cpu.Close()
	graph, err := tensorlib.NewGraph(ctx, y)
	if err != nil {
		log.Fatal(err)
	}
	defer graph.Close()
	if err := graph.Compute(cpu); err != nil {
		log.Fatal(err)
	}
	values, err := tensorlib.ReadAll[float32](y)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(values)
	// Output: [-0.5 0 0.75]
}
