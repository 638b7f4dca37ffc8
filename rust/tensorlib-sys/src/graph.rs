//! # Graphs
//!
//! What is to be computed, in which order.

use crate::{tl_backend, tl_context, tl_error, tl_status, tl_tensor};
use core::ffi::{c_char, c_void};
use core::marker::{PhantomData, PhantomPinned};

/// The nodes that some outputs need, in an order in which they can be computed. Immutable once built;
/// computed as often as you like, with leafs rewritten in between.
///
/// Lifetime: from tl_graph_create() until tl_graph_free(). A graph keeps the memory of all contexts that
/// it reaches alive.
///
/// Threads: any function may be called from any thread. A graph is computed by one caller at a time.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_graph {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Called on the thread that called tl_graph_compute(), after each computed node and during long ones: `done` of `total` nodes are
/// computed (views compute nothing and count with the node before them). Return true to go on,
/// false to stop the run with TL_STATUS_ABORTED. Must not throw or unwind.
pub type tl_progress_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, done: usize, total: usize) -> bool>;

/// Called on the thread that called tl_graph_compute(), after each node that computes something, with that node: `done` of `total`
/// nodes are computed. Return true to go on, false to stop the run with TL_STATUS_ABORTED. Must not throw or unwind.
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

    /// The same, of a graph whose intermediates take at most `memory` bytes, kernels' workspaces not counted
    /// (tl_graph_plan_text() gives both).
    ///
    /// Where all nodes would take more, some that gradients read are computed again in place of being kept until then: cheap ones
    /// first, whole parts of the graph where that does not suffice. Results have the same bits. The plan's text says which nodes run
    /// again, and what it saves. A limit that needs nothing changes nothing.
    ///
    /// Arguments and statuses as of tl_graph_create(); TL_STATUS_OUT_OF_MEMORY also where no way within `memory` is found: the message
    /// has the least bytes that one was found for. Any thread. Since 0.1.
    pub fn tl_graph_create_within(
        ctx: *mut tl_context,
        outputs: *const *mut tl_tensor,
        n_outputs: usize,
        memory: usize,
        out: *mut *mut tl_graph,
        err: *mut tl_error,
    ) -> tl_status;

    /// Gives the graph back; NULL is fine. Its outputs' data stay with their contexts. Any thread.
    /// Since 0.1.
    pub fn tl_graph_free(graph: *mut tl_graph);

    /// The number of nodes, views included; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_graph_n_nodes(graph: *const tl_graph) -> usize;

    /// The number of leafs; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_graph_n_leafs(graph: *const tl_graph) -> usize;

    /// Lists the nodes in the order in which they are computed, views included.
    ///
    /// Writes up to `n` of them to `nodes`, which may be NULL where n is 0, and returns how many there are;
    /// 0 for NULL. They are valid as long as the graph. A node that is computed again for gradients
    /// (tl_graph_create_within()) is listed as often as it is computed. Any thread. Since 0.1.
    pub fn tl_graph_nodes(graph: *const tl_graph, nodes: *mut *mut tl_tensor, n: usize) -> usize;

    /// Lists the leafs that the graph's nodes read or write, as tl_graph_nodes(). Any thread. Since 0.1.
    pub fn tl_graph_leafs(graph: *const tl_graph, leafs: *mut *mut tl_tensor, n: usize) -> usize;

    /// Lists the outputs in the order in which they were given, as tl_graph_nodes(). Any thread. Since 0.1.
    pub fn tl_graph_outputs(graph: *const tl_graph, outputs: *mut *mut tl_tensor, n: usize) -> usize;

    /// Computes the graph and returns when the results are there. The first call with a backend makes a
    /// plan (kernels, memory, threads), later ones reuse it; so does another graph of the same context, once
    /// this one is freed, if it has the same operations, shapes, types and constants.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: graph or backend is NULL, or a leaf has no data yet.
    /// TL_STATUS_CONTEXT_MISMATCH: some data live on another device than the backend's, or than all of a joined one's.
    /// TL_STATUS_UNSUPPORTED: a node that no kernel of the backend takes (the message says why).
    /// TL_STATUS_UNAVAILABLE: the backend belongs to the parent of this forked process.
    /// TL_STATUS_BUSY: a context is in use, or this is the backend's own callback.
    /// TL_STATUS_ABORTED: the callback stopped it. TL_STATUS_OUT_OF_MEMORY: also where the bound of
    /// tl_graph_create_within() does not hold on a joined backend.
    /// After a failure the outputs count as not computed, but for those that changed nothing: BUSY, UNAVAILABLE and
    /// CONTEXT_MISMATCH. Any thread. Since 0.1.
    pub fn tl_graph_compute(graph: *mut tl_graph, backend: *mut tl_backend, err: *mut tl_error) -> tl_status;

    /// Sets the callback of the coming runs; NULL removes it. `user_data` is handed to it as it is and
    /// must live until the callback is replaced or the graph is freed.
    ///
    /// It is called on the thread that computes: after each node, and on the CPU every 10 ms or so while a node takes longer, with the
    /// nodes that are done so far. A run that it stops leaves out the rest of the node. What it returns after the last node changes
    /// nothing, as the results are there. TL_STATUS_INVALID_ARGUMENT: graph
    /// is NULL. TL_STATUS_BUSY: the graph is being computed. Any thread. Since 0.1.
    pub fn tl_graph_set_progress(
        graph: *mut tl_graph,
        progress: tl_progress_fn,
        user_data: *mut c_void,
        err: *mut tl_error,
    ) -> tl_status;

    /// Sets the observer of the coming runs, which is called with each node when its result is there; NULL removes it. `user_data` is
    /// handed to it as it is and must live until the observer is replaced or the graph is freed.
    ///
    /// While it runs, tl_tensor_read(), tl_tensor_read_f32() and tl_tensor_get_f32() read the node's result on this thread, also an
    /// intermediate one's, and no other tensor of a context that the run writes. It is called once for each node that computes
    /// something, in the order of computing; views have no result of their own. Each node runs by itself meanwhile: that is slow, and has the
    /// same bits. What it returns after the last node changes nothing, as the results are there.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: graph is NULL. TL_STATUS_BUSY: the graph is being computed. Any thread. Since 0.1.
    pub fn tl_graph_set_observer(
        graph: *mut tl_graph,
        observe: tl_observe_fn,
        user_data: *mut c_void,
        err: *mut tl_error,
    ) -> tl_status;

    /// Whether the coming runs look at each result and fail at the first one with a NaN, or with an infinity where no operand has
    /// one; for finding out where a NaN comes from.
    ///
    /// Such a run fails with TL_STATUS_INVALID_ARGUMENT; the message names operation, tensor, element, value and operands. Leafs that
    /// are read come first, for a NaN alone. Taken for meant are infinities of leafs, of diag_mask_inf, of an infinite fill, and
    /// whatever is made of them. Integers and types with blocks are not looked at. Each node runs by itself meanwhile, and its result
    /// is read: that is slow, and has the same bits.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: graph is NULL. TL_STATUS_BUSY: it is being computed. Any thread. Since 0.1.
    pub fn tl_graph_set_check_finite(graph: *mut tl_graph, check: bool, err: *mut tl_error) -> tl_status;

    /// Writes the graph in Graphviz' DOT language to `buf`, at most `size` bytes with the NUL at the end;
    /// returns the length needed without it. `buf` may be NULL where size is 0. 0 for NULL or where
    /// memory runs out. Any thread. Since 0.1.
    pub fn tl_graph_dot(graph: *const tl_graph, buf: *mut c_char, size: usize) -> usize;

    /// What the plan chose, a line per node: kernel, chunks, threads, workspace, memory, and why better
    /// kernels refused. `buf` and the result as tl_graph_dot()'s; 0 on failure, with the reason in `err`
    /// (statuses as tl_graph_compute()'s). Any thread. Since 0.1.
    pub fn tl_graph_plan_text(
        graph: *mut tl_graph,
        backend: *mut tl_backend,
        buf: *mut c_char,
        size: usize,
        err: *mut tl_error,
    ) -> usize;

    /// The bytes that computing the graph takes of each device of the backend, in the order of joining: its leafs and outputs that lie
    /// there, intermediates, workspace, what is copied there, and packed copies of constants. Nothing is made for it, and leafs need no
    /// data: in a no_alloc context it tells beforehand what a graph would need.
    ///
    /// `bytes` has room for `n` numbers and receives as many as tl_backend_n_devices() says. The planner itself counts; only packed copies
    /// can come out less, where there is no memory for one.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: graph, backend or bytes is NULL, n is less than the number of devices. Else statuses as of
    /// tl_graph_compute(). Any thread. Since 0.1.
    pub fn tl_graph_plan_bytes(
        graph: *mut tl_graph,
        backend: *mut tl_backend,
        bytes: *mut usize,
        n: usize,
        err: *mut tl_error,
    ) -> tl_status;
}
