//! # Devices and backends
//!
//! A device is something that computes: "cpu", and "cuda:0", "cuda:1", ... where the library was built with CUDA and
//! a driver and GPUs are there; tl_backend_create() says what is missing. A backend is a device opened for use.

use crate::{tl_error, tl_status};
use core::ffi::c_char;
use core::marker::{PhantomData, PhantomPinned};

/// A device opened for computing, with its own threads or streams. Backends are independent of each
/// other: two of them, even on one device, compute at the same time.
///
/// Lifetime: from tl_backend_create() until tl_backend_free(). A context created on a backend keeps it
/// alive, so the two may be freed in any order.
///
/// Threads: any function may be called from any thread. One graph runs at a time; a second caller of
/// tl_graph_compute() waits for the first; a call from inside the running graph's own progress callback
/// gets TL_STATUS_BUSY.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_backend {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// How a backend is to be opened. Fill it with tl_backend_params_init(), then change what you need.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_backend_params {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
    /// Threads for CPU work, the calling one included. 0 = all that this process may use: the affinity
    /// mask and the cgroup's quota are honoured. At most 1024.
    pub n_threads: i32,
    /// CUDA: products of F32 may be computed in TF32 (10 bits of fraction). Ignored elsewhere.
    pub allow_tf32: bool,
}

/// How backends are to be joined: nothing so far. Fill it with tl_join_params_init().
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_join_params {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
}

/// What is known of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_device_props {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
    /// For people, NUL-terminated: processor or card.
    pub description: [c_char; 128],
    /// Bytes of memory in all; 0 = unknown.
    pub memory_total: u64,
    /// Bytes of memory that were free at the call; 0 = unknown.
    pub memory_free: u64,
    /// CUDA: compute capability, 90 = 9.0; 0 elsewhere.
    pub capability: i32,
    /// A simulation for tests, not hardware.
    pub simulated: bool,
}

extern "C" {
    /// The number of devices; at least 1, as "cpu" is always there. Any thread. Since 0.1.
    pub fn tl_device_count() -> usize;

    /// The name that tl_backend_create() takes, `"cpu"`, `"cuda:0"`; NULL where index is not below
    /// tl_device_count(). Static storage, not to be freed. Any thread. Since 0.1.
    pub fn tl_device_name(index: usize) -> *const c_char;

    /// Describes a device.
    ///
    /// `out` is the caller's and must not be NULL; its struct_size must be set.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: no such index, out is NULL, struct_size is too small.
    /// Any thread. Since 0.1.
    pub fn tl_device_get_props(index: usize, out: *mut tl_device_props, err: *mut tl_error) -> tl_status;

    /// The number of instruction sets that this CPU can run. Any thread. Since 0.1.
    pub fn tl_isa_count() -> usize;

    /// An instruction set that this CPU can run, best first: the values that the environment
    /// variable `TENSORLIB_ISA` accepts here. `"baseline"` is always the last. NULL where index is not
    /// below tl_isa_count(). Static storage, not to be freed. Any thread. Since 0.1.
    pub fn tl_isa_name(index: usize) -> *const c_char;

    /// Sets the defaults. `params` may be NULL (nothing happens); at most `struct_size` bytes are
    /// written. Any thread, as long as params is not shared. Since 0.1.
    pub fn tl_backend_params_init(params: *mut tl_backend_params, struct_size: usize);

    /// Opens a device.
    ///
    /// `device` is a name as tl_device_name() gives it, `"cpu"`; case does not matter; NULL means
    /// `"cpu"`; names with `+` between them, `"cuda:0+cpu"`, open each and join them (tl_backend_join). `params` may be NULL for the defaults. `out` must not be NULL; it receives the backend,
    /// which the caller frees with tl_backend_free(), or NULL on failure.
    ///
    /// The environment variable `TENSORLIB_FUSE` is read here: with `0` every node is computed by itself, while
    /// a product is otherwise computed together with the addition that alone takes its result, to the same
    /// bits; another value than `0` and `1` is TL_STATUS_INVALID_ARGUMENT.
    /// `TENSORLIB_PACK_LIMIT` is the most bytes that a CPU backend may take for packed copies of constant weights, which make
    /// products faster; 0 means none. Results do not depend on it. Without it, a copy may take half of the memory that is left.
    /// The environment variable `TENSORLIB_ISA` is read here: the backend's kernels are those of that
    /// instruction set, or of the best one that the CPU has. So is `TENSORLIB_TRACE`: where it names a file, a
    /// timeline of the backend's runs goes there, for Perfetto (ui.perfetto.dev); the file is emptied
    /// first, and further backends take its name with `.2`, `.3`, ... behind it. For CUDA these are:
    /// `TENSORLIB_REFUSE=cuda:0/add,cpu/mul_mat` lists operations that a device is to refuse, for tests.
    /// `TENSORLIB_CUDA_DEBUG=1` waits for each operation, so that an error names the one that made it;
    /// `TENSORLIB_CUBLASLT=off`, or a path.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: no such device, out is NULL, a parameter is out of range,
    /// `TENSORLIB_ISA` names no instruction set, `TENSORLIB_PACK_LIMIT` is no number. TL_STATUS_UNAVAILABLE: the device or the instruction set is not to be had
    /// on this machine (the message names those that are), or no thread could be started. TL_STATUS_IO:
    /// `TENSORLIB_TRACE` is a file that cannot be written. TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_backend_create(
        device: *const c_char,
        params: *const tl_backend_params,
        out: *mut *mut tl_backend,
        err: *mut tl_error,
    ) -> tl_status;

    /// Sets the defaults. `params` may be NULL (nothing happens); at most `struct_size` bytes are
    /// written. Any thread, as long as params is not shared. Since 0.1.
    pub fn tl_join_params_init(params: *mut tl_join_params, struct_size: usize);

    /// Joins backends of different devices to one, which computes graphs whose tensors lie on any of them.
    ///
    /// Each node is computed where the fewest bytes are copied for it, by a device that has a kernel for it; tl_tensor_place() says it by
    /// hand. What it writes into elsewhere is copied there and back. Leafs stay where their contexts are, an output ends on its context's device, and everything else lies where it is computed.
    /// What is read on another device is copied there once in each run; constants once for all runs. tl_graph_plan_text() shows what goes
    /// where, tl_graph_plan_bytes() what it takes. Memory for intermediates and the copies of constants are the backend's: no
    /// context's mem_limit counts them.
    ///
    /// `backends` are `n` of them, 1 to 32, read during the call; the joined one keeps them alive, and their own handles stay the
    /// caller's and may be used meanwhile: a run of the joined one waits for theirs. A context that is created on it lies on the first
    /// one's device. `params` may be NULL. `out` must not be NULL; it receives the backend, which the caller frees with
    /// tl_backend_free(), or NULL on failure.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: backends, one of them or out is NULL, n is out of range, two are of one device, one is joined itself.
    /// TL_STATUS_UNAVAILABLE: one belongs to the parent of this forked process. TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_backend_join(
        backends: *const *mut tl_backend,
        n: usize,
        params: *const tl_join_params,
        out: *mut *mut tl_backend,
        err: *mut tl_error,
    ) -> tl_status;

    /// The number of devices that the backend computes on: 1, or that of joined ones; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_backend_n_devices(backend: *const tl_backend) -> usize;

    /// The name of one of them, in the order of joining; NULL for NULL or where index is not below tl_backend_n_devices(). Valid as long
    /// as the backend. Any thread. Since 0.1.
    pub fn tl_backend_device_at(backend: *const tl_backend, index: usize) -> *const c_char;

    /// Gives the handle back; NULL is fine. The backend ends when no context is left that was created on
    /// it. Any thread but one inside the backend's own progress callback. Since 0.1.
    pub fn tl_backend_free(backend: *mut tl_backend);

    /// The name of the backend's device, `"cpu"`, of joined ones `"cpu+cuda:0"`; NULL for NULL. Valid as long as the backend. Any
    /// thread. Since 0.1.
    pub fn tl_backend_device(backend: *const tl_backend) -> *const c_char;

    /// The instruction set of the backend's CPU kernels, `"avx512"`, or the GPU's architecture,
    /// `"sm_90"` (`"simt"` where it is simulated), of joined ones all of them, `"avx512+sm_90"`; NULL for NULL. Valid as long as the
    /// backend. Any thread. Since 0.1.
    pub fn tl_backend_isa(backend: *const tl_backend) -> *const c_char;

    /// The number of CPU threads that the backend computes with, the calling one included; 1 for a GPU; 0
    /// for NULL; of joined ones the most that one of them has. Any thread. Since 0.1.
    pub fn tl_backend_n_threads(backend: *const tl_backend) -> i32;

    /// The bytes of packed copies that the backend keeps of constants (tl_tensor_set_constant, leafs of GGUF
    /// files), in no context's count; 0 for NULL. A constant's copy is made when a graph is first computed
    /// that multiplies with it, where that pays and leaves half of the machine's memory that was free; all
    /// graphs of the backend share it, and it goes with the backend or with the constant's context, or becomes
    /// the context's (tl_tensor_drop_original). A joined backend counts its parts' copies and those of constants on other devices than
    /// their own. Any thread. Since 0.1.
    pub fn tl_backend_packed_memory(backend: *const tl_backend) -> usize;
}
