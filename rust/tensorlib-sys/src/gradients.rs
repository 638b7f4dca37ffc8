//! # Gradients
//!
//! The derivatives of outputs, as nodes of their own: computed, fused and printed as all others, on every backend, and
//! differentiable again.

use crate::{tl_context, tl_error, tl_status, tl_tensor};

extern "C" {
    /// Appends to `ctx` the nodes that compute the gradients of the outputs `ys`, added up, with respect to each tensor of
    /// `wrt`, and gives them in `grads`: `grads[j]` has `wrt[j]`'s shape, is F32 and contiguous, and zeros where no y depends on
    /// `wrt[j]`. Nothing is computed; a graph of them computes them, with the outputs themselves if they are among its outputs.
    ///
    /// `ys` and `wrt` are leafs or nodes of F32, F16 or BF16. `seeds` are the gradients of what is computed from the
    /// outputs: F32, each of its y's shape; NULL for all, or NULL or tl_none() for one, stands for 1, of an output of one
    /// element such as a loss. `ctx` is any context that may refer to those of the outputs and seeds, usually the
    /// youngest of them; it owns the nodes. ys, seeds (where not NULL) and wrt are read during the call only; grads has
    /// room for n_wrt tensors, and they are NULL on failure.
    ///
    /// Gradients flow along operands: through views, repetitions and conversions, into weights of F32, F16 or BF16, and
    /// through products with weights in blocks, which are constants. They end at tl_stop_gradient(), at indices, and where an
    /// operation says that an operand has none (docs/ops.md). What something else writes into memory is not followed.
    ///
    /// Returns the context's pending constructor error first, and clears it. On any error nothing was appended.
    /// TL_STATUS_INVALID_ARGUMENT: a pointer is NULL, n_ys or n_wrt is 0, or an output of more than one element has no seed.
    /// TL_STATUS_TYPE_MISMATCH, TL_STATUS_SHAPE_MISMATCH: of outputs, seeds or wrt. TL_STATUS_CONTEXT_MISMATCH.
    /// TL_STATUS_UNSUPPORTED: nodes that cannot be differentiated, all of them named. TL_STATUS_OUT_OF_MEMORY. Any thread.
    /// Since 0.1.
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

    /// Whether gradients of y flow to t, along operands; where not, tl_gradients() gives zeros for floats, and fails for tensors of
    /// other types. `out` is false on failure. TL_STATUS_INVALID_ARGUMENT: a pointer is NULL, or a tensor is tl_none().
    /// TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_gradients_reach(y: *mut tl_tensor, t: *mut tl_tensor, out: *mut bool, err: *mut tl_error) -> tl_status;
}
