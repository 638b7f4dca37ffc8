//! The program `tensorlib`: its commands, bad input, and killed runs.
//!
//! One program, because each program would compile what it shares and be linked once more.

#[cfg(unix)]
#[path = "../../../tensorlib-server/tests/server/common/client.rs"]
#[allow(dead_code)] // the tests of the server use all of it
mod client;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod convert;
mod errors;
mod everyday;
mod imatrix;
mod inspect;
mod models;
mod output;
mod process;
mod quantize;
mod ranks;
mod scores;
#[cfg(unix)]
mod serve;
mod shards;
mod target_size;
#[path = "../../../tensorlib-models/tests/common/mod.rs"]
mod tiny_models;
mod transcribe;
mod transpose_down;
mod tune;
mod types;
