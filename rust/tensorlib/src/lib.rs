//! Tensors, computation graphs and fast kernels.
//!
//! Shapes are written with the contiguous dimension first: `[2, 4]` is 4 rows of 2 elements. Conversions from and to
//! `ndarray` keep the memory as it is and therefore reverse the shape.
//!
//! ```
//! use tensorlib::{Backend, Context};
//!
//! fn main() -> tensorlib::Result<()> {
//!     let cpu = Backend::cpu()?; // all cores
//!     let ctx = Context::new();
//!     let a = ctx.tensor([2, 4], &[2., 8., 5., 1., 4., 2., 8., 6.])?;
//!     let b = ctx.tensor([2, 3], &[10., 5., 9., 9., 5., 4.])?;
//!     let c = a.mul_mat(&b)?; // [4, 3]; nothing is computed yet
//!     cpu.compute(&[&c])?; // builds a graph and runs it
//!     println!("{c}");
//!     assert_eq!(c.to_vec::<f32>()?[..4], [60., 55., 50., 110.]);
//!     Ok(())
//! }
//! ```
//!
//! To run a graph many times, build a [`Graph`] once, then write its leafs and compute it. A model is a struct that
//! owns its [`Context`] and its [`Tensor`]s: all handles are `Send + Sync`, cheap to clone and without lifetimes.
//!
//! # The contract
//! Why this crate's `unsafe` code is sound, and what the engine guarantees for it:
//! - A [`Tensor`] holds its [`Context`], so its pointer is valid: the engine frees a context's memory with the last
//!   handle. [`Context::reset`] takes `&mut self` and fails while any tensor handle exists.
//! - Every C function may be called from any thread. Shapes, types and strides never change.
//! - Data is copied, or seen through a [`ReadGuard`], a [`WriteGuard`] or a closure while the engine holds the
//!   context's run lock. Each context has its own lock, shared for reading and exclusive for writing and computing.
//!   Calls wait for it as long as [`Context::set_busy_timeout`] says, by default not at all: overlap is
//!   [`Error::Busy`], never a race.
//! - Guards borrow their tensor; a slice cannot leave its closure or outlive its guard.
//! - [`Element`] is sealed: every implementation has the size and alignment of its storage type. Every bit pattern is
//!   valid, except for `bool`: the engine reads BOOL as 0 and 1, and a guard checks the bytes.
//! - A callback's panic is caught before it could cross C, stops the run, and continues after the C call has returned.
//!
//! # Features
//! - `half` (default): [`f16`](struct@f16) and [`bf16`] as elements.
//! - `ndarray`: conversions from and to ndarray's arrays.
//! - `dlpack`: tensors shared with other libraries, without copies.
//! - `safetensors` (default): reads and writes safetensors files, in a module of that name, and checkpoints of
//!   [`train`].
//! - `progress` (default): a progress bar for [`train`].
//! - `cuda`: NVIDIA GPUs as devices `"cuda:0"`, ... ([`devices`] lists them). Building takes nvcc of CUDA 12.8 or
//!   later. Programs also start on machines without a driver, where [`Backend::new`] says why there is no GPU.
//! - `system`: links an installed libtensorlib, found by pkg-config, instead of building the bundled sources. That
//!   library decides whether there are GPUs, with and without `cuda`.
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc, missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod building;
mod call;
mod context;
mod custom;
mod dims;
mod display;
#[cfg(feature = "dlpack")]
mod dlpack;
mod dtype;
mod element;
mod error;
mod gen {
    //! Written by `cargo xtask ops`.
    pub mod op_functions;
}
mod gguf;
mod gguf_value;
mod gguf_writer;
mod gradients;
mod graph;
mod group;
mod guard;
mod index;
mod lists;
#[cfg(feature = "ndarray")]
mod ndarray;
pub mod nn;
mod operators;
mod ops;
mod quantize;
#[cfg(feature = "safetensors")]
pub mod safetensors;
mod scope;
mod tensor;
pub mod train;

pub use backend::{devices, isas, Backend, BackendOptions, DeviceInfo};
pub use context::{Context, ContextOptions};
pub use custom::{CustomGradient, CustomOp, CustomOpBuilder, CustomSlice, Operand};
pub use dims::Dims;
#[cfg(feature = "dlpack")]
pub use dlpack::DlpackTensor;
pub use dtype::{DType, Kind};
pub use element::Element;
pub use error::{Error, Failure, Result};
pub use gguf::{Gguf, TensorInfo};
pub use gguf_value::{Array, Value};
pub use gguf_writer::{GgufWriter, GgufWriterOptions};
pub use graph::Graph;
pub use group::{shard_range, Group, GroupOptions};
pub use guard::{ReadGuard, WriteGuard};
pub use index::{Index, Indices};
pub use ops::{op_names, Attr};
pub use tensor::Tensor;

pub use gen::op_functions::*;

#[cfg(feature = "half")]
pub use half::{bf16, f16};
