//! Tools: prompts with them, calls in answers, and constraints of calls.

mod answers;
mod calls;
#[path = "../common/mod.rs"]
mod common;
mod guard;
mod hostile;
mod partitions;
mod prompts;
mod random_calls;
mod templates;
