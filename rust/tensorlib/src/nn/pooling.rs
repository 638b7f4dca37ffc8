//! Pooling and upsampling layers.

use super::{invalid, Module, Pass};
use crate::{Pool1dOptions, Pool2dOptions, PoolOp, Result, Tensor, UpscaleMode, UpscaleOptions};

/// The maximum of each k x k window of images `[w, h, channels, n]`.
///
/// ```
/// use tensorlib::nn::{MaxPool2d, Module, Pass};
/// use tensorlib::{Context, DType};
/// let x = Context::new().zeros(DType::F32, [8, 6, 3, 2])?;
/// assert_eq!(MaxPool2d::new(2).forward(&x, &Pass::evaluation())?.shape(), [4, 3, 3, 2]);
/// assert_eq!(MaxPool2d::new(3).stride(2).padding(1).forward(&x, &Pass::evaluation())?.shape(), [4, 3, 3, 2]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MaxPool2d {
    k: i64,
    padding: i64,
    options: Pool2dOptions,
}

impl MaxPool2d {
    /// Windows of k x k elements, side by side.
    pub fn new(k: i64) -> Self {
        Self { k, padding: 0, options: Pool2dOptions::new() }
    }

    /// The distance between windows, in both dimensions; k by default.
    #[must_use]
    pub fn stride(mut self, stride: i64) -> Self {
        self.options = self.options.s0(stride).s1(stride);
        self
    }

    /// How far windows reach beyond each edge, less than k. What lies there is never the maximum.
    #[must_use]
    pub fn padding(mut self, padding: i64) -> Self {
        self.padding = padding;
        self.options = self.options.p0(padding).p1(padding);
        self
    }
}

impl Module for MaxPool2d {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        check_padding("MaxPool2d", self.k, self.padding)?;
        x.pool_2d(PoolOp::Max, self.k, self.k, self.options)
    }
}

/// The maximum of each window of k elements of signals `[length, channels, n]`.
///
/// ```
/// use tensorlib::nn::{MaxPool1d, Module, Pass};
/// use tensorlib::{Context, DType};
/// let x = Context::new().zeros(DType::F32, [9, 3, 2])?;
/// assert_eq!(MaxPool1d::new(3).forward(&x, &Pass::evaluation())?.shape(), [3, 3, 2]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MaxPool1d {
    k: i64,
    padding: i64,
    options: Pool1dOptions,
}

impl MaxPool1d {
    /// Windows of k elements, side by side.
    pub fn new(k: i64) -> Self {
        Self { k, padding: 0, options: Pool1dOptions::new() }
    }

    /// The distance between windows; k by default.
    #[must_use]
    pub fn stride(mut self, stride: i64) -> Self {
        self.options = self.options.s(stride);
        self
    }

    /// How far windows reach beyond both ends, less than k. What lies there is never the maximum.
    #[must_use]
    pub fn padding(mut self, padding: i64) -> Self {
        self.padding = padding;
        self.options = self.options.p(padding);
        self
    }
}

impl Module for MaxPool1d {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        check_padding("MaxPool1d", self.k, self.padding)?;
        x.pool_1d(PoolOp::Max, self.k, self.options)
    }
}

/// A window in the padding alone would have no maximum.
fn check_padding(layer: &str, k: i64, padding: i64) -> Result<()> {
    match k > 0 && padding >= k {
        true => Err(invalid(format!("{layer}: k = {k}, padding = {padding}: less padding than k is valid"))),
        false => Ok(()),
    }
}

/// Enlarges images `[w, h, channels, n]` by a whole factor in width and height.
///
/// ```
/// use tensorlib::nn::{Module, Pass, Upsample};
/// use tensorlib::{Context, DType};
/// let x = Context::new().zeros(DType::F32, [5, 4, 3, 2])?;
/// assert_eq!(Upsample::bilinear(2).forward(&x, &Pass::evaluation())?.shape(), [10, 8, 3, 2]);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Upsample {
    options: UpscaleOptions,
}

impl Upsample {
    /// Repeats each pixel.
    pub fn nearest(factor: i64) -> Self {
        Self { options: UpscaleOptions::new().factor(factor).mode(UpscaleMode::Nearest) }
    }

    /// Interpolates between the four nearest pixels. Corners of images stay where they are, not the centres of the
    /// pixels in the corners: PyTorch calls this `align_corners=False`.
    pub fn bilinear(factor: i64) -> Self {
        Self { options: UpscaleOptions::new().factor(factor).mode(UpscaleMode::Bilinear) }
    }
}

impl Module for Upsample {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        x.upscale(self.options)
    }
}
