//! `docs/ops.md`: the operations, for their users.

use std::fmt::Write;

use crate::description::{Attribute, Family, Kind, Op, Operand, FOLDER};
use crate::text::{capitalised, enumerated, filled, wrapped};

const WIDTH: usize = 130;

pub fn text(families: &[Family]) -> String {
    let mut text = String::from("# Operations\n");
    let _ = writeln!(text, "Written by `cargo xtask ops` from `{FOLDER}/*.toml`: change it there.");
    text += "
Each operation has a function of its own in every language. `tl_op` and its counterparts take any operation by name: its operands in the
order given here, and its attributes by name. A boolean attribute is 0 or 1 there. An optional attribute that is left out, or is 0, has its
default.

In the formulas `c` is the result. In the gradients `g` is the gradient of the result, and `da` that of operand `a`. Dimension 0 is the
contiguous one. [semantics.md](semantics.md) says what holds for all operations, and how results are rounded.
";
    text.push('\n');
    text += &table(families);
    for family in families {
        let _ = write!(text, "\n## {}\n", family.title);
        family.ops.iter().for_each(|op| text += &chapter(op));
    }
    text
}

fn chapter(op: &Op) -> String {
    let mut text = format!("\n### {}\n{}.\n\n", heading(op), op.doc);
    if op.is_computed() {
        op.statements().for_each(|statement| text += &format!("    {statement}\n"));
    } else {
        text += &format!("{}.\n", capitalised(&op.formula));
    }
    text.push('\n');
    if let Some(notes) = &op.notes {
        text += &(wrapped(&format!("{notes}."), "", WIDTH) + "\n");
    }
    for part in points(op) {
        text += &filled(&part, "- ", "  ", WIDTH);
    }
    if !op.attributes.is_empty() {
        text += "\n| attribute | value | meaning |\n|---|---|---|\n";
        op.attributes.iter().for_each(|attribute| text += &row(attribute));
    }
    text
}

fn points(op: &Op) -> Vec<String> {
    let mut points = vec![match op.is_composed() {
        true => "Class: composed. It makes nodes of other operations, and no node of its own.".into(),
        false => format!("Class: {}.", op.class),
    }];
    let labelled = |label: &str, text: &str| format!("{label}: {}.", capitalised(text));
    points.extend([labelled("Shapes", &op.shapes), labelled("Types", &op.types)]);
    points.extend(op.result_text().map(|result| labelled("Result", &result)));
    points.extend(
        op.results.iter().enumerate().map(|(i, text)| format!("Result {}, by [`result`](#resulta): {text}.", i + 1)),
    );
    let listed = |operands: &[&Operand]| enumerated(operands.iter().map(|operand| format!("`{}`", operand.name)));
    let said = |operands: Vec<&Operand>, what: &str| match operands.len() {
        0 => None,
        1 => Some(format!("{} is {what}.", listed(&operands))),
        _ => Some(format!("{} are {what}.", listed(&operands))),
    };
    points.extend(said(op.also_written(), "overwritten as well"));
    points.extend(said(op.optional_operands(), "optional"));
    let last = op.operands.last().filter(|_| op.repeats_last);
    points.extend(last.map(|last| format!("`{}` may be given several times.", last.name)));
    let integers = op.operands.iter().filter(|operand| operand.role == "integers");
    points.extend(integers.map(|operand| format!("`{}` holds integers, and every value is valid.", operand.name)));
    points.extend(op.refuses.as_ref().map(|refuses| format!("Computing fails for {refuses}.")));
    points.push(labelled("Gradient", &op.gradient));
    let without = op.without_gradient().into_iter();
    points.extend(without.map(|(why, operands)| format!("No gradient for {}: {why}.", listed(&operands))));
    points
}

fn heading(op: &Op) -> String {
    let operands: Vec<&str> = op.operands.iter().map(|o| o.name.as_str()).collect();
    format!("{}({})", op.name, operands.join(", "))
}

/// The anchor of a heading, as GitHub and others form it.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn row(attribute: &Attribute) -> String {
    let Attribute { name, kind, length: (fewest, most), required, values, value_docs, doc, .. } = attribute;
    let mut takes = match kind {
        Kind::Bool => "boolean".into(),
        Kind::Integer => "integer".into(),
        Kind::Number => "number".into(),
        Kind::Type => "name of a type".into(),
        Kind::Text => "text".into(),
        Kind::Choice => format!("one of `{}`", values.join("`, `")),
        Kind::Integers if fewest == most => format!("{most} integers"),
        Kind::Integers => format!("{fewest} to {most} integers"),
        Kind::Shape => format!("{fewest} to {most} integers"),
        Kind::Dims => "dimensions".into(),
        Kind::Group => "group".into(),
    };
    if let Some(valid) = attribute.valid() {
        let _ = write!(takes, ", {}", valid.trim_start_matches("Range: ").to_ascii_lowercase());
    }
    if let Some(default) = attribute.default_text() {
        let _ = write!(takes, "; default {default}");
    }
    let meanings: Vec<String> =
        values.iter().zip(value_docs).map(|(value, meaning)| format!("`{value}`: {meaning}")).collect();
    let mut doc = capitalised(doc);
    if !meanings.is_empty() {
        let _ = write!(doc, ". {}", meanings.join("; "));
    }
    format!("| `{name}`{} | {takes} | {doc} |\n", if *required { ", required" } else { "" })
}

/// The table of contents: a row per family, with links to its operations.
pub fn table(families: &[Family]) -> String {
    let mut text = String::from("| family | operations |\n|---|---|\n");
    for family in families {
        let link = |op: &Op| format!("[`{}`](#{})", op.name, anchor(&heading(op)));
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
