//! The scores of pieces: those of tokenizer.model if a folder has it, or scores that join pieces in the same order.

use super::family::pairs;
use crate::settings::read_text;
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::Path;

/// The score of tokens that are no pieces: nothing is joined to them before anything else.
const LOWEST: f32 = -1e4;

/// The scores of all tokens of a vocabulary with byte tokens.
pub fn of_pieces(folder: &Path, json: &Json, tokenizer: &Tokenizer) -> Result<Vec<f32>> {
    let vocabulary = &tokenizer.parts.vocabulary;
    let path = folder.join("tokenizer.model");
    let known: HashMap<String, f32> = match path.exists() {
        true => pieces(&read_text(&path)?)
            .ok_or_else(|| Error::format(format!("{}: is no model of SentencePiece", path.display())))?,
        false => {
            let mut found = HashMap::new();
            for (rank, (left, right)) in pairs(&json["model"])?.into_iter().enumerate() {
                // The first way to make a piece decides.
                found.entry(left + &right).or_insert(-(rank as f32));
            }
            found
        }
    };
    let score = |text: Option<&str>| text.and_then(|text| known.get(text).copied());
    let ids = 0..u32::try_from(vocabulary.len()).unwrap_or(0);
    Ok(ids.map(|id| score(vocabulary.text(id)).unwrap_or(LOWEST)).collect())
}

/// The scores of all tokens of a unigram model.
pub fn of_unigram(json: &Json, n: usize) -> Result<Vec<f32>> {
    let wrong = || Error::format("model.vocab: pairs of a text and a score are expected");
    let list = json["model"]["vocab"].as_array().ok_or_else(wrong)?;
    let score = |piece: &Json| piece[1].as_f64().map(|score| score as f32).ok_or_else(wrong);
    let mut scores: Vec<f32> = list.iter().map(score).collect::<Result<_>>()?;
    scores.resize(n.max(scores.len()), 0.0);
    Ok(scores)
}

/// The texts and scores of the pieces in a tokenizer.model, a message in the wire format of protocol buffers. Field 1 is
/// a piece, whose field 1 is its text and field 2 its score as F32.
fn pieces(mut bytes: &[u8]) -> Option<HashMap<String, f32>> {
    let mut found = HashMap::new();
    while !bytes.is_empty() {
        let Field::Bytes(1, mut piece) = field(&mut bytes)? else { continue };
        let (mut text, mut score) = (None, 0.0);
        while !piece.is_empty() {
            match field(&mut piece)? {
                Field::Bytes(1, inner) => text = Some(String::from_utf8(inner.to_vec()).ok()?),
                Field::Fixed32(2, bits) => score = f32::from_bits(bits),
                _ => {}
            }
        }
        found.insert(text?, score);
    }
    (!found.is_empty()).then_some(found)
}

/// A field of a message, with its number.
enum Field<'a> {
    Bytes(u64, &'a [u8]),
    Fixed32(u64, u32),
    Other,
}

fn field<'a>(bytes: &mut &'a [u8]) -> Option<Field<'a>> {
    let key = varint(bytes)?;
    let number = key >> 3;
    Some(match key & 7 {
        0 => {
            varint(bytes)?;
            Field::Other
        }
        1 => {
            take(bytes, 8)?;
            Field::Other
        }
        2 => {
            let n = usize::try_from(varint(bytes)?).ok()?;
            Field::Bytes(number, take(bytes, n)?)
        }
        5 => Field::Fixed32(number, u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?)),
        _ => return None,
    })
}

fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(n)?;
    *bytes = rest;
    Some(first)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str, score: f32) -> Vec<u8> {
        let inner =
            [&[0x0a, text.len() as u8][..], text.as_bytes(), &[0x15], &score.to_le_bytes(), &[0x18, 1]].concat();
        [&[0x0a, inner.len() as u8][..], &inner].concat()
    }

    #[test]
    fn pieces_of_a_model() {
        let trainer = [0x12, 3, 0x08, 0x96, 0x01];
        let model = [piece("<unk>", 0.0), piece("ab", -1.5), trainer.to_vec()].concat();
        let found = pieces(&model).unwrap();
        assert_eq!((found.len(), found["ab"], found["<unk>"]), (2, -1.5, 0.0));
        for end in 1..model.len() {
            let _ = pieces(&model[..end]); // a part of a model is none, or has fewer pieces
        }
        for broken in [&b""[..], b"{\"a\": 1}", &[0x0a, 200, 1], &[0xff; 20], &[0x0a, 2, 0x0a, 9]] {
            assert!(pieces(broken).is_none(), "{broken:?}");
        }
    }
}
