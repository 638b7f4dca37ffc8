//! What all models that score pairs of texts have.

use crate::{Result, TokenizedText};

/// Scores how well texts answer a query: a cross-encoder ([`Encoder`](crate::Encoder)) or a language model
/// ([`Reranker`](crate::Reranker)). Their own `score` takes texts; this trait has the steps of it.
pub trait ScorePairs {
    /// The tokens of a query and a text, as the model takes them. If they are too many, the longer one is cut by an
    /// encoder, and the text by a language model.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if the tokenizer refuses a text or nothing of it would be left;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) if the model's files define no pairs.
    fn tokenize_pair(&self, query: &str, text: &str) -> Result<TokenizedText>;

    /// A score for each pair, in their order. Errors number pairs from `first` on. `progress(pairs done)` is called from
    /// time to time; `false` stops the work.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a model without a head or with more labels than one, a pair without
    /// tokens or with too many, an invalid token or type, a score that is not finite, or if `progress` returned `false`;
    /// [`ErrorKind::Memory`](crate::ErrorKind), [`ErrorKind::Internal`](crate::ErrorKind).
    fn score_lines(
        &self,
        first: usize,
        pairs: &[TokenizedText],
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<f32>>;

    /// The most tokens of a pair.
    fn max_tokens(&self) -> usize;

    /// A score for each pair, in their order.
    ///
    /// # Errors
    /// As [`ScorePairs::score_lines`].
    fn score_tokens(&self, pairs: &[TokenizedText]) -> Result<Vec<f32>> {
        self.score_lines(0, pairs, &mut |_| true)
    }
}

/// The scores of these texts for a query.
pub(crate) fn of<T: AsRef<str>>(scorer: &dyn ScorePairs, query: &str, texts: &[T]) -> Result<Vec<f32>> {
    let pair = |text: &T| scorer.tokenize_pair(query, text.as_ref());
    scorer.score_tokens(&texts.iter().map(pair).collect::<Result<Vec<_>>>()?)
}
