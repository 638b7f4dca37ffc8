//! The lock under which a context's nodes are made.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Keeps constructors together with the reading of their errors. The thread that holds it may take it again, because
/// constructors call functions of custom operations, which make nodes themselves.
#[derive(Default)]
pub(crate) struct BuildLock {
    lock: Mutex<()>,
    /// The number of the thread that holds it; 0 for none.
    owner: AtomicU64,
}

/// Holds the lock, unless an outer guard of the thread does.
pub(crate) struct Building<'a> {
    held: Option<(&'a BuildLock, MutexGuard<'a, ()>)>,
}

impl BuildLock {
    pub(crate) fn enter(&self) -> Building<'_> {
        let me = thread_number();
        // Only this thread ever stores its number.
        if self.owner.load(Ordering::Relaxed) == me {
            return Building { held: None };
        }
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.owner.store(me, Ordering::Relaxed);
        Building { held: Some((self, guard)) }
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        if let Some((lock, _)) = &self.held {
            lock.owner.store(0, Ordering::Relaxed);
        }
    }
}

fn thread_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
        }
        number.get()
    })
}
