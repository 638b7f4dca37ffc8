package tensorlib

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestUseAfterContextClose(t *testing.T) {
	c, other := newContext(t), newContext(t)
	cpu := newCPU(t)
	a := f32(c, 2, 4)
	if err := a.SetName("weights"); err != nil {
		t.Fatal(err)
	}
	kept := must(other.Add(a, a)) // keeps a's memory, not the handle
	c.Close()
	c.Close()

	data := make([]float32, 8)
	_, newErr := c.NewTensor(F32, 1)
	_, fromErr := NewTensorFrom(c, data, 8)
	_, addErr := other.Add(a, kept)
	_, opErr := other.Op("add", []*Tensor{kept, a})
	_, graphErr := NewGraph(other, a)
	_, ownGraphErr := NewGraph(c, kept)
	_, getErr := a.GetF32(0)
	_, allErr := ReadAll[float32](a)
	for name, err := range map[string]error{
		"NewTensor": newErr, "NewTensorFrom": fromErr, "Add": addErr, "Op": opErr, "NewGraph of it": graphErr,
		"NewGraph in it": ownGraphErr, "GetF32": getErr, "ReadAll": allErr,
		"SetF32": a.SetF32(1), "Read": Read(a, data), "Write": Write(a, data), "ReadF32": a.ReadF32(data),
		"WriteF32": a.WriteF32(data), "ReadBytes": a.ReadBytes(0, nil), "WriteBytes": a.WriteBytes(0, nil),
		"Map": a.Map(AccessRead, func([]byte) error { return nil }), "SetName": a.SetName("x"),
		"SetConstant": a.SetConstant(), "DropOriginal": a.DropOriginal(), "Reset": c.Reset(), "Allocate": c.Allocate(nil),
		"Compute": cpu.Compute(a),
	} {
		t.Run(name, func(t *testing.T) { wantError(t, err, StatusInvalidArgument, "Close") })
	}
	if c.UsedMemory() != 0 || c.PeakMemory() != 0 || a.Name() != "" {
		t.Errorf("a closed context has memory (%d, %d) or names (%q)", c.UsedMemory(), c.PeakMemory(), a.Name())
	}
	if got := a.String(); got != "leaf: f32 [2, 4]" {
		t.Errorf("String gives %q", got)
	}
	if err := cpu.Compute(kept); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, kept, 0, 2, 4, 6, 8, 10, 12, 14)
}

func TestUseAfterGraphAndBackendClose(t *testing.T) {
	c := newContext(t)
	b := must(NewBackend(""))
	on := must(NewContext(WithBackend(b)))
	defer on.Close()
	sum := must(c.Add(f32(c, 2), f32(c, 2)))
	g := must(NewGraph(c, sum))
	b.Close()
	b.Close()
	wantError(t, g.Compute(b), StatusInvalidArgument, "backend", "Close")
	_, err := g.PlanText(b)
	wantError(t, err, StatusInvalidArgument, "backend", "Close")
	_, err = NewContext(WithBackend(b))
	wantError(t, err, StatusInvalidArgument, "backend", "Close")
	if b.Device() != "cpu" || b.Threads() < 1 {
		t.Errorf("a closed backend is %q with %d threads", b.Device(), b.Threads())
	}
	f32(on, 3) // the context keeps its backend alive

	g.Close()
	g.Close()
	cpu := newCPU(t)
	wantError(t, g.Compute(cpu), StatusInvalidArgument, "graph", "Close")
	wantError(t, g.SetProgress(nil), StatusInvalidArgument, "graph", "Close")
	_, err = g.Dot()
	wantError(t, err, StatusInvalidArgument, "graph", "Close")
	if g.Nodes() != 0 || g.Leafs() != 0 {
		t.Errorf("a closed graph has %d nodes and %d leafs", g.Nodes(), g.Leafs())
	}
}

func TestReset(t *testing.T) {
	c := newContext(t)
	cpu := newCPU(t)
	old := f32(c, 2)
	sum := must(c.Add(old, old))
	g := must(NewGraph(c, sum))
	wantError(t, c.Reset(), StatusBusy)
	wantValues[float32](t, old, 0, 1) // nothing was changed
	g.Close()
	used := c.UsedMemory()
	if err := c.Reset(); err != nil {
		t.Fatal(err)
	}
	if c.UsedMemory() >= used || c.PeakMemory() < used {
		t.Errorf("used %d bytes before, %d after the reset, %d at most", used, c.UsedMemory(), c.PeakMemory())
	}
	_, err := ReadAll[float32](old)
	wantError(t, err, StatusInvalidArgument, "Reset")
	_, err = c.Add(old, old)
	wantError(t, err, StatusInvalidArgument, "Reset")
	_, err = NewGraph(c, sum)
	wantError(t, err, StatusInvalidArgument, "Reset")

	fresh := f32(c, 3)
	if err := cpu.Compute(must(c.Add(fresh, fresh))); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, fresh, 0, 1, 2)
	_, err = old.GetF32(0)
	wantError(t, err, StatusInvalidArgument, "Reset")
}

// A reset while another context refers to this one would leave it dangling.
func TestResetWhileReferred(t *testing.T) {
	c := newContext(t)
	user := must(NewContext())
	a := f32(c, 2)
	must(user.Add(a, a))
	wantError(t, c.Reset(), StatusBusy)
	user.Close()
	if err := c.Reset(); err != nil {
		t.Error(err)
	}
}

func TestNoAlloc(t *testing.T) {
	c := newContext(t, WithNoAlloc())
	a := must(c.NewTensor(F32, 2))
	_, err := ReadAll[float32](a)
	wantError(t, err, StatusInvalidArgument)
	if err := c.Allocate(nil); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, a, 0, 0)
	b := must(c.NewTensor(F32, 1))
	if err := c.Allocate(newCPU(t)); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, b, 0)
}

func TestMemLimit(t *testing.T) {
	c := newContext(t, WithMemLimit(1<<16))
	must(c.NewTensor(F32, 1024))
	_, err := c.NewTensor(F32, 1<<20)
	wantError(t, err, StatusOutOfMemory, "65536")
	must(c.NewTensor(F32, 1024)) // there is still memory
	if c.UsedMemory() > 1<<16 || c.UsedMemory() < 8192 {
		t.Errorf("%d bytes are used", c.UsedMemory())
	}
}

// Close while goroutines use everything that can be closed: they get results or
// errors, and the memory checkers find no misuse.
func TestCloseRaces(t *testing.T) {
	for round := 0; round < 30; round++ {
		c, cpu := must(NewContext()), must(NewBackend("cpu", WithThreads(1)))
		a := f32(c, 64, 64)
		g := must(NewGraph(c, must(c.MulMat(a, a))))
		var workers sync.WaitGroup
		work := func(call func() error) {
			workers.Add(1)
			go func() {
				defer workers.Done()
				for i := 0; i < 200; i++ {
					if err := call(); err != nil {
						if e := err.(*Error); e.Code != StatusInvalidArgument && e.Code != StatusBusy {
							t.Errorf("got %v: %v", e.Code, e)
						}
					}
				}
			}()
		}
		work(func() error { return g.Compute(cpu) })
		work(func() error { _, err := ReadAll[float32](a); return err })
		work(func() error { _, err := c.Add(a, a); return err })
		work(func() error { return a.SetName("racing") })
		work(func() error { _ = a.String(); _, err := g.Dot(); return err })
		work(func() error { return c.Reset() })
		time.Sleep(time.Duration(round) * 50 * time.Microsecond)
		c.Close()
		cpu.Close()
		g.Close()
		workers.Wait()
	}
}

// Reset while goroutines build, read and name: tensors belong to the current
// round, or return an error.
func TestResetRaces(t *testing.T) {
	c := newContext(t)
	var workers sync.WaitGroup
	stop := make(chan struct{})
	defer workers.Wait()
	defer close(stop)
	for worker := 0; worker < 4; worker++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				a, err := NewTensorFrom(c, []float32{float32(worker), float32(i)}, 2)
				if err == nil {
					_, err = c.Add(a, a)
				}
				if err == nil {
					err = a.SetName("racing")
				}
				var got []float32
				if err == nil {
					got, err = ReadAll[float32](a)
				}
				if err == nil && (got[0] != float32(worker) || got[1] != float32(i)) {
					t.Errorf("worker %d reads %v in round %d", worker, got, i)
				}
				if e, ok := err.(*Error); ok && e.Code != StatusBusy && !strings.Contains(e.Message, "Reset") {
					t.Errorf("got %v: %v", e.Code, e)
				}
			}
		}()
	}
	deadline := time.Now().Add(20 * time.Second)
	for resets := 0; resets < 100; {
		if err := c.Reset(); err == nil {
			resets++
		} else {
			wantError(t, err, StatusBusy)
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %d resets found the context idle", resets)
		}
	}
}

// The collector frees objects that nobody refers to any more, and not earlier.
func TestCollector(t *testing.T) {
	freed := make(chan string, 8)
	tensor := func() *Tensor {
		c := must(NewContext())
		free := c.h.free
		c.h.free = func() { free(); freed <- "context" }
		return f32(c, 2)
	}()
	for i := 0; i < 5; i++ {
		runtime.GC()
	}
	wantValues[float32](t, tensor, 0, 1) // a tensor keeps its context
	select {
	case what := <-freed:
		t.Fatalf("the %s of a living tensor was freed", what)
	default:
	}
	runtime.KeepAlive(tensor)
	tensor = nil
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("a forgotten context was never freed")
}

func TestHandleFreesOnce(t *testing.T) {
	freed := 0
	h := &handle{what: "thing", free: func() { freed++ }}
	if err := h.enter("thing"); err != nil {
		t.Fatal(err)
	}
	err := h.renew(func() error { t.Error("renewed under a call"); return nil })
	wantError(t, err, StatusBusy)
	h.close()
	h.close()
	if freed != 0 {
		t.Error("freed under a call")
	}
	if err := h.enter("thing"); err == nil || !strings.Contains(err.Error(), "Close") {
		t.Errorf("entering a closed handle gives %v", err)
	}
	h.leave()
	h.close()
	if freed != 1 {
		t.Errorf("freed %d times", freed)
	}
}
