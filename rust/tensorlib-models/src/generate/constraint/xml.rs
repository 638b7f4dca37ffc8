//! Grammars of arguments as XML, where strings are bare text.

use super::schema::{refused, repetition, ANNOTATIONS};
use super::tools::{literal, pattern};
use crate::generate::tools::parser::values::{self, Kind};
use crate::generate::tools::parser::xml::{PARAMETER, PARAMETER_END};
use crate::Result;
use serde_json::{Map, Value};

/// Keywords of a string that can be enforced.
const OF_STRINGS: [&str; 7] = ["type", "enum", "const", "minLength", "maxLength", "anyOf", "oneOf"];

/// Keywords of parameters.
const OF_PARAMETERS: [&str; 9] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "$defs",
    "definitions",
    "$schema",
];

/// The rules of the arguments of the tool with this number, in the order of its properties: `args_{i}`.
pub(super) fn arguments(i: usize, parameters: &Value) -> Result<String> {
    let empty = Map::new();
    let object = |key: &str| parameters.get(key).and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = parameters.get("required").and_then(Value::as_array).map_or_else(Vec::new, |all| {
        let names = all.iter().filter_map(Value::as_str);
        names.collect()
    });
    let properties = object("properties");
    check_parameters(parameters, properties, &required)?;
    let (mut rules, mut all) = (String::new(), Vec::new());
    for (j, (key, schema)) in properties.iter().enumerate() {
        if key.is_empty() || key.contains(['>', '\n']) {
            return Err(refused("#/properties", format!("{key:?} cannot be the name of a parameter in this format")));
        }
        let name = format!("arg_{i}_{j}");
        let (value, more) = value(&name, parameters, schema, &format!("#/properties/{key}"))?;
        rules += &more;
        let begin = literal(&format!("{PARAMETER}{key}>\n"));
        rules += &format!("{name}: {begin} {value} \"\\n\"\n");
        all.push(if required.contains(&key.as_str()) { name } else { format!("{name}?") });
    }
    let body = if all.is_empty() { "\"\"".into() } else { all.join(" ") };
    Ok(format!("args_{i}: {body}\n{rules}"))
}

fn check_parameters(parameters: &Value, properties: &Map<String, Value>, required: &[&str]) -> Result<()> {
    let known = |key: &&String| !OF_PARAMETERS.contains(&key.as_str()) && !ANNOTATIONS.contains(&key.as_str());
    if let Some(key) = parameters.as_object().and_then(|all| all.keys().find(known)) {
        return Err(refused(&format!("#/{key}"), "cannot be enforced in the format of this model's calls"));
    }
    if let Some(name) = required.iter().find(|name| !properties.contains_key(**name)) {
        return Err(refused("#/required", format!("{name:?} has no schema in properties")));
    }
    let count = |key: &str| parameters.get(key).and_then(Value::as_u64);
    if count("minProperties").is_some_and(|n| n > required.len() as u64) {
        return Err(refused("#/minProperties", "can be enforced only up to the number of required properties"));
    }
    if count("maxProperties").is_some_and(|n| n < properties.len() as u64) {
        return Err(refused("#/maxProperties", "can be enforced only from the number of properties on"));
    }
    Ok(())
}

/// The rule of a value with its end, and the rules that it needs.
fn value(name: &str, parameters: &Value, schema: &Value, at: &str) -> Result<(String, String)> {
    let end = literal(&format!("\n{PARAMETER_END}"));
    if excludes_strings(parameters, schema, 0) {
        let mut schema = schema.clone();
        for key in ["$defs", "definitions", "$schema"] {
            if let (Some(schema), Some(definitions)) = (schema.as_object_mut(), parameters.get(key)) {
                schema.insert(key.into(), definitions.clone());
            }
        }
        return Ok((format!("{name}_json {end}"), format!("{name}_json: %json {schema}\n")));
    }
    let kind = match schema {
        // Whatever is no JSON is a string, which nothing refuses.
        Value::Bool(true) => return Ok(text(name, "*")),
        Value::Object(all) if all.keys().all(|key| ANNOTATIONS.contains(&key.as_str())) => return Ok(text(name, "*")),
        schema => values::kind(parameters, schema),
    };
    let mut strings = Strings::default();
    strings.add(parameters, schema, kind, at, 0)?;
    match strings {
        Strings { free: Some(length), .. } => Ok(text(name, &length)),
        Strings { literals, .. } if !literals.is_empty() => {
            let all: Vec<String> = literals.iter().map(|text| literal(text)).collect();
            Ok((format!("({}) {end}", all.join(" | ")), String::new()))
        }
        _ => Err(refused(at, "has no value that can be written in the format of this model's calls")),
    }
}

/// Free text of a length, up to the end of the value.
fn text(name: &str, length: &str) -> (String, String) {
    let end = pattern(PARAMETER_END);
    let upper = name.to_uppercase();
    // The first end is the end, and stands on its own line.
    let rules = format!("{upper}: /(?s:.{length})\\n{end}/ & ~/(?s:.*){end}(?s:.+)/\n{name}_text[lazy]: {upper}\n");
    (format!("{name}_text"), rules)
}

/// The strings that a schema accepts.
#[derive(Default)]
struct Strings {
    /// The number of characters of any text, as a repetition.
    free: Option<String>,
    literals: Vec<String>,
}

impl Strings {
    fn add(&mut self, parameters: &Value, schema: &Value, kind: Kind, at: &str, depth: usize) -> Result<()> {
        let cannot = |what: &str| refused(at, format!("{what} cannot be enforced in the format of this model's calls"));
        let object = values::resolved(parameters, schema).and_then(Value::as_object);
        let Some(object) = object.filter(|_| depth < 16) else { return Err(cannot("this reference")) };
        let is_known = |key: &&String| OF_STRINGS.contains(&key.as_str()) || ANNOTATIONS.contains(&key.as_str());
        let is_string = excludes_strings(parameters, &Value::Object(object.clone()), 0);
        if is_string {
            let has_null = kind == Kind::TextOrNull && accepts_null(object);
            self.literals.extend(has_null.then(|| "null".to_string()));
            return Ok(());
        }
        if let Some(key) = object.keys().find(|key| !is_known(key)) {
            return Err(cannot(key));
        }
        let values = object.get("enum").and_then(Value::as_array).into_iter().flatten().chain(object.get("const"));
        let values: Vec<&Value> = values.collect();
        if !values.is_empty() {
            return self.add_values(&values, object, kind).ok_or_else(|| cannot("enum or const with other keywords"));
        }
        for key in ["anyOf", "oneOf"] {
            let Some(branches) = object.get(key).and_then(Value::as_array) else { continue };
            let of_strings = branches.iter().filter(|branch| !excludes_strings(parameters, branch, 0)).count();
            if (key == "oneOf" && of_strings > 1) || object.keys().any(|key| OF_STRINGS[..5].contains(&key.as_str())) {
                return Err(cannot(key));
            }
            return branches.iter().try_for_each(|branch| self.add(parameters, branch, kind, at, depth + 1));
        }
        let length = |key: &str| object.get(key).and_then(Value::as_u64);
        let length = repetition(length("minLength"), length("maxLength"));
        let length = length.ok_or_else(|| cannot("minLength above maxLength"))?;
        match &self.free {
            Some(other) if *other != length => Err(cannot("several lengths")),
            _ => {
                self.free = Some(length);
                Ok(())
            }
        }
    }

    /// Adds those of these values that are read as they are written.
    fn add_values(&mut self, values: &[&Value], object: &Map<String, Value>, kind: Kind) -> Option<()> {
        let others = object.keys().filter(|key| !ANNOTATIONS.contains(&key.as_str()) && *key != "type");
        if others.count() != 1 {
            return None;
        }
        for value in values {
            match value {
                Value::String(text)
                    if !text.contains(PARAMETER_END) && (kind == Kind::Text || text.trim() != "null") =>
                {
                    self.literals.push(text.clone());
                }
                Value::Null if kind == Kind::TextOrNull => self.literals.push("null".into()),
                _ => {}
            }
        }
        Some(())
    }
}

fn accepts_null(schema: &Map<String, Value>) -> bool {
    let is_null =
        |value: &Value| value == "null" || value.as_array().is_some_and(|all| all.iter().any(|v| v == "null"));
    schema.get("type").is_some_and(is_null)
}

/// Whether no string satisfies a schema, as far as it says so.
fn excludes_strings(parameters: &Value, schema: &Value, depth: usize) -> bool {
    let Some(schema) = values::resolved(parameters, schema).and_then(Value::as_object).filter(|_| depth < 16) else {
        return false;
    };
    let no_string = |value: &Value| match value {
        Value::Array(all) => all.iter().all(|kind| kind != "string"),
        one => one != "string",
    };
    let branches = |key: &str| schema.get(key).and_then(Value::as_array).filter(|all| !all.is_empty());
    let excludes = |branch: &Value| excludes_strings(parameters, branch, depth + 1);
    schema.get("type").is_some_and(no_string)
        || schema.get("enum").and_then(Value::as_array).is_some_and(|all| !all.iter().any(Value::is_string))
        || schema.get("const").is_some_and(|value| !value.is_string())
        || ["anyOf", "oneOf"].into_iter().filter_map(branches).any(|all| all.iter().all(excludes))
        || branches("allOf").is_some_and(|all| all.iter().any(excludes))
}
