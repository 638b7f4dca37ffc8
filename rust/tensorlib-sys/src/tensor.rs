//! # Tensors
//!
//! Shapes and strides, and reading and writing of data.

use crate::{tl_context, tl_error, tl_status, tl_type};
use core::ffi::{c_char, c_void};
use core::marker::{PhantomData, PhantomPinned};

/// A tensor of up to 4 dimensions: a leaf with data of its own, or a node that an operation computes.
///
/// Shape: `ne[0..4]` elements per dimension, the contiguous one first (a matrix of 4 rows of 2 is {2, 4}); unused
/// dimensions are 1; 0 is valid. Strides: `nb[0..4]` bytes from one element (of a quantised type: one block) to the
/// next in each dimension.
///
/// Ownership: a tensor belongs to its context and is never freed individually; see tl_context. Getters accept NULL and
/// return 0 or NULL for it. Shape, type and strides never change, so the getters may be called from any thread at any
/// time.
///
/// Data: leafs, the outputs of a graph that was computed without error, and views of either are readable. All other
/// nodes share memory inside the graph's plan.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_tensor {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// The purpose of a mapping.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct tl_access(pub i32);

/// Reading: others may read at the same time.
pub const TL_ACCESS_READ: tl_access = tl_access(0);
/// Writing: nobody else may read, write or compute in this context meanwhile.
pub const TL_ACCESS_WRITE: tl_access = tl_access(1);

extern "C" {
    /// Makes a leaf of n_dims dimensions, filled with zeros. `ne` has n_dims values and is copied.
    /// Returns NULL on failure (see tl_context_error()): TL_STATUS_INVALID_ARGUMENT: unknown type, n_dims
    /// not 1 to 4, ne is NULL or negative, `ne[0]` is not a multiple of the type's block size, the number of
    /// bytes does not fit; TL_STATUS_OUT_OF_MEMORY. The context owns the tensor. Any thread. Since 0.1.
    pub fn tl_tensor_new(ctx: *mut tl_context, r#type: tl_type, n_dims: i32, ne: *const i64) -> *mut tl_tensor;
    /// tl_tensor_new() for one dimension; the context owns the tensor. Since 0.1.
    pub fn tl_tensor_new_1d(ctx: *mut tl_context, r#type: tl_type, ne0: i64) -> *mut tl_tensor;
    /// tl_tensor_new() for two dimensions; the context owns the tensor. Since 0.1.
    pub fn tl_tensor_new_2d(ctx: *mut tl_context, r#type: tl_type, ne0: i64, ne1: i64) -> *mut tl_tensor;
    /// tl_tensor_new() for three dimensions; the context owns the tensor. Since 0.1.
    pub fn tl_tensor_new_3d(ctx: *mut tl_context, r#type: tl_type, ne0: i64, ne1: i64, ne2: i64) -> *mut tl_tensor;
    /// tl_tensor_new() for four dimensions; the context owns the tensor. Since 0.1.
    pub fn tl_tensor_new_4d(
        ctx: *mut tl_context,
        r#type: tl_type,
        ne0: i64,
        ne1: i64,
        ne2: i64,
        ne3: i64,
    ) -> *mut tl_tensor;

    /// The element type; -1 for NULL. Since 0.1.
    pub fn tl_tensor_type(t: *const tl_tensor) -> tl_type;
    /// The number of dimensions that the tensor was made with, 1 to 4; 0 for NULL. Since 0.1.
    pub fn tl_tensor_n_dims(t: *const tl_tensor) -> i32;
    /// Elements in dimension dim; 1 for dimensions that the tensor does not use; 0 for NULL or a dim that
    /// is not 0 to 3. Since 0.1.
    pub fn tl_tensor_ne(t: *const tl_tensor, dim: i32) -> i64;
    /// Bytes from one element to the next in dimension dim; 0 for NULL or a dim that is not 0 to 3.
    /// Since 0.1.
    pub fn tl_tensor_nb(t: *const tl_tensor, dim: i32) -> usize;
    /// Bytes of all elements packed without gaps, the size that tl_tensor_read() takes; 0 for NULL.
    /// Since 0.1.
    pub fn tl_tensor_nbytes(t: *const tl_tensor) -> usize;
    /// The number of elements, the product of ne; 0 for NULL. Since 0.1.
    pub fn tl_tensor_n_elements(t: *const tl_tensor) -> i64;
    /// The name of the operation that computes the tensor, `"mul_mat"`; `"leaf"` for a leaf; NULL for NULL. Static
    /// storage, not to be freed. Since 0.1.
    pub fn tl_tensor_op(t: *const tl_tensor) -> *const c_char;
    /// Lists the context's tensors, leafs and nodes, in the order in which they were made.
    ///
    /// Writes up to `n` of them to `tensors`, which may be NULL if n is 0, and returns their total number; 0 for NULL.
    /// The list includes all nodes of gradients and of functions that are made of several operations. The pointers are
    /// valid until tl_context_reset(). Any thread. Since 0.1.
    pub fn tl_context_tensors(ctx: *const tl_context, tensors: *mut *mut tl_tensor, n: usize) -> usize;

    /// The first of the context's tensors with this name; NULL if there is none, and if ctx or name is NULL or name is
    /// `""`. Takes time in proportion to the number of tensors. Any thread. Since 0.1.
    pub fn tl_context_find(ctx: *const tl_context, name: *const c_char) -> *mut tl_tensor;

    /// Lists the operands of the tensor's operation, in the order of docs/ops.md; NULL stands for an operand that was
    /// left out.
    ///
    /// Writes up to `n` of them to `sources`, which may be NULL if n is 0, and returns their total number; 0 for a leaf
    /// and for NULL. They are valid as long as the tensor. Any thread. Since 0.1.
    pub fn tl_tensor_sources(t: *const tl_tensor, sources: *mut *mut tl_tensor, n: usize) -> usize;
    /// The tensor's context with a new reference, which the caller releases with tl_context_free(); NULL for NULL.
    /// tl_context_reset() is TL_STATUS_BUSY until then. Any thread. Since 0.1.
    pub fn tl_tensor_context(t: *const tl_tensor) -> *mut tl_context;
    /// The tensor's name, `""` if it has none; NULL for NULL. Owned by the context, valid until the tensor is renamed
    /// or freed; if another thread may do that, use tl_tensor_copy_name(). Since 0.1.
    pub fn tl_tensor_name(t: *const tl_tensor) -> *const c_char;
    /// Copies as much of the tensor's name as fits into `buf`, with a NUL; `buf` may be NULL. Returns the length of the
    /// whole name; 0 if it has none, and for NULL. Any thread. Since 0.1.
    pub fn tl_tensor_copy_name(t: *const tl_tensor, buf: *mut c_char, size: usize) -> usize;
    /// Names the tensor for messages, dumps and files. `name` is UTF-8 and copied; NULL removes the name.
    /// TL_STATUS_INVALID_ARGUMENT: t is NULL, or the name is not UTF-8. TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_tensor_set_name(t: *mut tl_tensor, name: *const c_char, err: *mut tl_error) -> tl_status;

    /// The first element's address in host memory; walk it with nb. NULL if the data is on another device, does not
    /// exist yet (no_alloc, or a node that no graph has computed), is constant, or lies in memory that another library
    /// shares read-only. Owned by the context. This function takes no locks: the caller makes sure that nothing computes
    /// or writes meanwhile; tl_tensor_map() locks for you. Since 0.1.
    pub fn tl_tensor_data(t: *mut tl_tensor) -> *mut c_void;

    /// tl_tensor_data() under the context's run lock, until tl_tensor_unmap() with the same access.
    ///
    /// `out` must not be NULL; it receives the first element's address (never NULL on success), which the context owns.
    /// TL_STATUS_BUSY: another use of the context excludes this access. TL_STATUS_INVALID_ARGUMENT: t or out is NULL,
    /// the access is unknown, the data is not readable (the message says why), or a node's result, a constant or memory
    /// shared read-only is mapped for writing. TL_STATUS_UNAVAILABLE: the data is not in host memory, or tl_tensor_drop_original() freed
    /// it. Any thread. Since 0.1.
    pub fn tl_tensor_map(t: *mut tl_tensor, access: tl_access, out: *mut *mut c_void, err: *mut tl_error) -> tl_status;
    /// Ends a mapping; once for each successful tl_tensor_map(), from any thread. NULL is ignored. Since 0.1.
    pub fn tl_tensor_unmap(t: *mut tl_tensor, access: tl_access);

    /// Writes bytes into a leaf or a view of one.
    ///
    /// `data` has `size` bytes and may be NULL only where size is 0. `offset` and `size` count bytes of
    /// the elements packed in ne order, whatever the strides.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: t or data is NULL, offset + size is above tl_tensor_nbytes(), t is a
    /// node's result, is constant, lies in memory that another library shares read-only, or has no data yet.
    /// TL_STATUS_BUSY. Nothing is written on failure. Any thread. Since 0.1.
    pub fn tl_tensor_write(
        t: *mut tl_tensor,
        data: *const c_void,
        offset: usize,
        size: usize,
        err: *mut tl_error,
    ) -> tl_status;
    /// Reads bytes of a leaf, of an output that was computed, or of a view of either.
    ///
    /// As tl_tensor_write(); `data` receives `size` bytes. TL_STATUS_INVALID_ARGUMENT also if the data is not readable:
    /// the message says what to do. Since 0.1.
    pub fn tl_tensor_read(
        t: *const tl_tensor,
        data: *mut c_void,
        offset: usize,
        size: usize,
        err: *mut tl_error,
    ) -> tl_status;

    /// Promises that a leaf's contents never change: from now on every write to it, and every operation that targets it
    /// or a view of it, is an error, and plans may keep a packed copy. The promise cannot be withdrawn; repeating it
    /// has no effect. TL_STATUS_INVALID_ARGUMENT: t is NULL, not a leaf, or has no data yet. TL_STATUS_BUSY. Any
    /// thread. Since 0.1.
    pub fn tl_tensor_set_constant(t: *mut tl_tensor, err: *mut tl_error) -> tl_status;
    /// Sets whether graphs made from now on recompute this node where gradients read it, instead of keeping its result
    /// until then. Recomputation takes less memory and more time, and gives the same bits.
    ///
    /// The node is recomputed just before the first node of a call of tl_gradients() that reads it, together with the
    /// marked nodes that it is computed from; results of unmarked nodes are kept for it. So mark the nodes between two
    /// tensors and leave these two unmarked: then only one such section is in memory at a time. Outputs are kept in any
    /// case. Marking a view marks the node that it is a view of. Existing graphs do not change.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: t is NULL, a leaf, a view of a leaf, or writes into an operand. Any thread. Since
    /// 0.1.
    pub fn tl_tensor_set_recompute(t: *mut tl_tensor, recompute: bool, err: *mut tl_error) -> tl_status;
    /// Chooses the device that computes a node, in graphs that a joined backend runs (tl_backend_join).
    ///
    /// `device` is a name as tl_device_name() returns it; NULL or "" lets the backend choose again. Placing a view
    /// places the node that it is a view of. Existing plans are remade. A backend without that device refuses the
    /// graph: TL_STATUS_CONTEXT_MISMATCH.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: t is NULL, a leaf or a view of a leaf (leafs lie where their context does); the
    /// device does not exist. Any thread. Since 0.1.
    pub fn tl_tensor_place(t: *mut tl_tensor, device: *const c_char, err: *mut tl_error) -> tl_status;
    /// Frees the pages of a constant's original data if a packed copy can replace them.
    ///
    /// A CPU backend has a copy after computing a product with the whole tensor, if the plan's text says so
    /// (tl_backend_packed_memory() grows). The copy then belongs to the context: tl_context_used_memory() counts it
    /// instead of the original, and it outlives the backend. Every reader of the tensor gets the same bits as before,
    /// rebuilt from the copy: products with the copy cost nothing more, get_rows rebuilds the rows that it gets, and
    /// other operations rebuild the whole tensor in each run. The tensor can no longer be mapped. A leaf of a mapped
    /// GGUF file releases its pages and otherwise stays as it is, as do its copies: the system reads the pages again
    /// when they are needed.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: t is NULL or not constant. TL_STATUS_UNSUPPORTED, nothing changed: no packed copy
    /// holds the whole tensor (only CPU backends keep them); its blocks cannot be rebuilt bit for bit (IQ1, IQ2 and IQ3
    /// types; bytes that an encoder would not write); it lies in a caller's buffer, in a file that was read into memory,
    /// or in memory of another library. TL_STATUS_OUT_OF_MEMORY, nothing changed: the copy in place of the original
    /// exceeds mem_limit. TL_STATUS_BUSY, also while an exported tensor (tl_tensor_to_dlpack()) uses the memory.
    /// Repeating it has no effect. Any thread. Since 0.1.
    pub fn tl_tensor_drop_original(t: *mut tl_tensor, err: *mut tl_error) -> tl_status;

    /// Writes a whole tensor from n floats, converted to its type, `ne[0]` fastest.
    ///
    /// Integer types: rounded to nearest, ties to even; a value out of range or NaN is
    /// TL_STATUS_INVALID_ARGUMENT naming its position, and nothing is written. `n` must be
    /// tl_tensor_n_elements(). Otherwise as tl_tensor_write(). Since 0.1.
    pub fn tl_tensor_write_f32(t: *mut tl_tensor, data: *const f32, n: usize, err: *mut tl_error) -> tl_status;
    /// Reads a whole tensor as n floats, `ne[0]` fastest, rounded to nearest even where the type is wider.
    /// `n` must be tl_tensor_n_elements(). Otherwise as tl_tensor_read(). Since 0.1.
    pub fn tl_tensor_read_f32(t: *const tl_tensor, data: *mut f32, n: usize, err: *mut tl_error) -> tl_status;
    /// Reads one element, converted to float; `out` must not be NULL. TL_STATUS_INVALID_ARGUMENT also for
    /// an index outside the shape. Otherwise as tl_tensor_read(). Since 0.1.
    pub fn tl_tensor_get_f32(
        t: *const tl_tensor,
        i0: i64,
        i1: i64,
        i2: i64,
        i3: i64,
        out: *mut f32,
        err: *mut tl_error,
    ) -> tl_status;
    /// Writes one element, converted as by tl_tensor_write_f32(). TL_STATUS_INVALID_ARGUMENT also for an
    /// index outside the shape. Since 0.1.
    pub fn tl_tensor_set_f32(
        t: *mut tl_tensor,
        i0: i64,
        i1: i64,
        i2: i64,
        i3: i64,
        value: f32,
        err: *mut tl_error,
    ) -> tl_status;
}
