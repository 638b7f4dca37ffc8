//! Refuses JSON schemas that cannot be enforced in full.
//!
//! llguidance ignores keywords that it does not know, as JSON Schema says validators should, and some combinations of
//! those that it knows. A misspelt keyword would constrain nothing. So every keyword is looked up here first.

use crate::{Error, Result};
use serde_json::{json, Map, Value};

/// What a keyword's value is.
#[derive(Clone, Copy)]
enum Expected {
    Anything,
    Text,
    Count,
    Number,
    /// A number, or a boolean in draft 4.
    Exclusive,
    Texts,
    Values,
    Types,
    Schema,
    /// A schema, or an array of schemas in drafts before 2020-12.
    Items,
    Schemas,
    /// An object whose values are schemas.
    Named,
}

/// The keywords that are enforced, and those that constrain nothing.
const KEYWORDS: [(&str, Expected); 40] = {
    use Expected::*;
    [
        ("type", Types),
        ("enum", Values),
        ("const", Anything),
        ("anyOf", Schemas),
        ("oneOf", Schemas),
        ("allOf", Schemas),
        ("$ref", Text),
        ("$defs", Named),
        ("definitions", Named),
        ("properties", Named),
        ("patternProperties", Named),
        ("additionalProperties", Schema),
        ("required", Texts),
        ("minProperties", Count),
        ("maxProperties", Count),
        ("items", Items),
        ("prefixItems", Schemas),
        ("additionalItems", Schema),
        ("minItems", Count),
        ("maxItems", Count),
        ("minLength", Count),
        ("maxLength", Count),
        ("pattern", Text),
        ("format", Text),
        ("minimum", Number),
        ("maximum", Number),
        ("exclusiveMinimum", Exclusive),
        ("exclusiveMaximum", Exclusive),
        ("multipleOf", Number),
        ("$schema", Text),
        ("$comment", Text),
        ("title", Text),
        ("description", Text),
        ("default", Anything),
        ("examples", Anything),
        ("readOnly", Anything),
        ("writeOnly", Anything),
        ("deprecated", Anything),
        ("contentMediaType", Text),
        ("contentEncoding", Text),
    ]
};

/// Keywords that constrain nothing.
pub(super) const ANNOTATIONS: [&str; 8] =
    ["title", "description", "default", "examples", "$comment", "readOnly", "writeOnly", "deprecated"];

/// The largest integer up to which F64, in which llguidance computes bounds, has all.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// The schema with the options of its compilation, if it can be enforced.
pub(super) fn checked(schema: Value) -> Result<Value> {
    let schema = match schema {
        Value::Bool(true) => json!({}),
        schema => schema,
    };
    check(&schema, "#", true)?;
    if uses(&schema, "prefixItems") && schema.get("$schema").is_some_and(|s| !s.to_string().contains("2020-12")) {
        return Err(Error::unsupported("JSON schema: prefixItems: this draft has none: one of 2020-12 is valid"));
    }
    let mut schema = schema;
    if let Some(object) = schema.as_object_mut() {
        // Without \u a key has one spelling, so no key can pass for an additional one.
        let options = json!({ "json_allowed_escapes": "nrbtf\\\"", "whitespace_pattern": r"[\x20\x0A\x0D\x09]{1,64}" });
        object.insert("x-guidance".into(), options);
    }
    Ok(schema)
}

pub(super) fn refused(at: &str, message: impl std::fmt::Display) -> Error {
    Error::unsupported(format!("JSON schema: {at}: {message}"))
}

fn wrong(at: &str, message: impl std::fmt::Display) -> Error {
    Error::invalid(format!("JSON schema: {at}: {message}"))
}

/// Checks a schema and those within it. JSON's reader limits how deep they are nested.
fn check(schema: &Value, at: &str, is_root: bool) -> Result<()> {
    let Some(object) = schema.as_object() else {
        return match schema {
            Value::Bool(_) => Ok(()),
            _ => Err(wrong(at, "is no object and no boolean")),
        };
    };
    for (name, value) in object {
        let at = format!("{at}/{name}");
        let Some((_, expected)) = KEYWORDS.iter().find(|(known, _)| known == name) else {
            let known: Vec<&str> = KEYWORDS.iter().map(|(known, _)| *known).collect();
            return Err(refused(&at, format!("cannot be enforced; keywords are {}", known.join(", "))));
        };
        if name == "$schema" && !is_root {
            return Err(refused(&at, "a draft within a schema cannot be enforced"));
        }
        check_value(value, *expected, &at)?;
    }
    check_combinations(object, at)
}

fn check_value(value: &Value, expected: Expected, at: &str) -> Result<()> {
    use Expected::*;
    let texts = |value: &Value| value.as_array().is_some_and(|all| all.iter().all(Value::is_string));
    match (expected, value) {
        (Anything, _) => check_numbers(value, at),
        (Text, Value::String(_)) => Ok(()),
        (Count, Value::Number(n)) if n.as_u64().is_some_and(|n| n <= u64::from(u32::MAX)) => Ok(()),
        (Number | Exclusive, Value::Number(_)) => check_numbers(value, at),
        (Exclusive, Value::Bool(_)) => Ok(()),
        (Texts, value) if texts(value) => Ok(()),
        (Types, value) if value.is_string() || texts(value) => Ok(()),
        (Values, Value::Array(all)) if !all.is_empty() => check_numbers(value, at),
        (Items | Schemas, Value::Array(all)) => {
            all.iter().enumerate().try_for_each(|(i, schema)| check(schema, &format!("{at}/{i}"), false))
        }
        (Schema | Items, value) => check(value, at, false),
        (Named, Value::Object(all)) => {
            all.iter().try_for_each(|(name, schema)| check(schema, &format!("{at}/{name}"), false))
        }
        _ => Err(wrong(
            at,
            match expected {
                Text => "a string is valid",
                Count => "an integer from 0 to 4294967295 is valid",
                Number | Exclusive => "a number is valid",
                Texts => "an array of strings is valid",
                Types => "a string or an array of strings is valid",
                Values => "an array with values is valid",
                Named => "an object of schemas is valid",
                _ => "an array of schemas is valid",
            },
        )),
    }
}

/// Refuses numbers that F64 would round.
fn check_numbers(value: &Value, at: &str) -> Result<()> {
    match value {
        Value::Number(n) if n.as_f64().is_none_or(|x| x.abs() > LARGEST) => {
            Err(refused(at, format!("{n} cannot be enforced exactly: at most 2^53 can")))
        }
        Value::Array(all) => all.iter().try_for_each(|value| check_numbers(value, at)),
        Value::Object(all) => all.values().try_for_each(|value| check_numbers(value, at)),
        _ => Ok(()),
    }
}

/// Refuses combinations of keywords of which llguidance would ignore one.
fn check_combinations(schema: &Map<String, Value>, at: &str) -> Result<()> {
    let has = |name: &str| schema.contains_key(name);
    if has("prefixItems") && (has("additionalItems") || schema.get("items").is_some_and(Value::is_array)) {
        return Err(refused(at, "prefixItems with additionalItems or an array of items cannot be enforced"));
    }
    // A key may come twice, which counts once.
    let least = schema.get("minProperties").and_then(Value::as_u64).unwrap_or(0);
    let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len) as u64;
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false)) && !has("patternProperties");
    if least > required && !is_closed {
        return Err(refused(at, "minProperties can be enforced only with additionalProperties: false"));
    }
    if schema.get("format").is_some_and(|format| format == "unknown") {
        return Err(refused(at, "format: 'unknown' cannot be enforced"));
    }
    Ok(())
}

/// Whether a keyword's name is a key anywhere in a schema.
fn uses(value: &Value, name: &str) -> bool {
    match value {
        Value::Object(all) => all.iter().any(|(key, value)| key == name || uses(value, name)),
        Value::Array(all) => all.iter().any(|value| uses(value, name)),
        _ => false,
    }
}

/// In an expression, a repetition from `least` to `most` times, if there is a number between them.
pub(super) fn repetition(least: Option<u64>, most: Option<u64>) -> Option<String> {
    match (least.unwrap_or(0), most) {
        (0, None) => Some("*".into()),
        (least, None) => Some(format!("{{{least},}}")),
        (least, Some(most)) => (least <= most).then(|| format!("{{{least},{most}}}")),
    }
}
