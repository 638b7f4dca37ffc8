//! Several streams between layers and a product of low rank next to attention, in double precision and as Gemma 3n was
//! published.

use super::architectures::{bools, number, Model};
use super::decoder::{frequencies, Spec};
use super::math::*;
use super::tiny::{Random, Tensors};
use tensorlib::{DType, Value};

/// What a model with several streams is made of.
#[derive(Clone, Copy)]
pub struct AltUp {
    pub streams: usize,
    /// The stream that layers compute.
    pub active: usize,
    /// The rank of the product next to attention.
    pub rank: usize,
    /// The corrected stream has factors.
    pub scaled: bool,
    /// How many standard deviations above their mean gates of a layer must be.
    pub cuts: fn(usize) -> Option<f64>,
}

impl Spec {
    /// The names and shapes of a layer's matrices.
    pub fn altup_matrices(&self, altup: AltUp) -> [(&'static str, [i64; 2]); 3] {
        let (w, n, rank) = (self.width as i64, altup.streams as i64, altup.rank as i64);
        [("altup_router", [w, n]), ("laurel_l", [w, rank]), ("laurel_r", [rank, w])]
    }

    /// Vectors, and matrices that files have as F32.
    pub fn add_altup_vectors(&self, random: &mut Random, t: &mut Tensors, altup: AltUp) {
        let (w, n) = (self.width as i64, altup.streams as i64);
        for layer in 0..self.layers {
            let mut add = |part: &str, shape: &[i64], center: f64| {
                t.add(random, &format!("blk.{layer}.{part}.weight"), shape, center, 0.3, DType::F32);
            };
            add("altup_router_norm", &[w], w as f64 / 16.0);
            add("altup_predict_coef", &[n, n * n], 0.0);
            add("altup_correct_coef", &[n, n], 0.0);
            add("altup_correct_scale", &[w], 1.0);
            add("laurel_post_norm", &[w], 1.0);
        }
    }

    /// The streams of an embedding: products that are as long as it is.
    pub fn divided(&self, t: &Tensors, altup: AltUp, x: &[f64]) -> Vec<Row> {
        let all = vec![x.to_vec(); altup.streams];
        self.projected(t, "altup_proj", &all)
    }

    /// The mean of the first stream and products of the others.
    pub fn merged(&self, t: &Tensors, altup: AltUp, streams: &[Row]) -> Row {
        let all = self.projected(t, "altup_unembd_proj", streams);
        (0..self.width).map(|d| all.iter().map(|x| x[d]).sum::<f64>() / altup.streams as f64).collect()
    }

    fn projected(&self, t: &Tensors, name: &str, streams: &[Row]) -> Vec<Row> {
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        let matrices = t.get(&format!("{name}.weight")).chunks(self.width * self.width);
        let length = square(&streams[0]).sqrt();
        let mut all = vec![streams[0].clone()];
        for (matrix, x) in matrices.zip(&streams[1..]) {
            let y = product(matrix, x);
            let factor = length / square(&y).max(1e-5).sqrt();
            all.push(y.iter().map(|y| y * factor).collect());
        }
        all
    }

    fn route(&self, t: &Tensors, layer: usize, x: &[f64]) -> Row {
        let normed = rms_norm(x, t.get(&format!("blk.{layer}.altup_router_norm.weight")), self.eps);
        let normed: Row = normed.iter().map(|x| x / self.width as f64).collect();
        self.linear(t, &format!("blk.{layer}.altup_router"), &normed).iter().map(|x| x.tanh()).collect()
    }

    /// Each stream, and the sum of all by factors that follow from the active one.
    pub fn predicted(&self, t: &Tensors, layer: usize, altup: AltUp, streams: &[Row]) -> Vec<Row> {
        let route = self.route(t, layer, &streams[altup.active]);
        let factors = self.linear(t, &format!("blk.{layer}.altup_predict_coef"), &route);
        let of = |j: usize, d: usize| {
            let added = streams.iter().zip(&factors[j * altup.streams..]).map(|(x, f)| x[d] * f);
            streams[j][d] + added.sum::<f64>()
        };
        (0..altup.streams).map(|j| (0..self.width).map(|d| of(j, d)).collect()).collect()
    }

    /// The mean of attention's sum and the product of low rank, times the square root of 2.
    pub fn joined(&self, t: &Tensors, layer: usize, normed: &[f64], x: &[f64]) -> Row {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let inner = self.linear(t, &name("laurel_r"), &self.linear(t, &name("laurel_l"), normed));
        let inner = rms_norm(&inner, t.get(&name("laurel_post_norm.weight")), self.eps);
        (0..x.len()).map(|d| (x[d] + normed[d] + inner[d]) / 2f64.sqrt()).collect()
    }

    /// Corrects predicted streams by the computed one, and adds the layer's vector to all but the first.
    pub fn correct(
        &self,
        t: &Tensors,
        layer: usize,
        altup: AltUp,
        streams: &mut [Row],
        (computed, own): (&[f64], &[f64]),
    ) {
        let factors = self.linear(t, &format!("blk.{layer}.altup_correct_coef"), &self.route(t, layer, computed));
        let new: Row = computed.iter().zip(&streams[altup.active]).map(|(c, p)| c - p).collect();
        for (stream, factor) in streams.iter_mut().zip(factors) {
            stream.iter_mut().zip(&new).for_each(|(s, n)| *s += (1.0 + factor) * n);
        }
        let mut first = streams[altup.active].clone();
        if altup.scaled {
            let scale = t.get(&format!("blk.{layer}.altup_correct_scale.weight"));
            first.iter_mut().zip(scale).for_each(|(x, s)| *x *= s);
        }
        let added = self.layer_input(t, layer, &first, own);
        streams[1..].iter_mut().for_each(|stream| *stream = sum(stream, &added));
    }

    /// The gates above their bound, less the bound, and 0 for the others.
    pub fn cut(&self, layer: usize, gates: Row) -> Row {
        let Some(deviations) = self.altup.and_then(|altup| (altup.cuts)(layer)) else { return gates };
        let n = gates.len() as f64;
        let mean = gates.iter().sum::<f64>() / n;
        let deviation = (gates.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / n).sqrt();
        gates.iter().map(|g| (g - mean - deviations * deviation).max(0.0)).collect()
    }
}

/// The number of standard deviations below which 95 % of normally distributed numbers are.
const QUANTILE: f64 = 1.6448536269514722;

/// Gemma 3n. `base`: what it shares with the first Gemma.
pub fn gemma3n(base: Spec) -> Model {
    let spec = Spec {
        layers: 10,
        window: Some((7, |i| (i + 1) % 5 != 0)),
        eps: 1e-6,
        sharing: 4,
        value_norms: true,
        head_norms: true,
        attention_scale: 1.0,
        final_cap: 30.0,
        layer_inputs: Some(32),
        frequencies: frequencies(1e6, 16),
        window_frequencies: Some(frequencies(1e4, 16)),
        altup: Some(AltUp { streams: 3, active: 1, rank: 32, scaled: true, cuts: |i| (i < 3).then_some(QUANTILE) }),
        ..base
    };
    let pattern: Vec<bool> = (0..10).map(|i| (i + 1) % 5 != 0).collect();
    let cuts: Vec<f32> = (0..10).map(|i| if i < 3 { QUANTILE as f32 } else { f32::NEG_INFINITY }).collect();
    Model {
        name: "gemma3n",
        spec,
        gguf: Some((
            "gemma3n",
            vec![
                ("attention.sliding_window", number(7)),
                ("attention.sliding_window_pattern", bools(&pattern)),
                ("attention.shared_kv_layers", number(4)),
                ("embedding_length_per_layer_input", number(32)),
                ("altup.num_inputs", number(3)),
                ("altup.active_idx", number(1)),
                ("activation_sparsity_scale", cuts.into()),
                ("rope.freq_base", Value::F32(1e6)),
            ],
        )),
        hub: Some((
            "gemma3n_text",
            r#", "sliding_window": 7, "num_kv_shared_layers": 4, "hidden_size_per_layer_input": 32,
"vocab_size_per_layer_input": 61, "altup_num_inputs": 3, "altup_active_idx": 1, "altup_correct_scale": true,
"altup_coef_clip": 120.0, "altup_lr_multiplier": 1.0, "laurel_rank": 32, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
"activation_sparsity_pattern": [0.95, 0.95, 0.95, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "final_logit_softcapping": 30.0,
"hidden_activation": "gelu_pytorch_tanh""#,
        )),
    }
}

/// The folder's name of a tensor, if it belongs to several streams. `stream`: one part of those that are stored apart.
pub fn whole_name(name: &str, stream: Option<usize>) -> Option<String> {
    let stream = stream.unwrap_or(0);
    match name {
        "altup_proj.weight" => return Some(format!("model.altup_projections.{stream}.weight")),
        "altup_unembd_proj.weight" => return Some(format!("model.altup_unembed_projections.{stream}.weight")),
        _ => {}
    }
    let (layer, part) = name.strip_prefix("blk.")?.split_once('.')?;
    let own = match part {
        "altup_router.weight" => "altup.modality_router.weight",
        "altup_router_norm.weight" => "altup.router_norm.weight",
        "altup_predict_coef.weight" => "altup.prediction_coefs.weight",
        "altup_correct_coef.weight" => "altup.correction_coefs.weight",
        "altup_correct_scale.weight" => "altup.correct_output_scale",
        "laurel_l.weight" => "laurel.linear_left.weight",
        "laurel_r.weight" => "laurel.linear_right.weight",
        "laurel_post_norm.weight" => "laurel.post_laurel_norm.weight",
        _ => return None,
    };
    Some(format!("model.layers.{layer}.{own}"))
}
