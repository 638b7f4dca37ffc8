//! Biases of attention's logits by the distance between a query and a key, which is cut into buckets (Raffel and others,
//! Exploring the Limits of Transfer Learning, 2020).

use crate::weights::Weights;
use crate::Result;
use tensorlib::{Context, DType, Tensor};

/// All distances from here on are in the last bucket of their direction.
const FARTHEST: u64 = 128;

/// A number for each bucket and head.
pub struct Biases {
    /// Head by head.
    values: Vec<Vec<f32>>,
}

impl Biases {
    /// The matrix `attn_rel_b.weight`, [heads, buckets].
    pub fn load(weights: &Weights, heads: i64, buckets: i64) -> Result<Self> {
        let rows = weights.get("attn_rel_b.weight", &[heads, buckets])?.to_f32_vec()?;
        let (heads, mut values) = (usize::try_from(heads).unwrap_or(1), Vec::new());
        for head in 0..heads {
            values.push(rows.iter().skip(head).step_by(heads).copied().collect());
        }
        Ok(Biases { values })
    }

    /// A mask [keys, tokens, heads] for lines of up to so many tokens: shorter ones take the first keys and rows of it.
    pub fn mask(&self, ctx: &Context, tokens: usize) -> Result<Tensor> {
        let mask = ctx.zeros(DType::F32, [tokens as i64, tokens as i64, self.values.len() as i64])?;
        let mut plane: Vec<f32> = Vec::with_capacity(tokens * tokens);
        for (head, of_bucket) in self.values.iter().enumerate() {
            let of_distance = |key: usize| of_bucket[bucket(key as i64 - (tokens as i64 - 1), of_bucket.len())];
            // A query's row is that of the query before it, moved on by one key.
            let all: Vec<f32> = (0..2 * tokens - 1).map(of_distance).collect();
            plane.clear();
            (0..tokens).for_each(|query| plane.extend(&all[tokens - 1 - query..][..tokens]));
            let bytes: Vec<u8> = plane.iter().flat_map(|x| x.to_ne_bytes()).collect();
            mask.write_bytes(head * bytes.len(), &bytes)?;
        }
        Ok(mask)
    }
}

/// The bucket of a key that is so far behind the query. Half of them are for keys behind it, the others for those before.
/// The first half of a direction's have one distance each; borders of the others grow by a constant factor.
fn bucket(distance: i64, buckets: usize) -> usize {
    let half = buckets / 2;
    let (first, exact) = (if distance > 0 { half } else { 0 }, half / 2);
    let distance = distance.unsigned_abs();
    if distance < exact as u64 {
        return first + distance as usize;
    }
    // A distance d is behind border j of n where (d / exact)^n >= (FARTHEST / exact)^j. Whole numbers decide without
    // rounding that of 64, which lies on a border.
    let (steps, exact_of, distance) = ((half - exact) as u32, exact as u64, distance.min(FARTHEST));
    let behind = |j: &u32| distance.pow(steps) >= exact_of.pow(steps - j) * FARTHEST.pow(*j);
    first + exact + (1..steps).take_while(behind).count()
}
