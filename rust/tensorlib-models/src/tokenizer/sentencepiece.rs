//! Byte-pair encoding as in SentencePiece: of all neighbours that together form a piece of the vocabulary, the pair
//! with the best score is joined, the leftmost of equals first, until no pair is left.
//!
//! The `tokenizers` crate cannot be used here: it joins by a list of pairs, which such files do not have. A list
//! derived from the scores gives other tokens if two pieces have the same score (the position in the text decides, not
//! a list) and if a piece contains a character that is not a piece itself (`n` and `é` make `né`, but no pair has an
//! unknown half).

use super::vocabulary::{Kind, Vocabulary};
use crate::{Error, Result};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// How the spaces of a text change before it is cut into pieces. They become U+2581 in any case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spaces {
    /// Adds a space at the beginning, so that a word is the same piece there as after another word.
    pub(super) prefix: bool,
    /// Runs of spaces become one space; those at both ends are removed.
    pub(super) collapse: bool,
}

pub(super) const SPACE_MARK: &str = "\u{2581}";

impl Spaces {
    pub(super) fn apply(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + text.len() / 2 + SPACE_MARK.len());
        let mark = |out: &mut String| out.push_str(SPACE_MARK);
        if self.collapse {
            for word in text.split(' ').filter(|word| !word.is_empty()) {
                if self.prefix || !out.is_empty() {
                    mark(&mut out);
                }
                out.push_str(word);
            }
            return out;
        }
        if self.prefix && !text.is_empty() {
            mark(&mut out);
        }
        for (i, word) in text.split(' ').enumerate() {
            if i > 0 {
                mark(&mut out);
            }
            out.push_str(word);
        }
        out
    }
}

struct Piece {
    id: u32,
    score: f32,
    /// It may be a step to a longer piece, but is itself split again.
    unused: bool,
}

/// A vocabulary of pieces with scores.
pub(super) struct SentencePiece {
    pieces: HashMap<Box<str>, Piece>,
    /// The token of each byte.
    bytes: [Option<u32>; 256],
    unknown: Option<u32>,
    /// Bytes of the longest piece: longer texts need no lookup.
    longest: usize,
    pub(super) spaces: Spaces,
}

/// The byte of a token that is written `<0xFF>`.
pub(super) fn byte_token(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let is_byte = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_byte.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// A part of the text, linked to its neighbours. A part of no bytes was joined to another.
struct Symbol {
    start: usize,
    len: usize,
    before: usize,
    after: usize,
}

const NONE: usize = usize::MAX;

/// Two neighbours that form a piece.
struct Pair {
    score: f32,
    left: usize,
    right: usize,
    /// The length of both when the pair was found. If it differs later, one of them was joined to another.
    len: usize,
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        // No score is NaN: the constructor refuses it.
        let by_score = self.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal);
        by_score.then(other.left.cmp(&self.left)).then(other.len.cmp(&self.len))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}

impl SentencePiece {
    /// One score per token, in the order of ids; none is NaN.
    pub(super) fn new(
        vocabulary: &Vocabulary,
        scores: &[f32],
        unknown: Option<u32>,
        spaces: Spaces,
    ) -> Result<SentencePiece> {
        let mut bytes = [None; 256];
        let mut pieces: HashMap<Box<str>, Piece> = HashMap::with_capacity(vocabulary.len());
        for (id, text, kind) in vocabulary.iter() {
            if let Some(byte) = byte_token(text) {
                bytes[usize::from(byte)].get_or_insert(id);
            } else if matches!(kind, Kind::Normal | Kind::UserDefined | Kind::Unused) && !text.is_empty() {
                let score = scores.get(id as usize).copied().unwrap_or(0.);
                pieces.entry(Box::from(text)).or_insert(Piece { id, score, unused: kind == Kind::Unused });
            }
        }
        if unknown.is_none() && bytes.contains(&None) {
            let n = bytes.iter().flatten().count();
            return Err(Error::format(format!(
                "tokenizer: {n} of the 256 byte tokens (<0x00> to <0xFF>) and no unknown token (\
                 tokenizer.ggml.unknown_token_id); one or the other is needed for text outside of the vocabulary"
            )));
        }
        let longest = pieces.keys().map(|text| text.len()).max().unwrap_or(0);
        Ok(SentencePiece { pieces, bytes, unknown, longest, spaces })
    }

    /// Appends the ids of a text. Takes n log n steps for n characters.
    pub(super) fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        let text = self.spaces.apply(text);
        let mut symbols: Vec<Symbol> = Vec::with_capacity(text.len());
        for (i, (start, character)) in text.char_indices().enumerate() {
            let (len, before) = (character.len_utf8(), i.wrapping_sub(1));
            symbols.push(Symbol { start, len, before, after: i + 1 });
        }
        let Some(last) = symbols.last_mut() else { return };
        last.after = NONE;

        let mut pairs = BinaryHeap::with_capacity(symbols.len());
        // The unused pieces that were made: their text, and the bytes of their left half.
        let mut halves = HashMap::new();
        for right in 1..symbols.len() {
            pairs.extend(self.pair(&text, &symbols, right - 1, right, &mut halves));
        }
        while let Some(Pair { left, right, len, .. }) = pairs.pop() {
            let (l, r) = (&symbols[left], &symbols[right]);
            if l.len == 0 || r.len == 0 || l.len + r.len != len {
                continue;
            }
            let (before, after) = (l.before, r.after);
            symbols[left].len = len;
            symbols[left].after = after;
            symbols[right].len = 0;
            if after != NONE {
                symbols[after].before = left;
                pairs.extend(self.pair(&text, &symbols, left, after, &mut halves));
            }
            if before != NONE {
                pairs.extend(self.pair(&text, &symbols, before, left, &mut halves));
            }
        }

        let mut follows_unknown = false;
        for symbol in symbols.iter().filter(|symbol| symbol.len > 0) {
            self.emit(&text[symbol.start..symbol.start + symbol.len], &halves, &mut follows_unknown, ids);
        }
    }

    fn pair<'t>(
        &self,
        text: &'t str,
        symbols: &[Symbol],
        left: usize,
        right: usize,
        halves: &mut HashMap<&'t str, usize>,
    ) -> Option<Pair> {
        let (l, r) = (&symbols[left], &symbols[right]);
        let len = l.len + r.len;
        if len > self.longest {
            return None;
        }
        let joined = &text[l.start..l.start + len];
        let piece = self.pieces.get(joined)?;
        if piece.unused {
            halves.insert(joined, l.len);
        }
        Some(Pair { score: piece.score, left, right, len })
    }

    /// Appends the ids of a part that nothing joins any more.
    fn emit(&self, part: &str, halves: &HashMap<&str, usize>, follows_unknown: &mut bool, ids: &mut Vec<u32>) {
        // Uses an explicit stack: a hostile vocabulary may nest halves as deep as its longest piece is long.
        let mut parts = vec![part];
        while let Some(part) = parts.pop() {
            match self.pieces.get(part) {
                Some(piece) => {
                    if let Some(half) = halves.get(part).filter(|_| piece.unused) {
                        parts.push(&part[*half..]);
                        parts.push(&part[..*half]);
                        continue;
                    }
                    ids.push(piece.id);
                    *follows_unknown = false;
                }
                None => *follows_unknown = self.emit_outside(part, *follows_unknown, ids),
            }
        }
    }

    /// Appends a character without a piece: its bytes, or otherwise one unknown token for a run of such characters.
    /// Returns whether it was an unknown token.
    fn emit_outside(&self, part: &str, follows_unknown: bool, ids: &mut Vec<u32>) -> bool {
        let token = |byte: u8| self.bytes[usize::from(byte)];
        if part.bytes().all(|byte| token(byte).is_some()) {
            ids.extend(part.bytes().filter_map(token));
            return false;
        }
        if !follows_unknown {
            ids.extend(self.unknown);
        }
        true
    }
}
