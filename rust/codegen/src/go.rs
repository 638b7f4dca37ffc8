//! Go: methods of Context, and the runner's lines.

use std::fmt::Write;

use crate::cpp::choice_name;
use crate::description::{Attribute, Family, Kind, Op};
use crate::names::{camel, Language};
use crate::text::{wrapped, Prose};
use crate::{generated, HEAD};

const WIDTH: usize = 80;

/// `bindings/go/op_functions.go`.
pub fn methods(families: &[Family]) -> String {
    let prose = Prose { language: Language::Go, families };
    let mut text = format!("package tensorlib\n\n// #include <tensorlib/tensorlib.h>\nimport \"C\"\n\n// {HEAD}\n");
    for op in generated(families) {
        text += &choices(op, &prose);
        text += &options(op, &prose);
        text += &method(op, &prose);
    }
    text
}

fn choices(op: &Op, prose: &Prose) -> String {
    let mut text = String::new();
    for attribute in op.attributes.iter().filter(|a| a.kind == Kind::Choice) {
        let name = choice_name(op, &attribute.name);
        let doc = format!("{name} is the {}", prose.choice(op, attribute));
        text += &format!("\n{}type {name} int32\n", wrapped(&doc, "// ", WIDTH));
        let _ = writeln!(text, "\n// The values of {name}.\nconst (");
        let longest = attribute.values.iter().map(|v| camel(v).len()).max().unwrap_or(0);
        for (number, value) in attribute.values.iter().enumerate() {
            if !attribute.value_docs.is_empty() {
                text += &wrapped(&prose.value(op, attribute, number), "\t// ", WIDTH - 7);
            }
            let constant = format!("tl_{}_{}_{value}", op.name, attribute.name).to_ascii_uppercase();
            let _ = writeln!(text, "\t{name}{:longest$} {name} = C.{constant}", camel(value));
        }
        text += ")\n";
    }
    text
}

fn options(op: &Op, prose: &Prose) -> String {
    if !op.has_options() {
        return String::new();
    }
    let name = format!("{}Options", camel(&op.name));
    let doc = format!(
        "{name} holds the optional attributes of [Context.{}]. A field that is zero has its default.",
        op.function(Language::Go)
    );
    let mut text = format!("\n{}type {name} struct {{\n", wrapped(&doc, "// ", WIDTH));
    for attribute in op.optional() {
        // A tab is eight columns wide.
        text += &wrapped(&prose.member(op, attribute), "\t// ", WIDTH - 7);
        let _ = writeln!(text, "\t{} {}", field(attribute), type_of(op, attribute));
    }
    text + "}\n"
}

fn variable(attribute: &Attribute) -> String {
    Language::Go.variable(&attribute.name, &attribute.names)
}

fn field(attribute: &Attribute) -> String {
    let name = variable(attribute);
    name[..1].to_ascii_uppercase() + &name[1..]
}

fn operands(op: &Op) -> Vec<String> {
    op.operands.iter().map(|o| Language::Go.variable(&o.name, &o.names)).collect()
}

fn type_of(op: &Op, attribute: &Attribute) -> String {
    match attribute.kind {
        Kind::Bool => "bool".into(),
        Kind::Integer => "int64".into(),
        Kind::Number => "float64".into(),
        Kind::Type => "Type".into(),
        Kind::Choice => choice_name(op, &attribute.name),
        Kind::Integers => format!("[{}]int64", attribute.length.1),
    }
}

/// The expression that C takes.
fn raw_value(op: &Op, attribute: &Attribute, value: &str) -> String {
    match attribute.kind {
        Kind::Bool => format!("C.bool({value})"),
        Kind::Integer => format!("C.int64_t({value})"),
        Kind::Number => format!("C.double({value})"),
        Kind::Type => format!("C.tl_type({value})"),
        Kind::Choice => format!("C.tl_{}_{}({value})", op.name, attribute.name),
        Kind::Integers => value.into(),
    }
}

fn method(op: &Op, prose: &Prose) -> String {
    let name = op.function(Language::Go);
    let operands = operands(op);
    let mut text = format!("\n{}", prose.comment(op, "// ", WIDTH));
    let mut parameters = Vec::new();
    if !operands.is_empty() {
        parameters.push(format!("{} *Tensor", operands.join(", ")));
    }
    parameters.extend(op.required().map(|a| format!("{} {}", variable(a), type_of(op, a))));
    let mut arguments = vec!["c.ptr".to_string()];
    arguments.extend(operands.iter().map(|name| format!("{name}.ptr")));
    let mut before = String::new();
    for attribute in op.required() {
        let variable = variable(attribute);
        if attribute.kind == Kind::Integers {
            before += &copied(&format!("c{}", field(attribute)), &variable, attribute.length.1);
            arguments.push(format!("&c{}[0]", field(attribute)));
        } else {
            arguments.push(raw_value(op, attribute, &variable));
        }
    }
    if op.has_options() {
        parameters.push(format!("options *{}Options", camel(&op.name)));
        let _ = writeln!(
            before,
            "\tparams := C.tl_{0}_params{{struct_size: C.sizeof_tl_{0}_params}}\n\tif options != nil {{",
            op.name
        );
        for attribute in op.optional() {
            let (member, given) = (c_field(attribute), format!("options.{}", field(attribute)));
            let _ = match attribute.kind {
                Kind::Integers => writeln!(
                    before,
                    "\t\tfor i, value := range {given} {{\n\t\t\tparams.{member}[i] = C.int64_t(value)\n\t\t}}"
                ),
                _ => writeln!(before, "\t\tparams.{member} = {}", raw_value(op, attribute, &given)),
            };
        }
        before += "\t}\n";
        arguments.push("&params".into());
    }
    let _ = writeln!(text, "func (c *Context) {name}({}) (*Tensor, error) {{", parameters.join(", "));
    let optional: Vec<String> =
        op.operands.iter().zip(&operands).filter(|(o, _)| o.optional).map(|(_, n)| n.clone()).collect();
    if !optional.is_empty() {
        let given: Vec<String> = optional.iter().map(|name| format!("orNone({name})")).collect();
        let _ = writeln!(text, "\t{} = {}", optional.join(", "), given.join(", "));
    }
    text += &before;
    let listed = if operands.is_empty() { "nil".into() } else { format!("[]*Tensor{{{}}}", operands.join(", ")) };
    let _ = writeln!(
        text,
        "\treturn c.construct(\"{}\", {listed}, func() *C.tl_tensor {{\n\t\treturn C.tl_{}({})\n\t}})\n}}",
        op.name,
        op.name,
        arguments.join(", ")
    );
    text
}

/// cgo prefixes members that are keywords of Go with _.
fn c_field(attribute: &Attribute) -> String {
    let name = Language::C.variable(&attribute.name, &attribute.names);
    if ["type", "range", "func", "map", "var", "chan", "select"].contains(&name.as_str()) {
        return format!("_{name}");
    }
    name
}

fn copied(to: &str, from: &str, length: u64) -> String {
    format!("\tvar {to} [{length}]C.int64_t\n\tfor i, value := range {from} {{\n\t\t{to}[i] = C.int64_t(value)\n\t}}\n")
}

/// `bindings/go/case_ops_test.go`.
pub fn cases(families: &[Family]) -> String {
    let mut text = format!("package tensorlib\n\n// {HEAD}\n");
    text += "
// caseOp makes an operation by its method; known is false where it is none of
// these.
func (s *step) caseOp(c *Context, src []*Tensor) (made *Tensor, known bool, err error) {
	operands := map[string]int{
";
    let longest = generated(families).map(|op| op.name.len()).max().unwrap_or(0);
    for op in generated(families) {
        let blanks = " ".repeat(longest - op.name.len());
        let _ = writeln!(text, "\t\t\"{}\": {blanks}{},", op.name, op.operands.len());
    }
    text += "	}
	if n, known := operands[s.op]; !known || len(src) != n {
		return nil, false, nil
	}
	switch s.op {
";
    for op in generated(families) {
        let _ = writeln!(text, "\tcase \"{}\":", op.name);
        let mut arguments: Vec<String> = (0..op.operands.len()).map(|i| format!("src[{i}]")).collect();
        arguments.extend(op.required().map(|attribute| case_value(op, attribute)));
        if op.has_options() {
            let _ = writeln!(text, "\t\toptions := &{}Options{{", camel(&op.name));
            let longest = op.optional().map(|attribute| field(attribute).len()).max().unwrap_or(0);
            for attribute in op.optional() {
                let blanks = " ".repeat(longest - field(attribute).len());
                let _ = writeln!(text, "\t\t\t{}: {blanks}{},", field(attribute), case_value(op, attribute));
            }
            text += "\t\t}\n";
            arguments.push("options".into());
        }
        let _ = writeln!(text, "\t\tmade, err = c.{}({})", op.function(Language::Go), arguments.join(", "));
    }
    text + "\t}\n\treturn made, true, err\n}\n"
}

fn case_value(op: &Op, attribute: &Attribute) -> String {
    let name = &attribute.name;
    match attribute.kind {
        Kind::Bool => format!("s.integer(\"{name}\") != 0"),
        Kind::Integer => format!("s.integer(\"{name}\")"),
        Kind::Number => format!("s.number(\"{name}\")"),
        Kind::Type => format!("must(ParseType(s.attrs[\"{name}\"]))"),
        Kind::Choice => {
            let values = attribute.values.join("\", \"");
            format!("{}(s.choice(\"{name}\", \"{values}\"))", choice_name(op, name))
        }
        Kind::Integers => format!("[{}]int64(s.list(\"{name}\", {0}))", attribute.length.1),
    }
}
