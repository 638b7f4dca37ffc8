//! Two texts as one list of tokens, as models that compare texts take them.

use super::Tokenizer;
use crate::{Error, Result};

/// A part of the tokens of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A special token.
    Token(u32),
    /// The tokens of the first text.
    First,
    /// The tokens of the second text.
    Second,
}

/// The parts of a pair in their order, each with its token type.
pub(super) type Pair = Vec<(Part, u32)>;

/// `[CLS] first [SEP] second [SEP]`: with one separator after the first text or two, and with this type for the second
/// text and the token after it.
pub(super) fn usual(prefix: Option<u32>, suffix: Option<u32>, separators: usize, second: u32) -> Pair {
    let token = |token: Option<u32>, kind| token.map(|token| (Part::Token(token), kind));
    let mut pair: Pair = token(prefix, 0).into_iter().chain([(Part::First, 0)]).collect();
    pair.extend(std::iter::repeat_n(suffix, separators).filter_map(|suffix| token(suffix, 0)));
    pair.push((Part::Second, second));
    pair.extend(token(suffix, second));
    pair
}

impl Tokenizer {
    /// The tokens of two texts, the token type of each, and whether the longer text was cut so that all tokens are at
    /// most `most`.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`]; [`ErrorKind::Unsupported`](crate::ErrorKind) if the files define no pairs, and
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if `most` has no room for the special tokens.
    pub(crate) fn encode_pair(&self, texts: [&str; 2], most: usize) -> Result<(Vec<u32>, Vec<u32>, bool)> {
        let pair = &self.parts.pair;
        if pair.is_empty() {
            return Err(Error::unsupported("tokenizer: its files define no tokens around a pair of texts"));
        }
        let special = pair.iter().filter(|(part, _)| matches!(part, Part::Token(_))).count();
        let room = most.checked_sub(special).ok_or_else(|| {
            Error::invalid(format!("{most} tokens have no room for the {special} special ones of a pair"))
        })?;
        let [mut first, mut second] = [self.encode(texts[0], false, false)?, self.encode(texts[1], false, false)?];
        let (keep_first, keep_second) = kept(first.len(), second.len(), room);
        let was_cut = keep_first < first.len() || keep_second < second.len();
        self.keep(&mut first, keep_first);
        self.keep(&mut second, keep_second);
        let (mut ids, mut types) = (Vec::with_capacity(most), Vec::with_capacity(most));
        for (part, kind) in pair {
            match part {
                Part::Token(token) => ids.push(*token),
                Part::First => ids.extend(&first),
                Part::Second => ids.extend(&second),
            }
            types.resize(ids.len(), *kind);
        }
        Ok((ids, types, was_cut))
    }

    /// Cuts tokens on the side that the files choose.
    fn keep(&self, tokens: &mut Vec<u32>, most: usize) {
        match self.parts.usage.truncates_left {
            true => drop(tokens.drain(..tokens.len() - most)),
            false => tokens.truncate(most),
        }
    }
}

/// How many tokens of two texts stay: the longer one is cut first, as the crate `tokenizers` does. Of an odd number, the
/// text that was longer gets the larger half, and the second one of two equally long texts.
fn kept(first: usize, second: usize, room: usize) -> (usize, usize) {
    if first + second <= room {
        return (first, second);
    }
    let shorter = first.min(second).min(room / 2);
    match first > second {
        true => (room - shorter, shorter),
        false => (shorter, room - shorter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Removes a token from the longer text until both fit.
    fn one_by_one(mut first: usize, mut second: usize, room: usize) -> (usize, usize) {
        let first_was_longer = first > second;
        while first + second > room {
            match first > second || (first == second && !first_was_longer) {
                true => first -= 1,
                false => second -= 1,
            }
        }
        (first, second)
    }

    #[test]
    fn the_longer_text_is_cut_first() {
        for (first, second, room) in (0..12).flat_map(|a| (0..12).flat_map(move |b| (0..14).map(move |c| (a, b, c)))) {
            let found = kept(first, second, room);
            assert_eq!(found, one_by_one(first, second, room), "{first} and {second} tokens, room for {room}");
        }
    }

    #[test]
    fn tokens_around_a_pair() {
        let (first, second) = ((Part::First, 0), (Part::Second, 1));
        let token = |id, kind| (Part::Token(id), kind);
        assert_eq!(usual(Some(1), Some(2), 1, 1), [token(1, 0), first, token(2, 0), second, token(2, 1)]);
        let twice = [token(1, 0), first, token(2, 0), token(2, 0), (Part::Second, 0), token(2, 0)];
        assert_eq!(usual(Some(1), Some(2), 2, 0), twice);
    }
}
