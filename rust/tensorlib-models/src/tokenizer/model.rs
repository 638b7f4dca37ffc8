//! The algorithms that convert a word, or a text, to ids.

use super::guard::guarded;
use super::longest::LongestMatch;
use super::sentencepiece::{SentencePiece, Spaces};
use super::vocabulary::{Kind, Vocabulary};
use crate::{Error, Result};
use std::collections::HashSet;
use tokenizers::models::bpe::{Vocab, BPE};
use tokenizers::models::unigram::Unigram;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::models::ModelWrapper;
use tokenizers::Model as _;

/// An algorithm with its vocabulary.
pub(super) enum Model {
    /// An algorithm of the crate, on words that the crate has cut.
    Crate(Box<ModelWrapper>),
    /// Pieces joined by score, on whole texts.
    SentencePiece(Box<SentencePiece>),
    /// The crate's most likely pieces, on whole texts.
    Unigram(Box<Unigram>, Spaces),
    /// The longest token that fits, on whole texts.
    LongestMatch(Box<LongestMatch>),
}

impl Model {
    /// Appends the ids of a part of the text.
    pub(super) fn encode(&self, text: &str, ids: &mut Vec<u32>) -> tokenizers::Result<()> {
        match self {
            Model::Crate(model) => ids.extend(model.tokenize(text)?.iter().map(|token| token.id)),
            Model::SentencePiece(model) => model.encode(text, ids),
            Model::LongestMatch(model) => model.encode(text, ids),
            Model::Unigram(model, spaces) => {
                ids.extend(model.tokenize(&spaces.apply(text))?.iter().map(|token| token.id));
            }
        }
        Ok(())
    }
}

/// Byte-pair encoding. `merges` are pairs "left right", the most frequent first.
pub(super) fn byte_pairs(
    vocabulary: &Vocabulary,
    merges: Vec<String>,
    unknown: Option<u32>,
    (ignore_merges, byte_tokens): (bool, bool),
) -> Result<Model> {
    let key = "tokenizer.ggml.merges";
    let mut pairs = Vec::with_capacity(merges.len());
    let mut named = HashSet::new();
    let mut joined = String::new();
    for (i, merge) in merges.iter().enumerate() {
        // A leading space belongs to the left half: some vocabularies have such tokens.
        let space = merge.char_indices().skip(1).find(|(_, character)| *character == ' ');
        let Some((left, right)) = space.map(|(at, _)| (&merge[..at], &merge[at + 1..])).filter(|(_, r)| !r.is_empty())
        else {
            return Err(Error::format(format!(
                "{key}: element {i} is '{merge}'; two tokens with a space between them are expected"
            )));
        };
        joined.clear();
        joined.push_str(left);
        joined.push_str(right);
        for token in [left, right, joined.as_str()] {
            match vocabulary.id(token) {
                Some(id) => named.insert(id),
                None => {
                    return Err(Error::format(format!(
                        "{key}: element {i} is '{merge}', and there is no token '{token}'"
                    )))
                }
            };
        }
        pairs.push((left.to_string(), right.to_string()));
    }
    // Marks for the model are not text, so text must not encode to them, even if they are a word as a whole.
    let is_text = |id: u32, kind: Kind| !kind.is_special() && kind != Kind::UserDefined || named.contains(&id);
    let tokens = vocabulary.iter().filter(|(id, _, kind)| vocabulary.is_first(*id) && is_text(*id, *kind));
    let mut vocab: Vocab = tokens.map(|(id, text, _)| (text.to_string(), id)).collect();
    let unknown = unknown.and_then(|id| vocabulary.text(id).map(|text| (text.to_string(), id)));
    guarded(key, || {
        let mut builder = BPE::builder().ignore_merges(ignore_merges).byte_fallback(byte_tokens);
        if let Some((text, id)) = unknown {
            vocab.insert(text.clone(), id);
            builder = builder.unk_token(text);
        }
        Ok(Model::Crate(Box::new(builder.vocab_and_merges(vocab, pairs).build()?.into())))
    })
}

/// Longest piece first, word by word. Continuations of a word have the prefix `##` in the vocabulary.
pub(super) fn longest_first(vocabulary: &Vocabulary, unknown: u32) -> Result<Model> {
    let text_of = |id| vocabulary.text(id).unwrap_or_default().to_string();
    let tokens = vocabulary.iter().filter(|(id, _, kind)| vocabulary.is_first(*id) && !kind.is_special());
    let vocab = tokens.map(|(id, _, _)| id).chain([unknown]).map(|id| (text_of(id), id));
    guarded("tokenizer.ggml.tokens", || {
        let builder = WordPiece::builder().vocab(vocab.collect::<Vocab>()).unk_token(text_of(unknown));
        Ok(Model::Crate(Box::new(builder.continuing_subword_prefix("##".into()).build()?.into())))
    })
}

/// The pieces with the best sum of scores.
pub(super) fn most_likely(vocabulary: &Vocabulary, scores: &[f32], unknown: u32, spaces: Spaces) -> Result<Model> {
    let pieces = vocabulary.iter().zip(scores).map(|((id, text, kind), score)| {
        if kind == Kind::Normal && vocabulary.is_first(id) {
            return (text.to_string(), f64::from(*score));
        }
        // The crate needs an entry for every id. A text with a space never matches, as the texts looked up have marks
        // instead of spaces. Its score does not change the lowest score, from which that of unknown tokens is derived.
        (format!(" {id}"), f64::INFINITY)
    });
    guarded("tokenizer.ggml.tokens", || {
        Ok(Model::Unigram(Box::new(Unigram::from(pieces.collect(), Some(unknown as usize), false)?), spaces))
    })
}
