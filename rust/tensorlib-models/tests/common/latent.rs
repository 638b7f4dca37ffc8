//! Attention whose keys and values follow from short vectors, in double precision and as it was published: the vectors
//! become keys and values of all heads.

use super::decoder::Spec;
use super::math::*;
use super::tiny::{Random, Tensors};
use tensorlib::DType;

/// The sizes of such layers.
#[derive(Clone, Copy, Debug)]
pub struct Latent {
    pub rank: usize,
    pub query_rank: Option<usize>,
    pub rotated: usize,
    pub plain: usize,
    pub value: usize,
}

/// The epsilon of the norms of short vectors.
const EPS: f64 = 1e-6;

impl Spec {
    /// The names and shapes of a layer's matrices.
    pub fn latent_matrices(&self, latent: Latent) -> Vec<(&'static str, [i64; 2])> {
        let Latent { rank, query_rank, rotated, plain, value } = latent;
        let (w, h, size) = (self.width as i64, self.heads as i64, |n: usize| n as i64);
        let queries = h * size(plain + rotated);
        let mut all = match query_rank {
            None => vec![("attn_q", [w, queries])],
            Some(rank) => vec![("attn_q_a", [w, size(rank)]), ("attn_q_b", [size(rank), queries])],
        };
        all.push(("attn_kv_a_mqa", [w, size(rank + rotated)]));
        all.push(("attn_kv_b", [size(rank), h * size(plain + value)]));
        all.push(("attn_output", [h * size(value), w]));
        all
    }

    pub fn add_latent_norms(&self, random: &mut Random, t: &mut Tensors, layer: usize, latent: Latent) {
        let mut norm = |part: &str, n: usize| {
            t.add(random, &format!("blk.{layer}.{part}.weight"), &[n as i64], 1.0, 0.3, DType::F32);
        };
        norm("attn_kv_a_norm", latent.rank);
        if let Some(rank) = latent.query_rank {
            norm("attn_q_a_norm", rank);
        }
    }

    pub fn latent_attention(&self, t: &Tensors, layer: usize, latent: Latent, xs: &[Row]) -> Vec<Row> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let Latent { rank, query_rank, rotated, plain, value } = latent;
        let norm = |part: &str, x: &[f64]| rms_norm(x, t.get(&name(&format!("{part}.weight"))), EPS);
        let turn = |x: &[f64], position: usize| self.turned(x, position, &self.frequencies);
        let (mut queries, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (position, x) in xs.iter().enumerate() {
            let q = match query_rank {
                None => self.linear(t, &name("attn_q"), x),
                Some(_) => {
                    self.linear(t, &name("attn_q_b"), &norm("attn_q_a_norm", &self.linear(t, &name("attn_q_a"), x)))
                }
            };
            let of_head = |q: &[f64]| -> Row { [&q[..plain], &turn(&q[plain..], position)].concat() };
            queries.push(q.chunks(plain + rotated).map(of_head).collect::<Vec<Row>>());
            let both = self.linear(t, &name("attn_kv_a_mqa"), x);
            let shared = turn(&both[rank..], position);
            let all = self.linear(t, &name("attn_kv_b"), &norm("attn_kv_a_norm", &both[..rank]));
            let heads = all.chunks(plain + value);
            keys.push(heads.clone().map(|kv| [&kv[..plain], &shared].concat()).collect::<Vec<Row>>());
            values.push(heads.map(|kv| kv[plain..].to_vec()).collect::<Vec<Row>>());
        }
        let result = |(i, q): (usize, &Vec<Row>)| {
            let factor = self.temperature_at(i) * self.attention_scale;
            let mut all = Row::new();
            for (h, q) in q.iter().enumerate() {
                let dot = |k: &Vec<Row>| k[h].iter().zip(q).map(|(a, b)| a * b).sum::<f64>() * factor;
                let weights = softmax(&keys[..=i].iter().map(dot).collect::<Row>(), None);
                all.extend((0..value).map(|d| weights.iter().zip(&values).map(|(w, v)| w * v[h][d]).sum::<f64>()));
            }
            self.linear(t, &name("attn_output"), &all)
        };
        queries.iter().enumerate().map(result).collect()
    }
}
