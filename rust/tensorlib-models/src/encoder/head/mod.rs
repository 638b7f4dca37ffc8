//! A classifier's head: logits of labels from the vectors of a text's tokens.

mod labels;

pub use labels::Scores;

use super::attention::joined;
use super::batches::{Batch, Group};
use super::shape::{HeadActivation, HeadPooling, HeadShape, Norms, Shape};
use crate::modules::{ModuleList, Tail};
use crate::sentences::Pooling;
use crate::settings::Settings;
use crate::weights::Weights;
use crate::{Error, Result};
use labels::Labels;
use tensorlib::nn::{LayerNorm, Linear, Module, Pass};
use tensorlib::Tensor;

/// A head's weights and labels.
pub struct Head {
    kind: Kind,
    labels: Labels,
}

/// What computes the logits.
pub enum Kind {
    /// The tensors of the architecture's classifiers.
    Classifier(Classifier),
    /// The modules after the pooling of sentence-transformers.
    Modules(Tail, Pooling),
}

/// The weights of an architecture's classifier.
pub struct Classifier {
    shape: HeadShape,
    /// The first product; without it the activation is left out too.
    dense: Option<Linear>,
    norm: Option<LayerNorm>,
    output: Linear,
}

impl Head {
    /// Loads the tensors `cls.*`; `None` if the files have no head.
    pub fn load(weights: &Weights, settings: &Settings, shape: &Shape) -> Result<Option<Self>> {
        // A classifier of tokens has tensors of the same names. Files that do not say are known by their tensors.
        let classifies = settings.classifies_texts().ok().flatten().unwrap_or(true);
        let Some(mut of) = shape.classifier.filter(|_| classifies) else { return Ok(None) };
        // GGUF files have DistilBERT as BERT. It alone has no token types, and its heads have another activation.
        if !weights.is_hub() && shape.norms == Norms::After && weights.shape_of("token_types.weight").is_none() {
            of.activation = HeadActivation::Relu;
        }
        let width = shape.width;
        let rows = |name: &str| {
            let shape = weights.shape_of(&format!("{name}.weight"));
            shape.map(|shape| shape.get(1).copied().unwrap_or(1))
        };
        let (dense, output) = match (rows("cls"), rows("cls.output")) {
            (None, None) => return Ok(None),
            (Some(_), Some(n)) => (Some(weights.linear("cls", width, width)?), weights.linear("cls.output", width, n)?),
            // A folder of a model that was never a classifier may have the first product, which BERT is trained with.
            (Some(_), None) if weights.is_hub() => return Ok(None),
            (None, Some(_)) if weights.is_hub() => {
                let name = weights.called("cls.weight");
                return Err(Error::format(format!("tensor '{name}' is missing: [{width}, {width}] is expected")));
            }
            // Converters leave out BERT's first product, and some give the second one its name.
            (only, last) => {
                let name = if last.is_some() { "cls.output" } else { "cls" };
                settings.warnings().add(
                    "the file lacks the first product of the model's head, which converters leave out: its scores are \
                     not those of the folder that it comes from",
                );
                (None, weights.linear(name, width, last.or(only).unwrap_or(1))?)
            }
        };
        let norm = match weights.shape_of("cls.norm.weight") {
            Some(_) if dense.is_some() => Some(weights.layer_norm("cls.norm", width, shape.eps)?),
            _ => None,
        };
        let n = output.weight.shape().get(1).copied().unwrap_or(1);
        let labels = Labels::read(settings, usize::try_from(n).unwrap_or(0))?;
        Ok(Some(Head { kind: Kind::Classifier(Classifier { shape: of, dense, norm, output }), labels }))
    }

    /// The head that the last of a list's modules makes.
    pub fn of_modules(tail: Tail, list: &ModuleList, settings: &Settings) -> Result<Self> {
        let labels = Labels::of_modules(settings, tail.outputs(), list.activation.as_deref())?;
        Ok(Head { kind: Kind::Modules(tail, list.pooling.unwrap_or(Pooling::Mean)), labels })
    }

    /// What computes the logits.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The modules that compute the logits, if they do.
    pub fn modules(&self) -> Option<&Tail> {
        match &self.kind {
            Kind::Modules(tail, _) => Some(tail),
            Kind::Classifier(_) => None,
        }
    }

    /// The names of the labels.
    pub fn labels(&self) -> &[String] {
        &self.labels.names
    }

    /// How logits become scores of labels.
    pub fn classes(&self) -> Scores {
        self.labels.classes
    }

    /// How the only logit becomes a score of a pair.
    pub fn pairs(&self) -> Scores {
        self.labels.pairs
    }
}

impl Classifier {
    /// Whether the head computes from each line's first token alone.
    pub fn reads_firsts(&self) -> bool {
        self.shape.pooling == HeadPooling::First
    }

    /// The logits [labels, lines] of a batch's lines in their order, from the vectors of their tokens, or of their first
    /// tokens if it [reads them](Self::reads_firsts). A single line has two columns, because products with quantised
    /// weights round a single one differently.
    pub fn forward(&self, batch: &Batch, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let mut x = match self.shape.pooling {
            HeadPooling::First => x.clone(),
            HeadPooling::Mean => mean(batch, x)?,
        };
        if let Some(dense) = &self.dense {
            x = activated(&dense.forward(&x, pass)?, self.shape.activation)?;
        }
        if let Some(norm) = &self.norm {
            x = norm.forward(&x, pass)?;
        }
        Ok(self.output.forward(&x, pass)?)
    }
}

/// A function of each element.
pub fn activated(x: &Tensor, activation: HeadActivation) -> Result<Tensor> {
    Ok(match activation {
        HeadActivation::Tanh => x.tanh()?,
        HeadActivation::Gelu => x.gelu()?,
        HeadActivation::GeluErf => x.gelu_erf()?,
        HeadActivation::Relu => x.relu()?,
        HeadActivation::Silu => x.silu()?,
    })
}

/// The mean of each line's vectors.
fn mean(batch: &Batch, x: &Tensor) -> Result<Tensor> {
    let width = x.shape()[0];
    let of_group = |group: &Group| -> Result<Tensor> {
        let (length, lines) = (group.length as i64, group.lines as i64);
        let rows = x.narrow(1, group.start as i64, length * lines)?;
        Ok(rows.reshape([width, length, lines])?.mean(1)?.reshape([width, lines])?)
    };
    let mut all = batch.groups.iter().map(of_group).collect::<Result<Vec<_>>>()?;
    if batch.lines.len() == 1 {
        all.push(all[0].clone());
    }
    joined(all)
}
