//! C++: free functions, methods of Context and Tensor, and the runner's lines.

use std::fmt::Write;

use crate::cpp::choice_name;
use crate::description::{Attribute, Family, Kind, Op, Operand};
use crate::names::{camel, Language};
use crate::text::{aligned, wrapped, Prose};
use crate::{generated, HEAD};

const WIDTH: usize = 140;

/// `cpp/include/tensorlib/gen/op_functions.hpp`.
pub fn header(families: &[Family]) -> String {
    let prose = Prose { language: Language::Cpp, families };
    let mut text = format!("// A function for each operation; tensorlib.hpp includes this. {HEAD}\n");
    text += "#pragma once\n\n#include <cstdint>\n";
    if generated(families).any(|op| op.attributes.iter().any(|a| a.kind == Kind::Integers)) {
        text = text.replace("#include <cstdint>", "#include <array>\n#include <cstdint>");
    }
    if generated(families).any(Op::has_optional_operands) {
        text += "#include <optional>\n";
    }
    text += "\nnamespace tensorlib {\n\nclass Tensor;\nenum class Type : std::int32_t;\n";
    for op in generated(families) {
        text += &choices(op, &prose);
        text += &options(op, &prose);
    }
    text += "\n// Methods of Context: the free functions of the same names, but the node is made in this context. So a node of one request can
// have operands in the context of a model.
class ContextOps {
public:
";
    for op in generated(families) {
        // For other operations the free function has the description.
        if op.operands.is_empty() {
            text += &prose.comment(op, "    // ", WIDTH);
        }
        let _ = writeln!(
            text,
            "{}",
            aligned(&format!("    Tensor {}(", op.function(Language::Cpp)), &parameters(op, true), ") const;", WIDTH)
        );
    }
    text += "};\n\n// Methods of Tensor: the free functions of one operand.\nclass TensorOps {\npublic:\n";
    for op in unary(families) {
        let arguments = &parameters(op, true)[1..];
        let _ = writeln!(
            text,
            "{}",
            aligned_or_empty(&format!("    Tensor {}(", op.function(Language::Cpp)), arguments, ") const;")
        );
    }
    text += "};\n\n// A node is made in the context of its operands. If these are in several contexts, it is made in the youngest: see Tensor.\n";
    for op in of_operands(families) {
        text += &prose.comment(op, "// ", WIDTH);
        let _ = writeln!(
            text,
            "{}",
            aligned(&format!("Tensor {}(", op.function(Language::Cpp)), &parameters(op, true), ");", WIDTH)
        );
    }
    text + "\n}  // namespace tensorlib\n"
}

/// The operations that find their context by an operand.
fn of_operands(families: &[Family]) -> impl Iterator<Item = &Op> {
    generated(families).filter(|op| !op.operands.is_empty())
}

fn unary(families: &[Family]) -> impl Iterator<Item = &Op> {
    generated(families).filter(|op| op.operands.len() == 1)
}

fn aligned_or_empty(head: &str, arguments: &[String], tail: &str) -> String {
    if arguments.is_empty() {
        return format!("{head}{tail}");
    }
    aligned(head, arguments, tail, WIDTH)
}

fn choices(op: &Op, prose: &Prose) -> String {
    let mut text = String::new();
    for attribute in op.attributes.iter().filter(|a| a.kind == Kind::Choice) {
        text += &format!("\n{}", wrapped(&format!("The {}", prose.choice(op, attribute)), "// ", WIDTH));
        let name = choice_name(op, &attribute.name);
        if attribute.value_docs.is_empty() {
            let _ = writeln!(text, "enum class {name} : std::int32_t {{ {} }};", attribute.values.join(", "));
            continue;
        }
        let _ = writeln!(text, "enum class {name} : std::int32_t {{");
        for (number, value) in attribute.values.iter().enumerate() {
            let _ = writeln!(text, "{}    {value},", wrapped(&prose.value(op, attribute, number), "    // ", WIDTH));
        }
        text += "};\n";
    }
    text
}

fn options(op: &Op, prose: &Prose) -> String {
    if !op.has_options() {
        return String::new();
    }
    let mut text = format!(
        "\n// Optional attributes of {}().\nstruct {}Options {{\n",
        op.function(Language::Cpp),
        camel(&op.name)
    );
    for attribute in op.optional() {
        text += &wrapped(&prose.member(op, attribute), "    // ", WIDTH);
        let default = match attribute.kind {
            Kind::Bool => " = false".into(),
            Kind::Integers => "{}".into(),
            Kind::Choice => format!(" = {}::{}", choice_name(op, &attribute.name), attribute.values[0]),
            _ => format!(" = {}", attribute.written(attribute.default)),
        };
        let _ = writeln!(text, "    {} {}{default};", type_of(op, attribute), variable(attribute));
    }
    text + "};\n"
}

fn variable(attribute: &Attribute) -> String {
    Language::Cpp.variable(&attribute.name, &attribute.names)
}

fn operands(op: &Op) -> Vec<String> {
    op.operands.iter().map(|o| Language::Cpp.variable(&o.name, &o.names)).collect()
}

/// The operands' addresses; null for one that is left out.
fn addresses(op: &Op) -> String {
    let address = |(operand, name): (&Operand, String)| match operand.optional {
        true => format!("if_given({name})"),
        false => format!("&{name}"),
    };
    op.operands.iter().zip(operands(op)).map(address).collect::<Vec<_>>().join(", ")
}

fn type_of(op: &Op, attribute: &Attribute) -> String {
    match attribute.kind {
        Kind::Bool => "bool".into(),
        Kind::Integer => "std::int64_t".into(),
        Kind::Number => "double".into(),
        Kind::Type => "Type".into(),
        Kind::Choice => choice_name(op, &attribute.name),
        Kind::Integers => format!("std::array<std::int64_t, {}>", attribute.length.1),
    }
}

fn parameters(op: &Op, declared: bool) -> Vec<String> {
    let type_of_operand = |o: &Operand| if o.optional { "std::optional<Tensor>" } else { "Tensor" };
    let typed = |(operand, name)| format!("const {} &{name}", type_of_operand(operand));
    let mut all: Vec<String> = op.operands.iter().zip(operands(op)).map(typed).collect();
    for attribute in op.required() {
        let reference = if attribute.kind == Kind::Integers { "const " } else { "" };
        let by = if attribute.kind == Kind::Integers { "&" } else { "" };
        all.push(format!("{reference}{} {by}{}", type_of(op, attribute), variable(attribute)));
    }
    if op.has_options() {
        let default = if declared { " = {}" } else { "" };
        all.push(format!("const {}Options &options{default}", camel(&op.name)));
    }
    all
}

/// `cpp/api/gen/op_functions.cpp`.
pub fn definitions(families: &[Family]) -> String {
    let mut text = format!("// What op_functions.hpp declares. {HEAD}\n");
    text += "#include \"api/handles.hpp\"\n#include \"ops/op_def.hpp\"\n\nnamespace tensorlib {\n";
    for op in generated(families) {
        text += &method(op);
    }
    for op in of_operands(families) {
        text += &free(op);
    }
    for op in unary(families) {
        let name = op.function(Language::Cpp);
        let parameters = parameters(op, false);
        let arguments = [vec!["*this".to_string()], rest(op)].concat().join(", ");
        let head = format!("Tensor TensorOps::{name}(");
        let body = format!(
            "return tensorlib::{name}(static_cast<const Tensor &>({}",
            arguments.replacen("*this", "*this)", 1)
        );
        text += &function(&aligned_or_empty(&head, &parameters[1..], ") const"), &format!("{body});"));
    }
    text + "\n}  // namespace tensorlib\n"
}

/// A function in one line if it fits.
fn function(head: &str, body: &str) -> String {
    let line = format!("{head} {{ {body} }}");
    if line.chars().count() <= WIDTH && !line.contains('\n') {
        return format!("\n{line}\n");
    }
    format!("\n{head} {{\n    {body}\n}}\n")
}

/// The names of all parameters except the operands.
fn rest(op: &Op) -> Vec<String> {
    let mut names: Vec<String> = op.required().map(variable).collect();
    if op.has_options() {
        names.push("options".into());
    }
    names
}

fn method(op: &Op) -> String {
    let head = aligned(
        &format!("Tensor ContextOps::{}(", op.function(Language::Cpp)),
        &parameters(op, false),
        ") const",
        WIDTH,
    );
    let (name, addresses) = (&op.name, addresses(op));
    if op.attributes.is_empty() {
        return function(&head, &format!("return Nodes::make(*this, core::Op::{name}, {{{addresses}}});"));
    }
    let mut text = format!("\n{head} {{\n    const core::Attr attrs[] = {{\n");
    for attribute in &op.attributes {
        let (key, from) = (&attribute.name, variable(attribute));
        let from = if attribute.required { from } else { format!("options.{from}") };
        let made = match attribute.kind {
            Kind::Number => format!("core::Attr::of_number(\"{key}\", {from})"),
            Kind::Type => format!("core::Attr::of_text(\"{key}\", type_name({from}))"),
            Kind::Choice => format!("core::Attr::of_int(\"{key}\", static_cast<std::int64_t>({from}))"),
            Kind::Integers => format!("core::Attr::of_ints(\"{key}\", {from})"),
            _ => format!("core::Attr::of_int(\"{key}\", {from})"),
        };
        let _ = writeln!(text, "        {made},");
    }
    let _ = writeln!(text, "    }};\n    return Nodes::make(*this, core::Op::{name}, {{{addresses}}}, attrs);\n}}");
    text
}

fn free(op: &Op) -> String {
    let name = op.function(Language::Cpp);
    let addresses = addresses(op);
    let arguments = [operands(op), rest(op)].concat().join(", ");
    let head = aligned(&format!("Tensor {name}("), &parameters(op, false), ")", WIDTH);
    function(&head, &format!("return Nodes::youngest_of({{{addresses}}}).{name}({arguments});"))
}

/// `tests/cpp/gen/case_ops.hpp`.
pub fn cases(families: &[Family]) -> String {
    let mut text = format!("// The operations of the cases by their functions. {HEAD}\n");
    text += "#pragma once\n\n#include \"case_attrs.hpp\"\n\n#include <optional>\n#include <string>\n\n";
    text += "// Nothing where it is none of these. One operand: by Tensor's method.\n";
    let head = "inline std::optional<tl::Tensor> case_op(";
    let parameters = ["const std::string &op", "const CaseOperands &s", "const CaseAttrs &attrs"].map(String::from);
    let _ = writeln!(text, "{}", aligned(head, &parameters, ") {", WIDTH));
    for op in generated(families) {
        text += &case(op);
    }
    if !generated(families).any(|op| !op.attributes.is_empty()) {
        text += "    (void)attrs;\n";
    }
    text + "    return std::nullopt;\n}\n"
}

fn case(op: &Op) -> String {
    let name = op.function(Language::Cpp);
    let operand =
        |(i, operand): (usize, &Operand)| format!("s.{}({i})", if operand.optional { "at_if_given" } else { "at" });
    let mut arguments: Vec<String> = op.operands.iter().enumerate().map(operand).collect();
    arguments.extend(op.required().map(|attribute| case_value(op, attribute)));
    if op.has_options() {
        arguments.push("options".into());
    }
    let call = match op.operands.len() {
        0 => aligned(&format!("        return s.context().{name}("), &arguments, ");", WIDTH),
        1 => aligned_or_empty(&format!("        return s.at(0).{name}("), &arguments[1..], ");"),
        _ => aligned(&format!("        return tl::{name}("), &arguments, ");", WIDTH),
    };
    let line = format!("    if (op == \"{}\") {}\n", op.name, call.trim_start());
    if !op.has_options() && line.chars().count() <= WIDTH && !call.contains('\n') {
        return line;
    }
    let mut text = format!("    if (op == \"{}\") {{\n", op.name);
    if op.has_options() {
        let _ = writeln!(text, "        tl::{}Options options;", camel(&op.name));
    }
    for attribute in op.optional() {
        let _ = writeln!(text, "        options.{} = {};", variable(attribute), case_value(op, attribute));
    }
    text + &call + "\n    }\n"
}

fn case_value(op: &Op, attribute: &Attribute) -> String {
    let name = &attribute.name;
    match attribute.kind {
        Kind::Bool => format!("attrs.integer(\"{name}\") != 0"),
        Kind::Integer => format!("attrs.integer(\"{name}\")"),
        Kind::Number => format!("attrs.number(\"{name}\")"),
        Kind::Type => format!("tl::type_from_name(attrs.text(\"{name}\"))"),
        Kind::Choice => {
            let values = attribute.values.join("\", \"");
            format!("static_cast<tl::{}>(attrs.choice(\"{name}\", {{\"{values}\"}}))", choice_name(op, name))
        }
        Kind::Integers => format!("attrs.list<{}>(\"{name}\")", attribute.length.1),
    }
}
