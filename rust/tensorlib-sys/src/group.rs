//! # Groups of ranks
//!
//! A group is a number of ranks that compute together, each with a handle of its own. Functions such as tl_all_sum() make
//! nodes that exchange tensors between the ranks of a group. Each rank computes a graph of its own with the same nodes of
//! the group, in the order in which they were built. Before a graph's first run the ranks compare these nodes, and a
//! difference is an error on all of them.

use crate::{tl_error, tl_status};
use core::ffi::c_char;
use core::marker::{PhantomData, PhantomPinned};

/// A rank's handle of a group.
///
/// Lifetime: from tl_group_create() until tl_group_free(). Contexts with nodes of the group keep it alive, until they are
/// reset or freed. A rank leaves the group when nothing keeps its handle any more, which is an error for ranks that go on.
///
/// Threads: any function may be called from any thread. One graph that uses the handle is computed at a time; a second one
/// gets TL_STATUS_BUSY. Different handles are independent.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_group {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Options for making a group. Fill it with tl_group_params_init(), then change what you need.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_group_params {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
    /// How many milliseconds a rank waits for another one before the group fails. 0 = 300,000, five minutes.
    pub timeout_ms: u64,
}

extern "C" {
    /// Sets the defaults. A NULL `params` is ignored; at most `struct_size` bytes are written. Any thread, as long as
    /// params is not shared. Since 0.1.
    pub fn tl_group_params_init(params: *mut tl_group_params, struct_size: usize);

    /// Makes a group, or joins the one to which the process belongs.
    ///
    /// `name` says how the ranks are connected:
    /// - `"self"`: one rank.
    /// - `"local:N"`: N ranks, 1 to 1024, that are threads of this process. The handle is that of rank 0, and
    ///   tl_group_member() gives those of the others.
    /// - `"mpi"`: all processes that a launcher such as mpirun has started, each a rank. They make their groups in the same order.
    ///   The machine's MPI library is opened at run time; the environment variable TENSORLIB_MPI may name another file.
    /// - `"auto"`, or NULL: `"mpi"` if a launcher has started the process as one of several, otherwise `"self"`.
    ///
    /// `params` may be NULL for the defaults. `out` must not be NULL; it receives the handle, which the caller frees with
    /// tl_group_free(), or NULL on failure.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: there is no such name, N or timeout_ms is out of range, out is NULL.
    /// TL_STATUS_UNAVAILABLE: there is no usable MPI library, or not the launcher's. TL_STATUS_GROUP: the other processes have not
    /// made the group in time. TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_group_create(
        name: *const c_char,
        params: *const tl_group_params,
        out: *mut *mut tl_group,
        err: *mut tl_error,
    ) -> tl_status;

    /// Takes the handle of another rank out of that of rank 0 of a local group. The caller frees it with tl_group_free(). A
    /// handle can be taken once; what is not taken is freed with rank 0's.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: group or out is NULL, the group is not `"local:N"` or the handle not rank 0's, rank is
    /// not 1 to N - 1, or was taken. Any thread. Since 0.1.
    pub fn tl_group_member(group: *mut tl_group, rank: i32, out: *mut *mut tl_group, err: *mut tl_error) -> tl_status;

    /// Divides a group: ranks of one colour form a new group, in the order of their keys, and of their ranks where keys are
    /// equal. All ranks call it, and it waits for them. `out` receives the handle of the new group, which the caller frees
    /// with tl_group_free(), or NULL for a negative colour. The group itself stays.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: group or out is NULL, or the function of a custom operation calls. TL_STATUS_GROUP:
    /// another rank failed, left, made another call or missed the deadline. TL_STATUS_BUSY: another thread uses the handle.
    /// TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_group_split(
        group: *mut tl_group,
        colour: i32,
        key: i32,
        out: *mut *mut tl_group,
        err: *mut tl_error,
    ) -> tl_status;

    /// The handle's rank, from 0; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_group_rank(group: *const tl_group) -> i32;

    /// The number of ranks; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_group_size(group: *const tl_group) -> i32;

    /// Writes what connects the ranks, for display, to `buf`, at most `size` bytes including the NUL, and returns the
    /// length needed without the NUL. It names the library and its version, and says why `"auto"` chose one rank. `buf` may be
    /// NULL if size is 0. Returns 0 for NULL, and if memory runs out. Any thread. Since 0.1.
    pub fn tl_group_text(group: *const tl_group, buf: *mut c_char, size: usize) -> usize;

    /// Gives up a handle. NULL is ignored. Any thread. Since 0.1.
    pub fn tl_group_free(group: *mut tl_group);

    /// Which elements rank `rank` of `size` ranks has of `n` elements that are divided over the ranks, in whole blocks of `block` elements, such as
    /// the blocks of a quantised type. `first` and `count` receive the number of its first element and how many it has.
    /// The shares follow each other in the order of ranks. They differ by at most one block, and the first ranks have more.
    /// If there are fewer blocks than ranks, some have none. The last block may be partial.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: n is negative, block or size is less than 1, rank is not 0 to size - 1, first or count is
    /// NULL; both are 0 then, where they are not NULL. Any thread. Since 0.1.
    pub fn tl_shard_range(
        n: i64,
        block: i64,
        rank: i32,
        size: i32,
        first: *mut i64,
        count: *mut i64,
        err: *mut tl_error,
    ) -> tl_status;
}
