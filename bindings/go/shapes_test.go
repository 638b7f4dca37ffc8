package tensorlib

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

// counted returns a tensor whose element (i, j, k) is i + 5 j + 20 k.
func counted(t *testing.T) (*Context, *Tensor) {
	t.Helper()
	ctx := must(NewContext())
	values := make([]float32, 60)
	for i := range values {
		values[i] = float32(i)
	}
	return ctx, must(NewTensorFrom(ctx, values, 5, 4, 3))
}

func valuesOf(t *Tensor) []float32 {
	values := make([]float32, t.Len())
	if err := must(t.Eval(must(NewBackend("cpu")))).ReadF32(values); err != nil {
		panic(err)
	}
	return values
}

func TestIndex(t *testing.T) {
	_, a := counted(t)
	for _, c := range []struct {
		indices []Index
		shape   []int64
		want    []float32
	}{
		{[]Index{At(2), At(1), At(0)}, []int64{1}, []float32{7}},
		{[]Index{At(-1), At(-1), At(-1)}, []int64{1}, []float32{59}},
		{[]Index{Range(1, 3), At(2), At(1)}, []int64{2}, []float32{31, 32}},
		{[]Index{Range(-2, End), At(0), At(0)}, []int64{2}, []float32{3, 4}},
		{[]Index{Range(-3, -1), At(0), At(0)}, []int64{2}, []float32{2, 3}},
		{[]Index{At(0), All, At(1)}, []int64{4}, []float32{20, 25, 30, 35}},
		{[]Index{At(0), Range(1, 3)}, []int64{2, 3}, []float32{5, 10, 25, 30, 45, 50}},
	} {
		part := must(a.Index(c.indices...))
		if got := valuesOf(part); !reflect.DeepEqual(part.Shape(), c.shape) || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v %v, want %v %v", c.indices, part.Shape(), got, c.shape, c.want)
		}
	}
	if shape := must(a.Index()).Shape(); !reflect.DeepEqual(shape, []int64{5, 4, 3}) {
		t.Errorf("no index: %v", shape)
	}
}

func TestShapesLackDimensions(t *testing.T) {
	ctx := must(NewContext())
	a := must(NewTensorFrom(ctx, []float32{1, 2}, 2))
	state := must(NewTensorFrom(ctx, []int64{7, 0}, 2))
	for _, made := range []*Tensor{must(ctx.Expand(a, []int64{2, 2})), must(ctx.Repeat(a, []int64{4}))} {
		if got := valuesOf(made); !reflect.DeepEqual(got, []float32{1, 2, 1, 2}) {
			t.Errorf("%v", got)
		}
	}
	if shape := must(ctx.RandomUniform(state, []int64{3, 2}, 0, 1, 0)).Shape(); !reflect.DeepEqual(shape, []int64{3, 2}) {
		t.Errorf("%v", shape)
	}
	wantError(t, failure(ctx.Expand(a, nil)), StatusInvalidArgument, "expand", "n_dims is 0", "1 to 4")
	wantError(t, failure(ctx.Repeat(a, []int64{2, 1, 1, 1, 1})), StatusInvalidArgument, "repeat", "n_dims is 5", "1 to 4")
	wantError(t, failure(ctx.RandomNormal(state, []int64{-1}, 0, 1, 0)), StatusInvalidArgument, "random_normal", "-1")
}

func TestPartsOfADimension(t *testing.T) {
	ctx, a := counted(t)
	sizes := func(parts []*Tensor, err error) []int64 {
		var all []int64
		for _, part := range must(parts, err) {
			all = append(all, part.Shape()[0])
		}
		return all
	}
	for _, c := range []struct{ got, want []int64 }{
		{sizes(ctx.Split(a, 2, 0)), []int64{2, 2, 1}},
		{sizes(ctx.Split(a, math.MaxInt64, 0)), []int64{5}},
		{sizes(ctx.SplitSizes(a, []int64{1, 0, 4}, 0)), []int64{1, 0, 4}},
		{sizes(ctx.Chunk(a, 2, 0)), []int64{3, 2}},
		{sizes(ctx.Chunk(a, 9, 0)), []int64{1, 1, 1, 1, 1}},
		{sizes(ctx.Unbind(a, 2)), []int64{5, 5, 5}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

func TestListsOfTensors(t *testing.T) {
	ctx := must(NewContext())
	a, b := must(NewTensorFrom(ctx, []float32{1, 2}, 2)), must(NewTensorFrom(ctx, []float32{3, 4}, 2))
	grid := must(ctx.Meshgrid(a, b))
	for _, c := range []struct {
		got  *Tensor
		want []float32
	}{
		{must(ctx.Cat([]*Tensor{a, b, a}, 0)), []float32{1, 2, 3, 4, 1, 2}},
		{must(ctx.Stack([]*Tensor{a, b}, 0)), []float32{1, 3, 2, 4}},
		{must(ctx.Einsum("i,j->ij", a, b)), []float32{3, 6, 4, 8}},
		{grid[0], []float32{1, 2, 1, 2}},
		{grid[1], []float32{3, 3, 4, 4}},
	} {
		if got := valuesOf(c.got); !reflect.DeepEqual(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}

func TestRefusedShapes(t *testing.T) {
	ctx, a := counted(t)
	one := func(_ *Tensor, err error) error { return err }
	many := func(_ []*Tensor, err error) error { return err }
	var none *Tensor
	for _, c := range []struct {
		err   error
		words string
	}{
		{one(a.Index(At(0), At(4))), "index 4 of dimension 1"},
		{one(a.Index(Range(4, 2))), "elements 4 to 2 of dimension 0"},
		{one(a.Index(All, All, All, All, All)), "n_dims is 5"},
		{one(none.Index(All)), "nil"},
		{one(ctx.Cat(nil, 0)), "cat: 0 operands"},
		{one(ctx.Stack([]*Tensor{a, nil}, 0)), "operand 1"},
		{one(ctx.Einsum("i->", a, a)), "2 tensors are given"},
		{one(ctx.Einsum("i\x00", a)), "equation"},
		{many(ctx.Split(a, 0, 0)), "size is 0"},
		{many(ctx.Split(a, 1, 4)), "dim is 4"},
		{many(ctx.Split(a, 1, -1)), "dim is -1"},
		{many(ctx.SplitSizes(a, []int64{2, 2}, 0)), "a sum of 5"},
		{many(ctx.SplitSizes(a, []int64{6, -1}, 0)), "a sum of 5"},
		{many(ctx.Chunk(a, 0, 0)), "n is 0"},
		{many(ctx.Unbind(a, 9)), "dim is 9"},
		{many(ctx.Meshgrid()), "0 vectors"},
		{many(ctx.Meshgrid(a)), "one dimension"},
		{many(ctx.Meshgrid(nil)), "nil"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.words) {
			t.Errorf("got %v, want %q", c.err, c.words)
		}
	}
}
