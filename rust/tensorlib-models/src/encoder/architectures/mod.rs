//! The differences between architectures, a file each.

mod bert;
mod clip;
mod deberta;
mod distilbert;
mod gemma;
mod gte;
mod jina;
mod jina3;
mod modernbert;
mod mpnet;
mod names;
mod nomic;
mod t5;

use super::shape::Shape;
use crate::architecture::{self, Architecture, Known, Written};
use crate::settings::{
    Settings, CLIP_CONFIG, DEBERTA_CONFIG, DISTILBERT_CONFIG, ELECTRA_CONFIG, ENCODER_CONFIG, ENCODER_GGUF,
    GEMMA_CONFIG, GTE_CONFIG, HEAD_CONFIG, JINA_3_CONFIG, JINA_CONFIG, MODERNBERT_CONFIG, NOMIC_CONFIG, T5_CONFIG,
    T5_GGUF,
};
use crate::weights::HubNames;
use crate::Result;

static ALL: [Architecture<Shape>; 14] = [
    Architecture { names: &["bert"], shape: bert::shape, hub_names: bert::hub_names, written: Written::plain("bert") },
    Architecture {
        names: &["roberta", "xlm-roberta", "camembert"],
        shape: bert::roberta_shape,
        hub_names: bert::roberta_hub_names,
        written: Written::plain("bert"),
    },
    Architecture { names: &["electra"], shape: bert::electra_shape, hub_names: bert::roberta_hub_names, written: None },
    Architecture {
        names: &["distilbert"],
        shape: distilbert::shape,
        hub_names: distilbert::hub_names,
        written: Written::plain("bert"),
    },
    Architecture {
        names: &["modernbert", "modern-bert"],
        shape: modernbert::shape,
        hub_names: modernbert::hub_names,
        written: Written::with("modern-bert", modernbert::add_keys),
    },
    Architecture {
        names: &["gemma-embedding", "gemma3_text"],
        shape: gemma::shape,
        hub_names: gemma::hub_names,
        written: Written::with("gemma-embedding", gemma::add_keys),
    },
    Architecture {
        names: &["jina-bert-v2"],
        shape: jina::shape,
        hub_names: jina::hub_names,
        written: Written::plain("jina-bert-v2"),
    },
    Architecture {
        names: &["jina-bert-v3"],
        shape: jina3::shape,
        hub_names: jina3::hub_names,
        written: Written::with("jina-bert-v3", jina3::add_keys),
    },
    Architecture { names: &["new", "gte"], shape: gte::shape, hub_names: gte::hub_names, written: None },
    Architecture {
        names: &["clip", "clip_text_model", "siglip", "siglip_text_model", "siglip2", "siglip2_text_model"],
        shape: clip::shape,
        hub_names: clip::hub_names,
        written: None,
    },
    Architecture { names: &["deberta-v2"], shape: deberta::shape, hub_names: deberta::hub_names, written: None },
    Architecture {
        names: &["t5", "t5encoder", "mt5"],
        shape: t5::shape,
        hub_names: t5::hub_names,
        written: Written::with("t5encoder", t5::add_keys),
    },
    Architecture { names: &["mpnet"], shape: mpnet::shape, hub_names: mpnet::hub_names, written: None },
    Architecture {
        names: &["nomic-bert", "nomic-bert-moe", "nomic_bert"],
        shape: nomic::shape,
        hub_names: nomic::hub_names,
        written: Written::with("nomic-bert", nomic::add_keys),
    },
];

/// Encoders whose folders call themselves BERT.
static JINA: [Architecture<Shape>; 1] = [Architecture {
    names: &["bert"],
    shape: jina::shape,
    hub_names: jina::hub_names,
    written: Written::plain("jina-bert-v2"),
}];

/// Encoders whose folders call themselves XLM-RoBERTa.
static JINA_3: [Architecture<Shape>; 1] = [Architecture {
    names: &["xlm-roberta"],
    shape: jina3::shape,
    hub_names: jina3::hub_names,
    written: Written::with("jina-bert-v3", jina3::add_keys),
}];

/// The encoders among which the settings name one.
fn named(settings: &Settings) -> Result<&'static [Architecture<Shape>]> {
    Ok(match (jina::is_jina(settings)?, jina3::is_jina_3(settings)?) {
        (true, _) => &JINA,
        (_, true) => &JINA_3,
        (false, false) => &ALL,
    })
}

/// The names of all encoders.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().flat_map(|known| known.names).copied()
}

/// Whether the settings are those of an encoder.
pub fn is_encoder(settings: &Settings) -> Result<bool> {
    let architecture = settings.architecture();
    // Folders of encoders and of language models name this one alike.
    let is_gemma = architecture == "gemma3_text";
    Ok(names().any(|name| name == architecture) && (!is_gemma || gemma::is_encoder(settings)?))
}

/// Reads the encoder that the settings describe, and its tensors' names.
pub fn read(settings: &Settings) -> Result<(Shape, HubNames)> {
    let config: &[_] = match settings.architecture() {
        "bert" if jina::is_jina(settings)? => &[&ENCODER_CONFIG, &HEAD_CONFIG, &JINA_CONFIG],
        "xlm-roberta" if jina3::is_jina_3(settings)? => &[&ENCODER_CONFIG, &HEAD_CONFIG, &JINA_3_CONFIG],
        "new" | "gte" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &GTE_CONFIG],
        "gemma3_text" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &GEMMA_CONFIG],
        "nomic_bert" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &NOMIC_CONFIG],
        "electra" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &ELECTRA_CONFIG],
        "clip" | "clip_text_model" | "siglip" | "siglip_text_model" | "siglip2" | "siglip2_text_model" => {
            &[&CLIP_CONFIG, &ENCODER_CONFIG, &HEAD_CONFIG]
        }
        "deberta-v2" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &DEBERTA_CONFIG],
        "t5" | "mt5" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &T5_CONFIG],
        "distilbert" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &DISTILBERT_CONFIG],
        "modernbert" => &[&ENCODER_CONFIG, &HEAD_CONFIG, &MODERNBERT_CONFIG],
        _ => &[&ENCODER_CONFIG, &HEAD_CONFIG],
    };
    architecture::read(named(settings)?, "encoder", settings, &Known { config, gguf: &[&ENCODER_GGUF, &T5_GGUF] })
}

/// The GGUF form of the encoder that a folder's settings describe.
pub fn written(settings: &Settings) -> Result<&'static Written<Shape>> {
    architecture::written(named(settings)?, settings)
}

/// [`read`] without a look at the settings that nothing reads.
pub fn shape(settings: &Settings) -> Result<Shape> {
    architecture::shape(&ALL, settings)
}
