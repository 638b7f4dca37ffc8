//! `tensorlib inspect --json`. The README documents the structure; its keys are never removed.

use super::contents::{metadata, totals, value_type, TypeTotal};
use crate::args::Inspect;
use crate::failure::{Failure, Outcome};
use serde_json::{json, Map, Value as Json};
use std::io::Write;
use std::path::Path;
use tensorlib::{Array, Value};
use tensorlib_models::files::Source;

/// Prints `{"files": [...], "failed": [...]}`.
pub fn print(
    options: &Inspect,
    files: &[(&Path, Source)],
    failed: &[(&Path, Failure)],
    out: &mut dyn Write,
) -> Outcome<()> {
    let all: Vec<Json> = files.iter().map(|(path, source)| file(options, path, source)).collect();
    let error =
        |(path, failure): &(&Path, Failure)| json!({ "path": path.display().to_string(), "error": failure.message });
    let failed: Vec<Json> = failed.iter().map(error).collect();
    Ok(writeln!(out, "{:#}", json!({ "files": all, "failed": failed }))?)
}

fn file(options: &Inspect, path: &Path, source: &Source) -> Json {
    let mut object = Map::new();
    object.insert("path".into(), json!(path.display().to_string()));
    object.insert("format".into(), json!(source.format()));
    if let Source::Gguf(file) = source {
        object.insert("version".into(), json!(file.version()));
        object.insert("alignment".into(), json!(file.alignment()));
    }
    object.insert("parts".into(), json!(source.n_parts()));
    if !options.tensors {
        let pair = |(key, v): &(String, Value)| json!({ "key": key, "type": value_type(v), "value": value(v) });
        object.insert("metadata".into(), metadata(source).iter().map(pair).collect());
    }
    if !options.metadata {
        let entries = source.entries();
        let tensors = entries.iter().map(|t| {
            json!({ "name": t.name, "type": t.type_name, "shape": t.shape, "elements": t.elements(),
                    "bytes": t.nbytes, "offset": t.offset })
        });
        object.insert("tensors".into(), tensors.collect());
        let (rows, all) = totals(&entries);
        let mut sums = total(&all);
        sums["types"] = rows
            .iter()
            .map(|t| {
                let mut row = total(t);
                row["type"] = json!(t.type_name);
                row
            })
            .collect();
        object.insert("totals".into(), sums);
    }
    Json::Object(object)
}

fn total(t: &TypeTotal) -> Json {
    json!({ "tensors": t.tensors, "elements": t.elements, "bytes": t.bytes, "bits_per_weight": t.bits() })
}

/// A number; NaN and infinities, which JSON lacks, become texts.
pub fn number(v: f64) -> Json {
    if v.is_finite() {
        json!(v)
    } else {
        json!(v.to_string())
    }
}

/// Converts through the shortest text: 0.1 instead of 0.10000000149011612.
fn single(v: f32) -> Json {
    number(v.to_string().parse().unwrap_or(f64::NAN))
}

fn value(value: &Value) -> Json {
    match value {
        Value::U8(v) => json!(v),
        Value::I8(v) => json!(v),
        Value::U16(v) => json!(v),
        Value::I16(v) => json!(v),
        Value::U32(v) => json!(v),
        Value::I32(v) => json!(v),
        Value::F32(v) => single(*v),
        Value::Bool(v) => json!(v),
        Value::String(v) => json!(v),
        Value::U64(v) => json!(v),
        Value::I64(v) => json!(v),
        Value::F64(v) => number(*v),
        Value::Array(v) => array(v),
        _ => Json::Null,
    }
}

fn array(values: &Array) -> Json {
    match values {
        Array::U8(v) => json!(v),
        Array::I8(v) => json!(v),
        Array::U16(v) => json!(v),
        Array::I16(v) => json!(v),
        Array::U32(v) => json!(v),
        Array::I32(v) => json!(v),
        Array::F32(v) => v.iter().map(|v| single(*v)).collect(),
        Array::Bool(v) => json!(v),
        Array::String(v) => json!(v),
        Array::Nested(v) => v.iter().map(array).collect(),
        Array::U64(v) => json!(v),
        Array::I64(v) => json!(v),
        Array::F64(v) => v.iter().map(|v| number(*v)).collect(),
        _ => Json::Null,
    }
}
