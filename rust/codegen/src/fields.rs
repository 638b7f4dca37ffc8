//! Reads a table of a description key by key; errors name the file, table and key.

use toml::{Table, Value};

/// A table, and its name in messages.
pub struct Fields<'a> {
    table: &'a Table,
    pub place: String,
}

impl<'a> Fields<'a> {
    pub fn of(value: &'a Value, place: String) -> Result<Self, String> {
        let table = value.as_table().ok_or_else(|| format!("{place}: a table is valid"))?;
        Ok(Self { table, place })
    }

    pub fn only(&self, known: &[&str]) -> Result<(), String> {
        match self.table.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(format!("{}: no key {key:?}: valid are {}", self.place, known.join(", "))),
            None => Ok(()),
        }
    }

    pub fn check_name(&self, name: &str) -> Result<(), String> {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(letters) {
            return Ok(());
        }
        Err(format!("{}: the name {name:?}: small letters, digits and _ are valid, a letter first", self.place))
    }

    pub fn there(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub fn get<T>(&self, key: &str, what: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, String> {
        let value = self.table.get(key).ok_or_else(|| format!("{}: {key} is missing: {what} is valid", self.place))?;
        read(value).ok_or_else(|| format!("{}: {key} is {value}: {what} is valid", self.place))
    }

    /// A text whose lines are joined.
    pub fn text(&self, key: &str) -> Result<String, String> {
        self.joined(key, self.get(key, "a text", Value::as_str)?)
    }

    /// A list of texts, at least one.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let texts: Vec<&str> = self.get(key, "a list of texts", |value| {
            let texts: Option<Vec<_>> = value.as_array()?.iter().map(Value::as_str).collect();
            texts.filter(|texts| !texts.is_empty())
        })?;
        texts.into_iter().map(|text| self.joined(key, text)).collect()
    }

    fn joined(&self, key: &str, text: &str) -> Result<String, String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match text.is_empty() || text.contains(['"', '\\']) {
            true => Err(format!("{}: {key} is empty, or has a quotation mark or a backslash", self.place)),
            false => Ok(text),
        }
    }

    pub fn one_of(&self, key: &str, valid: &[&str]) -> Result<String, String> {
        let what = format!("one of {}", valid.join(", "));
        self.get(key, &what, |v| v.as_str().filter(|text| valid.contains(text)).map(String::from))
    }

    pub fn truth(&self, key: &str) -> Result<bool, String> {
        self.get(key, "true or false", Value::as_bool)
    }

    pub fn number(&self, key: &str) -> Result<u64, String> {
        self.get(key, "a whole number above 0", |v| {
            v.as_integer().and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0)
        })
    }

    pub fn range(&self, key: &str) -> Result<(u64, u64), String> {
        self.get(key, "[FEWEST, MOST]", |value| {
            let numbers: Vec<u64> =
                value.as_array()?.iter().filter_map(|n| u64::try_from(n.as_integer()?).ok()).collect();
            match numbers[..] {
                [fewest, most] if fewest <= most => Some((fewest, most)),
                _ => None,
            }
        })
    }

    /// Two numbers, the smaller first; integers unless `fractions`. An infinity means no bound.
    pub fn bounds(&self, key: &str, fractions: bool) -> Result<(f64, f64), String> {
        let open = |value: &Value| value.as_float().filter(|n| n.is_infinite());
        self.get(key, "[LEAST, MOST]", |value| {
            let numbers: Option<Vec<f64>> =
                value.as_array()?.iter().map(|v| number(v, fractions).or(open(v))).collect();
            match numbers?[..] {
                [least, most] if least <= most => Some((least, most)),
                _ => None,
            }
        })
    }

    /// A number; an integer unless `fractions`.
    pub fn value(&self, key: &str, fractions: bool) -> Result<f64, String> {
        self.get(key, if fractions { "a number" } else { "a whole number" }, |value| number(value, fractions))
    }

    /// Names, at least one.
    pub fn words(&self, key: &str) -> Result<Vec<String>, String> {
        let words: Vec<String> = self.get(key, "a list of words", |value| {
            let words: Option<Vec<_>> = value.as_array()?.iter().map(|v| v.as_str().map(String::from)).collect();
            words.filter(|words| !words.is_empty())
        })?;
        words.iter().try_for_each(|word| self.check_name(word))?;
        Ok(words)
    }

    /// A text whose lines are kept.
    pub fn program(&self, key: &str) -> Result<String, String> {
        Ok(self.get(key, "a text", Value::as_str)?.trim_end().into())
    }

    /// A table inside this one.
    pub fn table(&self, key: &str) -> Result<Fields<'a>, String> {
        let value = self.get(key, "a table", Some)?;
        Fields::of(value, format!("{}: {key}", self.place))
    }

    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.table.keys().map(String::as_str)
    }

    /// The tables of a list; empty if it is absent.
    pub fn list(&self, key: &str) -> Result<Vec<Fields<'a>>, String> {
        if !self.there(key) {
            return Ok(Vec::new());
        }
        let values = self.get(key, "a list of tables", Value::as_array)?;
        values.iter().enumerate().map(|(i, value)| Fields::of(value, format!("{}: {key}[{i}]", self.place))).collect()
    }
}

fn number(value: &Value, fractions: bool) -> Option<f64> {
    match value {
        Value::Integer(whole) => Some(*whole as f64),
        Value::Float(number) if fractions && !number.is_nan() => Some(*number),
        _ => None,
    }
}
