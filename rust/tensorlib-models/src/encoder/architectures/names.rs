//! The names of most encoders' tensors in hub folders.

use crate::weights::{HubName, HubNames};

/// The names that `name` gives to a tensor without its ending: one outside of layers, or a part of the layer with this
/// number.
pub fn with(prefixes: &'static [&'static str], name: fn(Option<&str>, &str) -> Option<String>) -> HubNames {
    let of = move |theirs: &str| {
        let (base, end) = theirs.rsplit_once('.').unwrap_or((theirs, ""));
        let (layer, part) = match base.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
            Some((layer, part)) => (Some(layer), part),
            None => (None, base),
        };
        let name = name(layer, part).unwrap_or_else(|| base.to_string());
        let mut all: Vec<String> = prefixes.iter().map(|prefix| format!("{prefix}{name}.{end}")).collect();
        // The first published folders have other names for the factors and biases of norms.
        let old = if end == "weight" { "gamma" } else { "beta" };
        if name.ends_with("LayerNorm") {
            all.extend(prefixes.iter().map(|prefix| format!("{prefix}{name}.{old}")));
        }
        HubName::One(all)
    };
    HubNames::new(of)
}

/// The names by `name` or, for files without them, by `other`.
pub fn with_either(
    prefixes: &'static [&'static str],
    name: fn(Option<&str>, &str) -> Option<String>,
    other: fn(Option<&str>, &str) -> Option<String>,
) -> HubNames {
    let (first, second) = (with(prefixes, name), with(prefixes, other));
    HubNames::new(move |theirs: &str| match ((first.of)(theirs), (second.of)(theirs)) {
        (HubName::One(mut all), HubName::One(more)) => {
            all.extend(more);
            HubName::One(all)
        }
        (found, _) => found,
    })
}

/// RoBERTa's name of a part: its heads differ from BERT's.
pub fn roberta(layer: Option<&str>, part: &str) -> Option<String> {
    match (layer, part) {
        (None, "cls") => Some("classifier.dense".into()),
        (None, "cls.output") => Some("classifier.out_proj".into()),
        _ => bert(layer, part),
    }
}

/// BERT's name of a part.
pub fn bert(layer: Option<&str>, part: &str) -> Option<String> {
    let Some(layer) = layer else {
        let name = match part {
            "token_embd" => "embeddings.word_embeddings",
            "position_embd" => "embeddings.position_embeddings",
            "token_types" => "embeddings.token_type_embeddings",
            "token_embd_norm" => "embeddings.LayerNorm",
            "embeddings_project" => "embeddings_project",
            "cls" => "pooler.dense",
            "cls.output" => "classifier",
            _ => return None,
        };
        return Some(name.into());
    };
    let part = match part {
        "attn_q" => "attention.self.query",
        "attn_k" => "attention.self.key",
        "attn_v" => "attention.self.value",
        "attn_output" => "attention.output.dense",
        "attn_output_norm" => "attention.output.LayerNorm",
        "ffn_up" => "intermediate.dense",
        "ffn_down" => "output.dense",
        "layer_output_norm" => "output.LayerNorm",
        _ => return None,
    };
    Some(format!("encoder.layer.{layer}.{part}"))
}
