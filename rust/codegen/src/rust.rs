//! Rust: methods of Context and of Tensor, and the runner's lines.

use std::fmt::Write;

use crate::cpp::choice_name;
use crate::description::{Attribute, Family, Kind, Op, Operand};
use crate::names::{camel, Language};
use crate::text::{listed, wrapped, Prose};
use crate::{generated, HEAD};

const WIDTH: usize = 120;
const INVALID: &str = "[`Error::InvalidArgument`](crate::Error::InvalidArgument)";

/// `rust/tensorlib/src/gen/op_functions.rs`.
pub fn methods(families: &[Family]) -> String {
    let prose = Prose { language: Language::Rust, families };
    let mut text =
        format!("//! A method for each operation. {HEAD}.\n\nuse crate::ops::HELPERS;\n").replace("..\n", ".\n");
    let optional = generated(families).any(Op::has_optional_operands);
    text = text.replace("HELPERS", if optional { "{raw_or_none, shapes, youngest}" } else { "shapes" });
    let types = generated(families).any(|op| op.attributes.iter().any(|a| a.kind == Kind::Type));
    let types = if types { "Context, DType, Result, Tensor" } else { "Context, Result, Tensor" };
    let _ = writeln!(text, "use crate::{{{types}}};\nuse tensorlib_sys as sys;");
    for op in generated(families) {
        text += &choices(op, &prose);
        text += &options(op, &prose);
    }
    text += "\nimpl Context {\n";
    let methods: Vec<String> = generated(families).map(|op| context_method(op, &prose)).collect();
    text += &methods.join("\n");
    text += "}\n\n/// The operations of [`Context`]. The node is made in the context of the operands, or in the youngest if these differ.\n";
    text += "impl Tensor {\n";
    let methods: Vec<String> = generated(families).filter(|op| !op.operands.is_empty()).map(tensor_method).collect();
    text + &methods.join("\n") + "}\n"
}

fn choices(op: &Op, prose: &Prose) -> String {
    let mut text = String::new();
    for attribute in op.attributes.iter().filter(|a| a.kind == Kind::Choice) {
        text += &format!("\n{}", wrapped(&format!("The {}", prose.choice(op, attribute)), "/// ", WIDTH));
        text += "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[non_exhaustive]\n";
        let _ = writeln!(text, "pub enum {} {{", choice_name(op, &attribute.name));
        for (number, value) in attribute.values.iter().enumerate() {
            let constant = format!("tl_{}_{}_{value}", op.name, attribute.name).to_ascii_uppercase();
            text += &wrapped(&prose.value(op, attribute, number), "    /// ", WIDTH);
            let _ = writeln!(text, "    {} = sys::{constant} as isize,", camel(value));
        }
        text += "}\n";
    }
    text
}

fn options(op: &Op, prose: &Prose) -> String {
    if !op.has_options() {
        return String::new();
    }
    let (name, raw) = (format!("{}Options", camel(&op.name)), format!("tl_{}_params", op.name));
    let mut zeros = vec![format!("struct_size: size_of::<sys::{raw}>()")];
    let mut setters = Vec::new();
    for attribute in op.optional() {
        let (setter, member) = (variable(attribute), Language::C.variable(&attribute.name, &attribute.names));
        zeros.push(match attribute.kind {
            Kind::Bool => format!("{member}: false"),
            Kind::Number => format!("{member}: 0.0"),
            Kind::Integers => format!("{member}: [0; {}]", attribute.length.1),
            _ => format!("{member}: 0"),
        });
        let doc = wrapped(&prose.member(op, attribute), "    /// ", WIDTH);
        let (given, value) = (type_of(op, attribute), raw_value(attribute, &setter));
        setters.push(format!(
            "{doc}    #[must_use]\n    pub fn {setter}(mut self, {setter}: {given}) -> Self {{\n        self.raw.{member} = {value};\n        self\n    }}\n"
        ));
    }
    let zeros = format!("        let raw = sys::{raw} {{ {} }};", zeros.join(", "));
    format!(
        "
/// Optional attributes of [`Context::{function}`].
#[derive(Clone, Copy, Debug)]
pub struct {name} {{
    raw: sys::{raw},
}}

impl Default for {name} {{
    fn default() -> Self {{
{zeros}
        Self {{ raw }}
    }}
}}

impl {name} {{
    /// All defaults.
    #[must_use]
    pub fn new() -> Self {{
        Self::default()
    }}

{setters}}}
",
        function = op.function(Language::Rust),
        setters = setters.join("\n")
    )
}

fn variable(attribute: &Attribute) -> String {
    Language::Rust.variable(&attribute.name, &attribute.names)
}

fn operands(op: &Op) -> Vec<String> {
    op.operands.iter().map(|o| Language::Rust.variable(&o.name, &o.names)).collect()
}

/// The operands as parameters with their types.
fn typed_operands(op: &Op) -> Vec<String> {
    let typed = |(operand, name): (&Operand, String)| match operand.optional {
        true => format!("{name}: Option<&Tensor>"),
        false => format!("{name}: &Tensor"),
    };
    op.operands.iter().zip(operands(op)).map(typed).collect()
}

/// An operand in a list in which some may be left out.
fn given(operand: &Operand, name: &str) -> String {
    if operand.optional {
        return name.into();
    }
    format!("Some({name})")
}

fn type_of(op: &Op, attribute: &Attribute) -> String {
    match attribute.kind {
        Kind::Bool => "bool".into(),
        Kind::Integer => "i64".into(),
        Kind::Number => "f64".into(),
        Kind::Type => "DType".into(),
        Kind::Choice => choice_name(op, &attribute.name),
        Kind::Integers => format!("[i64; {}]", attribute.length.1),
    }
}

/// The expression that C takes.
fn raw_value(attribute: &Attribute, value: &str) -> String {
    match attribute.kind {
        Kind::Type => format!("{value}.raw()"),
        Kind::Choice => format!("{value} as i32"),
        _ => value.into(),
    }
}

/// All parameters except the operands: with their types, and their names.
fn rest(op: &Op) -> (Vec<String>, Vec<String>) {
    let mut typed: Vec<String> = op.required().map(|a| format!("{}: {}", variable(a), type_of(op, a))).collect();
    let mut names: Vec<String> = op.required().map(variable).collect();
    if op.has_options() {
        typed.push(format!("options: {}Options", camel(&op.name)));
        names.push("options".into());
    }
    (typed, names)
}

/// The attribute that clippy requires for more than seven parameters.
fn many_arguments(parameters: &[String]) -> &'static str {
    if parameters.len() > 7 {
        return "    #[allow(clippy::too_many_arguments)]\n";
    }
    ""
}

fn context_method(op: &Op, prose: &Prose) -> String {
    let operands = operands(op);
    let mut text = prose.comment(op, "    /// ", WIDTH);
    if let Some(example) = &op.example_rust {
        text += "    ///\n    /// ```\n";
        for line in example.lines() {
            text += &format!("    /// {line}\n").replace("/// \n", "///\n");
        }
        text += "    /// ```\n";
    }
    text += "    ///\n    /// # Errors\n";
    let mut errors = Vec::new();
    if let Some(target) = op.target().filter(|target| target.role == "written") {
        let target = Language::Rust.variable(&target.name, &target.names);
        errors.push(format!("if `{target}` is constant, or shares memory with itself or with another operand"));
    }
    if !op.attributes.is_empty() {
        errors.push("if an attribute is out of range".into());
    }
    let errors = if errors.is_empty() { String::new() } else { format!(" {INVALID} {}.", errors.join(", and ")) };
    text += &wrapped(&format!("Those of [`Context::op`].{errors}"), "    /// ", WIDTH);
    let mut parameters = vec!["&self".to_string()];
    parameters.extend(typed_operands(op));
    parameters.extend(rest(op).0);
    text += many_arguments(&parameters);
    let head = format!("pub fn {}(", op.function(Language::Rust));
    let _ = writeln!(text, "{}", listed("    ", &head, &parameters, ") -> Result<Tensor> {", WIDTH));
    let mut arguments = vec!["ctx".to_string()];
    arguments.extend(op.operands.iter().zip(&operands).map(|(operand, name)| match operand.optional {
        true => format!("raw_or_none({name})"),
        false => format!("{name}.raw()"),
    }));
    arguments.extend(op.required().map(|a| match a.kind {
        Kind::Integers => format!("{}.as_ptr()", variable(a)),
        _ => raw_value(a, &variable(a)),
    }));
    if op.has_options() {
        arguments.push("&options.raw".into());
    }
    let listed_operands: Vec<String> = match op.has_optional_operands() {
        true => op.operands.iter().zip(&operands).map(|(operand, name)| given(operand, name)).collect(),
        false => operands.clone(),
    };
    let shapes = match op.operands.is_empty() {
        true => "Vec::new".to_string(),
        false => format!("|| shapes(&[{}])", listed_operands.join(", ")),
    };
    let safety = match op.attributes.is_empty() {
        _ if op.operands.is_empty() => "// SAFETY: the context is live.",
        true => "// SAFETY: context and operands are live.",
        false => "// SAFETY: context and operands are live; what is pointed to lives for the call.",
    };
    let call = format!("sys::tl_{}({})", op.name, arguments.join(", "));
    // rustfmt breaks the lines, but does not move comments.
    let line = format!("        self.construct({shapes}, |ctx| unsafe {{ {call} }})");
    if line.chars().count() <= WIDTH {
        let _ = writeln!(text, "        {safety}\n{line}");
    } else {
        let _ = writeln!(text, "        self.construct(\n{shapes},\n{safety}\n|ctx| unsafe {{ {call} }},\n)");
    }
    text + "    }\n"
}

fn tensor_method(op: &Op) -> String {
    let name = op.function(Language::Rust);
    let operands = operands(op);
    let mut text = format!(
        "    /// [`Context::{name}`] of this tensor.\n    ///\n    /// # Errors\n    /// Those of [`Context::{name}`].\n"
    );
    if let (Some(first), true) = (operands.first(), operands.len() > 1) {
        text = text.replace("of this tensor", &format!("with this tensor as `{first}`"));
    }
    let (typed, names) = rest(op);
    let mut parameters = vec!["&self".to_string()];
    parameters.extend(typed_operands(op).split_off(1));
    parameters.extend(typed);
    text += many_arguments(&parameters);
    let _ =
        writeln!(text, "{}", listed("    ", &format!("pub fn {name}("), &parameters, ") -> Result<Tensor> {", WIDTH));
    let others = || op.operands[1..].iter().zip(&operands[1..]).map(|(operand, name)| given(operand, name));
    let context = match &operands[1..] {
        _ if op.has_optional_operands() => format!("youngest(self, &[{}])", others().collect::<Vec<_>>().join(", ")),
        [] => "self.context()".to_string(),
        [second, more @ ..] => {
            let more: String = more.iter().map(|name| format!(".younger({name}.context())")).collect();
            format!("self.with({second}){more}")
        }
    };
    let arguments = [vec!["self".to_string()], operands[1..].to_vec(), names].concat().join(", ");
    let line = format!("        {context}.{name}({arguments})");
    if line.chars().count() <= WIDTH {
        return text + &line + "\n    }\n";
    }
    let context = if op.has_optional_operands() { context } else { format!("{context}.clone()") };
    text + &format!("        let context = {context};\n        context.{name}({arguments})\n    }}\n")
}

/// `rust/tensorlib/tests/gen/case_ops.rs`.
pub fn cases(families: &[Family]) -> String {
    let mut text =
        format!("//! The operations of the cases by their methods. {HEAD}\n\nuse crate::case_attrs::{{CaseAttrs, CaseOperands}};\n");
    text += "use tensorlib::{Result, Tensor};\n";
    let attrs = if generated(families).any(|op| !op.attributes.is_empty()) { "attrs" } else { "_attrs" };
    text += "\n/// None where it is none of these.\n";
    let _ = writeln!(
        text,
        "pub fn build(op: &str, s: &CaseOperands, {attrs}: &CaseAttrs) -> Option<Result<Tensor>> {{\n    Some(match op {{"
    );
    for op in generated(families) {
        let name = op.function(Language::Rust);
        let operand = |(i, operand): (usize, &Operand)| match operand.optional {
            true => format!("s.if_given({i})"),
            false => format!("&s[{i}]"),
        };
        let mut arguments: Vec<String> = op.operands.iter().enumerate().skip(1).map(operand).collect();
        if op.attributes.is_empty() {
            let _ = writeln!(text, "        \"{}\" => s[0].{name}({}),", op.name, arguments.join(", "));
            continue;
        }
        let _ = writeln!(text, "        \"{}\" => {{", op.name);
        for attribute in op.required() {
            let _ = writeln!(text, "            let {} = {};", variable(attribute), case_value(op, attribute));
            arguments.push(variable(attribute));
        }
        if op.has_options() {
            let _ = writeln!(text, "            let options = tensorlib::{}Options::new();", camel(&op.name));
            for attribute in op.optional() {
                let (setter, value) = (variable(attribute), case_value(op, attribute));
                if attribute.kind == Kind::Choice {
                    let _ = writeln!(text, "            let {setter} = {value};");
                }
                let value = if attribute.kind == Kind::Choice { setter.clone() } else { value };
                let _ = writeln!(text, "            let options = options.{setter}({value});");
            }
            arguments.push("options".into());
        }
        let of = if op.operands.is_empty() { "s.context" } else { "s[0]" };
        let call = listed("            ", &format!("{of}.{name}("), &arguments, ")", WIDTH);
        let _ = writeln!(text, "{call}\n        }}");
    }
    text + "        _ => return None,\n    })\n}\n"
}

fn case_value(op: &Op, attribute: &Attribute) -> String {
    let name = &attribute.name;
    match attribute.kind {
        Kind::Bool => format!("attrs.integer(\"{name}\") != 0"),
        Kind::Integer => format!("attrs.integer(\"{name}\")"),
        Kind::Number => format!("attrs.number(\"{name}\")"),
        Kind::Type => format!("attrs.dtype(\"{name}\")"),
        Kind::Choice => {
            let mut text = format!("match attrs.text(\"{name}\") {{\n");
            for (i, value) in attribute.values.iter().enumerate() {
                // The first word is the default.
                let absent = if i == 0 { "\"\" | " } else { "" };
                let choice = format!("tensorlib::{}::{}", choice_name(op, name), camel(value));
                let _ = writeln!(text, "                {absent}\"{value}\" => {choice},");
            }
            text + &format!(
                "                other => panic!(\"{name}: {{other}} is none of its words\"),\n            }}"
            )
        }
        Kind::Integers => format!("attrs.list(\"{name}\")"),
    }
}
