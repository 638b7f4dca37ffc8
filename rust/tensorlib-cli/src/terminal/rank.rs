//! Which of several processes this is: one of them prints.

use std::sync::OnceLock;

static RANK: OnceLock<usize> = OnceLock::new();

/// Says that this process is one of several.
pub fn set(rank: usize) {
    RANK.get_or_init(|| rank);
}

/// This process's rank, if it is one of several.
pub fn rank() -> Option<usize> {
    RANK.get().copied()
}

/// Whether another process prints.
pub fn is_silent() -> bool {
    rank().is_some_and(|rank| rank > 0)
}
