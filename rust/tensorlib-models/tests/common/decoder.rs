//! A decoder in double precision, written for readability: no cache, one token after the other.

use super::latent::Latent;
use super::math::*;
use super::recurrences::{Mamba, ShortConvolution};
use super::rwkv::Rwkv;
use super::streams::AltUp;
use super::tiny::{Random, Tensors};
use std::cell::RefCell;
use std::collections::HashMap;
use tensorlib::DType;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Gate {
    Silu,
    Gelu,
    Relu,
    ReluSquared,
    Oai,
}

/// The neurons whose products are set to 0.
#[derive(Clone, Debug, Default)]
pub enum Left {
    #[default]
    None,
    /// Neurons whose activated gate is below the layer's threshold.
    SmallGates(Vec<f64>),
    /// Neurons whose product is below the layer's threshold.
    SmallProducts(Vec<f64>),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Route {
    Normalised,
    Plain,
    OfUsed,
    Chosen(Choice),
}

/// How scores of experts choose some of them, and make their shares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Choice {
    /// Scores are sigmoids, otherwise a softmax.
    pub sigmoid: bool,
    /// The choice adds `exp_probs_b.bias`.
    pub biased: bool,
    /// Added to the sum by which the scores are divided.
    pub normalised: Option<f64>,
    pub scale: f64,
    /// Groups of experts, how many are used, and of how many best scores a group's is the sum.
    pub groups: Option<(usize, usize, usize)>,
    /// Shares multiply the experts' inputs.
    pub weighs_inputs: bool,
}

/// Layers with a state that changes by the gated delta rule.
#[derive(Clone, Copy, Debug)]
pub struct Delta {
    pub key_heads: usize,
    pub value_heads: usize,
    pub head: usize,
    pub taps: usize,
    pub layers: OfLayer,
    /// Heads of values that share a head of keys are neighbours, and a matrix makes the decays and steps of each head of
    /// keys, as in files of Qwen 3 Next. Otherwise the heads are as far apart as there are heads of keys.
    pub grouped: bool,
}

impl Delta {
    pub fn channels(&self) -> usize {
        (2 * self.key_heads + self.value_heads) * self.head
    }
}

/// The keys and the values of a layer: of each token and head.
type Kept = (Vec<Vec<Row>>, Vec<Vec<Row>>);

/// Which layers have a property.
pub type OfLayer = fn(usize) -> bool;

/// The description of a model. The fields are named like its settings.
#[derive(Clone)]
pub struct Spec {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head: usize,
    pub ffn: usize,
    pub vocabulary: usize,
    pub eps: f64,
    pub neox: bool,
    /// Frequencies of pairs and the factor of rotated values, for all layers and for layers with a window.
    pub frequencies: Vec<f64>,
    pub window_frequencies: Option<Vec<f64>>,
    pub magnitude: f64,
    /// How many pairs turn, if GGUF files say so by factors of frequencies.
    pub turning_pairs: Option<usize>,
    pub window: Option<(usize, OfLayer)>,
    /// The windows are chunks.
    pub chunks: bool,
    /// Which layers rotate queries and keys.
    pub rotated: OfLayer,
    /// How much queries grow, and after how many positions each.
    pub temperature: Option<(f64, usize)>,
    /// Only in layers that do not rotate, and counted from 1.
    pub unrotated_temperature: bool,
    pub attention_scale: f64,
    pub attention_cap: f64,
    pub final_cap: f64,
    pub embedding_scale: f64,
    pub residual_scale: f64,
    pub logit_scale: f64,
    pub gate: Gate,
    /// Heads of keys and elements of a head in layers with a window, if they differ.
    pub window_heads: Option<(usize, usize)>,
    /// The last layers, as many as this, read the keys and values of the last layer of their kind before them.
    pub sharing: usize,
    /// Layers without a window have no matrix for values.
    pub keys_as_values: bool,
    pub value_norms: bool,
    /// Layers that read others' keys have twice the neurons.
    pub wide: bool,
    /// Elements of the vectors that layers get in addition.
    pub layer_inputs: Option<usize>,
    pub altup: Option<AltUp>,
    pub output_factors: bool,
    /// A block without experts next to that with experts.
    pub mixed: bool,
    /// Feed-forward blocks have gates.
    pub gated: bool,
    /// The number of experts, how many are used, and the elements in between.
    pub experts: Option<(usize, usize, usize, Route)>,
    /// The neurons of an expert that all tokens use, and whether its result has a gate.
    pub shared: Option<usize>,
    pub shared_gate: bool,
    /// Elements of what experts get and give, if they are narrower than the layers.
    pub expert_width: Option<usize>,
    /// The first layers, as many as this, have no experts.
    pub dense_layers: usize,
    /// The other layers that have experts.
    pub expert_layers: OfLayer,
    pub latent: Option<Latent>,
    pub delta: Option<Delta>,
    pub short_convolution: Option<ShortConvolution>,
    /// Layers may have these next to attention.
    pub mamba: Option<Mamba>,
    /// All layers have time and channel mixing.
    pub rwkv: Option<Rwkv>,
    pub attention_layers: OfLayer,
    pub ffn_layers: OfLayer,
    /// The factors of attention's input, of its result and of keys, of gates, and of the feed-forward block's result.
    pub attention_factors: [f64; 2],
    pub key_factor: f64,
    pub ffn_factors: [f64; 2],
    /// The matrix of a head's queries also makes gates of its results.
    pub gated_attention: bool,
    pub fused: bool,
    pub fused_ffn: bool,
    pub biases: bool,
    pub all_biases: bool,
    pub head_norms: bool,
    /// They come after the rotation.
    pub late_head_norms: bool,
    /// Norms of heads without weights, after the rotation, in layers that rotate.
    pub plain_norms: bool,
    /// Norms of all heads together.
    pub whole_norms: bool,
    /// A norm of each head.
    pub own_norms: bool,
    pub pre_norms: bool,
    pub post_norms: bool,
    /// Both blocks take one norm's result.
    pub parallel: bool,
    /// Norms by the variance, and whether they have biases.
    pub variance_norms: bool,
    pub norm_biases: bool,
    /// The stored numbers of each layer's xIELU: alpha_n, alpha_p, beta and eps.
    pub xielu: Option<fn(usize) -> [f32; 4]>,
    pub sinks: bool,
    /// Norms of what attention gives and of neurons, before the last matrix.
    pub inner_norms: bool,
    pub ffn_norm: &'static str,
    pub output_norm: &'static str,
    pub tied: bool,
    pub left: Left,
    /// The values that feed() has observed: layer, activated gates, products.
    pub seen: RefCell<Vec<(usize, Row, Row)>>,
    /// What was multiplied with each matrix: the sums of squares of its elements, and their number, by the number of the
    /// expert.
    pub inputs: RefCell<HashMap<(String, usize), (Row, u64)>>,
}

impl Spec {
    /// Llama's settings, with small numbers.
    pub fn new() -> Self {
        Spec {
            layers: 3,
            width: 64,
            heads: 4,
            kv_heads: 2,
            head: 16,
            ffn: 96,
            vocabulary: 61,
            eps: 1e-5,
            neox: false,
            frequencies: frequencies(10_000.0, 16),
            window_frequencies: None,
            magnitude: 1.0,
            turning_pairs: None,
            window: None,
            chunks: false,
            rotated: |_| true,
            temperature: None,
            unrotated_temperature: false,
            attention_scale: 0.25,
            attention_cap: 0.0,
            final_cap: 0.0,
            embedding_scale: 1.0,
            residual_scale: 1.0,
            logit_scale: 1.0,
            gate: Gate::Silu,
            window_heads: None,
            sharing: 0,
            keys_as_values: false,
            value_norms: false,
            wide: false,
            layer_inputs: None,
            altup: None,
            output_factors: false,
            mixed: false,
            gated: true,
            experts: None,
            shared: None,
            shared_gate: true,
            expert_width: None,
            dense_layers: 0,
            expert_layers: |_| true,
            latent: None,
            delta: None,
            short_convolution: None,
            mamba: None,
            rwkv: None,
            attention_layers: |_| true,
            ffn_layers: |_| true,
            attention_factors: [1.0; 2],
            key_factor: 1.0,
            ffn_factors: [1.0; 2],
            gated_attention: false,
            fused: false,
            fused_ffn: false,
            biases: false,
            all_biases: false,
            head_norms: false,
            late_head_norms: false,
            plain_norms: false,
            whole_norms: false,
            own_norms: false,
            pre_norms: true,
            post_norms: false,
            parallel: false,
            variance_norms: false,
            norm_biases: false,
            xielu: None,
            sinks: false,
            inner_norms: false,
            ffn_norm: "ffn_norm",
            output_norm: "output_norm",
            tied: false,
            left: Left::None,
            seen: RefCell::default(),
            inputs: RefCell::default(),
        }
    }

    /// Random weights: matrices of this type, everything else F32.
    pub fn tensors(&self, seed: u64, dtype: DType) -> Tensors {
        let (mut random, mut t) = (Random(seed), Tensors::default());
        self.add_matrices(&mut random, &mut t, dtype);
        self.add_vectors(&mut random, &mut t);
        t
    }

    /// The widths of all queries and all keys of a layer.
    fn widths(&self, layer: usize) -> (i64, i64) {
        let (kv_heads, head) = self.heads_of(layer);
        ((self.heads * head) as i64, (kv_heads * head) as i64)
    }

    fn is_windowed(&self, layer: usize) -> bool {
        self.window.is_some_and(|(_, of)| of(layer))
    }

    /// Heads of keys, and elements of a head.
    fn heads_of(&self, layer: usize) -> (usize, usize) {
        self.window_heads.filter(|_| self.is_windowed(layer)).unwrap_or((self.kv_heads, self.head))
    }

    /// The layer whose keys and values a layer reads.
    fn source_of(&self, layer: usize) -> usize {
        let own = self.layers - self.sharing;
        match layer < own {
            true => layer,
            false => (0..own).rfind(|i| self.is_windowed(*i) == self.is_windowed(layer)).unwrap(),
        }
    }

    fn ffn_of(&self, layer: usize) -> usize {
        match self.wide && layer >= self.layers - self.sharing {
            true => 2 * self.ffn,
            false => self.ffn,
        }
    }

    fn add_matrices(&self, random: &mut Random, t: &mut Tensors, dtype: DType) {
        let (w, v) = (self.width as i64, self.vocabulary as i64);
        let mut matrix = |name: &str, shape: &[i64]| {
            t.add(random, &format!("{name}.weight"), shape, 0.0, 3f64.sqrt() / (shape[0] as f64).sqrt(), dtype);
        };
        matrix("token_embd", &[w, v]);
        if !self.tied {
            matrix("output", &[w, v]);
        }
        if let Some(own) = self.layer_inputs {
            let all = (own * self.layers) as i64;
            matrix("per_layer_token_embd", &[all, v]);
            matrix("per_layer_model_proj", &[w, all]);
        }
        if let Some(altup) = self.altup {
            let others = altup.streams as i64 - 1;
            matrix("altup_proj", &[w, w, others]);
            matrix("altup_unembd_proj", &[w, w, others]);
        }
        for i in 0..self.layers {
            let name = |part: &str| format!("blk.{i}.{part}");
            let ((q, kv), f) = (self.widths(i), self.ffn_of(i) as i64);
            if let Some(rwkv) = self.rwkv {
                self.rwkv_matrices(rwkv, i).iter().for_each(|(part, shape)| matrix(&name(part), shape));
                if rwkv.mixes_channels {
                    continue;
                }
            }
            if let Some(own) = self.layer_inputs {
                matrix(&name("inp_gate"), &[w, own as i64]);
                matrix(&name("proj"), &[own as i64, w]);
            }
            if let Some(altup) = self.altup {
                self.altup_matrices(altup).iter().for_each(|(part, shape)| matrix(&name(part), shape));
            }
            if let Some(delta) = self.delta_of(i) {
                let (values, heads) = ((delta.value_heads * delta.head) as i64, delta.value_heads as i64);
                matrix(&name("attn_qkv"), &[w, delta.channels() as i64]);
                matrix(&name("attn_gate"), &[w, values]);
                if delta.grouped {
                    matrix(&name("ssm_ba"), &[w, 2 * heads]);
                } else {
                    matrix(&name("ssm_alpha"), &[w, heads]);
                    matrix(&name("ssm_beta"), &[w, heads]);
                }
                matrix(&name("ssm_out"), &[values, w]);
            } else if self.short_convolution_of(i).is_some() {
                matrix(&name("shortconv.in_proj"), &[w, 3 * w]);
                matrix(&name("shortconv.out_proj"), &[w, w]);
            } else if !(self.attention_layers)(i) {
            } else if let Some(latent) = self.latent {
                self.latent_matrices(latent).iter().for_each(|(part, shape)| matrix(&name(part), shape));
            } else if self.fused {
                matrix(&name("attn_qkv"), &[w, q + 2 * kv]);
                matrix(&name("attn_output"), &[q, w]);
            } else {
                matrix(&name("attn_q"), &[w, if self.gated_attention { 2 * q } else { q }]);
                if self.source_of(i) == i {
                    matrix(&name("attn_k"), &[w, kv]);
                    if !self.keys_as_values || self.is_windowed(i) {
                        matrix(&name("attn_v"), &[w, kv]);
                    }
                }
                matrix(&name("attn_output"), &[q, w]);
            }
            if let Some(mamba) = self.mamba_of(i) {
                self.mamba_matrices(mamba).iter().for_each(|(part, shape)| matrix(&name(part), shape));
            }
            if self.mixed {
                matrix(&name("ffn_gate"), &[w, f]);
                matrix(&name("ffn_up"), &[w, f]);
                matrix(&name("ffn_down"), &[f, w]);
            }
            if let Some((count, _, f, _)) = self.experts_of(i) {
                let (count, f) = (count as i64, f as i64);
                matrix(&name("ffn_gate_inp"), &[w, count]);
                let narrow = self.expert_width.map_or(w, |narrow| narrow as i64);
                if narrow != w {
                    matrix(&name("ffn_latent_down"), &[w, narrow]);
                    matrix(&name("ffn_latent_up"), &[narrow, w]);
                }
                if self.gated {
                    matrix(&name("ffn_gate_exps"), &[narrow, f, count]);
                }
                matrix(&name("ffn_up_exps"), &[narrow, f, count]);
                matrix(&name("ffn_down_exps"), &[f, narrow, count]);
                if let Some(f) = self.shared {
                    if self.gated {
                        matrix(&name("ffn_gate_shexp"), &[w, f as i64]);
                    }
                    matrix(&name("ffn_up_shexp"), &[w, f as i64]);
                    matrix(&name("ffn_down_shexp"), &[f as i64, w]);
                    if self.shared_gate {
                        matrix(&name("ffn_gate_inp_shexp"), &[w]);
                    }
                }
            } else if !(self.ffn_layers)(i) {
            } else if self.fused_ffn {
                matrix(&name("ffn_up"), &[w, 2 * f]);
                matrix(&name("ffn_down"), &[f, w]);
            } else {
                if self.gated {
                    matrix(&name("ffn_gate"), &[w, f]);
                }
                matrix(&name("ffn_up"), &[w, f]);
                matrix(&name("ffn_down"), &[f, w]);
            }
        }
    }

    fn add_vectors(&self, random: &mut Random, t: &mut Tensors) {
        let w = self.width as i64;
        if let Some(pairs) = self.turning_pairs {
            let factors: Vec<f32> = (0..self.head / 2).map(|i| if i < pairs { 1.0 } else { 1e30 }).collect();
            t.add_values("rope_freqs.weight", &factors);
        }
        let mut vector =
            |name: String, shape: &[i64], center: f64| t.add(random, &name, shape, center, 0.3, DType::F32);
        vector(format!("{}.weight", self.output_norm), &[w], 1.0);
        if self.norm_biases {
            vector("output_norm.bias".into(), &[w], 0.0);
        }
        if let Some(own) = self.layer_inputs {
            vector("per_layer_proj_norm.weight".into(), &[own as i64], 1.0);
        }
        for i in 0..self.layers {
            let name = |part: &str| format!("blk.{i}.{part}");
            let ((q, kv), head) = (self.widths(i), self.heads_of(i).1 as i64);
            if self.layer_inputs.is_some() {
                vector(name("post_norm.weight"), &[w], 1.0);
            }
            if self.output_factors {
                vector(name("layer_output_scale.weight"), &[1], 0.8);
            }
            if let (true, Some((count, ..))) = (self.mixed, self.experts) {
                vector(name("post_ffw_norm_1.weight"), &[w], 1.0);
                vector(name("post_ffw_norm_2.weight"), &[w], 1.0);
                vector(name("pre_ffw_norm_2.weight"), &[w], 1.0);
                vector(name("ffn_gate_inp.scale"), &[w], 1.0);
                vector(name("ffn_down_exps.scale"), &[count as i64], 1.0);
            }
            if self.pre_norms {
                vector(name("attn_norm.weight"), &[w], 1.0);
            }
            if self.pre_norms && !self.parallel && (self.ffn_layers)(i) && self.mixes(i) {
                vector(name(&format!("{}.weight", self.ffn_norm)), &[w], 1.0);
            }
            if self.norm_biases {
                vector(name("attn_norm.bias"), &[w], 0.0);
            }
            if self.norm_biases && !self.parallel {
                vector(name(&format!("{}.bias", self.ffn_norm)), &[w], 0.0);
            }
            if let Some(delta) = self.delta_of(i) {
                let (heads, head) = (delta.value_heads as i64, delta.head as i64);
                vector(name("ssm_conv1d.weight"), &[delta.taps as i64, delta.channels() as i64], 0.2);
                vector(name("ssm_dt.bias"), &[heads], 0.5);
                vector(name("ssm_a"), &[heads], -0.8);
                vector(name("ssm_norm.weight"), &[head], 1.0);
            } else if self.short_convolution_of(i).is_some() {
            } else if self.whole_norms {
                vector(name("attn_q_norm.weight"), &[q], 1.0);
                vector(name("attn_k_norm.weight"), &[kv], 1.0);
            } else if self.own_norms {
                vector(name("attn_q_norm.weight"), &[head, self.heads as i64], 1.0);
                vector(name("attn_k_norm.weight"), &[head, self.heads_of(i).0 as i64], 1.0);
            } else if self.head_norms {
                // Products of queries and keys that nothing scales are small in trained models, too.
                let center = if self.attention_scale == 1.0 { 0.3 } else { 1.0 };
                vector(name("attn_q_norm.weight"), &[head], center);
                if self.source_of(i) == i {
                    vector(name("attn_k_norm.weight"), &[head], 1.0);
                }
            }
            if self.post_norms {
                vector(name("post_attention_norm.weight"), &[w], 1.0);
                vector(name("post_ffw_norm.weight"), &[w], 1.0);
            }
            if self.biases || self.all_biases {
                vector(name("attn_q.bias"), &[q], 0.0);
                vector(name("attn_k.bias"), &[kv], 0.0);
                vector(name("attn_v.bias"), &[kv], 0.0);
            }
            if self.all_biases && self.experts.is_none() {
                vector(name("attn_output.bias"), &[w], 0.0);
                vector(name("ffn_up.bias"), &[self.ffn as i64], 0.0);
                vector(name("ffn_down.bias"), &[w], 0.0);
            }
            if let (true, Some((count, _, f, _))) = (self.all_biases, self.experts) {
                let (count, f) = (count as i64, f as i64);
                vector(name("attn_output.bias"), &[w], 0.0);
                vector(name("ffn_gate_inp.bias"), &[count], 0.0);
                vector(name("ffn_gate_exps.bias"), &[f, count], 0.0);
                vector(name("ffn_up_exps.bias"), &[f, count], 0.0);
                vector(name("ffn_down_exps.bias"), &[w, count], 0.0);
            }
            if self.inner_norms {
                vector(name("attn_sub_norm.weight"), &[q], 1.0);
                vector(name("ffn_sub_norm.weight"), &[self.ffn as i64], 1.0);
            }
            if self.sinks {
                vector(name("attn_sinks.weight"), &[self.heads as i64], 0.0);
            }
            if let Some((count, _, _, Route::Chosen(Choice { biased: true, .. }))) = self.experts_of(i) {
                vector(name("exp_probs_b.bias"), &[count as i64], 0.0);
            }
        }
        if let Some(altup) = self.altup {
            self.add_altup_vectors(random, t, altup);
        }
        if let Some(rwkv) = self.rwkv {
            self.add_rwkv_vectors(random, t, rwkv);
        }
        for i in 0..self.layers {
            if let Some(of) = self.short_convolution_of(i) {
                self.add_short_convolution(random, t, i, of);
            }
            if let Some(latent) = self.latent {
                self.add_latent_norms(random, t, i, latent);
            }
            if let Some(mamba) = self.mamba_of(i) {
                self.add_mamba(random, t, i, mamba);
            }
        }
    }

    /// The logits after each of these tokens.
    pub fn logits(&self, t: &Tensors, tokens: &[u32]) -> Vec<Row> {
        let embedding = rows(t.get("token_embd.weight"), self.width);
        let mut xs: Vec<Row> = tokens
            .iter()
            .map(|id| embedding[*id as usize].iter().map(|x| x * self.embedding_scale).collect())
            .collect();
        if t.find("token_embd_norm.weight").is_some() && self.rwkv.is_some() {
            xs.iter_mut().for_each(|x| *x = self.norm(t, "token_embd_norm", x));
        }
        let vectors: Vec<Row> = tokens.iter().zip(&xs).map(|(id, x)| self.layer_vectors(t, *id, x)).collect();
        let mut streams: Vec<Vec<Row>> =
            xs.iter().map(|x| self.altup.map_or_else(Vec::new, |altup| self.divided(t, altup, x))).collect();
        let (mut kept, mut first_values) = (HashMap::new(), Vec::new());
        for i in 0..self.layers {
            if let Some(altup) = self.altup {
                streams.iter_mut().for_each(|streams| *streams = self.predicted(t, i, altup, streams));
                xs = streams.iter().map(|streams| streams[altup.active].clone()).collect();
            }
            let name = |part: &str| format!("blk.{i}.{part}");
            let before = |part: &str, x: &Row| if self.pre_norms { self.norm(t, &name(part), x) } else { x.clone() };
            let after = |part: &str, x: Row| if self.post_norms { self.norm(t, &name(part), &x) } else { x };
            let inputs: Vec<Row> = xs.iter().map(|x| before("attn_norm", x)).collect();
            let mut attended = match (self.delta_of(i), self.short_convolution_of(i)) {
                _ if self.rwkv.is_some() => self.time_mix(t, i, &inputs, &mut first_values),
                _ if !(self.attention_layers)(i) => vec![vec![0.0; self.width]; xs.len()],
                (Some(delta), _) => self.recurrence(t, i, delta, &inputs),
                (_, Some(_)) => self.convolve(t, i, &inputs),
                _ if self.latent.is_some() => self.latent_attention(t, i, self.latent.unwrap(), &inputs),
                _ => self.attention(t, i, &inputs, &mut kept),
            };
            if let Some(mamba) = self.mamba_of(i) {
                let scanned = self.scan(t, i, mamba, &inputs);
                attended.iter_mut().zip(scanned).for_each(|(a, s)| *a = sum(a, &s));
            }
            let mut last = vec![0.0; self.width];
            let of_tokens = xs.iter_mut().zip(attended).zip(inputs).zip(&vectors).zip(&mut streams);
            for ((((x, a), input), vectors), streams) in of_tokens {
                *x = sum(x, &scaled(&after("post_attention_norm", a), self.residual_scale));
                if self.altup.is_some() {
                    *x = self.joined(t, i, &input, x);
                }
                if !(self.ffn_layers)(i) {
                    continue;
                }
                let ffn_norm = if self.mixes(i) { self.ffn_norm } else { "attn_norm" };
                let input = if self.parallel { input } else { before(ffn_norm, x) };
                let f = match self.experts_of(i) {
                    Some(_) if self.mixed => self.both_blocks(t, i, x, &input),
                    Some(_) => self.mixture(t, i, &input, &input),
                    None if self.rwkv.is_some_and(|rwkv| rwkv.mixes_channels) => {
                        let mixed = self.channel_mix(t, i, &input, &last);
                        last = input;
                        mixed
                    }
                    None => self.feed(t, i, &input),
                };
                *x = sum(x, &scaled(&after("post_ffw_norm", f), self.residual_scale));
                let own = self.layer_inputs.map(|own| &vectors[i * own..(i + 1) * own]);
                match (self.altup, own) {
                    (Some(altup), Some(own)) => self.correct(t, i, altup, streams, (x, own)),
                    (None, Some(own)) => *x = sum(x, &self.layer_input(t, i, x, own)),
                    _ => {}
                }
                if self.output_factors {
                    *x = scaled(x, t.get(&name("layer_output_scale.weight"))[0]);
                }
            }
        }
        if let Some(altup) = self.altup {
            xs = streams.iter().map(|streams| self.merged(t, altup, streams)).collect();
        }
        let output = t.find("output.weight").unwrap_or_else(|| t.get("token_embd.weight"));
        let last = |x: &Row| {
            let logits = product(output, &self.norm(t, self.output_norm, x));
            logits.into_iter().map(|x| capped(x * self.logit_scale, self.final_cap)).collect()
        };
        xs.iter().map(last).collect()
    }

    /// What a layer's part of the vectors adds by way of x.
    pub fn layer_input(&self, t: &Tensors, layer: usize, x: &[f64], own: &[f64]) -> Row {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let hidden = self.activated(&self.linear(t, &name("inp_gate"), x), own);
        self.norm(t, &name("post_norm"), &self.linear(t, &name("proj"), &hidden))
    }

    /// What all layers get for a token, whose scaled embedding is x.
    fn layer_vectors(&self, t: &Tensors, id: u32, x: &[f64]) -> Row {
        let Some(own) = self.layer_inputs else { return Row::new() };
        let table = rows(t.get("per_layer_token_embd.weight"), own * self.layers)[id as usize];
        let projected: Row = product(t.get("per_layer_model_proj.weight"), x);
        let projected: Row = projected.iter().map(|x| x / (self.width as f64).sqrt()).collect();
        let norm = t.get("per_layer_proj_norm.weight");
        let normed = projected.chunks(own).flat_map(|part| rms_norm(part, norm, self.eps));
        normed.zip(table).map(|(p, t)| (p + t * (own as f64).sqrt()) / 2f64.sqrt()).collect()
    }

    /// Both blocks of a layer, each with its norms: `normed` is the norm of x.
    fn both_blocks(&self, t: &Tensors, layer: usize, x: &[f64], normed: &[f64]) -> Row {
        let norm = |part: &str, x: &[f64]| rms_norm(x, t.get(&format!("blk.{layer}.{part}.weight")), self.eps);
        let scale = t.get(&format!("blk.{layer}.ffn_gate_inp.scale"));
        let plain = rms_norm(x, &vec![1.0; x.len()], self.eps);
        let routed: Row = plain.iter().zip(scale).map(|(x, s)| x * s / (self.width as f64).sqrt()).collect();
        let experts = self.mixture(t, layer, &norm("pre_ffw_norm_2", x), &routed);
        sum(&norm("post_ffw_norm_1", &self.feed(t, layer, normed)), &norm("post_ffw_norm_2", &experts))
    }

    fn norm(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        let bias = t.find(&format!("{name}.bias")).map_or_else(|| vec![0.0; x.len()], <[f64]>::to_vec);
        self.norm_by(x, t.get(&format!("{name}.weight")), &bias)
    }

    fn norm_by(&self, x: &[f64], weight: &[f64], bias: &[f64]) -> Row {
        match self.variance_norms {
            true => layer_norm(x, weight, bias, self.eps),
            false => rms_norm(x, weight, self.eps),
        }
    }

    /// Whether a layer has attention or a state.
    fn mixes(&self, layer: usize) -> bool {
        (self.attention_layers)(layer) || self.mamba_of(layer).is_some() || self.rwkv.is_some()
    }

    fn experts_of(&self, layer: usize) -> Option<(usize, usize, usize, Route)> {
        self.experts.filter(|_| layer >= self.dense_layers && (self.expert_layers)(layer) && (self.ffn_layers)(layer))
    }

    fn delta_of(&self, layer: usize) -> Option<Delta> {
        self.delta.filter(|delta| (delta.layers)(layer))
    }

    /// The gated delta rule of each head, and before it a convolution over the last tokens.
    fn recurrence(&self, t: &Tensors, layer: usize, delta: Delta, xs: &[Row]) -> Vec<Row> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let Delta { key_heads, value_heads, head, taps, .. } = delta;
        let projected: Vec<Row> = xs.iter().map(|x| self.linear(t, &name("attn_qkv"), x)).collect();
        let kernel = t.get(&name("ssm_conv1d.weight"));
        let (bias, factor) = (t.get(&name("ssm_dt.bias")), t.get(&name("ssm_a")));
        let mut states = vec![vec![vec![0.0; head]; head]; value_heads];
        let mut outs = Vec::new();
        for (i, x) in xs.iter().enumerate() {
            let mixed = |channel: usize| {
                let tap = |back: usize| projected.get(i.wrapping_sub(back)).map_or(0.0, |row| row[channel]);
                silu((0..taps).map(|j| kernel[channel * taps + j] * tap(taps - 1 - j)).sum())
            };
            let part = |first: usize| -> Row { (first * head..(first + 1) * head).map(mixed).collect() };
            let unit = |first: usize| -> Row {
                let row = part(first);
                let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                row.iter().map(|x| x / length).collect()
            };
            let per_key = value_heads / key_heads;
            let (alpha, beta) = match delta.grouped {
                true => {
                    let both = self.linear(t, &name("ssm_ba"), x);
                    let part = |first| -> Row {
                        both.chunks(2 * per_key).flat_map(|key| &key[first..first + per_key]).copied().collect()
                    };
                    (part(per_key), part(0))
                }
                false => (self.linear(t, &name("ssm_alpha"), x), self.linear(t, &name("ssm_beta"), x)),
            };
            let gate = self.linear(t, &name("attn_gate"), x);
            let mut all = Vec::new();
            for h in 0..value_heads {
                let key = if delta.grouped { h / per_key } else { h % key_heads };
                let (q, k) = (unit(key), unit(key_heads + key));
                let v = part(2 * key_heads + h);
                let decay = (factor[h] * (1.0 + (alpha[h] + bias[h]).exp()).ln()).exp();
                let step = 1.0 / (1.0 + (-beta[h]).exp());
                let mut out = Vec::new();
                for (row, v) in states[h].iter_mut().zip(v) {
                    row.iter_mut().for_each(|m| *m *= decay);
                    let known: f64 = row.iter().zip(&k).map(|(m, k)| m * k).sum();
                    row.iter_mut().zip(&k).for_each(|(m, k)| *m += step * (v - known) * k);
                    out.push(row.iter().zip(&q).map(|(m, q)| m * q).sum::<f64>() / (head as f64).sqrt());
                }
                let normed = rms_norm(&out, t.get(&name("ssm_norm.weight")), self.eps);
                all.extend(normed.iter().zip(&gate[h * head..]).map(|(o, g)| o * silu(*g)));
            }
            outs.push(self.linear(t, &name("ssm_out"), &all));
        }
        outs
    }

    /// Adds the squares of what is multiplied with a matrix.
    fn saw(&self, name: &str, expert: usize, x: &[f64]) {
        let mut inputs = self.inputs.borrow_mut();
        let (squares, count) = inputs.entry((format!("{name}.weight"), expert)).or_default();
        squares.resize(x.len(), 0.0);
        squares.iter_mut().zip(x).for_each(|(square, x)| *square += x * x);
        *count += 1;
    }

    pub fn linear(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        self.saw(name, 0, x);
        let y = product(t.get(&format!("{name}.weight")), x);
        t.find(&format!("{name}.bias")).map_or_else(|| y.clone(), |bias| sum(&y, bias))
    }

    fn attention(&self, t: &Tensors, layer: usize, xs: &[Row], kept: &mut HashMap<usize, Kept>) -> Vec<Row> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let ((kv_heads, head), has_keys) = (self.heads_of(layer), self.source_of(layer) == layer);
        let (q_n, kv_n) = (self.heads * head, kv_heads * head);
        let windowed = self.window.filter(|(_, of)| of(layer)).map(|(keys, _)| keys);
        let (mut qs, mut ks, mut vs, mut gates) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (position, x) in xs.iter().enumerate() {
            let x = &scaled(x, self.attention_factors[0]);
            let (q, k, v) = if self.fused {
                let all = self.linear(t, &name("attn_qkv"), x);
                (all[..q_n].to_vec(), all[q_n..q_n + kv_n].to_vec(), all[q_n + kv_n..].to_vec())
            } else {
                let of = |part: &str| match t.find(&name(&format!("{part}.weight"))) {
                    Some(_) => self.linear(t, &name(part), x),
                    None => Row::new(),
                };
                let k = of("attn_k");
                let is_value = self.keys_as_values && !self.is_windowed(layer);
                (of("attn_q"), k.clone(), if is_value { k } else { of("attn_v") })
            };
            let (q, gate): (Row, Row) = match self.gated_attention {
                true => {
                    let part = |first: usize| {
                        q.chunks(2 * head).flat_map(|both| &both[first..first + head]).copied().collect()
                    };
                    (part(0), part(head))
                }
                false => (q, Vec::new()),
            };
            gates.push(gate);
            let turn = |heads: Row, norm: &str| -> Vec<Row> {
                let frequencies =
                    self.window_frequencies.as_ref().filter(|_| windowed.is_some()).unwrap_or(&self.frequencies);
                let weight = t.find(&format!("blk.{layer}.{norm}.weight"));
                let heads = match weight {
                    Some(weight) if self.whole_norms => self.norm_by(&heads, weight, &vec![0.0; heads.len()]),
                    _ => heads,
                };
                let normed = |h: usize, x: &[f64]| match weight {
                    Some(weight) if !self.whole_norms => {
                        let first = if self.own_norms { h * head } else { 0 };
                        self.norm_by(x, &weight[first..first + head], &vec![0.0; head])
                    }
                    _ => x.to_vec(),
                };
                let rotated = |x: &[f64]| match (self.rotated)(layer) {
                    true => self.turned(x, position, frequencies),
                    false => x.to_vec(),
                };
                let placed = |(h, x): (usize, &[f64])| match self.late_head_norms {
                    true => normed(h, &rotated(x)),
                    false if self.plain_norms && (self.rotated)(layer) => {
                        rms_norm(&rotated(x), &vec![1.0; head], self.eps)
                    }
                    false => rotated(&normed(h, x)),
                };
                heads.chunks(head).enumerate().map(placed).collect()
            };
            let grows = !self.unrotated_temperature || !(self.rotated)(layer);
            let factor = if grows { self.temperature_at(position) } else { 1.0 };
            qs.push(turn(q, "attn_q_norm").iter().map(|q| scaled(q, factor)).collect::<Vec<Row>>());
            ks.push(turn(scaled(&k, self.key_factor), "attn_k_norm"));
            let value = |v: &[f64]| match self.value_norms {
                true => rms_norm(v, &vec![1.0; v.len()], self.eps),
                false => v.to_vec(),
            };
            vs.push(v.chunks(head).map(value).collect::<Vec<Row>>());
        }
        if has_keys {
            kept.insert(layer, (ks, vs));
        }
        let (ks, vs) = &kept[&self.source_of(layer)];
        let mut outs = Vec::new();
        for (i, q) in qs.iter().enumerate() {
            let of_window = |keys: usize| if self.chunks { i / keys * keys } else { (i + 1).saturating_sub(keys) };
            let first = windowed.map_or(0, of_window);
            let mut all = Vec::new();
            for (h, q) in q.iter().enumerate() {
                let kv = h / (self.heads / kv_heads);
                let dot = |k: &Vec<Row>| k[kv].iter().zip(q).map(|(a, b)| a * b).sum::<f64>() * self.attention_scale;
                let logits: Row = ks[first..=i].iter().map(|k| capped(dot(k), self.attention_cap)).collect();
                let sink = self.sinks.then(|| t.get(&name("attn_sinks.weight"))[h]);
                let weights = softmax(&logits, sink);
                for d in 0..head {
                    all.push(weights.iter().zip(&vs[first..=i]).map(|(w, v)| w * v[kv][d]).sum());
                }
            }
            all.iter_mut().zip(&gates[i]).for_each(|(a, g): (&mut f64, &f64)| *a /= 1.0 + (-g).exp());
            if self.inner_norms {
                all = rms_norm(&all, t.get(&name("attn_sub_norm.weight")), self.eps);
            }
            outs.push(scaled(&self.linear(t, &name("attn_output"), &all), self.attention_factors[1]));
        }
        outs
    }

    /// The factor of a query at this position.
    pub fn temperature_at(&self, position: usize) -> f64 {
        let position = position + usize::from(self.unrotated_temperature);
        self.temperature.map_or(1.0, |(growth, tokens)| 1.0 + growth * (1.0 + (position / tokens) as f64).ln())
    }

    /// Rotates pairs by the position's angles.
    pub fn turned(&self, x: &[f64], position: usize, frequencies: &[f64]) -> Row {
        let (mut y, half) = (x.to_vec(), frequencies.len());
        for (k, frequency) in frequencies.iter().enumerate() {
            let (a, b) = if self.neox { (k, k + half) } else { (2 * k, 2 * k + 1) };
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            y[a] = self.magnitude * (x[a] * cos - x[b] * sin);
            y[b] = self.magnitude * (x[a] * sin + x[b] * cos);
        }
        y
    }

    fn activated(&self, gate: &[f64], up: &[f64]) -> Row {
        let of = |(g, u): (&f64, &f64)| match self.gate {
            Gate::Silu => silu(*g) * u,
            Gate::Gelu => gelu(*g) * u,
            Gate::Relu => g.max(0.0) * u,
            Gate::ReluSquared => g.max(0.0) * g.max(0.0) * u,
            Gate::Oai => {
                let (g, u) = (g.min(7.0), u.clamp(-7.0, 7.0));
                g / (1.0 + (-1.702 * g).exp()) * (u + 1.0)
            }
        };
        gate.iter().zip(up).map(of).collect()
    }

    fn feed(&self, t: &Tensors, layer: usize, x: &[f64]) -> Row {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let up = self.linear(t, &name("ffn_up"), x);
        if !self.gated {
            let hidden = match self.xielu {
                Some(numbers) => up.iter().map(|x| xielu(*x, numbers(layer).map(f64::from))).collect(),
                None => self.activated(&up, &vec![1.0; up.len()]),
            };
            return self.linear(t, &name("ffn_down"), &hidden);
        }
        let (gate, up) = match self.fused_ffn {
            true => (up[..self.ffn].to_vec(), up[self.ffn..].to_vec()),
            false => (scaled(&self.linear(t, &name("ffn_gate"), x), self.ffn_factors[0]), up),
        };
        let gate = self.cut(layer, gate);
        let mut hidden = self.activated(&gate, &up);
        if self.gate != Gate::Oai {
            let gates = self.activated(&gate, &vec![1.0; gate.len()]);
            let (tested, threshold) = match &self.left {
                Left::None => (&gates, 0.0),
                Left::SmallGates(thresholds) => (&gates, thresholds[layer]),
                Left::SmallProducts(thresholds) => (&hidden.clone(), thresholds[layer]),
            };
            hidden.iter_mut().zip(tested).filter(|(_, s)| s.abs() < threshold).for_each(|(h, _)| *h = 0.0);
            self.seen.borrow_mut().push((layer, gates.clone(), hidden.clone()));
        }
        if self.inner_norms {
            hidden = rms_norm(&hidden, t.get(&name("ffn_sub_norm.weight")), self.eps);
        }
        let Some(down_t) = t.find(&name("ffn_down_t.weight")) else {
            return scaled(&self.linear(t, &name("ffn_down"), &hidden), self.ffn_factors[1]);
        };
        let mut out = vec![0.0; self.width];
        for (h, row) in hidden.iter().zip(down_t.chunks(self.width)) {
            out.iter_mut().zip(row).for_each(|(o, w)| *o += h * w);
        }
        out
    }

    fn mixture(&self, t: &Tensors, layer: usize, x: &[f64], routed: &[f64]) -> Row {
        let (count, used, f, route) = self.experts.unwrap();
        let name = |part: &str| format!("blk.{layer}.{part}");
        let logits = self.linear(t, &name("ffn_gate_inp"), routed);
        let of_all = softmax(&logits, None);
        let scores: Row = match route {
            Route::Chosen(Choice { sigmoid: true, .. }) => logits.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect(),
            _ => of_all.clone(),
        };
        let bias = t.find(&name("exp_probs_b.bias"));
        let chosen_by: Row = scores.iter().enumerate().map(|(e, s)| s + bias.map_or(0.0, |bias| bias[e])).collect();
        let mut order: Vec<usize> = (0..count).collect();
        if let Route::Chosen(Choice { groups: Some((groups, used, best)), .. }) = route {
            let of_group = count / groups;
            let score = |group: usize| {
                let mut scores = chosen_by[group * of_group..(group + 1) * of_group].to_vec();
                scores.sort_by(|a, b| b.total_cmp(a));
                scores[..best].iter().sum::<f64>()
            };
            let mut all: Vec<usize> = (0..groups).collect();
            all.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
            order.retain(|e| all[..used].contains(&(e / of_group)));
        }
        order.sort_by(|a, b| chosen_by[*b].total_cmp(&chosen_by[*a]));
        order.truncate(used);
        let total: f64 = order.iter().map(|e| scores[*e]).sum();
        let of_used = softmax(&order.iter().map(|e| logits[*e]).collect::<Row>(), None);
        let whole = x;
        let narrow = self.expert_width.map(|_| self.linear(t, &name("ffn_latent_down"), x));
        let x = narrow.as_deref().unwrap_or(x);
        let mut out = vec![0.0; x.len()];
        for (place, e) in order.iter().enumerate() {
            let share = match route {
                Route::Normalised => of_all[*e] / total,
                Route::Plain => of_all[*e],
                Route::OfUsed => of_used[place],
                Route::Chosen(choice) => {
                    choice.scale * scores[*e] / choice.normalised.map_or(1.0, |added| total + added)
                }
            };
            let share = share * t.find(&name("ffn_down_exps.scale")).map_or(1.0, |factors| factors[*e]);
            let part = |part: &str, x: &[f64], outputs: usize| {
                let all = t.get(&format!("{}.weight", name(part)));
                self.saw(&name(part), *e, x);
                let y = product(&all[e * outputs * x.len()..(e + 1) * outputs * x.len()], x);
                let bias = t.find(&format!("{}.bias", name(part)));
                bias.map_or_else(|| y.clone(), |bias| sum(&y, &bias[e * outputs..(e + 1) * outputs]))
            };
            let weighs_inputs = matches!(route, Route::Chosen(Choice { weighs_inputs: true, .. }));
            let (x, share) = if weighs_inputs { (&scaled(x, share)[..], 1.0) } else { (x, share) };
            let up = part("ffn_up_exps", x, f);
            let hidden = match self.gated {
                true => self.activated(&part("ffn_gate_exps", x, f), &up),
                false => self.activated(&up, &vec![1.0; f]),
            };
            let y = part("ffn_down_exps", &hidden, x.len());
            out.iter_mut().zip(y).for_each(|(o, y)| *o += share * y);
        }
        if self.expert_width.is_some() {
            out = self.linear(t, &name("ffn_latent_up"), &out);
        }
        if self.shared.is_some() {
            let of = |part: &str, x: &[f64]| self.linear(t, &name(part), x);
            let (x, up) = (whole, of("ffn_up_shexp", whole));
            let hidden = match self.gated {
                true => self.activated(&of("ffn_gate_shexp", x), &up),
                false => self.activated(&up, &vec![1.0; up.len()]),
            };
            let gate = self.shared_gate.then(|| of("ffn_gate_inp_shexp", x)[0]);
            let share = gate.map_or(1.0, |gate| 1.0 / (1.0 + (-gate).exp()));
            out.iter_mut().zip(of("ffn_down_shexp", &hidden)).for_each(|(o, y)| *o += share * y);
        }
        out
    }
}

/// `base ^ (-2 k / n)`.
pub fn frequencies(base: f64, n: usize) -> Vec<f64> {
    (0..n / 2).map(|k| base.powf(-2.0 * k as f64 / n as f64)).collect()
}

fn capped(x: f64, cap: f64) -> f64 {
    if cap > 0.0 {
        cap * (x / cap).tanh()
    } else {
        x
    }
}

fn scaled(x: &[f64], by: f64) -> Row {
    x.iter().map(|x| x * by).collect()
}

/// xIELU by its stored numbers.
fn xielu(x: f64, [alpha_n, alpha_p, beta, eps]: [f64; 4]) -> f64 {
    let softplus = |x: f64| (1.0 + x.exp()).ln();
    match x > 0.0 {
        true => softplus(alpha_p) * x * x + beta * x,
        false => (beta + softplus(alpha_n)) * (x.min(eps).exp_m1() - x) + beta * x,
    }
}
