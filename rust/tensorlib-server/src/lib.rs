//! An HTTP server for the models of [`tensorlib_models`]: the routes of OpenAI's API, streamed answers, limits, and a
//! page to chat with a model. `docs/serving.md` describes the routes, every field and every limit.
//!
//! Requests to a language model are computed together ([`tensorlib_models::Batch`]). No request ends the process, and
//! none waits for all of another one's answer.
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc, missing_debug_implementations)]

mod access;
mod body;
mod classes;
mod connections;
mod embedder;
mod error;
mod fields;
mod generator;
mod jobs;
mod metrics;
mod options;
mod page;
mod ranking;
mod routes;
mod sampling;
mod server;
mod state;
mod texts;
mod tokens;
mod vectors;

pub use access::Keys;
pub use options::ServerOptions;
pub use server::{Restored, Server, Stop};
