//! BERT, RoBERTa, XLM-RoBERTa and ELECTRA.

use super::names;
use crate::encoder::shape::{Activation, Counts, HeadActivation, HeadShape, Shape, EPS, POSITIONS};
use crate::settings::{Key, Settings};
use crate::weights::HubNames;
use crate::{Error, Result};

const ACTIVATION: Key = Key("", "hidden_act");
const EMBEDDING: Key = Key("", "embedding_size");
pub const POSITION_KIND: Key = Key("", "position_embedding_type");
const PADDING: Key = Key("", "pad_token_id");

/// Reads BERT's settings.
pub fn shape(settings: &Settings) -> Result<Shape> {
    shape_from(settings, 0)
}

/// Reads RoBERTa's settings: the first position follows that of padding. GGUF files lack the rows before it.
pub fn roberta_shape(settings: &Settings) -> Result<Shape> {
    let first = if settings.is_hub() { first_position(settings)? } else { 0 };
    shape_from(settings, first)
}

/// Reads ELECTRA's settings (Clark and others, 2020): embeddings may be narrower, and heads have another activation.
pub fn electra_shape(settings: &Settings) -> Result<Shape> {
    let shape = shape_from(settings, 0)?;
    Ok(Shape {
        embedding: settings.count_if(EMBEDDING)?.unwrap_or(shape.width),
        classifier: shape.classifier.map(|head| HeadShape { activation: HeadActivation::GeluErf, ..head }),
        ..shape
    })
}

/// Reads the settings of a model whose first token has the row `first` of the positions.
fn shape_from(settings: &Settings, first: i64) -> Result<Shape> {
    if let Some(kind) = settings.text_if(POSITION_KIND)?.filter(|kind| kind != "absolute") {
        let what = format!("is '{kind}': absolute is known");
        return Err(Error::unsupported(format!("{}: {what}", settings.name(POSITION_KIND))));
    }
    let shape = Shape::read(settings, &Counts::BERT, EPS, POSITIONS, first)?;
    Ok(Shape { activation: activation(settings, ACTIVATION)?, ..shape })
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
pub fn hidden_act(settings: &Settings) -> Result<Activation> {
    activation(settings, ACTIVATION)
}

/// The activation that this setting names.
pub fn activation(settings: &Settings, key: Key) -> Result<Activation> {
    Ok(match settings.text_if(key)?.as_deref() {
        None | Some("gelu") => Activation::GeluErf,
        Some("gelu_new" | "gelu_pytorch_tanh") => Activation::Gelu,
        Some("relu") => Activation::Relu,
        Some(other) => {
            let what = format!("is '{other}': gelu, gelu_new, gelu_pytorch_tanh and relu are known");
            return Err(Error::unsupported(format!("{}: {what}", settings.name(key))));
        }
    })
}

/// The prefixes of the names in whole models; sentence encoders have none.
pub const PREFIXES: [&str; 4] = ["", "bert.", "roberta.", "electra."];

/// BERT's names.
pub fn hub_names() -> HubNames {
    names::with(&PREFIXES, names::bert)
}

/// RoBERTa's names, and ELECTRA's.
pub fn roberta_hub_names() -> HubNames {
    names::with(&PREFIXES, names::roberta)
}
