//! Grammars of arguments as Gemma 4 writes them: objects with bare keys, and strings between two tokens `<|"|>`.

use super::schema::{refused, repetition, ANNOTATIONS};
use super::tools::{literal, pattern};
use crate::generate::tools::parser::gemma::{NONE, QUOTE};
use crate::{Error, Result};
use serde_json::{json, Map, Value};
use std::collections::HashMap;

/// Keywords that others look up.
const LOOKED_UP: [&str; 4] = ["$defs", "definitions", "$schema", "x-guidance"];

/// The keywords of each type, apart from `type`.
const OF_TYPES: [(&str, &[&str]); 6] = [
    ("string", &["minLength", "maxLength"]),
    ("number", OF_NUMBERS),
    ("integer", OF_NUMBERS),
    ("boolean", &[]),
    ("array", &["items", "minItems", "maxItems"]),
    ("object", &["properties", "required", "additionalProperties"]),
];

const OF_NUMBERS: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

fn cannot(at: &str, what: impl std::fmt::Display) -> Error {
    refused(at, format!("{what} cannot be enforced in the format of this model's calls"))
}

/// The rules of the arguments of the tool with this number: `args_{i}`. `quote` is the mark around strings, if it is a
/// control token.
pub(super) fn arguments(i: usize, parameters: &Value, quote: Option<&str>) -> Result<String> {
    let mut rules = Rules { i, parameters, quote, text: String::new(), n: 0, references: HashMap::new() };
    let body = rules.value(parameters, "#")?;
    Ok(format!("args_{i}: {body}\n{}", rules.text))
}

/// The rules of a tool.
struct Rules<'a> {
    i: usize,
    parameters: &'a Value,
    quote: Option<&'a str>,
    text: String,
    /// The number of names that were given out.
    n: usize,
    /// The rules of schemas that others refer to.
    references: HashMap<String, String>,
}

impl Rules<'_> {
    fn name(&mut self) -> String {
        self.n += 1;
        format!("args_{}_{}", self.i, self.n)
    }

    fn rule(&mut self, name: &str, body: &str) {
        self.text += &format!("{name}: {body}\n");
    }

    /// What matches the values that a schema accepts.
    fn value(&mut self, schema: &Value, at: &str) -> Result<String> {
        let object = match schema {
            Value::Object(object) => object,
            Value::Bool(true) => return Ok(self.any()),
            _ => return Err(cannot(at, "a schema that accepts nothing")),
        };
        let others = |known: &[&str]| {
            let is_known = |key: &str| [&ANNOTATIONS[..], &LOOKED_UP, known].iter().any(|all| all.contains(&key));
            let is_other = |key: &&String| !is_known(key.as_str());
            object.keys().find(is_other).map(|key| cannot(at, format!("{key} next to {}", known[0])))
        };
        if let Some(reference) = object.get("$ref") {
            return others(&["$ref"]).map_or_else(|| self.reference(reference, at), Err);
        }
        for key in ["enum", "const"] {
            let Some(values) = object.get(key) else { continue };
            let values =
                if key == "enum" { values.as_array().cloned().unwrap_or_default() } else { vec![values.clone()] };
            return others(&[key, "type"]).map_or_else(|| self.literals(&values, object.get("type"), at), Err);
        }
        for key in ["anyOf", "oneOf"] {
            let Some(branches) = object.get(key).and_then(Value::as_array) else { continue };
            if let Some(error) = others(&[key]) {
                return Err(error);
            }
            if key == "oneOf" && !are_apart(branches) {
                return Err(cannot(at, "oneOf with branches that are not of different types"));
            }
            let branches = branches.iter().enumerate();
            let all: Result<Vec<String>> = branches.map(|(i, b)| self.value(b, &format!("{at}/{key}/{i}"))).collect();
            return match all? {
                all if all.is_empty() => Err(cannot(at, format!("an empty {key}"))),
                all => Ok(format!("({})", all.join(" | "))),
            };
        }
        let types = types(object);
        if types.is_empty() {
            // Any value, unless a keyword says more.
            return others(&["type"]).map_or_else(|| Ok(self.any()), Err);
        }
        let of_types = || OF_TYPES.iter().filter(|(name, _)| types.contains(name)).flat_map(|(_, keys)| keys.iter());
        let known: Vec<&str> = std::iter::once(&"type").chain(of_types()).copied().collect();
        if let Some(error) = others(&known) {
            return Err(error);
        }
        let all: Result<Vec<String>> = types.iter().map(|kind| self.typed(kind, object, at)).collect();
        Ok(format!("({})", all?.join(" | ")))
    }

    /// Values of one type.
    fn typed(&mut self, kind: &str, schema: &Map<String, Value>, at: &str) -> Result<String> {
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        match kind {
            "string" => {
                let length = repetition(count("minLength"), count("maxLength"));
                let length = length.ok_or_else(|| cannot(at, "minLength above maxLength"))?;
                Ok(self.string(&length))
            }
            "array" => {
                let item = match schema.get("items") {
                    Some(items) => self.value(items, &format!("{at}/items"))?,
                    None => self.any(),
                };
                let (least, most) = (count("minItems").unwrap_or(0), count("maxItems"));
                if most.is_some_and(|most| most < least) {
                    return Err(cannot(at, "minItems above maxItems"));
                }
                let (name, begin, end) = (self.name(), literal("["), literal("]"));
                let more = repetition(Some(least.saturating_sub(1)), most.map(|most| most.saturating_sub(1)));
                let items = format!("{item} (\",\" {item}){}", more.unwrap_or_default());
                let body = match (least, most) {
                    (_, Some(0)) => format!("{begin} {end}"),
                    (0, _) => format!("{begin} ({items})? {end}"),
                    _ => format!("{begin} {items} {end}"),
                };
                self.rule(&name, &body);
                Ok(name)
            }
            "object" => self.object(schema, at),
            "null" => Ok(self.null()),
            // Numbers and booleans are those of JSON.
            _ => {
                let mut schema: Map<String, Value> =
                    schema.iter().filter(|(key, _)| OF_NUMBERS.contains(&key.as_str())).map(owned).collect();
                schema.insert("type".into(), kind.into());
                let name = self.name();
                self.rule(&name, &format!("%json {}", Value::Object(schema)));
                Ok(name)
            }
        }
    }

    /// An object with its properties in the order of the schema, and no others.
    fn object(&mut self, schema: &Map<String, Value>, at: &str) -> Result<String> {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        if let Some(name) = required.iter().find(|name| !properties.contains_key(**name)) {
            return Err(refused(&format!("{at}/required"), format!("{name:?} has no schema in properties")));
        }
        let (begin, end) = (literal("{"), literal("}"));
        let more = schema.get("additionalProperties").filter(|more| **more != Value::Bool(false));
        let name = self.name();
        if properties.is_empty() && (more.is_some() || !schema.contains_key("additionalProperties")) {
            let value = self.value(more.unwrap_or(&Value::Bool(true)), &format!("{at}/additionalProperties"))?;
            let key = self.any_key();
            self.rule(&name, &format!("{begin} ({key} \":\" {value} (\",\" {key} \":\" {value})*)? {end}"));
            return Ok(name);
        }
        if more.is_some() {
            return Err(cannot(at, "additionalProperties next to properties"));
        }
        // `first` is what may follow before any property was written, `next` what may follow one.
        let (mut first, mut next) = (literal(""), literal(""));
        for (key, schema) in properties.iter().rev() {
            let value = self.value(schema, &format!("{at}/properties/{key}"))?;
            let pair = format!("{} \":\" {value}", self.key(key, at)?);
            let is_required = required.contains(&key.as_str());
            let or = |rule: &str| if is_required { String::new() } else { format!(" | {rule}") };
            let bodies = (format!("{pair} {next}{}", or(&first)), format!("\",\" {pair} {next}{}", or(&next)));
            (first, next) = (self.name(), self.name());
            self.rule(&first, &bodies.0);
            self.rule(&next, &bodies.1);
        }
        self.rule(&name, &format!("{begin} {first} {end}"));
        Ok(name)
    }

    /// The rule of the schema at a reference. It may refer to itself.
    fn reference(&mut self, reference: &Value, at: &str) -> Result<String> {
        let reference = reference.as_str().unwrap_or_default();
        if let Some(name) = self.references.get(reference) {
            return Ok(name.clone());
        }
        let found = reference.strip_prefix('#').and_then(|pointer| self.parameters.pointer(pointer));
        // A reference to nothing but a reference could be one to itself.
        let found = found.filter(|schema| schema.get("$ref").is_none());
        let Some(schema) = found else { return Err(cannot(at, "this reference")) };
        let name = self.name();
        self.references.insert(reference.into(), name.clone());
        let body = self.value(schema, reference)?;
        self.rule(&name, &body);
        Ok(name)
    }

    /// Some of these values: those of the types, if there are any.
    fn literals(&mut self, values: &[Value], types: Option<&Value>, at: &str) -> Result<String> {
        let accepts = |value: &&Value| match types {
            None => true,
            Some(Value::Array(all)) => all.iter().any(|kind| is_of(value, kind)),
            Some(kind) => is_of(value, kind),
        };
        let all: Result<Vec<String>> = values.iter().filter(accepts).map(|value| self.literal(value, at)).collect();
        match all? {
            all if all.is_empty() => Err(cannot(at, "a schema that accepts nothing")),
            all => Ok(format!("({})", all.join(" | "))),
        }
    }

    fn literal(&self, value: &Value, at: &str) -> Result<String> {
        let list = |all: Vec<String>| all.join(" \",\" ");
        Ok(match value {
            Value::String(text) => self.quoted(text, at)?,
            Value::Array(all) => {
                let all: Result<Vec<String>> = all.iter().map(|value| self.literal(value, at)).collect();
                format!("\"[\" {} \"]\"", list(all?))
            }
            Value::Object(all) => {
                let pair = |(key, value): (&String, &Value)| -> Result<String> {
                    Ok(format!("{} \":\" {}", self.key(key, at)?, self.literal(value, at)?))
                };
                let all: Result<Vec<String>> = all.iter().map(pair).collect();
                format!("\"{{\" {} \"}}\"", list(all?))
            }
            Value::Null => self.null(),
            scalar => literal(&scalar.to_string()),
        })
    }

    fn null(&self) -> String {
        format!("(\"null\" | {})", literal(NONE))
    }

    /// A key, between quotes if it could be something else.
    fn key(&self, key: &str, at: &str) -> Result<String> {
        match !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.$".contains(c)) {
            true => Ok(literal(key)),
            false => self.quoted(key, at),
        }
    }

    /// A string with this text.
    fn quoted(&self, text: &str, at: &str) -> Result<String> {
        if text.contains(QUOTE) {
            return Err(cannot(at, format!("a text with {QUOTE}")));
        }
        Ok(match self.quote {
            Some(quote) => format!("{quote} {} {quote}", literal(text)),
            None => literal(&format!("{QUOTE}{text}{QUOTE}")),
        })
    }

    /// A string whose number of characters is this repetition.
    fn string(&mut self, length: &str) -> String {
        let name = self.name();
        let upper = name.to_uppercase();
        let end = pattern(QUOTE);
        match self.quote {
            Some(quote) => {
                self.rule(&upper, &format!("/(?s:.{length})/"));
                self.rule(&name, &format!("{quote} {upper} {quote}"));
            }
            None => {
                // The first mark is the end.
                self.rule(&upper, &format!("/(?s:.{length}){end}/ & ~/(?s:.*){end}(?s:.+)/"));
                self.rule(&format!("{name}_text[lazy]"), &upper);
                self.rule(&name, &format!("{} {name}_text", literal(QUOTE)));
            }
        }
        name
    }

    /// Any bare key.
    fn any_key(&mut self) -> String {
        let name = format!("KEY_{}", self.i);
        if self.references.insert(name.clone(), String::new()).is_none() {
            self.rule(&name, r"/[A-Za-z_][A-Za-z0-9_.-]{0,63}/");
        }
        name
    }

    /// Any value.
    fn any(&mut self) -> String {
        let name = format!("any_{}", self.i);
        if self.references.insert(name.clone(), String::new()).is_none() {
            let (text, key) = (self.string("*"), self.any_key());
            let scalar = self.name();
            self.rule(&scalar, &format!("%json {}", json!({ "type": ["number", "boolean"] })));
            let array = format!("\"[\" ({name} (\",\" {name})*)? \"]\"");
            let object = format!("\"{{\" ({key} \":\" {name} (\",\" {key} \":\" {name})*)? \"}}\"");
            let null = self.null();
            self.rule(&name, &format!("{text} | {scalar} | {null} | {array} | {object}"));
        }
        name
    }
}

fn owned((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// The types that a schema names, or that of which it has keywords.
fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => {
            let has = |keys: &[&str]| keys.iter().any(|key| schema.contains_key(*key));
            let found = OF_TYPES.iter().filter(|(name, keys)| *name != "integer" && has(keys));
            found.map(|(name, _)| *name).collect()
        }
    }
}

/// Whether no value satisfies two of these schemas, because they have different types.
fn are_apart(branches: &[Value]) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    branches.iter().filter_map(Value::as_object).all(|branch| {
        let types: Vec<&str> =
            types(branch).into_iter().map(|kind| if kind == "integer" { "number" } else { kind }).collect();
        let is_new = !types.is_empty() && types.iter().all(|kind| !seen.contains(kind));
        seen.extend(types);
        is_new
    })
}

/// Whether a value has a type.
fn is_of(value: &Value, kind: &Value) -> bool {
    match kind.as_str() {
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|x| x.fract() == 0.0),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}
