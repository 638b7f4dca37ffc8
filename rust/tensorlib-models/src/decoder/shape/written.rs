//! The settings of a decoder as a GGUF file has them. The keys are those that [`Shape`] is read from, and what is read
//! from them again is compared with the shape before a file is written.

use super::{Experts, FfnKind, Recurrence, Scores, Shape};
use crate::decoder::keys::*;
use crate::norm::NormKind;
use crate::settings::{Key, Keys};

const VARIANCE_EPS: Key = Key("attention.layer_norm_epsilon", "");
const EXPERTS: Key = Key("expert_count", "");
const SHARED_FFN: Key = Key("expert_shared_feed_forward_length", "");
const SHARES_NORMED: Key = Key("expert_weights_norm", "");
const TAPS: Key = Key("ssm.conv_kernel", "");
const STATE: Key = Key("ssm.state_size", "");
const GROUPS: Key = Key("ssm.group_count", "");
const STATE_HEADS: Key = Key("ssm.time_step_rank", "");
const INNER: Key = Key("ssm.inner_size", "");
const SHORT_TAPS: Key = Key("shortconv.l_cache", "");
const HEAD_SIZE: Key = Key("wkv.head_size", "");
const RATE_RANK: Key = Key("attention.iclr_lora_rank", "");
const DECAY_RANK: Key = Key("attention.decay_lora_rank", "");
const GATE_RANK: Key = Key("attention.gate_lora_rank", "");
const VALUE_RANK: Key = Key("attention.value_residual_mix_lora_rank", "");

impl Shape {
    /// The keys that most architectures have.
    pub fn keys(&self) -> Keys {
        let mut keys = Keys::default();
        keys.count(LAYERS, self.layers);
        keys.count(CONTEXT, self.context);
        keys.count(WIDTH, self.width);
        self.add_ffns(&mut keys);
        keys.count(HEADS, self.heads);
        self.add_key_heads(&mut keys);
        let eps = if self.norm_kind == NormKind::RootMeanSquare { EPS } else { VARIANCE_EPS };
        keys.number(eps, self.eps);
        self.rope.add_keys(&mut keys);
        if self.latent.is_none() && self.attention_scale != 1.0 / (self.keys.key as f64).sqrt() {
            keys.number(ATTENTION_SCALE, self.attention_scale);
        }
        if let Some(window) = &self.window {
            keys.count(WINDOW, window.keys);
        }
        if let Some(experts) = &self.experts {
            self.add_experts(experts, &mut keys);
        }
        if let Some(recurrence) = &self.recurrence {
            add_recurrence(recurrence, &mut keys);
        }
        keys
    }

    /// Layers without a feed-forward block have no neurons. Experts have a number of neurons of their own.
    fn add_ffns(&self, keys: &mut Keys) {
        let has_none = self.blocks.iter().all(|blocks| blocks.ffn == FfnKind::None);
        let of_layer = |layer: usize| match self.blocks_of(layer).ffn {
            FfnKind::None if !has_none => 0,
            _ => self.ffn_of(layer),
        };
        let all: Vec<i64> = (0..self.blocks.len()).map(of_layer).collect();
        keys.counts(FFN, &all);
    }

    /// Layers without attention have no heads of keys.
    fn add_key_heads(&self, keys: &mut Keys) {
        let has_none = self.blocks.iter().all(|blocks| !blocks.attention);
        let by_layer = matches!(self.recurrence, Some(Recurrence::ShortConvolution { .. } | Recurrence::Mamba(_)));
        let of_layer = |layer: usize| match self.blocks_of(layer).attention || has_none || !by_layer {
            true => self.keys_of(layer).count,
            false => 0,
        };
        let all: Vec<i64> = (0..self.blocks.len()).map(of_layer).collect();
        keys.counts(KV_HEADS, &all);
        keys.count(HEAD, self.keys.key);
        keys.count(VALUE_HEAD, self.keys.value);
    }

    fn add_experts(&self, experts: &Experts, keys: &mut Keys) {
        keys.count(EXPERTS, experts.count);
        keys.count(EXPERTS_USED, experts.used);
        if experts.ffn != self.ffn || self.blocks.iter().any(|blocks| blocks.ffn != FfnKind::Experts) {
            keys.count(EXPERT_FFN, experts.ffn);
        }
        if let Some(shared) = experts.shared {
            keys.count(SHARED_FFN, shared.ffn);
        }
        if experts.routing.scores != Scores::SoftmaxOfUsed {
            keys.flag(SHARES_NORMED, experts.routing.normalised.is_some());
        }
    }
}

fn add_recurrence(recurrence: &Recurrence, keys: &mut Keys) {
    match recurrence {
        Recurrence::ShortConvolution { taps } => keys.count(SHORT_TAPS, *taps),
        Recurrence::Delta(delta) => {
            keys.count(TAPS, delta.taps);
            keys.count(STATE, delta.head);
            keys.count(GROUPS, delta.key_heads);
            keys.count(STATE_HEADS, delta.value_heads);
            keys.count(INNER, delta.value_heads * delta.head);
        }
        Recurrence::Mamba(mamba) => {
            keys.count(TAPS, mamba.taps);
            keys.count(STATE, mamba.state);
            keys.count(GROUPS, mamba.groups);
            keys.count(STATE_HEADS, mamba.heads);
            keys.count(INNER, mamba.inner());
        }
        Recurrence::Rwkv(rwkv) => {
            keys.count(HEAD_SIZE, rwkv.head);
            keys.count(DECAY_RANK, rwkv.decay_rank);
            keys.count(RATE_RANK, rwkv.rate_rank);
            keys.count(VALUE_RANK, rwkv.value_rank);
            keys.count(GATE_RANK, rwkv.gate_rank.unwrap_or(0));
        }
    }
}
