//! Graphs: what a backend computes at a time.

use crate::call::{check, handle, listed, sized_text};
use crate::{Backend, Error, Result, Tensor};
use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};
use tensorlib_sys as sys;

struct Inner {
    ptr: NonNull<sys::tl_graph>,
    /// The context that holds the graph's memory. The engine's graph keeps it alive, so it can be asked for its busy
    /// timeout.
    context: *mut sys::tl_context,
    /// Held while a run's callback is set. The callback points into the caller's stack, so no other run may call it.
    running: Mutex<()>,
}

// SAFETY: the engine allows every function on a graph from any thread.
unsafe impl Send for Inner {}
// SAFETY: the same; runs exclude each other.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the pointer came from tl_graph_create and is given back once.
        unsafe { sys::tl_graph_free(self.ptr.as_ptr()) }
    }
}

/// The nodes that some outputs need, in an order in which they can be computed. Build it once and compute it many
/// times, with new values in its leafs. Clones share the graph. Thread-safe: overlapping runs fail with [`Error::Busy`]
/// or wait ([`Context::set_busy_timeout`](crate::Context::set_busy_timeout)).
///
/// ```
/// use tensorlib::{Backend, Context, Graph};
/// let (cpu, ctx) = (Backend::cpu()?, Context::new());
/// let x = ctx.tensor([2], &[1., 2.])?;
/// let y = x.add(&x)?;
/// let graph = Graph::new(&[&y])?;
/// for i in 0..3 {
///     x.write(&[i as f32, 10.])?;
///     graph.compute(&cpu)?;
///     assert_eq!(y.to_vec::<f32>()?, [2. * i as f32, 20.]);
/// }
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone)]
pub struct Graph(Arc<Inner>);

impl Graph {
    /// Builds the graph of these outputs. Its memory comes from the first output's context.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no outputs, [`Error::ContextMismatch`] for outputs on different devices,
    /// [`Error::OutOfMemory`].
    pub fn new(outputs: &[&Tensor]) -> Result<Self> {
        Self::build(outputs, None)
    }

    /// Builds a graph whose intermediates take at most `memory` bytes, not counting kernels' workspaces.
    ///
    /// To stay within the limit, nodes that gradients read are recomputed instead of kept, cheap ones first. Results
    /// have the same bits; [`Graph::plan_text`] lists the nodes that run twice.
    ///
    /// ```
    /// use tensorlib::{Context, Error, Graph};
    /// let ctx = Context::new();
    /// let (x, w) = (ctx.tensor([64, 64], &[0.1f32; 4096])?, ctx.tensor([64, 64], &[0.01f32; 4096])?);
    /// let mut y = x.clone();
    /// for _ in 0..16 {
    ///     y = w.mul_mat(&y)?.tanh()?;
    /// }
    /// let gradients = y.sqr()?.sum(..)?.gradients(&[&w])?;
    /// let graph = Graph::within(&[&gradients[0]], 16 * 64 * 64 * 4)?;
    /// assert!(matches!(Graph::within(&[&gradients[0]], 1000), Err(Error::OutOfMemory { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Graph::new`]; [`Error::OutOfMemory`] also if no plan within `memory` is found: the message has the fewest
    /// bytes for which one was found.
    pub fn within(outputs: &[&Tensor], memory: usize) -> Result<Self> {
        Self::build(outputs, Some(memory))
    }

    fn build(outputs: &[&Tensor], memory: Option<usize>) -> Result<Self> {
        let Some(first) = outputs.first() else {
            let message = "graph_create: no outputs: at least one is valid".to_string();
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, Vec::new()));
        };
        let raw: Vec<_> = outputs.iter().map(|t| t.raw()).collect();
        let mut out = ptr::null_mut();
        // tl_graph_create returns the context's pending constructor error. Without the lock that could be the error of
        // another thread between its constructor and its reading.
        let _building = first.context().building();
        let ctx = first.context().raw();
        // SAFETY: context and outputs are live; raw has as many pointers as said; out is valid.
        check(|err| unsafe {
            match memory {
                None => sys::tl_graph_create(ctx, raw.as_ptr(), raw.len(), &mut out, err),
                Some(bytes) => sys::tl_graph_create_within(ctx, raw.as_ptr(), raw.len(), bytes, &mut out, err),
            }
        })?;
        let ptr = handle(out)?;
        Ok(Graph(Arc::new(Inner { ptr, context: ctx, running: Mutex::new(()) })))
    }

    /// Computes the graph; the outputs are readable when it returns. The first call with a backend makes a plan, later
    /// ones reuse it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a leaf without data, [`Error::ContextMismatch`] for a backend of another device,
    /// [`Error::Unsupported`] for a node that no kernel supports, [`Error::Busy`] if a context is in use,
    /// [`Error::Unavailable`] in a forked child, [`Error::OutOfMemory`].
    pub fn compute(&self, backend: &Backend) -> Result<()> {
        let _running = self.lock()?;
        // SAFETY: graph and backend are live; no callback is set.
        check(|err| unsafe { sys::tl_graph_compute(self.raw(), backend.raw(), err) })
    }

    /// Computes the graph and calls `progress(done, total)` on this thread: after each node, and on the CPU about every
    /// 10 ms while a node takes longer. Returning `false` stops the run, even within a node; after the last node it has
    /// no effect, as the results are complete.
    ///
    /// # Errors
    /// As [`Graph::compute`]; [`Error::Aborted`] if `progress` returned `false`.
    ///
    /// # Panics
    /// If `progress` panics: the run stops and the panic continues in the caller.
    pub fn compute_with(&self, backend: &Backend, progress: impl FnMut(usize, usize) -> bool) -> Result<()> {
        let trampoline = progress_of(&progress);
        self.compute_calling(backend, progress, |is_set, user_data, err| {
            // SAFETY: as compute_calling() promises.
            unsafe { sys::tl_graph_set_progress(self.raw(), trampoline.filter(|_| is_set), user_data, err) }
        })
    }

    /// Computes with a callback. `set(true, user_data, error)` gives the callback to the engine and
    /// `set(false, NULL, error)` removes it. The data are a [`Callback`] of this function, which outlives the callback;
    /// the lock keeps others from running the graph meanwhile.
    fn compute_calling<F>(
        &self,
        backend: &Backend,
        function: F,
        set: impl Fn(bool, *mut c_void, *mut sys::tl_error) -> sys::tl_status,
    ) -> Result<()> {
        let _running = self.lock()?;
        let mut callback = Callback { function, panic: None };
        let user_data: *mut c_void = (&raw mut callback).cast();
        // SAFETY: graph and backend are live.
        let compute = |err| unsafe { sys::tl_graph_compute(self.raw(), backend.raw(), err) };
        let result = check(|err| set(true, user_data, err)).and_then(|()| check(compute));
        // It cannot fail: nobody computes this graph now.
        let removed = check(|err| set(false, ptr::null_mut(), err));
        callback.end(result.and(removed))
    }

    /// Computes the graph and calls `observe(node, done, total)` on this thread for each node that computes something,
    /// when its result is complete: to collect statistics, or to find where two programs diverge.
    ///
    /// Until `observe` returns, this thread can read the node's result with [`Tensor::to_vec`], [`Tensor::to_f32_vec`],
    /// [`Tensor::get`] and similar methods, even if it is an intermediate; other tensors of a context that the run
    /// writes are [`Error::Busy`]. Views have no result of their own. Each node runs separately, in the order of
    /// [`Graph::nodes`], which is slower and gives the same bits. Returning `false` stops the run; after the last node
    /// it has no effect, as the results are complete.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, Graph};
    /// let (cpu, ctx) = (Backend::cpu()?, Context::new());
    /// let x = ctx.tensor([2], &[1., -2.])?;
    /// let graph = Graph::new(&[&x.sqr()?.log()?])?;
    /// let mut largest = Vec::new();
    /// graph.compute_observed(&cpu, |node, _, _| {
    ///     let values = node.to_f32_vec().unwrap();
    ///     largest.push((node.op(), values.into_iter().fold(0f32, f32::max)));
    ///     true
    /// })?;
    /// assert_eq!(largest[0], ("sqr".to_string(), 4.0));
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Graph::compute`]; [`Error::Aborted`] if `observe` returned `false`.
    ///
    /// # Panics
    /// If `observe` panics: the run stops and the panic continues in the caller.
    pub fn compute_observed(
        &self,
        backend: &Backend,
        observe: impl FnMut(&Tensor, usize, usize) -> bool,
    ) -> Result<()> {
        let trampoline = observer_of(&observe);
        self.compute_calling(backend, observe, |is_set, user_data, err| {
            // SAFETY: as compute_calling() promises.
            unsafe { sys::tl_graph_set_observer(self.raw(), trampoline.filter(|_| is_set), user_data, err) }
        })
    }

    /// Makes the coming runs check each result and fail at the first that has a NaN, or an infinity although no operand
    /// has one: [`Error::InvalidArgument`], which names the operation, tensor, element and value. Use it to find where
    /// a NaN comes from.
    ///
    /// Infinities of leafs, of `diag_mask_inf`, of an infinite fill and of results computed from them count as
    /// intended. Each node runs separately and its result is read, which is slow and gives the same bits.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, Graph};
    /// let (cpu, ctx) = (Backend::cpu()?, Context::new());
    /// let x = ctx.tensor([2], &[1f32, -1.])?;
    /// let y = x.log()?.sqr()?;
    /// let graph = Graph::new(&[&y])?;
    /// graph.set_check_finite(true)?;
    /// let error = graph.compute(&cpu).unwrap_err();
    /// assert!(error.to_string().contains("log"));
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Busy`] while the graph is being computed.
    pub fn set_check_finite(&self, on: bool) -> Result<()> {
        let _running = self.lock()?;
        // SAFETY: the graph is live.
        check(|err| unsafe { sys::tl_graph_set_check_finite(self.raw(), on, err) })
    }

    /// Makes the coming runs batch-invariant: each column of `mul_mat` and `mul_mat_id`, and each query of
    /// `flash_attn_ext` and `paged_attention`, has the bits that it has if it is computed alone, however many are
    /// computed with it. Use it where results must not depend on how tokens are grouped, such as a prompt that is fed at
    /// once or in parts.
    ///
    /// A query's bits do not depend on keys that its mask hides either. Operations that take each row by itself, such
    /// as norms, `rope` and `get_rows`, are always batch-invariant. A column is then rounded to 8 bits even if it is the
    /// only one, and BF16 weights are multiplied in F32. Prompts are slower, single columns hardly.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, DType, Graph};
    /// let (cpu, ctx) = (Backend::cpu()?, Context::new());
    /// let weights = ctx.tensor([64, 32], &[0.1f32; 64 * 32])?.cast(DType::Q8_0)?;
    /// let x = ctx.tensor([64, 8], &(0..64 * 8).map(|i| (i % 37) as f32).collect::<Vec<_>>())?;
    /// let (all, first) = (weights.mul_mat(&x)?, weights.mul_mat(&x.narrow(1, 0, 1)?)?);
    /// let graph = Graph::new(&[&all, &first])?;
    /// graph.set_batch_invariant(true)?;
    /// graph.compute(&cpu)?;
    /// assert_eq!(all.to_vec::<f32>()?[..32], first.to_vec::<f32>()?);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Busy`] while the graph is being computed. Computing the graph then fails with [`Error::Unsupported`] on
    /// a backend other than the CPU, and for `mul_mat_sparse`, `axpy` and `sparse_ffn`, which have no such kernels.
    pub fn set_batch_invariant(&self, on: bool) -> Result<()> {
        let _running = self.lock()?;
        // SAFETY: the graph is live.
        check(|err| unsafe { sys::tl_graph_set_batch_invariant(self.raw(), on, err) })
    }

    /// The number of nodes, views included.
    pub fn n_nodes(&self) -> usize {
        // SAFETY: the graph is live.
        unsafe { sys::tl_graph_n_nodes(self.raw()) }
    }

    /// The number of leafs.
    pub fn n_leafs(&self) -> usize {
        // SAFETY: the graph is live.
        unsafe { sys::tl_graph_n_leafs(self.raw()) }
    }

    /// The nodes in the order of computation, including views. A node that is recomputed for gradients
    /// ([`Graph::within`]) appears once for each time it is computed.
    pub fn nodes(&self) -> Vec<Tensor> {
        // SAFETY: the graph is live; the list has as much room as said.
        self.tensors(|list, n| unsafe { sys::tl_graph_nodes(self.raw(), list, n) })
    }

    /// The leafs that the nodes read or write.
    pub fn leafs(&self) -> Vec<Tensor> {
        // SAFETY: the graph is live; the list has as much room as said.
        self.tensors(|list, n| unsafe { sys::tl_graph_leafs(self.raw(), list, n) })
    }

    /// The outputs, in the order in which they were given.
    pub fn outputs(&self) -> Vec<Tensor> {
        // SAFETY: the graph is live; the list has as much room as said.
        self.tensors(|list, n| unsafe { sys::tl_graph_outputs(self.raw(), list, n) })
    }

    fn tensors(&self, list: impl FnMut(*mut *mut sys::tl_tensor, usize) -> usize) -> Vec<Tensor> {
        // SAFETY: a graph's tensors are live as long as it is.
        listed(list).into_iter().filter_map(|t| unsafe { Tensor::of_c(t) }).collect()
    }

    /// The graph in Graphviz's DOT language.
    pub fn dot(&self) -> String {
        // SAFETY: the graph is live; the buffer has as many bytes as said.
        sized_text(|buffer, size| unsafe { sys::tl_graph_dot(self.raw(), buffer, size) })
    }

    /// The plan for this backend as text, a line per node: the choices of kernels and memory, and why candidates were
    /// refused.
    ///
    /// # Errors
    /// As [`Graph::compute`].
    pub fn plan_text(&self, backend: &Backend) -> Result<String> {
        let _running = self.lock()?;
        let mut result = Ok(());
        let text = sized_text(|buffer, size| {
            let mut length = 0;
            result = check(|err| {
                // SAFETY: graph, backend and error are live; the buffer has as many bytes as said.
                unsafe {
                    length = sys::tl_graph_plan_text(self.raw(), backend.raw(), buffer, size, err);
                    (*err).code
                }
            });
            length
        });
        result.map(|()| text)
    }

    /// Bytes that computing the graph takes on each of the backend's devices, in the order of [`Backend::devices`]:
    /// leafs and outputs there, intermediates, workspace, transfers to the device, packed copies of constants. Leafs
    /// need no data, so in a context without any ([`ContextOptions::no_alloc`](crate::ContextOptions::no_alloc)) it
    /// tells in advance what a graph would need.
    ///
    /// ```
    /// use tensorlib::{Backend, Context, Graph};
    /// let (cpu, ctx) = (Backend::cpu()?, Context::new());
    /// let x = ctx.tensor([1000], &[1f32; 1000])?;
    /// let bytes = Graph::new(&[&x.exp()?])?.plan_bytes(&cpu)?;
    /// assert!(bytes.len() == 1 && bytes[0] >= 2 * 4000);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Graph::compute`].
    pub fn plan_bytes(&self, backend: &Backend) -> Result<Vec<usize>> {
        let _running = self.lock()?;
        let mut bytes = vec![0; backend.devices().len()];
        // SAFETY: graph and backend are live; the numbers are as many as said.
        check(|err| unsafe {
            sys::tl_graph_plan_bytes(self.raw(), backend.raw(), bytes.as_mut_ptr(), bytes.len(), err)
        })?;
        Ok(bytes)
    }

    fn raw(&self) -> *mut sys::tl_graph {
        self.0.ptr.as_ptr()
    }

    /// Waits up to the context's busy timeout, as the engine does for its own locks: each pause is an eighth of the
    /// time waited so far.
    fn lock(&self) -> Result<MutexGuard<'_, ()>> {
        let mut waiting: Option<(Instant, Duration)> = None;
        loop {
            match self.0.running.try_lock() {
                Ok(guard) => return Ok(guard),
                // A callback panicked while the lock was held; the lock guards no data that could be half-changed.
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            let (begin, limit) = *waiting.get_or_insert_with(|| {
                // SAFETY: the engine's graph keeps its context.
                let limit = unsafe { sys::tl_context_busy_timeout(self.0.context) };
                // In a callback, this thread may be the one that holds the lock.
                (Instant::now(), if inside_callback() { Duration::ZERO } else { Duration::from_nanos(limit) })
            });
            let waited = begin.elapsed();
            if waited >= limit {
                let longer = format!(", for longer than the busy timeout of {limit:?}");
                let longer = if limit.is_zero() { "" } else { &longer };
                let message = format!("graph_compute: the graph is being computed{longer}");
                return Err(Error::new(sys::TL_STATUS_BUSY.0, message, Vec::new()));
            }
            std::thread::sleep((waited / 8).clamp(Duration::from_micros(20), Duration::from_millis(1)));
        }
    }
}

thread_local! {
    /// How many callbacks this thread is inside.
    static CALLBACKS: Cell<usize> = const { Cell::new(0) };
}

fn inside_callback() -> bool {
    CALLBACKS.with(|n| n.get() != 0)
}

/// A run's callback, and the panic that it raised.
struct Callback<F> {
    function: F,
    panic: Option<Box<dyn Any + Send>>,
}

impl<F> Callback<F> {
    /// The callback's answer; `false` if it panics, and the panic is kept.
    fn guarded(&mut self, call: impl FnOnce(&mut F) -> bool) -> bool {
        CALLBACKS.with(|n| n.set(n.get() + 1));
        let said = catch_unwind(AssertUnwindSafe(|| call(&mut self.function)));
        CALLBACKS.with(|n| n.set(n.get() - 1));
        said.unwrap_or_else(|panic| {
            self.panic = Some(panic);
            false
        })
    }

    /// The run's result; if the callback panicked, resumes that panic instead.
    fn end(self, result: Result<()>) -> Result<()> {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
        result
    }
}

fn observer_of<F: FnMut(&Tensor, usize, usize) -> bool>(_: &F) -> sys::tl_observe_fn {
    unsafe extern "C" fn trampoline<F: FnMut(&Tensor, usize, usize) -> bool>(
        user_data: *mut c_void,
        node: *mut sys::tl_tensor,
        done: usize,
        total: usize,
    ) -> bool {
        // SAFETY: compute_calling set this function together with a pointer to a Callback<F> of its own, which it does not
        // touch until the run has ended.
        let callback = unsafe { &mut *user_data.cast::<Callback<F>>() };
        // SAFETY: the node is the graph's, which is being computed.
        let Some(node) = (unsafe { Tensor::of_c(node) }) else { return false };
        callback.guarded(|observe| observe(&node, done, total))
    }
    Some(trampoline::<F>)
}

fn progress_of<F: FnMut(usize, usize) -> bool>(_: &F) -> sys::tl_progress_fn {
    unsafe extern "C" fn trampoline<F: FnMut(usize, usize) -> bool>(
        user_data: *mut c_void,
        done: usize,
        total: usize,
    ) -> bool {
        // SAFETY: compute_calling set this function together with a pointer to a Callback<F> of its own, which it does not
        // touch until the run has ended.
        let callback = unsafe { &mut *user_data.cast::<Callback<F>>() };
        callback.guarded(|progress| progress(done, total))
    }
    Some(trampoline::<F>)
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} nodes, {} leafs)", self.n_nodes(), self.n_leafs())
    }
}
