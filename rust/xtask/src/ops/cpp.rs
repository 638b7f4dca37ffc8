//! The engine's tables of operations.

use std::fmt::Write;

use super::description::{Attribute, Family, Kind, Op, FOLDER};
use super::names::camel;

/// clang-format's limit, which breaks longer texts.
const WIDTH: usize = 140;

/// `cpp/graph/op_list.inc`: names and numbers.
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

/// `cpp/ops/op_facts.hpp`: what an operation is, for those who define what it computes.
pub fn facts(families: &[Family]) -> Result<String, String> {
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
    text += "\n}  // namespace tensorlib::core::ops\n";
    match text.lines().find(|line| line.chars().count() > WIDTH) {
        Some(line) => Err(format!("{FOLDER}: more than a line of {WIDTH} letters holds: {}", line.trim())),
        None => Ok(text),
    }
}

fn definition(op: &Op) -> String {
    let name = &op.name;
    let operands: Vec<String> = op.operands.iter().map(|o| format!("{{\"{}\", Role::{}}}", o.name, o.role)).collect();
    let mut text = format!("\ninline constexpr Operand {name}_operands[] = {{{}}};\n", operands.join(", "));
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
    let _ = writeln!(text, "    .op = Op::{name},\n    .name = \"{name}\",\n    .operands = {name}_operands,");
    if !op.attributes.is_empty() {
        let _ = writeln!(text, "    .attrs = {name}_attrs,");
    }
    let _ = writeln!(text, "    .gradient = \"{}\",\n    .doc = \"{}\",\n}};", bare(&op.gradient), bare(&op.doc));
    text
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
        let _ = write!(text, ", .least = {}, .most = {}", attribute.written(*least), attribute.written(*most));
    }
    if *kind == Kind::Choice {
        let _ = write!(text, ", .values = {}_{name}_values", op.name);
    }
    if *nan {
        text += ", .nan = true";
    }
    text + "}"
}

/// The attributes' struct, which nodes keep.
fn attrs_struct(op: &Op) -> String {
    let (name, camel) = (&op.name, camel(&op.name));
    let mut text = String::new();
    for Attribute { name: attribute, values, .. } in op.attributes.iter().filter(|a| a.kind == Kind::Choice) {
        let _ =
            writeln!(text, "\nenum class {} : std::int32_t {{ {} }};", choice_name(op, attribute), values.join(", "));
    }
    let _ = writeln!(text, "\nstruct {camel}Attrs {{\n    static constexpr Op op = Op::{name};\n");
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
    // As clang-format breaks it.
    let head = format!("    explicit {camel}Attrs(const Attrs &given)");
    let lines = [
        format!("{head} : {} {{}}", values.join(", ")),
        format!("{head}\n        : {} {{}}", values.join(", ")),
        format!("{head}\n        : {} {{}}", values.join(",\n          ")),
    ];
    let fits = |text: &&String| text.lines().all(|line| line.chars().count() <= WIDTH);
    let _ = writeln!(text, "\n{}", lines.iter().find(fits).unwrap_or(&lines[2]));
    text + "};\n"
}

/// The type of a choice: `GluOp`.
pub fn choice_name(op: &Op, attribute: &str) -> String {
    camel(&op.name) + &camel(attribute)
}

/// A text without the marks around names.
fn bare(text: &str) -> String {
    text.replace('`', "")
}
