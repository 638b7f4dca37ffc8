//! Several streams between layers, of which each layer computes one and predicts the others (Baykal and others,
//! Alternating Updates for Efficient Transformers, 2023), and a product of low rank next to attention (Gemma 3n).

use super::layer::scaled;
use super::run::Run;
use super::shape::{AltUp, Shape};
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Linear, Module, RmsNorm};
use tensorlib::{DType, ScaleOptions, Tensor};

/// The least mean square by whose root projected streams are divided.
const LEAST: f64 = 1e-5;

/// What makes streams from embeddings, and one vector from streams.
pub struct Streams {
    count: i64,
    /// Matrices of all streams but the first, [width, width, streams - 1].
    apart: Tensor,
    together: Tensor,
    exact: bool,
}

impl Streams {
    /// Loads `altup_proj` and `altup_unembd_proj`; `None` for a model with one stream.
    pub fn load(weights: &Weights, shape: &Shape) -> Result<Option<Self>> {
        let Some(altup) = &shape.altup else { return Ok(None) };
        let extents = [shape.width, shape.width, altup.streams - 1];
        let apart = weights.get("altup_proj.weight", &extents)?;
        let together = weights.get("altup_unembd_proj.weight", &extents)?;
        let exact = weights.is_exact(&apart) || weights.is_exact(&together);
        Ok(Some(Streams { count: altup.streams, apart, together, exact }))
    }

    /// The streams of embeddings x, [width, tokens].
    pub fn divide(&self, x: &Tensor) -> Result<Vec<Tensor>> {
        let others = vec![x.clone(); usize::try_from(self.count - 1).unwrap_or(0)];
        let others = self.projected(&self.apart, &others, x)?;
        Ok(std::iter::once(x.clone()).chain(others).collect())
    }

    /// The mean of the first stream and the others' projections.
    pub fn merge(&self, streams: &[Tensor]) -> Result<Tensor> {
        let mut sum = streams[0].clone();
        for other in self.projected(&self.together, &streams[1..], &streams[0])? {
            sum = (&sum + &other)?;
        }
        scaled(sum, 1.0 / self.count as f64)
    }

    /// The products of streams with their matrices, each as long as `like`.
    fn projected(&self, matrices: &Tensor, streams: &[Tensor], like: &Tensor) -> Result<Vec<Tensor>> {
        let (width, n) = (like.shape()[0], like.shape()[1]);
        let wanted = mean_square(like)?.sqrt()?;
        let project = |(i, stream): (usize, &Tensor)| -> Result<Tensor> {
            let matrix = matrices.narrow(2, i as i64, 1)?.reshape([width, width])?;
            let made = if self.exact { matrix.mul_mat_exact(stream)? } else { matrix.mul_mat(stream)? };
            let length = mean_square(&made)?.clamp(LEAST, f64::from(f32::MAX))?.sqrt()?;
            Ok((&made * &(&wanted / &length)?)?.reshape([width, n])?)
        };
        streams.iter().enumerate().map(project).collect()
    }
}

/// The mean square of each row, [1, rows].
fn mean_square(x: &Tensor) -> Result<Tensor> {
    scaled(x.sqr()?.sum_rows()?, 1.0 / x.shape()[0] as f64)
}

/// How a layer predicts streams, corrects them by what it has computed, and the product next to attention.
pub struct AltUpLayer {
    altup: AltUp,
    width: i64,
    router: Linear,
    router_norm: RmsNorm,
    predict: Linear,
    correct: Linear,
    /// The factors of the corrected stream from which the layer's vector is added to the others: [width].
    scale: Option<Tensor>,
    left: Linear,
    right: Linear,
    norm: RmsNorm,
}

impl AltUpLayer {
    /// Loads the tensors of layer `number`; `None` for a model with one stream.
    pub fn load(weights: &Weights, shape: &Shape, number: usize) -> Result<Option<Self>> {
        let Some(altup) = &shape.altup else { return Ok(None) };
        let name = |part: &str| format!("blk.{number}.{part}");
        let (width, n) = (shape.width, altup.streams);
        // Products whose results are factors of whole streams.
        let linear =
            |part: &str, inputs, outputs| Ok::<_, Error>(weights.linear(&name(part), inputs, outputs)?.exact(true));
        let scale = weights.get(&name("altup_correct_scale.weight"), &[width])?;
        // GGUF files say the rank by the shape of a tensor.
        let stored = || weights.shape_of(&name("laurel_l.weight")).and_then(|shape| shape.get(1).copied());
        let rank = altup.rank.or_else(stored).unwrap_or(1);
        Ok(Some(AltUpLayer {
            altup: altup.clone(),
            width,
            router: linear("altup_router", width, n)?,
            router_norm: weights.rms_norm(&name("altup_router_norm"), width, shape.eps)?,
            predict: linear("altup_predict_coef", n, n * n)?,
            correct: linear("altup_correct_coef", n, n)?,
            scale: altup.scaled.then_some(scale),
            left: weights.linear(&name("laurel_l"), width, rank)?,
            right: weights.linear(&name("laurel_r"), rank, width)?,
            norm: weights.rms_norm(&name("laurel_post_norm"), width, shape.eps)?,
        }))
    }

    /// The number of the stream that layers compute.
    pub fn active(&self) -> usize {
        usize::try_from(self.altup.active).unwrap_or(0)
    }

    /// Numbers from -1 to 1, one for each stream.
    fn route(&self, run: &Run, x: &Tensor) -> Result<Tensor> {
        let normed = scaled(self.router_norm.forward(x, &run.pass)?, 1.0 / self.width as f64)?;
        Ok(self.router.forward(&normed, &run.pass)?.tanh()?)
    }

    /// What the streams after the layer are expected to be.
    pub fn predict(&self, run: &Run, streams: &[Tensor]) -> Result<Vec<Tensor>> {
        let factors = self.predict.forward(&self.route(run, &streams[self.active()])?, &run.pass)?;
        let predicted = |j: usize| -> Result<Tensor> {
            let mut sum = streams[j].clone();
            for (i, stream) in streams.iter().enumerate() {
                let factor = factors.narrow(0, (j * streams.len() + i) as i64, 1)?;
                sum = (&sum + &(stream * &factor)?)?;
            }
            Ok(sum)
        };
        (0..streams.len()).map(predicted).collect()
    }

    /// The predicted streams, corrected by the one that was computed.
    pub fn correct(&self, run: &Run, predicted: &[Tensor], computed: &Tensor) -> Result<Vec<Tensor>> {
        let factors = self.correct.forward(&self.route(run, computed)?, &run.pass)?;
        let factors = factors.scale(1.0, ScaleOptions::new().bias(1.0))?;
        let new = (computed - &predicted[self.active()])?;
        let corrected = |(j, stream): (usize, &Tensor)| -> Result<Tensor> {
            Ok((stream + &(&new * &factors.narrow(0, j as i64, 1)?)?)?)
        };
        predicted.iter().enumerate().map(corrected).collect()
    }

    /// The computed stream times its factors.
    pub fn scaled(&self, x: &Tensor) -> Result<Tensor> {
        match &self.scale {
            Some(scale) => Ok((x * &scale.cast(DType::F32)?)?),
            None => Ok(x.clone()),
        }
    }

    /// The sum of x and what attention has added to it, and of the low-rank product of `normed`.
    pub fn joined(&self, run: &Run, normed: &Tensor, sum: &Tensor) -> Result<Tensor> {
        let inner = self.right.forward(&self.left.forward(normed, &run.pass)?, &run.pass)?;
        let product = (normed + &self.norm.forward(&inner, &run.pass)?)?;
        scaled((sum + &product)?, 0.5f64.sqrt())
    }
}
