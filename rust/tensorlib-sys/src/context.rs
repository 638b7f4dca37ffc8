//! # Contexts
//!
//! Memory. A context owns tensors and graphs and frees them together.

use crate::{tl_backend, tl_error, tl_status};
use core::ffi::{c_char, c_void};
use core::marker::{PhantomData, PhantomPinned};

/// An arena that owns tensors, graphs and their data. Nothing in it is freed one by one (a freed graph's
/// memory is used again); all goes with the context.
///
/// Lifetime: the handle is valid from tl_context_create() until tl_context_free(). The memory behind it
/// lives on as long as a graph, or a tensor of another context, refers to it, so handles may be freed in
/// any order. A tensor's pointer is valid as long as the memory of its context, and until
/// tl_context_reset().
///
/// Errors: constructors of tensors and operations return NULL on failure; the context keeps the first
/// failure until tl_context_error() reads it, and tl_graph_create() returns it too. So constructors nest,
/// and one check at the end of a model is enough.
///
/// Threads: any function may be called from any thread. Building (constructors, tl_graph_create()) takes a
/// short lock and may go on while graphs are computed. A run lock per context keeps computing, reading
/// and writing apart: tl_graph_compute() takes it exclusively for contexts that it writes and shared
/// for those that it only reads; tensor reads take it shared, writes exclusively, for the call. A call
/// that finds it taken returns TL_STATUS_BUSY and a message naming the context, and which node or leaf of
/// the graph needs it: at once, or after the busy timeout (tl_context_set_busy_timeout()).
///
/// Models: keep weights in one context, tl_context_freeze() it, and build each request's nodes in a
/// context of its own, which is reset or freed afterwards. Requests then run at the same time, each
/// with a backend of its own; nodes in the weights' context would make it grow, and BUSY for others.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_context {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// How a context is to be made. Fill it with tl_context_params_init(), then change what you need.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_context_params {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
    /// The most bytes that objects and data of this context may take together; 0 = it grows as needed.
    pub mem_limit: usize,
    /// Memory to use instead of the context's own, never outgrown; NULL = the context's own. Must stay
    /// valid until the context's memory is no longer in use, and must not be touched by others.
    pub mem_buffer: *mut c_void,
    /// Bytes of mem_buffer.
    pub mem_buffer_size: usize,
    /// Shapes only: leafs get their data by tl_context_allocate().
    pub no_alloc: bool,
    /// Where the tensors' data live; NULL = host memory.
    pub backend: *mut tl_backend,
}

extern "C" {
    /// Sets the defaults. `params` may be NULL (nothing happens); at most `struct_size` bytes are
    /// written. Any thread, as long as params is not shared. Since 0.1.
    pub fn tl_context_params_init(params: *mut tl_context_params, struct_size: usize);

    /// Makes a context.
    ///
    /// `params` may be NULL for the defaults. `out` must not be NULL; it receives the context, which the
    /// caller frees with tl_context_free(), or NULL on failure. Any limit is accepted here; what does not
    /// fit fails later.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: out is NULL; struct_size is too small, or its unknown tail is not zero;
    /// mem_buffer and mem_buffer_size contradict each other. TL_STATUS_OUT_OF_MEMORY.
    /// Any thread. Since 0.1.
    pub fn tl_context_create(
        params: *const tl_context_params,
        out: *mut *mut tl_context,
        err: *mut tl_error,
    ) -> tl_status;

    /// Gives the handle back; NULL is fine. The memory goes when nothing refers to it any more. Any
    /// thread. Since 0.1.
    pub fn tl_context_free(ctx: *mut tl_context);

    /// Bytes in use by objects, data and plans; 0 for NULL. Plans stay for graphs that are built anew: those
    /// that no graph needs make room where there is too little for something else. Any thread. Since 0.1.
    pub fn tl_context_used_memory(ctx: *const tl_context) -> usize;

    /// The most bytes that were in use at one time since the context was made; 0 for NULL. Any thread.
    /// Since 0.1.
    pub fn tl_context_peak_memory(ctx: *const tl_context) -> usize;

    /// Gives every leaf of a no_alloc context that has no data yet its data, all zeros.
    ///
    /// `backend` names the device where the data are to live; NULL = the context's own. It is not kept.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: ctx is NULL, or not a no_alloc context. TL_STATUS_CONTEXT_MISMATCH:
    /// backend is of another device than the context. TL_STATUS_OUT_OF_MEMORY: no leaf was changed.
    /// TL_STATUS_BUSY. Any thread. Since 0.1.
    pub fn tl_context_allocate(ctx: *mut tl_context, backend: *mut tl_backend, err: *mut tl_error) -> tl_status;

    /// Empties the context for the next round: all its tensors are gone, its memory is kept, and so are the
    /// plans of its graphs for others of the same structure (unless it lies in a caller's buffer). The
    /// tensors' pointers must not be used any more.
    ///
    /// TL_STATUS_BUSY: a graph or another context still refers to it, or it is in use; nothing was
    /// changed. TL_STATUS_INVALID_ARGUMENT: ctx is NULL. Any thread. Since 0.1.
    pub fn tl_context_reset(ctx: *mut tl_context, err: *mut tl_error) -> tl_status;

    /// Has calls wait for what other threads use, instead of returning TL_STATUS_BUSY at once.
    ///
    /// A call about this context, one of its tensors or a graph that was created in it waits up to
    /// `nanoseconds` for the run locks and the graph that it needs; tl_graph_compute() also waits no longer
    /// for the backend, for which it otherwise waits without limit. 0, the default, waits for no lock. The
    /// time counts from the call; a call that has begun to compute is not stopped.
    ///
    /// While it waits, a call holds no lock and sleeps; it may notice a free lock late, by an eighth of the
    /// time waited and at most by 1 ms. Calls from a callback of a running graph never wait, as they might wait for
    /// themselves; nor does tl_context_reset() for graphs and contexts that refer to the context.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: ctx is NULL. Any thread, at any time. Since 0.1.
    pub fn tl_context_set_busy_timeout(ctx: *mut tl_context, nanoseconds: u64, err: *mut tl_error) -> tl_status;

    /// The busy timeout in nanoseconds; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_context_busy_timeout(ctx: *const tl_context) -> u64;

    /// The context's number in messages: 1 for the first that the process made; 0 for NULL. Any thread.
    /// Since 0.1.
    pub fn tl_context_id(ctx: *const tl_context) -> u64;

    /// Names the context, for messages: `context 3 'weights'`. `name` is UTF-8 and copied; NULL or `""` takes
    /// the name away. TL_STATUS_INVALID_ARGUMENT: ctx is NULL, or the name is no UTF-8.
    /// TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_context_set_name(ctx: *mut tl_context, name: *const c_char, err: *mut tl_error) -> tl_status;

    /// Copies the context's name into `buf`, as much as fits, with a NUL; `buf` may be NULL. Returns the
    /// length of all of it; 0 where it has none, and for NULL. Any thread. Since 0.1.
    pub fn tl_context_name(ctx: *const tl_context, buf: *mut c_char, size: usize) -> usize;

    /// Closes the context for building: from now on constructors of tensors and operations in it fail,
    /// saying where to build instead. So a model's context cannot grow by a node that was meant for a
    /// request's: nodes in other contexts may refer to its tensors, any number of threads at a time.
    /// tl_context_reset() opens it again. TL_STATUS_INVALID_ARGUMENT: ctx is NULL. Any thread. Since 0.1.
    pub fn tl_context_freeze(ctx: *mut tl_context, err: *mut tl_error) -> tl_status;

    /// The first failure of a constructor since the last call; reading clears it. Returns its code, and
    /// copies it to `out` (may be NULL); TL_STATUS_OK where nothing failed. TL_STATUS_INVALID_ARGUMENT:
    /// ctx is NULL. Any thread; where several build in one context, take a constructor and this call
    /// under one lock of your own. Since 0.1.
    pub fn tl_context_error(ctx: *mut tl_context, out: *mut tl_error) -> tl_status;
}
