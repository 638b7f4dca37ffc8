package tensorlib

// #include "progress.h"
import "C"

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// patience is how long calls about a context wait for data that other goroutines
// use. They wait here, because in C each of them would hold a thread of the
// system.
type patience struct{ limit atomic.Int64 }

// SetBusyTimeout makes calls wait for data that other goroutines use, instead of
// failing immediately with [StatusBusy]. A call about this context, one of its
// tensors or a graph whose memory is here waits up to timeout; [Graph.Compute]
// then also limits its wait for the backend's turn, which is unlimited otherwise.
// 0, the default, waits for no context. A call that has begun to compute is not
// stopped. Calls from a callback of a running graph never wait, because they
// could wait for themselves.
//
// Errors: [StatusInvalidArgument] for a negative time, and after Close.
func (c *Context) SetBusyTimeout(timeout time.Duration) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	if timeout < 0 {
		return invalid("busy timeout: %v: 0 and more is valid", timeout)
	}
	c.busy.limit.Store(int64(timeout))
	return nil
}

// BusyTimeout returns how long calls about the context wait; 0 for a nil context.
func (c *Context) BusyTimeout() time.Duration {
	if c == nil || c.busy == nil {
		return 0
	}
	return time.Duration(c.busy.limit.Load())
}

// try repeats the call while it returns StatusBusy, until the limit is reached or
// ctx has ended. The call gets the time until which to wait, if there is a limit.
func (p *patience) try(ctx context.Context, call func(until time.Time) error) error {
	limit := time.Duration(p.limit.Load())
	if limit == 0 || bool(C.tlgo_in_callback()) {
		return call(time.Time{})
	}
	begin := time.Now()
	until := begin.Add(limit)
	for {
		err := call(until)
		var failure *Error
		if !errors.As(err, &failure) || failure.Code != StatusBusy {
			return err
		}
		waited := time.Since(begin)
		if waited >= limit {
			return errorf(StatusBusy, "%s, for longer than the busy timeout of %v", failure.Message, limit)
		}
		timer := time.NewTimer(min(max(waited/8, 20*time.Microsecond), time.Millisecond, limit-waited))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return endedBy(ctx)
		}
	}
}

// patiently makes a call about the tensor, whose context may be in use.
func (t *Tensor) patiently(call func(cerr *C.tl_error) C.tl_status) error {
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	if t == none {
		return invalid("tensor is nil: make one first")
	}
	return t.ctx.busy.patiently(call)
}

func (p *patience) patiently(call func(cerr *C.tl_error) C.tl_status) error {
	return p.try(context.Background(), func(time.Time) error {
		cerr := newCError()
		return check(call(&cerr), &cerr)
	})
}
