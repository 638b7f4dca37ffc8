//! Layers of neural networks, their parameters, losses and metrics.
//!
//! A layer is a struct that holds its parameters' tensors and appends nodes: no tape, no hidden state. [`Parameters`]
//! makes parameters, names them and initialises them from a seed. A composite of layers is any struct that implements
//! [`Module`], or a [`Sequential`].
//!
//! ```
//! use tensorlib::nn::{Linear, Module, Parameters, Pass, Sequential};
//! use tensorlib::{Backend, Context, Tensor};
//!
//! let parameters = Parameters::new(1); // the seed
//! let model = Sequential::new()
//!     .with(Linear::new(&parameters.scope("hidden"), 4, 16)?)
//!     .with(Tensor::relu)
//!     .with(Linear::new(&parameters.scope("output"), 16, 3)?);
//!
//! let ctx = Context::new();
//! let x = ctx.tensor([4, 2], &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])?; // 2 samples of 4 numbers
//! let y = model.forward(&x, &Pass::evaluation())?; // [3, 2]
//! Backend::cpu()?.compute(&[&y])?;
//! assert_eq!(y.shape(), [3, 2]);
//! assert_eq!(parameters.names(), ["hidden.weight", "hidden.bias", "output.weight", "output.bias"]);
//! # Ok::<(), tensorlib::Error>(())
//! ```
//!
//! Samples lie along the last dimension: rows of features `[features, n]`, sequences `[width, tokens, n]`, images
//! `[w, h, channels, n]`. Nodes go into x's context, which is younger than the parameters'.

mod attention;
mod batch_norm;
mod convolution;
mod dropout;
mod embedding;
mod init;
mod linear;
pub mod loss;
pub mod mask;
pub mod metrics;
mod module;
mod multi_head;
mod norm;
mod parameters;
mod pooling;
mod recurrent;
mod transformer;
mod transposed;

pub use attention::{Attention, AttentionOptions};
pub use batch_norm::BatchNorm;
pub use convolution::{flatten, max_pool, mean_pool, Conv1d, Conv2d};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use init::Init;
pub use linear::{Linear, LowRank};
pub use module::{Module, Pass, Residual, Sequential};
pub use multi_head::MultiHeadAttention;
pub use norm::{GroupNorm, LayerNorm, RmsNorm};
pub use parameters::Parameters;
pub use pooling::{MaxPool1d, MaxPool2d, Upsample};
pub use recurrent::{Gru, Lstm, LstmState, RecurrentOptions, RecurrentWeights};
pub use transformer::{FeedForward, TransformerDecoderLayer, TransformerEncoderLayer, TransformerOptions};
pub use transposed::{ConvTranspose1d, ConvTranspose2d};

use crate::Error;
use tensorlib_sys as sys;

/// An argument out of its range; the message begins with the name of the function that was called.
pub(crate) fn invalid(message: String) -> Error {
    Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, Vec::new())
}
