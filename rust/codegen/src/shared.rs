//! What several operations share, `cpp/ops/texts.toml` and `cpp/ops/enumerations.toml`: it is named once there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::{Table, Value};

use crate::description::{table, words, FOLDER};
use crate::fields::Fields;

/// The file of texts: `$name` in a text of a description stands for one of them.
pub const TEXTS: &str = "texts";

/// The file of enumerations: `of = "name"` in an attribute stands for the values of one of them.
pub const ENUMERATIONS: &str = "enumerations";

/// The texts that several operations share, and which of them are used.
pub struct Texts {
    texts: BTreeMap<String, String>,
    used: BTreeSet<String>,
}

impl Texts {
    pub fn read(folder: &Path) -> Result<Self, String> {
        Self::of(&Value::Table(table(&folder.join(format!("{TEXTS}.toml")))?))
    }

    fn of(table: &Value) -> Result<Self, String> {
        let fields = Fields::of(table, format!("{FOLDER}/{TEXTS}.toml"))?;
        let texts = fields.keys().map(|key| Ok((key.to_string(), fields.text(key)?))).collect::<Result<_, String>>()?;
        Ok(Self { texts, used: BTreeSet::new() })
    }

    /// A family's table with the shared texts filled in. Programs stay as they are.
    pub fn filled_in(&mut self, family: &str, table: Table) -> Result<Table, String> {
        let mut filled = Table::new();
        for (key, value) in table {
            let value = if key == "example_rust" { value } else { self.replaced(family, value)? };
            filled.insert(key, value);
        }
        Ok(filled)
    }

    fn replaced(&mut self, family: &str, value: Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => Value::String(self.text(family, &text)?),
            Value::Array(values) => {
                Value::Array(values.into_iter().map(|value| self.replaced(family, value)).collect::<Result<_, _>>()?)
            }
            Value::Table(table) => Value::Table(self.filled_in(family, table)?),
            other => other,
        })
    }

    fn text(&mut self, family: &str, text: &str) -> Result<String, String> {
        let mut parts = text.split('$');
        let mut out = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let shared = self.texts.get(name).ok_or_else(|| {
                let alike: Vec<&str> =
                    self.texts.keys().map(String::as_str).filter(|known| are_alike(known, name)).collect();
                let known = if alike.is_empty() { self.texts.keys().map(String::as_str).collect() } else { alike };
                format!("{FOLDER}/{family}.toml: ${name} is no text of {TEXTS}.toml, which has {}", known.join(", "))
            })?;
            self.used.insert(name.into());
            out += shared;
            out += rest;
        }
        Ok(out)
    }

    pub fn check_use(&self) -> Result<(), String> {
        match self.texts.keys().find(|name| !self.used.contains(*name)) {
            Some(name) => Err(format!("{FOLDER}/{TEXTS}.toml: no operation uses ${name}")),
            None => Ok(()),
        }
    }
}

/// The words that attributes of several operations take.
#[derive(Clone, Debug)]
pub struct Enumeration {
    pub name: String,
    pub doc: String,
    pub values: Vec<String>,
    pub value_docs: Vec<String>,
}

/// The enumerations that several operations share, and which of them are used.
#[derive(Debug, Default)]
pub struct Enumerations {
    all: BTreeMap<String, Enumeration>,
    used: BTreeSet<String>,
}

impl Enumerations {
    pub fn read(folder: &Path) -> Result<Self, String> {
        Self::of(&table(&folder.join(format!("{ENUMERATIONS}.toml")))?)
    }

    fn of(table: &Table) -> Result<Self, String> {
        let mut all = BTreeMap::new();
        for (name, value) in table {
            let fields = Fields::of(value, format!("{FOLDER}/{ENUMERATIONS}.toml: {name}"))?;
            fields.only(&["doc", "values", "value_docs"])?;
            fields.check_name(name)?;
            let (values, value_docs) = words(&fields)?;
            all.insert(name.clone(), Enumeration { name: name.clone(), doc: fields.text("doc")?, values, value_docs });
        }
        Ok(Self { all, used: BTreeSet::new() })
    }

    /// The enumeration of this name, for the attribute at `place`.
    pub fn get(&mut self, name: &str, place: &str) -> Result<Enumeration, String> {
        let found = self.all.get(name).ok_or_else(|| {
            let known = self.all.keys().cloned().collect::<Vec<_>>().join(", ");
            format!("{place}: of is {name:?}, which is none of {ENUMERATIONS}.toml, which has {known}")
        })?;
        self.used.insert(name.into());
        Ok(found.clone())
    }

    pub fn check_use(&self) -> Result<(), String> {
        match self.all.keys().find(|name| !self.used.contains(*name)) {
            Some(name) => Err(format!("{FOLDER}/{ENUMERATIONS}.toml: no attribute is of {name}")),
            None => Ok(()),
        }
    }
}

/// Whether one name may be the other misspelt: half of either is their common beginning.
fn are_alike(a: &str, b: &str) -> bool {
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    common * 2 >= a.len().max(b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_texts_are_filled_in() {
        let mut texts =
            Texts::of(&Value::Table("floats = \"F32 or\\nF16\"\nonce = \"rounded once\"".parse().unwrap())).unwrap();
        let table = |text: &str| text.parse::<Table>().unwrap();
        let filled = texts
            .filled_in("f", table("types = \"$floats, $once.\"\nlist = [{ doc = \"($once)\" }]\nexample_rust = \"$x\""))
            .unwrap();
        let wanted =
            "types = \"F32 or F16, rounded once.\"\nlist = [{ doc = \"(rounded once)\" }]\nexample_rust = \"$x\"";
        assert_eq!(filled, table(wanted));
        assert!(texts.check_use().is_ok());
        assert!(texts.filled_in("f", table("doc = \"$twice\"")).unwrap_err().contains("f.toml: $twice is no text"));
        texts.used.clear();
        assert!(texts.check_use().unwrap_err().contains("no operation uses $floats"));
    }

    #[test]
    fn enumerations_are_read() {
        let of = |text: &str| Enumerations::of(&text.parse().unwrap());
        let mut all = of("[way]\ndoc = \"direction\"\nvalues = [\"forth\", \"back\"]").unwrap();
        assert!(all.check_use().unwrap_err().contains("no attribute is of way"));
        assert_eq!(all.get("way", "f.toml").unwrap().values, ["forth", "back"]);
        assert!(all.check_use().is_ok());
        let unknown = all.get("sort", "f.toml: cast").unwrap_err();
        assert!(unknown.contains("f.toml: cast: of is \"sort\"") && unknown.ends_with("which has way"), "{unknown}");
        assert!(of("[way]\nvalues = [\"a\"]").unwrap_err().contains("enumerations.toml: way: doc is missing"));
        assert!(of("[way]\ndoc = \"d\"\nvalues = [\"a\", \"a\"]").unwrap_err().contains("values has a value twice"));
        assert!(of("[way]\nvalue = 1").unwrap_err().contains("no key \"value\": valid are doc, values, value_docs"));
    }
}
