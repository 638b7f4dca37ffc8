//! Writes the texts of a description in a language's terms, in lines of its width.

use crate::description::{Attribute, Family, Op, Operand};
use crate::model::Comment;
use crate::names::Language;

/// A space at which no line is broken.
const FIXED: char = '\u{a0}';

/// Converts texts for a language.
pub struct Prose<'a> {
    pub language: Language,
    pub families: &'a [Family],
}

impl Prose<'_> {
    /// The comment of a function: its summary, the formula, the notes, and a list of everything else.
    pub fn comment(&self, op: &Op) -> Comment {
        let paragraphs = std::iter::once(self.summary(op)).chain(self.paragraphs(op)).collect();
        Comment { paragraphs, points: self.points(op) }
    }

    /// What the function does, in a sentence.
    fn summary(&self, op: &Op) -> String {
        let doc = self.translated(op, &op.doc);
        match self.language {
            Language::Go => format!("{} {}.", op.function(self.language), uncapitalised(&doc)),
            _ => format!("{doc}."),
        }
    }

    /// The formula and the notes.
    fn paragraphs(&self, op: &Op) -> Vec<String> {
        let notes = op.notes.iter().map(|notes| format!("{}.", self.translated(op, notes)));
        std::iter::once(self.formula(op)).chain(notes).collect()
    }

    /// Everything else that a caller needs to know.
    fn points(&self, op: &Op) -> Vec<String> {
        let mut points: Vec<String> = Vec::new();
        let said =
            [("Shapes", Some(op.shapes.clone())), ("Types", Some(op.types.clone())), ("Result", op.result_text())];
        for (label, text) in said {
            points.extend(text.map(|text| format!("{label}: {}.", self.translated(op, &capitalised(&text)))));
        }
        for (i, text) in op.results.iter().enumerate() {
            points.push(self.translated(op, &format!("Result {}, by `result`: {text}.", i + 1)));
        }
        let listed = |operands: &[&Operand]| enumerated(operands.iter().map(|operand| self.operand(operand)));
        match &op.also_written()[..] {
            [] => {}
            [one] => points.push(format!("{} is overwritten as well.", self.operand(one))),
            more => points.push(format!("{} are overwritten as well.", listed(more))),
        }
        match &op.optional_operands()[..] {
            [] => {}
            [one] => points.push(format!("{} is optional: {} leaves it out.", self.operand(one), self.left_out())),
            more => points.push(format!("{} are optional: {} leaves one out.", listed(more), self.left_out())),
        }
        for attribute in op.required() {
            let name = self.language.variable(&attribute.name, &attribute.names);
            points.push(format!("{}: {}.", self.quoted(&name), self.attribute(op, attribute)));
        }
        if let Some(refuses) = &op.refuses {
            let (error, refuses) = (self.invalid_argument(), self.translated(op, refuses));
            points
                .push(format!("Computing fails with {error} for {refuses}. The message names the first such element."));
        }
        points
    }

    /// An attribute's description, its valid values and its default.
    fn attribute(&self, op: &Op, attribute: &Attribute) -> String {
        self.attribute_said(op, attribute, &attribute.doc)
    }

    fn attribute_said(&self, op: &Op, attribute: &Attribute, doc: &str) -> String {
        let mut text = self.translated(op, doc);
        if let Some(valid) = attribute.valid() {
            text += &format!(". {valid}");
        }
        if let Some(default) = attribute.default_text() {
            text += &format!(". Default: {default}");
        }
        text
    }

    /// An attribute as sentences, above a member or a type.
    pub fn member(&self, op: &Op, attribute: &Attribute) -> String {
        format!("{}.", self.attribute_said(op, attribute, &capitalised(&attribute.doc)))
    }

    /// An attribute as a sentence, above the type of a choice. An enumeration that several operations share has a
    /// description of its own, except in C, where each attribute has a type.
    pub fn choice(&self, op: &Op, attribute: &Attribute) -> String {
        if let Some((_, doc)) = attribute.enumeration.as_ref().filter(|_| self.language != Language::C) {
            return format!("{}.", self.translated(op, doc));
        }
        let name = self.quoted(&self.own_name(op, &attribute.name).unwrap_or_default());
        format!("attribute {name} of {}: {}.", self.reference(op), self.attribute(op, attribute))
    }

    /// The meaning of a word of a choice, as a sentence.
    pub fn value(&self, op: &Op, attribute: &Attribute, value: usize) -> String {
        match attribute.value_docs.get(value) {
            Some(doc) => format!("{}.", self.translated(op, &capitalised(doc))),
            None => format!("{}.", self.quoted(&attribute.values[value])),
        }
    }

    fn operand(&self, operand: &Operand) -> String {
        self.quoted(&self.language.variable(&operand.name, &operand.names))
    }

    /// The argument for an operand that is left out.
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

    /// A formula as code, or as a sentence if it is in words.
    fn formula(&self, op: &Op) -> String {
        if !op.is_computed() {
            return format!("{}.", self.translated(op, &capitalised(&op.formula)));
        }
        // rustdoc treats bare brackets as links, and reads tensorlib-sys too.
        let mark = if matches!(self.language, Language::Rust | Language::C | Language::Zig) { "`" } else { "" };
        let code = |statement: &str| format!("{mark}{}{mark}", fix_groups(statement, '[', ']'));
        format!("Computes {}.", op.statements().map(code).collect::<Vec<_>>().join("; "))
    }

    fn quoted(&self, word: &str) -> String {
        match self.language {
            Language::Go | Language::Cpp => word.into(),
            _ => format!("`{word}`"),
        }
    }

    /// In backticks, the name of one of the operation's operands or attributes becomes its name in the language, and
    /// the name of an operation becomes a reference to its function. {k, m} becomes a shape in the language's notation.
    fn translated(&self, op: &Op, text: &str) -> String {
        let mut out = String::new();
        for (i, part) in text.split('`').enumerate() {
            if i % 2 == 0 {
                out += &self.plain(part);
            } else if let Some(name) = self.own_name(op, part) {
                out += &self.quoted(&name);
            } else {
                let other = self.families.iter().flat_map(|family| &family.ops).find(|op| op.name == part);
                out += &other.map_or_else(|| self.quoted(part), |op| self.reference(op));
            }
        }
        out
    }

    /// The name of an operand or an attribute in the language.
    fn own_name(&self, op: &Op, word: &str) -> Option<String> {
        if let Some(operand) = op.operands.iter().find(|operand| operand.name == word) {
            return Some(self.language.variable(&operand.name, &operand.names));
        }
        let attribute = op.attributes.iter().find(|attribute| attribute.name == word)?;
        let name = self.language.variable(&attribute.name, &attribute.names);
        let is_field = self.language == Language::Go && !attribute.required;
        Some(if is_field { name[..1].to_ascii_uppercase() + &name[1..] } else { name })
    }

    fn reference(&self, op: &Op) -> String {
        let function = op.function(self.language);
        match self.language {
            Language::C | Language::Cpp => format!("{function}()"),
            Language::Rust if op.operands.is_empty() => format!("[`Context::{function}`]"),
            Language::Rust => format!("[`Tensor::{function}`]"),
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

/// Marks words with brackets as code.
fn with_code(text: &str) -> String {
    let code = |word: &str| match word.rfind(']') {
        Some(end) => format!("`{}`{}", &word[..=end], &word[end + 1..]),
        None => word.to_string(),
    };
    text.split(' ').map(code).collect::<Vec<_>>().join(" ")
}

/// Writes types in lower case, as Zig does.
fn with_small_types(text: &str) -> String {
    const TYPES: [&str; 10] = ["F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64", "U8", "BOOL"];
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

/// Keeps text between these characters on one line.
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

/// `a, b and c`.
pub fn enumerated(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match &names[..] {
        [others @ .., before, last] => {
            format!("{}{before} and {last}", others.iter().map(|name| format!("{name}, ")).collect::<String>())
        }
        _ => names.concat(),
    }
}

/// A description's text with a capital letter, unless it begins with a name.
pub fn capitalised(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default().trim_end_matches([',', ':', ';', '.']);
    if first.len() > 1 && first.chars().all(|c| c.is_ascii_lowercase()) {
        return text[..1].to_ascii_uppercase() + &text[1..];
    }
    text.into()
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

/// A paragraph in lines of at most `width` characters, each with `prefix`, and a newline at the end of each.
pub fn wrapped(text: &str, prefix: &str, width: usize) -> String {
    filled(text, prefix, prefix, width)
}

/// [`wrapped`] with a different prefix for the first line.
pub fn filled(text: &str, first: &str, prefix: &str, width: usize) -> String {
    // A line that begins with one of these would become a list item.
    let glued = ["+", "-", "*"]
        .iter()
        .fold(text.to_string(), |text, sign| text.replace(&format!(" {sign} "), &format!("{FIXED}{sign} ")));
    let mut out = String::new();
    let mut line = String::new();
    // So would one that begins with a number and a parenthesis or a full stop.
    let is_numbered = |word: &str| word.strip_suffix([')', '.']).is_some_and(|n| n.parse::<u32>().is_ok());
    let words: Vec<&str> = glued.split(' ').filter(|word| !word.is_empty()).collect();
    let mut glued: Vec<String> = Vec::new();
    for word in words {
        match glued.last_mut().filter(|_| is_numbered(word)) {
            Some(before) => *before += &format!("{FIXED}{word}"),
            None => glued.push(word.to_string()),
        }
    }
    for word in &glued {
        let length = prefix.chars().count() + line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && length > width {
            out += &format!("{}{line}\n", if out.is_empty() { first } else { prefix });
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    let prefix = if out.is_empty() { first } else { prefix };
    (out + prefix + &line + "\n").replace(FIXED, " ")
}

/// A head, arguments and a tail on one line if they fit, otherwise with a line per argument and a trailing comma, as
/// zig fmt does.
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
        let toml = "title = \"T\"\n[cast]\nnumber = 1\nclass = \"other\"\ndoc = \"Copies `a` as F32\"\n\
                    formula = \"c[i, j] = a[i]; c[0, j] = 0\"\nnotes = \"NaN stays\"\n\
                    shapes = \"{k, m} by `cast`\"\ntypes = \"any\"\nresult = \"first operand's\"\ngradient = \"g\"\n\
                    operands = [{ name = \"a\", role = \"read\" }]\n\
                    attributes = [{ name = \"times\", kind = \"integer\", required = true, range = [1, 2147483647], \
                    names = { zig = \"factor\" }, doc = \"how often `a` repeats\" }]";
        let families = [crate::description::family("f", toml).unwrap()];
        let op = &families[0].ops[0];
        let of = |language| Prose { language, families: &families };
        assert_eq!(of(Language::Go).summary(op), "Cast copies a as F32.");
        assert_eq!(of(Language::Zig).summary(op), "Copies `a` as f32.");
        let plain = |text: &String| text.replace(FIXED, " ");
        let paragraphs: Vec<String> = of(Language::C).comment(op).paragraphs.iter().map(plain).collect();
        assert_eq!(paragraphs[1..], ["Computes `c[i, j] = a[i]`; `c[0, j] = 0`.", "NaN stays."]);
        let points = |language| -> Vec<String> { of(language).comment(op).points.iter().map(plain).collect() };
        assert_eq!(points(Language::C)[0], "Shapes: {k, m} by tl_cast().");
        let rust = ["Shapes: `[k, m]` by [`Tensor::cast`].", "Types: Any.", "Result: The type of `a`."];
        assert_eq!(points(Language::Rust)[..3], rust);
        assert_eq!(points(Language::Go)[0], "Shapes: (k, m) by [Context.Cast].");
        assert_eq!(points(Language::Zig)[3], "`factor`: how often `a` repeats. Range: 1 to 2^31 - 1.");
    }

    #[test]
    fn attributes_say_what_is_valid_and_the_default() {
        let attribute = |text: &str| {
            let toml = format!(
                "title = \"T\"\n[cast]\nnumber = 1\nclass = \"other\"\ndoc = \"Copies\"\nformula = \"c[i] = a[i]\"\n\
                 shapes = \"one\"\ntypes = \"any\"\ngradient = \"g\"\noperands = [{{ name = \"a\", role = \"read\" }}]\n\
                 attributes = [{{ {text}, doc = \"it, with `other_one`\" }}, {{ name = \"other_one\", kind = \"bool\", doc = \"d\" }}]"
            );
            let families = [crate::description::family("f", &toml).unwrap()];
            let op = &families[0].ops[0];
            Prose { language: Language::Go, families: &families }.member(op, &op.attributes[0])
        };
        assert_eq!(attribute("name = \"flag\", kind = \"bool\""), "It, with OtherOne. Default: false.");
        let integer = |rest: &str| attribute(&format!("name = \"n\", kind = \"integer\", {rest}"));
        assert_eq!(integer("range = [0, 3]"), "It, with OtherOne. Range: 0 to 3. Default: 0.");
        assert_eq!(integer("range = [1, inf], default = 1"), "It, with OtherOne. At least 1. Default: 1.");
        assert_eq!(integer("range = [0, 9007199254740992]"), "It, with OtherOne. At least 0. Default: 0.");
        assert_eq!(integer("range = [-9007199254740991, 9007199254740991]"), "It, with OtherOne. Default: 0.");
        let choice = "name = \"way\", kind = \"enum\", values = [\"on\", \"off\"]";
        assert_eq!(attribute(choice), "It, with OtherOne. Default: on.");
        assert_eq!(attribute(&format!("{choice}, required = true")), "It, with OtherOne.");
    }

    #[test]
    fn brackets_become_code() {
        assert_eq!(with_code("of ids[u,\u{a0}t], {k}"), "of `ids[u,\u{a0}t]`, {k}");
    }

    #[test]
    fn lines_keep_their_width() {
        assert_eq!(wrapped("aa bb cc", "// ", 8), "// aa bb\n// cc\n");
        assert_eq!(wrapped("aa b\u{a0}b cc", "// ", 8), "// aa\n// b b\n// cc\n");
        // Neither a sign nor a number with a parenthesis begins a line, where Markdown would see a list.
        assert_eq!(wrapped("aa + bb", "// ", 5), "// aa +\n// bb\n");
        assert_eq!(wrapped("(a - 1) b", "// ", 7), "// (a - 1)\n// b\n");
        let arguments = ["aaa".to_string(), "bbb".to_string(), "ccc".to_string()];
        assert_eq!(listed("  ", "f(", &arguments[..2], ");", 40), "  f(aaa, bbb);");
        assert_eq!(listed("", "f(", &arguments[..2], ");", 9), "f(\n    aaa,\n    bbb,\n);");
    }
}
