//! How byte-pair tokenizers cut a text into words before they look for pairs, by the names of `tokenizer.ggml.pre`.
//!
//! Expressions and normal forms are those of the models' published tokenizer.json.

pub(super) mod written;

use super::guard::guarded;
use crate::{Error, Result};
use tokenizers::normalizers::{NormalizerWrapper, NFC};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::punctuation::Punctuation;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::SplitDelimiterBehavior::{Contiguous, Isolated};

/// A cut. Each cut divides the parts of the cuts before it further.
#[derive(Clone, Copy)]
enum Cut {
    /// Matches are parts, and so is the text between them.
    Regex(&'static str),
    /// Every digit, or other number character, is a part.
    Digit,
    /// Runs of digits are parts.
    Digits,
    /// Runs of punctuation are parts.
    Punctuation,
    /// GPT-2's words, and characters for bytes.
    Gpt2Words,
}

/// A way to cut, and other properties of the models that use it.
pub(super) struct Rule {
    names: &'static [&'static str],
    cuts: &'static [Cut],
    /// Whether text is converted to Unicode's normal form C first.
    nfc: bool,
    /// Whether a word that is a token as a whole skips the building from pairs.
    pub(super) ignore_merges: bool,
    /// Whether a text begins with bos if the file does not say.
    pub(super) bos: bool,
    /// Whether it ends with eos or sep if the file does not say.
    pub(super) eos: bool,
}

impl Rule {
    const fn new(names: &'static [&'static str], cuts: &'static [Cut]) -> Self {
        Rule { names, cuts, nfc: false, ignore_merges: false, bos: false, eos: false }
    }
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)";
const LLAMA3: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const QWEN2: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
/// QWEN2 with marks as parts of words.
const QWEN35: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|",
    r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const GPT4O: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const SEED_CODER: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}|",
    r" ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const TEKKEN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|",
    r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const DEEPSEEK3: &str = concat!(
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"##,
    r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const CJK: &str = "[\u{4e00}-\u{9fa5}\u{800}-\u{4e00}\u{ac00}-\u{d7ff}]+";

/// The letters with case, which the expression of deepseek-llm lists range by range.
const DEEPSEEK_LETTERS: &str =
    "\\s?[A-Za-z\u{B5}\u{C0}-\u{D6}\u{D8}-\u{F6}\u{F8}-\u{1BA}\u{1BC}-\u{1BF}\u{1C4}-\u{293}\u{295}-\u{2AF}\
    \u{370}-\u{373}\u{376}\u{377}\u{37B}-\u{37D}\u{37F}\u{386}\u{388}-\u{38A}\u{38C}\u{38E}-\u{3A1}\
    \u{3A3}-\u{3F5}\u{3F7}-\u{481}\u{48A}-\u{52F}\u{531}-\u{556}\u{10A0}-\u{10C5}\u{13A0}-\u{13F5}\
    \u{13F8}-\u{13FD}\u{1C90}-\u{1CBA}\u{1CBD}-\u{1CBF}\u{1D00}-\u{1D2B}\u{1D6B}-\u{1D77}\u{1D79}-\u{1D9A}\
    \u{1E00}-\u{1F15}\u{1F18}-\u{1F1D}\u{1F20}-\u{1F45}\u{1F48}-\u{1F4D}\u{1F50}-\u{1F57}\u{1F59}\u{1F5B}\
    \u{1F5D}\u{1F5F}-\u{1F7D}\u{1F80}-\u{1FB4}\u{1FB6}-\u{1FBC}\u{1FBE}\u{1FC2}-\u{1FC4}\u{1FC6}-\u{1FCC}\
    \u{1FD0}-\u{1FD3}\u{1FD6}-\u{1FDB}\u{1FE0}-\u{1FEC}\u{1FF2}-\u{1FF4}\u{1FF6}-\u{1FFC}\u{2102}\u{2107}\
    \u{210A}-\u{2113}\u{2115}\u{2119}-\u{211D}\u{2124}\u{2126}\u{2128}\u{212A}-\u{212D}\u{212F}-\u{2134}\
    \u{2139}\u{213C}-\u{213F}\u{2145}-\u{2149}\u{214E}\u{2183}\u{2184}\u{2C00}-\u{2C7B}\u{2C7E}-\u{2CE4}\
    \u{2CEB}-\u{2CEE}\u{2CF2}\u{2CF3}\u{A640}-\u{A66D}\u{A680}-\u{A69B}\u{A722}-\u{A76F}\u{A771}-\u{A787}\
    \u{A78B}-\u{A78E}\u{AB70}-\u{ABBF}\u{FB00}-\u{FB06}\u{FB13}-\u{FB17}\u{FF21}-\u{FF3A}\u{FF41}-\u{FF5A}\
    \u{10400}-\u{1044F}\u{104B0}-\u{104D3}\u{104D8}-\u{104FB}\u{10C80}-\u{10CB2}\u{10CC0}-\u{10CF2}\
    \u{118A0}-\u{118DF}\u{1E900}-\u{1E943}]+";

const RULES: &[Rule] = &[
    // For a file without a name: the cuts used to convert files before names existed.
    Rule::new(
        &["default"],
        &[Cut::Regex(r"[\p{P}\$\+<=>\^~\|]+"), Cut::Regex(GPT2), Cut::Regex(r"\p{N}+"), Cut::Regex("[0-9][0-9][0-9]")],
    ),
    Rule::new(&["gpt-2", "phi-2", "mellum", "exaone4"], &[Cut::Gpt2Words]),
    Rule { nfc: true, ..Rule::new(&["olmo", "mpt", "modern-bert"], &[Cut::Gpt2Words]) },
    Rule { bos: true, eos: true, ..Rule::new(&["roberta-bpe", "jina-v1-en", "jina-v2-code"], &[Cut::Gpt2Words]) },
    Rule::new(&["smollm", "starcoder", "refact", "minerva-7b"], &[Cut::Digit, Cut::Gpt2Words]),
    Rule { nfc: true, ..Rule::new(&["command-r"], &[Cut::Digit, Cut::Gpt2Words]) },
    Rule {
        ignore_merges: true,
        bos: true,
        ..Rule::new(
            &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "lfm2", "pixtral"],
            &[Cut::Regex(LLAMA3)],
        )
    },
    Rule::new(&["dbrx", "smaug-bpe", "chatglm-bpe"], &[Cut::Regex(LLAMA3)]),
    Rule { ignore_merges: true, ..Rule::new(&["glm4"], &[Cut::Regex(LLAMA3)]) },
    Rule {
        nfc: true,
        ..Rule::new(&["qwen2", "deepseek-r1-qwen", "megrez", "hunyuan", "stablelm2"], &[Cut::Regex(QWEN2)])
    },
    Rule { nfc: true, ..Rule::new(&["qwen35"], &[Cut::Regex(QWEN35)]) },
    Rule::new(&["seed-coder"], &[Cut::Regex(SEED_CODER)]),
    Rule::new(&["gpt-4o", "llama4"], &[Cut::Regex(GPT4O)]),
    Rule { ignore_merges: true, bos: true, ..Rule::new(&["tekken"], &[Cut::Regex(TEKKEN)]) },
    Rule::new(
        &["deepseek-llm"],
        &[
            Cut::Regex(r"[\r\n]"),
            Cut::Regex(DEEPSEEK_LETTERS),
            Cut::Regex("\\s?[!-/:-~\u{ff01}-\u{ff0f}\u{ff1a}-\u{ff5e}\u{2018}-\u{201f}\u{3000}-\u{3002}]+"),
            Cut::Regex(r"\s+$"),
            Cut::Regex(CJK),
            Cut::Digit,
        ],
    ),
    Rule::new(
        &["deepseek-coder"],
        &[Cut::Regex(r"[\r\n]"), Cut::Regex(r"\s?\p{L}+"), Cut::Regex(r"\s?\p{P}+"), Cut::Regex(CJK), Cut::Digit],
    ),
    Rule::new(
        &["deepseek-v3", "hunyuan-dense"],
        &[
            Cut::Regex(r"\p{N}{1,3}"),
            Cut::Regex("[\u{4e00}-\u{9fa5}\u{3040}-\u{309f}\u{30a0}-\u{30ff}]+"),
            Cut::Regex(DEEPSEEK3),
        ],
    ),
    Rule::new(&["falcon"], &[Cut::Punctuation, Cut::Gpt2Words, Cut::Digits, Cut::Regex("[0-9][0-9][0-9]")]),
];

/// The names of all rules.
pub(super) fn names() -> Vec<&'static str> {
    RULES.iter().flat_map(|rule| rule.names).copied().collect()
}

/// The rule with this name.
pub(super) fn rule(name: &str) -> Result<&'static Rule> {
    RULES.iter().find(|rule| rule.names.contains(&name)).ok_or_else(|| {
        let names = names().join(", ");
        Error::unsupported(format!("tokenizer.ggml.pre: no pre-tokenizer '{name}'; there are {names}"))
    })
}

impl Rule {
    pub(super) fn normalizer(&self) -> Option<NormalizerWrapper> {
        self.nfc.then(|| NFC.into())
    }

    /// The cuts in the crate's form. `prefix_space` puts a space before a text that has none.
    pub(super) fn pre_tokenizer(&self, prefix_space: bool) -> Result<PreTokenizerWrapper> {
        guarded("tokenizer.ggml.pre", || {
            let mut steps: Vec<PreTokenizerWrapper> = Vec::with_capacity(self.cuts.len() + 1);
            for cut in self.cuts {
                steps.push(match *cut {
                    Cut::Regex(regex) => Split::new(SplitPattern::Regex(regex.into()), Isolated, false)?.into(),
                    Cut::Digit => Digits::new(true).into(),
                    Cut::Digits => Digits::new(false).into(),
                    Cut::Punctuation => Punctuation::new(Contiguous).into(),
                    Cut::Gpt2Words => ByteLevel::new(prefix_space, false, true).into(),
                });
            }
            if !self.cuts.iter().any(|cut| matches!(cut, Cut::Gpt2Words)) {
                steps.push(ByteLevel::new(prefix_space, false, false).into());
            }
            Ok(Sequence::new(steps).into())
        })
    }
}

#[cfg(test)]
mod tests;
