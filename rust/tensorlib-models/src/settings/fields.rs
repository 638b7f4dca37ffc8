//! The fields of a file: read, without effect, or refused; unknown ones are reported. No setting is skipped silently.

use super::shown;
use crate::files::listed;
use crate::warnings::Warnings;
use crate::{Error, Result};
use serde_json::Value as Json;

/// The known fields of a kind of file. A name that ends with `*` stands for all names with that prefix.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    /// Fields that the code reads, or that do not change results.
    pub known: &'static [&'static str],
    /// Fields that change results, each with the supported values as JSON. null is always supported.
    pub only: &'static [(&'static str, &'static [&'static str])],
}

/// The treatment of a field.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Known,
    /// Only these values are supported.
    Refused(&'static [&'static str]),
    Unknown,
}

/// Whether a name is in this list.
fn is_listed(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => *known == name,
    })
}

fn verdict(tables: &[&Fields], name: &str, value: &Json) -> Verdict {
    let rule = tables.iter().flat_map(|table| table.only).find(|(known, _)| *known == name);
    if let Some((_, supported)) = rule {
        let is_supported = |text: &&str| serde_json::from_str(text).is_ok_and(|known: Json| is_same(&known, value));
        return match value.is_null() || supported.iter().any(is_supported) {
            true => Verdict::Known,
            false => Verdict::Refused(supported),
        };
    }
    match tables.iter().any(|table| is_listed(table.known, name)) {
        true => Verdict::Known,
        false => Verdict::Unknown,
    }
}

/// Compares values; 256 and 256.0 are equal.
pub(crate) fn is_same(a: &Json, b: &Json) -> bool {
    a == b || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if a == b)
}

/// Checks fields that the code has not read. `file` is the start of messages; `fields` are names and values.
///
/// # Errors
/// `ErrorKind::Unsupported` for a value that changes results and is not supported, naming the field.
pub(crate) fn check<'a>(
    tables: &[&Fields],
    file: &str,
    fields: impl Iterator<Item = (&'a str, Json)>,
    warnings: &Warnings,
) -> Result<()> {
    let mut unknown = Vec::new();
    for (name, value) in fields {
        match verdict(tables, name, &value) {
            Verdict::Known => {}
            Verdict::Refused(supported) => {
                let (is, known) = (shown(&value), supported.join(", "));
                let known = if known.is_empty() { "null".into() } else { known };
                return Err(Error::unsupported(format!("{file}: {name}: is {is}: {known} is supported")));
            }
            Verdict::Unknown => unknown.push(name.to_string()),
        }
    }
    if !unknown.is_empty() {
        warnings.add(format!("{file}: fields that are not known are ignored: {}", listed(unknown)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TABLE: Fields = Fields {
        known: &["harmless", "prefix.*"],
        only: &[("act", &["\"silu\"", "\"swish\""]), ("factor", &["1"]), ("list", &["[]"]), ("never", &[])],
    };

    fn checked(fields: Json) -> (Option<String>, Vec<String>) {
        let warnings = Warnings::default();
        let all = fields.as_object().unwrap();
        let ended = check(&[&TABLE], "f", all.iter().map(|(k, v)| (k.as_str(), v.clone())), &warnings);
        (ended.err().map(|e| e.to_string()), warnings.list())
    }

    #[test]
    fn fields_are_known_refused_or_reported() {
        let fine = json!({"harmless": 3, "prefix.x": 1, "act": "swish", "factor": 1.0, "list": [], "never": null});
        assert_eq!(checked(fine), (None, vec![]));
        for (field, words) in [
            (json!({"act": "relu"}), "f: act: is \"relu\": \"silu\", \"swish\" is supported"),
            (json!({"factor": 2}), "f: factor: is 2: 1 is supported"),
            (json!({"list": [1]}), "f: list: is [1]: [] is supported"),
            (json!({"never": false}), "f: never: is false: null is supported"),
        ] {
            assert_eq!(checked(field).0.as_deref(), Some(words));
        }
        let (error, warnings) = checked(json!({"a": 1, "b": null, "prefix": 1}));
        assert_eq!(error, None);
        assert_eq!(warnings, ["f: fields that are not known are ignored: a, b, prefix"]);
    }
}
