//! The decoder: the logits of the token after each of some tokens.

use super::attention::Attention;
use super::cache::Cache;
use super::layer::{Feed, EPS};
use super::shape::{Half, Shape};
use crate::weights::Weights;
use crate::Result;
use tensorlib::nn::{Embedding, LayerNorm, Linear, Module, Pass};
use tensorlib::{f16, Context, Tensor};

struct Layer {
    norm: LayerNorm,
    attention: Attention,
    window_norm: LayerNorm,
    window: Attention,
    feed: Feed,
}

/// The decoder's weights.
pub struct Decoder {
    tokens: Embedding,
    positions: Embedding,
    layers: Vec<Layer>,
    norm: LayerNorm,
    /// The embeddings again, as the matrix of the logits.
    output: Linear,
}

impl Decoder {
    /// Loads the tensors `decoder.*`.
    pub fn load(weights: &Weights, shape: &Shape) -> Result<Self> {
        let half @ Half { width, .. } = shape.decoder;
        let layer = |i: i64| {
            let name = format!("decoder.layers.{i}");
            let norm = |part: &str| weights.layer_norm(&format!("{name}.{part}"), width, EPS);
            Ok(Layer {
                norm: norm("self_attn_layer_norm")?,
                attention: Attention::load(weights, &format!("{name}.self_attn"), half, width)?,
                window_norm: norm("encoder_attn_layer_norm")?,
                window: Attention::load(weights, &format!("{name}.encoder_attn"), half, shape.encoder.width)?,
                feed: Feed::load(weights, &name, half)?,
            })
        };
        let tokens = weights.embedding("decoder.embed_tokens", width, shape.vocabulary)?;
        // Some folders have the matrix of the logits too, which is the same.
        weights.leave("proj_out.weight");
        Ok(Decoder {
            positions: weights.embedding("decoder.embed_positions", width, shape.tokens)?,
            layers: (0..half.layers).map(layer).collect::<Result<_>>()?,
            norm: weights.layer_norm("decoder.layer_norm", width, EPS)?,
            output: weights.matrix(tokens.weight.clone()),
            tokens,
        })
    }

    /// Appends nodes that store each layer's keys and values of a window, which the encoder made.
    pub fn store_window(&self, encoded: &Tensor, cache: &Cache, pass: &Pass) -> Result<Vec<Tensor>> {
        let mut stored = Vec::new();
        for (i, layer) in self.layers.iter().enumerate() {
            let room = cache.window(i);
            stored.push(layer.window.keys(encoded, pass)?.cpy(&room.keys)?);
            stored.push(layer.window.values(encoded, pass)?.cpy(&room.values)?);
        }
        Ok(stored)
    }

    /// The logits after some tokens, [vocabulary, columns]. `ids`: as many tokens of each of the first `texts` texts,
    /// text by text. `columns`: the numbers of the tokens after which logits are computed.
    pub fn forward(
        &self,
        ctx: &Context,
        cache: &Cache,
        ids: &[u32],
        texts: usize,
        columns: &[usize],
    ) -> Result<Tensor> {
        let (pass, n) = (Pass::evaluation(), ids.len() / texts.max(1));
        let index = |i: usize| i32::try_from(i).unwrap_or(i32::MAX);
        let numbers = |values: &[i32]| ctx.tensor_of([values.len() as i64], values);
        let rows: Vec<i32> = (0..n).map(|i| index(cache.used() + i)).collect();
        let places: Vec<i32> = (0..texts).flat_map(|_| rows.iter().copied()).collect();
        let ids: Vec<i32> = ids.iter().map(|id| index(*id as usize)).collect();
        let (ids, places, rows) = (numbers(&ids)?, numbers(&places)?, numbers(&rows)?);
        let keys = cache.keys_with(n);
        let mask = mask(ctx, cache.used(), n, keys)?;
        let mut x = (&self.tokens.forward(&ids, &pass)? + &self.positions.forward(&places, &pass)?)?;
        let batch = texts as i64;
        for (i, layer) in self.layers.iter().enumerate() {
            let normed = layer.norm.forward(&x, &pass)?;
            let (k, v) = layer.attention.keys_and_values(&normed, batch, &pass)?;
            let (k, v) = cache.store(i, (&k, &v), &rows, keys)?;
            x = (&x + &layer.attention.attend(&normed, (&k, &v), Some(&mask), batch, &pass)?)?;
            // All texts attend to one window.
            let (normed, room) = (layer.window_norm.forward(&x, &pass)?, cache.window(i));
            x = (&x + &layer.window.attend(&normed, (&room.keys, &room.values), None, 1, &pass)?)?;
            x = layer.feed.forward(&x, &pass)?;
        }
        let columns: Vec<i32> = columns.iter().map(|i| index(*i)).collect();
        let x = self.norm.forward(&x.get_rows(&numbers(&columns)?)?, &pass)?;
        Ok(self.output.forward(&x, &pass)?)
    }
}

/// 0 where a token sees a key, -infinity elsewhere.
fn mask(ctx: &Context, first: usize, tokens: usize, keys: i64) -> Result<Tensor> {
    let of = |token: usize| {
        (0..keys).map(move |key| if key <= (first + token) as i64 { f16::ZERO } else { f16::NEG_INFINITY })
    };
    let mask: Vec<f16> = (0..tokens).flat_map(of).collect();
    Ok(ctx.tensor_of([keys, tokens as i64], &mask)?)
}
