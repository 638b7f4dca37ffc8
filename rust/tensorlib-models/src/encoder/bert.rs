//! BERT, RoBERTa and XLM-RoBERTa: settings and the names of their tensors.

use super::{Activation, Shape};
use crate::settings::{Key, Settings};
use crate::weights::{HubName, HubNames};
use crate::{Error, Result};

/// The architectures that this file knows, as GGUF and config.json name them.
pub const NAMES: [&str; 4] = ["bert", "roberta", "xlm-roberta", "camembert"];

const WIDTH: Key = Key("embedding_length", "hidden_size");
const LAYERS: Key = Key("block_count", "num_hidden_layers");
const HEADS: Key = Key("attention.head_count", "num_attention_heads");
const FFN: Key = Key("feed_forward_length", "intermediate_size");
const POSITIONS: Key = Key("context_length", "max_position_embeddings");
const EPS: Key = Key("attention.layer_norm_epsilon", "layer_norm_eps");
const ACTIVATION: Key = Key("", "hidden_act");
const POSITION_KIND: Key = Key("", "position_embedding_type");
const PADDING: Key = Key("", "pad_token_id");

/// What the settings say.
pub fn shape(settings: &Settings) -> Result<Shape> {
    let (width, heads) = (settings.count(WIDTH)?, settings.count(HEADS)?);
    if width % heads != 0 {
        let what = format!("is {width}: a multiple of the {heads} heads is valid");
        return Err(settings.refuse(WIDTH, what));
    }
    let activation = match settings.text_if(ACTIVATION)?.as_deref() {
        // The models themselves use the error function, which GGUF does not say.
        None | Some("gelu") => Activation::GeluErf,
        Some("gelu_new" | "gelu_pytorch_tanh") => Activation::Gelu,
        Some("relu") => Activation::Relu,
        Some(other) => {
            let what = format!("is '{other}': gelu, gelu_new, gelu_pytorch_tanh and relu are known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(ACTIVATION))));
        }
    };
    if let Some(kind) = settings.text_if(POSITION_KIND)?.filter(|kind| kind != "absolute") {
        let what = format!("is '{kind}': absolute is known");
        return Err(Error::unsupported(format!("{}: {what}", settings.name(POSITION_KIND))));
    }
    let rows = settings.count(POSITIONS)?;
    // RoBERTa's first position is the one behind that of padding. GGUF files come without the rows before it.
    let first = match settings.is_hub() && settings.architecture() != "bert" {
        true => settings.number_if(PADDING)?.map_or(1, |id| id as i64) + 1,
        false => 0,
    };
    if !(0..rows).contains(&first) {
        return Err(settings.refuse(PADDING, format!("is {}: less than the {rows} positions is valid", first - 1)));
    }
    Ok(Shape {
        layers: settings.count(LAYERS)?,
        width,
        heads,
        ffn: settings.count(FFN)?,
        position_rows: rows,
        first_position: first,
        eps: settings.number(EPS)?,
        activation,
    })
}

/// The names in hub folders: sentence encoders have none of the prefixes that whole models have.
pub fn names() -> HubNames {
    HubNames { of: Box::new(|name| HubName::One(candidates(&hub_name(name)))), norms_less_one: false }
}

fn candidates(name: &str) -> Vec<String> {
    let prefixes = ["", "bert.", "roberta."];
    prefixes.iter().map(|prefix| format!("{prefix}{name}")).collect()
}

fn hub_name(name: &str) -> String {
    let (base, end) = name.rsplit_once('.').unwrap_or((name, ""));
    let base = match base {
        "token_embd" => "embeddings.word_embeddings".to_string(),
        "position_embd" => "embeddings.position_embeddings".to_string(),
        "token_types" => "embeddings.token_type_embeddings".to_string(),
        "token_embd_norm" => "embeddings.LayerNorm".to_string(),
        _ => {
            let (layer, part) = base.strip_prefix("blk.").and_then(|rest| rest.split_once('.')).unwrap_or(("", base));
            let part = match part {
                "attn_q" => "attention.self.query",
                "attn_k" => "attention.self.key",
                "attn_v" => "attention.self.value",
                "attn_output" => "attention.output.dense",
                "attn_output_norm" => "attention.output.LayerNorm",
                "ffn_up" => "intermediate.dense",
                "ffn_down" => "output.dense",
                "layer_output_norm" => "output.LayerNorm",
                other => other,
            };
            format!("encoder.layer.{layer}.{part}")
        }
    };
    format!("{base}.{end}")
}
