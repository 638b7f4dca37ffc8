//! Encoders of the BERT family in double precision.

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
    Gemma,
    /// Jina's, and the one for code.
    Jina,
    JinaCode,
    /// Jina's of version 3.
    Jina3,
    /// Nomic's with experts in every second layer.
    NomicExperts,
    Gte,
    /// T5's encoder, and that of its later models.
    T5,
    T5Gated,
    Deberta,
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
    /// Heads of keys and values, and elements of each head.
    pub kv_heads: usize,
    pub head: usize,
    pub ffn: usize,
    pub vocabulary: usize,
    pub positions: usize,
    pub first_position: usize,
    pub types: usize,
    pub eps: f64,
    pub rope_base: f64,
    /// The base in layers with a window, twice the largest distance there, and which layers have none: in ModernBERT
    /// multiples of the number, in Gemma those before multiples.
    pub near_base: f64,
    pub window: usize,
    pub every: usize,
    /// By how much GTE's rotations are stretched.
    pub stretch: f64,
    /// Rows of DeBERTa's matrix of distances for each direction, and the distance of the last one.
    pub span: usize,
    pub farthest: usize,
    /// The tokens of the convolution after the first layer, and its groups; 0: no convolution.
    pub convolution: (usize, usize),
    /// The number of experts, and how many a token uses.
    pub experts: (usize, usize),
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
            kv_heads: 4,
            head: 16,
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
            stretch: 1.0,
            span: 0,
            farthest: 0,
            convolution: (0, 1),
            experts: (0, 0),
            labels: 0,
        }
    }

    /// T5's, whose heads have more elements together than its rows, with lines beyond the farthest bucket.
    pub fn t5() -> Self {
        Spec { family: Family::T5, heads: 3, kv_heads: 3, head: 24, types: 0, positions: 150, ..Spec::new() }
    }

    pub fn t5_gated() -> Self {
        Spec { family: Family::T5Gated, ..Spec::t5() }
    }

    /// DeBERTa, with lines beyond the last row of distances, and embeddings that are narrower than its layers.
    pub fn deberta() -> Self {
        let distances = Spec { span: 16, farthest: 40, ..Spec::new() };
        Spec { family: Family::Deberta, embedding: 24, types: 0, positions: 60, ..distances }
    }

    /// DeBERTa with a convolution.
    pub fn deberta_convolved() -> Self {
        Spec { convolution: (3, 1), embedding: 64, ..Spec::deberta() }
    }

    pub fn is_t5(&self) -> bool {
        matches!(self.family, Family::T5 | Family::T5Gated)
    }

    /// The row of the matrix of distances for a query and a key.
    pub fn row_of_distance(&self, query: usize, key: usize) -> usize {
        let distance = query as i64 - key as i64;
        let (middle, far) = (self.span as f64 / 2.0, distance.unsigned_abs() as f64);
        let row = match far > middle {
            true => {
                ((far / middle).ln() / ((self.farthest as f64 - 1.0) / middle).ln() * (middle - 1.0)).ceil() + middle
            }
            false => far,
        };
        (row as i64 * distance.signum() + self.span as i64).clamp(0, 2 * self.span as i64 - 1) as usize
    }

    /// MPNet, with lines that are longer than the farthest bucket's distance.
    pub fn mpnet() -> Self {
        Spec { family: Family::Mpnet, types: 0, first_position: 2, positions: 152, ..Spec::new() }
    }

    pub fn nomic() -> Self {
        Spec { family: Family::Nomic, rope_base: 1000.0, ..Spec::new() }
    }

    /// Nomic's with experts, and biases in products.
    pub fn nomic_experts() -> Self {
        Spec { family: Family::NomicExperts, layers: 4, types: 1, every: 2, experts: (5, 2), ..Spec::nomic() }
    }

    /// Whether a layer has experts.
    pub fn has_experts(&self, layer: usize) -> bool {
        self.experts.0 > 0 && layer % self.every == 1
    }

    pub fn gte() -> Self {
        Spec { family: Family::Gte, types: 1, rope_base: 300.0, stretch: 8.0, ..Spec::new() }
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

    /// EmbeddingGemma, with a window of an odd number of keys in five of six layers.
    pub fn gemma() -> Self {
        Spec {
            family: Family::Gemma,
            layers: 6,
            kv_heads: 2,
            head: 24,
            positions: 160,
            types: 0,
            rope_base: 5000.0,
            near_base: 100.0,
            window: 15,
            every: 6,
            ..Spec::new()
        }
    }

    /// Jina's, with a number of heads that is no power of two, and lines that are longer than a piece of attention.
    pub fn jina() -> Self {
        Spec {
            family: Family::Jina,
            heads: 6,
            kv_heads: 6,
            head: 16,
            width: 96,
            embedding: 96,
            positions: 150,
            ..Spec::new()
        }
    }

    /// Jina's for code, whose files have norms of queries and keys.
    pub fn jina_code() -> Self {
        Spec { family: Family::JinaCode, ..Spec::jina() }
    }

    /// Jina's of version 3.
    pub fn jina3() -> Self {
        Spec { family: Family::Jina3, types: 1, rope_base: 300.0, ..Spec::new() }
    }

    /// Whether a file has the gate and the other factor in one matrix.
    fn has_both(&self) -> bool {
        matches!(self.family, Family::Jina | Family::JinaCode | Family::Gte)
    }

    /// Whether the model has a matrix of positions.
    fn has_positions(&self) -> bool {
        !self.is_rotary() && !self.has_both() && !self.is_t5() && self.family != Family::Deberta
    }

    /// This model with a head.
    pub fn with_labels(self, labels: usize) -> Self {
        Spec { labels, ..self }
    }

    /// Whether one matrix makes queries, keys and values, and positions are rotations.
    pub fn is_rotary(&self) -> bool {
        matches!(
            self.family,
            Family::Nomic | Family::NomicExperts | Family::ModernBert | Family::Gemma | Family::Gte | Family::Jina3
        )
    }

    /// Whether a layer's tokens attend only to near ones.
    pub fn has_window(&self, layer: usize) -> bool {
        let counted = if self.family == Family::Gemma { layer + 1 } else { layer };
        self.window > 0 && counted % self.every != 0
    }

    /// A layer's matrices with their inputs and outputs.
    fn linears(&self) -> Vec<(&'static str, i64, i64)> {
        let (w, f) = (self.width as i64, self.ffn as i64);
        let (q, kv) = ((self.heads * self.head) as i64, (self.kv_heads * self.head) as i64);
        let mut all = vec![("attn_output", q, w), ("ffn_up", w, f), ("ffn_down", f, w)];
        match self.family {
            Family::NomicExperts | Family::Jina3 => all.push(("attn_qkv", w, 3 * w)),
            Family::Nomic => all.extend([("attn_qkv", w, 3 * w), ("ffn_gate", w, f)]),
            Family::ModernBert => {
                all[1] = ("ffn_up", w, 2 * f);
                all.push(("attn_qkv", w, 3 * w));
            }
            Family::Gemma => {
                all.extend([("attn_q", w, q), ("attn_k", w, kv), ("attn_v", w, kv), ("ffn_gate", w, f)]);
            }
            Family::Gte => {
                all[1] = ("ffn_up", w, 2 * f);
                all.push(("attn_qkv", w, 3 * w));
            }
            Family::Jina | Family::JinaCode => {
                all[1] = ("ffn_up", w, 2 * f);
                all.extend([("attn_q", w, w), ("attn_k", w, w), ("attn_v", w, w)]);
            }
            Family::T5Gated => {
                all.extend([("attn_q", w, q), ("attn_k", w, kv), ("attn_v", w, kv), ("ffn_gate", w, f)]);
            }
            _ => all.extend([("attn_q", w, q), ("attn_k", w, kv), ("attn_v", w, kv)]),
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
        if self.has_positions() {
            matrix(&mut t, "position_embd", &[e, self.positions as i64], of(e));
        }
        if self.types > 0 {
            matrix(&mut t, "token_types", &[e, self.types as i64], of(e));
        }
        if e != w {
            matrix(&mut t, "embeddings_project", &[e, w], of(e));
        }
        if self.family == Family::Deberta {
            matrix(&mut t, "distance_embd", &[w, 2 * self.span as i64], 1.0);
        }
        let (taps, groups) = (self.convolution.0 as i64, self.convolution.1 as i64);
        if taps > 0 {
            matrix(&mut t, "conv", &[taps, w / groups, w], of(taps * w / groups));
        }
        if self.family == Family::Mpnet || self.is_t5() {
            matrix(&mut t, "attn_rel_b", &[self.heads as i64, 32], 3.0);
        }
        for i in 0..self.layers {
            let is_expert = |part: &str| self.has_experts(i) && part.starts_with("ffn_");
            for (part, inputs, outputs) in linears.iter().filter(|(part, ..)| !is_expert(part)) {
                // Without a scale of products, queries are small.
                let small = self.is_t5() && *part == "attn_q";
                let spread = of(*inputs) / if small { (self.head as f64).sqrt() } else { 1.0 };
                matrix(&mut t, &format!("blk.{i}.{part}"), &[*inputs, *outputs], spread);
            }
            if self.has_experts(i) {
                let (f, n) = (self.ffn as i64, self.experts.0 as i64);
                matrix(&mut t, &format!("blk.{i}.ffn_gate_inp"), &[w, n], of(w));
                matrix(&mut t, &format!("blk.{i}.ffn_up_exps"), &[w, f, n], of(w));
                matrix(&mut t, &format!("blk.{i}.ffn_down_exps"), &[f, w, n], of(f));
            }
        }
        if self.labels > 0 {
            matrix(&mut t, "cls", &[w, w], of(w));
            matrix(&mut t, "cls.output", &[w, self.labels as i64], of(w));
        }
        let mut vector = |name: String, n: i64, center: f64| t.add(&mut random, &name, &[n], center, 0.3, DType::F32);
        for i in 0..self.layers {
            for (part, _, outputs) in linears.iter().filter(|_| !self.is_t5()).filter(|_| {
                !self.is_rotary() || matches!(self.family, Family::NomicExperts | Family::Gte | Family::Jina3)
            }) {
                if self.has_experts(i) && part.starts_with("ffn_") {
                    continue;
                }
                if *part == "ffn_up" && self.has_both() {
                    continue;
                }
                vector(format!("blk.{i}.{part}.bias"), *outputs, 0.0);
            }
            if self.has_experts(i) {
                vector(format!("blk.{i}.ffn_exps.bias"), w, 0.0);
            }
            match self.family {
                Family::ModernBert => {
                    let parts: &[&str] = if i > 0 { &["attn_norm", "ffn_norm"] } else { &["ffn_norm"] };
                    parts.iter().for_each(|part| vector(format!("blk.{i}.{part}.weight"), w, 1.0));
                }
                Family::T5 | Family::T5Gated => {
                    for part in ["attn_norm", "ffn_norm"] {
                        vector(format!("blk.{i}.{part}.weight"), w, 1.0);
                    }
                }
                Family::Gemma => {
                    for part in ["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"] {
                        vector(format!("blk.{i}.{part}.weight"), w, 1.0);
                    }
                    for part in ["attn_q_norm", "attn_k_norm"] {
                        vector(format!("blk.{i}.{part}.weight"), self.head as i64, 1.0);
                    }
                }
                _ => {
                    let more: &[&str] = match self.family {
                        Family::JinaCode => &["attn_q_norm", "attn_k_norm", "attn_norm_2"],
                        _ => &[],
                    };
                    for part in ["attn_output_norm", "layer_output_norm"].iter().chain(more) {
                        vector(format!("blk.{i}.{part}.weight"), w, 1.0);
                        vector(format!("blk.{i}.{part}.bias"), w, 0.0);
                    }
                }
            }
        }
        // DeBERTa's follows the product that makes the layers' width.
        let normed = if self.family == Family::Deberta { w } else { e };
        if self.family != Family::Gemma && !self.is_t5() {
            vector("token_embd_norm.weight".into(), normed, 1.0);
        }
        match self.family {
            Family::ModernBert | Family::Gemma | Family::T5 | Family::T5Gated => {
                vector("output_norm.weight".into(), w, 1.0);
            }
            _ => vector("token_embd_norm.bias".into(), normed, 0.0),
        }
        if self.family == Family::Deberta {
            vector("distance_norm.weight".into(), w, 1.0);
            vector("distance_norm.bias".into(), w, 0.0);
        }
        if taps > 0 {
            vector("conv.bias".into(), w, 0.0);
            vector("conv_norm.weight".into(), w, 1.0);
            vector("conv_norm.bias".into(), w, 0.0);
        }
        if e != w && self.family != Family::Deberta {
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
}
