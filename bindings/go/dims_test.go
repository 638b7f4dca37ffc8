package tensorlib

import (
	"slices"
	"testing"
)

// Reductions over some dimensions, and what is no dimension.
func TestDims(t *testing.T) {
	backend := must(NewBackend("cpu"))
	defer backend.Close()
	ctx := must(NewContext())
	defer ctx.Close()
	a := must(NewTensorFrom(ctx, []float32{1, 2, 3, 4, 5, 6}, 3, 2))
	for _, c := range []struct {
		dims  *Dims
		shape []int64
		want  []float32
	}{
		{nil, []int64{1}, []float32{21}},
		{Along(), []int64{1}, []float32{21}},
		{Along(0), []int64{2}, []float32{6, 15}},
		{Along(1), []int64{3}, []float32{5, 7, 9}},
		{Along(1, 0), []int64{1}, []float32{21}},
		{Along(1).Keep(), []int64{3, 1}, []float32{5, 7, 9}},
		{(*Dims)(nil).Keep(), []int64{1, 1}, []float32{21}},
	} {
		sum := must(ctx.Sum(a, c.dims))
		if !slices.Equal(sum.Shape(), c.shape) {
			t.Errorf("%v: shape %v, want %v", c.dims, sum.Shape(), c.shape)
		}
		if err := backend.Compute(sum); err != nil {
			t.Fatal(err)
		}
		if got := must(ReadAll[float32](sum)); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.dims, got, c.want)
		}
	}
	for _, dim := range []int{-1, 4, 64} {
		_, err := ctx.Var(a, 1, Along(dim))
		wantError(t, err, StatusInvalidArgument, "0 to 3 is valid")
	}
	_, err := ctx.Max(nil, Along(0))
	wantError(t, err, StatusInvalidArgument, "nil")
}
