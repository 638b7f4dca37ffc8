//! What the files say of a head's results: names of the labels, and how logits become scores.

use crate::settings::{check_fields, Fields, Key, Settings};
use crate::{Error, Result};
use serde_json::Value as Json;

const LABELS: Key = Key("classifier.output_labels", "id2label");
const PROBLEM: Key = Key("", "problem_type");
const OWN: Key = Key("", "sentence_transformers");
const ACTIVATION: Key = Key("", "sentence_transformers.activation_fn");
const OLD_ACTIVATION: Key = Key("", "sbert_ce_default_activation_function");

/// The object that sentence-transformers adds to config.json.
const OWN_FIELDS: Fields = Fields { known: &["activation_fn", "version"], only: &[] };

/// How logits become scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scores {
    /// Not at all.
    Logits,
    /// Each on its own, `1 / (1 + e^-x)`.
    Sigmoid,
    /// Each on its own, between -1 and 1.
    Tanh,
    /// All together: they are positive, and their sum is 1.
    Softmax,
}

impl Scores {
    /// The scores of these logits.
    pub fn of(self, logits: &[f32]) -> Vec<f32> {
        let each = |of: fn(f64) -> f64| logits.iter().map(|x| of(f64::from(*x)) as f32).collect();
        match self {
            Scores::Logits => logits.to_vec(),
            Scores::Sigmoid => each(|x| 1.0 / (1.0 + (-x).exp())),
            Scores::Tanh => each(f64::tanh),
            Scores::Softmax => {
                let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let powers: Vec<f64> = logits.iter().map(|x| f64::from(x - largest).exp()).collect();
                let sum: f64 = powers.iter().sum();
                powers.iter().map(|power| (power / sum) as f32).collect()
            }
        }
    }
}

/// A head's labels and how its logits become scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The name of each logit.
    pub names: Vec<String>,
    /// How logits become scores of labels.
    pub classes: Scores,
    /// How the logit of a model with one label becomes a score of a pair.
    pub pairs: Scores,
}

impl Labels {
    /// Reads what the files say of `n` logits.
    pub fn read(settings: &Settings, n: usize) -> Result<Self> {
        let names = match settings.value_if(LABELS)? {
            Some(value) => named(settings, &value, n)?,
            None => (0..n).map(|i| format!("LABEL_{i}")).collect(),
        };
        if let Some(object) = settings.value_if(OWN)? {
            let fields = object.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value.clone()));
            check_fields(&[&OWN_FIELDS], &settings.name(OWN), fields, settings.warnings())?;
        }
        let named = match activation(settings, ACTIVATION)? {
            Some(scores) => Some(scores),
            None => activation(settings, OLD_ACTIVATION)?,
        };
        let classes = match settings.text_if(PROBLEM)?.as_deref() {
            Some("regression") => Scores::Logits,
            Some("multi_label_classification") => Scores::Sigmoid,
            Some("single_label_classification") | None if n == 1 => Scores::Sigmoid,
            Some("single_label_classification") | None => Scores::Softmax,
            Some(other) => {
                let known = "regression, single_label_classification and multi_label_classification are known";
                return Err(Error::unsupported(format!("{}: is '{other}': {known}", settings.name(PROBLEM))));
            }
        };
        Ok(Labels { names, classes: named.unwrap_or(classes), pairs: named.unwrap_or(Scores::Sigmoid) })
    }

    /// Reads what a folder says of the `n` results of its last module; `function` is the one that its
    /// config_sentence_transformers.json names. The names in config.json are those of another head, unless they are `n`.
    pub fn of_modules(settings: &Settings, n: usize, function: Option<&str>) -> Result<Self> {
        let names = settings.value_if(LABELS)?.and_then(|value| named(settings, &value, n).ok());
        let usual = if n == 1 { Scores::Sigmoid } else { Scores::Logits };
        let said = match function {
            Some(name) => Some(of_name(name, "config_sentence_transformers.json: activation_fn")?),
            None => activation(settings, ACTIVATION)?,
        };
        let scores = said.unwrap_or(usual);
        let names = names.unwrap_or_else(|| (0..n).map(|i| format!("LABEL_{i}")).collect());
        Ok(Labels { names, classes: scores, pairs: scores })
    }
}

/// The function of PyTorch that a folder names.
fn activation(settings: &Settings, key: Key) -> Result<Option<Scores>> {
    settings.text_if(key)?.map(|name| of_name(&name, &settings.name(key))).transpose()
}

/// The function of PyTorch of this name; `place` says where it was found.
fn of_name(name: &str, place: &str) -> Result<Scores> {
    match name.strip_prefix("torch.nn.").and_then(|name| name.rsplit('.').next()) {
        Some("Identity") => Ok(Scores::Logits),
        Some("Sigmoid") => Ok(Scores::Sigmoid),
        Some("Tanh") => Ok(Scores::Tanh),
        Some("Softmax") => Ok(Scores::Softmax),
        _ => {
            let known = "Identity, Sigmoid, Tanh and Softmax of torch.nn are known";
            Err(Error::unsupported(format!("{place}: is '{name}': {known}")))
        }
    }
}

/// The names of `n` logits: a list, or an object with their numbers as keys.
fn named(settings: &Settings, value: &Json, n: usize) -> Result<Vec<String>> {
    let text = |value: &Json| value.as_str().map(String::from);
    let names: Option<Vec<String>> = match value {
        Json::Array(names) => names.iter().map(text).collect(),
        Json::Object(names) => (0..names.len()).map(|i| names.get(&i.to_string()).and_then(text)).collect(),
        _ => None,
    };
    let names = names.ok_or_else(|| settings.refuse(LABELS, "a text for each number from 0 on is valid"))?;
    match names.len() == n {
        true => Ok(names),
        false => Err(settings.refuse(LABELS, format!("has {} names: the head's weights make {n} logits", names.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_logits() {
        let logits = [0.5f32, -100.0, 3.0];
        let near = |a: f32, b: f64| assert!((f64::from(a) - b).abs() < 1e-7, "{a} {b}");
        assert_eq!(Scores::Logits.of(&logits), logits);
        for (i, x) in logits.iter().map(|x| f64::from(*x)).enumerate() {
            near(Scores::Sigmoid.of(&logits)[i], 1.0 / (1.0 + (-x).exp()));
            near(Scores::Tanh.of(&logits)[i], x.tanh());
            near(Scores::Softmax.of(&logits)[i], x.exp() / (0.5f64.exp() + (-100f64).exp() + 3f64.exp()));
        }
        // No power overflows.
        assert_eq!(Scores::Softmax.of(&[3e38, -3e38]), [1.0, 0.0]);
        assert_eq!(Scores::Sigmoid.of(&[-3e38, 3e38]), [0.0, 1.0]);
    }
}
