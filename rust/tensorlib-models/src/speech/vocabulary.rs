//! Whisper's tokens: pieces of text, and special ones for languages, tasks and times.

use super::generation::Generation;
use super::languages::{code, LANGUAGES};
use crate::settings::read_json;
use crate::{Error, Result};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::Path;

/// From this number of tokens on a model knows several languages, unless its files say so themselves.
const LEAST_MULTILINGUAL: usize = 51_865;

/// The tokens of a model.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The bytes of each token; none for special ones.
    texts: Vec<Vec<u8>>,
    pub end: u32,
    pub start: u32,
    pub transcribe: Option<u32>,
    pub translate: Option<u32>,
    pub start_of_lm: Option<u32>,
    /// Comes before the text of the window before.
    pub previous: Option<u32>,
    pub no_speech: Option<u32>,
    pub no_timestamps: u32,
    /// The token of the time 0.
    pub first_timestamp: u32,
    /// Codes of languages, and their tokens; none in a model of English alone.
    pub languages: Vec<(String, u32)>,
}

impl Vocabulary {
    /// Reads a tokenizer.json. `size`: the number of the model's tokens.
    pub fn of_file(path: &Path, size: usize, generation: &Generation) -> Result<Self> {
        let json = read_json(path)?;
        let about = |e: Error| e.about(path.display());
        let (kind, decoder) = (&json["model"]["type"], &json["decoder"]["type"]);
        if kind.as_str().is_some_and(|kind| kind != "BPE") || decoder.as_str() != Some("ByteLevel") {
            let message = format!("is of the kind {kind} with the decoder {decoder}: BPE with ByteLevel is supported");
            return Err(about(Error::unsupported(message)));
        }
        let bytes: HashMap<char, u8> = (0..=255).map(|byte| (byte_character(byte), byte)).collect();
        let (mut texts, mut special) = (vec![Vec::new(); size], HashMap::new());
        for (text, id) in json["model"]["vocab"].as_object().into_iter().flatten() {
            let slot = id.as_u64().and_then(|id| texts.get_mut(usize::try_from(id).ok()?));
            let slot = slot.ok_or_else(|| about(token_error(text, id, size)))?;
            // Special tokens are also written out, with characters that stand for no byte.
            *slot = text.chars().map(|c| bytes.get(&c).copied()).collect::<Option<_>>().unwrap_or_default();
        }
        for token in json["added_tokens"].as_array().into_iter().flatten() {
            let (text, id) = (token["content"].as_str().unwrap_or_default(), &token["id"]);
            let number = id.as_u64().and_then(|id| u32::try_from(id).ok());
            let number = number.filter(|id| (*id as usize) < size).ok_or_else(|| about(token_error(text, id, size)))?;
            texts[number as usize].clear();
            special.insert(text.to_string(), number);
        }
        Self::of_special(texts, &special, generation).map_err(about)
    }

    fn of_special(texts: Vec<Vec<u8>>, special: &HashMap<String, u32>, generation: &Generation) -> Result<Self> {
        let find = |name: &str| special.get(&format!("<|{name}|>")).copied();
        let need = |said: Option<u32>, name: &str| {
            let missing = || Error::format(format!("has no token <|{name}|>, which Whisper's vocabularies have"));
            said.or_else(|| find(name)).ok_or_else(missing)
        };
        let size = texts.len();
        let no_timestamps = need(generation.no_timestamps, "notimestamps")?;
        let is_multilingual = generation.is_multilingual.unwrap_or(size >= LEAST_MULTILINGUAL);
        let of_tokenizer = || {
            let known = LANGUAGES.iter().filter_map(|(code, _)| Some((code.to_string(), find(code)?)));
            known.collect()
        };
        let languages = match is_multilingual {
            true => generation.languages.clone().unwrap_or_else(of_tokenizer),
            false => Vec::new(),
        };
        if is_multilingual && languages.is_empty() {
            return Err(Error::format("has no token of a language, such as <|en|>, and the model knows several"));
        }
        let made = Vocabulary {
            texts,
            end: need(generation.end, "endoftext")?,
            start: need(generation.start, "startoftranscript")?,
            transcribe: generation.transcribe.or_else(|| find("transcribe")),
            translate: generation.translate.or_else(|| find("translate")),
            start_of_lm: find("startoflm"),
            previous: generation.previous.or_else(|| find("startofprev")),
            // Older tokenizers have another name for it.
            no_speech: find("nospeech").or_else(|| find("nocaptions")),
            no_timestamps,
            first_timestamp: no_timestamps + 1,
            languages,
        };
        made.check()
    }

    /// The vocabulary of a file for whisper.cpp, which has the texts alone: special tokens follow them in a fixed order.
    /// `timestamps`: the number of times.
    pub fn of_texts(mut texts: Vec<Vec<u8>>, size: usize, timestamps: usize) -> Result<Self> {
        // Files of older converters have the first special token too.
        if texts.last().is_some_and(|text| text == b"<|endoftext|>") {
            texts.pop();
        }
        let n = texts.len();
        // The end and the start; the tasks, the start of a language model, of the text before, no speech, no timestamps.
        const OTHERS: usize = 2 + 6;
        let languages = size.checked_sub(n + OTHERS + timestamps).filter(|n| *n <= LANGUAGES.len());
        let Some(languages) = languages else {
            let message = format!("{size} tokens, of which {n} have texts and {timestamps} are times");
            return Err(Error::format(format!("{message}: room for up to 100 languages between them is valid")));
        };
        texts.resize(size, Vec::new());
        let id = |offset: usize| (n + offset) as u32;
        let after = 2 + languages;
        let known = LANGUAGES.iter().take(languages).enumerate();
        let is_multilingual = size >= LEAST_MULTILINGUAL;
        let made = Vocabulary {
            texts,
            end: id(0),
            start: id(1),
            translate: Some(id(after)),
            transcribe: Some(id(after + 1)),
            start_of_lm: Some(id(after + 2)),
            previous: Some(id(after + 3)),
            no_speech: Some(id(after + 4)),
            no_timestamps: id(after + 5),
            first_timestamp: id(after + 6),
            languages: match is_multilingual {
                true => known.map(|(i, (code, _))| (code.to_string(), id(2 + i))).collect(),
                false => Vec::new(),
            },
        };
        made.check()
    }

    fn check(self) -> Result<Self> {
        let size = self.texts.len() as u32;
        let special =
            [Some(self.end), Some(self.start), self.transcribe, self.translate, self.previous, self.no_speech];
        let special = special.into_iter().flatten().chain(self.languages.iter().map(|(_, id)| *id));
        if let Some(id) = special.chain([self.first_timestamp]).find(|id| *id >= size) {
            return Err(Error::format(format!("the special token {id} is none of the model's {size}")));
        }
        if !self.languages.is_empty() && (self.transcribe.is_none() || self.translate.is_none()) {
            return Err(Error::format("has languages, and no token <|transcribe|> or <|translate|>"));
        }
        Ok(self)
    }

    /// The number of tokens.
    pub fn size(&self) -> usize {
        self.texts.len()
    }

    /// Whether a token stands for a time.
    pub fn is_timestamp(&self, id: u32) -> bool {
        id >= self.first_timestamp
    }

    /// The text of these tokens, without special ones. Bytes that are no UTF-8 become U+FFFD.
    pub fn text(&self, tokens: &[u32]) -> String {
        let text = tokens.iter().filter(|id| **id < self.end).filter_map(|id| self.texts.get(*id as usize));
        String::from_utf8_lossy(&text.flatten().copied().collect::<Vec<u8>>()).into_owned()
    }

    /// The token of a language, given by its code or English name.
    pub fn language(&self, name: &str) -> Result<(String, u32)> {
        let wanted = code(name);
        self.languages.iter().find(|(code, _)| *code == wanted).cloned().ok_or_else(|| {
            let codes: Vec<&str> = self.languages.iter().map(|(code, _)| code.as_str()).collect();
            Error::invalid(format!("language '{name}': the model knows {}", codes.join(", ")))
        })
    }

    /// The token with this text.
    fn id(&self, text: &str) -> Option<u32> {
        self.texts.iter().position(|known| known == text.as_bytes()).map(|id| id as u32)
    }

    /// The first token of a text: the longest one that it begins with.
    fn first_id(&self, text: &str) -> Option<u32> {
        let begins = |known: &&(usize, &Vec<u8>)| !known.1.is_empty() && text.as_bytes().starts_with(known.1);
        let all: Vec<(usize, &Vec<u8>)> = self.texts.iter().enumerate().collect();
        all.iter().filter(begins).max_by_key(|(_, known)| known.len()).map(|(id, _)| *id as u32)
    }

    /// The token of a single space.
    pub fn blank(&self) -> Option<u32> {
        self.id(" ")
    }

    /// Tokens of symbols that are written for what is not spoken, such as speakers' names in brackets, and notes.
    pub fn not_spoken(&self) -> Vec<u32> {
        const SINGLE: &str = "\"#()*+/:;<=>@[\\]^_`{|}~「」『』";
        const LONGER: [&str; 18] = [
            "<<", ">>", "<<<", ">>>", "--", "---", "-(", "-[", "('", "(\"", "((", "))", "(((", ")))", "[[", "]]", "{{",
            "}}",
        ];
        const NOTES: [&str; 2] = ["♪♪", "♪♪♪"];
        // Such a sign may be several tokens, of which others have the first one too.
        const SIGNS: [&str; 7] = ["♩", "♪", "♫", "♬", "♭", "♮", "♯"];
        let single: Vec<String> = SINGLE.chars().map(String::from).collect();
        let whole = single.iter().map(String::as_str).chain(LONGER).chain(NOTES);
        let whole = whole.flat_map(|symbol| [self.id(symbol), self.id(&format!(" {symbol}"))]);
        let signs = SIGNS.iter().flat_map(|sign| [self.first_id(sign), self.first_id(&format!(" {sign}"))]);
        // Inside of words these two are fine.
        let beginnings = [self.first_id(" -"), self.first_id(" '")];
        let mut all: Vec<u32> = whole.chain(signs).chain(beginnings).flatten().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn token_error(text: &str, id: &Json, size: usize) -> Error {
    Error::format(format!("token '{text}' has the number {id}: below {size}, the model's vocab_size, is valid"))
}

/// The character by which byte pairs write a byte.
fn byte_character(byte: u8) -> char {
    let is_printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if is_printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|other| !is_printable(*other)).count() as u32;
    char::from_u32(0x100 + before).unwrap_or(char::from(byte))
}
