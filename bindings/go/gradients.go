package tensorlib

// #include <tensorlib/tensorlib.h>
import "C"

import "unsafe"

// Gradients is the gradients of y, a tensor of one element such as a loss, with
// respect to each of wrt: [Context.Gradients] in y's own context.
func (y *Tensor) Gradients(wrt ...*Tensor) ([]*Tensor, error) {
	if err := y.enter(); err != nil {
		return nil, operandError("gradients", 0, err)
	}
	defer y.leave()
	return y.ctx.Gradients([]*Tensor{y}, nil, wrt)
}

// GradientsReach says whether gradients of y flow to t; where not, [Tensor.Gradients]
// gives zeros.
func (y *Tensor) GradientsReach(t *Tensor) (bool, error) {
	for i, operand := range []*Tensor{y, t} {
		if err := operand.enter(); err != nil {
			return false, operandError("gradients_reach", i, err)
		}
		defer operand.leave()
	}
	var reach C.bool
	cerr := newCError()
	err := check(C.tl_gradients_reach(y.ptr, t.ptr, &reach, &cerr), &cerr)
	return bool(reach), err
}

// Gradients makes the nodes that compute the gradients of the outputs ys, added
// up, with respect to each tensor of wrt: F32, contiguous, of wrt's shapes, zeros
// where no output depends on one. They are c's; c is usually the outputs' youngest
// context. Nothing is computed, and the nodes are differentiable again.
//
// Outputs and wrt are leafs or nodes of F32, F16 or BF16. The seeds are the
// gradients of what is made of the outputs, F32 of their shapes; nil for all, or for
// one, is 1, of an output of one element.
//
// Gradients flow along operands: through views, repetitions and conversions, into
// weights of F32, F16 or BF16, and through products with weights in blocks, which
// are constants. They end at [Context.StopGradient], at indices, and where an
// operation says that an operand has none. What something else writes into memory is
// not followed.
//
// Errors: [StatusInvalidArgument] for no output, no wrt, another number of seeds, or
// an output of more than one element without one; [StatusTypeMismatch],
// [StatusShapeMismatch], [StatusContextMismatch]; [StatusUnsupported] naming all
// nodes that cannot be differentiated; [StatusOutOfMemory]. After an error nothing
// was appended.
func (c *Context) Gradients(ys, seeds, wrt []*Tensor) ([]*Tensor, error) {
	if seeds != nil && len(seeds) != len(ys) {
		return nil, invalid("gradients: %d outputs and %d seeds: as many, or nil, are valid", len(ys), len(seeds))
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	var cys, cseeds, cwrt []*C.tl_tensor
	for i, t := range ys {
		if err := t.enter(); err != nil {
			return nil, operandError("gradients", i, err)
		}
		defer t.leave()
		cys = append(cys, t.ptr)
	}
	for i, t := range seeds {
		if t == nil {
			cseeds = append(cseeds, nil)
			continue
		}
		if err := t.enter(); err != nil {
			return nil, operandError("gradients", i, err)
		}
		defer t.leave()
		cseeds = append(cseeds, t.ptr)
	}
	for i, t := range wrt {
		if err := t.enter(); err != nil {
			return nil, operandError("gradients", i, err)
		}
		defer t.leave()
		cwrt = append(cwrt, t.ptr)
	}
	made := make([]*C.tl_tensor, len(wrt))
	cerr := newCError()
	// Under the lock, as this call too would take an error that a constructor of
	// another goroutine has just left.
	c.build.Lock()
	err := check(C.tl_gradients(c.ptr, unsafe.SliceData(cys), unsafe.SliceData(cseeds), C.size_t(len(cys)),
		unsafe.SliceData(cwrt), C.size_t(len(cwrt)), unsafe.SliceData(made), &cerr), &cerr)
	c.build.Unlock()
	if err != nil {
		return nil, err
	}
	gradients := make([]*Tensor, len(made))
	for i, ptr := range made {
		gradients[i] = newTensor(c, ptr)
	}
	return gradients, nil
}
