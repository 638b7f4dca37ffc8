//! # Contexts
//!
//! Memory. A context owns tensors and graphs and frees them together.

use crate::{tl_backend, tl_error, tl_status};
use core::ffi::{c_char, c_void};
use core::marker::{PhantomData, PhantomPinned};

/// An arena that owns tensors, graphs and their data. Nothing in it is freed individually, except that a freed
/// graph's memory is reused; everything is freed with the context.
///
/// Lifetime: the handle is valid from tl_context_create() until tl_context_free(). The context's memory lives on as
/// long as a graph, a tensor of another context or an exported tensor (tl_tensor_to_dlpack()) refers to it, so handles
/// may be freed in any order. A tensor's pointer is valid as long as the memory of its context, and until
/// tl_context_reset().
///
/// Errors: constructors of tensors and operations return NULL on failure. The context keeps the first failure until
/// tl_context_error() reads it, and tl_graph_create() also returns it. Constructors can therefore be nested, and
/// one check at the end of a model is enough.
///
/// Threads: any function may be called from any thread. Building (constructors, tl_graph_create()) takes a short
/// lock and may go on while graphs are computed. A run lock per context separates computing, reading and writing:
/// tl_graph_compute() locks contexts that it writes exclusively and contexts that it only reads shared; reads of
/// tensors lock shared and writes exclusively, for the duration of the call. A call that finds the lock taken
/// returns TL_STATUS_BUSY with a message that names the context and the node or leaf of the graph that needs it,
/// either immediately or after the busy timeout (tl_context_set_busy_timeout()).
///
/// Models: keep weights in one context, tl_context_freeze() it, and build each request's nodes in a separate
/// context, which is reset or freed afterwards. Requests then run at the same time, each with its own backend.
/// Nodes in the weights' context would make it grow, and make it BUSY for other requests.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_context {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Options for making a context. Fill it with tl_context_params_init(), then change what you need.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_context_params {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
    /// The most bytes that objects and data of this context may take together; 0 = no limit.
    pub mem_limit: usize,
    /// Memory to use instead of the context's own; the context never grows beyond it. NULL = the context's own. It
    /// must stay valid until the context's memory is no longer in use, and nobody else may touch it.
    pub mem_buffer: *mut c_void,
    /// Bytes of mem_buffer.
    pub mem_buffer_size: usize,
    /// Makes tensors without data; tl_context_allocate() gives leafs their data.
    pub no_alloc: bool,
    /// The backend on whose device the tensors' data live; NULL = host memory.
    pub backend: *mut tl_backend,
}

extern "C" {
    /// Sets the defaults. A NULL `params` is ignored; at most `struct_size` bytes are written. Any thread, as long
    /// as params is not shared. Since 0.1.
    pub fn tl_context_params_init(params: *mut tl_context_params, struct_size: usize);

    /// Makes a context.
    ///
    /// `params` may be NULL for the defaults. `out` must not be NULL; it receives the context, which the caller
    /// frees with tl_context_free(), or NULL on failure. Any limit is accepted; tensors that do not fit fail later.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: out is NULL; struct_size is too small, or its unknown tail is not zero;
    /// mem_buffer and mem_buffer_size contradict each other. TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_context_create(
        params: *const tl_context_params,
        out: *mut *mut tl_context,
        err: *mut tl_error,
    ) -> tl_status;

    /// Releases the handle; NULL is ignored. The memory is freed when nothing refers to it any more. Any thread.
    /// Since 0.1.
    pub fn tl_context_free(ctx: *mut tl_context);

    /// Bytes in use by objects, data and plans; 0 for NULL. Plans stay so that identical graphs can reuse them;
    /// plans that no graph uses are dropped when something else needs the memory. Any thread. Since 0.1.
    pub fn tl_context_used_memory(ctx: *const tl_context) -> usize;

    /// The most bytes that were in use at any time since the context was made; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_context_peak_memory(ctx: *const tl_context) -> usize;

    /// Allocates data, all zeros, for every leaf of a no_alloc context that has none yet.
    ///
    /// `backend` names the device for the data; NULL = the context's own. It is not kept.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: ctx is NULL, or not a no_alloc context. TL_STATUS_CONTEXT_MISMATCH: backend is
    /// of another device than the context. TL_STATUS_OUT_OF_MEMORY: no leaf was changed. TL_STATUS_BUSY. Any
    /// thread. Since 0.1.
    pub fn tl_context_allocate(ctx: *mut tl_context, backend: *mut tl_backend, err: *mut tl_error) -> tl_status;

    /// Removes all tensors from the context; their pointers must not be used any more. Keeps the memory and, unless
    /// the memory is a caller's buffer, the plans of its graphs for later graphs of the same structure.
    ///
    /// TL_STATUS_BUSY: a graph, another context or an exported tensor still refers to it, or it is in use; nothing was
    /// changed. TL_STATUS_INVALID_ARGUMENT: ctx is NULL. Any thread. Since 0.1.
    pub fn tl_context_reset(ctx: *mut tl_context, err: *mut tl_error) -> tl_status;

    /// Makes calls wait for data that other threads use, instead of returning TL_STATUS_BUSY immediately.
    ///
    /// A call about this context, one of its tensors or a graph that was created in it waits up to `nanoseconds`
    /// for the run locks and the graph that it needs. tl_graph_compute() then also limits its wait for the
    /// backend's turn, which is unlimited otherwise. 0, the default, waits for no lock. The time counts from the
    /// call; a call that has begun to compute is not stopped.
    ///
    /// A waiting call holds no lock and sleeps. It may notice a free lock late, by an eighth of the time waited and
    /// at most by 1 ms. Calls from a callback of a running graph never wait, because they could wait for
    /// themselves. tl_context_reset() does not wait for graphs and contexts that refer to the context.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: ctx is NULL. Any thread, at any time. Since 0.1.
    pub fn tl_context_set_busy_timeout(ctx: *mut tl_context, nanoseconds: u64, err: *mut tl_error) -> tl_status;

    /// The busy timeout in nanoseconds; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_context_busy_timeout(ctx: *const tl_context) -> u64;

    /// The context's number in messages: 1 for the first context of the process; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_context_id(ctx: *const tl_context) -> u64;

    /// Names the context for messages: `context 3 'weights'`. `name` is UTF-8 and copied; NULL or `""` removes the
    /// name. TL_STATUS_INVALID_ARGUMENT: ctx is NULL, or the name is not UTF-8. TL_STATUS_OUT_OF_MEMORY. Any
    /// thread. Since 0.1.
    pub fn tl_context_set_name(ctx: *mut tl_context, name: *const c_char, err: *mut tl_error) -> tl_status;

    /// Copies as much of the context's name as fits into `buf`, with a NUL; `buf` may be NULL. Returns the length
    /// of the whole name; 0 if it has none, and for NULL. Any thread. Since 0.1.
    pub fn tl_context_name(ctx: *const tl_context, buf: *mut c_char, size: usize) -> usize;

    /// Closes the context for building: from now on constructors of tensors and operations in it fail with a
    /// message that says where to build instead, so a model's context cannot grow by a request's nodes by mistake.
    /// Nodes in other contexts may refer to its tensors, from any number of threads at a time. tl_context_reset()
    /// opens it again. TL_STATUS_INVALID_ARGUMENT: ctx is NULL. Any thread. Since 0.1.
    pub fn tl_context_freeze(ctx: *mut tl_context, err: *mut tl_error) -> tl_status;

    /// Returns the code of the first failure of a constructor since the last call, and clears it. Copies the
    /// failure to `out`, which may be NULL; TL_STATUS_OK if nothing failed. TL_STATUS_INVALID_ARGUMENT: ctx is
    /// NULL. Any thread; if several threads build in one context, hold a lock of your own over a constructor and
    /// this call. Since 0.1.
    pub fn tl_context_error(ctx: *mut tl_context, out: *mut tl_error) -> tl_status;
}
