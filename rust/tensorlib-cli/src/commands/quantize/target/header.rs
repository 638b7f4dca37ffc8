//! The size of a GGUF file before its tensors' data, so that a file can be planned to the byte.

use tensorlib::{Array, Value};

/// Magic, version, and the numbers of tensors and keys.
const HEAD: u64 = 4 + 4 + 8 + 8;

/// The bytes before the data, with those up to the first multiple of `alignment`. `tensors`: names and numbers of
/// dimensions.
pub fn size<'a>(
    keys: impl Iterator<Item = (String, Value)>,
    tensors: impl Iterator<Item = (&'a str, usize)>,
    alignment: u64,
) -> u64 {
    let keys: u64 = keys.map(|(key, value)| text(&key) + 4 + of(&value)).sum();
    // Name, number of dimensions, dimensions, type, offset.
    let tensors: u64 = tensors.map(|(name, n)| text(name) + 4 + 8 * n as u64 + 4 + 8).sum();
    (HEAD + keys + tensors).next_multiple_of(alignment)
}

fn text(text: &str) -> u64 {
    8 + text.len() as u64
}

fn of(value: &Value) -> u64 {
    match value {
        Value::U8(_) | Value::I8(_) | Value::Bool(_) => 1,
        Value::U16(_) | Value::I16(_) => 2,
        Value::U32(_) | Value::I32(_) | Value::F32(_) => 4,
        Value::U64(_) | Value::I64(_) | Value::F64(_) => 8,
        Value::String(string) => text(string),
        Value::Array(array) => of_array(array),
        // The format has no others.
        _ => 8,
    }
}

/// The type of the elements, their number, and the elements.
fn of_array(array: &Array) -> u64 {
    let elements = match array {
        Array::U8(list) => list.len(),
        Array::I8(list) => list.len(),
        Array::Bool(list) => list.len(),
        Array::U16(list) => 2 * list.len(),
        Array::I16(list) => 2 * list.len(),
        Array::U32(list) => 4 * list.len(),
        Array::I32(list) => 4 * list.len(),
        Array::F32(list) => 4 * list.len(),
        Array::U64(list) => 8 * list.len(),
        Array::I64(list) => 8 * list.len(),
        Array::F64(list) => 8 * list.len(),
        Array::String(list) => return 12 + list.iter().map(|string| text(string)).sum::<u64>(),
        Array::Nested(list) => return 12 + list.iter().map(of_array).sum::<u64>(),
        // The format has no others.
        _ => 0,
    };
    12 + elements as u64
}
