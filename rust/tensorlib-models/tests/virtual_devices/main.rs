//! Models on two virtual CPUs. A program of its own, because a process counts its devices once.

#[path = "../common/mod.rs"]
mod common;
mod neurons;
mod placement;
