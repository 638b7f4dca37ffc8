//! # Devices and backends
//!
//! A device computes: "cpu" always exists, and "cuda:0", "cuda:1", ... exist if the library was built with CUDA and the
//! machine has a driver and GPUs; otherwise tl_backend_create() says what is missing. A backend is an opened device.

use crate::{tl_error, tl_status};
use core::ffi::c_char;
use core::marker::{PhantomData, PhantomPinned};

/// A device opened for computing, with its own threads or streams. Backends are independent of each other: two backends
/// compute at the same time, even on one device.
///
/// Lifetime: from tl_backend_create() until tl_backend_free(). A context created on a backend keeps it alive, so the
/// two may be freed in any order.
///
/// Threads: any function may be called from any thread. One graph runs at a time, and a second caller of
/// tl_graph_compute() waits for the first. A call from inside the running graph's own progress callback returns
/// TL_STATUS_BUSY.
#[cfg_attr(not(cbindgen), repr(C))]
pub struct tl_backend {
    _data: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Options for opening a backend. Fill it with tl_backend_params_init(), then change what you need.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_backend_params {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
    /// Threads for CPU work, including the calling thread. 0 = as many as this process may use, as limited by the
    /// affinity mask and the cgroup's quota. At most 1024.
    pub n_threads: i32,
    /// CUDA: allows F32 products to be computed in TF32 (10 bits of fraction). Ignored elsewhere.
    pub allow_tf32: bool,
}

/// Options for joining backends; none exist yet. Fill it with tl_join_params_init().
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_join_params {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
}

/// Properties of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_device_props {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
    /// The name of the processor or card, for display, NUL-terminated.
    pub description: [c_char; 128],
    /// Bytes of memory in total; 0 = unknown.
    pub memory_total: u64,
    /// Bytes of memory that were free at the time of the call; 0 = unknown.
    pub memory_free: u64,
    /// CUDA: compute capability, 90 = 9.0; 0 elsewhere.
    pub capability: i32,
    /// A simulation for tests, not hardware.
    pub simulated: bool,
}

extern "C" {
    /// The number of devices, at least 1 for "cpu". Any thread. Since 0.1.
    pub fn tl_device_count() -> usize;

    /// The name of a device, as tl_backend_create() takes it: `"cpu"`, `"cuda:0"`. NULL if index is not below
    /// tl_device_count(). Static storage, not to be freed. Any thread. Since 0.1.
    pub fn tl_device_name(index: usize) -> *const c_char;

    /// Gets the properties of a device.
    ///
    /// `out` belongs to the caller and must not be NULL; its struct_size must be set.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: index is out of range, out is NULL, struct_size is too small. Any thread. Since 0.1.
    pub fn tl_device_get_props(index: usize, out: *mut tl_device_props, err: *mut tl_error) -> tl_status;

    /// The number of instruction sets that this CPU can run. Any thread. Since 0.1.
    pub fn tl_isa_count() -> usize;

    /// The name of an instruction set that this CPU can run, best first: the values that the environment variable
    /// `TENSORLIB_ISA` accepts here. `"baseline"` is always the last. NULL if index is not below tl_isa_count(). Static
    /// storage, not to be freed. Any thread. Since 0.1.
    pub fn tl_isa_name(index: usize) -> *const c_char;

    /// Sets the defaults. A NULL `params` is ignored; at most `struct_size` bytes are written. Any thread, as long as
    /// params is not shared. Since 0.1.
    pub fn tl_backend_params_init(params: *mut tl_backend_params, struct_size: usize);

    /// Opens a device, or joins several.
    ///
    /// `device` is a name as tl_device_name() returns it, such as `"cpu"`; case does not matter. NULL means `"cpu"`.
    /// Names separated by `+`, `"cuda:0+cpu"`, open each device and join them (tl_backend_join). `params` may be NULL
    /// for the defaults. `out` must not be NULL; it receives the backend, which the caller frees with
    /// tl_backend_free(), or NULL on failure.
    ///
    /// This function reads these environment variables:
    /// - `TENSORLIB_ISA`: the instruction set of the backend's kernels; the default is the best one that the CPU has.
    /// - `TENSORLIB_FUSE`: `0` computes every node separately. By default a product is fused with an addition that is
    ///   the only reader of its result; the bits are the same. Values other than `0` and `1` are
    ///   TL_STATUS_INVALID_ARGUMENT.
    /// - `TENSORLIB_PACK_LIMIT`: the most bytes that a CPU backend may use for packed copies of constant weights, which
    ///   make products faster; 0 means none. Results do not depend on it. By default a copy may take half of the memory
    ///   that is left.
    /// - `TENSORLIB_TRACE`: a file that receives a timeline of the backend's runs, for Perfetto (ui.perfetto.dev). The
    ///   file is emptied first; further backends append `.2`, `.3`, ... to its name.
    /// - `TENSORLIB_REFUSE=cuda:0/add,cpu/mul_mat`: operations that a device has to refuse, for tests.
    /// - `TENSORLIB_CUDA_DEBUG=1`: waits for each operation, so that an error names the operation that caused it.
    /// - `TENSORLIB_CUBLASLT`: `off`, or the path of the library.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: the device does not exist, out is NULL, a parameter is out of range, `TENSORLIB_ISA`
    /// names no instruction set, `TENSORLIB_PACK_LIMIT` is not a number. TL_STATUS_UNAVAILABLE: the machine does not
    /// have the device or instruction set (the message lists those that it has), or a thread could not be started.
    /// TL_STATUS_IO: the file that `TENSORLIB_TRACE` names cannot be written. TL_STATUS_OUT_OF_MEMORY. Any thread.
    /// Since 0.1.
    pub fn tl_backend_create(
        device: *const c_char,
        params: *const tl_backend_params,
        out: *mut *mut tl_backend,
        err: *mut tl_error,
    ) -> tl_status;

    /// Sets the defaults. A NULL `params` is ignored; at most `struct_size` bytes are written. Any thread, as long as
    /// params is not shared. Since 0.1.
    pub fn tl_join_params_init(params: *mut tl_join_params, struct_size: usize);

    /// Joins backends of different devices into one, which computes graphs whose tensors lie on any of them.
    ///
    /// Each node is computed by a device that has a kernel for it, where the fewest bytes have to be copied;
    /// tl_tensor_place() overrides the choice. Results that a node writes into tensors of other devices are copied
    /// there and back. Leafs stay on their contexts' devices, an output ends on its context's device, and every other
    /// result lies where it is computed. Operands that are read on another device are copied there once per run,
    /// constants once for all runs. tl_graph_plan_text() shows the transfers, tl_graph_plan_bytes() the memory that
    /// they take. Memory for intermediates and copies of constants belongs to the backend: no context's mem_limit
    /// counts it.
    ///
    /// `backends` has `n` backends, 1 to 32, and is read during the call. The joined backend keeps them alive. Their
    /// handles remain the caller's and stay usable: a run of the joined backend waits for their runs. A context created
    /// on the joined backend lies on the first device. `params` may be NULL. `out` must not be NULL; it receives the
    /// backend, which the caller frees with tl_backend_free(), or NULL on failure.
    ///
    /// TL_STATUS_INVALID_ARGUMENT: backends, one of them or out is NULL, n is out of range, two are of one device, one
    /// is joined itself. TL_STATUS_UNAVAILABLE: one belongs to the parent of this forked process.
    /// TL_STATUS_OUT_OF_MEMORY. Any thread. Since 0.1.
    pub fn tl_backend_join(
        backends: *const *mut tl_backend,
        n: usize,
        params: *const tl_join_params,
        out: *mut *mut tl_backend,
        err: *mut tl_error,
    ) -> tl_status;

    /// The number of devices that the backend computes on: 1 unless it is joined; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_backend_n_devices(backend: *const tl_backend) -> usize;

    /// The name of a device of the backend, in the order of joining; NULL for NULL or if index is not below
    /// tl_backend_n_devices(). Valid as long as the backend. Any thread. Since 0.1.
    pub fn tl_backend_device_at(backend: *const tl_backend, index: usize) -> *const c_char;

    /// Releases the handle; NULL is ignored. The backend is closed when no context that was created on it is left. Any
    /// thread except inside the backend's own progress callback. Since 0.1.
    pub fn tl_backend_free(backend: *mut tl_backend);

    /// The name of the backend's device: `"cpu"`, `"cpu+cuda:0"` for a joined backend; NULL for NULL. Valid as long as
    /// the backend. Any thread. Since 0.1.
    pub fn tl_backend_device(backend: *const tl_backend) -> *const c_char;

    /// The instruction set of the backend's CPU kernels, `"avx512"`, or the GPU's architecture, `"sm_90"` (`"simt"` if
    /// it is simulated). A joined backend lists those of all its devices, `"avx512+sm_90"`. NULL for NULL. Valid as
    /// long as the backend. Any thread. Since 0.1.
    pub fn tl_backend_isa(backend: *const tl_backend) -> *const c_char;

    /// The number of CPU threads that the backend computes with, including the calling thread; 1 for a GPU; for a
    /// joined backend the largest number of its devices; 0 for NULL. Any thread. Since 0.1.
    pub fn tl_backend_n_threads(backend: *const tl_backend) -> i32;

    /// Bytes of packed copies of constants (tl_tensor_set_constant, leafs of GGUF files) that the backend keeps and no
    /// context counts; 0 for NULL. The backend makes a constant's copy when it first computes a graph that multiplies
    /// with it, if the copy pays and leaves half of the machine's free memory. All graphs of the backend share it. It
    /// is freed with the backend or with the constant's context, or passes to the context (tl_tensor_drop_original). A
    /// joined backend counts the copies of the backends that were joined, and copies of constants on devices other than
    /// their own. Any thread. Since 0.1.
    pub fn tl_backend_packed_memory(backend: *const tl_backend) -> usize;
}
