//! Settings that most decoders have.

use crate::settings::Key;

pub const WIDTH: Key = Key("embedding_length", "hidden_size");
pub const LAYERS: Key = Key("block_count", "num_hidden_layers");
pub const HEADS: Key = Key("attention.head_count", "num_attention_heads");
pub const KV_HEADS: Key = Key("attention.head_count_kv", "num_key_value_heads");
pub const HEAD: Key = Key("attention.key_length", "head_dim");
pub const VALUE_HEAD: Key = Key("attention.value_length", "head_dim");
pub const FFN: Key = Key("feed_forward_length", "intermediate_size");
pub const EXPERT_FFN: Key = Key("expert_feed_forward_length", "moe_intermediate_size");
pub const CONTEXT: Key = Key("context_length", "max_position_embeddings");
pub const EPS: Key = Key("attention.layer_norm_rms_epsilon", "rms_norm_eps");
pub const WINDOW: Key = Key("attention.sliding_window", "sliding_window");
pub const LAYER_TYPES: Key = Key("", "layer_types");
/// Which layers have the window: a flag per layer, or a number n if every n-th layer has none.
pub const WINDOW_PATTERN: Key = Key("attention.sliding_window_pattern", "");
pub const ATTENTION_SCALE: Key = Key("attention.scale", "");
pub const ATTENTION_BIAS: Key = Key("", "attention_bias");
pub const FFN_BIAS: Key = Key("", "mlp_bias");
pub const TIED: Key = Key("", "tie_word_embeddings");
pub const VOCABULARY: Key = Key("", "vocab_size");
pub const EXPERTS_USED: Key = Key("expert_used_count", "num_experts_per_tok");
pub const ACTIVATION: Key = Key("feed_forward_activation", "hidden_act");
