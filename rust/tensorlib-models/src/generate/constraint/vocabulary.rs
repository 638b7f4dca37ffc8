//! The vocabulary as llguidance needs it: the bytes of each token, and the encoding of forced texts.

use crate::tokenizer::{TextEncoder, Tokenizer};
use crate::{Error, Result};
use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenizerEnv, INVALID_TOKEN};
use llguidance::{Matcher, ParserFactory};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

/// The longest token that llguidance's trie holds, in bytes. Longer ones are not used under a constraint.
const LONGEST: usize = 1000;

/// Marks the names of tokens that are no text. No text has this byte.
const MARK: u8 = TokTrie::SPECIAL_TOKEN_MARKER;

/// Makes matchers of grammars for a vocabulary.
pub(crate) struct Grammars(ParserFactory);

impl Grammars {
    pub(super) fn matcher(&self, grammar: TopLevelGrammar) -> Matcher {
        Matcher::new(self.0.create_parser(grammar))
    }
}

/// The tokenizer's own. It is made for the first constraint.
pub(super) fn grammars(tokenizer: &Tokenizer) -> Result<&Grammars> {
    let made = tokenizer.grammars.get_or_init(|| {
        // The trie panics if a vocabulary exceeds the limits of its representation.
        let made = catch_unwind(AssertUnwindSafe(|| Vocabulary::new(tokenizer).factory()));
        made.unwrap_or_else(|_| Err("the vocabulary is too large".into()))
            .map_err(|e| Error::unsupported(format!("constraints: {e}")))
    });
    made.as_ref().map_err(|e| Error::unsupported(e.to_string()))
}

struct Vocabulary {
    trie: TokTrie,
    encoder: TextEncoder,
    /// Whether every byte has a token, so that every text can be forced.
    has_all_bytes: bool,
}

impl Vocabulary {
    fn new(tokenizer: &Tokenizer) -> Self {
        let texts = tokenizer.texts();
        let bytes = |id: u32| match texts.get(id) {
            text if text.len() > LONGEST => Vec::new(),
            text if !tokenizer.is_text(id) && !text.is_empty() => [&[MARK], text].concat(),
            // The byte 0xFF is in no UTF-8, so nothing is lost without its token.
            text if text.contains(&MARK) => Vec::new(),
            text => text.to_vec(),
        };
        let words: Vec<Vec<u8>> = (0..tokenizer.n_tokens() as u32).map(bytes).collect();
        let mut single = [false; 256];
        words.iter().filter(|word| word.len() == 1).for_each(|word| single[usize::from(word[0])] = true);
        let mut trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, INVALID_TOKEN), &words);
        let ends = tokenizer.ends();
        if !ends.is_empty() {
            trie = trie.with_eos_tokens(&ends);
        }
        // 0xF8 and above are in no UTF-8.
        Vocabulary { trie, encoder: tokenizer.text_encoder(), has_all_bytes: single[..0xf8].iter().all(|has| *has) }
    }

    fn factory(self) -> std::result::Result<Grammars, String> {
        let caps = InferenceCapabilities { ff_tokens: self.has_all_bytes, ..InferenceCapabilities::default() };
        let env: TokEnv = Arc::new(self);
        let slices = llguidance::earley::SlicedBiasComputer::general_slices();
        let mut factory = ParserFactory::new(&env, caps, &slices).map_err(|e| e.to_string())?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(Grammars(factory))
    }

    /// The tokens of a text within a text: tokenizers may put a space before the first word of a text, which a character
    /// that is no part of a word keeps away.
    fn encode(&self, text: &str) -> Vec<u32> {
        let whole = |tokens: &Vec<u32>| self.trie.decode_raw(tokens) == text.as_bytes();
        let alone = self.encoder.encode(text).filter(whole);
        let after_mark = || {
            let tokens = self.encoder.encode(&format!("\u{2}{text}"))?;
            let first = tokens.iter().position(|token| self.trie.token(*token).ends_with(b"\x02"))?;
            Some(tokens[first + 1..].to_vec()).filter(whole)
        };
        alone.or_else(after_mark).unwrap_or_else(|| self.trie.greedy_tokenize(text.as_bytes()))
    }
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<u32> {
        self.trie.tokenize_with_greedy_fallback(bytes, |text| self.encode(text))
    }

    fn tokenize_is_canonical(&self) -> bool {
        self.has_all_bytes
    }
}
