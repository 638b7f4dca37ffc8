//! Devices, and backends, which compute on them.

use crate::call::{check, check_abi, handle, text};
use crate::{Graph, Result, Tensor};
use std::ffi::CString;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use tensorlib_sys as sys;

/// Properties of a device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The name that [`Backend::new`] takes: `"cpu"`, `"cuda:0"`.
    pub name: String,
    /// The processor's or card's own name.
    pub description: String,
    /// Bytes of memory; 0 = unknown.
    pub memory_total: u64,
    /// Bytes that are free now; 0 = unknown.
    pub memory_free: u64,
    /// CUDA: compute capability, 90 = 9.0; 0 elsewhere.
    pub capability: i32,
    /// A simulation for tests, not hardware.
    pub simulated: bool,
}

/// The devices of this machine; `"cpu"` is always the first. GPUs are listed if the feature `cuda` is on and their
/// driver is installed.
///
/// ```
/// assert_eq!(tensorlib::devices()[0].name, "cpu");
/// ```
pub fn devices() -> Vec<DeviceInfo> {
    // SAFETY: no arguments.
    let count = unsafe { sys::tl_device_count() };
    (0..count).filter_map(|i| device_info(i).ok()).collect()
}

fn device_info(index: usize) -> Result<DeviceInfo> {
    let mut props = sys::tl_device_props {
        struct_size: std::mem::size_of::<sys::tl_device_props>(),
        description: [0; 128],
        memory_total: 0,
        memory_free: 0,
        capability: 0,
        simulated: false,
    };
    // SAFETY: props is valid, with its size set.
    check(|err| unsafe { sys::tl_device_get_props(index, &mut props, err) })?;
    // SAFETY: the name is static; the description is NUL-terminated inside its array.
    let (name, description) = unsafe { (text(sys::tl_device_name(index)), text(props.description.as_ptr())) };
    Ok(DeviceInfo {
        name,
        description,
        memory_total: props.memory_total,
        memory_free: props.memory_free,
        capability: props.capability,
        simulated: props.simulated,
    })
}

/// The instruction sets that this CPU can run, best first: the values that the environment variable
/// `TENSORLIB_ISA` accepts here. `"baseline"` is always the last.
pub fn isas() -> Vec<String> {
    // SAFETY: no arguments; names are static.
    unsafe { (0..sys::tl_isa_count()).map(|i| text(sys::tl_isa_name(i))).collect() }
}

/// Options for opening a backend.
#[derive(Clone, Debug, Default)]
pub struct BackendOptions {
    n_threads: usize,
    allow_tf32: bool,
}

impl BackendOptions {
    /// The defaults: as many threads as this process may use processors, no TF32.
    pub fn new() -> Self {
        Self::default()
    }

    /// Threads for CPU work, including the calling thread; 0 = one per processor that this process may use.
    pub fn threads(mut self, n: usize) -> Self {
        self.n_threads = n;
        self
    }

    /// CUDA: lets F32 products be computed in TF32, which has 10 bits of fraction. Off by default; other devices ignore
    /// it.
    pub fn allow_tf32(mut self, allow: bool) -> Self {
        self.allow_tf32 = allow;
        self
    }

    /// Opens a device by name. A list such as `"cuda:0+cpu"` opens each device with these options and joins them
    /// ([`Backend::join`]).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for an unknown device or an invalid number of threads,
    /// [`Error::Unavailable`](crate::Error) if the device, the instruction set that `TENSORLIB_ISA` names or a thread
    /// is not available, [`Error::Io`](crate::Error) if the file that `TENSORLIB_TRACE` names cannot be written.
    pub fn open(&self, device: &str) -> Result<Backend> {
        check_abi()?;
        if device.contains('+') {
            let parts = device.split('+').map(|name| self.open(name)).collect::<Result<Vec<_>>>()?;
            return Backend::join(&parts);
        }
        let params = sys::tl_backend_params {
            struct_size: std::mem::size_of::<sys::tl_backend_params>(),
            // The engine refuses a number that does not fit anyway.
            n_threads: i32::try_from(self.n_threads).unwrap_or(i32::MAX),
            allow_tf32: self.allow_tf32,
        };
        // A NUL would cut the name short; no device's name has one.
        let name = CString::new(device.replace('\0', "?")).unwrap_or_default();
        let mut out = ptr::null_mut();
        // SAFETY: name and params live for the call; out is valid.
        check(|err| unsafe { sys::tl_backend_create(name.as_ptr(), &params, &mut out, err) })?;
        let ptr = handle(out)?;
        Ok(Backend(Arc::new(Inner { ptr, parts: Vec::new() })))
    }
}

struct Inner {
    ptr: NonNull<sys::tl_backend>,
    /// The backends that were joined; empty for a backend of one device.
    parts: Vec<Backend>,
}

// SAFETY: the engine allows every function on a backend from any thread.
unsafe impl Send for Inner {}
// SAFETY: the same; overlapping computations wait for each other inside.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the pointer came from tl_backend_create and is given back once.
        unsafe { sys::tl_backend_free(self.ptr.as_ptr()) }
    }
}

/// A device opened for computing. Clones share it; it closes with the last clone and the last context made on it.
///
/// Thread-safe: one graph runs at a time, and a second caller waits for the first. Backends are independent of each
/// other.
///
/// ```
/// let cpu = tensorlib::Backend::cpu()?;
/// assert!(cpu.n_threads() >= 1);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone)]
pub struct Backend(Arc<Inner>);

impl Backend {
    /// Joins backends of different devices into one, which computes graphs whose tensors lie on any of them.
    ///
    /// Each node is computed where the fewest bytes have to be copied for it, or where [`Tensor::place`] says. Leafs
    /// stay on their contexts' devices, and an output ends on its context's device. Operands that are read on another
    /// device are copied there once per run, constants once for all runs. A context made on the joined backend lies on
    /// the first device. The joined backends themselves stay usable.
    ///
    /// ```
    /// use tensorlib::{devices, Backend};
    /// let opened = devices().iter().map(|device| Backend::new(&device.name)).collect::<Result<Vec<_>, _>>()?;
    /// let all = Backend::join(&opened)?;
    /// assert_eq!(all.devices().len(), devices().len());
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for no backends or more than 32, two of one device, or one that is
    /// joined itself, [`Error::Unavailable`](crate::Error) in a forked process.
    pub fn join(backends: &[Backend]) -> Result<Self> {
        let raw: Vec<_> = backends.iter().map(Backend::raw).collect();
        let mut out = ptr::null_mut();
        // SAFETY: the handles are live and the array has as many; out is valid.
        check(|err| unsafe { sys::tl_backend_join(raw.as_ptr(), raw.len(), ptr::null(), &mut out, err) })?;
        Ok(Backend(Arc::new(Inner { ptr: handle(out)?, parts: backends.to_vec() })))
    }

    /// The backends that were joined, in the order of joining, to make contexts on; the backend itself if it was not
    /// joined.
    pub fn parts(&self) -> Vec<Backend> {
        if self.0.parts.is_empty() {
            return vec![self.clone()];
        }
        self.0.parts.clone()
    }

    /// The names of the devices that the backend computes on, in the order of joining; one name if it was not joined.
    pub fn devices(&self) -> Vec<String> {
        // SAFETY: the backend is live; names live as long as it.
        unsafe {
            let n = sys::tl_backend_n_devices(self.raw());
            (0..n).map(|i| text(sys::tl_backend_device_at(self.raw(), i))).collect()
        }
    }

    /// Opens the CPU with all processors that this process may use.
    ///
    /// # Errors
    /// As [`BackendOptions::open`].
    pub fn cpu() -> Result<Self> {
        Self::new("cpu")
    }

    /// Opens a device by its name, as [`devices`] lists it.
    ///
    /// # Errors
    /// As [`BackendOptions::open`].
    pub fn new(device: &str) -> Result<Self> {
        BackendOptions::new().open(device)
    }

    /// Builds a graph of these outputs and computes it. Make a [`Graph`] once to run it many times.
    ///
    /// # Errors
    /// As [`Graph::new`] and [`Graph::compute`].
    pub fn compute(&self, outputs: &[&Tensor]) -> Result<()> {
        Graph::new(outputs)?.compute(self)
    }

    /// The device's name: `"cpu"`.
    pub fn device(&self) -> String {
        // SAFETY: the backend is live; the text is static.
        unsafe { text(sys::tl_backend_device(self.raw())) }
    }

    /// The instruction set of the CPU kernels: `"avx512"`.
    pub fn isa(&self) -> String {
        // SAFETY: as above.
        unsafe { text(sys::tl_backend_isa(self.raw())) }
    }

    /// The number of threads, including the calling thread.
    pub fn n_threads(&self) -> usize {
        // SAFETY: as above.
        usize::try_from(unsafe { sys::tl_backend_n_threads(self.raw()) }).unwrap_or(0)
    }

    /// Bytes of packed copies of constants ([`Tensor::set_constant`](crate::Tensor::set_constant), tensors of GGUF
    /// files), which no context counts. The backend makes a copy when it first computes a graph that multiplies with a
    /// constant, if the copy pays and leaves half of the free memory. All graphs share it; it is freed with the backend
    /// or with the constant's context.
    pub fn packed_memory(&self) -> usize {
        // SAFETY: as above.
        unsafe { sys::tl_backend_packed_memory(self.raw()) }
    }

    pub(crate) fn raw(&self) -> *mut sys::tl_backend {
        self.0.ptr.as_ptr()
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Backend({}, {}, {} threads)", self.device(), self.isa(), self.n_threads())
    }
}
