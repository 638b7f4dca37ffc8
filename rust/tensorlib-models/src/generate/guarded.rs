//! Keeps control tokens that are written out in a conversation's texts from being parsed.
//!
//! In a template's result, control tokens of the template and of the texts look alike. So before the template runs, a
//! mark is inserted into each control token in the texts. It keeps the token from being recognised, and is removed
//! before words are cut.

use crate::tokenizer::Tokenizer;

/// Characters that Unicode reserves as non-characters: texts contain none of them, or not all.
const MARKS: std::ops::RangeInclusive<char> = '\u{FDD0}'..='\u{FDEF}';

/// A mark that occurs in none of these texts.
pub fn mark<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Option<char> {
    MARKS.into_iter().find(|mark| !texts.clone().any(|text| text.contains(*mark)))
}

/// The text with the mark after the first character of each control token that is written out in it.
pub fn with_marks(text: &str, mark: char, tokenizer: &Tokenizer) -> String {
    let mut places: Vec<usize> = Vec::new();
    for control in tokenizer.control_texts().filter(|control| text.contains(control)) {
        // Finds overlapping tokens too, which match_indices would not.
        let starts = text.char_indices().filter(|(at, _)| text[*at..].starts_with(control));
        places.extend(starts.map(|(at, first)| at + first.len_utf8()));
    }
    places.sort_unstable();
    places.dedup();
    let (mut marked, mut at) = (String::with_capacity(text.len() + 3 * places.len()), 0);
    for place in places {
        marked.push_str(&text[at..place]);
        marked.push(mark);
        at = place;
    }
    marked + &text[at..]
}
