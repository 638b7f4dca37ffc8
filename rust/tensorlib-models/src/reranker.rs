//! Language models that judge whether a text answers a query.

use crate::generate::guarded;
use crate::kind::check_known;
use crate::package::Package;
use crate::score::{self, ScorePairs};
use crate::sentences::SentenceSettings;
use crate::settings::{Key, Settings};
use crate::weight_memory::Memory;
use crate::{Decoder, DecoderOptions, Error, Result, Session, TokenizedText};
use serde_json::{Map, Value};
use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use tensorlib::{Backend, DType};

/// The template of Qwen3-Reranker, for files without one (Zhang and others, Qwen3 Embedding, 2025).
const TEMPLATE: &str = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the \
Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: {instruction}\n\
<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
const INSTRUCTION: &str = "Given a web search query, retrieve relevant passages that answer the query";
/// What the template asks the model for.
const ANSWERS: [&str; 2] = ["yes", "no"];

/// The names of a head's labels in GGUF.
const LABELS: Key = Key("classifier.output_labels", "");

/// Whether the settings of a language model, or the name of its folder, say that it judges texts.
pub(crate) fn is_reranker(settings: &Settings, path: &Path) -> Result<bool> {
    if SentenceSettings::gives_scores(settings)? || settings.classifies_texts()? == Some(true) {
        return Ok(true);
    }
    let whole = path.canonicalize().unwrap_or_else(|_| path.into());
    let is_named = whole.iter().any(|part| part.to_string_lossy().to_lowercase().contains("reranker"));
    Ok(settings.is_hub() && is_named)
}

/// How the logits of the last token become a score.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// The only one is that of "yes" less that of "no".
    Difference,
    /// Two of them are those of "yes" and "no".
    Of { yes: usize, no: usize },
}

/// A language model that judges whether a text answers a query: Qwen3-Reranker. Its score is the probability of "yes"
/// where only "yes" and "no" are possible. Several threads may use it; their calls wait for each other.
pub struct Reranker {
    decoder: Decoder,
    choice: Choice,
    template: String,
    /// What a text has to do, in words; `None` if the template has no place for it.
    instruction: Option<String>,
    session: Mutex<Session>,
}

impl fmt::Debug for Reranker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reranker").field("decoder", &self.decoder).field("choice", &self.choice).finish_non_exhaustive()
    }
}

impl Reranker {
    /// Opens a hub folder, or a GGUF file, which is read into memory: Qwen3-Reranker as published, or with a head that
    /// has its two rows of the output matrix or their difference.
    ///
    /// # Errors
    /// As [`Decoder::open`]; [`ErrorKind::Unsupported`](crate::ErrorKind) for another architecture, or a vocabulary
    /// without the answers.
    pub fn open(path: impl AsRef<Path>, backend: &Backend, options: &DecoderOptions) -> Result<Self> {
        Self::from_package(Package::open(path.as_ref())?, backend, options)
    }

    /// Opens a model as [`Reranker::open`] does, but maps a GGUF file: its pages are loaded when they are touched.
    ///
    /// # Errors
    /// As [`Reranker::open`].
    ///
    /// # Safety
    /// Nobody may change the file while the model exists.
    pub unsafe fn open_mapped(path: impl AsRef<Path>, backend: &Backend, options: &DecoderOptions) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::from_package(unsafe { Package::open_mapped(path.as_ref())? }, backend, options)
    }

    fn from_package(package: Package, backend: &Backend, options: &DecoderOptions) -> Result<Self> {
        check_known(&package.settings)?;
        let decoder = Decoder::from_package(package, backend, &options.clone().with_head())?;
        if decoder.architecture() != "qwen3" {
            let name = decoder.architecture();
            return Err(Error::unsupported(format!(
                "architecture '{name}' is no language model that ranks texts: qwen3 is"
            ))
            .with_hint("cross-encoders and classifiers of the BERT family rank texts too"));
        }
        let choice = choice(&decoder)?;
        let given = decoder.tokenizer().rerank_template().map(String::from);
        let (template, instruction) = match given {
            Some(template) => (template, None),
            None => (TEMPLATE.to_string(), Some(INSTRUCTION.to_string())),
        };
        for name in ["{query}", "{document}"] {
            if template.matches(name).count() != 1 {
                let message = format!("tokenizer.chat_template.rerank: has not one place {name}: one is valid");
                return Err(Error::unsupported(message));
            }
        }
        let session = Mutex::new(decoder.session(DType::F16)?);
        Ok(Reranker { decoder, choice, template, instruction, session })
    }

    /// What a text has to do for a good score, in words; the usual one asks for passages that answer a web search's
    /// query.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) if the file has a template of its own, without a place for it.
    pub fn instruction(mut self, text: &str) -> Result<Self> {
        if self.instruction.is_none() {
            return Err(Error::unsupported(
                "an instruction: the file's template tokenizer.chat_template.rerank has its own",
            ));
        }
        self.instruction = Some(text.into());
        Ok(self)
    }

    /// Oddities of the model's files that are no errors, a line each.
    pub fn warnings(&self) -> &[String] {
        self.decoder.warnings()
    }

    /// The memory that the weights take now. It shrinks after computing, as packed copies replace the original weights.
    pub fn memory(&self) -> Memory {
        self.decoder.memory()
    }

    /// How well each text answers the query: a score from 0 to 1 for each, in their order.
    ///
    /// # Errors
    /// As [`ScorePairs::tokenize_pair`] and [`ScorePairs::score_lines`].
    pub fn score<T: AsRef<str>>(&self, query: &str, texts: &[T]) -> Result<Vec<f32>> {
        score::of(self, query, texts)
    }

    /// The score of tokens, of which the first `begins` are computed by themselves.
    fn score_of(&self, session: &mut Session, tokens: &[u32], begins: usize) -> Result<f32> {
        // At least one token is computed, whose logits are the result.
        let (first, rest) = tokens.split_at(begins.min(tokens.len().saturating_sub(1)));
        let is_known = session.tokens().starts_with(first) && session.tokens().len() > first.len();
        let reached = session.rewind(if is_known { first.len() } else { 0 });
        if reached < first.len() {
            session.feed(&first[reached..])?;
            session.checkpoint();
        }
        let logits = session.feed(rest)?;
        let logit = |i: usize| logits.get(i).copied().map_or(f64::NAN, f64::from);
        let difference = match self.choice {
            Choice::Difference => logit(0),
            Choice::Of { yes, no } => logit(yes) - logit(no),
        };
        match difference.is_finite() {
            true => Ok((1.0 / (1.0 + (-difference).exp())) as f32),
            false => Err(session.not_finite("the logits of the answers are not finite")),
        }
    }
}

impl ScorePairs for Reranker {
    /// The tokens of the template with these texts. Their types are 0 up to the text, and 1 from there on. Control tokens
    /// written out in the texts stay text.
    fn tokenize_pair(&self, query: &str, text: &str) -> Result<TokenizedText> {
        let tokenizer = self.decoder.tokenizer();
        let texts = [("query", query), ("document", text), ("instruction", self.instruction.as_deref().unwrap_or(""))];
        let values: Map<String, Value> = texts.iter().map(|(name, text)| (name.to_string(), (*text).into())).collect();
        let Some(mark) = guarded::mark(&values) else {
            return Err(Error::invalid("the texts have all characters from U+FDD0 to U+FDEF, which stand for nothing"));
        };
        let marked = |text: &str| match guarded::marked(text.into(), mark, tokenizer) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        // Each part of the template is filled in by itself, so that no text is taken for a place of another.
        let (body, end) = self.template.split_once("{document}").unwrap_or((&self.template, ""));
        let (before, after) = body.split_once("{query}").unwrap_or((body, ""));
        let instruction = marked(texts[2].1);
        let filled = |part: &str| part.replace("{instruction}", &instruction);
        let (asked, end) = (format!("{}{}{}", filled(before), marked(query), filled(after)), filled(end));
        let begun = tokenizer.encode_marked(&asked, mark)?;
        let body = format!("{asked}{}", marked(text));
        let (mut ids, most) = (tokenizer.encode_marked(&format!("{body}{end}"), mark)?, self.max_tokens());
        let was_cut = ids.len() > most;
        if was_cut {
            let end = tokenizer.encode(&end, false, true)?;
            let room = most.checked_sub(end.len()).filter(|room| *room > begun.len());
            let room = room.ok_or_else(|| {
                Error::invalid(format!("a context of {most} tokens has no room for the template and the query"))
            })?;
            ids = tokenizer.encode_marked(&body, mark)?;
            ids.truncate(room);
            ids.extend(end);
        }
        // The text may change the last token before it.
        let same = ids.iter().zip(&begun).take_while(|(a, b)| a == b).count();
        let types = (0..ids.len()).map(|i| u32::from(i >= same)).collect();
        Ok(TokenizedText { ids, types, was_cut })
    }

    /// The tokens of type 0 that a pair begins with are computed once for all pairs in a row that begin with them, as
    /// pairs of one query do. A pair's score does not depend on the other pairs.
    fn score_lines(
        &self,
        first: usize,
        pairs: &[TokenizedText],
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<f32>> {
        // A panic of an earlier call may have left tokens in it, so none of them is known.
        let mut session = self.session.lock().unwrap_or_else(|poisoned| {
            let mut session = poisoned.into_inner();
            session.rewind(0);
            session
        });
        let mut scores = Vec::with_capacity(pairs.len());
        for (i, pair) in pairs.iter().enumerate() {
            let begins = pair.types.iter().take_while(|kind| **kind == 0).count();
            let scored = self.score_of(&mut session, &pair.ids, begins);
            scores.push(scored.map_err(|e| e.about(format_args!("line {}", first + i)))?);
            if !progress(i + 1) {
                return Err(Error::invalid(format!("stopped after {} of {} lines", i + 1, pairs.len())));
            }
        }
        Ok(scores)
    }

    /// The template's tokens are among them.
    fn max_tokens(&self) -> usize {
        self.decoder.context()
    }
}

/// The logits that make the score, of a head or of the vocabulary.
fn choice(decoder: &Decoder) -> Result<Choice> {
    let tokenizer = decoder.tokenizer();
    let found = match (decoder.head_labels(), decoder.n_logits()) {
        (Some(_), 1) => return Ok(Choice::Difference),
        (Some(labels), _) => ANSWERS.map(|answer| labels.iter().position(|label| label == answer)),
        (None, _) => ANSWERS.map(|answer| tokenizer.id(answer).map(|id| id as usize)),
    };
    match found {
        [Some(yes), Some(no)] => Ok(Choice::Of { yes, no }),
        _ => {
            let place = if decoder.head_labels().is_some() { "the head's labels" } else { "the vocabulary" };
            Err(Error::unsupported(format!("{place}: has not both answers, yes and no: the model ranks no texts")))
        }
    }
}

/// The names of a head's `n` labels, as a GGUF file has them.
pub(crate) fn labels(settings: &Settings, n: usize) -> Result<Vec<String>> {
    let names = settings.texts_if(LABELS)?.unwrap_or_default();
    match names.len() == n || n == 1 {
        true => Ok(names),
        false => Err(settings.refuse(LABELS, format!("has {} names: the head's weights make {n} logits", names.len()))),
    }
}
