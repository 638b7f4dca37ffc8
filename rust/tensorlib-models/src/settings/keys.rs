//! The settings of a GGUF file that is made from a folder.

use super::Key;
use tensorlib::{Array, Value};

/// Keys after `ARCHITECTURE.` and their values, each once. A key set again replaces the value.
#[derive(Debug, Default)]
pub(crate) struct Keys(Vec<(&'static str, Value)>);

impl Keys {
    /// Sets the GGUF name of a setting.
    pub fn set(&mut self, key: Key, value: impl Into<Value>) {
        self.remove(key);
        self.0.push((key.0, value.into()));
    }

    /// Sets a count, which GGUF has as an unsigned number.
    pub fn count(&mut self, key: Key, n: i64) {
        self.set(key, u32::try_from(n).unwrap_or(u32::MAX));
    }

    /// Sets a number, which GGUF has in F32.
    pub fn number(&mut self, key: Key, x: f64) {
        self.set(key, x as f32);
    }

    /// Sets a flag.
    pub fn flag(&mut self, key: Key, flag: bool) {
        self.set(key, Value::Bool(flag));
    }

    /// Sets a flag for each layer.
    pub fn flags(&mut self, key: Key, flags: &[bool]) {
        self.set(key, Value::Array(Array::Bool(flags.to_vec())));
    }

    /// Sets a count for each layer, or one for all if they are equal.
    pub fn counts(&mut self, key: Key, counts: &[i64]) {
        match counts {
            [first, rest @ ..] if rest.iter().all(|n| n == first) => self.count(key, *first),
            _ => self.set(key, counts.iter().map(|n| i32::try_from(*n).unwrap_or(i32::MAX)).collect::<Vec<_>>()),
        }
    }

    /// Adds other keys, which replace those of their names.
    pub fn extend(&mut self, other: Keys) {
        for (name, value) in other.0 {
            self.set(Key(name, ""), value);
        }
    }

    /// Leaves out a setting.
    pub fn remove(&mut self, key: Key) {
        self.0.retain(|(name, _)| *name != key.0);
    }

    /// The keys in the order in which they were set.
    pub fn into_all(self) -> Vec<(&'static str, Value)> {
        self.0
    }
}
