//! `tensorlib inspect`: shows the contents of files.

mod contents;
mod json;

use crate::args::Inspect;
use crate::failure::{Exit, Outcome};
use crate::files::open;
use crate::terminal::text::{bytes, count, shape, Table};
use contents::{metadata, totals, value_type};
use std::io::Write;
use std::path::Path;
use tensorlib::{Array, Value};
use tensorlib_models::files::{Entry, Source};

/// The elements of an array, and the characters of a text, that are shown without --full.
const SHOWN_ELEMENTS: usize = 6;
const SHOWN_CHARACTERS: usize = 80;

/// Runs the command.
pub fn run(options: &Inspect, out: &mut dyn Write) -> Outcome<Exit> {
    // Opens all files first and reports failures last, so that pages of other files do not hide a wrong name.
    let (mut files, mut failed) = (Vec::new(), Vec::new());
    for path in &options.files {
        match open::source(path) {
            Ok(source) => files.push((path.as_path(), source)),
            Err(failure) => failed.push((path.as_path(), failure)),
        }
    }
    if options.json {
        json::print(options, &files, &failed, out)?;
    } else {
        for (i, (path, source)) in files.iter().enumerate() {
            if i > 0 {
                writeln!(out)?;
            }
            print(options, path, source, out)?;
        }
    }
    out.flush()?;
    failed.iter().for_each(|(_, failure)| failure.report());
    Ok(failed.first().map_or(Exit::Success, |(_, failure)| failure.exit))
}

fn print(options: &Inspect, path: &Path, source: &Source, out: &mut dyn Write) -> Outcome<()> {
    let entries = source.entries();
    let values = metadata(source);
    if !options.tensors && !options.metadata {
        print_head(path, source, out)?;
    }
    if !options.tensors {
        writeln!(out, "metadata: {}", count(values.len(), "key"))?;
        let mut table = Table::new(&["key", "type", "value"]);
        for (key, value) in &values {
            table.row(vec![key.clone(), value_type(value), shown(value, options.full)]);
        }
        if !values.is_empty() {
            table.print(out)?;
        }
    }
    if !options.metadata {
        writeln!(out, "tensors: {}", entries.len())?;
        let mut table = Table::new(&["name", "shape", "type", ">size", ">offset"]);
        for t in &entries {
            table.row(vec![
                t.name.clone(),
                shape(&t.shape),
                t.type_name.clone(),
                bytes(t.nbytes),
                t.offset.to_string(),
            ]);
        }
        if !entries.is_empty() {
            table.print(out)?;
        }
    }
    if !options.tensors && !options.metadata {
        print_totals(&entries, out)?;
    }
    Ok(())
}

fn print_head(path: &Path, source: &Source, out: &mut dyn Write) -> Outcome<()> {
    let format = match source {
        Source::Gguf(file) => format!("GGUF version {}, alignment {}", file.version(), file.alignment()),
        Source::Safetensors(_) => source.format().into(),
    };
    let parts = if source.n_parts() == 1 { String::new() } else { format!(", {} parts", source.n_parts()) };
    Ok(writeln!(out, "{}: {format}{parts}", path.display())?)
}

fn print_totals(entries: &[Entry], out: &mut dyn Write) -> Outcome<()> {
    writeln!(out, "totals:")?;
    let mut table = Table::new(&["type", ">tensors", ">elements", ">size", ">bits per weight"]);
    let (rows, all) = totals(entries);
    for t in rows.iter().chain([&all]) {
        let (tensors, elements) = (t.tensors.to_string(), t.elements.to_string());
        table.row(vec![t.type_name.clone(), tensors, elements, bytes(t.bytes), format!("{:.4}", t.bits())]);
    }
    Ok(table.print(out)?)
}

fn shown(value: &Value, full: bool) -> String {
    match value {
        Value::U8(v) => v.to_string(),
        Value::I8(v) => v.to_string(),
        Value::U16(v) => v.to_string(),
        Value::I16(v) => v.to_string(),
        Value::U32(v) => v.to_string(),
        Value::I32(v) => v.to_string(),
        Value::F32(v) => format!("{v:?}"), // 1e30 instead of a one with 30 zeros
        Value::Bool(v) => v.to_string(),
        Value::U64(v) => v.to_string(),
        Value::I64(v) => v.to_string(),
        Value::F64(v) => format!("{v:?}"),
        Value::String(v) => shown_text(v, full),
        Value::Array(v) => shown_array(v, full),
        other => format!("{other:?}"),
    }
}

/// A text in quotation marks, always on one line.
fn shown_text(text: &str, full: bool) -> String {
    let n = text.chars().count();
    if full || n <= SHOWN_CHARACTERS {
        return format!("{text:?}");
    }
    let head: String = text.chars().take(SHOWN_CHARACTERS).collect();
    format!("{head:?}... ({n} characters)")
}

fn shown_array(array: &Array, full: bool) -> String {
    fn list<T>(values: &[T], full: bool, show: impl Fn(&T) -> String) -> String {
        let n = if full { values.len() } else { SHOWN_ELEMENTS };
        let mut words: Vec<String> = values.iter().take(n).map(show).collect();
        if values.len() > n {
            words.push(format!("... ({} elements)", values.len()));
        }
        format!("[{}]", words.join(", "))
    }
    match array {
        Array::U8(v) => list(v, full, u8::to_string),
        Array::I8(v) => list(v, full, i8::to_string),
        Array::U16(v) => list(v, full, u16::to_string),
        Array::I16(v) => list(v, full, i16::to_string),
        Array::U32(v) => list(v, full, u32::to_string),
        Array::I32(v) => list(v, full, i32::to_string),
        Array::F32(v) => list(v, full, |v| format!("{v:?}")),
        Array::Bool(v) => list(v, full, bool::to_string),
        Array::U64(v) => list(v, full, u64::to_string),
        Array::I64(v) => list(v, full, i64::to_string),
        Array::F64(v) => list(v, full, |v| format!("{v:?}")),
        Array::String(v) => list(v, full, |t| shown_text(t, full)),
        Array::Nested(v) => list(v, full, |a| shown_array(a, full)),
        other => format!("{other:?}"),
    }
}
