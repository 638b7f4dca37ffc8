//! Text from outside in a conversation: control tokens that are written out in it stay text.
//!
//! A template puts the text among control tokens of its own, so that afterwards both look alike. Before, a mark is put into
//! each control token in the text. It keeps the token from being found, and is taken out before words are cut.

use crate::tokenizer::Tokenizer;

/// Characters that Unicode assigns to nothing: texts have none of them, or not all.
const MARKS: std::ops::RangeInclusive<char> = '\u{FDD0}'..='\u{FDEF}';

/// A mark that none of these texts has in it.
pub fn mark<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Option<char> {
    MARKS.into_iter().find(|mark| !texts.clone().any(|text| text.contains(*mark)))
}

/// The text with the mark behind the first character of each control token that is written out in it.
pub fn with_marks(text: &str, mark: char, tokenizer: &Tokenizer) -> String {
    let mut places: Vec<usize> = Vec::new();
    for control in tokenizer.control_texts().filter(|control| text.contains(control)) {
        // Overlapping ones too, so not by match_indices.
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
