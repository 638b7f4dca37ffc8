//! MPNet (Song and others, 2020): BERT with biases by distance in attention, and no token types.

use super::{bert, names};
use crate::encoder::shape::{Counts, Shape, EPS, POSITIONS};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};

const BUCKETS: Key = Key("", "relative_attention_num_buckets");
/// The published code uses this many buckets of distances, whatever the settings say.
const KNOWN_BUCKETS: i64 = 32;
/// The padding token, and with it its position, is 1 in the published code, whatever the settings say.
const FIRST_POSITION: i64 = 2;

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    if !settings.is_hub() {
        return Err(Error::unsupported("architecture 'mpnet': GGUF files have no such architecture")
            .with_hint("a hub folder of the model is read"));
    }
    let buckets = settings.count_if(BUCKETS)?.unwrap_or(KNOWN_BUCKETS);
    if buckets != KNOWN_BUCKETS {
        let what = format!("is {buckets}: {KNOWN_BUCKETS} is known");
        return Err(Error::unsupported(format!("{}: {what}", settings.name(BUCKETS))));
    }
    let shape = Shape::read(settings, &Counts::BERT, EPS, POSITIONS, FIRST_POSITION)?;
    Ok(Shape { activation: bert::hidden_act(settings)?, buckets: Some(buckets), ..shape })
}

/// BERT's names, except for attention.
pub fn hub_names() -> HubNames {
    names::with(&["", "mpnet."], name)
}

fn name(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(layer) = layer else {
        return match part {
            "attn_rel_b" => Some("encoder.relative_attention_bias".into()),
            _ => names::roberta(None, part),
        };
    };
    let theirs = match part {
        "attn_q" => "attn.q",
        "attn_k" => "attn.k",
        "attn_v" => "attn.v",
        "attn_output" => "attn.o",
        "attn_output_norm" => "LayerNorm",
        _ => return names::bert(Some(layer), part),
    };
    Some(format!("encoder.layer.{layer}.attention.{theirs}"))
}
