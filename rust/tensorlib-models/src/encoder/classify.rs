//! Scores of texts and of pairs of texts, from the head of a classifier or cross-encoder.

use super::head::{Head, Kind, Scores};
use super::{Encoder, Line};
use crate::score::{self, ScorePairs};
use crate::{Error, Result};

/// The tokens of a text or of a pair of texts, as a classifier reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenizedText {
    /// The ids, special ones included.
    pub ids: Vec<u32>,
    /// The type of each token, 0 or 1; no types mean that all are 0.
    pub types: Vec<u32>,
    /// Whether tokens were cut to [`Encoder::max_tokens`].
    pub was_cut: bool,
}

impl Encoder {
    /// The labels that the model's head tells apart; none if it has no head and gives vectors alone.
    pub fn labels(&self) -> &[String] {
        self.head.as_ref().map_or(&[], |head| head.labels())
    }

    /// The tokens of a text for [`Encoder::classify_tokens`].
    ///
    /// # Errors
    /// As [`Encoder::tokenize`].
    pub fn tokenize_text(&self, text: &str) -> Result<TokenizedText> {
        let (ids, was_cut) = self.tokenize(text)?;
        Ok(TokenizedText { ids, types: Vec::new(), was_cut })
    }

    /// The tokens of two texts, as the model's files put them together. If they are too many, the longer text is cut.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if the tokenizer refuses a text;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) if the files define no pairs, or a prompt before each text.
    pub fn tokenize_pair(&self, first: &str, second: &str) -> Result<TokenizedText> {
        if !self.sentences.prompt.is_empty() {
            let message =
                "config_sentence_transformers.json: default_prompt_name: pairs of texts with a prompt are not known";
            return Err(Error::unsupported(message));
        }
        let texts = [self.sentences.cased(first), self.sentences.cased(second)];
        let (ids, mut types, was_cut) = self.tokenizer.encode_pair([&texts[0], &texts[1]], self.max_tokens)?;
        // Models without types, or with a single one, do not tell the texts apart by them.
        if self.types.as_ref().is_none_or(|types| types.shape().get(1).is_none_or(|rows| *rows == 1)) {
            types.clear();
        }
        Ok(TokenizedText { ids, types, was_cut })
    }

    /// How well each text answers the query, by a cross-encoder: a score for each, in their order. Scores are what the
    /// files say; without a word from them they lie between 0 and 1.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a model without a head, or with more labels than one; as
    /// [`Encoder::tokenize_pair`] and [`ScorePairs::score_lines`].
    ///
    /// ```no_run
    /// # use tensorlib_models::{Encoder, EncoderOptions};
    /// let cpu = tensorlib::Backend::cpu()?;
    /// let encoder = Encoder::open("ms-marco-MiniLM-L6-v2", &cpu, &EncoderOptions::new())?;
    /// let scores = encoder.score("What do pandas eat?", &["Pandas eat bamboo.", "Paris is in France."])?;
    /// assert!(scores[0] > scores[1]);
    /// # Ok::<(), tensorlib_models::Error>(())
    /// ```
    pub fn score<T: AsRef<str>>(&self, query: &str, texts: &[T]) -> Result<Vec<f32>> {
        score::of(self, query, texts)
    }

    /// A score for each of the model's labels ([`Encoder::labels`]), for each text, in their order. How logits become
    /// scores is what the files say: of labels that exclude each other, the scores are positive and add up to 1.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a model without a head; as [`Encoder::tokenize`] and
    /// [`Encoder::classify_tokens`].
    pub fn classify<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<Vec<f32>>> {
        let lines = texts.iter().map(|text| self.tokenize_text(text.as_ref())).collect::<Result<Vec<_>>>()?;
        self.classify_tokens(&lines, |_| true)
    }

    /// The scores of texts or pairs, as [`Encoder::classify`] gives them. `progress(lines done)` is called from time to
    /// time; `false` stops the work.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a model without a head, a line without tokens or with too many, an
    /// invalid token or type, a logit that is not finite, or if `progress` returned `false`;
    /// [`ErrorKind::Memory`](crate::ErrorKind), [`ErrorKind::Internal`](crate::ErrorKind).
    pub fn classify_tokens(
        &self,
        lines: &[TokenizedText],
        progress: impl FnMut(usize) -> bool,
    ) -> Result<Vec<Vec<f32>>> {
        self.classify_lines(0, lines, progress)
    }

    /// [`Encoder::classify_tokens`] with errors that number lines from `first` on.
    ///
    /// # Errors
    /// As [`Encoder::classify_tokens`].
    pub fn classify_lines(
        &self,
        first: usize,
        lines: &[TokenizedText],
        progress: impl FnMut(usize) -> bool,
    ) -> Result<Vec<Vec<f32>>> {
        let head = self.head()?;
        self.scores(head, head.classes(), first, lines, progress)
    }

    fn head(&self) -> Result<&Head> {
        self.head.as_ref().ok_or_else(|| {
            Error::invalid("the model has no head: it gives vectors, not scores").with_hint(
                "a cross-encoder or a classifier has one: its architecture ends in ForSequenceClassification",
            )
        })
    }

    fn scores(
        &self,
        head: &Head,
        of: Scores,
        first: usize,
        lines: &[TokenizedText],
        progress: impl FnMut(usize) -> bool,
    ) -> Result<Vec<Vec<f32>>> {
        let rows: Vec<Line> = lines.iter().map(|line| Line { ids: &line.ids, types: &line.types }).collect();
        if let Some(line) = rows.iter().position(|line| line.ids.is_empty()) {
            return Err(Error::invalid(format!("line {}: it has no tokens: at least one is valid", first + line)));
        }
        let (n, mut scores) = (head.labels().len(), vec![Vec::new(); lines.len()]);
        self.each_batch(first, &rows, progress, |ctx, batch| {
            let logits: Vec<f32> = match head.kind() {
                Kind::Classifier(head) => {
                    let hidden = self.hidden(ctx, &rows, batch, head.reads_firsts())?;
                    self.read(&head.forward(batch, &hidden, &self.pass())?)?
                }
                Kind::Modules(tail, pooling) => {
                    let pooled = self.pooled(ctx, (first, &rows), batch, *pooling)?;
                    tail.apply(&pooled)?.into_iter().flatten().map(|x| x as f32).collect()
                }
            };
            for (line, logits) in batch.lines.iter().zip(logits.chunks_exact(n)) {
                if let Some((label, value)) = head.labels().iter().zip(logits).find(|(_, value)| !value.is_finite()) {
                    return Err(self.not_finite(format!("line {}: the logit of '{label}' is {value}", first + line)));
                }
                scores[*line] = of.of(logits);
            }
            Ok(())
        })?;
        Ok(scores)
    }
}

impl ScorePairs for Encoder {
    fn tokenize_pair(&self, query: &str, text: &str) -> Result<TokenizedText> {
        Encoder::tokenize_pair(self, query, text)
    }

    fn score_lines(
        &self,
        first: usize,
        pairs: &[TokenizedText],
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<f32>> {
        let head = self.head()?;
        if head.labels().len() != 1 {
            let message = format!("the model has {} labels: one is valid for scores of pairs", head.labels().len());
            return Err(Error::invalid(message).with_hint("classify tells its labels apart"));
        }
        let scores = self.scores(head, head.pairs(), first, pairs, progress)?;
        Ok(scores.into_iter().map(|scores| scores.first().copied().unwrap_or(f32::NAN)).collect())
    }

    fn max_tokens(&self) -> usize {
        Encoder::max_tokens(self)
    }
}
