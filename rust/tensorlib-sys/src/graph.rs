//! # Graphs
//!
//! The nodes to compute, and their order.

use crate::{tl_backend, tl_context, tl_error, tl_status, tl_tensor};
use core::ffi::{c_char, c_void};
use core::marker::{PhantomData, PhantomPinned};

/// The nodes that some outputs need, in an order in which they can be computed. Immutable once built; it can be
/// computed any number of times, with new values in its leafs.
///
/// Lifetime: from tl_graph_create() until tl_graph_free(). A graph keeps the memory of all contexts that it reaches
/// alive.
///
/// Threads: any function may be called from any thread. A graph is computed by one caller at a time.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_graph {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Called on the thread that called tl_graph_compute(), after each computed node and during long ones: `done` of
/// `total` nodes are computed (views compute nothing and count with the node before them). Return true to continue,
/// false to stop the run with TL_STATUS_ABORTED. Must not throw or unwind.
pub type tl_progress_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, done: usize, total: usize) -> bool>;

/// Called on the thread that called tl_graph_compute(), after each node that computes something, with that node: `done`
/// of `total` nodes are computed. Return true to continue, false to stop the run with TL_STATUS_ABORTED. Must not throw
/// or unwind.
pub type tl_observe_fn =
    Option<unsafe extern "C" fn(user_data: *mut c_void, node: *mut tl_tensor, done: usize, total: usize) -> bool>;

extern "C" {
    /// Builds the graph of `n_outputs` outputs: post-order from each in turn, every tensor once.
    ///
    /// `ctx` owns the graph's memory. `outputs` is read during the call only. `out` must not be NULL; it
    /// receives the graph, which the caller frees with tl_graph_free(), or NULL on failure.
    ///
    /// Returns the context's pending constructor error first, and clears it.
    /// TL_STATUS_INVALID_ARGUMENT: ctx, out, outputs or one of them is NULL, or n_outputs is 0.
    /// TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_graph_create(
        ctx: *mut tl_context,
        outputs: *const *mut tl_tensor,
        n_outputs: usize,
        out: *mut *mut tl_graph,
        err: *mut tl_error,
    ) -> tl_status;

    /// Builds a graph whose intermediates take at most `memory` bytes, not counting kernels' workspaces
    /// (tl_graph_plan_text() shows both).
    ///
    /// If all nodes together would take more, some nodes that gradients read are recomputed instead of kept: cheap
    /// nodes first, then whole sections of the graph. Results have the same bits. The plan's text lists the recomputed
    /// nodes and the bytes saved. A limit that is large enough changes nothing.
    ///
    /// Arguments and statuses as tl_graph_create(); TL_STATUS_OUT_OF_MEMORY also if no plan within `memory` is found:
    /// the message has the fewest bytes for which one was found. Any thread. Since 0.1.
    pub fn tl_graph_create_within(
        ctx: *mut tl_context,
        outputs: *const *mut tl_tensor,
        n_outputs: usize,
        memory: usize,
        out: *mut *mut tl_graph,
        err: *mut tl_error,
    ) -> tl_status;

    /// Frees the graph; NULL is ignored. Its outputs' data stay with their contexts. Any thread. Since 0.1.
    pub fn tl_graph_free(graph: *mut tl_graph);

    /// The number of nodes, including views; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_graph_n_nodes(graph: *const tl_graph) -> usize;

    /// The number of leafs; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_graph_n_leafs(graph: *const tl_graph) -> usize;

    /// Lists the nodes in the order of computation, including views.
    ///
    /// Writes up to `n` of them to `nodes`, which may be NULL if n is 0, and returns their total number; 0 for NULL.
    /// They are valid as long as the graph. A node that is recomputed for gradients (tl_graph_create_within()) is
    /// listed once for each time it is computed. Any thread. Since 0.1.
    pub fn tl_graph_nodes(graph: *const tl_graph, nodes: *mut *mut tl_tensor, n: usize) -> usize;

    /// Lists the leafs that the graph's nodes read or write, as tl_graph_nodes(). Any thread. Since 0.1.
    pub fn tl_graph_leafs(graph: *const tl_graph, leafs: *mut *mut tl_tensor, n: usize) -> usize;

    /// Lists the outputs in the order in which they were given, as tl_graph_nodes(). Any thread. Since 0.1.
    pub fn tl_graph_outputs(graph: *const tl_graph, outputs: *mut *mut tl_tensor, n: usize) -> usize;

    /// Computes the graph and returns when the results are complete. The first call with a backend makes a plan
    /// (kernels, memory, threads) and later calls reuse it. Once this graph is freed, another graph of the same context
    /// with the same operations, shapes, types and constants reuses it too.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: graph or backend is NULL, or a leaf has no data yet. TL_STATUS_CONTEXT_MISMATCH:
    /// some data live on a device that the backend does not compute on. TL_STATUS_UNSUPPORTED: no kernel of the backend
    /// supports a node (the message says why). TL_STATUS_UNAVAILABLE: the backend belongs to the parent of this forked
    /// process. TL_STATUS_BUSY: a context is in use, or the call comes from the backend's own callback.
    /// TL_STATUS_ABORTED: the callback stopped the run. TL_STATUS_OUT_OF_MEMORY: also if a joined backend cannot keep
    /// the limit of tl_graph_create_within(). After a failure the outputs count as not computed, unless the call
    /// changed nothing: BUSY, UNAVAILABLE and CONTEXT_MISMATCH. Any thread. Since 0.1.
    pub fn tl_graph_compute(graph: *mut tl_graph, backend: *mut tl_backend, err: *mut tl_error) -> tl_status;

    /// Sets the callback of future runs; NULL removes it. `user_data` is passed to it unchanged and must live until the
    /// callback is replaced or the graph is freed.
    ///
    /// The callback runs on the thread that computes: after each node, and on the CPU about every 10 ms while a node
    /// takes longer. It gets the number of nodes computed so far. Stopping a run skips the rest of the current node.
    /// The answer after the last node has no effect, as the results are complete. TL_STATUS_INVALID_ARGUMENT: graph is
    /// NULL. TL_STATUS_BUSY: the graph is being computed. Any thread. Since 0.1.
    pub fn tl_graph_set_progress(
        graph: *mut tl_graph,
        progress: tl_progress_fn,
        user_data: *mut c_void,
        err: *mut tl_error,
    ) -> tl_status;

    /// Sets the observer of future runs, which is called with each node when its result is complete; NULL removes it.
    /// `user_data` is passed to it unchanged and must live until the observer is replaced or the graph is freed.
    ///
    /// While the observer runs, tl_tensor_read(), tl_tensor_read_f32() and tl_tensor_get_f32() can read the node's
    /// result on this thread, even if it is an intermediate, but no other tensor of a context that the run writes. The
    /// observer is called once for each node that computes something, in the order of computation; views have no result
    /// of their own. Each node runs separately, which is slow and gives the same bits. The answer after the last node
    /// has no effect, as the results are complete.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: graph is NULL. TL_STATUS_BUSY: the graph is being computed. Any thread. Since 0.1.
    pub fn tl_graph_set_observer(
        graph: *mut tl_graph,
        observe: tl_observe_fn,
        user_data: *mut c_void,
        err: *mut tl_error,
    ) -> tl_status;

    /// Makes future runs check each result and fail at the first that has a NaN, or an infinity although no operand has
    /// one. Use it to find where a NaN comes from.
    ///
    /// Such a run fails with TL_STATUS_INVALID_ARGUMENT; the message names the operation, tensor, element, value and
    /// operands. Leafs that are read are checked first, for NaNs only. Infinities of leafs, of diag_mask_inf, of an
    /// infinite fill and of results computed from them count as intended. Integers and quantised types are not checked.
    /// Each node runs separately and its result is read, which is slow and gives the same bits.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: graph is NULL. TL_STATUS_BUSY: the graph is being computed. Any thread. Since 0.1.
    pub fn tl_graph_set_check_finite(graph: *mut tl_graph, check: bool, err: *mut tl_error) -> tl_status;

    /// Makes future runs batch-invariant: each column of mul_mat and mul_mat_id, and each query of flash_attn_ext and
    /// paged_attention, has the bits that it has if it is computed alone, however many are computed with it. Use it
    /// where results must not depend on how tokens are grouped, such as a prompt that is fed at once or in parts.
    ///
    /// A query's bits do not depend on keys that its mask hides either. Operations that take each row by itself, such as
    /// norms, rope and get_rows, are always batch-invariant. A column is then rounded to 8 bits even if it is the only
    /// one, and BF16 weights are multiplied in F32. Prompts are slower, single columns hardly.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: graph is NULL. TL_STATUS_BUSY: the graph is being computed. Computing the graph then
    /// fails with TL_STATUS_UNSUPPORTED on a backend other than the CPU, and for mul_mat_sparse, axpy and sparse_ffn,
    /// which have no such kernels. Any thread. Since 0.1.
    pub fn tl_graph_set_batch_invariant(graph: *mut tl_graph, on: bool, err: *mut tl_error) -> tl_status;

    /// Writes the graph in Graphviz's DOT language to `buf`, at most `size` bytes including the NUL, and returns the
    /// length needed without the NUL. `buf` may be NULL if size is 0. Returns 0 for NULL, and if memory runs out. Any
    /// thread. Since 0.1.
    pub fn tl_graph_dot(graph: *const tl_graph, buf: *mut c_char, size: usize) -> usize;

    /// Writes the plan as text, a line per node: kernel, chunks, threads, workspace, memory, and why better kernels
    /// refused. `buf` and the result as in tl_graph_dot(); 0 on failure, with the reason in `err` (statuses as in
    /// tl_graph_compute()). Any thread. Since 0.1.
    pub fn tl_graph_plan_text(
        graph: *mut tl_graph,
        backend: *mut tl_backend,
        buf: *mut c_char,
        size: usize,
        err: *mut tl_error,
    ) -> usize;

    /// Bytes that computing the graph takes on each device of the backend, in the order of joining: leafs and outputs
    /// that lie there, intermediates, workspace, transfers to the device, and packed copies of constants. Nothing is
    /// allocated, and leafs need no data, so a graph of a no_alloc context tells its need in advance.
    ///
    /// `bytes` has space for `n` numbers and receives tl_backend_n_devices() of them. The planner itself counts; only
    /// packed copies may turn out smaller, if there is no memory for one.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: graph, backend or bytes is NULL, n is below the number of devices. Other statuses as
    /// tl_graph_compute(). Any thread. Since 0.1.
    pub fn tl_graph_plan_bytes(
        graph: *mut tl_graph,
        backend: *mut tl_backend,
        bytes: *mut usize,
        n: usize,
        err: *mut tl_error,
    ) -> tl_status;
}
