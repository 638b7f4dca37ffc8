package tensorlib

import (
	"context"
	"errors"
	"runtime/pprof"
	"sync"
	"testing"
	"time"
)

// long is a graph that computes for seconds, node by node, and a channel that is
// closed once it has begun.
func long(t *testing.T, c *Context) (*Graph, <-chan struct{}) {
	t.Helper()
	x := must(c.NewTensor(F32, 1024, 1024))
	y := x
	for range 200 {
		y = must(c.MulMat(x, y))
	}
	g := must(NewGraph(c, y))
	t.Cleanup(g.Close)
	begun := make(chan struct{})
	var once sync.Once
	if err := g.SetProgress(func(int, int) bool {
		once.Do(func() { close(begun) })
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return g, begun
}

func TestComputeContext(t *testing.T) {
	cpu, c := newCPU(t), newContext(t)
	x := f32(c, 2)
	y := must(c.Add(x, x))
	g := must(NewGraph(c, y))
	defer g.Close()

	ctx, cancel := context.WithCancelCause(context.Background())
	if err := g.ComputeContext(ctx, cpu); err != nil {
		t.Fatal(err)
	}
	wantValues[float32](t, y, 0, 2)
	if err := cpu.ComputeContext(ctx, must(c.Mul(x, x))); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the client has gone")
	cancel(gone)
	err := g.ComputeContext(ctx, cpu)
	wantError(t, err, StatusAborted, "the client has gone")
	if !errors.Is(err, gone) {
		t.Errorf("%v is not the cause", err)
	}
	wantError(t, g.ComputeContext(nil, cpu), StatusInvalidArgument, "nil") //nolint:staticcheck // what is tested
	if err := g.Compute(cpu); err != nil {
		t.Error(err)
	}
}

// A context ends a run between and within nodes, and what waits for the backend.
func TestComputeContextEnds(t *testing.T) {
	cpu := must(NewBackend("cpu", WithThreads(1)))
	defer cpu.Close()
	c := newContext(t)
	g, begun := long(t, c)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- g.ComputeContext(ctx, cpu) }()
	<-begun

	short, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	waiting := newContext(t)
	x := f32(waiting, 2)
	err := cpu.ComputeContext(short, must(waiting.Abs(x)))
	wantError(t, err, StatusAborted)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is no deadline's", err)
	}

	cancel()
	err = <-ended
	wantError(t, err, StatusAborted)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is no cancellation", err)
	}
	// The backend is free again.
	if err := cpu.Compute(must(waiting.Abs(x))); err != nil {
		t.Error(err)
	}
}

// Goroutines that wait for a backend do not hold a thread of the system each.
func TestWaitingTakesNoThreads(t *testing.T) {
	const waiters = 300
	cpu := must(NewBackend("cpu", WithThreads(1)))
	defer cpu.Close()
	c := newContext(t)
	g, begun := long(t, c)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- g.ComputeContext(ctx, cpu) }()
	<-begun
	before := pprof.Lookup("threadcreate").Count()
	var all, started sync.WaitGroup
	for range waiters {
		all.Add(1)
		started.Add(1)
		go func() {
			defer all.Done()
			c := must(NewContext())
			defer c.Close()
			x := f32(c, 2)
			y := must(c.Add(x, x))
			started.Done()
			if err := cpu.Compute(y); err != nil {
				t.Error(err)
			} else {
				wantValues[float32](t, y, 0, 2)
			}
		}()
	}
	started.Wait()
	time.Sleep(50 * time.Millisecond) // they get to where they wait
	if n := pprof.Lookup("threadcreate").Count() - before; n > waiters/3 {
		t.Errorf("%d threads more for %d goroutines that wait", n, waiters)
	}
	cancel()
	wantError(t, <-ended, StatusAborted)
	all.Wait()
}

// A callback that computes on its own backend, or on one whose callback computes on
// this one, must not wait.
func TestCallbacksDoNotWait(t *testing.T) {
	cpu, c := newCPU(t), newContext(t)
	x := f32(c, 2)
	g := must(NewGraph(c, must(c.Add(x, x))))
	defer g.Close()
	other := newContext(t)
	y := must(other.Abs(f32(other, 2)))
	calls := 0
	if err := g.SetProgress(func(int, int) bool {
		calls++
		wantError(t, cpu.Compute(y), StatusBusy)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if err := g.Compute(cpu); err != nil || calls == 0 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
