//! Translates expressions of tokenizer.json, which use Oniguruma's syntax. Some classes mean something else in the
//! crate used here, so they are written out. The reference is Oniguruma 6.9, as built into the crate `tokenizers` that
//! files are made with.

/// The contents of named classes, in the crate's syntax.
const WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}";
/// Outside of brackets the class also includes the other numbers of Latin-1.
const WORD_ALONE: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}";
const ALNUM: &str = r"\p{Alphabetic}\p{Nd}";
const GRAPH: &str = r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}";
const PRINT: &str = r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\p{Zs}";
const BLANK: &str = r"\p{Zs}\t";
const HEX: &str = "0-9a-fA-F";
const LINE_END: &str = r"(?:\r\n|[\n-\r\x{85}\x{2028}\x{2029}])";

/// The class `[:NAME:]`.
fn bracket(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => ALNUM,
        "alpha" => r"\p{Alphabetic}",
        "ascii" => r"\x00-\x7F",
        "blank" => BLANK,
        "cntrl" => r"\p{Cc}",
        "digit" => r"\p{Nd}",
        "graph" => GRAPH,
        "lower" => r"\p{Lowercase}",
        "print" => PRINT,
        "punct" => r"\p{P}\p{S}",
        "space" => r"\s",
        "upper" => r"\p{Uppercase}",
        "word" => WORD,
        "xdigit" => HEX,
        _ => return None,
    })
}

/// The class `\p{NAME}`, if the crate does not have it or defines it differently.
fn property(name: &str, is_inside: bool) -> Option<&'static str> {
    let name: String = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).collect::<String>().to_lowercase();
    Some(match name.as_str() {
        "word" if is_inside => WORD,
        "word" => WORD_ALONE,
        "alnum" => ALNUM,
        "graph" => GRAPH,
        "print" => PRINT,
        "blank" => BLANK,
        "xdigit" => HEX,
        _ => return None,
    })
}

/// A class on its own, or as a part of another.
fn class(items: &str, is_negated: bool, is_inside: bool) -> String {
    match (is_negated, is_inside) {
        (true, _) => format!("[^{items}]"),
        (false, true) => items.into(),
        (false, false) => format!("[{items}]"),
    }
}

/// The expression in the crate's syntax.
pub(super) fn translated(pattern: &str) -> String {
    let (mut out, mut rest, mut depth) = (String::with_capacity(pattern.len()), pattern, 0usize);
    while let Some(first) = rest.chars().next() {
        let (text, taken) = match first {
            '\\' => escape(rest, depth > 0),
            '[' if depth > 0 && rest.starts_with("[:") => match posix(rest) {
                Some(found) => found,
                None => ("[".to_string(), 1),
            },
            _ => (first.to_string(), first.len_utf8()),
        };
        if taken == 1 {
            depth = match first {
                '[' => depth + 1,
                ']' => depth.saturating_sub(1),
                _ => depth,
            };
        }
        out.push_str(&text);
        rest = &rest[taken..];
        // A bracket at the beginning of a class is an ordinary character.
        if first == '[' && taken == 1 {
            let negated = rest.starts_with('^');
            if rest[usize::from(negated)..].starts_with(']') {
                out.push_str(if negated { "^\\]" } else { "\\]" });
                rest = &rest[1 + usize::from(negated)..];
            }
        }
    }
    out
}

/// `[:alpha:]` and `[:^alpha:]`, with their length in bytes.
fn posix(rest: &str) -> Option<(String, usize)> {
    let end = rest.find(":]")?;
    let name = &rest[2..end];
    let (negated, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
    Some((class(bracket(name)?, negated, true), end + 2))
}

/// An escape sequence, with its length in bytes.
fn escape(rest: &str, is_inside: bool) -> (String, usize) {
    let Some(next) = rest[1..].chars().next() else { return (rest.to_string(), rest.len()) };
    let taken = 1 + next.len_utf8();
    let word = if is_inside { WORD } else { WORD_ALONE };
    let text = match (next, is_inside) {
        ('w', _) => class(word, false, is_inside),
        ('W', _) => class(word, true, is_inside),
        ('b', true) => r"\x08".into(),
        ('b', false) => format!("(?:(?<=[{word}])(?![{word}])|(?<![{word}])(?=[{word}]))"),
        ('B', false) => format!("(?:(?<=[{word}])(?=[{word}])|(?<![{word}])(?![{word}]))"),
        ('R', false) => LINE_END.into(),
        ('p' | 'P', _) => {
            let named = rest[taken..].strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
            let Some(name) = named else { return (rest[..taken].into(), taken) };
            let whole = taken + name.len() + 2;
            let (caret, plain) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
            let negated = (next == 'P') != caret;
            match property(plain, is_inside) {
                Some(items) => return (class(items, negated, is_inside), whole),
                None => return (format!("\\{}{{{plain}}}", if negated { 'P' } else { 'p' }), whole),
            }
        }
        _ => rest[..taken].into(),
    };
    (text, taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fancy_regex::Regex;

    /// The number of characters from U+0001 on that Oniguruma finds, and the sum of their code points.
    const FOUND: &[(&str, u64, u64)] = &[
        (r"\w", 144671, 15621630088),
        (r"\W", 967392, 604885244792),
        (r"[\w]", 144665, 15621628979),
        (r"[^\w]", 967398, 604885245901),
        (r"[\W]", 967398, 604885245901),
        (r"[\w-]", 144666, 15621629024),
        (r"[^\s\w]", 967373, 604885104315),
        ("[[:alpha:]]", 142759, 15314421907),
        ("[[:digit:]]", 760, 39891450),
        ("[[:alnum:]]", 143519, 15354313357),
        ("[[:upper:]]", 1978, 97237165),
        ("[[:lower:]]", 2569, 117919901),
        ("[[:space:]]", 25, 141586),
        ("[[:punct:]]", 9369, 649005466),
        ("[[:word:]]", 144665, 15621628979),
        ("[[:cntrl:]]", 64, 5215),
        ("[[:blank:]]", 18, 124942),
        ("[[:graph:]]", 292447, 154231711121),
        ("[[:print:]]", 292464, 154231836054),
        ("[[:xdigit:]]", 22, 1527),
        ("[[:^alpha:]]", 969304, 605192452973),
        ("[^[:punct:]]", 1102694, 619857869414),
        ("[[:ascii:]]", 127, 8128),
        (r"\p{Alnum}", 143519, 15354313357),
        (r"\p{Word}", 144671, 15621630088),
        (r"\p{Graph}", 292447, 154231711121),
        (r"\p{Print}", 292464, 154231836054),
        (r"\p{Blank}", 18, 124942),
        (r"\p{XDigit}", 22, 1527),
        (r"\p{Cntrl}", 64, 5215),
        (r"\p{Punct}", 855, 28835015),
        (r"\P{Word}", 967392, 604885244792),
        (r"\p{^Word}", 967392, 604885244792),
        (r"[\p{Word}]", 144665, 15621628979),
        (r"[^\p{Alnum}]", 968544, 605152561523),
    ];

    #[test]
    fn classes_hold_what_oniguruma_finds() {
        let all: String = (1..=0x10_FFFF).filter_map(char::from_u32).collect();
        for (pattern, count, sum) in FOUND {
            let regex = Regex::new(&translated(pattern)).unwrap();
            let (mut n, mut total) = (0, 0);
            for found in regex.find_iter(&all) {
                for character in found.unwrap().as_str().chars() {
                    (n, total) = (n + 1, total + u64::from(u32::from(character)));
                }
            }
            assert_eq!((n, total), (*count, *sum), "{pattern}: {}", translated(pattern));
        }
    }

    /// Compared with the parts into which the Python package `tokenizers` 0.23 cuts these texts: matches and the text
    /// between them.
    #[test]
    fn expressions_find_what_oniguruma_finds() {
        let parts = |pattern: &str, text: &str| -> Vec<String> {
            let regex = Regex::new(&translated(pattern)).unwrap();
            regex.find_iter(text).map(|found| found.unwrap().as_str().to_string()).collect()
        };
        assert_eq!(parts(r"\bx\b", "x x½ ½x x² x-x xé"), ["x", "x", "x"]);
        assert_eq!(parts(r"\w+", "x½ a\u{200d}b"), ["x½", "a", "b"]);
        assert_eq!(parts(r"[^\w]+", "x½y"), ["½"]);
        assert_eq!(parts(r"[]a]+|[^]b]", "]ab c"), ["]a", " ", "c"]);
        assert_eq!(parts(r"[a[:digit:]\]]+", "a1]b٣"), ["a1]", "٣"]);
        assert_eq!(parts(r"\\w", r"\w w"), [r"\w"]);
    }

    #[test]
    fn what_both_read_alike_stays() {
        for pattern in
            [r"'s|'t| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)", r"(?i:'ll)|[^\r\n\p{L}\p{N}]?\p{L}+", r"\p{N}{1,3}"]
        {
            assert_eq!(translated(pattern), pattern);
        }
    }
}
