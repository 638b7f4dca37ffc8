//! RWKV 7 in double precision, one token after the other, and a tiny model of it.

use super::architectures::{number, Model};
use super::decoder::{Gate, Spec};
use super::math::*;
use super::tiny::{Random, Tensors};
use tensorlib::{DType, Value};

/// The inputs of time mixing, in the order of their shares.
const INPUTS: [&str; 6] = ["r", "w", "k", "v", "a", "g"];
/// What GGUF files have as the least variance of a head.
const HEAD_EPS: f64 = 64e-5;

/// The sizes of time mixing: elements of a head, and those between small matrices.
#[derive(Clone, Copy, Debug)]
pub struct Rwkv {
    pub head: usize,
    pub decay: usize,
    pub rate: usize,
    pub value: usize,
    /// 0: no gates.
    pub gate: usize,
    pub head_eps: f64,
    /// Whether heads have norms, and whether channel mixing takes the place of feed-forward blocks.
    pub normed: bool,
    pub mixes_channels: bool,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn times(a: &[f64], b: &[f64]) -> Row {
    a.iter().zip(b).map(|(a, b)| a * b).collect()
}

/// A token's row, and the share of the row before it that replaces it.
fn shifted(x: &[f64], before: &[f64], share: &[f64]) -> Row {
    x.iter().zip(before).zip(share).map(|((x, b), s)| x * (1.0 - s) + b * s).collect()
}

impl Spec {
    /// The names and shapes of a layer's matrices.
    pub fn rwkv_matrices(&self, of: Rwkv, layer: usize) -> Vec<(String, [i64; 2])> {
        let (w, ffn) = (self.width as i64, self.ffn as i64);
        let mut all: Vec<(String, [i64; 2])> =
            ["receptance", "key", "value", "output"].map(|part| (format!("time_mix_{part}"), [w, w])).into();
        let mut small = vec![("w", of.decay), ("a", of.rate)];
        if of.gate > 0 {
            small.push(("g", of.gate));
        }
        if layer > 0 {
            small.push(("v", of.value));
        }
        for (letter, rank) in small {
            all.push((format!("time_mix_{letter}1"), [w, rank as i64]));
            all.push((format!("time_mix_{letter}2"), [rank as i64, w]));
        }
        if of.mixes_channels {
            all.push(("channel_mix_key".into(), [w, ffn]));
            all.push(("channel_mix_value".into(), [ffn, w]));
        }
        all
    }

    /// Everything else, after all matrices.
    pub fn add_rwkv_vectors(&self, random: &mut Random, t: &mut Tensors, of: Rwkv) {
        let w = self.width as i64;
        let mut add = |name: &str, shape: &[i64], center: f64| t.add(random, name, shape, center, 0.3, DType::F32);
        if of.mixes_channels {
            add("token_embd_norm.weight", &[w], 1.0);
            add("token_embd_norm.bias", &[w], 0.0);
        }
        for i in 0..self.layers {
            let mut vector = |part: &str, shape: &[i64], center: f64| add(&format!("blk.{i}.{part}"), shape, center);
            vector("time_mix_lerp_fused.weight", &[w, 1, 1, if of.gate > 0 { 6 } else { 5 }], 0.5);
            for (part, center) in [("w0", -0.5), ("a0", -0.2), ("k_k", 0.8), ("k_a", 1.0), ("r_k", 0.3)] {
                vector(&format!("time_mix_{part}.weight"), &[w], center);
            }
            if of.mixes_channels {
                vector("channel_mix_lerp_k.weight", &[w], 0.5);
            }
            if of.normed {
                vector("time_mix_ln.weight", &[w], 1.0);
                vector("time_mix_ln.bias", &[w], 0.0);
            }
            if i > 0 {
                vector("time_mix_v0.weight", &[w], 0.4);
            }
        }
        // Files have tensors for the mixture of the first layer's values with themselves.
        for part in 0..3 {
            t.copy(&format!("blk.0.time_mix_a{part}.weight"), &format!("blk.0.time_mix_v{part}.weight"));
        }
    }

    /// The product with two small matrices, with a function in the middle, and what is added.
    fn narrow(&self, t: &Tensors, name: &str, x: &[f64], inside: impl Fn(f64) -> f64) -> Row {
        let hidden: Row = self.linear(t, &format!("{name}1"), x).into_iter().map(inside).collect();
        let y = self.linear(t, &format!("{name}2"), &hidden);
        t.find(&format!("{name}0.weight")).map_or_else(|| y.clone(), |bias| sum(&y, bias))
    }

    /// Time mixing of all tokens. The first layer sets the values that the others mix with theirs.
    pub fn time_mix(&self, t: &Tensors, layer: usize, xs: &[Row], first_values: &mut Vec<Row>) -> Vec<Row> {
        let (of, w) = (self.rwkv.unwrap(), self.width);
        let name = |part: &str| format!("blk.{layer}.time_mix_{part}");
        let vector = |part: &str| t.get(&name(&format!("{part}.weight")));
        let shares = rows(vector("lerp_fused"), w);
        // A state has a row for each element of a value, with a column for each element of a key.
        let mut states = vec![vec![vec![0.0; of.head]; of.head]; w / of.head];
        let mut outs = Vec::new();
        let mut before = vec![0.0; w];
        for (i, x) in xs.iter().enumerate() {
            let input = |which: usize| shifted(x, &before, shares[which]);
            let [of_r, of_w, of_k, of_v, of_a] = [0, 1, 2, 3, 4].map(input);
            let r = self.linear(t, &name("receptance"), &of_r);
            let decay: Row = self.narrow(t, &name("w"), &of_w, f64::tanh);
            let decay: Row = decay.iter().map(|x| (-(-0.5f64).exp() * sigmoid(*x)).exp()).collect();
            let k = self.linear(t, &name("key"), &of_k);
            let mut v = self.linear(t, &name("value"), &of_v);
            if layer == 0 {
                first_values.push(v.clone());
            } else {
                let share = self.narrow(t, &name("v"), &of_v, |x| x);
                let mixed = v.iter().zip(&first_values[i]).zip(share);
                v = mixed.map(|((own, first), share)| own + (first - own) * sigmoid(share)).collect();
            }
            let rate: Row = self.narrow(t, &name("a"), &of_a, |x| x).into_iter().map(sigmoid).collect();
            let forgotten = times(&k, vector("k_k"));
            let k: Row =
                k.iter().zip(&rate).zip(vector("k_a")).map(|((k, a), share)| k * (1.0 + (a - 1.0) * share)).collect();
            let mut y = Row::new();
            for (h, state) in states.iter_mut().enumerate() {
                let part = |all: &Row| all[h * of.head..(h + 1) * of.head].to_vec();
                let [r, decay, k, v, rate, forgotten] = [&r, &decay, &k, &v, &rate, &forgotten].map(part);
                let length = dot(&forgotten, &forgotten).sqrt().max(1e-12);
                let direction: Row = forgotten.iter().map(|x| x / length).collect();
                let mut of_head = Row::new();
                for (row, v) in state.iter_mut().zip(&v) {
                    // What the state has in this direction is forgotten as the rates say.
                    let known = dot(row, &direction);
                    for (j, m) in row.iter_mut().enumerate() {
                        *m = *m * decay[j] - known * direction[j] * rate[j] + v * k[j];
                    }
                    of_head.push(dot(row, &r));
                }
                let range = h * of.head..(h + 1) * of.head;
                let normed = match of.normed {
                    true => {
                        let (weight, bias) = (&vector("ln")[range.clone()], &t.get(&name("ln.bias"))[range.clone()]);
                        layer_norm(&of_head, weight, bias, of.head_eps)
                    }
                    false => of_head,
                };
                let own: f64 = dot(&times(&r, &k), &vector("r_k")[range]);
                y.extend(normed.iter().zip(&v).map(|(y, v)| y + own * v));
            }
            if of.gate > 0 {
                y = times(&y, &self.narrow(t, &name("g"), &input(5), sigmoid));
            }
            outs.push(self.linear(t, &name("output"), &y));
            before.clone_from(x);
        }
        outs
    }

    /// Channel mixing of a token after another one.
    pub fn channel_mix(&self, t: &Tensors, layer: usize, x: &[f64], before: &[f64]) -> Row {
        let name = |part: &str| format!("blk.{layer}.channel_mix_{part}");
        let mixed = shifted(x, before, t.get(&name("lerp_k.weight")));
        let hidden: Row = self.linear(t, &name("key"), &mixed).iter().map(|x| x.max(0.0) * x.max(0.0)).collect();
        self.linear(t, &name("value"), &hidden)
    }
}

/// These tensors as folders of flash-linear-attention have them. `fused`: with the shares of all inputs in one.
pub fn as_folder(tensors: &Tensors, spec: &Spec, of: Rwkv, fused: bool) -> Tensors {
    let mut made = tensors.clone();
    let w = spec.width as i64;
    for layer in 0..spec.layers {
        let name = |part: &str| format!("blk.{layer}.time_mix_{part}");
        let inputs = INPUTS.map(|input| name(&format!("x_{input}.weight")));
        match fused {
            true => made.divide(&name("lerp_fused.weight"), &[name("x_x.weight")], &[w, 6]),
            false => made.divide(&name("lerp_fused.weight"), &inputs, &[w, 1, 1]),
        }
        made.reshape(&name("r_k.weight"), &[of.head as i64, w / of.head as i64]);
    }
    for part in 0..3 {
        made.all.remove(&format!("blk.0.time_mix_v{part}.weight"));
    }
    made
}

/// The folder's name of a tensor.
pub fn whole_name(kind: &str, name: &str) -> Option<String> {
    if kind != "rwkv7" {
        return None;
    }
    let (front, end) = name.rsplit_once('.').unwrap();
    let Some((layer, part)) = front.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) else {
        return Some(match front {
            "token_embd" => "model.embeddings.weight".into(),
            "token_embd_norm" => format!("model.layers.0.pre_norm.{end}"),
            "output_norm" => format!("model.norm.{end}"),
            "output" => "lm_head.weight".into(),
            _ => panic!("no name for {name}"),
        });
    };
    let inside = match part {
        "attn_norm" => format!("attn_norm.{end}"),
        "attn_norm_2" => format!("ffn_norm.{end}"),
        "channel_mix_lerp_k" => "ffn.x_k".into(),
        "channel_mix_key" | "channel_mix_value" => format!("ffn.{}.weight", &part[12..]),
        "time_mix_ln" => format!("attn.g_norm.{end}"),
        "time_mix_k_k" | "time_mix_k_a" | "time_mix_r_k" => format!("attn.{}", &part[9..]),
        _ => match &part[9..] {
            "receptance" => "attn.r_proj.weight".into(),
            "key" => "attn.k_proj.weight".into(),
            "value" => "attn.v_proj.weight".into(),
            "output" => "attn.o_proj.weight".into(),
            input if input.starts_with("x_") => format!("attn.{input}"),
            small => {
                let (letter, number) = small.split_at(1);
                let part = ["2.bias", "0.weight", "2.weight"][number.parse::<usize>().unwrap()];
                format!("attn.{letter}_lora.lora.{part}")
            }
        },
    };
    Some(format!("model.layers.{layer}.{inside}"))
}

/// Sizes of the tiny model in folders.
macro_rules! SIZES {
    () => {
        r#", "head_dim": 16, "num_heads": 4, "decay_low_rank_dim": 32, "a_low_rank_dim": 64, "v_low_rank_dim": 96,
"gate_low_rank_dim": 128, "intermediate_size": 96"#
    };
}

pub fn all() -> Vec<Model> {
    let rwkv = Rwkv {
        head: 16,
        decay: 32,
        rate: 64,
        value: 96,
        gate: 128,
        head_eps: HEAD_EPS,
        normed: true,
        mixes_channels: true,
    };
    let spec = Spec {
        rwkv: Some(rwkv),
        attention_layers: |_| false,
        variance_norms: true,
        norm_biases: true,
        // Folders have the size of a head times this as the least variance of a head.
        eps: HEAD_EPS / 16.0,
        ffn_norm: "attn_norm_2",
        gate: Gate::ReluSquared,
        ..Spec::new()
    };
    let settings = |gate: u32, further: Vec<(&'static str, Value)>| {
        let all = vec![
            ("attention.head_count", number(0)),
            ("wkv.head_size", number(16)),
            ("attention.decay_lora_rank", number(32)),
            ("attention.iclr_lora_rank", number(64)),
            ("attention.value_residual_mix_lora_rank", number(96)),
            ("attention.gate_lora_rank", number(gate)),
            ("vocab_size", number(61)),
        ];
        [all, further].concat()
    };
    let folder = concat!(
        SIZES!(),
        r#", "hidden_act": "sqrelu", "hidden_ratio": 4.0, "norm_first": true, "norm_bias": true, "attn_mode": "chunk", "attn": null,
"fuse_norm": false, "fuse_cross_entropy": true, "fuse_linear_cross_entropy": false, "use_l2warp": true, "value_dim": [64, 64, 64],
"max_position_embeddings": 2048, "tie_word_embeddings": false"#
    );
    let of_other = |gate: usize, normed: bool| Spec {
        rwkv: Some(Rwkv { gate, normed, mixes_channels: false, ..rwkv }),
        attention_layers: |_| false,
        ..Spec::new()
    };
    let other = |name: &'static str, gate: usize, normed: bool| Model {
        name,
        spec: of_other(gate, normed),
        gguf: Some(("arwkv7", settings(gate as u32, vec![("token_shift_count", number(1))]))),
        hub: None,
    };
    vec![
        Model { name: "rwkv7", spec, gguf: Some(("rwkv7", settings(128, vec![]))), hub: Some(("rwkv7", folder)) },
        other("arwkv7", 128, true),
        other("arwkv7 without gates and norms", 0, false),
    ]
}
