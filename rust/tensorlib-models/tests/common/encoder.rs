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
    ModernBert,
    DistilBert,
    Electra,
}

/// The description of a model.
#[derive(Clone)]
pub struct Spec {
    pub family: Family,
    pub layers: usize,
    pub width: usize,
    /// Elements of a token's embedding.
    pub embedding: usize,
    pub heads: usize,
    pub ffn: usize,
    pub vocabulary: usize,
    pub positions: usize,
    pub first_position: usize,
    pub types: usize,
    pub eps: f64,
    pub rope_base: f64,
    /// ModernBERT's: the base in layers with a window, twice the largest distance there, and which layers have none.
    pub near_base: f64,
    pub window: usize,
    pub every: usize,
    /// Labels of the head; 0: no head.
    pub labels: usize,
}

impl Spec {
    pub fn new() -> Self {
        Spec {
            family: Family::Bert,
            layers: 2,
            width: 64,
            embedding: 64,
            heads: 4,
            ffn: 96,
            vocabulary: 53,
            positions: 40,
            first_position: 0,
            types: 2,
            eps: 1e-6,
            rope_base: 0.0,
            near_base: 0.0,
            window: 0,
            every: 1,
            labels: 0,
        }
    }

    /// MPNet, with lines that are longer than the farthest bucket's distance.
    pub fn mpnet() -> Self {
        Spec { family: Family::Mpnet, types: 0, first_position: 2, positions: 152, ..Spec::new() }
    }

    pub fn nomic() -> Self {
        Spec { family: Family::Nomic, rope_base: 1000.0, ..Spec::new() }
    }

    /// ModernBERT, with lines that are longer than a window's piece, and windows in two of four layers.
    pub fn modernbert() -> Self {
        Spec {
            family: Family::ModernBert,
            layers: 4,
            positions: 160,
            types: 0,
            rope_base: 5000.0,
            near_base: 100.0,
            window: 14,
            every: 2,
            ..Spec::new()
        }
    }

    pub fn distilbert() -> Self {
        Spec { family: Family::DistilBert, types: 0, eps: 1e-12, ..Spec::new() }
    }

    /// ELECTRA, with embeddings that are narrower than its layers.
    pub fn electra() -> Self {
        Spec { family: Family::Electra, embedding: 24, ..Spec::new() }
    }

    /// This model with a head.
    pub fn with_labels(self, labels: usize) -> Self {
        Spec { labels, ..self }
    }

    /// Whether one matrix makes queries, keys and values, and positions are rotations.
    fn is_rotary(&self) -> bool {
        matches!(self.family, Family::Nomic | Family::ModernBert)
    }

    /// Whether a layer's tokens attend only to near ones.
    fn has_window(&self, layer: usize) -> bool {
        self.window > 0 && (0..self.layers).step_by(self.every).all(|whole| whole != layer)
    }

    /// A layer's matrices with their inputs and outputs.
    fn linears(&self) -> Vec<(&'static str, i64, i64)> {
        let (w, f) = (self.width as i64, self.ffn as i64);
        let mut all = vec![("attn_output", w, w), ("ffn_up", w, f), ("ffn_down", f, w)];
        match self.family {
            Family::Nomic => all.extend([("attn_qkv", w, 3 * w), ("ffn_gate", w, f)]),
            Family::ModernBert => {
                all[1] = ("ffn_up", w, 2 * f);
                all.push(("attn_qkv", w, 3 * w));
            }
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
        let e = self.embedding as i64;
        matrix(&mut t, "token_embd", &[e, self.vocabulary as i64], of(e));
        if !self.is_rotary() {
            matrix(&mut t, "position_embd", &[e, self.positions as i64], of(e));
        }
        if self.types > 0 {
            matrix(&mut t, "token_types", &[e, self.types as i64], of(e));
        }
        if e != w {
            matrix(&mut t, "embeddings_project", &[e, w], of(e));
        }
        if self.family == Family::Mpnet {
            matrix(&mut t, "attn_rel_b", &[self.heads as i64, 32], 3.0);
        }
        for i in 0..self.layers {
            for (part, inputs, outputs) in &linears {
                matrix(&mut t, &format!("blk.{i}.{part}"), &[*inputs, *outputs], of(*inputs));
            }
        }
        if self.labels > 0 {
            matrix(&mut t, "cls", &[w, w], of(w));
            matrix(&mut t, "cls.output", &[w, self.labels as i64], of(w));
        }
        let mut vector = |name: String, n: i64, center: f64| t.add(&mut random, &name, &[n], center, 0.3, DType::F32);
        for i in 0..self.layers {
            for (part, _, outputs) in linears.iter().filter(|_| !self.is_rotary()) {
                vector(format!("blk.{i}.{part}.bias"), *outputs, 0.0);
            }
            match self.family {
                Family::ModernBert => {
                    let parts: &[&str] = if i > 0 { &["attn_norm", "ffn_norm"] } else { &["ffn_norm"] };
                    parts.iter().for_each(|part| vector(format!("blk.{i}.{part}.weight"), w, 1.0));
                }
                _ => {
                    for part in ["attn_output_norm", "layer_output_norm"] {
                        vector(format!("blk.{i}.{part}.weight"), w, 1.0);
                        vector(format!("blk.{i}.{part}.bias"), w, 0.0);
                    }
                }
            }
        }
        vector("token_embd_norm.weight".into(), e, 1.0);
        match self.family {
            Family::ModernBert => vector("output_norm.weight".into(), w, 1.0),
            _ => vector("token_embd_norm.bias".into(), e, 0.0),
        }
        if e != w {
            vector("embeddings_project.bias".into(), w, 0.0);
        }
        if self.labels > 0 {
            match self.family {
                Family::ModernBert => vector("cls.norm.weight".into(), w, 1.0),
                _ => vector("cls.bias".into(), w, 0.0),
            }
            vector("cls.output.bias".into(), self.labels as i64, 0.0);
        }
        t
    }

    /// A norm by name; without a bias in ModernBERT.
    fn norm(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        let zeros = vec![0.0; x.len()];
        layer_norm(x, t.get(&format!("{name}.weight")), t.find(&format!("{name}.bias")).unwrap_or(&zeros), self.eps)
    }

    fn linear(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        let product = product(t.get(&format!("{name}.weight")), x);
        t.find(&format!("{name}.bias")).map_or(product.clone(), |bias| sum(&product, bias))
    }

    /// The vector of a line of tokens, of length 1: the mean of the tokens' vectors, or the first one.
    pub fn vector(&self, t: &Tensors, tokens: &[u32], mean: bool) -> Row {
        let total = self.pooled(t, tokens, &[], mean);
        let length = total.iter().map(|x| x * x).sum::<f64>().sqrt();
        total.iter().map(|x| x / length).collect()
    }

    /// The head's logits for a line of tokens with types, from the mean of the tokens' vectors or from the first one.
    pub fn logits(&self, t: &Tensors, tokens: &[u32], types: &[u32], mean: bool) -> Row {
        let x = self.linear(t, "cls", &self.pooled(t, tokens, types, mean));
        let x: Row = match self.family {
            Family::ModernBert | Family::Electra => x.into_iter().map(gelu_erf).collect(),
            Family::DistilBert => x.into_iter().map(|x| x.max(0.0)).collect(),
            _ => x.into_iter().map(f64::tanh).collect(),
        };
        let x = if t.find("cls.norm.weight").is_some() { self.norm(t, "cls.norm", &x) } else { x };
        self.linear(t, "cls.output", &x)
    }

    /// The mean of the tokens' vectors, or the first one.
    pub fn pooled(&self, t: &Tensors, tokens: &[u32], types: &[u32], mean: bool) -> Row {
        let xs = self.hidden(t, tokens, types);
        let n = if mean { xs.len() } else { 1 };
        let total = xs[..n].iter().fold(vec![0.0; self.width], |total, x| sum(&total, x));
        total.iter().map(|x| x / n as f64).collect()
    }

    /// The vectors of a line's tokens after the last layer. No types: all are 0.
    fn hidden(&self, t: &Tensors, tokens: &[u32], types: &[u32]) -> Vec<Row> {
        let e = self.embedding;
        let row = |name: &str, i: usize| t.find(name).map(|values| &values[i * e..(i + 1) * e]);
        let mut xs: Vec<Row> = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            let mut x = row("token_embd.weight", *token as usize).unwrap().to_vec();
            let kind = types.get(i).map_or(0, |kind| *kind as usize);
            for (name, i) in [("position_embd.weight", i + self.first_position), ("token_types.weight", kind)] {
                x = row(name, i).map_or(x.clone(), |more| sum(&x, more));
            }
            let x = self.norm(t, "token_embd_norm", &x);
            xs.push(if e == self.width { x } else { self.linear(t, "embeddings_project", &x) });
        }
        for layer in 0..self.layers {
            let name = |part: &str| format!("blk.{layer}.{part}");
            let is_before = self.family == Family::ModernBert;
            let normed: Vec<Row> = match is_before && layer > 0 {
                true => xs.iter().map(|x| self.norm(t, &name("attn_norm"), x)).collect(),
                false => xs.clone(),
            };
            let attended = self.attended(t, layer, &normed);
            let fed = |x: &Row| -> Row {
                let up = self.linear(t, &name("ffn_up"), x);
                let hidden: Row = match self.family {
                    Family::Nomic => {
                        let gate = self.linear(t, &name("ffn_gate"), x);
                        up.iter().zip(gate).map(|(up, gate)| up * silu(gate)).collect()
                    }
                    Family::ModernBert => (0..self.ffn).map(|i| gelu_erf(up[i]) * up[i + self.ffn]).collect(),
                    _ => up.into_iter().map(gelu_erf).collect(),
                };
                self.linear(t, &name("ffn_down"), &hidden)
            };
            let next = |(x, c): (&Row, Row)| match is_before {
                true => {
                    let x = sum(x, &c);
                    sum(&x, &fed(&self.norm(t, &name("ffn_norm"), &x)))
                }
                false => {
                    let x = self.norm(t, &name("attn_output_norm"), &sum(&c, x));
                    self.norm(t, &name("layer_output_norm"), &sum(&fed(&x), &x))
                }
            };
            xs = xs.iter().zip(attended).map(next).collect();
        }
        match t.find("output_norm.weight") {
            Some(_) => xs.iter().map(|x| self.norm(t, "output_norm", x)).collect(),
            None => xs,
        }
    }

    /// Attention's result for each token.
    fn attended(&self, t: &Tensors, layer: usize, xs: &[Row]) -> Vec<Row> {
        let head = self.width / self.heads;
        let (q, k, v) = self.projected(t, layer, xs);
        let has_window = self.has_window(layer);
        let of_token = |i: usize| {
            let mut all = Vec::new();
            for h in 0..self.heads {
                let part = h * head..(h + 1) * head;
                let logit = |(j, k): (usize, &Row)| {
                    let dot = k[part.clone()].iter().zip(&q[i][part.clone()]).map(|(a, b)| a * b).sum::<f64>();
                    let bias = t.find("attn_rel_b.weight").map_or(0.0, |all| all[bucket(i, j) * self.heads + h]);
                    match has_window && 2 * i.abs_diff(j) > self.window {
                        true => f64::NEG_INFINITY,
                        false => dot / (head as f64).sqrt() + bias,
                    }
                };
                let weights = softmax(&k.iter().enumerate().map(logit).collect::<Row>(), None);
                all.extend(part.clone().map(|d| weights.iter().zip(&v).map(|(w, v)| w * v[d]).sum::<f64>()));
            }
            self.linear(t, &format!("blk.{layer}.attn_output"), &all)
        };
        (0..xs.len()).map(of_token).collect()
    }

    /// Queries, keys and values of each token.
    fn projected(&self, t: &Tensors, layer: usize, xs: &[Row]) -> (Vec<Row>, Vec<Row>, Vec<Row>) {
        let of =
            |part: &str| -> Vec<Row> { xs.iter().map(|x| self.linear(t, &format!("blk.{layer}.{part}"), x)).collect() };
        if !self.is_rotary() {
            return (of("attn_q"), of("attn_k"), of("attn_v"));
        }
        // All queries, then all keys, then all values.
        let (all, w) = (of("attn_qkv"), self.width);
        let part = |i: usize| all.iter().map(|x| x[i * w..(i + 1) * w].to_vec()).collect::<Vec<Row>>();
        let base = if self.has_window(layer) { self.near_base } else { self.rope_base };
        let turned =
            |rows: Vec<Row>| rows.iter().enumerate().map(|(i, x)| self.turned(base, x, i)).collect::<Vec<Row>>();
        (turned(part(0)), turned(part(1)), part(2))
    }

    /// Rotates each head: the elements of a pair are half a head apart.
    fn turned(&self, base: f64, x: &[f64], position: usize) -> Row {
        let head = self.width / self.heads;
        let (mut y, half) = (x.to_vec(), head / 2);
        for first in (0..x.len()).step_by(head) {
            for (k, frequency) in frequencies(base, head).iter().enumerate() {
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
