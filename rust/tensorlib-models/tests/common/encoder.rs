//! BERT in double precision.

use super::math::*;
use super::tiny::{Random, Tensors};
use tensorlib::DType;

/// What a model is.
#[derive(Clone)]
pub struct Spec {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    pub ffn: usize,
    pub vocabulary: usize,
    pub positions: usize,
    pub first_position: usize,
    pub types: usize,
    pub eps: f64,
}

impl Spec {
    pub fn new() -> Self {
        Spec {
            layers: 2,
            width: 64,
            heads: 4,
            ffn: 96,
            vocabulary: 53,
            positions: 40,
            first_position: 0,
            types: 2,
            eps: 1e-6,
        }
    }

    pub fn tensors(&self, seed: u64, dtype: DType) -> Tensors {
        let (mut random, mut t) = (Random(seed), Tensors::default());
        let (w, f) = (self.width as i64, self.ffn as i64);
        let mut matrix = |t: &mut Tensors, name: &str, shape: &[i64]| {
            t.add(&mut random, &format!("{name}.weight"), shape, 0.0, 2.0 / (shape[0] as f64).sqrt(), dtype);
        };
        matrix(&mut t, "token_embd", &[w, self.vocabulary as i64]);
        matrix(&mut t, "position_embd", &[w, self.positions as i64]);
        if self.types > 0 {
            matrix(&mut t, "token_types", &[w, self.types as i64]);
        }
        let linears = [
            ("attn_q", w, w),
            ("attn_k", w, w),
            ("attn_v", w, w),
            ("attn_output", w, w),
            ("ffn_up", w, f),
            ("ffn_down", f, w),
        ];
        for i in 0..self.layers {
            for (part, inputs, outputs) in linears {
                matrix(&mut t, &format!("blk.{i}.{part}"), &[inputs, outputs]);
            }
        }
        let mut vector = |name: String, n: i64, center: f64| t.add(&mut random, &name, &[n], center, 0.3, DType::F32);
        for i in 0..self.layers {
            for (part, _, outputs) in linears {
                vector(format!("blk.{i}.{part}.bias"), outputs, 0.0);
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

    /// The vector of a line of tokens: the mean of theirs, or the first one's, of length 1.
    pub fn vector(&self, t: &Tensors, tokens: &[u32], mean: bool) -> Row {
        let (tokens_of, positions) =
            (rows(t.get("token_embd.weight"), self.width), rows(t.get("position_embd.weight"), self.width));
        let norm = |name: &str, x: &[f64]| {
            layer_norm(x, t.get(&format!("{name}.weight")), t.get(&format!("{name}.bias")), self.eps)
        };
        let linear =
            |name: &str, x: &[f64]| sum(&product(t.get(&format!("{name}.weight")), x), t.get(&format!("{name}.bias")));
        let mut xs: Vec<Row> = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            let mut x = sum(tokens_of[*token as usize], positions[i + self.first_position]);
            if let Some(types) = t.find("token_types.weight") {
                x = sum(&x, &types[..self.width]);
            }
            xs.push(norm("token_embd_norm", &x));
        }
        let head = self.width / self.heads;
        for layer in 0..self.layers {
            let name = |part: &str| format!("blk.{layer}.{part}");
            let of = |part: &str| xs.iter().map(|x| linear(&name(part), x)).collect::<Vec<Row>>();
            let (q, k, v) = (of("attn_q"), of("attn_k"), of("attn_v"));
            let mut next = Vec::new();
            for (i, x) in xs.iter().enumerate() {
                let mut all = Vec::new();
                for h in 0..self.heads {
                    let part = h * head..(h + 1) * head;
                    let dot =
                        |k: &Row| k[part.clone()].iter().zip(&q[i][part.clone()]).map(|(a, b)| a * b).sum::<f64>();
                    let weights = softmax(&k.iter().map(|k| dot(k) / (head as f64).sqrt()).collect::<Row>(), None);
                    all.extend(part.clone().map(|d| weights.iter().zip(&v).map(|(w, v)| w * v[d]).sum::<f64>()));
                }
                let x = norm(&name("attn_output_norm"), &sum(&linear(&name("attn_output"), &all), x));
                let up: Row = linear(&name("ffn_up"), &x).into_iter().map(gelu_erf).collect();
                next.push(norm(&name("layer_output_norm"), &sum(&linear(&name("ffn_down"), &up), &x)));
            }
            xs = next;
        }
        let n = if mean { xs.len() } else { 1 };
        let total = xs[..n].iter().fold(vec![0.0; self.width], |total, x| sum(&total, x));
        let length = total.iter().map(|x| x * x).sum::<f64>().sqrt();
        total.iter().map(|x| x / length).collect()
    }
}
