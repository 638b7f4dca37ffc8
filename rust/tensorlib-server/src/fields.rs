//! Reads the fields of a request. A field that no code takes is refused by name, because it might have changed the
//! result.

use crate::error::{ApiError, Result};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;
use tokio::sync::OwnedSemaphorePermit;

/// An object whose fields are taken one by one.
pub struct Fields {
    object: Map<String, Value>,
    /// Where the object is in the request: empty, or ends in a dot.
    at: String,
    known: Vec<&'static str>,
    /// The request's share of the memory for bodies.
    _share: Option<OwnedSemaphorePermit>,
}

impl Fields {
    /// The fields of an object at this place in the request; an empty place is the request itself.
    pub fn new(value: Value, at: &str) -> Result<Self> {
        match value {
            Value::Object(object) => {
                let at = if at.is_empty() { String::new() } else { format!("{at}.") };
                Ok(Fields { object, at, known: Vec::new(), _share: None })
            }
            _ if at.is_empty() => Err(ApiError::invalid("the request is no JSON object")),
            _ => Err(ApiError::field(at, "an object is valid")),
        }
    }

    /// Has the fields hold a share of the memory for bodies until they are taken.
    pub fn holding(self, share: OwnedSemaphorePermit) -> Self {
        Fields { _share: Some(share), ..self }
    }

    /// A field's place in the request.
    pub fn place(&self, name: &str) -> String {
        format!("{}{name}", self.at)
    }

    /// An error about a field.
    pub fn wrong(&self, name: &str, message: impl std::fmt::Display) -> ApiError {
        ApiError::field(self.place(name), message)
    }

    /// A field of any kind. Null is as good as absent.
    pub fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.object.remove(name).filter(|value| !value.is_null())
    }

    /// Whether the object has a field that is not null.
    pub fn has(&self, name: &str) -> bool {
        self.object.get(name).is_some_and(|value| !value.is_null())
    }

    /// A text.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(name, "a text is valid")),
        }
    }

    /// A text that must be there.
    pub fn needed_text(&mut self, name: &'static str) -> Result<String> {
        self.text(name)?.ok_or_else(|| self.wrong(name, "is missing: a text is valid"))
    }

    /// One of these texts.
    pub fn one_of(&mut self, name: &'static str, valid: &[&'static str]) -> Result<Option<&'static str>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match valid.iter().find(|valid| **valid == text) {
            Some(found) => Ok(Some(found)),
            None => Err(self.wrong(name, format!("is '{}': {} are valid", shortened(&text), valid.join(", ")))),
        }
    }

    /// A boolean.
    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.wrong(name, "true and false are valid")),
        }
    }

    /// A number in a range.
    pub fn number(&mut self, name: &'static str, range: RangeInclusive<f64>) -> Result<Option<f64>> {
        let valid = || format!("a number from {} to {} is valid", range.start(), range.end());
        match self.take(name) {
            None => Ok(None),
            Some(value) => match value.as_f64().filter(|x| range.contains(x)) {
                Some(x) => Ok(Some(x)),
                None => Err(self.wrong(name, valid())),
            },
        }
    }

    /// An integer in a range.
    pub fn integer(&mut self, name: &'static str, range: RangeInclusive<i64>) -> Result<Option<i64>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        // Some clients write integers as 1.0.
        let whole = value.as_f64().filter(|x| x.fract() == 0.0 && x.abs() < 9e15).map(|x| x as i64);
        match value.as_i64().or(whole).filter(|n| range.contains(n)) {
            Some(n) => Ok(Some(n)),
            None => {
                let valid = match *range.end() {
                    i64::MAX => format!("an integer from {} on is valid", range.start()),
                    end => format!("an integer from {} to {end} is valid", range.start()),
                };
                Err(self.wrong(name, valid))
            }
        }
    }

    /// A number of things in a range.
    pub fn count(&mut self, name: &'static str, range: RangeInclusive<usize>) -> Result<Option<usize>> {
        let bound = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let n = self.integer(name, bound(*range.start())..=bound(*range.end()))?;
        Ok(n.map(|n| usize::try_from(n).unwrap_or(0)))
    }

    /// An object, or none.
    pub fn object(&mut self, name: &'static str) -> Result<Option<Fields>> {
        let place = self.place(name);
        self.take(name).map(|value| Fields::new(value, &place)).transpose()
    }

    /// A list, or none.
    pub fn list(&mut self, name: &'static str, most: usize) -> Result<Option<Vec<Value>>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(values)) if values.len() <= most => Ok(Some(values)),
            Some(Value::Array(values)) => {
                Err(self.wrong(name, format!("has {} elements: up to {most} are valid", values.len())))
            }
            Some(_) => Err(self.wrong(name, "a list is valid")),
        }
    }

    /// Takes fields that do not change a result.
    pub fn ignore(&mut self, names: &[&'static str]) {
        for name in names {
            self.take(name);
        }
    }

    /// Takes a field of which only some values are supported; `valid` says which.
    pub fn only(&mut self, name: &'static str, valid: &str, is_valid: impl Fn(&Value) -> bool) -> Result<()> {
        match self.take(name) {
            Some(value) if !is_valid(&value) => Err(self.wrong(name, format!("is not supported: {valid}"))),
            _ => Ok(()),
        }
    }

    /// Refuses fields that nobody took.
    pub fn end(mut self) -> Result<()> {
        let Some(name) = self.object.keys().next() else { return Ok(()) };
        let name = shortened(name);
        self.known.sort_unstable();
        let known = self.known.join(", ");
        Err(self.wrong(&name, format!("is unknown: {known} are known")))
    }
}

/// A text of a request for a message, without what follows a length that nobody reads.
pub fn shortened(text: &str) -> String {
    const MOST: usize = 64;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Fields {
        Fields::new(value, "").unwrap_or_else(|_| unreachable!("an object"))
    }

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.err().map_or(String::new(), |e| e.body()["error"]["message"].as_str().unwrap_or_default().into())
    }

    #[test]
    fn kinds_and_ranges() {
        let mut all = fields(json!({ "a": 1, "b": "x", "c": true, "d": 2.5, "e": null, "f": 3.0, "g": [1, 2] }));
        assert_eq!(all.integer("a", 0..=5).ok(), Some(Some(1)));
        assert_eq!(all.text("b").ok(), Some(Some("x".into())));
        assert_eq!(all.flag("c").ok(), Some(Some(true)));
        assert_eq!(all.number("d", 0.0..=3.0).ok(), Some(Some(2.5)));
        assert_eq!(all.text("e").ok(), Some(None));
        assert_eq!(all.count("f", 0..=3).ok(), Some(Some(3)));
        assert_eq!(all.list("g", 2).ok().flatten().map(|list| list.len()), Some(2));
        assert!(all.end().is_ok());
        for (value, words) in [
            (json!({ "n": "1" }), "n: an integer from 1 to 4 is valid"),
            (json!({ "n": 0 }), "n: an integer from 1 to 4"),
            (json!({ "n": 1.5 }), "n: an integer from 1 to 4"),
            (json!({ "n": 1e300 }), "n: an integer from 1 to 4"),
            (json!({ "n": 18446744073709551615u64 }), "n: an integer from 1 to 4"),
        ] {
            assert!(message(fields(value).integer("n", 1..=4)).contains(words));
        }
        assert!(message(fields(json!({ "x": 3 })).number("x", 0.0..=2.0)).contains("a number from 0 to 2"));
        assert!(message(fields(json!({ "x": 3 })).one_of("x", &["a", "b"])).contains("a text is valid"));
        assert!(message(fields(json!({ "x": "c" })).one_of("x", &["a", "b"])).contains("is 'c': a, b are valid"));
        assert!(message(fields(json!({ "x": [1, 2, 3] })).list("x", 2)).contains("has 3 elements: up to 2"));
        assert!(message(Fields::new(json!([]), "").map(|_| ())).contains("no JSON object"));
        assert!(message(Fields::new(json!([]), "tools[0]").map(|_| ())).contains("tools[0]: an object"));
    }

    #[test]
    fn what_nobody_takes_is_refused() {
        let mut all = fields(json!({ "temperatur": 1, "n": 1 }));
        all.ignore(&["user", "n"]);
        let all = message(all.end());
        assert_eq!(all, "temperatur: is unknown: n, user are known");
        let long = "x".repeat(100_000);
        let error = message(fields(json!({ long: 1 })).end());
        assert!(error.len() < 200, "{error}");
        let mut nested = fields(json!({ "a": { "b": 1 } }));
        let inner = nested.object("a").ok().flatten().map(Fields::end);
        assert!(inner.is_some_and(|error| message(error).starts_with("a.b: is unknown")));
    }
}
