//! The names of `tokenizer.ggml.pre` that stand for the steps of a tokenizer.json.

use super::{Cut, Rule, RULES};
use serde_json::Value;

/// The names of rules with these cuts, the best first: those with the same normal form and the same treatment of whole
/// words, and of the names of a rule the architecture's own.
pub(in crate::tokenizer) fn names(json: &Value, architecture: &str) -> Vec<&'static str> {
    let steps = flat(&json["pre_tokenizer"], "pretokenizers");
    let normalizers = flat(&json["normalizer"], "normalizers");
    let nfc = match normalizers.as_slice() {
        [] => false,
        [step] if step["type"] == "NFC" => true,
        _ => return Vec::new(),
    };
    let ignore_merges = json["model"]["ignore_merges"] == true;
    let mut found: Vec<(&Rule, usize)> = RULES
        .iter()
        .filter(|rule| rule.has_cuts(&steps))
        .map(|rule| (rule, usize::from(rule.nfc != nfc) + usize::from(rule.ignore_merges != ignore_merges)))
        .collect();
    found.sort_by_key(|(_, differences)| *differences);
    let is_own = |name: &&&str| name.replace('_', "-") == architecture.replace('_', "-");
    found.iter().filter_map(|(rule, _)| rule.names.iter().find(is_own).or(rule.names.first()).copied()).collect()
}

/// The steps of a sequence, or the only step.
fn flat<'a>(step: &'a Value, inner: &str) -> Vec<&'a Value> {
    match (step["type"].as_str(), step[inner].as_array()) {
        (Some("Sequence"), Some(list)) => list.iter().flat_map(|step| flat(step, inner)).collect(),
        (Some(_), _) => vec![step],
        _ => Vec::new(),
    }
}

impl Rule {
    /// Whether steps make these cuts, and then characters for bytes.
    fn has_cuts(&self, steps: &[&Value]) -> bool {
        let Some((bytes, cuts)) = steps.split_last().filter(|(last, _)| last["type"] == "ByteLevel") else {
            return false;
        };
        // By default this step cuts too.
        let words = bytes["use_regex"] != false;
        let own = match self.cuts.split_last() {
            Some((Cut::Gpt2Words, others)) if words => others,
            Some((Cut::Gpt2Words, _)) => return false,
            _ if words => return false,
            _ => self.cuts,
        };
        own.len() == cuts.len() && own.iter().zip(cuts).all(|(cut, step)| cut.is_made_by(step))
    }
}

impl Cut {
    fn is_made_by(&self, step: &Value) -> bool {
        match (self, step["type"].as_str()) {
            (Cut::Regex(regex), Some("Split")) => {
                // Where an expression matches everything, the second form is the first one.
                let isolated = step["behavior"] == "Isolated" && step["invert"] != true;
                let matches_alone = step["behavior"] == "Removed" && step["invert"] == true;
                step["pattern"]["Regex"] == *regex && (isolated || matches_alone)
            }
            (Cut::Digit, Some("Digits")) => step["individual_digits"] == true,
            (Cut::Digits, Some("Digits")) => step["individual_digits"] != true,
            (Cut::Punctuation, Some("Punctuation")) => step["behavior"] == "Contiguous",
            (Cut::Gpt2Words, Some("ByteLevel")) => step["use_regex"] != false,
            _ => false,
        }
    }
}
