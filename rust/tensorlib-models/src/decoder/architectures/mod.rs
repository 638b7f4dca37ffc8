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
mod rwkv7;
mod seed_oss;
mod smollm3;
mod stablelm;
mod starcoder2;

pub use falcon_h1::{row_factors, with_factors_in_matrices};
pub use gemma::{gemma3, gemma3_keys};

use super::shape::Shape;
use crate::architecture::{self, Architecture, Known, Written};
use crate::settings::{Settings, DECODER_CONFIG, DECODER_GGUF, FAMILY_CONFIG, OTHER_INPUTS, RECURRENT_CONFIG};
use crate::weights::HubNames;
use crate::Result;

static ALL: [Architecture<Shape>; 40] = [
    Architecture {
        names: &["llama", "mistral", "mixtral"],
        shape: llama::shape,
        hub_names: llama::hub_names,
        written: Written::with("llama", llama::add_keys),
    },
    Architecture {
        names: &["mistral3", "ministral3"],
        shape: llama::shape,
        hub_names: llama::hub_names,
        written: Written::with("mistral3", llama::add_keys),
    },
    Architecture {
        names: &["smollm3"],
        shape: smollm3::shape,
        hub_names: names::plain,
        written: Written::plain("smollm3"),
    },
    Architecture {
        names: &["granite"],
        shape: granite::shape,
        hub_names: names::plain,
        written: Written::with("granite", granite::add_keys),
    },
    Architecture { names: &["arcee"], shape: arcee::shape, hub_names: names::plain, written: Written::plain("arcee") },
    Architecture {
        names: &["seed_oss"],
        shape: seed_oss::shape,
        hub_names: names::plain,
        written: Written::plain("seed_oss"),
    },
    Architecture {
        names: &["ernie4_5"],
        shape: ernie::shape,
        hub_names: names::plain,
        written: Written::plain("ernie4_5"),
    },
    Architecture {
        names: &["hunyuan-dense", "hunyuan_v1_dense"],
        shape: hunyuan::shape,
        hub_names: hunyuan::hub_names,
        written: Written::plain("hunyuan-dense"),
    },
    Architecture { names: &["qwen2"], shape: qwen::qwen2, hub_names: names::plain, written: Written::plain("qwen2") },
    Architecture { names: &["qwen3"], shape: qwen::qwen3, hub_names: names::plain, written: Written::plain("qwen3") },
    Architecture {
        names: &["qwen3moe", "qwen3_moe"],
        shape: qwen::qwen3moe,
        hub_names: qwen::moe_names,
        written: Written::plain("qwen3moe"),
    },
    Architecture {
        names: &["qwen35", "qwen3_5", "qwen3_5_text"],
        shape: qwen35::qwen35,
        hub_names: qwen35::hub_names,
        written: Written::with("qwen35", qwen35::add_keys),
    },
    Architecture {
        names: &["qwen35moe", "qwen3_5_moe", "qwen3_5_moe_text"],
        shape: qwen35::qwen35moe,
        hub_names: qwen35::moe_names,
        written: Written::with("qwen35moe", qwen35::add_keys),
    },
    Architecture {
        names: &["qwen3next", "qwen3_next"],
        shape: qwen35::qwen3next,
        hub_names: qwen35::moe_names,
        written: Written::with("qwen3next", qwen35::add_keys),
    },
    Architecture {
        names: &["gemma2"],
        shape: gemma::gemma2,
        hub_names: gemma::hub_names,
        written: Written::with("gemma2", gemma::add_keys),
    },
    Architecture {
        names: &["gemma3", "gemma3_text"],
        shape: gemma::gemma3,
        hub_names: gemma::hub_names,
        written: Written::with("gemma3", gemma::add_keys),
    },
    Architecture {
        names: &["gemma3n", "gemma3n_text"],
        shape: gemma3n::shape,
        hub_names: gemma3n::hub_names,
        written: Written::with("gemma3n", gemma3n::add_keys),
    },
    Architecture {
        names: &["gemma4", "gemma4_text"],
        shape: gemma4::shape,
        hub_names: gemma4::hub_names,
        written: Written::with("gemma4", gemma4::add_keys),
    },
    Architecture { names: &["phi3"], shape: phi3::shape, hub_names: phi3::hub_names, written: Written::plain("phi3") },
    Architecture {
        names: &["olmo2"],
        shape: olmo::olmo2,
        hub_names: olmo::hub_names,
        written: Written::plain("olmo2"),
    },
    Architecture {
        names: &["olmo3"],
        shape: olmo::olmo3,
        hub_names: olmo::hub_names,
        written: Written::with("olmo2", olmo::add_keys),
    },
    Architecture {
        names: &["exaone4"],
        shape: exaone4::shape,
        hub_names: olmo::hub_names,
        written: Written::with("exaone4", exaone4::add_keys),
    },
    Architecture { names: &["glm4"], shape: glm4::shape, hub_names: glm4::hub_names, written: Written::plain("glm4") },
    Architecture {
        names: &["cohere2"],
        shape: cohere2::shape,
        hub_names: names::plain,
        written: Written::with("cohere2", cohere2::add_keys),
    },
    Architecture {
        names: &["starcoder2"],
        shape: starcoder2::shape,
        hub_names: starcoder2::hub_names,
        written: Written::plain("starcoder2"),
    },
    Architecture {
        names: &["stablelm"],
        shape: stablelm::shape,
        hub_names: stablelm::hub_names,
        written: Written::with("stablelm", stablelm::add_keys),
    },
    Architecture {
        names: &["apertus"],
        shape: apertus::shape,
        hub_names: apertus::hub_names,
        written: Written::plain("apertus"),
    },
    Architecture {
        names: &["deepseek2", "deepseek_v2"],
        shape: deepseek2::v2,
        hub_names: deepseek2::hub_names,
        written: Written::with("deepseek2", deepseek2::add_keys),
    },
    Architecture {
        names: &["deepseek_v3", "kimi_k2"],
        shape: deepseek2::v3,
        hub_names: deepseek2::hub_names,
        written: Written::with("deepseek2", deepseek2::add_keys),
    },
    Architecture {
        names: &["llama4", "llama4_text"],
        shape: llama4::shape,
        hub_names: llama4::hub_names,
        written: Written::with("llama4", llama4::add_keys),
    },
    Architecture {
        names: &["mamba2"],
        shape: mamba::mamba2,
        hub_names: mamba::hub_names,
        written: Written::with("mamba2", mamba::add_keys),
    },
    Architecture {
        names: &["falcon-h1", "falcon_h1"],
        shape: falcon_h1::shape,
        hub_names: falcon_h1::hub_names,
        written: Written::with("falcon-h1", falcon_h1::add_keys),
    },
    Architecture {
        names: &["nemotron_h", "nemotron_h_moe"],
        shape: nemotron_h::shape,
        hub_names: nemotron_h::hub_names,
        written: Written::with("nemotron_h", nemotron_h::add_keys),
    },
    Architecture {
        names: &["rwkv7"],
        shape: rwkv7::shape,
        hub_names: rwkv7::hub_names,
        written: Written::with("rwkv7", rwkv7::add_keys),
    },
    Architecture { names: &["arwkv7"], shape: rwkv7::arwkv7, hub_names: rwkv7::hub_names, written: None },
    Architecture {
        names: &["bitnet"],
        shape: bitnet::shape,
        hub_names: bitnet::hub_names,
        written: Written::with("bitnet", bitnet::add_keys),
    },
    Architecture {
        names: &["lfm2"],
        shape: lfm2::lfm2,
        hub_names: lfm2::hub_names,
        written: Written::with("lfm2", lfm2::add_keys),
    },
    Architecture {
        names: &["lfm2moe", "lfm2_moe"],
        shape: lfm2::lfm2moe,
        hub_names: lfm2::hub_names,
        written: Written::with("lfm2moe", lfm2::add_keys),
    },
    Architecture { names: &["gpt-oss", "gptoss"], shape: gpt_oss::shape, hub_names: names::plain, written: None },
    Architecture { names: &["gpt_oss"], shape: gpt_oss::of_hub, hub_names: names::plain, written: None },
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

/// The GGUF form of the decoder that a folder's settings describe.
pub fn written(settings: &Settings) -> Result<&'static Written<Shape>> {
    architecture::written(&ALL, settings)
}

/// [`read`] without a look at the settings that nothing reads.
pub fn shape(settings: &Settings) -> Result<Shape> {
    architecture::shape(&ALL, settings)
}
