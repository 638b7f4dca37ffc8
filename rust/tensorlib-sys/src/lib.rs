//! Raw declarations of tensorlib's C ABI, and the build of the native library.
//!
//! The crate declares the ABI once: `cargo xtask header` generates the C header `tensorlib/tensorlib.h` from it, and
//! the C++ implementation includes that header, so the three cannot disagree. The documentation below is therefore
//! written for C readers too. The safe API is the crate `tensorlib`.
//!
//! Each file is a chapter of the header, in the order below. The `//!` text at the start of a file is its chapter's
//! introduction. `cargo xtask ops` writes `gen/op_functions.rs`.
//!
//! Features: `system` links an installed library instead of building the bundled sources; `cuda` adds the CUDA backend
//! to the bundled build, which then needs nvcc of CUDA 12.8 or later. The declarations are the same.
#![no_std]
#![allow(non_camel_case_types)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("tensorlib supports 64-bit targets");

mod status;
pub use status::*;
mod types;
pub use types::*;
mod backend;
pub use backend::*;
mod quantize;
pub use quantize::*;
mod context;
pub use context::*;
mod tensor;
pub use tensor::*;
mod dlpack;
pub use dlpack::*;
mod group;
pub use group::*;
mod ops;
pub use ops::*;
mod gen {
    pub mod op_functions;
}
pub use gen::op_functions::*;
mod custom;
pub use custom::*;
mod gradients;
pub use gradients::*;
mod graph;
pub use graph::*;
mod gguf;
pub use gguf::*;
mod gguf_writer;
pub use gguf_writer::*;
