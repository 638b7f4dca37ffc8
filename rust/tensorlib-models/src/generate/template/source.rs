//! Rewrites a template's text where the crate differs from Jinja2.

use super::percent;
use super::quotes::Quotes;

/// Replacements for transformers' own tag, which marks an assistant's text for training: a block without effect.
const TAGS: [(&str, &str); 2] = [("generation", "with"), ("endgeneration", "endwith")];

/// The template, rewritten for the crate.
pub fn prepared(text: &str) -> String {
    // Jinja2 normalises line ends.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut out, mut rest) = (String::with_capacity(text.len()), text.as_str());
    let mut is_raw = false;
    while let Some(at) = rest.find("{%").into_iter().chain(rest.find("{{")).chain(rest.find("{#")).min() {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let close = match &rest[..2] {
            "{%" => "%}",
            "{{" => "}}",
            _ => "#}",
        };
        let Some(end) = end_of(rest, close) else { break };
        let block = &rest[..end];
        rest = &rest[end..];
        let inner = block[2..block.len() - 2].trim_matches(['-', '+', ' ', '\t', '\n']);
        is_raw = match inner {
            "raw" => true,
            "endraw" => false,
            _ => is_raw,
        };
        if is_raw || close == "#}" {
            out.push_str(block);
        } else if let Some((tag, ours)) = TAGS.iter().find(|(tag, _)| close == "%}" && inner == *tag) {
            out.push_str(&block.replacen(tag, ours, 1));
        } else {
            out.push_str(&percent::rewritten(block));
        }
    }
    out + rest
}

/// The position after a block, whose closing delimiter may also occur in a string.
fn end_of(block: &str, close: &str) -> Option<usize> {
    if close == "#}" {
        return block.find(close).map(|at| at + 2);
    }
    let mut quotes = Quotes::default();
    let mut places = block.char_indices().skip(2);
    let found = places.find(|(at, character)| quotes.is_outside(*character) && block[*at..].starts_with(close));
    found.map(|(at, _)| at + 2)
}
