package tensorlib

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

func ops(tensors []*Tensor) []string {
	var names []string
	for _, t := range tensors {
		names = append(names, t.Op())
	}
	return names
}

func TestTensorsAreListedAndFound(t *testing.T) {
	c := newContext(t)
	if got := c.Tensors(); len(got) != 0 {
		t.Errorf("%v in an empty context", got)
	}
	x := vector(c, 1, 2)
	y := must(c.Log(must(c.Sqr(x))))
	if got := ops(c.Tensors()); !slices.Equal(got, []string{"leaf", "sqr", "log"}) {
		t.Error(got)
	}
	if c.Find("y") != nil || c.Find("") != nil || c.Find("a\x00b") != nil {
		t.Error("something was found")
	}
	if err := y.SetName("y"); err != nil {
		t.Fatal(err)
	}
	if got := c.Find("y"); got == nil || got.Op() != "log" || got.Context() != c {
		t.Error(got)
	}
	if c.ID() == 0 || newContext(t).ID() <= c.ID() {
		t.Error(c.ID())
	}
}

// A tensor that is looked up belongs to the Context that made it; if that was
// closed, to a new one.
func TestSourcesBelongToTheirContexts(t *testing.T) {
	weights, request := must(NewContext()), newContext(t)
	w, x := vector(weights, 1, 2), vector(request, 3, 4)
	y := must(request.Add(w, x))
	sources := y.Sources()
	if len(sources) != 2 || sources[0].Context() != weights || sources[1].Context() != request {
		t.Fatal(sources)
	}
	wantValues[float32](t, sources[0], 1, 2)
	if len(w.Sources()) != 0 {
		t.Error("a leaf has sources")
	}
	glu := must(request.Glu(vector(request, 1, 2, 3, 4), nil, GluOpSwiglu, nil)).Sources()
	if len(glu) != 2 || glu[0] == nil || glu[1] != nil {
		t.Error(glu)
	}
	id := weights.ID()
	weights.Close()
	wantError(t, w.SetName("w"), StatusInvalidArgument, "Close")
	again := y.Sources()[0]
	wantValues[float32](t, again, 1, 2)
	if again.Context() == weights || again.Context().ID() != id {
		t.Error(again.Context().ID())
	}
	if y.Sources()[0].Context() != again.Context() {
		t.Error("two contexts for one")
	}
	again.Context().Close()
	request.Close()
	if y.Sources() != nil || request.Tensors() != nil || request.Find("w") != nil || request.ID() != 0 {
		t.Error("a closed context lists tensors")
	}
}

// Contexts that were forgotten without Close are freed, and so are looked-up
// ones.
func TestContextsThatAreFoundAreCollected(t *testing.T) {
	for range 50 {
		c := must(NewContext())
		y := must(c.Sqr(vector(c, 1)))
		_ = y.Sources()[0].Context().Tensors()
		runtime.GC()
	}
}

func TestGraphsListTheirTensors(t *testing.T) {
	c := newContext(t)
	x := vector(c, 1, 2)
	a := must(c.Sqr(x))
	b := must(c.Log(a))
	g := must(NewGraph(c, b, a))
	if got := ops(g.NodeTensors()); !slices.Equal(got, []string{"sqr", "log"}) {
		t.Error(got)
	}
	if got := g.LeafTensors(); len(got) != 1 || got[0].Op() != "leaf" {
		t.Error(got)
	}
	if got := ops(g.OutputTensors()); !slices.Equal(got, []string{"log", "sqr"}) {
		t.Error(got)
	}
	g.Close()
	if g.NodeTensors() != nil || g.LeafTensors() != nil || g.OutputTensors() != nil {
		t.Error("a closed graph lists tensors")
	}
	wantError(t, g.SetObserver(nil), StatusInvalidArgument, "Close")
}

func TestObserver(t *testing.T) {
	cpu, c := newCPU(t), newContext(t)
	x := vector(c, 1, 4)
	y := must(c.Sum(must(c.Log(must(c.Sqr(x)))), nil))
	g := must(NewGraph(c, y))
	defer g.Close()
	var seen []string
	observe := func(node *Tensor, done, total int) bool {
		seen = append(seen, node.Op())
		if done != len(seen) || total != 3 {
			t.Errorf("%d of %d", done, total)
		}
		if node.Op() == "sqr" {
			wantValues[float32](t, node, 1, 16)
		}
		_, err := ReadAll[float32](x)
		wantError(t, err, StatusBusy)
		return true
	}
	if err := g.SetObserver(observe); err != nil {
		t.Fatal(err)
	}
	if err := g.Compute(cpu); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []string{"sqr", "log", "sum"}) {
		t.Error(seen)
	}
	if err := g.SetObserver(func(node *Tensor, _, _ int) bool { return node.Op() != "log" }); err != nil {
		t.Fatal(err)
	}
	wantError(t, g.Compute(cpu), StatusAborted, "observer after 2 of 3 nodes")
	if err := g.SetObserver(func(*Tensor, int, int) bool { panic("no") }); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if value := recover(); value != "no" {
				t.Errorf("%v came out", value)
			}
		}()
		_ = g.Compute(cpu)
	}()
	if err := g.SetObserver(nil); err != nil {
		t.Fatal(err)
	}
	if err := g.Compute(cpu); err != nil {
		t.Fatal(err)
	}
}

func TestLongMessagesAreWhole(t *testing.T) {
	path := "/" + strings.Repeat("x", 900) + "/no such file"
	_, err := OpenGGUF(path)
	wantError(t, err, StatusIO, path)
}
