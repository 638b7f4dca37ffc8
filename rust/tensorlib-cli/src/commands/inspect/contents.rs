//! The contents of a file that `inspect` prints as text or JSON: metadata with their types' names, totals per type of
//! tensor.

use tensorlib::{Array, Value};
use tensorlib_models::files::{Entry, Source};

/// Totals over the tensors of one type.
pub struct TypeTotal {
    /// The type's name.
    pub type_name: String,
    /// The number of tensors.
    pub tensors: u64,
    /// The number of their elements.
    pub elements: u64,
    /// The number of their bytes.
    pub bytes: u64,
}

impl TypeTotal {
    /// Bits per element.
    pub fn bits(&self) -> f64 {
        if self.elements == 0 {
            return 0.0;
        }
        self.bytes as f64 * 8.0 / self.elements as f64
    }
}

/// Totals per type, in the order of first appearance, and the total of all.
pub fn totals(entries: &[Entry]) -> (Vec<TypeTotal>, TypeTotal) {
    let new = |type_name: &str| TypeTotal { type_name: type_name.into(), tensors: 0, elements: 0, bytes: 0 };
    let (mut rows, mut all): (Vec<TypeTotal>, _) = (Vec::new(), new("all"));
    for t in entries {
        let at = rows.iter().position(|r| r.type_name == t.type_name).unwrap_or_else(|| {
            rows.push(new(&t.type_name));
            rows.len() - 1
        });
        for total in [&mut rows[at], &mut all] {
            total.tensors += 1;
            total.elements += t.elements();
            total.bytes += t.nbytes;
        }
    }
    (rows, all)
}

/// All keys; texts of safetensors are strings.
pub fn metadata(source: &Source) -> Vec<(String, Value)> {
    match source {
        Source::Gguf(file) => file.metadata().map(|(k, v)| (k.to_string(), v)).collect(),
        Source::Safetensors(file) => file.metadata().into_iter().map(|(k, v)| (k, Value::from(v))).collect(),
    }
}

/// The type of a value in the format's terms: `u32`, `array of string`.
pub fn value_type(value: &Value) -> String {
    let name = match value {
        Value::U8(_) => "u8",
        Value::I8(_) => "i8",
        Value::U16(_) => "u16",
        Value::I16(_) => "i16",
        Value::U32(_) => "u32",
        Value::I32(_) => "i32",
        Value::F32(_) => "f32",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::U64(_) => "u64",
        Value::I64(_) => "i64",
        Value::F64(_) => "f64",
        Value::Array(array) => return format!("array of {}", element_type(array)),
        _ => "unknown",
    };
    name.into()
}

fn element_type(array: &Array) -> &'static str {
    match array {
        Array::U8(_) => "u8",
        Array::I8(_) => "i8",
        Array::U16(_) => "u16",
        Array::I16(_) => "i16",
        Array::U32(_) => "u32",
        Array::I32(_) => "i32",
        Array::F32(_) => "f32",
        Array::Bool(_) => "bool",
        Array::String(_) => "string",
        Array::Nested(_) => "array",
        Array::U64(_) => "u64",
        Array::I64(_) => "i64",
        Array::F64(_) => "f64",
        _ => "unknown",
    }
}
