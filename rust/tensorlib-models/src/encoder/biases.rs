//! Biases of attention's logits by the distance between query and key, which is divided into buckets (Raffel and
//! others, Exploring the Limits of Transfer Learning, 2020).

use crate::weights::Weights;
use crate::Result;
use tensorlib::{Context, DType, Tensor};

/// This distance and all larger ones are in the last bucket of their direction.
const FARTHEST: u64 = 128;

/// A bias for each bucket and head.
pub struct Biases {
    /// The biases of each bucket, head by head.
    values: Vec<Vec<f32>>,
}

impl Biases {
    /// Loads the matrix `attn_rel_b.weight`, [heads, buckets].
    pub fn load(weights: &Weights, heads: i64, buckets: i64) -> Result<Self> {
        let rows = weights.get("attn_rel_b.weight", &[heads, buckets])?.to_f32_vec()?;
        let (heads, mut values) = (usize::try_from(heads).unwrap_or(1), Vec::new());
        for head in 0..heads {
            values.push(rows.iter().skip(head).step_by(heads).copied().collect());
        }
        Ok(Biases { values })
    }

    /// A mask [keys, tokens, heads] for lines of up to `tokens` tokens; shorter lines use its first keys and rows.
    pub fn mask(&self, ctx: &Context, tokens: usize) -> Result<Tensor> {
        let mask = ctx.zeros(DType::F32, [tokens as i64, tokens as i64, self.values.len() as i64])?;
        let mut plane: Vec<f32> = Vec::with_capacity(tokens * tokens);
        for (head, of_bucket) in self.values.iter().enumerate() {
            let of_distance = |key: usize| of_bucket[bucket(key as i64 - (tokens as i64 - 1), of_bucket.len())];
            // Each query's row is the row of the query before it, shifted by one key.
            let all: Vec<f32> = (0..2 * tokens - 1).map(of_distance).collect();
            plane.clear();
            (0..tokens).for_each(|query| plane.extend(&all[tokens - 1 - query..][..tokens]));
            let bytes: Vec<u8> = plane.iter().flat_map(|x| x.to_ne_bytes()).collect();
            mask.write_bytes(head * bytes.len(), &bytes)?;
        }
        Ok(mask)
    }
}

/// A mask [keys, tokens] that hides later tokens, for lines of up to `tokens` tokens.
pub fn causal_mask(ctx: &Context, tokens: usize) -> Result<Tensor> {
    let value = |query: usize, key: usize| if key > query { f32::NEG_INFINITY } else { 0.0 };
    let values: Vec<f32> = (0..tokens).flat_map(|query| (0..tokens).map(move |key| value(query, key))).collect();
    Ok(ctx.tensor([tokens as i64, tokens as i64], &values)?)
}

/// The bucket of a key that is `distance` tokens after the query, or before it if negative. Half of the buckets are for
/// each direction. The first half of a direction's buckets hold one distance each; the borders of the others grow by a
/// constant factor.
fn bucket(distance: i64, buckets: usize) -> usize {
    let half = buckets / 2;
    let (first, exact) = (if distance > 0 { half } else { 0 }, half / 2);
    let distance = distance.unsigned_abs();
    if distance < exact as u64 {
        return first + distance as usize;
    }
    // A distance d is past border j of n if (d / exact)^n >= (FARTHEST / exact)^j. Integers decide this without
    // rounding errors for 64, which lies on a border.
    let (steps, exact_of, distance) = ((half - exact) as u32, exact as u64, distance.min(FARTHEST));
    let behind = |j: &u32| distance.pow(steps) >= exact_of.pow(steps - j) * FARTHEST.pow(*j);
    first + exact + (1..steps).take_while(behind).count()
}
