//! Tokenizers from the metadata of GGUF files.

use super::charsmap::check_charsmap;
use super::decoder::{Decoder, Step};
use super::guard::guarded;
use super::metadata::{missing, Metadata};
use super::model::{byte_pairs, longest_first, most_likely, Model};
use super::sentencepiece::{SentencePiece, Spaces, SPACE_MARK};
use super::steps::{Normalizers, PreTokenizers};
use super::vocabulary::{Kind, Roles, Vocabulary};
use super::{pairs, pretokenizers, world, Parts, Usage};
use crate::warnings::Warnings;
use crate::{Error, Result};
use tensorlib::Gguf;
use tokenizers::normalizers::{BertNormalizer, NormalizerWrapper, Precompiled, Replace};
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::AddedToken;

const MODEL: &str = "tokenizer.ggml.model";
const TOKENS: &str = "tokenizer.ggml.tokens";
const SCORES: &str = "tokenizer.ggml.scores";
const TOKEN_TYPE: &str = "tokenizer.ggml.token_type";
const UNKNOWN: &str = "tokenizer.ggml.unknown_token_id";

/// Pieces joined by score; byte pairs; longest words first; most likely pieces; pairs of pieces in a given order; the longest
/// tokens.
const FAMILIES: [&str; 6] = ["llama", "gpt2", "bert", "t5", "gemma4", "rwkv"];

/// The differences between kinds of vocabulary.
struct Family {
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    model: Model,
    decoder: Decoder,
    /// Whether a text gets the tokens for its beginning and end if the file does not say.
    bos: bool,
    eos: bool,
}

pub(super) fn read(file: &Gguf, warnings: &Warnings) -> Result<Parts> {
    let data = Metadata(file);
    data.check_keys(warnings)?;
    let name = family_name(&data)?;
    let texts = data.strings(TOKENS)?.ok_or_else(|| missing(TOKENS, "an array of strings"))?;
    let kinds = kinds(&data, texts.len())?;
    let mut named = Named::read(&data, texts.len())?;
    let vocabulary = vocabulary(&name, texts, kinds, &named)?;
    named.add_usual(&data, &name, &vocabulary)?;
    let family = match name.as_str() {
        "llama" => llama(&data, &vocabulary, &named.roles)?,
        "gpt2" => gpt2(&data, &vocabulary, &named.roles, warnings)?,
        "bert" => bert(&vocabulary, &named.roles)?,
        "gemma4" => gemma4(&data, &vocabulary, &named.roles)?,
        "rwkv" => rwkv(&vocabulary, &named.roles)?,
        _ => t5(&data, &vocabulary, &named.roles)?,
    };
    let added = added_tokens(&vocabulary, marks_spaces(&name), strips_after(&data, &name)?);
    let mut chat_template = data.string("tokenizer.chat_template")?;
    if name == "rwkv" {
        chat_template = chat_template.map(|text| world::template(text, &vocabulary, &named.roles));
    }
    let (prefix, suffix) = around(&data, &name, &named, &family)?;
    let pair = pair(&name, &vocabulary, prefix, suffix);
    let usage = Usage {
        ends: named.ends.into_iter().flatten().collect(),
        stops: Vec::new(),
        suppressed: data.ids("tokenizer.ggml.suppress_tokens", vocabulary.len())?,
        truncates_left: false,
        chat_template,
        rerank_template: data.string("tokenizer.chat_template.rerank")?,
    };
    Ok(Parts {
        vocabulary,
        added,
        normalizers: Normalizers::of(family.normalizer),
        pre_tokenizers: PreTokenizers::of(family.pre_tokenizer),
        model: family.model,
        decoder: family.decoder,
        pair,
        prefix: prefix.into_iter().collect(),
        suffix: suffix.into_iter().collect(),
        roles: named.roles,
        usage,
    })
}

/// The name of the file's kind of vocabulary.
fn family_name(data: &Metadata<'_>) -> Result<String> {
    let name = data.string(MODEL)?.ok_or_else(|| missing(MODEL, "the kind of vocabulary"))?;
    if !FAMILIES.contains(&name.as_str()) {
        let known = FAMILIES.join(", ");
        return Err(Error::unsupported(format!("{MODEL}: no vocabulary '{name}'; there are {known}")));
    }
    Ok(name)
}

/// Whether the vocabulary is SentencePiece's, which marks spaces.
fn marks_spaces(name: &str) -> bool {
    ["llama", "t5", "gemma4"].contains(&name)
}

fn id_of(data: &Metadata<'_>, key: &str, n: usize) -> Result<Option<u32>> {
    data.id(&format!("tokenizer.ggml.{key}_token_id"), n)
}

/// The tokens that the file names.
struct Named {
    roles: Roles,
    separator: Option<u32>,
    ends: [Option<u32>; 2],
}

impl Named {
    /// Reads their ids, of `n` tokens.
    fn read(data: &Metadata<'_>, n: usize) -> Result<Self> {
        let id = |key: &str| id_of(data, key, n);
        let roles = Roles { bos: id("bos")?, eos: id("eos")?, pad: id("padding")?, unknown: id("unknown")? };
        // "seperator" is how the format's first description spells it, and files use that.
        let separator = id("seperator")?.or(id("separator")?);
        let ends = [id("eot")?, id("eom")?];
        id("mask")?;
        Ok(Self { roles, separator, ends })
    }

    /// Adds the vocabulary's tokens that usually have a role, for files that do not name them.
    fn add_usual(&mut self, data: &Metadata<'_>, name: &str, vocabulary: &Vocabulary) -> Result<()> {
        let Self { roles, separator, .. } = self;
        let first_of = |kind| vocabulary.iter().find(|(_, _, k)| *k == kind).map(|(id, _, _)| id);
        roles.unknown = roles.unknown.or_else(|| first_of(Kind::Unknown));
        if marks_spaces(name) {
            // SentencePiece's names.
            let control = |name: &str| vocabulary.id(name).filter(|id| vocabulary.kind(*id) == Kind::Control);
            let or_usual = |key: &str, id: Option<u32>, usual: &str| match data.says_none(key) {
                true => None,
                false => id.or_else(|| control(usual)),
            };
            roles.bos = or_usual("tokenizer.ggml.bos_token_id", roles.bos, "<s>");
            roles.eos = or_usual("tokenizer.ggml.eos_token_id", roles.eos, "</s>");
        }
        if name == "bert" {
            let class = id_of(data, "cls", vocabulary.len())?;
            roles.bos = class.or_else(|| vocabulary.id("[CLS]")).or(roles.bos);
            *separator = separator.or_else(|| vocabulary.id("[SEP]")).or(roles.eos);
            roles.unknown = roles.unknown.or_else(|| vocabulary.id("[UNK]"));
        }
        Ok(())
    }
}

/// The tokens before and after a text.
fn around(data: &Metadata<'_>, name: &str, named: &Named, family: &Family) -> Result<(Option<u32>, Option<u32>)> {
    let Named { roles, separator, .. } = named;
    let add = |key: &str, default| Ok::<bool, Error>(data.flag(&format!("tokenizer.ggml.{key}"))?.unwrap_or(default));
    let prefix = roles.bos.filter(|_| family.bos);
    let prefix = if add("add_bos_token", prefix.is_some())? { roles.bos } else { None };
    let last = if name == "bert" { *separator } else { roles.eos.or(*separator) };
    let suffix = if add("add_eos_token", family.eos)? || add("add_sep_token", false)? { last } else { None };
    Ok((prefix, suffix))
}

/// A pair of texts. The files do not say: vocabularies with RoBERTa's end token have two of them between the texts, and
/// only BERT's own give the second text a type of its own.
fn pair(name: &str, vocabulary: &Vocabulary, prefix: Option<u32>, suffix: Option<u32>) -> pairs::Pair {
    let is_roberta = suffix.and_then(|id| vocabulary.text(id)) == Some("</s>");
    pairs::usual(prefix, suffix, if is_roberta { 2 } else { 1 }, u32::from(name == "bert"))
}

fn vocabulary(name: &str, texts: Vec<String>, mut kinds: Vec<Kind>, named: &Named) -> Result<Vocabulary> {
    let mut texts: Vec<Box<str>> = texts.into_iter().map(String::into_boxed_str).collect();
    for id in named.ends.into_iter().chain([named.roles.bos, named.roles.eos]).flatten() {
        // Files without types have text everywhere. A token in brackets is not such a text.
        let text = texts[id as usize].as_bytes();
        let bracketed = matches!((text.first(), text.last()), (Some(b'<'), Some(b'>')) | (Some(b'['), Some(b']')));
        if kinds[id as usize] == Kind::Normal && bracketed {
            kinds[id as usize] = Kind::Control;
        }
    }
    if name == "bert" {
        texts = texts.into_iter().zip(&kinds).map(|(text, kind)| continuation(text, *kind)).collect();
    }
    Vocabulary::new(texts, kinds)
}

fn kinds(data: &Metadata<'_>, n: usize) -> Result<Vec<Kind>> {
    let Some(numbers) = data.integers(TOKEN_TYPE, n)? else { return Ok(vec![Kind::Normal; n]) };
    let kind = |(id, number): (usize, &i64)| {
        Kind::from_gguf(*number)
            .ok_or_else(|| Error::format(format!("{TOKEN_TYPE}: token {id} has type {number}; types are 0 to 6")))
    };
    numbers.iter().enumerate().map(kind).collect()
}

/// A word of a BERT vocabulary as the hub writes it. The file marks the beginnings of words with U+2581 and leaves
/// continuations unmarked.
fn continuation(text: Box<str>, kind: Kind) -> Box<str> {
    let named = text.len() > 2 && text.starts_with('[') && text.ends_with(']');
    match text.strip_prefix(SPACE_MARK) {
        Some(word) => word.into(),
        None if kind.is_special() || named || text.is_empty() => text,
        None => format!("##{text}").into(),
    }
}

/// Whether spaces after a control token belong to it. The files do not say, but Phi-3 models with such a vocabulary
/// were trained that way: their tokenizer.json sets it for all tokens except three.
fn strips_after(data: &Metadata<'_>, name: &str) -> Result<bool> {
    Ok(name == "llama" && data.string("general.architecture")?.is_some_and(|architecture| architecture == "phi3"))
}

/// Tokens that are cut out of a text first: marks for the model, and text that is never divided.
fn added_tokens(vocabulary: &Vocabulary, marks_spaces: bool, strips_after: bool) -> Vec<(u32, AddedToken)> {
    let cut_out = |kind: Kind| kind.is_special() || kind == Kind::UserDefined;
    let tokens = vocabulary.iter().filter(|(id, _, kind)| cut_out(*kind) && vocabulary.is_first(*id));
    tokens
        .map(|(id, text, kind)| {
            // Texts are compared before their spaces are marked. In other vocabularies the mark is an ordinary
            // character.
            let content = if marks_spaces && kind == Kind::UserDefined {
                text.replace(SPACE_MARK, " ")
            } else {
                text.to_string()
            };
            let rstrip = strips_after && !["<unk>", "<s>", "<|endoftext|>"].contains(&text);
            (id, AddedToken::from(content, kind.is_special()).normalized(false).rstrip(rstrip))
        })
        .collect()
}

fn spaces(data: &Metadata<'_>, collapse: bool) -> Result<Spaces> {
    Ok(Spaces {
        prefix: data.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(true),
        collapse: data.flag("tokenizer.ggml.remove_extra_whitespaces")?.unwrap_or(collapse),
    })
}

/// Turns marks back into spaces and removes the space that encoding added.
fn piece_decoder(spaces: Spaces) -> Decoder {
    let marks = Step::Replace(SPACE_MARK.into(), " ".into());
    Decoder { steps: vec![marks, Step::ByteTokens], strip_start: spaces.prefix, strip_end: false }
}

fn llama(data: &Metadata<'_>, vocabulary: &Vocabulary, roles: &Roles) -> Result<Family> {
    let scores = data.scores(SCORES, vocabulary.len())?;
    let spaces = spaces(data, false)?;
    let model = SentencePiece::new(vocabulary, &scores, roles.unknown, spaces)?;
    let (model, decoder) = (Model::SentencePiece(Box::new(model)), piece_decoder(spaces));
    Ok(Family { normalizer: None, pre_tokenizer: None, model, decoder, bos: true, eos: false })
}

fn t5(data: &Metadata<'_>, vocabulary: &Vocabulary, roles: &Roles) -> Result<Family> {
    let scores = data.scores(SCORES, vocabulary.len())?;
    let spaces = spaces(data, true)?;
    let unknown = roles.unknown.ok_or_else(|| missing(UNKNOWN, "the id of a token"))?;
    let charsmap = "tokenizer.ggml.precompiled_charsmap";
    let normalizer = match data.bytes(charsmap)? {
        None | Some([]) => None,
        Some(bytes) => {
            check_charsmap(charsmap, bytes)?;
            Some(guarded(charsmap, || Ok(Precompiled::from(bytes)?.into()))?)
        }
    };
    let (model, decoder) = (most_likely(vocabulary, &scores, unknown, spaces)?, piece_decoder(spaces));
    Ok(Family { normalizer, pre_tokenizer: None, model, decoder, bos: false, eos: true })
}

fn merges(data: &Metadata<'_>) -> Result<Vec<String>> {
    let key = "tokenizer.ggml.merges";
    data.strings(key)?.ok_or_else(|| missing(key, "an array of strings"))
}

/// SentencePiece's pieces, joined in the order of a list. A text is not divided into words first.
fn gemma4(data: &Metadata<'_>, vocabulary: &Vocabulary, roles: &Roles) -> Result<Family> {
    let spaces = Spaces { prefix: data.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(false), collapse: false };
    if spaces.prefix {
        let message = "tokenizer.ggml.add_space_prefix: is true: false is supported with the vocabulary 'gemma4'";
        return Err(Error::unsupported(message));
    }
    let model = byte_pairs(vocabulary, merges(data)?, roles.unknown, (false, true))?;
    let normalizer = Some(guarded("tokenizer.ggml.model", || Ok(Replace::new(" ", SPACE_MARK)?.into()))?);
    Ok(Family { normalizer, pre_tokenizer: None, model, decoder: piece_decoder(spaces), bos: true, eos: false })
}

fn gpt2(data: &Metadata<'_>, vocabulary: &Vocabulary, roles: &Roles, warnings: &Warnings) -> Result<Family> {
    let merges = merges(data)?;
    let name = data.string("tokenizer.ggml.pre")?;
    if name.is_none() {
        warnings.add(
            "tokenizer.ggml.pre: missing: how words are cut is a guess, and results may be poor; convert the model again",
        );
    }
    let rule = pretokenizers::rule(name.as_deref().unwrap_or("default"))?;
    let prefix_space = data.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(false);
    let model = byte_pairs(vocabulary, merges, roles.unknown, (rule.ignore_merges, false))?;
    let decoder = Decoder { steps: vec![Step::ByteLevel], strip_start: prefix_space, strip_end: false };
    let (normalizer, pre_tokenizer) = (rule.normalizer(), Some(rule.pre_tokenizer(prefix_space)?));
    Ok(Family { normalizer, pre_tokenizer, model, decoder, bos: rule.bos, eos: rule.eos })
}

fn rwkv(vocabulary: &Vocabulary, roles: &Roles) -> Result<Family> {
    let (model, decoder) = (world::model(TOKENS, vocabulary, roles.unknown)?, world::decoder());
    Ok(Family { normalizer: None, pre_tokenizer: None, model, decoder, bos: false, eos: false })
}

fn bert(vocabulary: &Vocabulary, roles: &Roles) -> Result<Family> {
    let unknown = roles.unknown.ok_or_else(|| missing(UNKNOWN, "the id of a token, or a token [UNK],"))?;
    // The file does not say whether case matters. It does not if lower-casing leaves the vocabulary unchanged; capital
    // letters without a small one, such as U+211D, the sign of the real numbers, do not count.
    let has_case = |text: &str| text.to_lowercase() != text;
    let cased =
        vocabulary.iter().any(|(_, text, kind)| kind == Kind::Normal && !text.starts_with('[') && has_case(text));
    let normalizer = Some(BertNormalizer::new(true, true, None, !cased).into());
    let steps = vec![Step::Words { prefix: "##".into(), tidy: true }];
    let decoder = Decoder { steps, strip_start: true, strip_end: false };
    let model = longest_first(vocabulary, unknown)?;
    Ok(Family { normalizer, pre_tokenizer: Some(BertPreTokenizer.into()), model, decoder, bos: true, eos: true })
}
