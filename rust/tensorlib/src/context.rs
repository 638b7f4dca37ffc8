//! Contexts: the owners of tensors.

use crate::building::{BuildLock, Building};
use crate::call::{check, check_abi, handle, listed, sized_text, take_constructor_error, until_nul};
use crate::{Backend, DType, Element, Result, Tensor};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tensorlib_sys as sys;

/// Options for making a context.
///
/// ```
/// let ctx = tensorlib::ContextOptions::new().mem_limit(1 << 20).build()?;
/// assert!(ctx.zeros(tensorlib::DType::F32, [1 << 20]).is_err()); // 4 MiB
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct ContextOptions {
    mem_limit: usize,
    buffer: Option<&'static mut [u8]>,
    no_alloc: bool,
    backend: Option<Backend>,
}

impl ContextOptions {
    /// The defaults: memory that grows as needed, data on the host.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most bytes that objects and data may take together; 0 = no limit.
    pub fn mem_limit(mut self, bytes: usize) -> Self {
        self.mem_limit = bytes;
        self
    }

    /// Memory to use instead of the context's own; the context never grows beyond it. It has to be `'static` because
    /// graphs and other contexts may keep the memory in use after the last handle is gone.
    pub fn buffer(mut self, buffer: &'static mut [u8]) -> Self {
        self.buffer = Some(buffer);
        self
    }

    /// Makes tensors without data; [`Context::allocate`] gives leafs their data later.
    pub fn no_alloc(mut self) -> Self {
        self.no_alloc = true;
        self
    }

    /// Puts the tensors' data on this backend's device.
    pub fn on(mut self, backend: &Backend) -> Self {
        self.backend = Some(backend.clone());
        self
    }

    /// Makes the context. Any limit is accepted; tensors that do not fit fail later.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error), [`Error::InvalidArgument`](crate::Error) for an empty buffer.
    pub fn build(self) -> Result<Context> {
        check_abi()?;
        let (mem_buffer, mem_buffer_size) = match self.buffer {
            Some(buffer) => (buffer.as_mut_ptr().cast(), buffer.len()),
            None => (ptr::null_mut(), 0),
        };
        let params = sys::tl_context_params {
            struct_size: std::mem::size_of::<sys::tl_context_params>(),
            mem_limit: self.mem_limit,
            mem_buffer,
            mem_buffer_size,
            no_alloc: self.no_alloc,
            backend: self.backend.as_ref().map_or(ptr::null_mut(), Backend::raw),
        };
        let mut out = ptr::null_mut();
        // SAFETY: params and the backend in it live for the call; a buffer is ours for ever; out is valid.
        check(|err| unsafe { sys::tl_context_create(&params, &mut out, err) })?;
        Ok(Context::register(handle(out)?, &mut registry()))
    }
}

/// The `Inner` of each context that has handles here, by its address. A tensor that C names leads to the existing
/// `Inner`, so [`Context::reset`] knows about all handles.
static REGISTRY: Mutex<BTreeMap<usize, Weak<Inner>>> = Mutex::new(BTreeMap::new());

fn registry() -> MutexGuard<'static, BTreeMap<usize, Weak<Inner>>> {
    // A panic cannot leave the map half-changed.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Inner {
    ptr: NonNull<sys::tl_context>,
    /// The engine's number, which grows with each context; [`Context::younger`] compares it.
    id: u64,
    /// Held from a constructor's call until its error is read, so that each thread gets its own error.
    building: BuildLock,
}

// SAFETY: the engine allows every function on a context from any thread.
unsafe impl Send for Inner {}
// SAFETY: the same; its own locks keep building, computing, reading and writing apart.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        let address = self.ptr.as_ptr() as usize;
        let mut contexts = registry();
        // Another thread may have looked up this context in the meantime and made an Inner that is in use.
        if contexts.get(&address).is_some_and(|inner| inner.strong_count() == 0) {
            contexts.remove(&address);
        }
        drop(contexts);
        // SAFETY: the reference came from tl_context_create or tl_tensor_context and is given back once.
        unsafe { sys::tl_context_free(self.ptr.as_ptr()) }
    }
}

/// An arena that owns tensors and their data. Clones share it; its memory is freed with the last handle (each
/// [`Tensor`] holds one) and the last graph or other context that refers to it. Thread-safe: calls that would race fail
/// with [`Error::Busy`](crate::Error), or wait first ([`Context::set_busy_timeout`]).
///
/// ```
/// use tensorlib::{Context, DType};
/// let ctx = Context::new();
/// let zeros = ctx.zeros(DType::F32, [4, 2])?; // 2 rows of 4
/// let ones = ctx.tensor([4], &[1.0; 4])?;
/// assert!(ctx.used_memory() >= 12 * 4);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone)]
pub struct Context(Arc<Inner>);

impl Context {
    /// Makes a context with its own memory on the host, which grows as needed.
    ///
    /// # Panics
    /// If the machine cannot give the few hundred bytes that it needs.
    #[allow(clippy::new_without_default)] // a default that owns an arena would be a surprise
    pub fn new() -> Self {
        ContextOptions::new().build().expect("memory for an empty context")
    }

    /// Makes a context whose tensors' data live on the backend's device.
    ///
    /// # Panics
    /// As [`Context::new`].
    pub fn on(backend: &Backend) -> Self {
        ContextOptions::new().on(backend).build().expect("memory for an empty context")
    }

    /// Makes a leaf filled with zeros. The shape has 1 to 4 dimensions, the contiguous one first.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for an invalid shape, [`Error::OutOfMemory`](crate::Error).
    pub fn zeros(&self, dtype: DType, shape: impl AsRef<[i64]>) -> Result<Tensor> {
        let ne = shape.as_ref();
        // The engine refuses more dimensions than an i32 counts, as it does any number above 4.
        let n_dims = i32::try_from(ne.len()).unwrap_or(i32::MAX);
        self.construct(Vec::new, |ctx| {
            // SAFETY: the context is live; ne has n_dims values.
            unsafe { sys::tl_tensor_new(ctx, dtype.raw(), n_dims, ne.as_ptr()) }
        })
    }

    /// Makes an F32 leaf from one value per element of the shape, in memory order.
    ///
    /// # Errors
    /// As [`Context::zeros`]; [`Error::InvalidArgument`](crate::Error) for a wrong number of values.
    pub fn tensor(&self, shape: impl AsRef<[i64]>, values: &[f32]) -> Result<Tensor> {
        self.tensor_of(shape, values)
    }

    /// Makes a leaf of any element type from one value per element, in memory order.
    ///
    /// # Errors
    /// As [`Context::tensor`].
    pub fn tensor_of<T: Element>(&self, shape: impl AsRef<[i64]>, values: &[T]) -> Result<Tensor> {
        let tensor = self.zeros(T::DTYPE, shape)?;
        tensor.write(values)?;
        Ok(tensor)
    }

    /// Allocates data for the leafs of a `no_alloc` context that have none yet; they hold zeros.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a context of another kind, [`Error::OutOfMemory`](crate::Error),
    /// [`Error::Busy`](crate::Error).
    pub fn allocate(&self) -> Result<()> {
        // SAFETY: the context is live; no backend means its own.
        check(|err| unsafe { sys::tl_context_allocate(self.raw(), ptr::null_mut(), err) })
    }

    /// Removes all tensors. Keeps the memory, and the plans of graphs for later graphs of the same structure.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error) while tensors, clones of this handle, graphs or other contexts refer to it.
    ///
    /// ```
    /// let mut ctx = tensorlib::Context::new();
    /// let t = ctx.zeros(tensorlib::DType::F32, [8])?;
    /// assert!(matches!(ctx.reset(), Err(tensorlib::Error::Busy(_))));
    /// drop(t);
    /// ctx.reset()?;
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    pub fn reset(&mut self) -> Result<()> {
        // Held until the context is empty, so that nobody can look up a handle meanwhile.
        let _contexts = registry();
        if Arc::strong_count(&self.0) != 1 {
            let message = "context_reset: tensors or clones of the context's handle still exist".to_string();
            return Err(crate::Error::new(sys::TL_STATUS_BUSY.0, message, Vec::new()));
        }
        // SAFETY: the context is live, and no tensor handle exists whose pointer this could invalidate: each holds a
        // clone of the Arc; `&mut self` keeps others from making one, and the registry from finding it.
        check(|err| unsafe { sys::tl_context_reset(self.raw(), err) })
    }

    /// Makes calls wait for data that other threads use, instead of failing immediately with
    /// [`Error::Busy`](crate::Error).
    ///
    /// A call about this context, one of its tensors or a graph whose memory is here waits up to `timeout`.
    /// [`Graph::compute`](crate::Graph::compute) then also limits its wait for the backend's turn, which is unlimited
    /// otherwise. Zero, the default, waits for no lock. A call that has begun to compute is not stopped. A waiting call
    /// holds no locks. Calls from a callback of a running graph never wait, because they could wait for themselves;
    /// [`Context::reset`] does not wait for handles that still exist.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorlib::{Backend, Context, Graph};
    /// let (cpu, ctx) = (Backend::cpu()?, Context::new());
    /// ctx.set_busy_timeout(Duration::from_secs(10));
    /// let x = ctx.tensor([2], &[1., 2.])?;
    /// let graph = Graph::new(&[&x.add(&x)?])?;
    /// std::thread::scope(|scope| {
    ///     let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| graph.compute(&cpu))).collect();
    ///     threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    /// })?;
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    pub fn set_busy_timeout(&self, timeout: Duration) {
        let nanoseconds = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the context is live. It is the only way to fail that it were not.
        let _ = check(|err| unsafe { sys::tl_context_set_busy_timeout(self.raw(), nanoseconds, err) });
    }

    /// How long calls about this context wait; see [`Context::set_busy_timeout`].
    pub fn busy_timeout(&self) -> Duration {
        // SAFETY: the context is live.
        Duration::from_nanos(unsafe { sys::tl_context_busy_timeout(self.raw()) })
    }

    /// The context's number in messages. Later contexts have larger ones.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// All tensors of the context, leafs and nodes, in the order in which they were made. The list includes nodes that
    /// operations made of several nodes created internally.
    ///
    /// ```
    /// let ctx = tensorlib::Context::new();
    /// let x = ctx.tensor([2], &[1., 2.])?;
    /// let y = x.sqr()?.log()?;
    /// let ops: Vec<_> = ctx.tensors().iter().map(|t| t.op()).collect();
    /// assert_eq!(ops, ["leaf", "sqr", "log"]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    pub fn tensors(&self) -> Vec<Tensor> {
        // SAFETY: the context is live; the list has as much room as said.
        let raw = listed(|list, n| unsafe { sys::tl_context_tensors(self.raw(), list, n) });
        raw.into_iter().filter_map(NonNull::new).map(|ptr| Tensor::from_raw(self.clone(), ptr)).collect()
    }

    /// The first of the context's tensors with this name. Takes time in proportion to the number of tensors.
    pub fn find(&self, name: &str) -> Option<Tensor> {
        let name = CString::new(name).ok()?;
        // SAFETY: the context is live; the name ends with a NUL.
        let found = NonNull::new(unsafe { sys::tl_context_find(self.raw(), name.as_ptr()) })?;
        Some(Tensor::from_raw(self.clone(), found))
    }

    /// Names the context for messages: `context 3 'weights'`; `""` removes the name. A NUL ends the name.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error).
    pub fn set_name(&self, name: &str) -> Result<()> {
        let name = until_nul(name);
        // SAFETY: the context is live; the name is copied.
        check(|err| unsafe { sys::tl_context_set_name(self.raw(), name.as_ptr(), err) })
    }

    /// The context's name; empty if it has none.
    pub fn name(&self) -> String {
        // SAFETY: the context is live; the buffer has as many bytes as said.
        sized_text(|buffer, size| unsafe { sys::tl_context_name(self.raw(), buffer, size) })
    }

    /// Closes the context for building: from now on new leafs and nodes in it fail with
    /// [`Error::InvalidArgument`](crate::Error). Operators and methods put a node into the context of its operands, so
    /// the sum of two weights would silently live, and stay, among the weights. In a frozen context that fails with an
    /// error that says where to build instead. [`Context::reset`] opens the context again.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, Error};
    /// let weights = Context::new();
    /// let (w, b) = (weights.tensor([2], &[1., 2.])?, weights.tensor([2], &[3., 4.])?);
    /// weights.freeze();
    /// assert!(matches!(w.add(&b), Err(Error::InvalidArgument(_))));
    /// let request = Context::new(); // one for each request, by any number of threads
    /// let sum = request.within(|| w.add(&b))?;
    /// Backend::cpu()?.compute(&[&sum])?;
    /// assert_eq!(sum.to_vec::<f32>()?, [4., 6.]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn freeze(&self) {
        // SAFETY: the context is live. It is the only way to fail that it were not.
        let _ = check(|err| unsafe { sys::tl_context_freeze(self.raw(), err) });
    }

    /// Bytes in use by objects, data, and plans that are kept for graphs of the same structure.
    pub fn used_memory(&self) -> usize {
        // SAFETY: the context is live.
        unsafe { sys::tl_context_used_memory(self.raw()) }
    }

    /// The most bytes that were in use at any time.
    pub fn peak_memory(&self) -> usize {
        // SAFETY: the context is live.
        unsafe { sys::tl_context_peak_memory(self.raw()) }
    }

    /// Makes the handle of a context, and takes over the caller's reference to it.
    fn register(ptr: NonNull<sys::tl_context>, contexts: &mut BTreeMap<usize, Weak<Inner>>) -> Self {
        // SAFETY: the context is live.
        let id = unsafe { sys::tl_context_id(ptr.as_ptr()) };
        let inner = Arc::new(Inner { ptr, id, building: BuildLock::default() });
        contexts.insert(ptr.as_ptr() as usize, Arc::downgrade(&inner));
        Context(inner)
    }

    /// The context of a tensor that C named; `None` for NULL.
    ///
    /// # Safety
    /// The tensor must be live.
    pub(crate) unsafe fn of(tensor: NonNull<sys::tl_tensor>) -> Option<Self> {
        let mut contexts = registry();
        // SAFETY: as the caller promises.
        let ptr = NonNull::new(unsafe { sys::tl_tensor_context(tensor.as_ptr()) })?;
        match contexts.get(&(ptr.as_ptr() as usize)).and_then(Weak::upgrade) {
            Some(inner) => {
                // SAFETY: the reference that was just made; the Inner has one of its own.
                unsafe { sys::tl_context_free(ptr.as_ptr()) };
                Some(Context(inner))
            }
            None => Some(Self::register(ptr, &mut contexts)),
        }
    }

    pub(crate) fn raw(&self) -> *mut sys::tl_context {
        self.0.ptr.as_ptr()
    }

    /// The context of the two that was made last. Nodes go there, so that young contexts (a token's) refer to old ones
    /// (the weights') and never the reverse.
    pub(crate) fn younger<'a>(&'a self, other: &'a Context) -> &'a Context {
        if self.0.id >= other.0.id {
            self
        } else {
            other
        }
    }

    /// Locks constructors together with the reading of their errors.
    pub(crate) fn building(&self) -> Building<'_> {
        self.0.building.enter()
    }

    /// Runs a constructor and turns NULL into the error that the context kept. `shapes` is called only for an error.
    pub(crate) fn construct(
        &self,
        shapes: impl FnOnce() -> Vec<Vec<i64>>,
        constructor: impl FnOnce(*mut sys::tl_context) -> *mut sys::tl_tensor,
    ) -> Result<Tensor> {
        let _building = self.building();
        match NonNull::new(constructor(self.raw())) {
            Some(ptr) => Ok(Tensor::from_raw(self.clone(), ptr)),
            // SAFETY: the context is live, and the lock is held.
            None => Err(unsafe { take_constructor_error(self.raw(), shapes()) }),
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        let name = if name.is_empty() { name } else { format!("'{name}', ") };
        write!(f, "Context({name}{} bytes used, {} at most)", self.used_memory(), self.peak_memory())
    }
}
