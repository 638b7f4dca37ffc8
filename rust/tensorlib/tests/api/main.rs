//! The crate's functions: values, shapes, errors, lifetimes and threads.
//!
//! One program, because each program is linked with the engine once more.

mod custom;
mod debug;
mod dims;
#[cfg(feature = "dlpack")]
mod dlpack;
mod gguf;
mod group;
mod layers;
mod loader;
mod nn;
mod operators;
mod optimisers;
#[cfg(feature = "safetensors")]
mod parameters;
#[cfg(feature = "safetensors")]
mod pytorch_layers;
#[cfg(all(feature = "half", feature = "safetensors"))]
mod safetensors;
mod safety;
mod scope;
mod shapes;
#[cfg(feature = "safetensors")]
mod training;
#[cfg(feature = "safetensors")]
mod training_ranks;
#[cfg(feature = "half")]
mod vectors;
