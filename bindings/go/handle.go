package tensorlib

import "sync"

// handle guards one pointer of the C library against use after it was freed.
//
// A call enters before it uses the pointer and leaves afterwards; the pointer is
// freed when it is closed and the last call has left. Close therefore never
// waits, which matters in a progress callback: it runs inside a call on the very
// handles that it may close.
type handle struct {
	what string // for messages: "context"
	free func() // must not refer to the object that holds this handle, which would never be collected then

	mu         sync.Mutex
	inside     int // calls between enter and leave
	closed     bool
	generation uint64 // how often everything that belongs to the pointer was dropped: see Context.Reset
}

// enter starts a call. It fails if the handle is nil (the zero value of the
// object that holds it) or closed.
func (h *handle) enter(what string) error {
	if h == nil {
		return invalid("%s is nil: make one first", what)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return invalid("%s was used after its Close", h.what)
	}
	h.inside++
	return nil
}

// enterGeneration is enter for an object that belongs to the pointer and was made
// in the given generation.
func (h *handle) enterGeneration(what string, generation uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return invalid("%s was used after its %s's Close", what, h.what)
	case h.generation != generation:
		return invalid("%s was used after its %s's Reset", what, h.what)
	}
	h.inside++
	return nil
}

func (h *handle) leave() {
	h.mu.Lock()
	h.inside--
	last := h.closed && h.inside == 0
	h.mu.Unlock()
	if last {
		h.free()
	}
}

func (h *handle) close() {
	if h == nil {
		return
	}
	h.mu.Lock()
	last := !h.closed && h.inside == 0
	h.closed = true
	h.mu.Unlock()
	if last {
		h.free()
	}
}

// renew runs drop, which invalidates everything that belongs to the pointer,
// while no call is inside, and begins a new generation if drop succeeds. It does
// not wait: like the engine's own locks it fails with StatusBusy.
func (h *handle) renew(drop func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return invalid("%s was used after its Close", h.what)
	case h.inside > 0:
		return errorf(StatusBusy, "the %s is in use by %d other calls", h.what, h.inside)
	}
	err := drop()
	if err == nil {
		h.generation++
	}
	return err
}
