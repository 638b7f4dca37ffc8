//! Scopes: contexts for temporaries.

use crate::{Backend, Context};
use std::cell::RefCell;

thread_local! {
    /// The innermost scope of this thread.
    static SCOPE: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// The context of a node whose operands are in `context`: the scope's, unless `context` is younger, because old contexts do not refer
/// to young ones.
pub(crate) fn or_younger(context: &Context) -> Context {
    SCOPE.with_borrow(|scope| match scope {
        Some(scope) => scope.younger(context).clone(),
        None => context.clone(),
    })
}

/// Makes the scope before it the innermost one again, even after a panic.
struct Leave(Option<Context>);

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
    /// that `f` returns keeps all of it. Methods of [`Context`] put nodes where they always do. Scopes may be nested; the
    /// innermost one counts. Nodes of operands in a context that was made later than the scope go there.
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
        let _leave = Leave(SCOPE.replace(Some(context.clone())));
        f(&context)
    }
}
