//! The vocabulary of RWKV's "World" models: the file of a folder, with a line for each token, and what GGUF files have of
//! it.

use super::decoder::{Decoder, Step};
use super::escapes::{escaped, literal, unescaped};
use super::hub_settings::Settings;
use super::longest::LongestMatch;
use super::model::Model;
use super::pairs;
use super::steps::{Normalizers, PreTokenizers};
use super::vocabulary::{Kind, Roles, Vocabulary, MAX_TOKENS};
use super::Parts;
use crate::settings::read_text;
use crate::warnings::Warnings;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use tokenizers::AddedToken;

/// The token before and after texts, 0, as templates write it. Files of vocabularies do not have it.
const END: &str = "<|rwkv_tokenizer_end_of_text|>";

/// The template that some GGUF files name instead of having one.
const TEMPLATE_NAME: &str = "rwkv-world";
const TEMPLATE: &str = "{%- set names = {'system': 'System', 'user': 'User', 'assistant': 'Assistant'} -%}\
{%- for message in messages -%}{{ names[message.role] + ': ' + message.content|trim + '\\n\\n' }}{%- endfor -%}\
{%- if add_generation_prompt -%}Assistant:{%- endif -%}";

/// The name of the file in folders.
pub(crate) const FILE: &str = "rwkv_vocab_v20230424.txt";

/// The folder's file, if its vocabulary is of this kind.
pub(super) fn file_in(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(FILE);
    (!folder.join("tokenizer.json").exists() && path.exists()).then_some(path)
}

/// Reads the tokenizer of a folder with this file.
pub(super) fn read(folder: &Path, path: &Path, warnings: &Warnings) -> Result<Parts> {
    let file = path.display().to_string();
    let settings = Settings::read(folder, warnings)?;
    let mut tokens = Tokens::default();
    tokens.read(&file, &read_text(path)?)?;
    let added = tokens.add(&file, &settings, warnings)?;
    let vocabulary = Vocabulary::new(tokens.texts, tokens.kinds)?;
    let id = |text: &str| vocabulary.id(text).or_else(|| vocabulary.id(&escaped(text.as_bytes())));
    let role = |name: &str| settings.role(name).and_then(id);
    let usual = vocabulary.id(END).or(Some(0));
    let roles = Roles {
        bos: role("bos").or(usual),
        eos: role("eos").or(usual),
        pad: role("pad").or(usual),
        unknown: role("unk").or(usual),
    };
    if settings.add_eos == Some(true) {
        let what = "is true, and the published tokenizer puts no token after a text, which counts";
        warnings.add(format!("tokenizer_config.json: add_eos_token: {what}"));
    }
    let prefix = roles.bos.filter(|_| settings.add_bos == Some(true));
    let model = model(&file, &vocabulary, roles.unknown)?;
    let usage = settings.usage(folder, vocabulary.len())?;
    Ok(Parts {
        vocabulary,
        added,
        normalizers: Normalizers::default(),
        pre_tokenizers: PreTokenizers::default(),
        model,
        decoder: decoder(),
        pair: pairs::usual(prefix, None, 1, 0),
        prefix: prefix.into_iter().collect(),
        suffix: Vec::new(),
        roles,
        usage,
    })
}

/// The algorithm for a vocabulary with escaped bytes. `what` is the start of messages.
pub(super) fn model(what: &str, vocabulary: &Vocabulary, unknown: Option<u32>) -> Result<Model> {
    let is_text = |(_, text, kind): &(u32, &str, Kind)| *kind == Kind::Normal && !text.is_empty();
    let bytes = |(id, text, _): (u32, &str, Kind)| match unescaped(text) {
        Some(bytes) => Ok((bytes.into_boxed_slice(), id)),
        None => Err(Error::format(format!(r"{what}: token {id} is '{text}': \x with two digits, or \\, is expected"))),
    };
    let tokens = vocabulary.iter().filter(is_text).map(bytes).collect::<Result<_>>()?;
    Ok(Model::LongestMatch(Box::new(LongestMatch::new(what, tokens, unknown)?)))
}

/// A file's template, or the one that it names. Templates may write the end of texts by its name in folders, which files
/// do not have.
pub(super) fn template(text: String, vocabulary: &Vocabulary, roles: &Roles) -> String {
    if text == TEMPLATE_NAME {
        return TEMPLATE.into();
    }
    let end = roles.bos.filter(|bos| vocabulary.kind(*bos) == Kind::Control).and_then(|bos| vocabulary.text(bos));
    match end {
        Some(end) if vocabulary.id(END).is_none() => text.replace(END, end),
        _ => text,
    }
}

/// Turns escaped bytes back.
pub(super) fn decoder() -> Decoder {
    Decoder { steps: vec![Step::Escapes], strip_start: false, strip_end: false }
}

/// Texts and kinds of tokens by their ids.
#[derive(Default)]
struct Tokens {
    texts: Vec<Box<str>>,
    kinds: Vec<Kind>,
}

impl Tokens {
    fn has(&self, id: usize) -> bool {
        self.texts.get(id).is_some_and(|text| !text.is_empty())
    }

    fn set(&mut self, id: usize, text: &str, kind: Kind) {
        if id >= self.texts.len() {
            self.texts.resize(id + 1, Box::default());
            self.kinds.resize(id + 1, Kind::Unused);
        }
        (self.texts[id], self.kinds[id]) = (text.into(), kind);
    }

    /// Reads lines with an id, a literal of Python and the number of its bytes.
    fn read(&mut self, file: &str, text: &[u8]) -> Result<()> {
        let text = std::str::from_utf8(text).map_err(|_| Error::format(format!("{file}: is no UTF-8")))?;
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |what: &str| Error::format(format!("{file}: line {}: {what}", i + 1));
            let parts = line.split_once(' ').and_then(|(id, rest)| Some((id, rest.rsplit_once(' ')?)));
            let Some((id, (written, n))) = parts else {
                return Err(wrong("an id, a text in quotes and its number of bytes are expected"));
            };
            let id = id.parse().ok().filter(|id| (1..MAX_TOKENS).contains(id));
            let id = id.ok_or_else(|| wrong(&format!("the id of a token, 1 to {}, is expected", MAX_TOKENS - 1)))?;
            let bytes = literal(written.trim()).filter(|bytes| !bytes.is_empty());
            let bytes = bytes.ok_or_else(|| wrong(&format!("{written}: a text or bytes in quotes are expected")))?;
            if n.trim().parse() != Ok(bytes.len()) {
                return Err(wrong(&format!("{written} has {} bytes, not {n}", bytes.len())));
            }
            if self.has(id) {
                return Err(wrong(&format!("token {id} is there already")));
            }
            self.set(id, &escaped(&bytes), Kind::Normal);
        }
        match self.texts.is_empty() {
            true => Err(Error::format(format!("{file}: has no tokens"))),
            false => Ok(()),
        }
    }

    /// Adds the tokens that are cut out of texts, and returns them with their ids: those of the settings, and the end of
    /// texts.
    fn add(&mut self, file: &str, settings: &Settings, warnings: &Warnings) -> Result<Vec<(u32, AddedToken)>> {
        let mut added = settings.added.clone();
        if !added.iter().any(|(id, _)| *id == 0) {
            added.insert(0, (0, AddedToken::from(END, true).normalized(false)));
        }
        let ids: std::collections::HashMap<Box<str>, u32> =
            self.texts.iter().zip(0..).map(|(text, id)| (text.clone(), id)).collect();
        let is_new = |(id, token): &(u32, AddedToken)| match ids.get(escaped(token.content.as_bytes()).as_str()) {
            None => true,
            Some(text) => {
                // The published tokenizer adds such a token by mistake; models were trained with that of the vocabulary.
                if text != id {
                    let what = format!("token {id} is {:?}, which is text, as token {text}", token.content);
                    warnings.add(format!("tokenizer_config.json: added_tokens_decoder: {what}"));
                }
                false
            }
        };
        added.retain(is_new);
        for (id, token) in &added {
            let at = *id as usize;
            if at >= MAX_TOKENS || self.has(at) || token.content.is_empty() {
                let what = format!("token {id} is {:?}: an id without a token, and a text, are valid", token.content);
                return Err(Error::format(format!(
                    "{file}: with added_tokens_decoder of tokenizer_config.json: {what}"
                )));
            }
            self.set(at, &token.content, if token.special { Kind::Control } else { Kind::UserDefined });
        }
        Ok(added)
    }
}
