//! The engine's tables of operations.

use std::fmt::Write;

use crate::description::{Attribute, Family, Kind, Op, Operand, FOLDER, OF_FIRST};
use crate::names::camel;

/// clang-format's limit, which breaks longer texts.
const WIDTH: usize = 140;

/// `cpp/graph/gen/op_list.inc`: names and numbers.
pub fn list(families: &[Family]) -> String {
    let mut ops: Vec<&Op> = families.iter().flat_map(|family| &family.ops).collect();
    ops.sort_by_key(|op| op.number);
    let mut text = format!(
        "// Every operation, once: TL_OP(name, number). The numbers are stable; 0 is a leaf, which no operation makes.\n\
         // Written by `cargo xtask ops` from {FOLDER}/*.toml.\n"
    );
    for op in ops {
        let _ = writeln!(text, "TL_OP({}, {})", op.name, op.number);
    }
    text
}

/// `cpp/ops/gen/op_facts.hpp`: the facts of an operation, for the code that defines its computation.
pub fn facts(families: &[Family]) -> String {
    let mut text = format!(
        "// What the operations are. Written by `cargo xtask ops` from {FOLDER}/*.toml: change it there.\n\
         #pragma once\n\n#include \"ops/op_def.hpp\"\n\nnamespace tensorlib::core::ops {{\n\nnamespace facts {{\n"
    );
    for family in families {
        let _ = write!(text, "\n// ---- {}\n", family.name);
        for op in &family.ops {
            text += &definition(op);
        }
    }
    text += "\n}  // namespace facts\n\n// Attributes, in structs that nodes keep: attrs_of() reads a node's.\n";
    for op in families.iter().flat_map(|family| &family.ops).filter(|op| !op.attributes.is_empty()) {
        text += &attrs_struct(op);
    }
    text + "\n}  // namespace tensorlib::core::ops\n"
}

fn definition(op: &Op) -> String {
    let name = &op.name;
    let operands: Vec<String> = op.operands.iter().map(operand_def).collect();
    let head = format!("inline constexpr Operand {name}_operands[] = {{");
    let line = format!("{head}{}}};", operands.join(", "));
    // A trailing comma keeps clang-format from filling lines.
    let mut text = match line.chars().count() <= WIDTH {
        _ if operands.is_empty() => "\n".into(),
        true => format!("\n{line}\n"),
        false => format!("\n{head}\n    {},\n}};\n", operands.join(",\n    ")),
    };
    for Attribute { name: attribute, values, .. } in op.attributes.iter().filter(|a| a.kind == Kind::Choice) {
        let values = values.join("\", \"");
        let _ = writeln!(text, "inline constexpr const char *{name}_{attribute}_values[] = {{\"{values}\"}};");
    }
    if !op.attributes.is_empty() {
        let _ = writeln!(text, "inline constexpr AttrDef {name}_attrs[] = {{");
        for attribute in &op.attributes {
            let _ = writeln!(text, "    {},", attr_def(op, attribute));
        }
        text += "};\n";
    }
    let _ = writeln!(text, "inline constexpr OpFacts {name}{{");
    let _ = writeln!(text, "    .op = Op::{name},\n    .name = \"{name}\",");
    if !operands.is_empty() {
        let _ = writeln!(text, "    .operands = {name}_operands,");
    }
    if !op.attributes.is_empty() {
        let _ = writeln!(text, "    .attrs = {name}_attrs,");
    }
    if let Some(result) = &op.result {
        let result = if result == OF_FIRST { "of_first" } else { result };
        let _ = writeln!(text, "    .result = ResultType::{result},");
    }
    let _ = writeln!(text, "    .gradient = \"{}\",\n    .doc = \"{}\",\n}};", bare(&op.gradient), bare(&op.doc));
    text
}

fn operand_def(operand: &Operand) -> String {
    let Operand { name, role, optional, no_gradient, .. } = operand;
    let mut text = format!("{{.name = \"{name}\", .role = Role::{role}");
    if *optional {
        text += ", .optional = true";
    }
    if let Some(no_gradient) = no_gradient {
        let _ = write!(text, ", .no_gradient = \"{}\"", bare(no_gradient));
    }
    text + "}"
}

fn attr_def(op: &Op, attribute: &Attribute) -> String {
    let Attribute { name, kind, required, length: (fewest, most), range, nan, .. } = attribute;
    let given_as = match kind {
        Kind::Type | Kind::Choice => "text",
        Kind::Number => "number",
        _ => "ints",
    };
    let mut text = format!("{{.name = \"{name}\", .kind = AttrKind::{given_as}, .required = {required}");
    if (*fewest, *most) != (1, 1) {
        let _ = write!(text, ", .min_ints = {fewest}, .max_ints = {most}");
    }
    if let Some((least, most)) = range {
        for (bound, value) in [("least", least), ("most", most)] {
            if value.is_finite() {
                let _ = write!(text, ", .{bound} = {}", attribute.written(*value));
            }
        }
    }
    if *kind == Kind::Choice {
        let _ = write!(text, ", .values = {}_{name}_values", op.name);
    }
    if *nan {
        text += ", .nan = true";
    }
    text + "}"
}

/// The struct of attributes, which nodes keep.
fn attrs_struct(op: &Op) -> String {
    let (name, camel) = (&op.name, camel(&op.name));
    let mut text = String::new();
    for Attribute { name: attribute, values, .. } in op.attributes.iter().filter(|a| a.kind == Kind::Choice) {
        let _ =
            writeln!(text, "\nenum class {} : std::int32_t {{ {} }};", choice_name(op, attribute), values.join(", "));
    }
    let _ = writeln!(text, "\nstruct {camel}Attrs {{\n    static constexpr Op operation = Op::{name};\n");
    let mut values = Vec::new();
    for given @ Attribute { name: attribute, kind, default, .. } in &op.attributes {
        let default = given.written(*default);
        let (member, value) = match kind {
            Kind::Bool => ("bool".into(), format!("given.flag(\"{name}\", \"{attribute}\")")),
            Kind::Integer => ("std::int64_t".into(), format!("given.integer(\"{attribute}\", {default})")),
            Kind::Number => ("double".into(), format!("given.number(\"{attribute}\", {default})")),
            Kind::Type => ("DType".into(), format!("given.type(\"{name}\", \"{attribute}\")")),
            Kind::Integers => ("IntList".into(), format!("given.list(\"{attribute}\")")),
            Kind::Choice => {
                let choice = choice_name(op, attribute);
                (choice.clone(), format!("static_cast<{choice}>(given.integer(\"{attribute}\", 0))"))
            }
        };
        let _ = writeln!(text, "    {member} {attribute};");
        values.push(format!("{attribute}({value})"));
    }
    let _ = writeln!(text, "\n    explicit {camel}Attrs(const Attrs &given) : {} {{}}", values.join(", "));
    text + "};\n"
}

/// The type name of a choice: `GluOp`.
pub fn choice_name(op: &Op, attribute: &str) -> String {
    camel(&op.name) + &camel(attribute)
}

/// A text without the marks around names.
fn bare(text: &str) -> String {
    text.replace('`', "")
}
