//! A queue whose items worker threads make ahead of the one that takes them.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Items by number, which are made in any order and taken in order.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    n: usize,
    /// How many items may be made and not yet taken.
    window: usize,
}

struct State<T> {
    begun: usize,
    taken: usize,
    /// A panic of a worker goes on in the thread that takes the item.
    ready: BTreeMap<usize, Result<T, Box<dyn Any + Send>>>,
    stopped: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(n: usize, window: usize) -> Self {
        let state = State { begun: 0, taken: 0, ready: BTreeMap::new(), stopped: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), n, window }
    }

    /// Makes items until all have been begun or the queue was stopped. Workers call it.
    pub(super) fn work(&self, make: impl Fn(usize) -> T) {
        while let Some(number) = self.begin() {
            let item = catch_unwind(AssertUnwindSafe(|| make(number)));
            self.lock().ready.insert(number, item);
            self.changed.notify_all();
        }
    }

    fn begin(&self) -> Option<usize> {
        let waits =
            |state: &mut State<T>| !state.stopped && state.begun < self.n && state.begun >= state.taken + self.window;
        let mut state = self.changed.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        if state.stopped || state.begun == self.n {
            return None;
        }
        state.begun += 1;
        Some(state.begun - 1)
    }

    /// The next item, when it has been made; `None` after the last one.
    pub(super) fn take(&self) -> Option<T> {
        let waits =
            |state: &mut State<T>| !state.stopped && state.taken < self.n && !state.ready.contains_key(&state.taken);
        let mut state = self.changed.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        let number = state.taken;
        let item = state.ready.remove(&number)?;
        state.taken += 1;
        drop(state);
        self.changed.notify_all();
        match item {
            Ok(item) => Some(item),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Stops the queue when the guard is dropped, also by a panic.
    pub(super) fn stop_on_drop(&self) -> Stop<'_, T> {
        Stop(self)
    }

    /// Ends the workers after the items that they are making.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.ready.clear();
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The guard of [`Queue::stop_on_drop`].
pub(super) struct Stop<'q, T>(&'q Queue<T>);

impl<T> Drop for Stop<'_, T> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
