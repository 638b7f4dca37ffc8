//! The operations' descriptions, `cpp/ops/*.toml`, read and checked.

use std::collections::BTreeSet;
use std::path::Path;

use toml::{Table, Value};

/// Where they lie.
pub const FOLDER: &str = "cpp/ops";

/// The most operands that an operation may have.
const MAX_OPERANDS: usize = 3;

/// The most integers of an attribute.
const MAX_INTEGERS: u64 = 4;

const CLASSES: [&str; 6] = ["elementwise", "row", "reduction", "view", "product", "other"];
/// read: its elements are. written: the result is a view of it, and computing writes into it. viewed: the result is a view of
/// it, and nothing is computed. indices: its elements are numbers of something, which computing checks.
const ROLES: [&str; 4] = ["read", "written", "viewed", "indices"];
/// What an attribute is; where it is left out, 0 or nothing. bool: 0 or 1. type: a storage type's name.
const KINDS: [&str; 4] = ["bool", "integer", "integers", "type"];

/// The operations of a file.
#[derive(Debug)]
pub struct Family {
    /// The file's name without its ending.
    pub name: String,
    /// In words.
    pub title: String,
    /// By their numbers.
    pub ops: Vec<Op>,
}

/// An operation.
#[derive(Debug)]
pub struct Op {
    pub name: String,
    pub number: u64,
    pub class: String,
    /// In a line.
    pub doc: String,
    pub formula: String,
    pub shapes: String,
    pub types: String,
    /// What computing it may refuse.
    pub refuses: Option<String>,
    pub gradient: String,
    pub operands: Vec<Operand>,
    pub attributes: Vec<Attribute>,
}

/// One of an operation's operands.
#[derive(Debug)]
pub struct Operand {
    pub name: String,
    pub role: String,
}

/// One of an operation's attributes.
#[derive(Debug)]
pub struct Attribute {
    pub name: String,
    pub kind: String,
    /// The fewest and the most integers that it has.
    pub length: (u64, u64),
    pub required: bool,
    pub doc: String,
}

/// All families, by the least number of their operations.
pub fn read(root: &Path) -> Result<Vec<Family>, String> {
    let folder = root.join(FOLDER);
    let mut families = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            families.push(family(&name, &text)?);
        }
    }
    families.sort_by_key(|family| family.ops.first().map(|op| op.number));
    check_numbers(&families)?;
    Ok(families)
}

/// The operations of a file of this name and text.
pub fn family(name: &str, text: &str) -> Result<Family, String> {
    let file = format!("{FOLDER}/{name}.toml");
    let mut table: Table = text.parse().map_err(|e| format!("{file}: {e}"))?;
    let title = match table.remove("title") {
        Some(Value::String(title)) if !title.is_empty() => title,
        _ => return Err(format!("{file}: it has no title: title = \"...\" comes before the operations")),
    };
    let mut ops = Vec::new();
    for (op, value) in &table {
        let fields = Fields::of(value, format!("{file}: {op}"))?;
        ops.push(operation(op, &fields)?);
    }
    if ops.is_empty() {
        return Err(format!("{file}: it has no operations: [NAME] begins one"));
    }
    ops.sort_by_key(|op| op.number);
    Ok(Family { name: name.into(), title, ops })
}

fn operation(name: &str, fields: &Fields) -> Result<Op, String> {
    fields.only(&[
        "number",
        "class",
        "doc",
        "formula",
        "shapes",
        "types",
        "refuses",
        "gradient",
        "operands",
        "attributes",
    ])?;
    fields.check_name(name)?;
    let operands = fields.list("operands")?.iter().map(operand).collect::<Result<Vec<_>, _>>()?;
    if operands.is_empty() || operands.len() > MAX_OPERANDS {
        return Err(format!("{}: {} operands: 1 to {MAX_OPERANDS} are valid", fields.place, operands.len()));
    }
    let attributes = fields.list("attributes")?.iter().map(attribute).collect::<Result<Vec<_>, _>>()?;
    let mut names = BTreeSet::new();
    for part in operands.iter().map(|o| &o.name).chain(attributes.iter().map(|a| &a.name)) {
        if !names.insert(part) {
            return Err(format!("{}: two operands or attributes are called {part:?}", fields.place));
        }
    }
    Ok(Op {
        name: name.into(),
        number: fields.number("number")?,
        class: fields.one_of("class", &CLASSES)?,
        doc: fields.text("doc")?,
        formula: fields.text("formula")?,
        shapes: fields.text("shapes")?,
        types: fields.text("types")?,
        refuses: fields.there("refuses").then(|| fields.text("refuses")).transpose()?,
        gradient: fields.text("gradient")?,
        operands,
        attributes,
    })
}

fn operand(fields: &Fields) -> Result<Operand, String> {
    fields.only(&["name", "role"])?;
    let name = fields.text("name")?;
    fields.check_name(&name)?;
    Ok(Operand { name, role: fields.one_of("role", &ROLES)? })
}

fn attribute(fields: &Fields) -> Result<Attribute, String> {
    fields.only(&["name", "kind", "length", "required", "doc"])?;
    let (name, kind) = (fields.text("name")?, fields.one_of("kind", &KINDS)?);
    fields.check_name(&name)?;
    let length = match fields.there("length") {
        true if kind == "integers" => fields.range("length")?,
        true => return Err(format!("{}: length is of integers, and this is {kind:?}", fields.place)),
        false if kind == "integers" => return Err(format!("{}: length is missing: [FEWEST, MOST]", fields.place)),
        false => (1, 1),
    };
    if length.0 == 0 || length.1 > MAX_INTEGERS {
        return Err(format!("{}: length is {length:?}: 1 to {MAX_INTEGERS} integers are valid", fields.place));
    }
    let required = fields.there("required").then(|| fields.truth("required")).transpose()?.unwrap_or(false);
    Ok(Attribute { name, kind, length, required, doc: fields.text("doc")? })
}

/// Numbers are 1, 2, 3 .. without a gap, and no name is there twice.
fn check_numbers(families: &[Family]) -> Result<(), String> {
    let mut all: Vec<&Op> = families.iter().flat_map(|family| &family.ops).collect();
    all.sort_by_key(|op| op.number);
    for (op, wanted) in all.iter().zip(1u64..) {
        if op.number != wanted {
            return Err(format!("{FOLDER}: {} has the number {}: {wanted} is the next one", op.name, op.number));
        }
    }
    let mut names = BTreeSet::new();
    match all.iter().find(|op| !names.insert(&op.name)) {
        Some(op) => Err(format!("{FOLDER}: {} is there twice", op.name)),
        None => Ok(()),
    }
}

/// A table, and what to call it in messages.
struct Fields<'a> {
    table: &'a Table,
    place: String,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value, place: String) -> Result<Self, String> {
        let table = value.as_table().ok_or_else(|| format!("{place}: a table is valid"))?;
        Ok(Self { table, place })
    }

    fn only(&self, known: &[&str]) -> Result<(), String> {
        match self.table.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(format!("{}: no key {key:?}: valid are {}", self.place, known.join(", "))),
            None => Ok(()),
        }
    }

    fn check_name(&self, name: &str) -> Result<(), String> {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(letters) {
            return Ok(());
        }
        Err(format!("{}: the name {name:?}: small letters, digits and _ are valid, a letter first", self.place))
    }

    fn there(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    fn get<T>(&self, key: &str, what: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, String> {
        let value = self.table.get(key).ok_or_else(|| format!("{}: {key} is missing: {what}", self.place))?;
        read(value).ok_or_else(|| format!("{}: {key} is {value}: {what} is valid", self.place))
    }

    /// Lines of it are one.
    fn text(&self, key: &str) -> Result<String, String> {
        let text = self.get(key, "a text", Value::as_str)?;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match text.is_empty() || text.contains(['"', '\\']) {
            true => Err(format!("{}: {key} is empty, or has a quotation mark or a backslash", self.place)),
            false => Ok(text),
        }
    }

    fn one_of(&self, key: &str, valid: &[&str]) -> Result<String, String> {
        let what = format!("one of {}", valid.join(", "));
        self.get(key, &what, |v| v.as_str().filter(|text| valid.contains(text)).map(String::from))
    }

    fn truth(&self, key: &str) -> Result<bool, String> {
        self.get(key, "true or false", Value::as_bool)
    }

    fn number(&self, key: &str) -> Result<u64, String> {
        self.get(key, "a whole number above 0", |v| {
            v.as_integer().and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0)
        })
    }

    fn range(&self, key: &str) -> Result<(u64, u64), String> {
        self.get(key, "[FEWEST, MOST]", |value| {
            let numbers: Vec<u64> =
                value.as_array()?.iter().filter_map(|n| u64::try_from(n.as_integer()?).ok()).collect();
            match numbers[..] {
                [fewest, most] if fewest <= most => Some((fewest, most)),
                _ => None,
            }
        })
    }

    /// The tables of a list; none where it is absent.
    fn list(&self, key: &str) -> Result<Vec<Fields<'a>>, String> {
        if !self.there(key) {
            return Ok(Vec::new());
        }
        let values = self.get(key, "a list of tables", Value::as_array)?;
        values.iter().enumerate().map(|(i, value)| Fields::of(value, format!("{}: {key}[{i}]", self.place))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
title = "F"
[twice]
number = 1
class = "elementwise"
doc = "2 a"
formula = "c = 2 a"
shapes = "a's"
types = """F32,
and no other"""
gradient = "da = 2 g"
operands = [{ name = "a", role = "read" }]
attributes = [{ name = "axes", kind = "integers", length = [4, 4], doc = "which" }]
"#;

    #[test]
    fn an_operation_is_read() {
        let family = family("f", GOOD).unwrap();
        let op = &family.ops[0];
        assert_eq!((op.name.as_str(), op.number, op.types.as_str()), ("twice", 1, "F32, and no other"));
        assert_eq!((op.attributes[0].length, op.attributes[0].required, op.refuses.is_none()), ((4, 4), false, true));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |from: &str, to: &str| family("f", &GOOD.replacen(from, to, 1)).unwrap_err();
        assert!(error("[twice]", "[Twice]").contains("small letters"));
        assert!(error("number = 1", "number = 0").contains("number is 0: a whole number above 0"));
        assert!(error("number = 1", "").contains("f.toml: twice: number is missing"));
        assert!(error("\"elementwise\"", "\"some\"").contains("one of elementwise, row"));
        assert!(error("\"read\"", "\"eaten\"").contains("operands[0]: role is \"eaten\": one of read, written"));
        assert!(error("doc", "dock").contains("no key \"dock\": valid are number"));
        assert!(error("[4, 4]", "[4]").contains("[FEWEST, MOST]"));
        assert!(error("[4, 4]", "[4, 5]").contains("1 to 4 integers"));
        assert!(error("length = [4, 4], ", "").contains("length is missing"));
        assert!(error("\"axes\"", "\"a\"").contains("two operands or attributes are called \"a\""));
        assert!(error("\"2 a\"", "\"\"").contains("doc is empty"));
        assert!(error("operands = [{ name = \"a\", role = \"read\" }]", "").contains("0 operands: 1 to 3"));
        assert!(family("f", "title = \"F\"").unwrap_err().contains("no operations"));
        assert!(error("title", "titel").contains("no title"));
        assert!(family("f", "[").unwrap_err().contains("f.toml"));
    }

    #[test]
    fn numbers_have_no_gap() {
        let numbered = |n: u64| family("f", &GOOD.replace("number = 1", &format!("number = {n}"))).unwrap();
        assert!(check_numbers(&[numbered(1)]).is_ok());
        assert!(check_numbers(&[numbered(2)]).unwrap_err().contains("1 is the next one"));
        assert!(check_numbers(&[numbered(1), numbered(2)]).unwrap_err().contains("twice is there twice"));
    }
}
