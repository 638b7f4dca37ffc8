//! BERT, RoBERTa and XLM-RoBERTa.

use super::names;
use crate::encoder::shape::{Activation, Counts, Shape, EPS, POSITIONS};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};

const ACTIVATION: Key = Key("", "hidden_act");
const POSITION_KIND: Key = Key("", "position_embedding_type");
const PADDING: Key = Key("", "pad_token_id");

/// Reads the settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    if let Some(kind) = settings.text_if(POSITION_KIND)?.filter(|kind| kind != "absolute") {
        let what = format!("is '{kind}': absolute is known");
        return Err(Error::unsupported(format!("{}: {what}", settings.name(POSITION_KIND))));
    }
    // RoBERTa's first position follows that of padding. GGUF files lack the rows before it.
    let first = match settings.is_hub() && settings.architecture() != "bert" {
        true => first_position(settings)?,
        false => 0,
    };
    let shape = Shape::read(settings, &Counts::BERT, EPS, POSITIONS, first)?;
    Ok(Shape { activation: activation(settings)?, ..shape })
}

/// The position after that of padding.
fn first_position(settings: &Settings) -> Result<i64> {
    let Some(padding) = settings.number_if(PADDING)? else { return Ok(2) };
    let rows = settings.count(POSITIONS)?;
    let first = padding as i64 + 1;
    if !(0..rows).contains(&first) {
        return Err(settings.refuse(PADDING, format!("is {padding}: less than the {rows} positions is valid")));
    }
    Ok(first)
}

/// The activation that `hidden_act` names. GGUF does not store it, and the models themselves use the error function.
pub fn activation(settings: &Settings) -> Result<Activation> {
    Ok(match settings.text_if(ACTIVATION)?.as_deref() {
        None | Some("gelu") => Activation::GeluErf,
        Some("gelu_new" | "gelu_pytorch_tanh") => Activation::Gelu,
        Some("relu") => Activation::Relu,
        Some(other) => {
            let what = format!("is '{other}': gelu, gelu_new, gelu_pytorch_tanh and relu are known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(ACTIVATION))));
        }
    })
}

/// The prefixes of the names in whole models; sentence encoders have none.
const PREFIXES: [&str; 3] = ["", "bert.", "roberta."];

/// BERT's names.
pub fn hub_names() -> HubNames {
    names::with(&PREFIXES, names::bert)
}

/// RoBERTa's names.
pub fn roberta_hub_names() -> HubNames {
    names::with(&PREFIXES, names::roberta)
}
