//! A model's tokens: their texts, their kinds, and which of them end an answer.

use crate::{Error, Result};
use std::collections::{BTreeSet, HashMap};

/// More tokens than any model has, but few enough for a table of them.
pub(super) const MAX_TOKENS: usize = 1 << 22;

/// The kind of a token. The numbers are those of GGUF's `tokenizer.ggml.token_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text.
    Normal = 1,
    /// Stands for text that no token covers.
    Unknown = 2,
    /// Steers the model and is not text: begin, end, turns.
    Control = 3,
    /// Text that is cut out before anything else and never divided.
    UserDefined = 4,
    /// In the list, but never a result of encoding.
    Unused = 5,
    /// One byte, written `<0xFF>`.
    Byte = 6,
}

impl Kind {
    pub(super) fn from_gguf(number: i64) -> Option<Self> {
        Some(match number {
            // 0 is "undefined" in the format, and text in all files that use it.
            0 | 1 => Kind::Normal,
            2 => Kind::Unknown,
            3 => Kind::Control,
            4 => Kind::UserDefined,
            5 => Kind::Unused,
            6 => Kind::Byte,
            _ => return None,
        })
    }

    /// The kind in words.
    fn name(self) -> &'static str {
        match self {
            Kind::Normal => "text",
            Kind::Unknown => "unknown",
            Kind::Control => "control",
            Kind::UserDefined => "user-defined",
            Kind::Unused => "unused",
            Kind::Byte => "byte",
        }
    }

    /// Whether such a token is a mark for the model, not a part of the text.
    pub(super) fn is_special(self) -> bool {
        matches!(self, Kind::Control | Kind::Unknown)
    }
}

/// Tokens with a role.
#[derive(Clone, Debug, Default)]
pub(super) struct Roles {
    pub(super) bos: Option<u32>,
    pub(super) eos: Option<u32>,
    pub(super) pad: Option<u32>,
    pub(super) unknown: Option<u32>,
}

/// The texts and kinds of all tokens, by id and by text.
pub(super) struct Vocabulary {
    texts: Vec<Box<str>>,
    kinds: Vec<Kind>,
    ids: HashMap<Box<str>, u32>,
}

impl Vocabulary {
    /// Looking up a text finds the first of several tokens with that text. An empty text belongs to an unused id and is
    /// not found.
    pub(super) fn new(texts: Vec<Box<str>>, kinds: Vec<Kind>) -> Result<Self> {
        if texts.is_empty() || texts.len() > MAX_TOKENS {
            let n = texts.len();
            return Err(Error::format(format!("tokenizer: {n} tokens; a vocabulary has 1 to {MAX_TOKENS}")));
        }
        let mut ids = HashMap::with_capacity(texts.len());
        for (id, text) in texts.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            ids.entry(text.clone()).or_insert(id as u32);
        }
        Ok(Vocabulary { texts, kinds, ids })
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn text(&self, id: u32) -> Option<&str> {
        self.texts.get(id as usize).map(|text| &**text)
    }

    pub(super) fn kind(&self, id: u32) -> Kind {
        self.kinds.get(id as usize).copied().unwrap_or(Kind::Unused)
    }

    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &str, Kind)> {
        self.texts.iter().zip(&self.kinds).enumerate().map(|(id, (text, kind))| (id as u32, &**text, *kind))
    }

    /// The first token that is another one in a draft model's vocabulary, in words. Unused tokens may differ, and one
    /// vocabulary may have more of them at its end.
    pub(super) fn difference(&self, draft: &Vocabulary) -> Option<String> {
        let is_other = |id: &u32| {
            let kinds = (self.kind(*id), draft.kind(*id));
            kinds != (Kind::Unused, Kind::Unused) && (kinds.0 != kinds.1 || self.text(*id) != draft.text(*id))
        };
        let id = (0..self.len().max(draft.len()) as u32).find(is_other)?;
        let token = |vocabulary: &Vocabulary| match vocabulary.text(id) {
            Some(text) => format!("{text:?} ({})", vocabulary.kind(id).name()),
            None => "missing".into(),
        };
        let (ours, theirs) = (token(self), token(draft));
        let numbers = format!("the model has {} tokens, the draft model {}", self.len(), draft.len());
        Some(format!("token {id} is {ours} in the model and {theirs} in the draft model; {numbers}"))
    }

    /// Whether encoding finds this id by its text: the text is not empty, and no earlier token has it.
    pub(super) fn is_first(&self, id: u32) -> bool {
        self.text(id).is_some_and(|text| self.id(text) == Some(id))
    }
}

/// Names that models use for the end of a text or a turn. A token with such a name ends an answer if it is a control
/// token, or one that is cut out of texts: some files treat them as text.
const END_NAMES: &[&str] = &[
    "</s>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|end_of_turn|>",
    "<|END_OF_TURN_TOKEN|>",
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",
    "<end_of_utterance>",
    "<|endofturn|>",
    "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>",
    "<EOT>",
    "_<EOT>",
    "<|turn_end|>",
    "<|role_end|>",
    "<|end_of_message|>",
    "[EOS]",
    "[EOT]",
    "<eos>",
];

/// All ids that end an answer: those that the file names, and control tokens with a known name.
pub(super) fn ends(vocabulary: &Vocabulary, named: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
    let control = |name: &str| vocabulary.id(name).filter(|id| vocabulary.kind(*id) == Kind::Control);
    let cut_out =
        |name: &str| vocabulary.id(name).filter(|id| matches!(vocabulary.kind(*id), Kind::Control | Kind::UserDefined));
    let mut ends: BTreeSet<u32> = END_NAMES.iter().filter_map(|name| cut_out(name)).collect();
    // In the format of gpt-oss <|end|> ends a message, and the answer may be in the next one.
    if control("<|return|>").is_some() && control("<|call|>").is_some() {
        if let Some(id) = control("<|end|>") {
            ends.remove(&id);
        }
    }
    // Gemma has a token for HTML's </s>.
    if ["<turn|>", "<end_of_turn>"].into_iter().any(|name| cut_out(name).is_some()) {
        let html = vocabulary.id("</s>").filter(|id| vocabulary.kind(*id) != Kind::Control);
        html.into_iter().for_each(|id| {
            ends.remove(&id);
        });
    }
    ends.extend(named.into_iter().filter(|id| (*id as usize) < vocabulary.len()));
    ends
}
