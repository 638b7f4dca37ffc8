//! Tools: prompts with them, calls in answers, and constraints of calls.

mod answers;
#[path = "../common/mod.rs"]
mod common;
mod guard;
mod partitions;
mod prompts;
mod templates;
