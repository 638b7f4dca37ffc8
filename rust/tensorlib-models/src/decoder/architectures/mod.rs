//! The differences between architectures, a file each.

mod apertus;
mod arcee;
mod bitnet;
mod cohere2;
mod deepseek2;
mod ernie;
mod exaone4;
mod falcon_h1;
mod gemma;
mod gemma3n;
mod gemma4;
mod glm4;
mod gpt_oss;
mod granite;
mod hunyuan;
mod lfm2;
mod llama;
mod llama4;
mod mamba;
mod names;
mod nemotron_h;
mod olmo;
mod phi3;
mod qwen;
mod qwen35;
mod seed_oss;
mod smollm3;
mod stablelm;
mod starcoder2;

pub use gemma::gemma3;

use super::shape::Shape;
use crate::architecture::{self, Architecture, Known};
use crate::settings::{Settings, DECODER_CONFIG, DECODER_GGUF, FAMILY_CONFIG, OTHER_INPUTS, RECURRENT_CONFIG};
use crate::weights::HubNames;
use crate::Result;

const ALL: [Architecture<Shape>; 37] = [
    Architecture {
        names: &["llama", "mistral", "mixtral", "mistral3", "ministral3"],
        shape: llama::shape,
        hub_names: llama::hub_names,
    },
    Architecture { names: &["smollm3"], shape: smollm3::shape, hub_names: names::plain },
    Architecture { names: &["granite"], shape: granite::shape, hub_names: names::plain },
    Architecture { names: &["arcee"], shape: arcee::shape, hub_names: names::plain },
    Architecture { names: &["seed_oss"], shape: seed_oss::shape, hub_names: names::plain },
    Architecture { names: &["ernie4_5"], shape: ernie::shape, hub_names: names::plain },
    Architecture {
        names: &["hunyuan-dense", "hunyuan_v1_dense"],
        shape: hunyuan::shape,
        hub_names: hunyuan::hub_names,
    },
    Architecture { names: &["qwen2"], shape: qwen::qwen2, hub_names: names::plain },
    Architecture { names: &["qwen3"], shape: qwen::qwen3, hub_names: names::plain },
    Architecture { names: &["qwen3moe", "qwen3_moe"], shape: qwen::qwen3moe, hub_names: qwen::moe_names },
    Architecture { names: &["qwen35", "qwen3_5", "qwen3_5_text"], shape: qwen35::qwen35, hub_names: qwen35::hub_names },
    Architecture {
        names: &["qwen35moe", "qwen3_5_moe", "qwen3_5_moe_text"],
        shape: qwen35::qwen35moe,
        hub_names: qwen35::moe_names,
    },
    Architecture { names: &["qwen3next", "qwen3_next"], shape: qwen35::qwen3next, hub_names: qwen35::moe_names },
    Architecture { names: &["gemma2"], shape: gemma::gemma2, hub_names: gemma::hub_names },
    Architecture { names: &["gemma3", "gemma3_text"], shape: gemma::gemma3, hub_names: gemma::hub_names },
    Architecture { names: &["gemma3n", "gemma3n_text"], shape: gemma3n::shape, hub_names: gemma3n::hub_names },
    Architecture { names: &["gemma4", "gemma4_text"], shape: gemma4::shape, hub_names: gemma4::hub_names },
    Architecture { names: &["phi3"], shape: phi3::shape, hub_names: phi3::hub_names },
    Architecture { names: &["olmo2"], shape: olmo::olmo2, hub_names: olmo::hub_names },
    Architecture { names: &["olmo3"], shape: olmo::olmo3, hub_names: olmo::hub_names },
    Architecture { names: &["exaone4"], shape: exaone4::shape, hub_names: olmo::hub_names },
    Architecture { names: &["glm4"], shape: glm4::shape, hub_names: glm4::hub_names },
    Architecture { names: &["cohere2"], shape: cohere2::shape, hub_names: names::plain },
    Architecture { names: &["starcoder2"], shape: starcoder2::shape, hub_names: starcoder2::hub_names },
    Architecture { names: &["stablelm"], shape: stablelm::shape, hub_names: stablelm::hub_names },
    Architecture { names: &["apertus"], shape: apertus::shape, hub_names: apertus::hub_names },
    Architecture { names: &["deepseek2", "deepseek_v2"], shape: deepseek2::v2, hub_names: deepseek2::hub_names },
    Architecture { names: &["deepseek_v3", "kimi_k2"], shape: deepseek2::v3, hub_names: deepseek2::hub_names },
    Architecture { names: &["llama4", "llama4_text"], shape: llama4::shape, hub_names: llama4::hub_names },
    Architecture { names: &["mamba2"], shape: mamba::mamba2, hub_names: mamba::hub_names },
    Architecture { names: &["falcon-h1", "falcon_h1"], shape: falcon_h1::shape, hub_names: falcon_h1::hub_names },
    Architecture { names: &["nemotron_h"], shape: nemotron_h::shape, hub_names: nemotron_h::hub_names },
    Architecture { names: &["bitnet"], shape: bitnet::shape, hub_names: bitnet::hub_names },
    Architecture { names: &["lfm2"], shape: lfm2::lfm2, hub_names: lfm2::hub_names },
    Architecture { names: &["lfm2moe", "lfm2_moe"], shape: lfm2::lfm2moe, hub_names: lfm2::hub_names },
    Architecture { names: &["gpt-oss", "gptoss"], shape: gpt_oss::shape, hub_names: names::plain },
    Architecture { names: &["gpt_oss"], shape: gpt_oss::of_hub, hub_names: names::plain },
];

/// The names of all decoders.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().flat_map(|known| known.names).copied()
}

/// Reads the decoder that the settings describe, and its tensors' names.
pub fn read(settings: &Settings) -> Result<(Shape, HubNames)> {
    let known =
        Known { config: &[&DECODER_CONFIG, &RECURRENT_CONFIG, &FAMILY_CONFIG, &OTHER_INPUTS], gguf: &[&DECODER_GGUF] };
    architecture::read(&ALL, "decoder", settings, &known)
}
