//! Attention of a run's tokens: stores their keys and values, and reads those that each token sees.

use super::cache::{Cache, NewRows};
use super::pool::Pool;
use super::prefix_tree::PAGE;
use super::run::Run;
use super::shape::Window;
use crate::{Error, Result};
use tensorlib::{f16, Context, FlashAttnExtOptions, PagedAttentionOptions, Tensor};

/// Where keys and values lie, and which of them each token sees.
pub enum Keys<'a> {
    /// In a session's cache: the tokens follow those that it has. Their positions are their rows.
    Cached {
        cache: &'a Cache,
        /// How many keys attention reads.
        keys: i64,
        /// Which keys each token sees: [keys, tokens].
        mask: Tensor,
        /// The mask of layers with a window.
        window_mask: Option<Tensor>,
    },
    /// In the run itself: sequences of one length follow each other, each from its first token on.
    Own {
        /// Which keys each token sees: [keys, tokens].
        mask: Tensor,
        /// The mask of layers with a window.
        window_mask: Option<Tensor>,
    },
    /// In pages of a pool, of several sequences.
    Paged {
        pool: &'a Pool,
        /// The tokens' rows in the pool.
        rows: Tensor,
        pages: Pages,
        /// The pages of the tokens' chunks, if the model has such layers.
        chunks: Option<Pages>,
    },
}

/// The pages that tokens see.
pub struct Pages {
    /// The pages of each sequence, or of each chunk of one, [most, sequences].
    pub pages: Tensor,
    /// The position of each token in its pages.
    pub positions: Tensor,
    /// The number of each token's sequence, or chunk.
    pub sequences: Tensor,
}

impl<'a> Keys<'a> {
    /// Those of `n` tokens that follow the cache's. `window`: that of layers with a window.
    pub fn of_cache(ctx: &Context, cache: &'a Cache, n: i64, window: Option<&Window>) -> Result<Self> {
        let (first, keys) = (cache.used(), cache.keys_with(n));
        Ok(Keys::Cached {
            cache,
            keys,
            mask: mask(ctx, first, n, keys, None)?,
            window_mask: window.map(|window| mask(ctx, first, n, keys, Some(window))).transpose()?,
        })
    }

    /// Those of `count` sequences of `n` tokens each. `window`: that of layers with a window.
    pub fn of_sequences(ctx: &Context, n: i64, count: i64, window: Option<&Window>) -> Result<Keys<'static>> {
        let mask = |window: Option<&Window>| -> Result<Tensor> {
            let sees = |token: i64, key: i64| {
                let is_before = token / n == key / n && key <= token;
                is_before && window.is_none_or(|window| window.sees(token % n, key % n))
            };
            let of =
                |token| (0..n * count).map(move |key| if sees(token, key) { f16::ZERO } else { f16::NEG_INFINITY });
            let mask: Vec<f16> = (0..n * count).flat_map(of).collect();
            Ok(ctx.tensor_of([n * count, n * count], &mask)?)
        };
        Ok(Keys::Own { mask: mask(None)?, window_mask: window.map(|window| mask(Some(window))).transpose()? })
    }

    /// Stores a layer's new keys and values. Returns all of them as [`Keys::attend`] takes them.
    pub fn store(&self, run: &Run, layer: usize, new: &NewRows) -> Result<(Tensor, Tensor)> {
        match self {
            Keys::Cached { cache, keys, .. } => cache.put(layer, new, &run.positions, *keys),
            Keys::Own { .. } => {
                let NewRows::Apart(keys, values) = new else {
                    return Err(Error::internal("latent keys of a run without a cache"));
                };
                let heads = run.shape.own_keys_of(layer);
                let by_head = |rows: &Tensor, head: i64| -> Result<Tensor> {
                    Ok(rows.reshape([head, heads.count, run.tokens])?.permute([0, 2, 1, 3])?)
                };
                Ok((by_head(keys, heads.key)?, by_head(values, heads.value)?))
            }
            Keys::Paged { pool, rows, .. } => pool.put(layer, new, rows),
        }
    }

    /// The attention of queries, [head, tokens, heads], to the keys and values that [`Keys::store`] returned. The result is
    /// [value head, heads, tokens].
    pub fn attend(
        &self,
        run: &Run,
        windowed: bool,
        q: &Tensor,
        (k, v): &(Tensor, Tensor),
        sinks: Option<&Tensor>,
    ) -> Result<Tensor> {
        let shape = run.shape;
        match self {
            Keys::Cached { mask, window_mask, .. } | Keys::Own { mask, window_mask } => {
                let mask = window_mask.as_ref().filter(|_| windowed).unwrap_or(mask);
                let options = FlashAttnExtOptions::new();
                let options = options.scale(shape.attention_scale).logit_softcap(shape.attention_softcap);
                Ok(q.flash_attn_ext(k, v, Some(mask), sinks, options)?)
            }
            Keys::Paged { pages, chunks, .. } => {
                let window = shape.window.as_ref().filter(|window| windowed && !window.is_chunk);
                let window = window.map_or(0, |window| window.keys);
                let Pages { pages, positions, sequences } = chunks.as_ref().filter(|_| windowed).unwrap_or(pages);
                let options = PagedAttentionOptions::new().page(PAGE as i64).window(window);
                let options = options.scale(shape.attention_scale).logit_softcap(shape.attention_softcap);
                Ok(q.paged_attention(k, v, pages, positions, sequences, sinks, options)?)
            }
        }
    }
}

/// 0 where a token sees a key, -infinity elsewhere: a token sees the keys of the window up to its own.
fn mask(ctx: &Context, first: i64, tokens: i64, keys: i64, window: Option<&Window>) -> Result<Tensor> {
    let sees =
        |token: i64, key: i64| key <= first + token && window.is_none_or(|window| window.sees(first + token, key));
    let of = |token| (0..keys).map(move |key| if sees(token, key) { f16::ZERO } else { f16::NEG_INFINITY });
    let mask: Vec<f16> = (0..tokens).flat_map(of).collect();
    Ok(ctx.tensor_of([keys, tokens], &mask)?)
}
