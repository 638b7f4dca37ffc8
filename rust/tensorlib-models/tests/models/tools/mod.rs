//! Tools: prompts with them, calls in answers, and constraints of calls.

mod answers;
#[cfg(feature = "grammar")]
mod calls;
mod guard;
mod hostile;
mod partitions;
mod prompts;
#[cfg(feature = "grammar")]
mod random_calls;
mod templates;
