//! Files: opening models, writing results, and the types and patterns that options name.

pub mod hub;
pub mod open;
pub mod output;
pub mod pattern;
pub mod types;
