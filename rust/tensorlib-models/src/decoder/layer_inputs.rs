//! Vectors that each layer gets for each token, in addition to the result of the layer before it (Gemma 3n and 4).

use super::run::Run;
use super::shape::Shape;
use crate::weights::Weights;
use crate::{Error, Result};
use tensorlib::nn::{Embedding, Linear, Module, RmsNorm};
use tensorlib::{ScaleOptions, Tensor};

/// The table of the tokens' own parts, of which a token reads one row.
pub const PER_LAYER_TABLE: &str = "per_layer_token_embd.weight";

/// What makes the vectors of all layers: a table of tokens, and a product with the embeddings.
pub struct LayerInputs {
    table: Embedding,
    /// The number of its rows.
    tokens: i64,
    projection: Linear,
    norm: RmsNorm,
}

impl LayerInputs {
    /// Loads the tensors `per_layer_*`; `None` for a model whose layers get nothing else.
    pub fn load(weights: &Weights, shape: &Shape, vocabulary: i64) -> Result<Option<Self>> {
        let Some(width) = shape.layer_inputs else { return Ok(None) };
        let all = width * shape.layers;
        let tokens = weights.shape_of(PER_LAYER_TABLE).and_then(|shape| shape.get(1).copied()).unwrap_or(vocabulary);
        // In models with several streams, tokens without a row have the first one.
        if tokens < vocabulary && shape.altup.is_none() {
            let name = weights.called(PER_LAYER_TABLE);
            let message =
                format!("tensor '{name}' has {tokens} rows: one for each of the {vocabulary} tokens is expected");
            return Err(Error::unsupported(message));
        }
        Ok(Some(LayerInputs {
            tokens,
            table: weights.embedding("per_layer_token_embd", all, tokens)?,
            projection: weights.linear("per_layer_model_proj", shape.width, all)?,
            norm: weights.rms_norm("per_layer_proj_norm", width, shape.eps)?,
        }))
    }

    /// The vectors of these tokens, whose scaled embeddings are x: [elements, layers, tokens].
    pub fn forward(&self, run: &Run, tokens: &[u32], x: &Tensor) -> Result<Tensor> {
        let Shape { width, layers, layer_inputs, .. } = *run.shape;
        let elements = layer_inputs.unwrap_or(0);
        let by_layer = |all: &Tensor| all.reshape([elements, layers, run.tokens]);
        let row = |token: u32| if i64::from(token) < self.tokens { token as i32 } else { 0 };
        let ids: Vec<i32> = tokens.iter().map(|token| row(*token)).collect();
        let ids = run.positions.context().tensor_of([run.tokens], &ids)?;
        let own = by_layer(&self.table.forward(&ids, &run.pass)?)?;
        let own = own.scale((elements as f64).sqrt(), ScaleOptions::new())?;
        let projected =
            self.projection.forward(x, &run.pass)?.scale(1.0 / (width as f64).sqrt(), ScaleOptions::new())?;
        let projected = self.norm.forward(&by_layer(&projected)?, &run.pass)?;
        Ok((&projected + &own)?.scale(0.5f64.sqrt(), ScaleOptions::new())?)
    }
}

/// How a layer adds its vector to its result.
pub struct LayerInput {
    number: usize,
    gate: Linear,
    projection: Linear,
    norm: RmsNorm,
}

impl LayerInput {
    /// Loads the tensors of layer `number`; `None` for a model whose layers get nothing else.
    pub fn load(weights: &Weights, shape: &Shape, number: usize) -> Result<Option<Self>> {
        let Some(elements) = shape.layer_inputs else { return Ok(None) };
        let name = |part: &str| format!("blk.{number}.{part}");
        Ok(Some(LayerInput {
            number,
            gate: weights.linear(&name("inp_gate"), shape.width, elements)?,
            projection: weights.linear(&name("proj"), elements, shape.width)?,
            norm: weights.rms_norm(&name("post_norm"), shape.width, shape.eps)?,
        }))
    }

    /// x, [width, tokens], and what the layer's part of the vectors adds to it.
    pub fn forward(&self, run: &Run, x: &Tensor, all: &Tensor) -> Result<Tensor> {
        Ok((x + &self.added(run, x, all)?)?)
    }

    /// What the layer's part of the vectors adds by way of x, [width, tokens].
    pub fn added(&self, run: &Run, x: &Tensor, all: &Tensor) -> Result<Tensor> {
        let (strides, shape) = (all.strides(), all.shape());
        let own = all.view([shape[0], shape[2]], &[strides[2]], self.number * strides[1])?;
        let gate = self.gate.forward(x, &run.pass)?;
        let hidden = run.shape.activation.gated(&gate, &own)?;
        Ok(self.norm.forward(&self.projection.forward(&hidden, &run.pass)?, &run.pass)?)
    }
}
