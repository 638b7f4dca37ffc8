//! The sizes of a Whisper model.

use crate::settings::{Fields, Key, Settings};
use crate::{Error, Result};

const WIDTH: Key = Key("", "d_model");
const ENCODER_LAYERS: Key = Key("", "encoder_layers");
const ENCODER_HEADS: Key = Key("", "encoder_attention_heads");
const ENCODER_FFN: Key = Key("", "encoder_ffn_dim");
const DECODER_LAYERS: Key = Key("", "decoder_layers");
const DECODER_HEADS: Key = Key("", "decoder_attention_heads");
const DECODER_FFN: Key = Key("", "decoder_ffn_dim");
const MELS: Key = Key("", "num_mel_bins");
const FRAMES: Key = Key("", "max_source_positions");
const TOKENS: Key = Key("", "max_target_positions");
const VOCABULARY: Key = Key("", "vocab_size");

/// Fields of Whisper's config.json. What a folder says about generation is in its generation_config.json:
/// `forced_decoder_ids` here makes every multilingual model one of English. The ids of special tokens are those of the
/// tokenizer.
const CONFIG: Fields = Fields {
    known: &[
        "_attn_implementation*",
        "_commit_hash",
        "_name_or_path",
        "activation_dropout",
        "apply_spec_augment",
        "architectures",
        "attention_dropout",
        "attn_implementation",
        "begin_suppress_tokens",
        "bos_token_id",
        "classifier_proj_size",
        "decoder_layerdrop",
        "decoder_start_token_id",
        "dropout",
        "dtype",
        "encoder_layerdrop",
        "eos_token_id",
        "forced_decoder_ids",
        "id2label",
        "init_std",
        "label2id",
        "mask_feature_*",
        "mask_time_*",
        "max_length",
        "median_filter_width",
        "model_type",
        "num_hidden_layers",
        "output_attentions",
        "output_hidden_states",
        "pad_token_id",
        "return_dict",
        "suppress_tokens",
        "torch_dtype",
        "torchscript",
        "transformers_version",
        "use_cache",
        "use_weighted_layer_sum",
    ],
    only: &[
        ("activation_function", &["\"gelu\""]),
        ("is_encoder_decoder", &["true"]),
        ("scale_embedding", &["false"]),
        ("tie_word_embeddings", &["true"]),
    ],
};

/// The fewest tokens with which a text can be made. Less than half of them are those of the text before; four special
/// ones follow, and one at least is new.
pub const LEAST_TOKENS: u32 = 8;

/// The sizes of one half.
#[derive(Clone, Copy, Debug)]
pub struct Half {
    pub layers: i64,
    pub width: i64,
    pub heads: i64,
    pub ffn: i64,
}

impl Half {
    /// Elements of a head.
    pub fn head(&self) -> i64 {
        self.width / self.heads
    }
}

/// The sizes of a model.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub encoder: Half,
    pub decoder: Half,
    /// Bands of the features.
    pub mels: i64,
    /// The positions that the encoder makes of a window; each stands for two frames.
    pub positions: i64,
    /// The most tokens of a text, with those before it.
    pub tokens: i64,
    pub vocabulary: i64,
}

impl Shape {
    /// Reads a folder's config.json.
    pub fn read(settings: &Settings) -> Result<Self> {
        let half = |layers: Key, heads: Key, ffn: Key| {
            let half = Half {
                layers: settings.count(layers)?,
                width: settings.count(WIDTH)?,
                heads: settings.count(heads)?,
                ffn: settings.count(ffn)?,
            };
            match half.width % half.heads {
                0 => Ok(half),
                _ => {
                    let what = format!("is {}: a number that divides the width, {}, is valid", half.heads, half.width);
                    Err(settings.refuse(heads, what))
                }
            }
        };
        let shape = Shape {
            encoder: half(ENCODER_LAYERS, ENCODER_HEADS, ENCODER_FFN)?,
            decoder: half(DECODER_LAYERS, DECODER_HEADS, DECODER_FFN)?,
            mels: settings.count(MELS)?,
            positions: settings.count(FRAMES)?,
            tokens: settings.count(TOKENS)?,
            vocabulary: settings.count(VOCABULARY)?,
        };
        shape.check()?;
        settings.finish(&[&CONFIG], &[])?;
        Ok(shape)
    }

    /// Refuses sizes with which no text can be made.
    pub fn check(&self) -> Result<()> {
        if self.tokens < i64::from(LEAST_TOKENS) {
            let message = format!("texts of {} tokens: at least {LEAST_TOKENS} are valid", self.tokens);
            return Err(Error::format(message));
        }
        Ok(())
    }

    /// Frames of a window.
    pub fn frames(&self) -> usize {
        2 * usize::try_from(self.positions).unwrap_or(0)
    }
}
