//! Scopes: contexts for temporaries.

use crate::{Backend, Context};
use std::cell::RefCell;

/// Where nodes go instead of into the context of their operands.
struct Scope {
    context: Context,
    /// Whether nodes of younger operands go there too.
    always: bool,
}

thread_local! {
    /// The innermost scope of this thread.
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

/// The context of a node whose operands are in `context`: that of [`Context::within`], or a scope's, unless `context` is
/// younger, because old contexts do not refer to young ones.
pub(crate) fn or_younger(context: &Context) -> Context {
    SCOPE.with_borrow(|scope| match scope {
        Some(scope) if scope.always => scope.context.clone(),
        Some(scope) => scope.context.younger(context).clone(),
        None => context.clone(),
    })
}

/// Makes the scope before it the innermost one again, even after a panic.
struct Leave(Option<Scope>);

impl Drop for Leave {
    fn drop(&mut self) {
        let previous = self.0.take();
        // The scope is dropped afterwards: freeing its context must not find the cell borrowed.
        drop(SCOPE.replace(previous));
    }
}

impl Backend {
    /// Calls `f` with a context for temporaries on this backend's device. Until `f` returns, nodes that tensor methods and
    /// operators make on this thread go there, instead of into the context of their operands.
    ///
    /// The context is freed as soon as no tensor of it is left, so a loop takes no more memory than one of its steps. A tensor
    /// that `f` returns keeps all of it. Scopes and [`Context::within`] may be nested; the innermost one counts. Nodes of
    /// operands in a context that was made later than the scope go there.
    ///
    /// ```
    /// use tensorlib::{Backend, Context};
    /// let (cpu, ctx) = (Backend::cpu()?, Context::new());
    /// let weights = ctx.tensor([2], &[3f32, 4.])?;
    /// let used = ctx.used_memory();
    /// for step in 0..1000 {
    ///     let norm = cpu.scope(|_| (&weights * &weights)?.sum(..)?.sqrt()?.eval(&cpu)?.get(&[0]))?;
    ///     assert_eq!(norm, 5.);
    /// }
    /// assert_eq!(ctx.used_memory(), used);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`Context::new`], and if `f` panics.
    pub fn scope<R>(&self, f: impl FnOnce(&Context) -> R) -> R {
        let context = Context::on(self);
        let _leave = Leave(SCOPE.replace(Some(Scope { context: context.clone(), always: false })));
        f(&context)
    }
}

impl Context {
    /// Calls `f`. Until it returns, nodes that tensor methods and operators make on this thread go into this context,
    /// instead of into that of their operands.
    ///
    /// ```
    /// use tensorlib::Context;
    /// let (weights, request) = (Context::new(), Context::new());
    /// let (a, b) = (weights.tensor([2], &[3f32, 4.])?, weights.tensor([2], &[1f32, 2.])?);
    /// let sum = request.within(|| &a + &b)?;
    /// assert_eq!(sum.context().id(), request.id());
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `f` panics.
    pub fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        let _leave = Leave(SCOPE.replace(Some(Scope { context: self.clone(), always: true })));
        f()
    }

    /// Calls `f`. Until it returns, nodes that are made on this thread go into this context, or into that of their
    /// operands if it is younger. A layer's nodes that read parameters alone then lie with those that read its input.
    pub(crate) fn within_or_younger<R>(&self, f: impl FnOnce() -> R) -> R {
        let _leave = Leave(SCOPE.replace(Some(Scope { context: self.clone(), always: false })));
        f()
    }
}
