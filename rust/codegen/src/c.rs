//! C: the declarations in tensorlib-sys, from which the header is generated, the definitions, and the runner's lines.

use std::fmt::Write;

use crate::description::{Attribute, Family, Kind, Op};
use crate::names::Language;
use crate::text::{aligned, listed, wrapped, Prose};
use crate::{generated, HEAD};

/// The width of comments here, which makes the header's comments 100 columns wide.
const WIDTH: usize = 108;
const RUST_WIDTH: usize = 120;
const CPP_WIDTH: usize = 140;

/// `rust/tensorlib-sys/src/gen/op_functions.rs`.
pub fn declarations(families: &[Family]) -> String {
    let prose = Prose { language: Language::C, families };
    let mut text = format!("// {HEAD}\n");
    text += "//! # Operations, a function each
//!
//! Arguments are the operands, then the required attributes, then a struct of the optional attributes. NULL for
//! that struct selects the defaults, as does 0 for any of its members. It is read during the call only. For an
//! optional operand, tl_none() leaves it out. The context owns the result; on failure a function returns NULL.
//! The chapter before says what holds for all operations.
//!
//! `tl_scale_params params = {.struct_size = sizeof params, .bias = 1};`
//!
//! `tl_tensor *c = tl_scale(ctx, tl_glu(ctx, a, tl_none(), TL_GLU_OP_SWIGLU, NULL), 2, &params);`

";
    let types = generated(families).any(|op| op.required().any(|a| a.kind == Kind::Type));
    text +=
        if types { "use crate::{tl_context, tl_tensor, tl_type};\n" } else { "use crate::{tl_context, tl_tensor};\n" };
    for op in generated(families) {
        text += &choices(op, &prose);
        if op.has_options() {
            text += &params(op, &prose);
        }
    }
    text += "\nextern \"C\" {\n";
    for (i, op) in generated(families).enumerate() {
        let gap = if i > 0 { "\n" } else { "" };
        let head = format!("pub fn {}(", op.function(Language::C));
        let _ = writeln!(
            text,
            "{gap}{}    ///\n    /// Since {}.\n{}",
            prose.comment(op, "    /// ", WIDTH),
            op.since,
            listed("    ", &head, &arguments(op), ") -> *mut tl_tensor;", RUST_WIDTH)
        );
    }
    text + "}\n"
}

fn choices(op: &Op, prose: &Prose) -> String {
    let mut text = String::new();
    for attribute in op.attributes.iter().filter(|a| a.kind == Kind::Choice) {
        let name = format!("tl_{}_{}", op.name, attribute.name);
        text += &format!("\n{}", wrapped(&format!("The {}", prose.choice(op, attribute)), "/// ", WIDTH));
        let _ = writeln!(text, "pub type {name} = i32;");
        for (number, value) in attribute.values.iter().enumerate() {
            let constant = format!("{name}_{value}").to_ascii_uppercase();
            text += &wrapped(&prose.value(op, attribute, number), "/// ", WIDTH);
            let _ = writeln!(text, "pub const {constant}: {name} = {number};");
        }
    }
    text
}

fn params(op: &Op, prose: &Prose) -> String {
    let name = format!("tl_{}_params", op.name);
    let mut text = format!("\n/// Optional attributes of tl_{}(). Since {}.\n", op.name, op.since);
    let _ = writeln!(text, "#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct {name} {{");
    let _ = writeln!(text, "    /// sizeof(tl_{}_params).\n    pub struct_size: usize,", op.name);
    for attribute in op.optional() {
        text += &wrapped(&prose.member(op, attribute), "    /// ", WIDTH);
        let _ = writeln!(text, "    pub {}: {},", rust_name(attribute), rust_type(op, attribute, false));
    }
    text + "}\n"
}

/// The name in Rust that gives the intended name in C.
fn rust_name(attribute: &Attribute) -> String {
    Language::C.variable(&attribute.name, &attribute.names)
}

fn rust_type(op: &Op, attribute: &Attribute, argument: bool) -> String {
    match attribute.kind {
        Kind::Bool => "bool".into(),
        Kind::Integer => "i64".into(),
        Kind::Number => "f64".into(),
        Kind::Type => "tl_type".into(),
        Kind::Choice => format!("tl_{}_{}", op.name, attribute.name),
        Kind::Integers if argument => "*const i64".into(),
        Kind::Integers => format!("[i64; {}]", attribute.length.1),
    }
}

fn arguments(op: &Op) -> Vec<String> {
    let mut all = vec!["ctx: *mut tl_context".to_string()];
    for operand in &op.operands {
        all.push(format!("{}: *mut tl_tensor", Language::C.variable(&operand.name, &operand.names)));
    }
    all.extend(op.required().map(|a| format!("{}: {}", rust_name(a), rust_type(op, a, true))));
    if op.has_options() {
        all.push(format!("params: *const tl_{}_params", op.name));
    }
    all
}

/// `capi/src/gen/op_functions.cpp`.
pub fn definitions(families: &[Family]) -> String {
    let mut text = format!("// A C function for each operation. {HEAD}\n#include \"nodes.hpp\"\n\n");
    text += "using namespace tensorlib;\nusing capi::build;\n";
    if generated(families).any(|op| !op.attributes.is_empty()) {
        text += "using capi::constructed;\nusing capi::node;\n";
    }
    if generated(families).any(Op::has_options) {
        text += "using capi::options_of;\n";
    }
    if generated(families).any(|op| op.required().any(|a| a.kind == Kind::Integers)) {
        text += "using capi::required;\n";
    }
    if generated(families).any(|op| !op.attributes.is_empty()) {
        text += "using core::Attr;\n";
    }
    text += "using core::Op;\n";
    for op in generated(families) {
        text += &definition(op);
    }
    text
}

fn definition(op: &Op) -> String {
    let name = &op.name;
    let mut arguments = vec!["tl_context *ctx".to_string()];
    let operands: Vec<String> = op.operands.iter().map(|o| Language::C.variable(&o.name, &o.names)).collect();
    arguments.extend(operands.iter().map(|operand| format!("tl_tensor *{operand}")));
    for attribute in op.required() {
        let (attribute_name, kind) = (rust_name(attribute), attribute.kind);
        arguments.push(match kind {
            Kind::Bool => format!("bool {attribute_name}"),
            Kind::Integer => format!("int64_t {attribute_name}"),
            Kind::Number => format!("double {attribute_name}"),
            Kind::Type => format!("tl_type {attribute_name}"),
            Kind::Choice => format!("tl_{name}_{} {attribute_name}", attribute.name),
            Kind::Integers => format!("const int64_t *{attribute_name}"),
        });
    }
    if op.has_options() {
        arguments.push(format!("const tl_{name}_params *params"));
    }
    let head = format!("tl_tensor *tl_{name}(");
    let (count, operands) = (operands.len(), operands.join(", "));
    if op.attributes.is_empty() {
        let call = format!("return build<{count}>(ctx, Op::{name}, {{{operands}}});");
        let line = format!("{head}{}) {{ {call} }}", arguments.join(", "));
        if line.chars().count() <= CPP_WIDTH {
            return format!("\n{line}\n");
        }
        return format!("\n{}\n    {call}\n}}\n", aligned(&head, &arguments, ") {", CPP_WIDTH));
    }
    let mut text = format!("\n{}\n", aligned(&head, &arguments, ") {", CPP_WIDTH));
    text += "    return constructed(ctx, [&](core::Context &context) {\n";
    if op.has_options() {
        let _ = writeln!(text, "        const tl_{name}_params options = options_of(params, \"{name}\");");
    }
    text += "        const Attr attrs[] = {\n";
    for attribute in &op.attributes {
        let variable = rust_name(attribute);
        let from = if attribute.required { variable.clone() } else { format!("options.{variable}") };
        let (key, length) = (&attribute.name, attribute.length.1);
        let made = match attribute.kind {
            Kind::Number => format!("Attr::of_number(\"{key}\", {from})"),
            Kind::Type => format!("Attr::of_text(\"{key}\", core::traits_numbered(\"{name}\", {from}).name)"),
            Kind::Integers if attribute.required => {
                format!("Attr::of_ints(\"{key}\", {{required({from}, \"{name}\", \"{key}\"), {length}}})")
            }
            Kind::Integers => format!("Attr::of_ints(\"{key}\", {from})"),
            Kind::Bool if !attribute.required => {
                format!("Attr::of_int(\"{key}\", capi::flag({from}, \"{name}\", \"{key}\"))")
            }
            _ => format!("Attr::of_int(\"{key}\", {from})"),
        };
        let _ = writeln!(text, "            {made},");
    }
    let _ = writeln!(
        text,
        "        }};\n        return node<{count}>(context, Op::{name}, {{{operands}}}, attrs);\n    }});\n}}"
    );
    text
}

/// `tests/capi/gen/case_ops.h`.
pub fn cases(families: &[Family]) -> String {
    // HEAD contains `/*`, which would start a comment in C.
    let head = HEAD.replace("cpp/ops/*.toml", "the descriptions in cpp/ops");
    let mut text = format!(
        "/* The operations of the cases by their functions. {head}\n * cases.c includes it after the functions that it calls. */\n"
    );
    text += "\n/* False where it is none of these. */\n";
    text += "static bool case_op(const Run *run, char **words, int n, tl_tensor **made) {\n";
    text +=
        "    tl_context *ctx = run->current->ctx;\n    const char *op = words[2];\n    tl_tensor *s[MAX_OPERANDS];\n";
    for op in generated(families) {
        let (name, count) = (&op.name, op.operands.len());
        let _ = writeln!(text, "    if (strcmp(op, \"{name}\") == 0) {{\n        operands(run, words, n, {count}, s);");
        let mut arguments = vec!["ctx".to_string()];
        arguments.extend((0..count).map(|i| format!("s[{i}]")));
        for attribute in op.attributes.iter().filter(|a| a.kind == Kind::Integers) {
            let (attribute, length) = (&attribute.name, attribute.length.1);
            let _ = writeln!(text, "        int64_t {attribute}[{length}];");
            let _ = writeln!(text, "        case_ints(run, words, n, \"{attribute}\", {length}, {attribute});");
        }
        arguments.extend(op.required().map(case_value));
        if op.has_options() {
            let _ = writeln!(text, "        tl_{name}_params params = {{.struct_size = sizeof params}};");
            for attribute in op.optional() {
                let member = rust_name(attribute);
                let _ = match attribute.kind {
                    Kind::Integers => {
                        writeln!(text, "        memcpy(params.{member}, {0}, sizeof {0});", attribute.name)
                    }
                    _ => writeln!(text, "        params.{member} = {};", case_value(attribute)),
                };
            }
            arguments.push("&params".into());
        }
        let call = aligned(&format!("        *made = tl_{name}("), &arguments, ");", CPP_WIDTH);
        let _ = writeln!(text, "{call}\n        return true;\n    }}");
    }
    text + "    return false;\n}\n"
}

/// Reads an attribute's value from a case's line.
fn case_value(attribute: &Attribute) -> String {
    let name = &attribute.name;
    match attribute.kind {
        Kind::Bool => format!("case_int(run, words, n, \"{name}\") != 0"),
        Kind::Integer => format!("case_int(run, words, n, \"{name}\")"),
        Kind::Number => format!("case_number(run, words, n, \"{name}\")"),
        Kind::Type => format!("to_type(run, case_text(run, words, n, \"{name}\"))"),
        Kind::Choice => format!("case_choice(run, words, n, \"{name}\", \"{}\")", attribute.values.join(" ")),
        Kind::Integers => name.clone(),
    }
}
