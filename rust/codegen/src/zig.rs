//! Zig: functions that take the Context first, their names in Context, C's declarations, and the runner's lines.

use std::fmt::Write;

use crate::cpp::choice_name;
use crate::description::{Attribute, Family, Kind, Op, Operand};
use crate::names::{camel, Language};
use crate::text::{listed, wrapped, Prose};
use crate::{generated, HEAD};

const WIDTH: usize = 115;

/// `bindings/zig/src/gen/op_functions.zig`.
pub fn functions(families: &[Family]) -> String {
    let prose = Prose { language: Language::Zig, families };
    let mut text = format!("//! A function for each operation; `Context` has them as methods. {HEAD}\n\n");
    text += "const c = @import(\"c_ops.zig\");\nconst status = @import(\"../status.zig\");\n";
    text += "const Context = @import(\"../context.zig\").Context;\nconst Tensor = @import(\"../tensor.zig\").Tensor;\n";
    if generated(families).any(|op| op.attributes.iter().any(|a| a.kind == Kind::Type)) {
        text += "const Type = @import(\"../types.zig\").Type;\n";
    }
    text += "const Error = status.Error;\n";
    for op in generated(families) {
        text += &choices(op, &prose);
        text += &options(op, &prose);
        text += &function(op, &prose);
    }
    text
}

fn choices(op: &Op, prose: &Prose) -> String {
    let mut text = String::new();
    for attribute in op.attributes.iter().filter(|a| a.kind == Kind::Choice) {
        text += &format!("\n{}", wrapped(&format!("The {}", prose.choice(op, attribute)), "/// ", WIDTH));
        let name = choice_name(op, &attribute.name);
        if attribute.value_docs.is_empty() {
            let _ = writeln!(text, "pub const {name} = enum(i32) {{ {} }};", attribute.values.join(", "));
            continue;
        }
        let _ = writeln!(text, "pub const {name} = enum(i32) {{");
        for (number, value) in attribute.values.iter().enumerate() {
            let _ = writeln!(text, "{}    {value},", wrapped(&prose.value(op, attribute, number), "    /// ", WIDTH));
        }
        text += "};\n";
    }
    text
}

fn options(op: &Op, prose: &Prose) -> String {
    if !op.has_options() {
        return String::new();
    }
    let mut text = format!("\n/// Optional attributes of `{}`.\n", op.function(Language::Zig));
    let _ = writeln!(text, "pub const {}Options = struct {{", camel(&op.name));
    for attribute in op.optional() {
        text += &wrapped(&prose.member(op, attribute), "    /// ", WIDTH);
        let default = match attribute.kind {
            Kind::Bool => "false".into(),
            Kind::Integers => "@splat(0)".into(),
            Kind::Choice => format!(".{}", attribute.values[0]),
            _ => attribute.written(attribute.default),
        };
        let _ = writeln!(text, "    {}: {} = {default},", variable(attribute), type_of(op, attribute));
    }
    text + "};\n"
}

fn variable(attribute: &Attribute) -> String {
    Language::Zig.variable(&attribute.name, &attribute.names)
}

fn operands(op: &Op) -> Vec<String> {
    op.operands.iter().map(|o| Language::Zig.variable(&o.name, &o.names)).collect()
}

fn type_of(op: &Op, attribute: &Attribute) -> String {
    match attribute.kind {
        Kind::Bool => "bool".into(),
        Kind::Integer => "i64".into(),
        Kind::Number => "f64".into(),
        Kind::Type => "Type".into(),
        Kind::Choice => choice_name(op, &attribute.name),
        Kind::Integers => format!("[{}]i64", attribute.length.1),
    }
}

/// The expression that C takes.
fn raw_value(attribute: &Attribute, value: &str) -> String {
    match attribute.kind {
        Kind::Type | Kind::Choice => format!("@intFromEnum({value})"),
        _ => value.into(),
    }
}

fn function(op: &Op, prose: &Prose) -> String {
    let name = op.function(Language::Zig);
    let operands = operands(op);
    let mut text = format!("\n{}", prose.comment(op, "/// ", WIDTH));
    let mut parameters = vec!["self: Context".to_string()];
    parameters.extend(op.operands.iter().zip(&operands).map(|(operand, name)| match operand.optional {
        true => format!("{name}: ?Tensor"),
        false => format!("{name}: Tensor"),
    }));
    parameters.extend(op.required().map(|a| format!("{}: {}", variable(a), type_of(op, a))));
    let handle = |(operand, name): (&Operand, &String)| match operand.optional {
        true => format!("Tensor.handleOrNone({name})"),
        false => format!("{name}.handle"),
    };
    let mut arguments: Vec<String> = op.operands.iter().zip(&operands).map(handle).collect();
    arguments.extend(op.required().map(|a| match a.kind {
        Kind::Integers => format!("&{}", variable(a)),
        _ => raw_value(a, &variable(a)),
    }));
    if op.has_options() {
        parameters.push(format!("options: {}Options", camel(&op.name)));
        arguments.push("&params".into());
    }
    let _ = writeln!(text, "{}", listed("", &format!("pub fn {name}("), &parameters, ") Error!Tensor {", WIDTH));
    if op.has_options() {
        let _ = writeln!(text, "    const params: c.tl_{}_params = .{{", op.name);
        for attribute in op.optional() {
            let member = Language::C.variable(&attribute.name, &attribute.names);
            let value = raw_value(attribute, &format!("options.{}", variable(attribute)));
            let _ = writeln!(text, "        .{member} = {value},");
        }
        text += "    };\n";
    }
    let arguments = match &arguments[..] {
        [one] => format!(".{{{one}}}"),
        more => format!(".{{ {} }}", more.join(", ")),
    };
    text + &format!("    return self.construct(c.tl_{}, {arguments});\n}}\n", op.name)
}

/// The region in `bindings/zig/src/context.zig`.
pub fn aliases(families: &[Family]) -> String {
    let mut text = String::new();
    for op in generated(families) {
        let _ = writeln!(text, "    pub const {0} = op_functions.{0};", op.function(Language::Zig));
    }
    text
}

/// `bindings/zig/src/gen/c_ops.zig`.
pub fn declarations(families: &[Family]) -> String {
    let mut text = format!("//! The C functions of operations. {HEAD}\n\nconst c = @import(\"../c.zig\");\n");
    for name in ["tl_context", "tl_tensor", "tl_type"] {
        let _ = writeln!(text, "const {name} = c.{name};");
    }
    text.push('\n');
    for op in generated(families) {
        for attribute in op.attributes.iter().filter(|a| a.kind == Kind::Choice) {
            let name = format!("tl_{}_{}", op.name, attribute.name);
            let _ = writeln!(text, "pub const {name} = i32;");
            for (number, value) in attribute.values.iter().enumerate() {
                let _ =
                    writeln!(text, "pub const {}: {name} = {number};", format!("{name}_{value}").to_ascii_uppercase());
            }
        }
        if op.has_options() {
            let name = format!("tl_{}_params", op.name);
            let _ = writeln!(text, "pub const {name} = extern struct {{\n    struct_size: usize = @sizeOf({name}),");
            for attribute in op.optional() {
                let member = Language::C.variable(&attribute.name, &attribute.names);
                let zero = match attribute.kind {
                    Kind::Bool => "false",
                    Kind::Integers => "@splat(0)",
                    _ => "0",
                };
                let _ = writeln!(text, "    {member}: {} = {zero},", c_type(op, attribute));
            }
            text += "};\n";
        }
        let mut parameters = vec!["ctx: ?*tl_context".to_string()];
        parameters
            .extend(op.operands.iter().map(|o| format!("{}: ?*tl_tensor", Language::Zig.variable(&o.name, &o.names))));
        parameters.extend(op.required().map(|a| match a.kind {
            Kind::Integers => format!("{}: ?[*]const i64", variable(a)),
            _ => format!("{}: {}", variable(a), c_type(op, a)),
        }));
        if op.has_options() {
            parameters.push(format!("params: ?*const tl_{}_params", op.name));
        }
        let _ = writeln!(
            text,
            "{}",
            listed("", &format!("pub extern fn tl_{}(", op.name), &parameters, ") ?*tl_tensor;", WIDTH)
        );
    }
    text
}

fn c_type(op: &Op, attribute: &Attribute) -> String {
    match attribute.kind {
        Kind::Type => "tl_type".into(),
        Kind::Choice => format!("tl_{}_{}", op.name, attribute.name),
        _ => type_of(op, attribute),
    }
}

/// `bindings/zig/tests/gen/case_ops.zig`.
pub fn cases(families: &[Family]) -> String {
    let mut text = format!("//! The operations of the cases by their methods. {HEAD}\n\n");
    text += "const std = @import(\"std\");\nconst tl = @import(\"tensorlib\");\nconst case_file = @import(\"../case_file.zig\");\n\n";
    text += "const Name = enum {\n";
    for op in generated(families) {
        let _ = writeln!(text, "    {},", op.name);
    }
    text += "};\n\n/// null where it is none of these.\n";
    text += "pub fn make(ctx: tl.Context, op: case_file.Op, src: []const ?tl.Tensor) !?tl.Tensor {\n";
    text += "    const name = std.meta.stringToEnum(Name, op.name) orelse return null;\n    const n_src: usize = switch (name) {\n";
    for op in generated(families) {
        let _ = writeln!(text, "        .{} => {},", op.name, op.operands.len());
    }
    text += "    };\n    if (src.len != n_src) return error.WrongNumberOfOperands;\n    switch (name) {\n";
    for op in generated(families) {
        let function = op.function(Language::Zig);
        let operand = |(i, operand): (usize, &Operand)| format!("src[{i}]{}", if operand.optional { "" } else { ".?" });
        let mut arguments: Vec<String> = op.operands.iter().enumerate().map(operand).collect();
        arguments.extend(op.required().map(|attribute| case_value(op, attribute)));
        if !op.has_options() {
            let _ = writeln!(text, "        .{} => return try ctx.{function}({}),", op.name, arguments.join(", "));
            continue;
        }
        let _ = writeln!(text, "        .{} => return try ctx.{function}({}, .{{", op.name, arguments.join(", "));
        for attribute in op.optional() {
            let _ = writeln!(text, "            .{} = {},", variable(attribute), case_value(op, attribute));
        }
        text += "        }),\n";
    }
    text + "    }\n}\n"
}

fn case_value(op: &Op, attribute: &Attribute) -> String {
    let name = &attribute.name;
    match attribute.kind {
        Kind::Bool => format!("try op.integer(\"{name}\") != 0"),
        Kind::Integer => format!("try op.integer(\"{name}\")"),
        Kind::Number => format!("try op.number(\"{name}\")"),
        Kind::Type => format!("try tl.Type.fromName(op.text(\"{name}\"), ctx.diagnostics)"),
        Kind::Choice => format!("try op.choice(tl.ops.{}, \"{name}\")", choice_name(op, name)),
        Kind::Integers => format!("try op.list({}, \"{name}\")", attribute.length.1),
    }
}
