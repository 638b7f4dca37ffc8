//! The forward pass of encoders in double precision.

use super::decoder::frequencies;
use super::encoder::{Family, Spec};
use super::math::*;
use super::tiny::Tensors;

impl Spec {
    /// A norm by name; without a bias in ModernBERT, and without the mean in Gemma.
    fn norm(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        if self.family == Family::Gemma || self.is_t5() {
            return rms_norm(x, t.get(&format!("{name}.weight")), self.eps);
        }
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
            Family::ModernBert | Family::Electra | Family::Deberta => x.into_iter().map(gelu_erf).collect(),
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
    pub fn hidden(&self, t: &Tensors, tokens: &[u32], types: &[u32]) -> Vec<Row> {
        let e = self.embedding;
        let row = |name: &str, i: usize| t.find(name).map(|values| &values[i * e..(i + 1) * e]);
        let mut xs: Vec<Row> = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            let mut x = row("token_embd.weight", *token as usize).unwrap().to_vec();
            let kind = types.get(i).map_or(0, |kind| *kind as usize);
            for (name, i) in [("position_embd.weight", i + self.first_position), ("token_types.weight", kind)] {
                x = row(name, i).map_or(x.clone(), |more| sum(&x, more));
            }
            if self.family == Family::Deberta {
                let x = if e == self.width { x } else { self.linear(t, "embeddings_project", &x) };
                xs.push(self.norm(t, "token_embd_norm", &x));
                continue;
            }
            let x = match self.family {
                Family::T5 | Family::T5Gated => x,
                Family::Gemma => x.iter().map(|x| x * (self.width as f64).sqrt()).collect(),
                _ => self.norm(t, "token_embd_norm", &x),
            };
            xs.push(if e == self.width { x } else { self.linear(t, "embeddings_project", &x) });
        }
        for layer in 0..self.layers {
            let name = |part: &str| format!("blk.{layer}.{part}");
            let is_before = t.find(&name("ffn_norm.weight")).is_some();
            let normed: Vec<Row> = match t.find(&name("attn_norm.weight")).is_some() {
                true => xs.iter().map(|x| self.norm(t, &name("attn_norm"), x)).collect(),
                false => xs.clone(),
            };
            let attended = self.attended(t, layer, &normed);
            let fed = |x: &Row| -> Row {
                if self.has_experts(layer) {
                    return self.mixture(t, layer, x);
                }
                let up = self.linear(t, &name("ffn_up"), x);
                let hidden: Row = match self.family {
                    Family::Nomic => {
                        let gate = self.linear(t, &name("ffn_gate"), x);
                        up.iter().zip(gate).map(|(up, gate)| up * silu(gate)).collect()
                    }
                    Family::T5 => up.into_iter().map(|x| x.max(0.0)).collect(),
                    Family::Gemma | Family::T5Gated => {
                        let gate = self.linear(t, &name("ffn_gate"), x);
                        up.iter().zip(gate).map(|(up, gate)| up * gelu(gate)).collect()
                    }
                    Family::Jina => (0..self.ffn).map(|i| gelu_erf(up[i]) * up[i + self.ffn]).collect(),
                    Family::JinaCode | Family::Gte => {
                        (0..self.ffn).map(|i| up[i] * gelu_erf(up[i + self.ffn])).collect()
                    }
                    Family::ModernBert => (0..self.ffn).map(|i| gelu_erf(up[i]) * up[i + self.ffn]).collect(),
                    _ => up.into_iter().map(gelu_erf).collect(),
                };
                self.linear(t, &name("ffn_down"), &hidden)
            };
            let next = |(x, c): (&Row, Row)| match is_before {
                true => {
                    let end = |part: &str, y: Row| match t.find(&name(&format!("{part}.weight"))) {
                        Some(_) => self.norm(t, &name(part), &y),
                        None => y,
                    };
                    let x = sum(x, &end("post_attention_norm", c));
                    sum(&x, &end("post_ffw_norm", fed(&self.norm(t, &name("ffn_norm"), &x))))
                }
                false => {
                    let mut y = self.norm(t, &name("attn_output_norm"), &sum(&c, x));
                    if t.find(&name("attn_norm_2.weight")).is_some() {
                        y = self.norm(t, &name("attn_norm_2"), &sum(&y, x));
                    }
                    let x = y;
                    self.norm(t, &name("layer_output_norm"), &sum(&fed(&x), &x))
                }
            };
            let inputs = std::mem::take(&mut xs);
            xs = inputs.iter().zip(attended).map(next).collect();
            if layer == 0 && self.convolution.0 > 0 {
                xs = self.convolved(t, &inputs, &xs);
            }
        }
        match t.find("output_norm.weight") {
            Some(_) => xs.iter().map(|x| self.norm(t, "output_norm", x)).collect(),
            None => xs,
        }
    }

    /// The norm of the first layer's results and of a convolution of its inputs, outside of which are zeros.
    fn convolved(&self, t: &Tensors, inputs: &[Row], results: &[Row]) -> Vec<Row> {
        let (taps, groups) = self.convolution;
        let (kernel, of_group) = (t.get("conv.weight"), self.width / groups);
        let of_token = |i: usize| {
            let mut made = t.get("conv.bias").to_vec();
            for (output, total) in made.iter_mut().enumerate() {
                for channel in 0..of_group {
                    for tap in 0..taps {
                        let weight = kernel[(output * of_group + channel) * taps + tap];
                        let place = (i + tap).checked_sub(taps / 2).filter(|place| *place < inputs.len());
                        let first = output / of_group * of_group;
                        *total += weight * place.map_or(0.0, |place| inputs[place][first + channel]);
                    }
                }
            }
            let made: Row = made.into_iter().map(gelu_erf).collect();
            self.norm(t, "conv_norm", &sum(&results[i], &made))
        };
        (0..inputs.len()).map(of_token).collect()
    }

    /// The sum of a token's experts by their shares, and the bias.
    fn mixture(&self, t: &Tensors, layer: usize, x: &[f64]) -> Row {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let shares = softmax(&product(t.get(&name("ffn_gate_inp.weight")), x), None);
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
        let matrix = |part: &str, expert: usize| {
            let size = self.width * self.ffn;
            &t.get(&name(part))[expert * size..(expert + 1) * size]
        };
        let mut total = t.find(&name("ffn_exps.bias")).map_or(vec![0.0; self.width], <[f64]>::to_vec);
        for expert in &order[..self.experts.1] {
            let hidden: Row = product(matrix("ffn_up_exps.weight", *expert), x).into_iter().map(gelu_erf).collect();
            let y = product(matrix("ffn_down_exps.weight", *expert), &hidden);
            total.iter_mut().zip(y).for_each(|(total, y)| *total += shares[*expert] * y);
        }
        total
    }

    /// Attention's result for each token.
    fn attended(&self, t: &Tensors, layer: usize, xs: &[Row]) -> Vec<Row> {
        let head = self.head;
        let (q, k, v) = self.projected(t, layer, xs);
        let has_window = self.has_window(layer);
        let distances = self.distances(t, layer);
        let of_token = |i: usize| {
            let mut all = Vec::new();
            for h in 0..self.heads {
                let own = h * head..(h + 1) * head;
                let first = h / (self.heads / self.kv_heads) * head;
                let part = first..first + head;
                let logit = |(j, k): (usize, &Row)| {
                    let dot = k[part.clone()].iter().zip(&q[i][own.clone()]).map(|(a, b)| a * b).sum::<f64>();
                    let bias = t.find("attn_rel_b.weight").map_or(0.0, |all| all[bucket(i, j) * self.heads + h]);
                    let bias = bias - self.slope(h) * i.abs_diff(j) as f64;
                    if let Some((keys, queries)) = &distances {
                        let row = self.row_of_distance(i, j);
                        let by = |a: &Row, b: &Row| -> f64 { own.clone().map(|d| a[d] * b[d]).sum() };
                        return (dot + by(&q[i], &keys[row]) + by(k, &queries[row])) / (3.0 * head as f64).sqrt();
                    }
                    if self.is_t5() {
                        return dot + bias;
                    }
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

    /// Keys and queries of each row of DeBERTa's distances, which the matrices of contents make.
    fn distances(&self, t: &Tensors, layer: usize) -> Option<(Vec<Row>, Vec<Row>)> {
        let rows = t.find("distance_embd.weight")?;
        let rows: Vec<Row> = rows.chunks(self.width).map(|row| self.norm(t, "distance_norm", row)).collect();
        let of = |part: &str| rows.iter().map(|x| self.linear(t, &format!("blk.{layer}.{part}"), x)).collect();
        Some((of("attn_k"), of("attn_q")))
    }

    /// Queries, keys and values of each token.
    fn projected(&self, t: &Tensors, layer: usize, xs: &[Row]) -> (Vec<Row>, Vec<Row>, Vec<Row>) {
        let of =
            |part: &str| -> Vec<Row> { xs.iter().map(|x| self.linear(t, &format!("blk.{layer}.{part}"), x)).collect() };
        if !self.is_rotary() {
            let normed = |rows: Vec<Row>, part: &str| -> Vec<Row> {
                let name = format!("blk.{layer}.{part}");
                match t.find(&format!("{name}.weight")) {
                    Some(_) => rows.iter().map(|row| self.norm(t, &name, row)).collect(),
                    None => rows,
                }
            };
            return (normed(of("attn_q"), "attn_q_norm"), normed(of("attn_k"), "attn_k_norm"), of("attn_v"));
        }
        let base = if self.has_window(layer) { self.near_base } else { self.rope_base };
        let turned =
            |rows: Vec<Row>| rows.iter().enumerate().map(|(i, x)| self.turned(base, x, i)).collect::<Vec<Row>>();
        if self.family == Family::Gemma {
            let normed = |rows: Vec<Row>, part: &str| -> Vec<Row> {
                let name = format!("blk.{layer}.{part}");
                let of_row = |row: Row| row.chunks(self.head).flat_map(|head| self.norm(t, &name, head)).collect();
                rows.into_iter().map(of_row).collect()
            };
            let (q, k) = (normed(of("attn_q"), "attn_q_norm"), normed(of("attn_k"), "attn_k_norm"));
            return (turned(q), turned(k), of("attn_v"));
        }
        // All queries, then all keys, then all values.
        let (all, w) = (of("attn_qkv"), self.width);
        let part = |i: usize| all.iter().map(|x| x[i * w..(i + 1) * w].to_vec()).collect::<Vec<Row>>();
        (turned(part(0)), turned(part(1)), part(2))
    }

    /// How much a head's products fall with each token of distance: for n heads, a power of two, 2^(-8 k / n) for head
    /// k from 1 on; further heads have every second slope of twice as many heads.
    fn slope(&self, head: usize) -> f64 {
        if !matches!(self.family, Family::Jina | Family::JinaCode) {
            return 0.0;
        }
        let n = (0..).map(|i| 1 << i).take_while(|n| *n <= self.heads).last().unwrap();
        let (k, n) = if head < n { (head + 1, n) } else { (2 * (head - n) + 1, 2 * n) };
        2f64.powf(-8.0 * k as f64 / n as f64)
    }

    /// Rotates each head: the elements of a pair are half a head apart.
    fn turned(&self, base: f64, x: &[f64], position: usize) -> Row {
        let head = self.head;
        let (mut y, half) = (x.to_vec(), head / 2);
        for first in (0..x.len()).step_by(head) {
            for (k, frequency) in frequencies(base * self.stretch, head).iter().enumerate() {
                let frequency = frequency / self.stretch.powf(2.0 / head as f64);
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
