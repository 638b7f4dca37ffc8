//! Tools: prompts with them, calls in answers, and constraints of calls.

#[path = "../common/mod.rs"]
mod common;
mod guard;
mod prompts;
mod templates;
