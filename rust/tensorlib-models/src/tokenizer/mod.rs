//! Text to tokens and back, as the model's file says.
//!
//! A [`Tokenizer`] comes from a folder as hubs lay it out, or from the metadata of a GGUF file. Both ways give the same
//! ids for the same model.

mod charsmap;
mod decoder;
mod expressions;
mod gguf;
mod guard;
mod hub;
mod hub_settings;
mod metadata;
mod model;
mod oniguruma;
mod pretokenizers;
mod sentencepiece;
mod steps;
mod stream;
mod tables;
mod vocabulary;

pub use stream::Stream;

use crate::warnings::Warnings;
use crate::{Error, Result};
use decoder::Decoder;
use expressions::Work;
use guard::guarded;
use model::Model;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use steps::{Normalizers, PreTokenizers, Watched};
use tensorlib::Gguf;
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::{AddedToken, AddedVocabulary, OffsetReferential, OffsetType};
use vocabulary::{Roles, Vocabulary};

/// Turns text into the ids of tokens, and ids into text.
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
    parts: Parts,
    /// Special tokens and others that are cut out of the text first.
    added: AddedVocabulary,
    /// The same without the special ones.
    added_text: AddedVocabulary,
    ends: BTreeSet<u32>,
    warnings: Warnings,
}

/// The most spaces in a row. The crate's expressions give up where they would have to remember a million places, which
/// "all spaces but the last" does for every space.
const LONGEST_SPACE: usize = 900_000;

/// What a file says.
struct Parts {
    vocabulary: Vocabulary,
    /// Tokens that are cut out of a text, with their ids.
    added: Vec<(u32, AddedToken)>,
    normalizers: Normalizers,
    pre_tokenizers: PreTokenizers,
    model: Model,
    decoder: Decoder,
    /// What stands before a text and after it.
    prefix: Vec<u32>,
    suffix: Vec<u32>,
    roles: Roles,
    /// Ends that the file names beside eos.
    ends: Vec<u32>,
    /// Texts that end an answer.
    stops: Vec<String>,
    /// Overlong texts lose their beginning.
    truncates_left: bool,
    chat_template: Option<String>,
}

impl Tokenizer {
    /// Reads `tokenizer.json` in a folder, with `tokenizer_config.json`, `special_tokens_map.json`,
    /// `generation_config.json` and `chat_template.jinja` where they are.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind) for a file that cannot be read, [`ErrorKind::Format`](crate::ErrorKind) for one that is not what it should be,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) for a part that this crate does not know.
    pub fn from_hub(folder: &Path) -> Result<Self> {
        Self::of_folder(folder, &Warnings::default())
    }

    pub(crate) fn of_folder(folder: &Path, warnings: &Warnings) -> Result<Self> {
        Self::new(hub::read(folder, warnings)?, warnings)
    }

    /// Reads the keys `tokenizer.ggml.*` and `tokenizer.chat_template` of a GGUF file.
    ///
    /// # Errors
    /// [`ErrorKind::Format`](crate::ErrorKind) for a key that is missing or not what it should be, [`ErrorKind::Unsupported`](crate::ErrorKind) for a model or
    /// a pre-tokenizer that this crate does not know. The message names the key.
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
        let ends = vocabulary::ends(&parts.vocabulary, parts.ends.iter().copied().chain(parts.roles.eos));
        Ok(Tokenizer { parts, added, added_text, ends, warnings: warnings.clone() })
    }

    /// The tokens of a text.
    ///
    /// With `add_special` the tokens that the model wants before and after a text are added (bos, eos; CLS and SEP of
    /// an encoder), but not a second time where the text, such as a chat template's, begins or ends with them already.
    /// With `parse_special` control tokens that are written out in the text become those tokens; without, they are text
    /// like any other, which is what one wants for text from outside.
    ///
    /// A character that the vocabulary has no token for becomes the unknown token. Where there is none, which is so in
    /// some byte-pair vocabularies, it is left out.
    ///
    /// # Errors
    /// [`ErrorKind::Format`](crate::ErrorKind) where the description of the tokenizer turns out to contradict itself, to make
    /// a text more than 32 times as long, or to take more steps for it than any that is meant to be used,
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a text with more than 900,000 spaces in a row where words are cut by expressions.
    pub fn encode(&self, text: &str, add_special: bool, parse_special: bool) -> Result<Vec<u32>> {
        self.check(text)?;
        let mut ids = guarded("tokenizer", || self.encode_parts(text, parse_special, None))?;
        if add_special {
            self.begin(&mut ids);
            // What is the prefix already cannot be the suffix too.
            if !ids[self.parts.prefix.len()..].ends_with(&self.parts.suffix) {
                ids.extend(&self.parts.suffix);
            }
        }
        Ok(ids)
    }

    /// The tokens of a text that is to be continued: as [`Tokenizer::encode`] with `add_special`, but for those of a text's end, which
    /// some files add for training.
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

    /// Cuts the tokens of a text to `most`, on the side that the files say; special ones around the text stay. Whether there
    /// were more.
    pub(crate) fn cut(&self, tokens: &mut Vec<u32>, most: usize) -> bool {
        let Some(excess) = tokens.len().checked_sub(most).filter(|n| *n > 0) else { return false };
        let Parts { prefix, suffix, truncates_left, .. } = &self.parts;
        if prefix.len() + suffix.len() > most {
            tokens.truncate(most);
            return true;
        }
        let first = if *truncates_left { prefix.len() } else { most - suffix.len() };
        tokens.drain(first..first + excess);
        true
    }

    /// What is odd about the files and stops nothing, a line each.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.list()
    }

    /// Texts that end an answer, where the files name some.
    pub fn stops(&self) -> &[String] {
        &self.parts.stops
    }

    /// Refuses texts whose words the crate would not cut, without a word about it.
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

    /// As [`Tokenizer::encode_prompt`] with control tokens parsed, but for those in which the mark stands; it is taken out.
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
        let mut ids = Vec::new();
        // A pre-tokenizer that puts a space before a text makes one out of no text.
        if text.is_empty() {
            return Ok(ids);
        }
        let added = if parse_special { &self.added } else { &self.added_text };
        let work = Work::of(text.len());
        let watched = Watched::new(&self.parts.normalizers, &work);
        let mut parts = added.extract_and_normalize(watched.or_none(), text);
        watched.result()?;
        if let Some(mark) = mark {
            parts.normalize(|part| {
                part.filter(|character| character != mark);
                Ok(())
            })?;
        }
        self.parts.pre_tokenizers.apply(&mut parts, &work)?;
        for (part, _, tokens) in parts.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            match tokens {
                Some(tokens) => ids.extend(tokens.iter().map(|token| token.id)),
                None if part.is_empty() => {}
                None => self.parts.model.encode(part, &mut ids)?,
            }
        }
        Ok(ids)
    }

    /// The text of tokens, without control tokens where `skip_special` says so. Bytes that are no UTF-8 become U+FFFD.
    /// Ids that are none are left out.
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

    /// For text that is generated token by token.
    pub fn stream(&self) -> Stream<'_> {
        Stream::new(self)
    }

    /// Whether an answer ends with this token: the end of a text or of a turn, by the file's word or by the name that
    /// models give such a control token.
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.contains(&id)
    }

    /// Whether a token is a mark for the model and no text.
    pub fn is_control(&self, id: u32) -> bool {
        self.parts.vocabulary.kind(id).is_special()
    }

    /// The number of ids, those of control tokens included. A model may have more: rows of its embedding that nothing
    /// uses.
    pub fn n_tokens(&self) -> usize {
        self.parts.vocabulary.len()
    }

    /// The token that [`Tokenizer::encode`] puts before a text; nothing where it adds none, or several.
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

    /// The token that stands for what there is no token for.
    pub fn unknown(&self) -> Option<u32> {
        self.parts.roles.unknown
    }

    /// A token as the vocabulary writes it; not the text that it stands for, which is [`Tokenizer::decode`]'s.
    pub fn token(&self, id: u32) -> Option<&str> {
        self.parts.vocabulary.text(id)
    }

    /// The id of a token that is written so in the vocabulary; the first where two are.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.parts.vocabulary.id(token)
    }

    /// How a conversation is written for this model: a template in the language Jinja.
    pub fn chat_template(&self) -> Option<&str> {
        self.parts.chat_template.as_deref()
    }
}

/// What the crate cuts out of texts. Ids are as given, not counted anew.
fn added_vocabulary<'a>(
    tokens: impl Iterator<Item = &'a (u32, AddedToken)> + Clone,
    normalizers: &Normalizers,
) -> Result<AddedVocabulary> {
    guarded("tokenizer: special tokens", || {
        // The crate asks a model for the ids: one that knows just these.
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
