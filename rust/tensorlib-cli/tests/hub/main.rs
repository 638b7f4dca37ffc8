//! Models by their names on a hub. A program of its own, because it runs with and without the feature `hub`.

mod cache;
mod cached;
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "hub")]
mod downloads;
#[cfg(feature = "hub")]
mod server;
#[path = "../../../tensorlib-models/tests/common/mod.rs"]
mod tiny_models;
