package tensorlib

// #include <tensorlib/tensorlib.h>
import "C"

import "unsafe"

// Gradients returns the gradients of y, a tensor of one element such as a loss,
// with respect to each of wrt: [Context.Gradients] in y's own context.
func (y *Tensor) Gradients(wrt ...*Tensor) ([]*Tensor, error) {
	if err := y.enter(); err != nil {
		return nil, operandError("gradients", 0, err)
	}
	defer y.leave()
	return y.ctx.Gradients([]*Tensor{y}, nil, wrt)
}

// GradientsReach tells whether gradients of y flow to t. If not,
// [Tensor.Gradients] returns zeros for it.
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

// Gradients makes the nodes that compute the gradients of the sum of the outputs
// ys with respect to each tensor of wrt: F32, contiguous, of the shapes of wrt,
// zeros where no output depends on a tensor. The nodes belong to c, which is
// usually the context of the youngest output. Nothing is computed yet, and the
// nodes can be differentiated again.
//
// Outputs and wrt are leafs or nodes of F32, F16 or BF16. The seeds are the
// gradients that flow into the outputs, F32 and of their shapes. An output of one
// element needs no seed: nil for all seeds, or for one, stands for 1.
//
// Gradients flow along operands: through views, repetitions and conversions, into
// weights of F32, F16 or BF16, and through products with quantised weights, which
// are constants themselves. They end at [Context.StopGradient], at indices, and
// at operands for which an operation defines no gradient. Writes into memory by
// other means are not tracked.
//
// Errors: [StatusInvalidArgument] for no output, no wrt, a wrong number of seeds,
// or an output of more than one element without a seed; [StatusTypeMismatch],
// [StatusShapeMismatch], [StatusContextMismatch]; [StatusUnsupported] naming all
// nodes that cannot be differentiated; [StatusOutOfMemory]. A failed call appends
// no nodes.
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
	// Locked, because this call too would take an error that a constructor of
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
