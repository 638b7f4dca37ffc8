//! # Gradients
//!
//! Derivatives of outputs as nodes, which are computed, fused and printed like all others, on every backend, and can be
//! differentiated again.

use crate::{tl_context, tl_error, tl_status, tl_tensor};

extern "C" {
    /// Appends to `ctx` the nodes that compute the gradients of the sum of the outputs `ys` with respect to each tensor
    /// of `wrt`, and stores them in `grads`: `grads[j]` has the shape of `wrt[j]`, is F32 and contiguous, and is zero
    /// if no y depends on `wrt[j]`. The call computes nothing; a graph computes the nodes, together with the outputs if
    /// both are among its outputs.
    ///
    /// `ys` and `wrt` are leafs or nodes of F32, F16 or BF16. `seeds` are the gradients that flow into the outputs:
    /// F32, each of the shape of its y. An output of one element, such as a loss, needs no seed: NULL for all seeds, or
    /// NULL or tl_none() for one, stands for 1. `ctx` is any context that may refer to those of the outputs and seeds,
    /// usually the youngest of them; it owns the nodes. ys, seeds (unless NULL) and wrt are read during the call only;
    /// grads receives n_wrt tensors, or NULLs on failure.
    ///
    /// Gradients flow along operands: through views, repetitions and conversions, into weights of F32, F16 or BF16, and
    /// through products with quantised weights, which are constants themselves. They end at tl_stop_gradient(), at
    /// indices, and at operands for which an operation defines no gradient (docs/ops.md). Writes into memory by other
    /// means are not tracked.
    ///
    /// Returns the context's pending constructor error first, and clears it. On any error no nodes were appended.
    /// TL_STATUS_INVALID_ARGUMENT: a pointer is NULL, n_ys or n_wrt is 0, or an output of more than one element has no
    /// seed. TL_STATUS_TYPE_MISMATCH, TL_STATUS_SHAPE_MISMATCH: outputs, seeds or wrt do not fit.
    /// TL_STATUS_CONTEXT_MISMATCH. TL_STATUS_UNSUPPORTED: some nodes cannot be differentiated; the message names all of
    /// them. TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_gradients(
        ctx: *mut tl_context,
        ys: *const *mut tl_tensor,
        seeds: *const *mut tl_tensor,
        n_ys: usize,
        wrt: *const *mut tl_tensor,
        n_wrt: usize,
        grads: *mut *mut tl_tensor,
        err: *mut tl_error,
    ) -> tl_status;

    /// Whether gradients of y flow to t along operands. If not, tl_gradients() returns zeros for floats, and fails for
    /// tensors of other types. `out` is false on failure. TL_STATUS_INVALID_ARGUMENT: a pointer is NULL, or a tensor is
    /// tl_none(). TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_gradients_reach(y: *mut tl_tensor, t: *mut tl_tensor, out: *mut bool, err: *mut tl_error) -> tl_status;
}
