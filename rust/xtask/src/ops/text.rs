//! The texts of a description in the words and the width of a language.

use super::description::{Attribute, Family, Kind, Op, Operand, OF_FIRST};
use super::names::Language;

/// A blank that no line is broken at.
const FIXED: char = '\u{a0}';

/// Turns texts into those of a language.
pub struct Prose<'a> {
    pub language: Language,
    pub families: &'a [Family],
}

impl Prose<'_> {
    /// What the function is, in a sentence.
    pub fn summary(&self, op: &Op) -> String {
        let doc = self.translated(&op.doc);
        match self.language {
            Language::Go => format!("{} is {}.", op.function(self.language), uncapitalised(&doc)),
            _ => format!("{doc}."),
        }
    }

    /// All else that a caller wants to know.
    pub fn body(&self, op: &Op) -> String {
        let mut text = self.formula(&op.formula);
        for operand in &op.operands {
            let name = self.language.variable(&operand.name, &operand.names);
            match operand.role.as_str() {
                "written" => {
                    text +=
                        &format!(" The result is a view of {name}: make it an output, or use it, for this to happen.");
                }
                "viewed" => text += &format!(" The result is a view of {name}: nothing is computed."),
                _ => {}
            }
        }
        text += &format!(" Shapes: {}. Types: {}.", self.translated(&op.shapes), self.translated(&op.types));
        match op.result.as_deref() {
            Some(OF_FIRST) => {
                let first = &op.operands[0];
                text += &format!(" The result is of {}'s type.", self.language.variable(&first.name, &first.names));
            }
            Some(result) => text += &format!(" The result is {}.", self.translated(&result.to_ascii_uppercase())),
            None => {}
        }
        let optional: Vec<String> = op.operands.iter().filter(|o| o.optional).map(|o| self.operand(o)).collect();
        if let Some((last, others)) = optional.split_last() {
            let names = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
            text += &format!(" {names} may be {}: left out.", self.left_out());
        }
        if let Some(refuses) = &op.refuses {
            let (error, refuses) = (self.invalid_argument(), self.translated(refuses));
            text += &format!(" Computing fails with {error}, naming the place, for {refuses}.");
        }
        for attribute in op.required() {
            let name = self.language.variable(&attribute.name, &attribute.names);
            text += &format!(" {}: {}.", self.quoted(&name), self.attribute(attribute));
        }
        text
    }

    /// What an attribute is, what is valid, and what it is where it is left out.
    pub fn attribute(&self, attribute: &Attribute) -> String {
        let mut text = self.translated(&attribute.doc);
        if let Some(valid) = attribute.valid() {
            text += &format!("; {valid}");
        }
        if attribute.default != 0.0 {
            text += &format!("; 0 = the default, {}", attribute.shown(attribute.default));
        }
        if attribute.kind == Kind::Choice && !attribute.required {
            text += &format!("; {} is the default", attribute.values[0]);
        }
        text
    }

    /// The same, as the sentence above a member.
    pub fn member(&self, attribute: &Attribute) -> String {
        format!("{}.", capitalised(&self.attribute(attribute)))
    }

    fn operand(&self, operand: &Operand) -> String {
        self.quoted(&self.language.variable(&operand.name, &operand.names))
    }

    /// What is given for an operand that is left out.
    fn left_out(&self) -> &'static str {
        match self.language {
            Language::C => "tl_none()",
            Language::Cpp => "std::nullopt",
            Language::Rust => "`None`",
            Language::Go => "nil",
            Language::Zig => "`null`",
        }
    }

    fn invalid_argument(&self) -> &'static str {
        match self.language {
            Language::C => "TL_STATUS_INVALID_ARGUMENT",
            Language::Cpp => "Error(invalid_argument)",
            Language::Rust => "[`Error::InvalidArgument`](crate::Error::InvalidArgument)",
            Language::Go => "[StatusInvalidArgument]",
            Language::Zig => "`error.InvalidArgument`",
        }
    }

    /// A formula is code; one in words is a sentence.
    fn formula(&self, formula: &str) -> String {
        let fixed = |text: &str| fix_groups(text, '[', ']');
        if !formula.contains('=') {
            return format!("{}.", capitalised(&self.translated(formula)));
        }
        let of = if formula.starts_with("c[") { "The result c:" } else { "In the result" };
        // rustdoc takes bare brackets for links, and reads tensorlib-sys too.
        let mark = if matches!(self.language, Language::Rust | Language::C) { "`" } else { "" };
        format!("{of} {mark}{}{mark}.", fixed(formula))
    }

    fn quoted(&self, word: &str) -> String {
        match self.language {
            Language::Go | Language::Cpp => word.into(),
            _ => format!("`{word}`"),
        }
    }

    /// `word` in backticks that is an operation becomes the language's way of naming its function; {k, m} its way of
    /// writing shapes.
    fn translated(&self, text: &str) -> String {
        let mut out = String::new();
        for (i, part) in text.split('`').enumerate() {
            let op = self.families.iter().flat_map(|family| &family.ops).find(|op| op.name == part);
            match (i % 2 == 1, op) {
                (true, Some(op)) => out += &self.reference(op),
                (true, None) => out += &self.quoted(part),
                (false, _) => out += &self.plain(part),
            }
        }
        out
    }

    fn reference(&self, op: &Op) -> String {
        let function = op.function(self.language);
        match self.language {
            Language::C => format!("{function}()"),
            Language::Cpp => function,
            Language::Rust => format!("[`Context::{function}`]"),
            Language::Go => format!("[Context.{function}]"),
            Language::Zig => format!("`{function}`"),
        }
    }

    fn plain(&self, text: &str) -> String {
        let text = fix_groups(&fix_groups(text, '[', ']'), '{', '}');
        match self.language {
            Language::Cpp => text,
            Language::C => with_code(&text),
            Language::Rust => with_code(&text).replace('{', "`[").replace('}', "]`"),
            Language::Go => text.replace('{', "(").replace('}', ")"),
            Language::Zig => with_small_types(&text),
        }
    }
}

/// Words with brackets become code.
fn with_code(text: &str) -> String {
    let code = |word: &str| match word.rfind(']') {
        Some(end) => format!("`{}`{}", &word[..=end], &word[end + 1..]),
        None => word.to_string(),
    };
    text.split(' ').map(code).collect::<Vec<_>>().join(" ")
}

/// Zig's types have small letters.
fn with_small_types(text: &str) -> String {
    const TYPES: [&str; 8] = ["F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64"];
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(word) {
        let end = rest[start..].find(|c| !word(c)).map_or(rest.len(), |length| start + length);
        out += &rest[..start];
        let found = &rest[start..end];
        out += &if TYPES.contains(&found) { found.to_ascii_lowercase() } else { found.into() };
        rest = &rest[end..];
    }
    out + rest
}

/// What stands between these is not broken apart.
fn fix_groups(text: &str, open: char, close: char) -> String {
    let mut depth = 0;
    let fixed = |c: char| {
        depth += i32::from(c == open) - i32::from(c == close);
        if c == ' ' && depth > 0 {
            FIXED
        } else {
            c
        }
    };
    text.chars().map(fixed).collect()
}

/// The sentence with a capital letter, but where it begins with the name of something.
fn capitalised(text: &str) -> String {
    match text.split(' ').next() {
        Some(word) if word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase()) => {
            text[..1].to_ascii_uppercase() + &text[1..]
        }
        _ => text.into(),
    }
}

/// `A copy` as `a copy`; `F32` stays.
fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second))
            if first.is_ascii_uppercase() && !second.is_ascii_uppercase() && !second.is_ascii_digit() =>
        {
            text[..1].to_ascii_lowercase() + &text[1..]
        }
        _ => text.into(),
    }
}

/// A paragraph in lines of at most `width` letters, each behind `prefix`, with a newline after each.
pub fn wrapped(text: &str, prefix: &str, width: usize) -> String {
    // A line that begins with one of these would be a list's item.
    let glued = ["+", "-", "*"]
        .iter()
        .fold(text.to_string(), |text, sign| text.replace(&format!(" {sign} "), &format!("{FIXED}{sign} ")));
    let mut out = String::new();
    let mut line = String::new();
    for word in glued.split(' ').filter(|word| !word.is_empty()) {
        let length = prefix.chars().count() + line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && length > width {
            out += &format!("{prefix}{line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    (out + prefix + &line + "\n").replace(FIXED, " ")
}

/// A head, arguments and a tail in one line, or else filled into lines that begin below the first argument, as clang-format does.
pub fn aligned(head: &str, arguments: &[String], tail: &str, width: usize) -> String {
    let (mut out, mut column) = (String::from(head), head.chars().count());
    let indent = head.lines().last().unwrap_or("").chars().count();
    for (i, argument) in arguments.iter().enumerate() {
        let last = i + 1 == arguments.len();
        let piece = format!("{argument}{}", if last { tail } else { "," });
        let blank = usize::from(i > 0);
        if i > 0 && column + blank + piece.chars().count() > width {
            out += &format!("\n{}", " ".repeat(indent));
            column = indent;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        column += piece.chars().count();
        out += &piece;
    }
    out
}

/// The same, or else a line for each argument, as rustfmt and zig fmt do where a comma ends the last one.
pub fn listed(indent: &str, head: &str, arguments: &[String], tail: &str, width: usize) -> String {
    let line = format!("{indent}{head}{}{tail}", arguments.join(", "));
    if line.chars().count() <= width {
        return line;
    }
    let arguments: String = arguments.iter().map(|argument| format!("{indent}    {argument},\n")).collect();
    format!("{indent}{head}\n{arguments}{indent}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_those_of_a_language() {
        let toml = "title = \"T\"\n[cast]\nnumber = 1\nclass = \"other\"\ndoc = \"A copy of `a`, F32\"\nformula = \"c[i, j] = a[i]\"\n\
                    shapes = \"{k, m} by `cast`\"\ntypes = \"any\"\ngradient = \"g\"\noperands = [{ name = \"a\", role = \"read\" }]\n";
        let families = [super::super::description::family("f", toml).unwrap()];
        let op = &families[0].ops[0];
        let of = |language| Prose { language, families: &families };
        assert_eq!(of(Language::Go).summary(op), "Cast is a copy of a, F32.");
        assert_eq!(of(Language::Zig).summary(op), "A copy of `a`, f32.");
        let plain = |language| of(language).body(op).replace(FIXED, " ");
        assert!(
            plain(Language::C).starts_with("The result c: `c[i, j] = a[i]`. Shapes: {k, m} by tl_cast(). Types: any.")
        );
        assert!(plain(Language::Rust).contains("`c[i, j] = a[i]`. Shapes: `[k, m]` by [`Context::cast`]."));
        assert!(plain(Language::Go).contains("Shapes: (k, m) by [Context.Cast]."));
    }

    #[test]
    fn brackets_become_code() {
        assert_eq!(with_code("of ids[u,\u{a0}t], {k}"), "of `ids[u,\u{a0}t]`, {k}");
    }

    #[test]
    fn lines_keep_their_width() {
        assert_eq!(wrapped("aa bb cc", "// ", 8), "// aa bb\n// cc\n");
        assert_eq!(wrapped("aa b\u{a0}b cc", "// ", 8), "// aa\n// b b\n// cc\n");
        let arguments = ["aaa".to_string(), "bbb".to_string(), "ccc".to_string()];
        assert_eq!(aligned("f(", &arguments, ");", 40), "f(aaa, bbb, ccc);");
        assert_eq!(aligned("f(", &arguments, ");", 12), "f(aaa, bbb,\n  ccc);");
        assert_eq!(listed("  ", "f(", &arguments[..2], ");", 40), "  f(aaa, bbb);");
        assert_eq!(listed("", "f(", &arguments[..2], ");", 9), "f(\n    aaa,\n    bbb,\n);");
    }
}
