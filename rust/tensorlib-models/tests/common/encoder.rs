//! Encoders of the BERT family in double precision.

use super::decoder::frequencies;
use super::math::*;
use super::tiny::{Random, Tensors};
use tensorlib::DType;

/// The architectures, which differ by more than numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Family {
    Bert,
    Mpnet,
    Nomic,
}

/// The description of a model.
#[derive(Clone)]
pub struct Spec {
    pub family: Family,
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    pub ffn: usize,
    pub vocabulary: usize,
    pub positions: usize,
    pub first_position: usize,
    pub types: usize,
    pub eps: f64,
    pub rope_base: f64,
}

impl Spec {
    pub fn new() -> Self {
        Spec {
            family: Family::Bert,
            layers: 2,
            width: 64,
            heads: 4,
            ffn: 96,
            vocabulary: 53,
            positions: 40,
            first_position: 0,
            types: 2,
            eps: 1e-6,
            rope_base: 0.0,
        }
    }

    /// MPNet, with lines that are longer than the farthest bucket's distance.
    pub fn mpnet() -> Self {
        Spec { family: Family::Mpnet, types: 0, first_position: 2, positions: 152, ..Spec::new() }
    }

    pub fn nomic() -> Self {
        Spec { family: Family::Nomic, rope_base: 1000.0, ..Spec::new() }
    }

    /// A layer's matrices with their inputs and outputs.
    fn linears(&self) -> Vec<(&'static str, i64, i64)> {
        let (w, f) = (self.width as i64, self.ffn as i64);
        let mut all = vec![("attn_output", w, w), ("ffn_up", w, f), ("ffn_down", f, w)];
        match self.family {
            Family::Nomic => all.extend([("attn_qkv", w, 3 * w), ("ffn_gate", w, f)]),
            _ => all.extend([("attn_q", w, w), ("attn_k", w, w), ("attn_v", w, w)]),
        }
        all
    }

    pub fn tensors(&self, seed: u64, dtype: DType) -> Tensors {
        let (mut random, mut t) = (Random(seed), Tensors::default());
        let (w, linears) = (self.width as i64, self.linears());
        let mut matrix = |t: &mut Tensors, name: &str, shape: &[i64], spread: f64| {
            t.add(&mut random, &format!("{name}.weight"), shape, 0.0, spread, dtype);
        };
        let of = |n: i64| 2.0 / (n as f64).sqrt();
        matrix(&mut t, "token_embd", &[w, self.vocabulary as i64], of(w));
        if self.family != Family::Nomic {
            matrix(&mut t, "position_embd", &[w, self.positions as i64], of(w));
        }
        if self.types > 0 {
            matrix(&mut t, "token_types", &[w, self.types as i64], of(w));
        }
        if self.family == Family::Mpnet {
            matrix(&mut t, "attn_rel_b", &[self.heads as i64, 32], 3.0);
        }
        for i in 0..self.layers {
            for (part, inputs, outputs) in &linears {
                matrix(&mut t, &format!("blk.{i}.{part}"), &[*inputs, *outputs], of(*inputs));
            }
        }
        let mut vector = |name: String, n: i64, center: f64| t.add(&mut random, &name, &[n], center, 0.3, DType::F32);
        for i in 0..self.layers {
            for (part, _, outputs) in linears.iter().filter(|_| self.family != Family::Nomic) {
                vector(format!("blk.{i}.{part}.bias"), *outputs, 0.0);
            }
            for part in ["attn_output_norm", "layer_output_norm"] {
                vector(format!("blk.{i}.{part}.weight"), w, 1.0);
                vector(format!("blk.{i}.{part}.bias"), w, 0.0);
            }
        }
        vector("token_embd_norm.weight".into(), w, 1.0);
        vector("token_embd_norm.bias".into(), w, 0.0);
        t
    }

    /// The vector of a line of tokens, of length 1: the mean of the tokens' vectors, or the first one.
    pub fn vector(&self, t: &Tensors, tokens: &[u32], mean: bool) -> Row {
        let row = |name: &str, i: usize| t.find(name).map(|values| &values[i * self.width..(i + 1) * self.width]);
        let norm = |name: &str, x: &[f64]| {
            layer_norm(x, t.get(&format!("{name}.weight")), t.get(&format!("{name}.bias")), self.eps)
        };
        let linear = |name: &str, x: &[f64]| {
            let product = product(t.get(&format!("{name}.weight")), x);
            t.find(&format!("{name}.bias")).map_or(product.clone(), |bias| sum(&product, bias))
        };
        let mut xs: Vec<Row> = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            let mut x = row("token_embd.weight", *token as usize).unwrap().to_vec();
            for (name, i) in [("position_embd.weight", i + self.first_position), ("token_types.weight", 0)] {
                x = row(name, i).map_or(x.clone(), |more| sum(&x, more));
            }
            xs.push(norm("token_embd_norm", &x));
        }
        let head = self.width / self.heads;
        for layer in 0..self.layers {
            let name = |part: &str| format!("blk.{layer}.{part}");
            let (q, k, v) = self.projected(layer, &xs, &linear);
            let mut next = Vec::new();
            for (i, x) in xs.iter().enumerate() {
                let mut all = Vec::new();
                for h in 0..self.heads {
                    let part = h * head..(h + 1) * head;
                    let logit = |(j, k): (usize, &Row)| {
                        let dot = k[part.clone()].iter().zip(&q[i][part.clone()]).map(|(a, b)| a * b).sum::<f64>();
                        let bias = t.find("attn_rel_b.weight").map_or(0.0, |all| all[bucket(i, j) * self.heads + h]);
                        dot / (head as f64).sqrt() + bias
                    };
                    let weights = softmax(&k.iter().enumerate().map(logit).collect::<Row>(), None);
                    all.extend(part.clone().map(|d| weights.iter().zip(&v).map(|(w, v)| w * v[d]).sum::<f64>()));
                }
                let x = norm(&name("attn_output_norm"), &sum(&linear(&name("attn_output"), &all), x));
                let up = linear(&name("ffn_up"), &x);
                let hidden: Row = match self.family {
                    Family::Nomic => {
                        up.iter().zip(linear(&name("ffn_gate"), &x)).map(|(up, gate)| up * silu(gate)).collect()
                    }
                    _ => up.into_iter().map(gelu_erf).collect(),
                };
                next.push(norm(&name("layer_output_norm"), &sum(&linear(&name("ffn_down"), &hidden), &x)));
            }
            xs = next;
        }
        let n = if mean { xs.len() } else { 1 };
        let total = xs[..n].iter().fold(vec![0.0; self.width], |total, x| sum(&total, x));
        let length = total.iter().map(|x| x * x).sum::<f64>().sqrt();
        total.iter().map(|x| x / length).collect()
    }

    /// Queries, keys and values of each token.
    fn projected(
        &self,
        layer: usize,
        xs: &[Row],
        linear: &impl Fn(&str, &[f64]) -> Row,
    ) -> (Vec<Row>, Vec<Row>, Vec<Row>) {
        let of = |part: &str| xs.iter().map(|x| linear(&format!("blk.{layer}.{part}"), x)).collect::<Vec<Row>>();
        if self.family != Family::Nomic {
            return (of("attn_q"), of("attn_k"), of("attn_v"));
        }
        // All queries, then all keys, then all values.
        let (all, w) = (of("attn_qkv"), self.width);
        let part = |i: usize| all.iter().map(|x| x[i * w..(i + 1) * w].to_vec()).collect::<Vec<Row>>();
        let turned = |rows: Vec<Row>| rows.iter().enumerate().map(|(i, x)| self.turned(x, i)).collect::<Vec<Row>>();
        (turned(part(0)), turned(part(1)), part(2))
    }

    /// Rotates each head: the elements of a pair are half a head apart.
    fn turned(&self, x: &[f64], position: usize) -> Row {
        let head = self.width / self.heads;
        let (mut y, half) = (x.to_vec(), head / 2);
        for first in (0..x.len()).step_by(head) {
            for (k, frequency) in frequencies(self.rope_base, head).iter().enumerate() {
                let (sin, cos) = (position as f64 * frequency).sin_cos();
                let (a, b) = (x[first + k], x[first + k + half]);
                y[first + k] = a * cos - b * sin;
                y[first + k + half] = a * sin + b * cos;
            }
        }
        y
    }
}

/// The bucket of a key's distance from a query: 16 for keys before it, 16 for keys after it. The borders are the
/// smallest distances above 8 * 16^(n / 8): 8, 11.3, 16, 22.6, 32, 45.3, 64 and 90.5.
fn bucket(query: usize, key: usize) -> usize {
    const FIRST: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91];
    let found = FIRST.iter().rposition(|first| *first <= query.abs_diff(key)).unwrap();
    found + if key > query { 16 } else { 0 }
}
