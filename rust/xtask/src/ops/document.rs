//! `docs/ops.md`: the operations for those who use them.

use std::fmt::Write;

use super::description::{Attribute, Family, Kind, Op, FOLDER, OF_FIRST};

const WIDTH: usize = 130;

pub fn text(families: &[Family]) -> String {
    let mut text = String::from("# Operations\n");
    let _ = writeln!(text, "Written by `cargo xtask ops` from `{FOLDER}/*.toml`: change it there.");
    text += "
`tl_op` and its like in each language take an operation by name, its operands in this order, and attributes by name; each
operation has a function of its own as well. c is the result, g its gradient. Dimension 0 is the contiguous one. What is true of
all operations, and of rounding: [semantics.md](semantics.md).
";
    for family in families {
        let _ = write!(text, "\n## {}\n", family.title);
        family.ops.iter().for_each(|op| text += &chapter(op));
    }
    text
}

fn chapter(op: &Op) -> String {
    let mut text = format!("\n### {}\n{}.\n\n", heading(op), op.doc);
    let _ = writeln!(text, "    {}\n", op.formula);
    let types = types(op);
    let mut parts = vec![("Class", &op.class), ("Shapes", &op.shapes), ("Types", &types)];
    parts.extend(op.refuses.as_ref().map(|refuses| ("Computing refuses", refuses)));
    parts.push(("Gradient", &op.gradient));
    for (head, part) in parts {
        text += &point(&format!("{head}: {part}."));
    }
    for operand in &op.operands {
        text += &operand
            .no_gradient
            .as_ref()
            .map_or(String::new(), |why| point(&format!("`{}` has no gradient: {why}.", operand.name)));
    }
    for operand in op.operands.iter().filter(|operand| operand.optional) {
        text += &point(&format!("`{}` may be left out.", operand.name));
    }
    for (role, what) in [
        ("written", "is written: the result is a view of it"),
        ("indices", "holds numbers, which are checked"),
        ("integers", "holds whole numbers, of which any is valid"),
    ] {
        for operand in op.operands.iter().filter(|o| o.role == role) {
            let _ = writeln!(text, "- `{}` {what}.", operand.name);
        }
    }
    if !op.attributes.is_empty() {
        text += "\n| attribute | what it takes | |\n|---|---|---|\n";
        op.attributes.iter().for_each(|attribute| text += &row(attribute));
    }
    text
}

fn heading(op: &Op) -> String {
    let operands: Vec<&str> = op.operands.iter().map(|o| o.name.as_str()).collect();
    format!("{}({})", op.name, operands.join(", "))
}

/// What a heading is called in a link, as GitHub and others name them.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The operands' types and the result's.
fn types(op: &Op) -> String {
    match op.result.as_deref() {
        Some(OF_FIRST) => format!("{}. Result: {}'s", op.types, op.operands[0].name),
        Some(result) => format!("{}. Result: {}", op.types, result.to_ascii_uppercase()),
        None => op.types.clone(),
    }
}

/// A point of a list, in lines of a readable length.
fn point(text: &str) -> String {
    let (mut all, mut line) = (String::new(), String::from("-"));
    for word in text.split(' ') {
        if line.len() + word.len() >= WIDTH {
            all += &line;
            all.push('\n');
            line = String::from(" ");
        }
        line.push(' ');
        line += word;
    }
    all + &line + "\n"
}

fn row(attribute: &Attribute) -> String {
    let Attribute { name, kind, length: (fewest, most), required, default, values, doc, .. } = attribute;
    let mut takes = match kind {
        Kind::Bool => "0 or 1".into(),
        Kind::Integer => "an integer".into(),
        Kind::Number => "a number".into(),
        Kind::Type => "a type's name".into(),
        Kind::Choice => format!("one of {}", values.join(", ")),
        Kind::Integers if fewest == most => format!("{most} integers"),
        Kind::Integers => format!("{fewest} to {most} integers"),
    };
    if let Some(valid) = attribute.valid() {
        let _ = write!(takes, ", {valid}");
    }
    if *default != 0.0 {
        let _ = write!(takes, "; 0 or left out: {}", attribute.shown(*default));
    }
    if *kind == Kind::Choice && !required {
        let _ = write!(takes, "; left out: {}", values[0]);
    }
    format!("| `{name}`{} | {takes} | {doc} |\n", if *required { ", required" } else { "" })
}

/// The table of README.md: a family a row, whose operations lead to their chapters here.
pub fn table(families: &[Family]) -> String {
    let mut text = String::from("| family | operations |\n|---|---|\n");
    for family in families {
        let link = |op: &Op| format!("[`{}`](docs/ops.md#{})", op.name, anchor(&heading(op)));
        let links: Vec<String> = family.ops.iter().map(link).collect();
        let _ = writeln!(text, "| {} | {} |", family.title, links.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::anchor;

    #[test]
    fn anchors_are_those_of_headings() {
        assert_eq!(anchor("rms_norm(a, b)"), "rms_norma-b");
        assert_eq!(anchor("Norms and soft_max"), "norms-and-soft_max");
    }
}
