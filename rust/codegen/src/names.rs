//! Names in each language.

use std::collections::BTreeMap;

/// Names in languages that need another name.
pub type Names = BTreeMap<String, String>;

/// The languages that functions are generated for. The names in C are also those of tensorlib-sys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Cpp,
    Rust,
    Go,
    Zig,
}

impl Language {
    /// All languages, by their keys in `names`.
    pub const ALL: [(&'static str, Self); 5] =
        [("c", Self::C), ("cpp", Self::Cpp), ("rust", Self::Rust), ("go", Self::Go), ("zig", Self::Zig)];

    fn key(self) -> &'static str {
        Self::ALL.iter().find(|(_, language)| *language == self).map_or("", |(key, _)| key)
    }

    /// The most columns of a comment. C's are written in tensorlib-sys, inside an indent that the header has not.
    pub fn width(self) -> usize {
        match self {
            Self::C => 108,
            Self::Cpp => 140,
            Self::Rust => 120,
            Self::Go => 80,
            Self::Zig => 115,
        }
    }

    /// An operation's function: `tl_get_rows`, `get_rows`, `GetRows`, `getRows`.
    pub fn function(self, name: &str, names: &Names) -> String {
        match (self, names.get(self.key())) {
            (Self::C, _) => format!("tl_{name}"),
            (_, Some(own)) => own.clone(),
            (Self::Cpp | Self::Rust, None) => name.into(),
            (Self::Go, None) => camel(name),
            (Self::Zig, None) => lower_camel(name),
        }
    }

    /// The name of an operand or an attribute.
    pub fn variable(self, name: &str, names: &Names) -> String {
        match names.get(self.key()) {
            Some(own) => own.clone(),
            None if self == Self::Go => lower_camel(name),
            None => name.into(),
        }
    }

    /// Words that must not be names: the language's keywords, and names that the functions use themselves.
    fn reserved(self) -> &'static [&'static str] {
        match self {
            Self::C => {
                &["auto", "default", "double", "float", "int", "long", "register", "short", "switch", "ctx", "params"]
            }
            Self::Cpp => &[
                "and", "bool", "class", "default", "delete", "double", "float", "int", "new", "not", "operator", "or",
                "switch", "template", "this", "union", "attrs", "options",
            ],
            Self::Rust => &[
                "as", "fn", "impl", "in", "let", "match", "mod", "move", "ref", "self", "type", "use", "where", "ctx",
                "options",
            ],
            Self::Go => &[
                "chan", "default", "func", "go", "map", "range", "select", "switch", "type", "var", "c", "options",
                "params",
            ],
            Self::Zig => &[
                "align", "and", "error", "fn", "or", "switch", "test", "type", "union", "var", "c", "self", "options",
                "params", "status",
            ],
        }
    }

    /// Fails for a reserved word of the language.
    pub fn check(self, word: &str, place: &str) -> Result<(), String> {
        if !self.reserved().contains(&word) {
            return Ok(());
        }
        let key = self.key();
        Err(format!("{place}: {word:?} is taken in {self:?}: give another, names = {{ {key} = \"...\" }}"))
    }
}

/// `mul_mat_id` as `MulMatId`.
pub fn camel(name: &str) -> String {
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capital).collect()
}

/// `mul_mat_id` as `mulMatId`.
pub fn lower_camel(name: &str) -> String {
    let camel = camel(name);
    camel[..1].to_ascii_lowercase() + &camel[1..]
}
