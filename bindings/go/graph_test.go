package tensorlib

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// Goroutines that build in one context get their own error, or their own tensor.
func TestOwnErrors(t *testing.T) {
	c := newContext(t)
	square := f32(c, 3, 3)
	var workers sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		mine := f32(c, int64(100+worker))
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := 0; i < 300; i++ {
				if worker%2 == 0 {
					_, err := c.MulMat(square, mine)
					wantError(t, err, StatusShapeMismatch, fmt.Sprint(100+worker))
				} else if sum, err := c.Add(mine, mine); err != nil || sum.Dim(0) != int64(100+worker) {
					t.Errorf("got %v, %v", sum, err)
				} else if g, err := NewGraph(c, sum); err != nil {
					t.Error(err)
				} else {
					g.Close()
				}
			}
		}()
	}
	workers.Wait()
}

// Any number of graphs over one context of weights run at once.
func TestSharedWeights(t *testing.T) {
	weights := newContext(t)
	w := f32(weights, 16, 4)
	var workers sync.WaitGroup
	for worker := 0; worker < 4; worker++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			cpu := must(NewBackend("cpu", WithThreads(1)))
			defer cpu.Close()
			c := must(NewContext())
			defer c.Close()
			x := must(c.NewTensor(F32, 16))
			y := must(c.MulMat(w, x))
			g := must(NewGraph(c, y))
			defer g.Close()
			for i := 0; i < 100; i++ {
				one := make([]float32, 16)
				one[worker] = float32(i)
				if err := Write(x, one); err != nil {
					t.Error(err)
				}
				if err := g.Compute(cpu); err != nil {
					t.Error(err)
				}
				f := float32(i)
				k := float32(worker)
				wantValues(t, y, f*k, f*(16+k), f*(32+k), f*(48+k))
			}
		}()
	}
	workers.Wait()
}

func TestProgress(t *testing.T) {
	c := newContext(t)
	cpu := newCPU(t)
	x := f32(c, 2)
	// Three steps: the copy is not fused with the sums around it.
	twice := must(c.Add(x, x))
	y := must(c.Add(must(c.Cont(twice)), twice))
	g := must(NewGraph(c, y))
	defer g.Close()
	var seen [][2]int
	stopAt := 99
	if err := g.SetProgress(func(done, total int) bool {
		// A step that takes more than 10 ms is reported before it is done, too.
		if now := [2]int{done, total}; done > 0 && (len(seen) == 0 || seen[len(seen)-1] != now) {
			seen = append(seen, now)
		}
		return done < stopAt
	}); err != nil {
		t.Fatal(err)
	}
	if err := g.Compute(cpu); err != nil {
		t.Fatal(err)
	}
	if want := [][2]int{{1, 3}, {2, 3}, {3, 3}}; !reflect.DeepEqual(seen, want) {
		t.Errorf("progress was %v, want %v", seen, want)
	}
	wantValues[float32](t, y, 0, 4)

	stopAt, seen = 2, nil
	wantError(t, g.Compute(cpu), StatusAborted)
	if len(seen) != 2 {
		t.Errorf("stopped after 2 nodes, but was called %d times", len(seen))
	}
	_, err := ReadAll[float32](y)
	wantError(t, err, StatusInvalidArgument)

	if err := g.SetProgress(nil); err != nil {
		t.Fatal(err)
	}
	if err := g.Compute(cpu); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 {
		t.Error("a callback that was taken away was called")
	}
	wantValues[float32](t, y, 0, 4)
}

func TestProgressPanic(t *testing.T) {
	c := newContext(t)
	cpu := newCPU(t)
	x := f32(c, 2)
	y := must(c.Add(must(c.Add(x, x)), x))
	g := must(NewGraph(c, y))
	defer g.Close()
	calls := 0
	boom := fmt.Errorf("boom")
	if err := g.SetProgress(func(done, total int) bool { calls++; panic(boom) }); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if got := recover(); got != boom {
				t.Errorf("recovered %v, want the callback's panic", got)
			}
		}()
		_ = g.Compute(cpu)
		t.Error("Compute returned")
	}()
	if calls != 1 {
		t.Errorf("the run went on after the panic: %d calls", calls)
	}
	// Everything is unlocked again.
	if err := g.SetProgress(nil); err != nil {
		t.Fatal(err)
	}
	if err := g.Compute(cpu); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, y, 0, 3)
}

// A callback may use the library, and close what is running under it.
func TestProgressReenters(t *testing.T) {
	c := newContext(t)
	cpu := must(NewBackend("cpu", WithThreads(2)))
	second := newCPU(t)
	x := f32(c, 2)
	y := must(c.Cont(must(c.Add(x, x))))
	g := must(NewGraph(c, y))
	inner := newContext(t)
	z := must(inner.Add(f32(inner, 2), f32(inner, 2)))
	innerGraph := must(NewGraph(inner, z))
	defer innerGraph.Close()
	// Calls after a step; one that takes long is reported before it is done, too.
	var innerCalls, calls, last int
	if err := innerGraph.SetProgress(func(done, _ int) bool { innerCalls += done; return true }); err != nil {
		t.Fatal(err)
	}
	if err := g.SetProgress(func(done, total int) bool {
		if done == last {
			return true
		}
		calls, last = calls+1, done
		if done != 1 {
			return true // everything is closed now
		}
		wantError(t, g.Compute(cpu), StatusBusy)
		wantError(t, innerGraph.Compute(cpu), StatusBusy)
		wantError(t, g.SetProgress(nil), StatusBusy)
		wantError(t, Write(x, []float32{1, 2}), StatusBusy)
		wantError(t, c.Reset(), StatusBusy)
		if err := innerGraph.Compute(second); err != nil {
			t.Error(err)
		}
		g.Close()
		cpu.Close()
		c.Close()
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if err := g.Compute(cpu); err != nil {
		t.Fatal(err)
	}
	if calls != 2 || innerCalls != 1 {
		t.Errorf("called %d times, and %d times inside", calls, innerCalls)
	}
	wantValues[float32](t, z, 0, 2)
	wantError(t, g.Compute(second), StatusInvalidArgument, "Close")
}

// Graphs whose callbacks panic at the same time each panic in their own Compute.
func TestProgressPanicsApart(t *testing.T) {
	var workers sync.WaitGroup
	for worker := 0; worker < 4; worker++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			cpu := must(NewBackend("cpu", WithThreads(1)))
			defer cpu.Close()
			c := must(NewContext())
			defer c.Close()
			x := f32(c, 2)
			g := must(NewGraph(c, must(c.Add(x, x))))
			defer g.Close()
			if err := g.SetProgress(func(int, int) bool { panic(worker) }); err != nil {
				t.Error(err)
			}
			for i := 0; i < 100; i++ {
				func() {
					defer func() {
						if got := recover(); got != worker {
							t.Errorf("recovered %v in worker %d", got, worker)
						}
					}()
					t.Errorf("Compute returned %v", g.Compute(cpu))
				}()
			}
		}()
	}
	workers.Wait()
}

func TestGraphTexts(t *testing.T) {
	c := newContext(t)
	cpu := newCPU(t)
	x := f32(c, 2, 2)
	if err := x.SetName("pixels"); err != nil {
		t.Fatal(err)
	}
	y := must(c.MulMat(x, must(c.Transpose(x))))
	g := must(NewGraph(c, y))
	defer g.Close()
	if g.Nodes() != 2 || g.Leafs() != 1 {
		t.Errorf("%d nodes and %d leafs, want 2 and 1", g.Nodes(), g.Leafs())
	}
	dot, err := g.Dot()
	if err != nil || !strings.HasPrefix(dot, "digraph") ||
		!strings.Contains(dot, "pixels") || !strings.Contains(dot, "mul_mat") {
		t.Errorf("Dot gives %v: %s", err, dot)
	}
	plan, err := g.PlanText(cpu)
	if err != nil || !strings.Contains(plan, "mul_mat") {
		t.Errorf("PlanText gives %v: %s", err, plan)
	}
	noData := newContext(t, WithNoAlloc())
	empty := must(noData.NewTensor(F32, 2))
	unready := must(NewGraph(noData, must(noData.Add(empty, empty))))
	defer unready.Close()
	_, err = unready.PlanText(cpu)
	wantError(t, err, unready.Compute(cpu).(*Error).Code)
}

// A constant's packed copy is counted, and freed with its context.
func TestPackedMem(t *testing.T) {
	cpu := newCPU(t)
	model, token := must(NewContext()), newContext(t)
	weights := must(model.NewTensor(Q4_0, 64, 40))
	if err := weights.SetConstant(); err != nil {
		t.Fatal(err)
	}
	y := must(token.MulMat(weights, f32(token, 64)))
	if err := cpu.Compute(y); err != nil {
		t.Fatal(err)
	}
	if got := cpu.PackedMemory(); (got != 0) != (cpu.ISA() != "baseline") {
		t.Errorf("%d bytes at %s", got, cpu.ISA())
	}
	token.Close()
	model.Close()
	if got := cpu.PackedMemory(); got != 0 {
		t.Errorf("%d bytes without the context", got)
	}
	cpu.Close()
	if got := cpu.PackedMemory(); got != 0 {
		t.Errorf("%d bytes of a closed backend", got)
	}
}

// A constant without its original data reads and multiplies as before.
func TestDropOriginal(t *testing.T) {
	cpu := newCPU(t)
	c := newContext(t)
	weights := must(c.NewTensor(Q5_0, 64, 40))
	values := make([]float32, 64*40)
	for i := range values {
		values[i] = float32(i%29) - 14
	}
	if err := weights.WriteF32(values); err != nil {
		t.Fatal(err)
	}
	read := func() []byte {
		all := make([]byte, weights.NBytes())
		if err := weights.ReadBytes(0, all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := read()
	if err := weights.SetConstant(); err != nil {
		t.Fatal(err)
	}
	y := must(c.MulMat(weights, f32(c, 64)))
	if err := cpu.Compute(y); err != nil {
		t.Fatal(err)
	}
	product := must(ReadAll[float32](y))
	err := weights.DropOriginal()
	if cpu.ISA() == "baseline" {
		wantError(t, err, StatusUnsupported, "packed copy")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := cpu.PackedMemory(); got != 0 {
		t.Errorf("%d bytes are still the backend's", got)
	}
	if !bytes.Equal(read(), before) {
		t.Error("other bytes than before")
	}
	if err := cpu.Compute(y); err != nil {
		t.Fatal(err)
	}
	wantValues(t, y, product...)
	cpu.Close()
	if !bytes.Equal(read(), before) {
		t.Error("other bytes without the backend")
	}
}

// The gradient stays the same in less memory: with marked nodes, and with a
// limit.
func TestRecompute(t *testing.T) {
	cpu := must(NewBackend("cpu", WithThreads(2)))
	defer cpu.Close()
	c := newContext(t)
	x := f32(c, 64, 64)
	w := f32(c, 64, 64)
	y := x
	var marked []*Tensor
	for i := range 16 {
		s := must(c.MulMat(w, y))
		y = must(c.Tanh(s))
		marked = append(marked, s)
		if i%4 != 3 {
			marked = append(marked, y)
		}
	}
	gradient := must(c.Gradients([]*Tensor{must(c.Sum(must(c.Sqr(y)), nil))}, nil, []*Tensor{w}))[0]
	for _, m := range marked {
		if err := m.SetRecompute(true); err != nil {
			t.Fatal(err)
		}
	}
	g := must(NewGraph(c, gradient))
	defer g.Close()
	if text := must(g.PlanText(cpu)); !strings.Contains(text, "24 nodes recomputed") {
		t.Errorf("the plan says\n%s", text)
	}
	for _, m := range marked {
		if err := m.SetRecompute(false); err != nil {
			t.Fatal(err)
		}
	}
	within := must(NewGraphWithin(c, 12*64*64*4, gradient))
	defer within.Close()
	if err := within.Compute(cpu); err != nil {
		t.Fatal(err)
	}
	_, err := NewGraphWithin(c, 1000, gradient)
	wantError(t, err, StatusOutOfMemory, "at least")
	wantError(t, w.SetRecompute(true), StatusInvalidArgument, "leaf")
}

// A column has the bits that it has alone, which are rounded to 8 bits as several are.
func TestBatchInvariant(t *testing.T) {
	cpu := must(NewBackend("cpu", WithThreads(2)))
	defer cpu.Close()
	c := newContext(t)
	values := func(n int) []float32 {
		all := make([]float32, n)
		for i := range all {
			all[i] = float32(i*7919%1013)/500 - 1
		}
		return all
	}
	a, b := f32(c, 64, 40), f32(c, 64, 5)
	for _, x := range []*Tensor{a, b} {
		if err := Write(x, values(int(x.Len()))); err != nil {
			t.Fatal(err)
		}
	}
	w := must(c.Cast(a, Q8_0))
	all := must(c.MulMat(w, b))
	one := must(c.MulMat(w, must(c.Narrow(b, 1, 3, 1))))
	g := must(NewGraph(c, all, one))
	defer g.Close()
	if err := g.SetBatchInvariant(true); err != nil {
		t.Fatal(err)
	}
	if err := g.Compute(cpu); err != nil {
		t.Fatal(err)
	}
	got, want := make([]float32, 5*40), make([]float32, 40)
	if err := Read(all, got); err != nil {
		t.Fatal(err)
	}
	if err := Read(one, want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got[3*40:4*40], want) {
		t.Errorf("a column among five: %v, alone: %v", got[3*40:4*40], want)
	}
}

func TestCheckFinite(t *testing.T) {
	cpu := must(NewBackend("cpu", WithThreads(2)))
	defer cpu.Close()
	c := newContext(t)
	x := f32(c, 2)
	if err := Write(x, []float32{1, -1}); err != nil {
		t.Fatal(err)
	}
	y := must(c.Sqr(must(c.Log(x))))
	g := must(NewGraph(c, y))
	defer g.Close()
	if err := g.SetCheckFinite(true); err != nil {
		t.Fatal(err)
	}
	wantError(t, g.Compute(cpu), StatusInvalidArgument, "check_finite: log", "element 1")
	if err := g.SetCheckFinite(false); err != nil {
		t.Fatal(err)
	}
	if err := g.Compute(cpu); err != nil {
		t.Fatal(err)
	}
}
