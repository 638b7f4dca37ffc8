//! What the user sees and types: text, progress, standard input and output, signals.

pub mod input;
pub mod progress;
pub mod rank;
pub mod signals;
pub mod standard_output;
pub mod text;
pub mod texts;
