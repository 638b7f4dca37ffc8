package tensorlib

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// Must run before anything in this process asks for the devices.
func init() {
	os.Setenv("TENSORLIB_CPU_VIRTUAL_DEVICES", "3")
}

func TestJoinedBackends(t *testing.T) {
	a, b := must(NewBackend("cpu:0")), must(NewBackend("cpu:1"))
	defer a.Close()
	defer b.Close()
	joined := must(JoinBackends(a, b))
	defer joined.Close()
	if joined.Device() != "cpu:0+cpu:1" || !slices.Equal(joined.Devices(), []string{"cpu:0", "cpu:1"}) {
		t.Errorf("joined is %s, %v", joined.Device(), joined.Devices())
	}
	weights, ctx := must(NewContext(WithBackend(a))), must(NewContext(WithBackend(b)))
	defer weights.Close()
	defer ctx.Close()
	w, x := must(weights.NewTensor(F32, 2, 3)), must(ctx.NewTensor(F32, 2))
	for tensor, values := range map[*Tensor][]float32{w: {1, 2, 3, 4, 5, 6}, x: {10, 1}} {
		if err := tensor.WriteF32(values); err != nil {
			t.Fatal(err)
		}
	}
	y := must(ctx.MulMat(w, x))
	g := must(NewGraph(ctx, y))
	defer g.Close()
	var e *Error
	if err := g.Compute(a); !errors.As(err, &e) || e.Code != StatusContextMismatch {
		t.Errorf("one device alone gave %v", err)
	}
	got := make([]float32, 3)
	for _, device := range []string{"", "cpu:1", "cpu:0"} {
		if err := errors.Join(y.Place(device), g.Compute(joined), y.ReadF32(got)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, []float32{12, 34, 56}) {
			t.Errorf("on %q: %v", device, got)
		}
		if text := must(g.PlanText(joined)); device != "" && !strings.Contains(text, "segment on "+device+": nodes 0") {
			t.Errorf("on %q: %s", device, text)
		}
	}
	if bytes := must(g.PlanBytes(joined)); len(bytes) != 2 || bytes[0] < 24 || bytes[1] < 8 {
		t.Errorf("%v bytes", bytes)
	}
}

func TestJoinsOfBadInput(t *testing.T) {
	a := must(NewBackend("cpu:0"))
	defer a.Close()
	closed := must(NewBackend("cpu:1"))
	closed.Close()
	for want, backends := range map[string][]*Backend{
		"0 backends": nil, "one of each device": {a, a}, "after its Close": {a, closed}, "nil": {a, nil},
	} {
		if _, err := JoinBackends(backends...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v is not %q", err, want)
		}
	}
	ctx := must(NewContext(WithBackend(a)))
	defer ctx.Close()
	x := must(ctx.NewTensor(F32, 2))
	if err := x.Place("cpu:1"); err == nil || !strings.Contains(err.Error(), "leaf") {
		t.Errorf("%v", err)
	}
	if err := must(ctx.Exp(x)).Place("abacus"); err == nil || !strings.Contains(err.Error(), "there are: cpu") {
		t.Errorf("%v", err)
	}
}
