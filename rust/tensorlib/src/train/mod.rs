//! Training: samples, optimisers, schedules, and the loop around them.
//!
//! A network for handwritten digits; the images are in the repository's `examples/data`:
//!
//! ```no_run
//! use tensorlib::nn::{loss, Linear, Parameters, Sequential};
//! use tensorlib::train::{evaluate, DataSet, OptimiserOptions, Trainer};
//! use tensorlib::{Backend, Tensor};
//!
//! let (train, test) = DataSet::read_labelled("examples/data/digits.csv")?.split_at(1000)?;
//! let parameters = Parameters::new(1);
//! let model = Sequential::new()
//!     .with(Linear::new(&parameters.scope("hidden"), 64, 128)?)
//!     .with(Tensor::relu)
//!     .with(Linear::new(&parameters.scope("output"), 128, 10)?);
//! let cpu = Backend::cpu()?;
//! let optimiser = OptimiserOptions::adamw(1e-3).build(&parameters)?;
//! let history = Trainer::new(&cpu, &model, optimiser, loss::cross_entropy).epochs(40).test(&test).fit(&train)?;
//! history.write_svg("digits.svg")?;
//! let scores = evaluate(&cpu, &model, loss::cross_entropy, &test, 256)?;
//! println!("{:.2} % of the test's digits are right", 100. * scores.accuracy.unwrap_or(0.));
//! # Ok::<(), tensorlib::Error>(())
//! ```
//!
//! A training loop of your own uses an [`Optimiser`], whose steps are nodes of the loss's graph. [`schedule`],
//! [`Random`] and [`Lbfgs`] run on the host alone.
//!
//! Everything is a function of seeds: the same seed gives the same bits on any number of threads, and a run that was
//! interrupted and resumed from its checkpoint gives the same bits as one that was not.

mod accumulator;
mod batch;
mod buffer;
mod chart;
#[cfg(feature = "safetensors")]
mod checkpoint;
mod csv;
mod data;
mod evaluate;
mod history;
mod lbfgs;
mod loader;
mod method;
mod network;
mod optimiser;
#[cfg(feature = "progress")]
mod progress;
mod queue;
mod random;
mod ranks;
mod samples;
pub mod schedule;
mod standardiser;
mod state;
mod trainer;

pub use accumulator::Accumulator;
pub use chart::Chart;
pub use data::{Column, DataSet};
pub use evaluate::{evaluate, evaluate_fn, predict, predict_fn, Scores};
pub use history::{Epoch, History, Stopped};
pub use lbfgs::{Lbfgs, Minimum, Reason};
pub use loader::{Batch, Batches, DataLoader};
pub use method::Method;
pub use optimiser::{Group, Optimiser, OptimiserOptions};
pub use random::Random;
pub use samples::{Form, Forms, Samples, Slot};
pub use standardiser::Standardiser;
pub use trainer::{Report, Trainer};
