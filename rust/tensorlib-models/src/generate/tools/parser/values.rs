//! Converts values of XML, which are bare texts, to JSON by the schemas of parameters.

use serde_json::Value;

/// The most references that are followed from one schema to another.
const MOST_REFERENCES: usize = 16;

/// What the text of a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// A string, unless it is `null`.
    TextOrNull,
    /// JSON if it is, otherwise a string.
    Json,
}

/// The schema of a parameter, if there is one.
pub fn property<'a>(parameters: &'a Value, key: &str) -> Option<&'a Value> {
    parameters.get("properties")?.get(key)
}

/// The schema that this one refers to, or this one.
pub fn resolved<'a>(parameters: &'a Value, mut schema: &'a Value) -> Option<&'a Value> {
    for _ in 0..MOST_REFERENCES {
        let Some(reference) = schema.get("$ref") else { return Some(schema) };
        schema = parameters.pointer(reference.as_str()?.strip_prefix('#')?)?;
    }
    None
}

/// What a parameter's text is.
pub fn kind(parameters: &Value, schema: &Value) -> Kind {
    let (mut has_text, mut has_null) = (false, false);
    let mut left = vec![schema];
    // Each level of schemas within schemas is looked at once.
    for _ in 0..256 {
        let Some(schema) = left.pop().and_then(|schema| resolved(parameters, schema)) else { break };
        let types = schema.get("type").map(|kind| match kind {
            Value::Array(all) => all.iter().collect(),
            one => vec![one],
        });
        let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten().chain(schema.get("const"));
        match types {
            Some(types) => {
                has_text |= types.iter().any(|kind| *kind == "string");
                has_null |= types.iter().any(|kind| *kind == "null");
            }
            None => values.for_each(|value| {
                has_text |= value.is_string();
                has_null |= value.is_null();
            }),
        }
        let within = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(*key)?.as_array());
        left.extend(within.flatten());
    }
    match (has_text, has_null) {
        (true, true) => Kind::TextOrNull,
        (true, false) => Kind::Text,
        _ => Kind::Json,
    }
}

/// The JSON of a parameter's text.
pub fn json(text: &str, kind: Kind) -> String {
    let inner = text.trim();
    let parsed = match kind {
        Kind::Text => None,
        Kind::TextOrNull => (inner == "null").then_some(inner),
        Kind::Json => match inner {
            // Templates write earlier calls in Python.
            "True" => Some("true"),
            "False" => Some("false"),
            "None" => Some("null"),
            _ => Some(inner).filter(|inner| serde_json::from_str::<Value>(inner).is_ok_and(|value| !value.is_string())),
        },
    };
    parsed.map_or_else(|| Value::from(text).to_string(), String::from)
}
