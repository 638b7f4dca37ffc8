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

// A context ends a run between nodes and within them, and calls that wait for the
// backend.
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

// Goroutines that wait for a backend do not each hold a thread of the system.
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
	time.Sleep(50 * time.Millisecond) // until they wait
	if n := pprof.Lookup("threadcreate").Count() - before; n > waiters/3 {
		t.Errorf("%d threads more for %d goroutines that wait", n, waiters)
	}
	cancel()
	wantError(t, <-ended, StatusAborted)
	all.Wait()
}

// A callback that computes on its own backend, or on one whose callback computes
// on this one, must not wait.
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

// doubling is a graph of y = x + x.
type doubling struct {
	cpu  *Backend
	c    *Context
	x, y *Tensor
	g    *Graph
}

func newDoubling(t *testing.T) doubling {
	t.Helper()
	cpu := must(NewBackend("cpu", WithThreads(1)))
	t.Cleanup(cpu.Close)
	c := newContext(t)
	x := vector(c, 1, 2)
	y := must(c.Add(x, x))
	g := must(NewGraph(c, y))
	t.Cleanup(g.Close)
	return doubling{cpu: cpu, c: c, x: x, y: y, g: g}
}

// hold maps x for writing, which excludes everything else, until release is
// called.
func (d *doubling) hold(t *testing.T) (release func()) {
	t.Helper()
	held, released, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- d.x.Map(AccessWrite, func([]byte) error {
			held <- struct{}{}
			<-released
			return nil
		})
	}()
	<-held
	return func() {
		close(released)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Calls wait as long as their context says.
func TestBusyTimeout(t *testing.T) {
	d := newDoubling(t)
	cpu, c, x, g := d.cpu, d.c, d.x, d.g
	wantError(t, c.SetBusyTimeout(-1), StatusInvalidArgument, "-1ns: 0 and more is valid")
	wantError(t, (*Context)(nil).SetBusyTimeout(0), StatusInvalidArgument, "nil")
	if c.BusyTimeout() != 0 {
		t.Error("there is a timeout that nobody set")
	}

	release := d.hold(t)
	wantError(t, g.Compute(cpu), StatusBusy)
	if err := c.SetBusyTimeout(20 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	const longer = "for longer than the busy timeout of 20ms"
	wantError(t, g.Compute(cpu), StatusBusy, longer)
	wantError(t, Write(x, []float32{3, 4}), StatusBusy, longer)
	wantError(t, x.SetConstant(), StatusBusy, longer)
	_, err := g.PlanText(cpu)
	wantError(t, err, StatusBusy, longer)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := c.SetBusyTimeout(time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := g.ComputeContext(ctx, cpu); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is no deadline's", err)
	}
	release()
}

// Calls wait in Go: hundreds of them hold no threads.
func TestBusyTimeoutHoldsNoThreads(t *testing.T) {
	d := newDoubling(t)
	if err := d.c.SetBusyTimeout(time.Minute); err != nil {
		t.Fatal(err)
	}
	release := d.hold(t)
	threads := pprof.Lookup("threadcreate").Count()
	var calls sync.WaitGroup
	for range 300 {
		calls.Add(2)
		go func() {
			defer calls.Done()
			if err := d.g.Compute(d.cpu); err != nil {
				t.Error(err)
			}
		}()
		go func() {
			defer calls.Done()
			if _, err := d.x.GetF32(1); err != nil {
				t.Error(err)
			}
		}()
	}
	time.Sleep(50 * time.Millisecond)
	if more := pprof.Lookup("threadcreate").Count() - threads; more > 50 {
		t.Errorf("%d threads were made", more)
	}
	release()
	calls.Wait()
	wantValues[float32](t, d.y, 2, 4)
}

// A call within a callback could wait for itself.
func TestBusyTimeoutInACallback(t *testing.T) {
	d := newDoubling(t)
	if err := d.c.SetBusyTimeout(time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := d.g.SetProgress(func(int, int) bool {
		wantError(t, d.g.Compute(d.cpu), StatusBusy)
		_, err := d.x.GetF32(0)
		wantError(t, err, StatusBusy)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if err := d.g.Compute(d.cpu); err != nil {
		t.Error(err)
	}
}

func TestBusyTimeoutOfTheBackend(t *testing.T) {
	cpu := must(NewBackend("cpu", WithThreads(1)))
	defer cpu.Close()
	g, begun := long(t, newContext(t))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- g.ComputeContext(ctx, cpu) }()
	<-begun
	c := newContext(t)
	if err := c.SetBusyTimeout(10 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	err := cpu.Compute(must(c.Abs(vector(c, 1))))
	wantError(t, err, StatusBusy, "computes for other goroutines, for longer than the busy timeout of 10ms")
	cancel()
	wantError(t, <-ended, StatusAborted)
}
