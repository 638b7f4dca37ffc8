//! Converts text to tokens and back, as the model's files define it.
//!
//! A [`Tokenizer`] comes from a folder of a model hub, or from the metadata of a GGUF file. Both give the same ids for
//! the same model.

mod charsmap;
mod decoder;
mod escapes;
mod expressions;
mod gguf;
mod guard;
mod hub;
mod hub_settings;
mod longest;
mod metadata;
mod model;
mod oniguruma;
mod pairs;
mod pretokenizers;
mod sentencepiece;
mod steps;
mod stream;
mod tables;
mod texts;
mod vocabulary;
mod world;
mod written;

pub(crate) use stream::Pending;
pub use stream::Stream;
pub(crate) use texts::TokenTexts;
#[cfg(feature = "hub")]
pub(crate) use world::FILE as WORLD_FILE;
pub(crate) use written::gguf_keys;

use crate::warnings::Warnings;
use crate::{Error, Result};
use decoder::Decoder;
use expressions::Work;
use guard::guarded;
use model::Model;
use pairs::Pair;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use steps::{Normalizers, PreTokenizers, Watched};
use tensorlib::Gguf;
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::{AddedToken, AddedVocabulary, OffsetReferential, OffsetType};
use vocabulary::{Roles, Vocabulary};

/// Converts text to the ids of tokens, and ids to text. Immutable and thread-safe.
///
/// ```no_run
/// use tensorlib_models::tokenizer::Tokenizer;
/// let tokenizer = Tokenizer::from_gguf(&tensorlib::Gguf::open("model.gguf")?)?;
/// let ids = tokenizer.encode("Good day", true, false)?;
/// assert_eq!(tokenizer.decode(&ids, true), "Good day");
/// let mut stream = tokenizer.stream();
/// for id in ids {
///     print!("{}", stream.push(id));
/// }
/// print!("{}", stream.finish());
/// # Ok::<(), tensorlib_models::Error>(())
/// ```
pub struct Tokenizer {
    parts: Arc<Parts>,
    /// Special tokens and others that are cut out of the text first.
    added: AddedVocabulary,
    /// The tokens to cut out without the special ones.
    added_text: Arc<AddedVocabulary>,
    ends: BTreeSet<u32>,
    warnings: Warnings,
    /// What constraints need of the vocabulary, made for the first one.
    #[cfg(feature = "grammar")]
    pub(crate) grammars: std::sync::OnceLock<crate::Result<crate::generate::Grammars>>,
}

/// The most spaces in a row. The crate's expressions fail if they have to remember a million positions, and "all spaces
/// but the last" remembers one per space.
const LONGEST_SPACE: usize = 900_000;

/// The contents of a tokenizer's files.
struct Parts {
    vocabulary: Vocabulary,
    /// Tokens that are cut out of a text, with their ids.
    added: Vec<(u32, AddedToken)>,
    normalizers: Normalizers,
    pre_tokenizers: PreTokenizers,
    model: Model,
    decoder: Decoder,
    /// The tokens put before a text and after it.
    prefix: Vec<u32>,
    suffix: Vec<u32>,
    /// The parts of a pair of texts; empty if the files define no pairs.
    pair: Pair,
    roles: Roles,
    usage: Usage,
}

/// What a tokenizer's files say of answers, long texts and templates.
#[derive(Default)]
struct Usage {
    /// Tokens other than eos that the file names as ends.
    ends: Vec<u32>,
    /// Texts that end an answer.
    stops: Vec<String>,
    /// Tokens that the model never writes, sorted.
    suppressed: Vec<u32>,
    /// Whether texts that are too long lose their beginning.
    truncates_left: bool,
    chat_template: Option<String>,
    /// The template of pairs that the model judges.
    rerank_template: Option<String>,
}

impl Tokenizer {
    /// Reads `tokenizer.json` in a folder, or `rwkv_vocab_v20230424.txt`, and `tokenizer_config.json`, `special_tokens_map.json`,
    /// `generation_config.json` and `chat_template.jinja` if they exist.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind) for a file that cannot be read, [`ErrorKind::Format`](crate::ErrorKind) for
    /// an invalid one, [`ErrorKind::Unsupported`](crate::ErrorKind) for a part that this crate does not support.
    pub fn from_hub(folder: &Path) -> Result<Self> {
        Self::of_folder(folder, &Warnings::default())
    }

    pub(crate) fn of_folder(folder: &Path, warnings: &Warnings) -> Result<Self> {
        let parts = match world::file_in(folder) {
            Some(file) => world::read(folder, &file, warnings)?,
            None => hub::read(folder, warnings)?,
        };
        Self::new(parts, warnings)
    }

    /// Reads the keys `tokenizer.ggml.*` and `tokenizer.chat_template` of a GGUF file.
    ///
    /// # Errors
    /// [`ErrorKind::Format`](crate::ErrorKind) for a key that is missing or invalid,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) for a model or a pre-tokenizer that this crate does not support.
    /// The message names the key.
    pub fn from_gguf(file: &Gguf) -> Result<Self> {
        Self::of_gguf(file, &Warnings::default())
    }

    pub(crate) fn of_gguf(file: &Gguf, warnings: &Warnings) -> Result<Self> {
        Self::new(gguf::read(file, warnings)?, warnings)
    }

    fn new(parts: Parts, warnings: &Warnings) -> Result<Self> {
        let normalizers = &parts.normalizers;
        let text = parts.added.iter().filter(|(_, token)| !token.special);
        let added_text = added_vocabulary(text, normalizers)?;
        let added = added_vocabulary(parts.added.iter(), normalizers)?;
        let ends = vocabulary::ends(&parts.vocabulary, parts.usage.ends.iter().copied().chain(parts.roles.eos));
        Ok(Tokenizer {
            parts: Arc::new(parts),
            added,
            added_text: Arc::new(added_text),
            ends,
            warnings: warnings.clone(),
            #[cfg(feature = "grammar")]
            grammars: Default::default(),
        })
    }

    /// The tokens of a text.
    ///
    /// With `add_special`, the tokens that the model expects before and after a text are added (bos, eos; CLS and SEP
    /// of an encoder), unless the text already begins or ends with them, as a chat template's may. With
    /// `parse_special`, control tokens that are written out in the text become those tokens. Without it they stay text,
    /// as text from untrusted sources should.
    ///
    /// A character without a token becomes the unknown token. Some byte-pair vocabularies have none; they leave the
    /// character out.
    ///
    /// # Errors
    /// [`ErrorKind::Format`](crate::ErrorKind) if the description of the tokenizer contradicts itself, makes a text
    /// more than 32 times as long, or takes more steps than any useful one does;
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a text with more than 900,000 spaces in a row if expressions cut
    /// words.
    pub fn encode(&self, text: &str, add_special: bool, parse_special: bool) -> Result<Vec<u32>> {
        self.check(text)?;
        let mut ids = guarded("tokenizer", || self.encode_parts(text, parse_special, None))?;
        if add_special {
            self.begin(&mut ids);
            // Tokens that are the prefix already cannot also be the suffix.
            if !ids[self.parts.prefix.len()..].ends_with(&self.parts.suffix) {
                ids.extend(&self.parts.suffix);
            }
        }
        Ok(ids)
    }

    /// The tokens of a text to be continued: as [`Tokenizer::encode`] with `add_special`, but without the tokens for a
    /// text's end, which some files add for training.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_prompt(&self, text: &str, parse_special: bool) -> Result<Vec<u32>> {
        let mut ids = self.encode(text, false, parse_special)?;
        self.begin(&mut ids);
        Ok(ids)
    }

    fn begin(&self, ids: &mut Vec<u32>) {
        if !ids.starts_with(&self.parts.prefix) {
            ids.splice(0..0, self.parts.prefix.iter().copied());
        }
    }

    /// Cuts the tokens of a text to `most`, on the side that the files choose; special tokens around the text stay.
    /// Returns whether any were cut.
    pub(crate) fn cut(&self, tokens: &mut Vec<u32>, most: usize) -> bool {
        let Some(excess) = tokens.len().checked_sub(most).filter(|n| *n > 0) else { return false };
        let Parts { prefix, suffix, usage, .. } = &*self.parts;
        if prefix.len() + suffix.len() > most {
            tokens.truncate(most);
            return true;
        }
        let first = if usage.truncates_left { prefix.len() } else { most - suffix.len() };
        tokens.drain(first..first + excess);
        true
    }

    /// Oddities of the files that are no errors, a line each.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.list()
    }

    /// Texts that end an answer, if the files name some.
    pub fn stops(&self) -> &[String] {
        &self.parts.usage.stops
    }

    /// Refuses texts that the crate would silently not cut into words.
    fn check(&self, text: &str) -> Result<()> {
        if self.parts.pre_tokenizers.is_empty() || text.len() <= LONGEST_SPACE {
            return Ok(());
        }
        let spaces = |run: &str| run.chars().count();
        let longest = text.split(|c: char| !c.is_whitespace()).map(spaces).max().unwrap_or(0);
        if longest <= LONGEST_SPACE {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "tokenizer: a text with {longest} spaces in a row; at most {LONGEST_SPACE} can be cut into words"
        )))
    }

    /// [`Tokenizer::encode_prompt`] with control tokens parsed, except those that contain the mark; the mark is
    /// removed.
    pub(crate) fn encode_marked(&self, text: &str, mark: char) -> Result<Vec<u32>> {
        self.check(text)?;
        let mut ids = guarded("tokenizer", || self.encode_parts(text, true, Some(mark)))?;
        self.begin(&mut ids);
        Ok(ids)
    }

    /// The texts of control tokens that encoding would find.
    pub(crate) fn control_texts(&self) -> impl Iterator<Item = &str> {
        let all = self.parts.added.iter();
        all.filter(|(_, token)| token.special && !token.content.is_empty()).map(|(_, token)| token.content.as_str())
    }

    fn encode_parts(&self, text: &str, parse_special: bool, mark: Option<char>) -> tokenizers::Result<Vec<u32>> {
        let added = if parse_special { &self.added } else { &self.added_text };
        self.parts.encode(added, text, mark)
    }

    /// The text of tokens; `skip_special` leaves out control tokens. Bytes that are not UTF-8 become U+FFFD; unknown
    /// ids are left out.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> String {
        let mut bytes = Vec::new();
        for id in ids {
            self.append(*id, skip_special, &mut bytes);
        }
        self.parts.decoder.finish(&bytes)
    }

    /// Appends the bytes of one token.
    fn append(&self, id: u32, skip_special: bool, bytes: &mut Vec<u8>) {
        let Some(text) = self.parts.vocabulary.text(id) else { return };
        let kind = self.parts.vocabulary.kind(id);
        if !(skip_special && kind.is_special()) {
            self.parts.decoder.append(text, kind, bytes);
        }
    }

    /// A handle that encodes text.
    #[cfg(feature = "grammar")]
    pub(crate) fn text_encoder(&self) -> TextEncoder {
        TextEncoder { parts: self.parts.clone(), added: self.added_text.clone() }
    }

    /// Whether a token's text can be a part of a text: not of control tokens, nor of ids that nothing encodes to.
    #[cfg(feature = "grammar")]
    pub(crate) fn is_text(&self, id: u32) -> bool {
        let kind = self.parts.vocabulary.kind(id);
        !kind.is_special() && kind != vocabulary::Kind::Unused && !self.is_end(id)
    }

    /// The ids that end an answer.
    #[cfg(feature = "grammar")]
    pub(crate) fn ends(&self) -> Vec<u32> {
        self.ends.iter().copied().collect()
    }

    /// The texts of all tokens.
    pub(crate) fn texts(&self) -> TokenTexts {
        TokenTexts::new(self)
    }

    /// A stream for text that is generated token by token.
    pub fn stream(&self) -> Stream<'_> {
        Stream::new(self)
    }

    /// Whether this token ends an answer: the end of a text or of a turn, as the file says or by the usual name of such
    /// a control token.
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.contains(&id)
    }

    /// The tokens that the model never writes, as its files say, sorted: marks of images, for example, which it only
    /// reads. [`Sampler`](crate::Sampler) does not draw them.
    pub fn suppressed(&self) -> &[u32] {
        &self.parts.usage.suppressed
    }

    /// Whether a token is a mark for the model, not text.
    pub fn is_control(&self, id: u32) -> bool {
        self.parts.vocabulary.kind(id).is_special()
    }

    /// The number of ids, including control tokens. The model may have more rows in its embeddings, which nothing uses.
    pub fn n_tokens(&self) -> usize {
        self.parts.vocabulary.len()
    }

    /// The first token that is another one in a draft model's vocabulary, in words.
    pub(crate) fn difference(&self, draft: &Tokenizer) -> Option<String> {
        self.parts.vocabulary.difference(&draft.parts.vocabulary)
    }

    /// The token that [`Tokenizer::encode`] puts before a text; `None` if it adds none or several.
    pub fn begins(&self) -> Option<u32> {
        match self.parts.prefix[..] {
            [token] => Some(token),
            _ => None,
        }
    }

    /// The token that a text begins with.
    pub fn bos(&self) -> Option<u32> {
        self.parts.roles.bos
    }

    /// The token that a text ends with.
    pub fn eos(&self) -> Option<u32> {
        self.parts.roles.eos
    }

    /// The token that fills up the shorter texts of a batch.
    pub fn pad(&self) -> Option<u32> {
        self.parts.roles.pad
    }

    /// The token for text that the vocabulary does not cover.
    pub fn unknown(&self) -> Option<u32> {
        self.parts.roles.unknown
    }

    /// A token as the vocabulary writes it; [`Tokenizer::decode`] gives the text that it stands for.
    pub fn token(&self, id: u32) -> Option<&str> {
        self.parts.vocabulary.text(id)
    }

    /// The id of the token that the vocabulary writes like this; the first of several.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.parts.vocabulary.id(token)
    }

    /// The text around a query and a document that the model judges, with the places `{query}` and `{document}`.
    pub(crate) fn rerank_template(&self) -> Option<&str> {
        self.parts.usage.rerank_template.as_deref()
    }

    /// The template for conversations with this model, in the language Jinja.
    pub fn chat_template(&self) -> Option<&str> {
        self.parts.usage.chat_template.as_deref()
    }
}

impl Parts {
    /// The ids of a text, from which these tokens are cut out first, and the mark is removed.
    fn encode(&self, added: &AddedVocabulary, text: &str, mark: Option<char>) -> tokenizers::Result<Vec<u32>> {
        let mut ids = Vec::new();
        // Some pre-tokenizers put a space before a text, which would turn no text into a space.
        if text.is_empty() {
            return Ok(ids);
        }
        let work = Work::of(text.len());
        let watched = Watched::new(&self.normalizers, &work);
        let mut parts = added.extract_and_normalize(watched.or_none(), text);
        watched.result()?;
        if let Some(mark) = mark {
            parts.normalize(|part| {
                part.filter(|character| character != mark);
                Ok(())
            })?;
        }
        self.pre_tokenizers.apply(&mut parts, &work)?;
        for (part, _, tokens) in parts.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            match tokens {
                Some(tokens) => ids.extend(tokens.iter().map(|token| token.id)),
                None if part.is_empty() => {}
                None => self.model.encode(part, &mut ids)?,
            }
        }
        Ok(ids)
    }
}

/// Encodes pieces of text as [`Tokenizer::encode`] does without special tokens. It shares the tokenizer's tables.
#[cfg(feature = "grammar")]
pub(crate) struct TextEncoder {
    parts: Arc<Parts>,
    added: Arc<AddedVocabulary>,
}

#[cfg(feature = "grammar")]
impl TextEncoder {
    /// The ids of a text; `None` if the tokenizer refuses it.
    pub(crate) fn encode(&self, text: &str) -> Option<Vec<u32>> {
        guarded("tokenizer", || self.parts.encode(&self.added, text, None)).ok()
    }
}

/// Cuts tokens out of texts. Ids stay as given; the crate would number them again.
fn added_vocabulary<'a>(
    tokens: impl Iterator<Item = &'a (u32, AddedToken)> + Clone,
    normalizers: &Normalizers,
) -> Result<AddedVocabulary> {
    guarded("tokenizer: special tokens", || {
        // The crate asks a model for the ids, so it gets a model of these tokens alone.
        let ids = tokens.clone().map(|(id, token)| (token.content.clone(), *id)).collect();
        let ids = WordLevel::builder().vocab(ids).build()?;
        let mut added = AddedVocabulary::new();
        let work = Work::of(tokens.clone().map(|(_, token)| token.content.len()).sum());
        let watched = Watched::new(normalizers, &work);
        added.add_tokens(tokens.map(|(_, token)| token.clone()), &ids, watched.or_none())?;
        watched.result()?;
        Ok(added)
    })
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokenizer({} tokens)", self.n_tokens())
    }
}
