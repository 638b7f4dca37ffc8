//! The engine's tables of operations.

use std::fmt::Write;

use super::description::{Attribute, Family, Op, FOLDER};

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
         #pragma once\n\n#include \"ops/op_def.hpp\"\n\nnamespace tensorlib::core::ops::facts {{\n"
    );
    for family in families {
        let _ = write!(text, "\n// ---- {}\n", family.name);
        for op in &family.ops {
            text += &definition(op);
        }
    }
    text += "\n}  // namespace tensorlib::core::ops::facts\n";
    match text.lines().find(|line| line.chars().count() > WIDTH) {
        Some(line) => Err(format!("{FOLDER}: more than a line of {WIDTH} letters holds: {}", line.trim())),
        None => Ok(text),
    }
}

fn definition(op: &Op) -> String {
    let name = &op.name;
    let operands: Vec<String> = op.operands.iter().map(|o| format!("{{\"{}\", Role::{}}}", o.name, o.role)).collect();
    let mut text = format!("\ninline constexpr Operand {name}_operands[] = {{{}}};\n", operands.join(", "));
    if !op.attributes.is_empty() {
        let _ = writeln!(text, "inline constexpr AttrDef {name}_attrs[] = {{");
        for attribute in &op.attributes {
            let _ = writeln!(text, "    {},", attr_def(attribute));
        }
        text += "};\n";
    }
    let _ = writeln!(text, "inline constexpr OpFacts {name}{{");
    let _ = writeln!(text, "    .op = Op::{name},\n    .name = \"{name}\",\n    .operands = {name}_operands,");
    if !op.attributes.is_empty() {
        let _ = writeln!(text, "    .attrs = {name}_attrs,");
    }
    let _ = writeln!(text, "    .gradient = \"{}\",\n    .doc = \"{}\",\n}};", op.gradient, op.doc);
    text
}

fn attr_def(attribute: &Attribute) -> String {
    let Attribute { name, kind, required, length: (fewest, most), .. } = attribute;
    let kind = if kind == "integers" { "ints" } else { kind };
    let mut text = format!("{{\"{name}\", AttrKind::{kind}, {required}");
    if (*fewest, *most) != (1, 1) {
        let _ = write!(text, ", {fewest}, {most}");
    }
    text + "}"
}
