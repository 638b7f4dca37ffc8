//! What the templates see of the operations: names, texts and values in the terms of one language.

use serde::{Deserialize, Serialize};

use crate::description::{Attribute, Family, Kind, Op, Operand};
use crate::names::{camel, Language};
use crate::text::Prose;

/// The comment of a function.
#[derive(Deserialize, Serialize)]
pub struct Comment {
    pub paragraphs: Vec<String>,
    pub points: Vec<String>,
}

#[derive(Serialize)]
pub struct OpModel {
    pub name: String,
    /// `name` as `Name`.
    pub camel: String,
    pub number: u64,
    pub by_hand: bool,
    pub since: String,
    pub doc: String,
    pub gradient: String,
    /// How many results it has.
    pub n_results: usize,
    /// The result's type as the engine calls it; none if the description has it in words.
    pub result: Option<String>,
    /// The function's name.
    pub function: String,
    pub comment: Comment,
    pub example: Vec<String>,
    pub operands: Vec<OperandModel>,
    /// The operand that computing writes into.
    pub overwritten: Option<String>,
    pub has_optional_operands: bool,
    /// Whether it has dimensions that the caller selects.
    pub reduces: bool,
    /// Whether it makes nodes of other operations.
    pub composed: bool,
    /// Whether the last operand may be given several times.
    pub repeats_last: bool,
    pub attributes: Vec<AttributeModel>,
    pub required: Vec<AttributeModel>,
    /// Those in a struct of options.
    pub optional: Vec<AttributeModel>,
}

#[derive(Serialize)]
pub struct OperandModel {
    pub name: String,
    pub variable: String,
    pub role: String,
    pub optional: bool,
    pub no_gradient: Option<String>,
}

#[derive(Clone, Serialize)]
pub struct AttributeModel {
    pub name: String,
    /// Its name in the language, and that in C.
    pub variable: String,
    pub c_variable: String,
    /// The key of its kind in descriptions.
    pub kind: &'static str,
    pub fewest: u64,
    pub most: u64,
    pub required: bool,
    pub nan: bool,
    /// The bounds of its values, unless they are infinite, and the default.
    pub least: Option<String>,
    pub greatest: Option<String>,
    pub default: String,
    /// Its description in sentences.
    pub doc: String,
    /// For a choice: the type of the language, that of C, and the words.
    pub choice: Option<Choice>,
}

#[derive(Clone, Serialize)]
pub struct Choice {
    pub name: String,
    pub c_name: String,
    /// The engine's array of the words.
    pub values_name: String,
    pub doc: String,
    /// Whether the operation is the first with this type.
    pub declared: bool,
    /// Whether the description says what each word means.
    pub explained: bool,
    pub values: Vec<ChoiceValue>,
}

#[derive(Clone, Serialize)]
pub struct ChoiceValue {
    pub name: String,
    pub camel: String,
    pub constant: String,
    pub doc: String,
}

#[derive(Serialize)]
pub struct FamilyModel {
    pub name: String,
    pub ops: Vec<OpModel>,
}

/// Whether any of some operations uses a feature: what a file includes depends on it.
#[derive(Serialize)]
pub struct Uses {
    pub attributes: bool,
    pub options: bool,
    pub optional_operands: bool,
    pub integers: bool,
    pub required_integers: bool,
    pub shapes: bool,
    pub dims: bool,
    pub r#type: bool,
    pub required_type: bool,
    pub groups: bool,
}

impl Uses {
    pub fn of(ops: &[&OpModel]) -> Self {
        let any = |found: &dyn Fn(&AttributeModel) -> bool| ops.iter().any(|op| op.attributes.iter().any(found));
        Self {
            attributes: any(&|_| true),
            options: any(&|a| !a.required),
            optional_operands: ops.iter().any(|op| op.has_optional_operands),
            integers: any(&|a| a.kind == "integers"),
            required_integers: any(&|a| a.kind == "integers" && a.required),
            shapes: any(&|a| a.kind == "shape"),
            dims: any(&|a| a.kind == "dims"),
            r#type: any(&|a| a.kind == "type"),
            required_type: any(&|a| a.kind == "type" && a.required),
            groups: any(&|a| a.kind == "group"),
        }
    }
}

/// All families in the terms of a language.
pub fn families(families: &[Family], language: Language) -> Vec<FamilyModel> {
    let prose = Prose { language, families };
    let model = |family: &Family| FamilyModel {
        name: family.name.clone(),
        ops: family.ops.iter().map(|op| op_model(op, &prose)).collect(),
    };
    families.iter().map(model).collect()
}

fn op_model(op: &Op, prose: &Prose) -> OpModel {
    let attributes: Vec<AttributeModel> = op.attributes.iter().map(|a| attribute_model(op, a, prose)).collect();
    let some = |required: bool| attributes.iter().filter(|a| a.required == required).cloned().collect();
    // In these languages, one argument has both optional attributes.
    let joined = op.reduces() && matches!(prose.language, Language::Rust | Language::Go);
    let overwritten = op.target().filter(|target| target.role == "written");
    OpModel {
        name: op.name.clone(),
        camel: camel(&op.name),
        number: op.number,
        by_hand: op.by_hand,
        since: op.since.clone(),
        doc: bare(&op.doc),
        gradient: bare(&op.gradient),
        n_results: 1 + op.results.len(),
        result: op.result.as_deref().map(|result| result.replace(crate::description::OF_FIRST, "of_first")),
        function: op.function(prose.language),
        comment: prose.comment(op),
        example: op.example_rust.iter().flat_map(|example| example.lines().map(String::from)).collect(),
        operands: op.operands.iter().map(|operand| operand_model(operand, prose.language)).collect(),
        overwritten: overwritten.map(|target| prose.language.variable(&target.name, &target.names)),
        has_optional_operands: op.operands.iter().any(|operand| operand.optional),
        reduces: op.reduces(),
        composed: op.is_composed(),
        repeats_last: op.repeats_last,
        required: some(true),
        optional: if joined { Vec::new() } else { some(false) },
        attributes,
    }
}

fn operand_model(operand: &Operand, language: Language) -> OperandModel {
    OperandModel {
        name: operand.name.clone(),
        variable: language.variable(&operand.name, &operand.names),
        role: operand.role.clone(),
        optional: operand.optional,
        no_gradient: operand.no_gradient.as_deref().map(bare),
    }
}

fn attribute_model(op: &Op, attribute: &Attribute, prose: &Prose) -> AttributeModel {
    let bound = |value: f64| Some(attribute.written(value)).filter(|_| value.is_finite());
    AttributeModel {
        name: attribute.name.clone(),
        variable: prose.language.variable(&attribute.name, &attribute.names),
        c_variable: Language::C.variable(&attribute.name, &attribute.names),
        kind: attribute.kind.key(),
        fewest: attribute.length.0,
        most: attribute.length.1,
        required: attribute.required,
        nan: attribute.nan,
        least: attribute.range.and_then(|(least, _)| bound(least)),
        greatest: attribute.range.and_then(|(_, greatest)| bound(greatest)),
        default: attribute.written(attribute.default),
        doc: prose.member(op, attribute),
        choice: (attribute.kind == Kind::Choice).then(|| choice(op, attribute, prose)),
    }
}

fn choice(op: &Op, attribute: &Attribute, prose: &Prose) -> Choice {
    let c_name = format!("tl_{}_{}", op.name, attribute.name);
    let value = |(number, value): (usize, &String)| ChoiceValue {
        name: value.clone(),
        camel: camel(value),
        constant: format!("{c_name}_{value}").to_ascii_uppercase(),
        doc: prose.value(op, attribute, number),
    };
    Choice {
        name: match &attribute.enumeration {
            Some((name, _)) => camel(name),
            None => camel(&op.name) + &camel(&attribute.name),
        },
        values_name: match &attribute.enumeration {
            Some((name, _)) => format!("{name}_values"),
            None => format!("{}_{}_values", op.name, attribute.name),
        },
        declared: declared(op, attribute, prose),
        doc: prose.choice(op, attribute),
        explained: !attribute.value_docs.is_empty(),
        values: attribute.values.iter().enumerate().map(value).collect(),
        c_name,
    }
}

/// Whether the operation is the first with the attribute's enumeration.
fn declared(op: &Op, attribute: &Attribute, prose: &Prose) -> bool {
    let has = |op: &&Op| op.attributes.iter().any(|a| a.enumeration == attribute.enumeration);
    let first = prose.families.iter().flat_map(|family| &family.ops).find(has);
    attribute.enumeration.is_none() || first.is_some_and(|first| first.name == op.name)
}

/// A text without the marks around names.
fn bare(text: &str) -> String {
    text.replace('`', "")
}
