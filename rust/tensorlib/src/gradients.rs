//! Automatic differentiation: gradients of outputs, as nodes.

use crate::call::{check, handle};
use crate::ops::youngest;
use crate::{Context, Error, Result, Tensor};
use std::ptr;
use tensorlib_sys as sys;

impl Tensor {
    /// The gradients of this tensor, which has one element (a loss), with respect to each tensor of `wrt`: F32, of the
    /// shapes of `wrt`, as nodes in this tensor's context. [`Context::gradients`] has the details.
    ///
    /// ```
    /// use tensorlib::{Backend, Context};
    /// let ctx = Context::new();
    /// let (w, b, x) = (ctx.tensor([2], &[3f32, -1.])?, ctx.tensor([1], &[0.5f32])?, ctx.tensor([2], &[2f32, 4.])?);
    /// // w . x + b, squared
    /// let loss = w.mul(&x)?.sum(..)?.add(&b)?.sqr()?;
    /// let gradients = loss.gradients(&[&w, &b])?;
    /// Backend::cpu()?.compute(&[&loss, &gradients[0], &gradients[1]])?;
    /// assert_eq!(loss.to_vec::<f32>()?, [6.25]);
    /// assert_eq!(gradients[0].to_vec::<f32>()?, [10., 20.]);
    /// assert_eq!(gradients[1].to_vec::<f32>()?, [5.]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Context::gradients`].
    pub fn gradients(&self, wrt: &[&Tensor]) -> Result<Vec<Tensor>> {
        self.node_context().gradients(&[self], &[], wrt)
    }

    /// The gradients of this tensor, of any shape, given the gradient `seed` that flows into it: F32, of this tensor's
    /// shape. The nodes go into the younger of the two contexts.
    ///
    /// # Errors
    /// As [`Context::gradients`].
    pub fn gradients_by(&self, seed: &Tensor, wrt: &[&Tensor]) -> Result<Vec<Tensor>> {
        youngest(self, &[Some(seed)]).gradients(&[self], &[Some(seed)], wrt)
    }

    /// Whether gradients of this tensor flow to `t`. If not, [`Tensor::gradients`] returns zeros for it.
    ///
    /// ```
    /// let ctx = tensorlib::Context::new();
    /// let (a, b) = (ctx.tensor([1], &[2f32])?, ctx.tensor([1], &[3f32])?);
    /// let y = a.mul(&b.stop_gradient()?)?;
    /// assert!(y.gradients_reach(&a)? && !y.gradients_reach(&b)?);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn gradients_reach(&self, t: &Tensor) -> Result<bool> {
        let mut reach = false;
        // SAFETY: both tensors are live; reach is valid.
        check(|err| unsafe { sys::tl_gradients_reach(self.raw(), t.raw(), &mut reach, err) })?;
        Ok(reach)
    }
}

impl Context {
    /// The gradients of the sum of the outputs with respect to each tensor of `wrt`, as nodes of this context, which is
    /// usually that of the youngest output: F32, contiguous, of the shapes of `wrt`, zeros where no output depends on a
    /// tensor. Nothing is computed yet, and the nodes can be differentiated again.
    ///
    /// Outputs and `wrt` are leafs or nodes of F32, F16 or BF16. `seeds` are the gradients that flow into the outputs,
    /// F32 and of their shapes. An output of one element needs no seed: an empty list, or `None` for it, stands for 1.
    ///
    /// Gradients flow along operands: through views, repetitions and conversions, into weights of F32, F16 or BF16, and
    /// through products with quantised weights, which are constants themselves. They end at [`Tensor::stop_gradient`],
    /// at indices, and at operands for which an operation defines no gradient. Writes into memory by other means are
    /// not tracked.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no output, no `wrt`, a wrong number of seeds, or an output of more than one
    /// element without a seed; [`Error::TypeMismatch`], [`Error::ShapeMismatch`], [`Error::ContextMismatch`];
    /// [`Error::Unsupported`] naming all nodes that cannot be differentiated; [`Error::OutOfMemory`]. A failed call
    /// appends no nodes.
    pub fn gradients(&self, ys: &[&Tensor], seeds: &[Option<&Tensor>], wrt: &[&Tensor]) -> Result<Vec<Tensor>> {
        if !seeds.is_empty() && seeds.len() != ys.len() {
            let message =
                format!("gradients: {} outputs and {} seeds: as many, or none, are valid", ys.len(), seeds.len());
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, Vec::new()));
        }
        let raw = |tensors: &[&Tensor]| tensors.iter().map(|t| t.raw()).collect::<Vec<_>>();
        let (outputs, tensors) = (raw(ys), raw(wrt));
        let given: Vec<_> = seeds.iter().map(|seed| seed.map_or(ptr::null_mut(), Tensor::raw)).collect();
        let first_seed = if given.is_empty() { ptr::null() } else { given.as_ptr() };
        let mut made = vec![ptr::null_mut(); wrt.len()];
        // As for a graph: the call takes the context's pending error, which without the lock could be another thread's.
        let _building = self.building();
        // SAFETY: context and tensors are live; the arrays have as many pointers as said.
        check(|err| unsafe {
            sys::tl_gradients(
                self.raw(),
                outputs.as_ptr(),
                first_seed,
                outputs.len(),
                tensors.as_ptr(),
                tensors.len(),
                made.as_mut_ptr(),
                err,
            )
        })?;
        made.into_iter().map(|t| Ok(Tensor::from_raw(self.clone(), handle(t)?))).collect()
    }
}
