//! Reads and checks the descriptions of operations, `cpp/ops/*.toml`.

use std::collections::BTreeSet;
use std::path::Path;

use toml::{Table, Value};

use crate::fields::Fields;
use crate::names::{Language, Names};
use crate::shared::{Enumeration, Enumerations, Texts, ENUMERATIONS, TEXTS};

/// The folder of the descriptions.
pub const FOLDER: &str = "cpp/ops";

/// The most operands that an operation may have: the engine's `max_sources`.
const MAX_OPERANDS: usize = 10;

/// The most attributes: the engine's `max_attrs`.
const MAX_ATTRIBUTES: usize = 16;

/// The most integers of an attribute.
const MAX_INTEGERS: u64 = 4;

/// The number of the last dimension.
const LAST_DIMENSION: f64 = 3.0;

const CLASSES: [&str; 8] = ["elementwise", "row", "reduction", "view", "product", "collective", "other", COMPOSED];
/// An operation that makes nodes of others and is in no graph itself.
const COMPOSED: &str = "composed";
/// read: the elements are read. written: the result is a view of it, and computing writes into it. viewed: the result
/// is a view of it, and nothing is computed. indices: the elements are indices, which computing checks. integers: the
/// elements are integers, any of which is valid.
const ROLES: [&str; 5] = ["read", "written", "viewed", "indices", "integers"];
/// The result's type; an operation with another one describes it in `types`.
const RESULTS: [&str; 4] = [OF_FIRST, "f32", "i32", "i64"];
pub const OF_FIRST: &str = "first operand's";
/// The signature of an operation whose functions are written by hand.
const BY_HAND: &str = "by hand";

/// Every integer up to this one is exact in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The kind of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Integer,
    Integers,
    Number,
    /// One of a list of words.
    Choice,
    /// A storage type's name.
    Type,
    /// Any text, for functions that are written by hand.
    Text,
    /// The extents of 1 to 4 dimensions. Those that it lacks are 1.
    Shape,
    /// Dimensions of a tensor, in any order; none stands for all.
    Dims,
    /// A group of ranks, which is always required.
    Group,
}

const KINDS: [(&str, Kind); 10] = [
    ("bool", Kind::Bool),
    ("integer", Kind::Integer),
    ("integers", Kind::Integers),
    ("number", Kind::Number),
    ("enum", Kind::Choice),
    ("type", Kind::Type),
    ("text", Kind::Text),
    ("shape", Kind::Shape),
    ("dims", Kind::Dims),
    ("group", Kind::Group),
];

impl Kind {
    /// Its name in descriptions.
    pub fn key(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(key, _)| key)
    }
}

/// The operations of a file.
#[derive(Debug)]
pub struct Family {
    /// The file's name without its ending.
    pub name: String,
    /// The title in words.
    pub title: String,
    /// In the order of their numbers.
    pub ops: Vec<Op>,
}

/// An operation.
#[derive(Debug)]
pub struct Op {
    pub name: String,
    pub number: u64,
    pub class: String,
    /// A line that says what the operation does and begins with a verb.
    pub doc: String,
    /// Statements, or a sentence if it contains no =.
    pub formula: String,
    /// Facts that the formula leaves out, such as special values.
    pub notes: Option<String>,
    pub shapes: String,
    pub types: String,
    /// The result's type, if it is one of `RESULTS`.
    pub result: Option<String>,
    /// What results the operation has after the first one.
    pub results: Vec<String>,
    /// Values that computing may refuse.
    pub refuses: Option<String>,
    pub gradient: String,
    /// Whether its functions, and the runners' lines, are written by hand.
    pub by_hand: bool,
    pub names: Names,
    /// The version that introduced it.
    pub since: String,
    /// A program for the Rust documentation.
    pub example_rust: Option<String>,
    pub operands: Vec<Operand>,
    /// Whether the last operand may be given several times.
    pub repeats_last: bool,
    pub attributes: Vec<Attribute>,
}

impl Op {
    /// Whether it makes nodes of other operations.
    pub fn is_composed(&self) -> bool {
        self.class == COMPOSED
    }

    /// The name of its function in a language.
    pub fn function(&self, language: Language) -> String {
        language.function(&self.name, &self.names)
    }

    /// The attributes that are parameters of its function, after the operands.
    pub fn required(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter().filter(|attribute| attribute.required)
    }

    /// The attributes in its struct of options.
    pub fn optional(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter().filter(|attribute| !attribute.required)
    }

    pub fn has_options(&self) -> bool {
        self.optional().next().is_some()
    }

    /// Whether the formula is code.
    pub fn is_computed(&self) -> bool {
        self.formula.contains('=')
    }

    /// The formula's statements.
    pub fn statements(&self) -> impl Iterator<Item = &str> {
        self.formula.split("; ")
    }

    /// The operand that the result is a view of.
    pub fn target(&self) -> Option<&Operand> {
        self.operands.iter().find(|operand| operand.is_target())
    }

    /// Operands that are written into although the result is not a view of them.
    pub fn also_written(&self) -> Vec<&Operand> {
        self.operands.iter().filter(|operand| operand.role == "written").skip(1).collect()
    }

    /// Operands that may be left out.
    pub fn optional_operands(&self) -> Vec<&Operand> {
        self.operands.iter().filter(|operand| operand.optional).collect()
    }

    /// Operands without a gradient, by reason; without those that `gradient` explains.
    pub fn without_gradient(&self) -> Vec<(&str, Vec<&Operand>)> {
        let mut groups: Vec<(&str, Vec<&Operand>)> = Vec::new();
        for operand in &self.operands {
            let Some(why) = operand.no_gradient.as_deref().filter(|why| self.gradient != format!("none: {why}")) else {
                continue;
            };
            match groups.iter_mut().find(|(known, _)| *known == why) {
                Some((_, operands)) => operands.push(operand),
                None => groups.push((why, vec![operand])),
            }
        }
        groups
    }

    /// The result in words: its type, or the operand that it is a view of. None if `types` describes it.
    pub fn result_text(&self) -> Option<String> {
        if let Some(Operand { name, role, .. }) = self.target() {
            return Some(match role.as_str() {
                "viewed" => format!("A view of `{name}`. Nothing is computed"),
                _ => format!(
                    "A view of `{name}`, which is overwritten when the node is computed. \
                     Make the result an output of the graph, or use it in another node: otherwise nothing is written"
                ),
            });
        }
        self.result.as_deref().map(|result| match result {
            OF_FIRST => format!("The type of `{}`", self.operands[0].name),
            _ => result.to_ascii_uppercase(),
        })
    }

    pub fn has_optional_operands(&self) -> bool {
        !self.optional_operands().is_empty()
    }

    /// Whether it reduces dimensions that the caller selects: its optional attributes are `dims` and `keep`, which some
    /// languages join in one type.
    pub fn reduces(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute.kind == Kind::Dims)
    }
}

/// One of an operation's operands.
#[derive(Debug)]
pub struct Operand {
    pub name: String,
    pub role: String,
    /// Whether it may be left out.
    pub optional: bool,
    /// Why it has no gradient; None if it has one.
    pub no_gradient: Option<String>,
    pub names: Names,
}

impl Operand {
    /// Whether the result is a view of it, if it is the first such operand.
    fn is_target(&self) -> bool {
        self.role == "written" || self.role == "viewed"
    }
}

/// One of an operation's attributes.
#[derive(Debug)]
pub struct Attribute {
    pub name: String,
    pub kind: Kind,
    /// The least and the greatest number of integers.
    pub length: (u64, u64),
    /// If not required, 0 stands for the default.
    pub required: bool,
    /// The least and the greatest valid value.
    pub range: Option<(f64, f64)>,
    pub default: f64,
    /// The words of a choice; the first is the default.
    pub values: Vec<String>,
    /// The meaning of each word, unless it is obvious.
    pub value_docs: Vec<String>,
    /// The enumeration that several operations share, if the words are those of one, and its description.
    pub enumeration: Option<(String, String)>,
    /// Whether a number may be NaN.
    pub nan: bool,
    pub names: Names,
    pub doc: String,
}

impl Attribute {
    /// A value in words.
    pub fn shown(&self, value: f64) -> String {
        const MOST_I32: f64 = 2_147_483_647.0;
        match value {
            MOST_I32 => "2^31 - 1".into(),
            _ if value.fract() == 0.0 && value.abs() < EXACT => format!("{value:.0}"),
            _ => format!("{value:?}"),
        }
    }

    /// The valid values in words; None if all are valid. A bound beyond which doubles are not exact counts as no bound.
    pub fn valid(&self) -> Option<String> {
        let whole = self.kind != Kind::Number;
        let bound = |value: f64| {
            Some(self.shown(value)).filter(|_| value.is_finite() && !(whole && value.abs() >= EXACT - 1.0))
        };
        // Callers pass a group, not its number.
        let (least, most) = self.range.filter(|_| self.kind != Kind::Group)?;
        let all = matches!(self.kind, Kind::Integers | Kind::Shape | Kind::Dims);
        match (bound(least), bound(most)) {
            (Some(least), Some(most)) if all => Some(format!("Each {least} to {most}")),
            (Some(least), Some(most)) => Some(format!("Range: {least} to {most}")),
            (Some(least), None) => Some(format!("{} least {least}", if all { "Each at" } else { "At" })),
            (None, Some(most)) => Some(format!("{} most {most}", if all { "Each at" } else { "At" })),
            (None, None) => None,
        }
    }

    /// The default in words; None if the attribute is required or a list.
    pub fn default_text(&self) -> Option<String> {
        match self.kind {
            _ if self.required => None,
            Kind::Bool => Some("false".into()),
            Kind::Integer | Kind::Number => Some(self.shown(self.default)),
            Kind::Choice => Some(self.values[0].clone()),
            Kind::Dims => Some("all".into()),
            Kind::Integers | Kind::Shape | Kind::Type | Kind::Text | Kind::Group => None,
        }
    }

    /// The value in the syntax that all these languages share.
    pub fn written(&self, value: f64) -> String {
        match self.kind {
            Kind::Number => format!("{value:?}"),
            _ => format!("{value:.0}"),
        }
    }
}

/// All families, sorted by the lowest number of their operations.
pub fn read(root: &Path) -> Result<Vec<Family>, String> {
    let folder = root.join(FOLDER);
    let mut texts = Texts::read(&folder)?;
    let mut enumerations = Enumerations::read(&folder)?;
    let mut families = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if ![TEXTS, ENUMERATIONS].contains(&&*name) && path.extension().is_some_and(|ending| ending == "toml") {
            families.push(family_of(&name, texts.filled_in(&name, table(&path)?)?, &mut enumerations)?);
        }
    }
    texts.check_use()?;
    enumerations.check_use()?;
    families.sort_by_key(|family| family.ops.first().map(|op| op.number));
    check_numbers(&families)?;
    check_arguments(&families)?;
    Ok(families)
}

pub(crate) fn table(path: &Path) -> Result<Table, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    text.parse().map_err(|e| format!("{}: {e}", path.display()))
}

/// The operations of a file of this name and text.
pub fn family(name: &str, text: &str) -> Result<Family, String> {
    let table = text.parse().map_err(|e| format!("{FOLDER}/{name}.toml: {e}"))?;
    family_of(name, table, &mut Enumerations::default())
}

fn family_of(name: &str, mut table: Table, enumerations: &mut Enumerations) -> Result<Family, String> {
    let file = format!("{FOLDER}/{name}.toml");
    let title = match table.remove("title") {
        Some(Value::String(title)) if !title.is_empty() => title,
        _ => return Err(format!("{file}: it has no title: title = \"...\" comes before the operations")),
    };
    let mut ops = Vec::new();
    for (op, value) in &table {
        let fields = Fields::of(value, format!("{file}: {op}"))?;
        ops.push(operation(op, &fields, enumerations)?);
    }
    if ops.is_empty() {
        return Err(format!("{file}: it has no operations: [NAME] begins one"));
    }
    ops.sort_by_key(|op| op.number);
    Ok(Family { name: name.into(), title, ops })
}

/// The keys of an operation.
const KEYS: [&str; 18] = [
    "number",
    "class",
    "doc",
    "formula",
    "notes",
    "shapes",
    "types",
    "result",
    "results",
    "refuses",
    "gradient",
    "signature",
    "names",
    "since",
    "example_rust",
    "operands",
    "repeats_last",
    "attributes",
];

fn operation(name: &str, fields: &Fields, enumerations: &mut Enumerations) -> Result<Op, String> {
    fields.only(&KEYS)?;
    fields.check_name(name)?;
    let operands = operands(fields)?;
    let attributes = attributes(fields, enumerations)?;
    check_distinct(&operands, &attributes, &fields.place)?;
    if operands.is_empty() {
        check_without_operands(fields, &attributes)?;
    }
    let by_hand = fields.there("signature").then(|| fields.one_of("signature", &[BY_HAND])).transpose()?.is_some();
    let op = Op {
        name: name.into(),
        number: fields.number("number")?,
        class: fields.one_of("class", &CLASSES)?,
        doc: fields.text("doc")?,
        formula: fields.text("formula")?,
        notes: fields.there("notes").then(|| fields.text("notes")).transpose()?,
        shapes: fields.text("shapes")?,
        types: fields.text("types")?,
        result: fields.there("result").then(|| fields.one_of("result", &RESULTS)).transpose()?,
        results: fields.there("results").then(|| fields.texts("results")).transpose()?.unwrap_or_default(),
        refuses: fields.there("refuses").then(|| fields.text("refuses")).transpose()?,
        gradient: fields.text("gradient")?,
        by_hand,
        names: names_in(fields)?,
        since: fields.there("since").then(|| fields.text("since")).transpose()?.unwrap_or_else(|| "0.1".into()),
        example_rust: fields.there("example_rust").then(|| fields.program("example_rust")).transpose()?,
        operands,
        repeats_last: fields.there("repeats_last") && fields.truth("repeats_last")?,
        attributes,
    };
    if !by_hand {
        check_functions(&op, &fields.place)?;
    } else if let Some(attribute) = op.attributes.iter().find(|attribute| attribute.enumeration.is_some()) {
        // The type of a shared enumeration comes with the functions of the first operation that has it.
        let (place, name) = (&fields.place, &attribute.name);
        return Err(format!("{place}: {name}: of is of operations whose functions are generated: values is valid"));
    }
    Ok(op)
}

fn operands(fields: &Fields) -> Result<Vec<Operand>, String> {
    let operands = fields.list("operands")?.iter().map(operand).collect::<Result<Vec<_>, _>>()?;
    if operands.len() > MAX_OPERANDS {
        return Err(format!("{}: {} operands: up to {MAX_OPERANDS} are valid", fields.place, operands.len()));
    }
    check_optional(&operands, &fields.place)?;
    Ok(operands)
}

fn attributes(fields: &Fields, enumerations: &mut Enumerations) -> Result<Vec<Attribute>, String> {
    let attributes = fields.list("attributes")?;
    let attributes = attributes.iter().map(|fields| attribute(fields, enumerations)).collect::<Result<Vec<_>, _>>()?;
    if attributes.len() > MAX_ATTRIBUTES {
        return Err(format!("{}: {} attributes: up to {MAX_ATTRIBUTES} are valid", fields.place, attributes.len()));
    }
    Ok(attributes)
}

fn check_distinct(operands: &[Operand], attributes: &[Attribute], place: &str) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for part in operands.iter().map(|o| &o.name).chain(attributes.iter().map(|a| &a.name)) {
        if !names.insert(part) {
            return Err(format!("{place}: two operands or attributes are called {part:?}"));
        }
    }
    Ok(())
}

/// Any operand except the first may be left out, also in the middle. Functions in languages without an explicit context
/// find it by the first operand, and the result is a view of the first one that is written or viewed.
fn check_optional(operands: &[Operand], place: &str) -> Result<(), String> {
    let left_out = |operand: Option<&Operand>| operand.filter(|o| o.optional).map(|o| o.name.clone());
    if let Some(name) = left_out(operands.first()) {
        return Err(format!("{place}: {name} is the first operand, which can not be optional"));
    }
    let target = operands.iter().find(|operand| operand.is_target());
    match left_out(target) {
        Some(name) => Err(format!("{place}: the result is a view of {name}, which can not be optional")),
        None => Ok(()),
    }
}

/// An operation without operands needs integers that define its result, and a type of its own.
fn check_without_operands(fields: &Fields, attributes: &[Attribute]) -> Result<(), String> {
    if !attributes.iter().any(|attribute| attribute.required) {
        return Err(format!("{}: no operands: then an attribute must be required", fields.place));
    }
    match fields.there("result") && fields.text("result")? == OF_FIRST {
        true => Err(format!("{}: no operands: then the result can not be of the first one's type", fields.place)),
        false => Ok(()),
    }
}

/// Checks that the generated functions can express the operation.
fn check_functions(op: &Op, place: &str) -> Result<(), String> {
    for (_, language) in Language::ALL {
        language.check(&op.function(language), place)?;
        for operand in &op.operands {
            language.check(&language.variable(&operand.name, &operand.names), place)?;
        }
        for attribute in &op.attributes {
            language.check(&language.variable(&attribute.name, &attribute.names), place)?;
        }
    }
    if op.reduces() {
        let optional: Vec<_> = op.optional().map(|attribute| (attribute.name.as_str(), attribute.kind)).collect();
        if optional != [("dims", Kind::Dims), ("keep", Kind::Bool)] {
            return Err(format!(
                "{place}: it has dimensions: valid optional attributes are dims, of kind dims, and keep, of kind bool"
            ));
        }
    }
    let shapes: Vec<_> = op.attributes.iter().filter(|attribute| attribute.kind == Kind::Shape).collect();
    if shapes.len() > 1 || shapes.iter().any(|attribute| !attribute.required) {
        return Err(format!("{place}: {} of kind shape: one is valid, with required = true", shapes[0].name));
    }
    let is_list = |attribute: &&Attribute| {
        (attribute.kind == Kind::Integers && attribute.length.0 != attribute.length.1) || attribute.kind == Kind::Text
    };
    match op.attributes.iter().find(is_list) {
        Some(Attribute { name, .. }) => {
            Err(format!("{place}: {name} has no fixed length: such functions are signature = \"{BY_HAND}\""))
        }
        None => Ok(()),
    }
}

/// The words of a choice, and their meanings if they are there.
pub fn words(fields: &Fields) -> Result<(Vec<String>, Vec<String>), String> {
    let values = fields.words("values")?;
    if values.iter().any(|value| values.iter().filter(|other| *other == value).count() > 1) {
        return Err(format!("{}: values has a value twice", fields.place));
    }
    let docs = fields.there("value_docs").then(|| fields.texts("value_docs")).transpose()?.unwrap_or_default();
    if !docs.is_empty() && docs.len() != values.len() {
        let (n, values) = (docs.len(), values.len());
        return Err(format!("{}: {n} value_docs of {values} values: one for each is valid", fields.place));
    }
    Ok((values, docs))
}

fn operand(fields: &Fields) -> Result<Operand, String> {
    fields.only(&["name", "role", "optional", "no_gradient", "names"])?;
    let (name, role) = (fields.text("name")?, fields.one_of("role", &ROLES)?);
    fields.check_name(&name)?;
    let no_gradient = fields.there("no_gradient").then(|| fields.text("no_gradient")).transpose()?;
    if matches!(role.as_str(), "indices" | "integers") && no_gradient.is_none() {
        return Err(format!(
            "{}: {name} holds whole numbers: no_gradient = \"why it has no gradient\" is missing",
            fields.place
        ));
    }
    let optional = fields.there("optional").then(|| fields.truth("optional")).transpose()?.unwrap_or(false);
    Ok(Operand { name, role, optional, no_gradient, names: names_in(fields)? })
}

fn names_in(fields: &Fields) -> Result<Names, String> {
    let mut names = Names::new();
    if fields.there("names") {
        let own = fields.table("names")?;
        own.only(&Language::ALL.map(|(key, _)| key))?;
        for key in own.keys() {
            names.insert(key.into(), own.text(key)?);
        }
    }
    Ok(names)
}

fn attribute(fields: &Fields, enumerations: &mut Enumerations) -> Result<Attribute, String> {
    fields.only(&[
        "name",
        "kind",
        "length",
        "required",
        "range",
        "default",
        "of",
        "values",
        "value_docs",
        "nan",
        "names",
        "doc",
    ])?;
    let (name, kind) = (fields.text("name")?, fields.one_of("kind", &KINDS.map(|(kind, _)| kind))?);
    let kind = KINDS.iter().find(|(known, _)| *known == kind).map_or(Kind::Integer, |(_, kind)| *kind);
    // Some names have capitals by convention; `names` gives the spelling if it is unusual.
    fields.check_name(&name.to_ascii_lowercase())?;
    let only_of = |key: &str, kinds: &[Kind]| match fields.there(key) {
        true if !kinds.contains(&kind) => Err(format!("{}: {key} is not of {kind:?}", fields.place)),
        there => Ok(there),
    };
    let length = match only_of("length", &[Kind::Integers])? {
        true => fields.range("length")?,
        false if kind == Kind::Integers => return Err(format!("{}: length is missing: [FEWEST, MOST]", fields.place)),
        false if kind == Kind::Dims => (0, MAX_INTEGERS),
        false if kind == Kind::Shape => (1, MAX_INTEGERS),
        false => (1, 1),
    };
    if kind == Kind::Integers && (length.0 == 0 || length.1 > MAX_INTEGERS) {
        return Err(format!("{}: length is {length:?}: 1 to {MAX_INTEGERS} integers are valid", fields.place));
    }
    let range = only_of("range", &[Kind::Integer, Kind::Integers, Kind::Number])?;
    let default = only_of("default", &[Kind::Integer, Kind::Number])?;
    let mut attribute = Attribute {
        name,
        kind,
        length,
        required: fields.there("required").then(|| fields.truth("required")).transpose()?.unwrap_or(false),
        range: match kind {
            Kind::Dims => Some((0.0, LAST_DIMENSION)),
            Kind::Shape => Some((0.0, f64::INFINITY)),
            Kind::Group => Some((1.0, EXACT)),
            _ => range.then(|| fields.bounds("range", kind == Kind::Number)).transpose()?,
        },
        default: default.then(|| fields.value("default", kind == Kind::Number)).transpose()?.unwrap_or(0.0),
        values: Vec::new(),
        value_docs: Vec::new(),
        enumeration: None,
        nan: only_of("nan", &[Kind::Number])?.then(|| fields.truth("nan")).transpose()?.unwrap_or(false),
        names: names_in(fields)?,
        doc: fields.text("doc")?,
    };
    if only_of("of", &[Kind::Choice])? {
        if let Some(key) = ["values", "value_docs"].iter().find(|key| fields.there(key)) {
            return Err(format!("{}: of and {key}: one of them is valid", fields.place));
        }
        let Enumeration { name, doc, values, value_docs } = enumerations.get(&fields.text("of")?, &fields.place)?;
        attribute.enumeration = Some((name, doc));
        (attribute.values, attribute.value_docs) = (values, value_docs);
    } else if only_of("values", &[Kind::Choice])? | only_of("value_docs", &[Kind::Choice])? || kind == Kind::Choice {
        (attribute.values, attribute.value_docs) = words(fields)?;
    }
    check_default(&attribute, default, &fields.place)?;
    Ok(attribute)
}

/// An attribute that is left out is 0, also in C and Go, so 0 must be its default or mean nothing else.
fn check_default(attribute: &Attribute, given: bool, place: &str) -> Result<(), String> {
    let Attribute { name, kind, required, range, default, .. } = attribute;
    let inside = |value: f64| range.is_none_or(|(least, most)| least <= value && value <= most);
    let shown = |value: f64| attribute.written(value);
    if *required {
        return match given {
            true => Err(format!("{place}: {name} is required and has a default: one of them is valid")),
            false => Ok(()),
        };
    }
    if matches!(kind, Kind::Type | Kind::Text | Kind::Group) {
        return Err(format!("{place}: {name} has no 0: required = true is valid"));
    }
    if !inside(*default) {
        return Err(format!("{place}: {name} is {} where it is left out, which its range has not", shown(*default)));
    }
    if range.is_some() && *default != 0.0 && inside(0.0) {
        let message = "0 is in its range, and stands for the default: required = true is valid, or another range";
        return Err(format!("{place}: {name}: {message}"));
    }
    match range {
        Some((least, most))
            if [least, most].iter().any(|bound| bound.is_finite() && bound.abs() > EXACT) && *kind != Kind::Number =>
        {
            Err(format!("{place}: {name}: its range goes beyond 2^53"))
        }
        _ => Ok(()),
    }
}

/// Numbers are 1, 2, 3 and so on without a gap, and no name occurs twice.
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

/// A parameter in Zig must not have the name of a function in the file.
fn check_arguments(families: &[Family]) -> Result<(), String> {
    let zig = Language::Zig;
    let ops = || families.iter().flat_map(|family| &family.ops).filter(|op| !op.by_hand);
    let functions: BTreeSet<String> = ops().map(|op| op.function(zig)).collect();
    for op in ops() {
        let operands = op.operands.iter().map(|o| zig.variable(&o.name, &o.names));
        let attributes = op.required().map(|a| zig.variable(&a.name, &a.names));
        if let Some(name) = operands.chain(attributes).find(|name| functions.contains(name)) {
            let advice = "give another, names = { zig = \"...\" }";
            return Err(format!("{FOLDER}: {}: {name:?} is an operation too, which Zig refuses: {advice}", op.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_no_functions_of_zig() {
        let named = |name: &str, more: &str| {
            let attribute = format!("{{ name = \"{name}\", kind = \"number\", required = true{more}, doc = \"it\" }}");
            let text =
                GOOD.replace("{ name = \"axes\", kind = \"integers\", length = [4, 4], doc = \"which\" }", &attribute);
            check_arguments(&[family("f", &text).unwrap()])
        };
        assert!(named("twice", "").unwrap_err().contains("twice: \"twice\" is an operation too"));
        assert!(named("twice", ", names = { zig = \"factor\" }").is_ok());
        assert!(named("factor", "").is_ok());
    }

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
        assert!(!op.by_hand && op.has_options() && op.since == "0.1");
        assert!(op.result.is_none() && op.operands[0].no_gradient.is_none() && !op.has_optional_operands());
        let result = GOOD.replace("gradient", "result = \"first operand's\"\ngradient");
        assert_eq!(super::family("f", &result).unwrap().ops[0].result.as_deref(), Some(OF_FIRST));
    }

    const A: &str = r#"{ name = "a", role = "read" }"#;

    fn operands(more: &str) -> Result<Vec<Operand>, String> {
        Ok(family("f", &GOOD.replace(A, more))?.ops.remove(0).operands)
    }

    #[test]
    fn operands_are_read() {
        let list = r#"{ name = "a", role = "written" }, { name = "b", role = "read", optional = true },
            { name = "other", role = "written", optional = true }, { name = "d", role = "indices", no_gradient = "they are numbers" }"#;
        let operands = operands(list).unwrap();
        assert_eq!(operands.iter().map(|o| o.optional).collect::<Vec<_>>(), [false, true, true, false]);
        assert_eq!(operands[3].no_gradient.as_deref(), Some("they are numbers"));
        assert!(!super::tests::operands(r#"{ name = "a", role = "read", optional = false }"#).unwrap()[0].optional);
    }

    #[test]
    fn wrong_operands_are_named() {
        let error = |more: &str| operands(more).unwrap_err();
        let second = |rest: &str| error(&format!("{A}, {{ name = \"b\", {rest} }}"));
        assert!(second(r#"role = "read", optional = 1"#).contains("operands[1]: optional is 1: true or false"));
        assert!(second(r#"role = "read", no_gradient = """#).contains("operands[1]: no_gradient is empty"));
        assert!(second(r#"role = "read", default = 1"#)
            .contains("no key \"default\": valid are name, role, optional, no_gradient"));
        assert!(second(r#"role = "indices""#).contains("b holds whole numbers: no_gradient = "));
        assert!(second(r#"role = "written", optional = true"#).contains("twice: the result is a view of b"));
        assert!(second(r#"role = "viewed", optional = true"#).contains("twice: the result is a view of b"));
        assert!(error(r#"{ name = "a", role = "read", optional = true }"#).contains("twice: a is the first operand"));
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
        assert!(error("gradient", "result = \"f16\"\ngradient").contains("one of first operand's, f32, i32, i64"));
        assert!(error("[4, 4]", "[4]").contains("[FEWEST, MOST]"));
        assert!(error("[4, 4]", "[4, 5]").contains("1 to 4 integers"));
        assert!(error("length = [4, 4], ", "").contains("length is missing"));
        assert!(error("\"axes\"", "\"a\"").contains("two operands or attributes are called \"a\""));
        assert!(error("\"2 a\"", "\"\"").contains("doc is empty"));
        assert!(error("operands = [{ name = \"a\", role = \"read\" }]", "").contains("an attribute must be required"));
        assert!(error("gradient", "signature = \"by feet\"\ngradient").contains("one of by hand"));
        assert!(family("f", "title = \"F\"").unwrap_err().contains("no operations"));
        assert!(error("title", "titel").contains("no title"));
        assert!(family("f", "[").unwrap_err().contains("f.toml"));
    }

    const AXES: &str = r#"{ name = "axes", kind = "integers", length = [4, 4], doc = "which" }"#;

    fn with(attribute: &str) -> Result<Attribute, String> {
        let mut family = family("f", &GOOD.replace(AXES, &format!("{{ {attribute}, doc = \"d\" }}")))?;
        Ok(family.ops[0].attributes.remove(0))
    }

    #[test]
    fn attributes_are_read() {
        let attribute = with(r#"name = "eps", kind = "number", range = [1e-9, 1], default = 1e-5"#).unwrap();
        assert_eq!((attribute.kind, attribute.range, attribute.default), (Kind::Number, Some((1e-9, 1.0)), 1e-5));
        assert_eq!((attribute.written(1e-5), attribute.written(1.0)), ("1e-5".into(), "1.0".into()));
        let attribute = with(r#"name = "stride", kind = "integer", range = [1, 99], default = 1"#).unwrap();
        assert_eq!((attribute.range, attribute.written(1.0)), (Some((1.0, 99.0)), "1".into()));
        let attribute = with(r#"name = "offset", kind = "integer", range = [0, inf]"#).unwrap();
        assert_eq!((attribute.range, attribute.valid()), (Some((0.0, f64::INFINITY)), Some("At least 0".into())));
        let attribute = with(r#"name = "ne", kind = "shape", required = true"#).unwrap();
        assert_eq!((attribute.length, attribute.valid()), ((1, 4), Some("Each at least 0".into())));
        let attribute = with(r#"name = "way", kind = "enum", values = ["forth", "back"]"#).unwrap();
        assert_eq!((attribute.kind, attribute.values), (Kind::Choice, vec!["forth".to_string(), "back".into()]));
        assert!(with(r#"name = "value", kind = "number", required = true, nan = true"#).unwrap().nan);
        assert_eq!(with(r#"name = "x", kind = "bool", names = { go = "ex" }"#).unwrap().names["go"], "ex");
    }

    #[test]
    fn wrong_attributes_are_named() {
        let error = |attribute: &str| with(attribute).unwrap_err();
        let number = |rest: &str| error(&format!(r#"name = "n", kind = "number", {rest}"#));
        let kinds = "bool, integer, integers, number, enum, type, text, shape, dims";
        assert!(error(r#"name = "n", kind = "word""#).contains(kinds));
        assert!(error(r#"name = "n", kind = "bool", range = [0, 1]"#).contains("range is not of Bool"));
        assert!(error(r#"name = "n", kind = "integer", nan = true"#).contains("nan is not of Integer"));
        assert!(error(r#"name = "n", kind = "integer", range = [0.5, 1]"#).contains("[LEAST, MOST]"));
        assert!(error(r#"name = "n", kind = "integer", default = 0.5"#).contains("default is 0.5"));
        assert!(error(r#"name = "n", kind = "enum""#).contains("values is missing"));
        assert!(error(r#"name = "n", kind = "enum", values = []"#).contains("a list of words"));
        assert!(error(r#"name = "n", kind = "enum", values = ["a", "a"]"#).contains("a value twice"));
        assert!(error(r#"name = "n", kind = "enum", values = ["A"]"#).contains("small letters"));
        assert!(error(r#"name = "n", kind = "enum", values = ["a", "b"], value_docs = ["it"]"#)
            .contains("1 value_docs of 2"));
        assert!(error(r#"name = "n", kind = "bool", value_docs = ["it"]"#).contains("value_docs is not of Bool"));
        assert!(error(r#"name = "n", kind = "bool", of = "it""#).contains("of is not of Bool"));
        assert!(error(r#"name = "n", kind = "enum", of = "it", values = ["a"]"#).contains("of and values: one of them"));
        assert!(error(r#"name = "n", kind = "type""#).contains("required = true"));
        assert!(number("range = [2, 1]").contains("[LEAST, MOST]"));
        assert!(number("range = [1, 2]").contains("n is 0.0 where it is left out"));
        assert!(number("range = [0, 2], default = 1").contains("stands for the default"));
        assert!(number("required = true, default = 1").contains("required and has a default"));
        assert!(number("names = { perl = \"n\" }").contains("no key \"perl\""));
        assert!(error(r#"name = "type", kind = "bool""#).contains("\"type\" is taken in Rust"));
        let open = r#"name = "n", kind = "integers", length = [1, 4]"#;
        assert!(error(open).contains("no fixed length: such functions are signature = \"by hand\""));
        assert!(
            error(r#"name = "ne", kind = "shape""#).contains("ne of kind shape: one is valid, with required = true")
        );
        assert!(error(r#"name = "ne", kind = "shape", range = [0, 1]"#).contains("range is not of Shape"));
        let many = (0..17).map(|i| format!("{{ name = \"n{i}\", kind = \"bool\", doc = \"d\" }}")).collect::<Vec<_>>();
        assert!(family("f", &GOOD.replace(AXES, &many.join(", "))).unwrap_err().contains("17 attributes: up to 16"));
    }

    #[test]
    fn dimensions_come_with_keep() {
        let dims = r#"{ name = "dims", kind = "dims", doc = "d" }"#;
        let op = |attributes: &str| family("f", &GOOD.replace(AXES, attributes)).map(|mut family| family.ops.remove(0));
        let good = op(&format!(r#"{dims}, {{ name = "keep", kind = "bool", doc = "d" }}"#)).unwrap();
        assert!(good.reduces() && good.attributes[0].default_text().as_deref() == Some("all"));
        assert_eq!(good.attributes[0].valid().as_deref(), Some("Each 0 to 3"));
        assert!(op(dims).unwrap_err().contains("twice: it has dimensions: valid optional attributes are dims"));
    }

    #[test]
    fn numbers_have_no_gap() {
        let numbered = |n: u64| family("f", &GOOD.replace("number = 1", &format!("number = {n}"))).unwrap();
        assert!(check_numbers(&[numbered(1)]).is_ok());
        assert!(check_numbers(&[numbered(2)]).unwrap_err().contains("1 is the next one"));
        assert!(check_numbers(&[numbered(1), numbered(2)]).unwrap_err().contains("twice is there twice"));
    }
}
