//! Tests of the server, over HTTP. One program, because each would be linked with the engine.

mod clients;
mod common;
mod hostile;
mod limits;
mod requests;
mod scores;
mod soak;
mod texts;
mod tools;
