//! Whether two tokenizers give the same tokens.

use crate::files::listed;
use crate::tokenizer::Tokenizer;
use crate::warnings::Warnings;
use crate::Result;

/// Texts that tokenizers divide in different ways: words, cases, numbers, spaces, line ends, punctuation, scripts,
/// composed and decomposed letters, and bytes that are no letters.
const TEXTS: [&str; 36] = [
    "a",
    " ",
    "Hello world",
    " Hello  world ",
    "Hello, y'all! How are you?",
    "I'm sure they've said we'd'nt. IT'S SHE'LL",
    "camelCase HTTPServer snake_case x86_64",
    "1 12 123 1234 12345 123456789 3.14159 1,000,000",
    "2026-11-28T16:11:29Z",
    "a\nb\r\nc\n\n\nd\te\t\tf",
    "   leading and trailing   ",
    "\n \n  \n   x",
    "fn main() { println!(\"{:?}\", vec![1, 2]); } // ok",
    "    if x >= 0 && y != 1:\n\t\treturn x ** 2",
    "https://example.org/a/b?c=d&e=f#g",
    "((([[[{{{<<<>>>}}}]]])))",
    "!!! ... ??? --- === *** ### $$$ %%%",
    "caf\u{e9} na\u{ef}ve \u{fc}ber \u{df} \u{c5}ngstr\u{f6}m",
    "cafe\u{301} u\u{308}ber A\u{30a}",
    "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}, \u{43c}\u{438}\u{440}! \u{41c}\u{418}\u{420}",
    "\u{4f60}\u{597d}\u{ff0c}\u{4e16}\u{754c}\u{3002}\u{6f22}\u{5b57}",
    "\u{3053}\u{3093}\u{306b}\u{3061}\u{306f} \u{30ab}\u{30bf}\u{30ab}\u{30ca}",
    "\u{c548}\u{b155}\u{d558}\u{c138}\u{c694}",
    "\u{645}\u{631}\u{62d}\u{628}\u{627} \u{628}\u{627}\u{644}\u{639}\u{627}\u{644}\u{645}",
    "\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947} \u{967}\u{968}\u{969}",
    "\u{e2a}\u{e27}\u{e31}\u{e2a}\u{e14}\u{e35}",
    "\u{1f600}\u{1f680} \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{2764}\u{fe0f}",
    "\u{201c}quoted\u{201d} \u{2018}x\u{2019} \u{2013} \u{2014} \u{2026}",
    "x\u{b2} \u{bd} \u{2167} \u{2460} \u{ff11}\u{ff12}\u{ff13}",
    "\u{a0}no\u{a0}break\u{2003}em\u{3000}wide",
    "\u{1}\u{7f}\u{200b}\u{feff}",
    "\u{2581}mark \u{2581}\u{2581}two",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb",
    "The quick brown fox jumps over the lazy dog.",
    "Zw\u{f6}lf Boxk\u{e4}mpfer jagen Viktor quer \u{fc}ber den gro\u{df}en Sylter Deich",
    "ThE QuIcK bRoWn",
];

/// The first of some texts to which the two give other tokens, or whose tokens they give other texts.
pub fn first_difference(folder: &Tokenizer, file: &Tokenizer) -> Result<Option<&'static str>> {
    for text in TEXTS {
        let (ours, theirs) = (folder.encode(text, true, false)?, file.encode(text, true, false)?);
        if ours != theirs || folder.decode(&ours, true) != file.decode(&ours, true) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Warns of tokens that are cut out of texts in another way. GGUF files do not say which spaces belong to them.
pub fn warn_of_added(folder: &Tokenizer, file: &Tokenizer, warnings: &Warnings) -> Result<()> {
    let mut others = Vec::new();
    for (_, token) in &folder.parts.added {
        let text = format!("a {} b", token.content);
        if folder.encode(&text, false, true)? != file.encode(&text, false, true)? {
            others.push(token.content.clone());
        }
    }
    if !others.is_empty() {
        let tokens = listed(others);
        warnings.add(format!(
            "spaces around these tokens are treated in another way, as GGUF files do not say it: {tokens}"
        ));
    }
    Ok(())
}
