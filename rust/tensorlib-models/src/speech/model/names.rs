//! The names of Whisper's tensors. Ours are those of hub folders, without `model.` before them.

use crate::weights::{HubName, HubNames};

/// Names of hub folders, and of GGUF files that keep them.
pub fn hub_names() -> HubNames {
    let in_gguf = |name: &str| Some(format!("model.{name}"));
    HubNames { in_gguf, ..HubNames::new(|name: &str| HubName::One(vec![format!("model.{name}"), name.to_string()])) }
}

/// Names of the files that whisper.cpp reads, which are those of the model's first publication.
pub fn ggml_names() -> HubNames {
    HubNames::new(|name: &str| HubName::One(vec![ggml_name(name)]))
}

fn ggml_name(name: &str) -> String {
    let (base, end) = name.rsplit_once('.').unwrap_or((name, ""));
    let outside = match base {
        "encoder.embed_positions" => "encoder.positional_embedding".into(),
        "decoder.embed_positions" => "decoder.positional_embedding".into(),
        "decoder.embed_tokens" => format!("decoder.token_embedding.{end}"),
        "encoder.layer_norm" => format!("encoder.ln_post.{end}"),
        "decoder.layer_norm" => format!("decoder.ln.{end}"),
        _ => String::new(),
    };
    if !outside.is_empty() {
        return outside;
    }
    let Some((half, rest)) = base.split_once(".layers.") else { return name.to_string() };
    let Some((layer, part)) = rest.split_once('.') else { return name.to_string() };
    let part = match part {
        "self_attn_layer_norm" => "attn_ln".to_string(),
        "encoder_attn_layer_norm" => "cross_attn_ln".to_string(),
        "final_layer_norm" => "mlp_ln".to_string(),
        "fc1" => "mlp.0".to_string(),
        "fc2" => "mlp.2".to_string(),
        other => {
            let (block, matrix) = other.split_once('.').unwrap_or((other, ""));
            let block = if block == "encoder_attn" { "cross_attn" } else { "attn" };
            let matrix = match matrix {
                "q_proj" => "query",
                "k_proj" => "key",
                "v_proj" => "value",
                _ => "out",
            };
            format!("{block}.{matrix}")
        }
    };
    format!("{half}.blocks.{layer}.{part}.{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_kinds_of_files() {
        for (ours, theirs) in [
            ("encoder.conv1.weight", "encoder.conv1.weight"),
            ("encoder.embed_positions.weight", "encoder.positional_embedding"),
            ("encoder.layers.3.self_attn.k_proj.weight", "encoder.blocks.3.attn.key.weight"),
            ("encoder.layers.0.final_layer_norm.bias", "encoder.blocks.0.mlp_ln.bias"),
            ("encoder.layer_norm.bias", "encoder.ln_post.bias"),
            ("decoder.embed_tokens.weight", "decoder.token_embedding.weight"),
            ("decoder.layers.11.encoder_attn.out_proj.bias", "decoder.blocks.11.cross_attn.out.bias"),
            ("decoder.layers.1.encoder_attn_layer_norm.weight", "decoder.blocks.1.cross_attn_ln.weight"),
            ("decoder.layers.1.self_attn_layer_norm.weight", "decoder.blocks.1.attn_ln.weight"),
            ("decoder.layers.1.fc2.weight", "decoder.blocks.1.mlp.2.weight"),
            ("decoder.layer_norm.weight", "decoder.ln.weight"),
        ] {
            assert_eq!(ggml_name(ours), theirs);
        }
    }
}
