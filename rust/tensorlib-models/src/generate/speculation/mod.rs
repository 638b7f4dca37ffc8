//! Speculation: drafts of the next tokens, which the model checks several at a time.

mod draft_model;
mod lookup;
mod pace;

use crate::{Decoder, Error, Result, Session};
use draft_model::DraftModel;
use lookup::Lookup;
use pace::{Best, Pace, Source, LONGEST_DRAFT};
use std::time::Duration;

/// The weight of the newest measurement in an average.
const NEWEST: f64 = 0.2;

/// Options of speculation.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeculationOptions {
    /// A draft ends before a token to which the draft model gives a probability below this one. 0.75 by default: on CPUs
    /// a wrong token costs about half of what a right one saves.
    pub p_min: f32,
    /// Always drafts up to this many tokens, whether that pays or not, for measurements. `None`, the default: up to 7, as
    /// many as pay.
    pub length: Option<usize>,
}

impl Default for SpeculationOptions {
    fn default() -> Self {
        SpeculationOptions { p_min: 0.75, length: None }
    }
}

impl SpeculationOptions {
    /// Checks the numbers.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a number out of its range, naming the option, the number and the
    /// range.
    pub fn check(&self) -> Result<()> {
        match self.p_min {
            p if (0.0..=1.0).contains(&p) => Ok(()),
            p => Err(Error::invalid(format!("p_min: is {p}: 0 to 1 are valid"))),
        }
    }
}

/// What was drafted for a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drafts {
    /// Tokens drafted by prompt lookup, and those of them that the model would have chosen.
    pub lookup: (usize, usize),
    /// Tokens drafted by the draft model, and those of them that the model would have chosen.
    pub model: (usize, usize),
    /// The time that the draft model took, without that for the prompt.
    pub model_time: Duration,
}

impl Drafts {
    /// All tokens drafted, and those of them that the model would have chosen.
    pub fn all(&self) -> (usize, usize) {
        (self.lookup.0 + self.model.0, self.lookup.1 + self.model.1)
    }
}

/// Drafts tokens for [`generate_speculating`](crate::generate_speculating): by prompt lookup, which is what followed the
/// last tokens where they occurred before, and by a draft model if there is one. It draws each draft from the source that
/// promises the most tokens a second, and makes none where none pays. It may serve any number of texts of one model, as
/// the turns of a conversation; what it has measured counts for later ones.
///
/// ```no_run
/// # use tensorlib_models::{generate_speculating, Decoder, Sampler, SamplerOptions, Speculation, SpeculationOptions};
/// # use tensorlib::DType;
/// # fn main() -> tensorlib_models::Result<()> {
/// # let backend = tensorlib::Backend::cpu()?;
/// let decoder = Decoder::open("model.gguf", &backend, &Default::default())?;
/// let draft = Decoder::open("small.gguf", &backend, &Default::default())?.session(DType::F16)?;
/// let mut speculation = Speculation::with_draft(&SpeculationOptions::default(), &decoder, draft)?;
/// let mut session = decoder.session(DType::F16)?;
/// let mut sampler = Sampler::new(SamplerOptions::default())?;
/// let prompt = decoder.tokenizer().encode_prompt("Once upon a time", false)?;
/// generate_speculating(&mut session, &mut sampler, &prompt, Some(100), &[], &mut speculation, |piece| {
///     print!("{}", piece.text);
///     true
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Speculation {
    length: Option<usize>,
    lookup: Lookup,
    model: Option<DraftModel>,
    pace: Pace,
    /// Whether the last draft is the draft model's.
    by_model: bool,
    drafts: Drafts,
}

/// Where a draft comes from, with its length.
enum Choice {
    None,
    Lookup(usize),
    Model(usize),
    /// The draft model's next token is compared with the model's, but not computed.
    Guess,
}

impl Speculation {
    /// Speculation by prompt lookup.
    ///
    /// # Errors
    /// As [`SpeculationOptions::check`].
    pub fn new(options: &SpeculationOptions) -> Result<Self> {
        options.check()?;
        Ok(Speculation {
            length: options.length,
            lookup: Lookup::new(),
            model: None,
            pace: Pace::default(),
            by_model: false,
            drafts: Drafts::default(),
        })
    }

    /// Speculation by prompt lookup and by a draft model: a smaller model with the vocabulary of `model`, for whose
    /// sessions it drafts. `draft` is a session of the draft model, with any tokens: it takes those of the text. Its
    /// context may be shorter than the model's; longer texts go on without its drafts.
    ///
    /// # Errors
    /// As [`SpeculationOptions::check`]; [`ErrorKind::Invalid`](crate::ErrorKind) naming the first token that differs
    /// between the vocabularies. Unused tokens may differ, and one vocabulary may have more of them at its end.
    pub fn with_draft(options: &SpeculationOptions, model: &Decoder, draft: Session) -> Result<Self> {
        let mut speculation = Self::new(options)?;
        speculation.model = Some(DraftModel::new(model, draft, options.p_min)?);
        Ok(speculation)
    }

    /// What was drafted for the last text.
    pub fn drafts(&self) -> Drafts {
        Drafts { model_time: self.model.as_ref().map_or(Duration::ZERO, |model| model.time), ..self.drafts }
    }

    /// The draft model's session.
    pub fn draft_session(&self) -> Option<&Session> {
        self.model.as_ref().map(|model| &model.session)
    }

    /// Why the draft model stopped drafting for the last text, if it failed. The text does not depend on that.
    pub fn draft_error(&self) -> Option<&Error> {
        self.model.as_ref().and_then(|model| model.error.as_ref())
    }

    /// Checks whether drafts are for this model, and forgets the last text.
    pub(super) fn prepare(&mut self, model: &Decoder) -> Result<()> {
        self.lookup = Lookup::new();
        self.drafts = Drafts::default();
        self.model.as_mut().map_or(Ok(()), |draft| draft.prepare(model))
    }

    /// Lets the draft model read a prompt, if its drafts can pay, and calls `go_on` between the parts of a long one.
    /// Whether all calls gave `true`.
    pub(super) fn begin(&mut self, prompt: &[u32], go_on: impl FnMut() -> bool) -> bool {
        let Some(model) = &mut self.model else { return true };
        let perfect = self.pace.one().map(|one| Source { sure: 1.0, right: 1.0, ..model.source(one) });
        let can_pay = perfect.is_none_or(|source| self.pace.best(&source).length > 0);
        if self.length.is_none() && !can_pay {
            return true;
        }
        model.read(prompt, go_on)
    }

    /// At most `room` tokens that may follow these. `tokens` grows from call to call.
    pub(super) fn draft(&mut self, tokens: &[u32], room: usize) -> Vec<u32> {
        self.by_model = false;
        let most = self.length.unwrap_or(LONGEST_DRAFT).min(room);
        let found = self.lookup.propose(tokens, most).len();
        self.model.iter_mut().for_each(|model| model.compare(tokens));
        if most == 0 || tokens.is_empty() {
            return Vec::new();
        }
        let choice = match self.length {
            Some(_) if found > 0 => Choice::Lookup(most),
            Some(_) => Choice::Model(most),
            None => self.choose(tokens, found > 0),
        };
        let (drafted, seconds) = match (choice, &mut self.model) {
            (Choice::Lookup(n), _) => return self.lookup.proposed(n),
            (Choice::Model(n), Some(model)) => model.draft(tokens, n.min(most)),
            (Choice::Guess, Some(model)) => model.guess(tokens),
            _ => return Vec::new(),
        };
        self.pace.spent(seconds);
        self.by_model = true;
        drafted
    }

    /// Chooses the source that promises the most tokens a second.
    fn choose(&mut self, tokens: &[u32], is_found: bool) -> Choice {
        let Some(one) = self.pace.one().filter(|_| !self.pace.needs_plain()) else { return Choice::None };
        let lookup = Source { sure: 1.0, right: self.lookup.right, seconds: 0.0 };
        let lookup = if is_found { self.pace.best(&lookup) } else { Best::NONE };
        let (mut by_model, mut guesses) = (Best::NONE, false);
        if let Some((model, first)) = self.model.as_mut().and_then(|m| m.first_seconds(tokens, one).map(|s| (m, s))) {
            let source = model.source(one);
            by_model = self.pace.best(&source);
            // Text that it has not computed yet takes more than a usual draft.
            if by_model.length > 0 && !self.pace.allows(first - source.seconds) {
                by_model = Best::NONE;
            }
            guesses = model.is_due() && self.pace.allows(first);
        }
        if by_model.speedup > lookup.speedup {
            return Choice::Model(by_model.length);
        }
        match lookup.length {
            0 if guesses => Choice::Guess,
            n if n > 0 && self.pace.allows(0.0) => Choice::Lookup(n),
            _ => Choice::None,
        }
    }

    /// Records the time of a run of this many tokens.
    pub(super) fn took(&mut self, tokens: usize, time: Duration) {
        self.pace.took(tokens, time);
    }

    /// Records how many tokens of the last draft were right.
    pub(super) fn checked(&mut self, drafted: usize, right: usize) {
        self.pace.saved(right);
        let count = if self.by_model { &mut self.drafts.model } else { &mut self.drafts.lookup };
        *count = (count.0 + drafted, count.1 + right);
        if let Some(model) = self.model.as_mut().filter(|_| self.by_model) {
            model.checked(drafted, right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured: a run of 1, 2, 4 or 8 tokens takes little longer than one, or as long as that many.
    fn measured(is_cheap: bool) -> Speculation {
        let mut speculation = Speculation::new(&SpeculationOptions::default()).unwrap();
        for columns in [1, 1, 1, 2, 2, 4, 4, 8, 8] {
            let ms = if is_cheap { 100 + columns } else { 100 * columns };
            speculation.took(columns as usize, Duration::from_millis(ms));
        }
        speculation.pace.saved(8);
        speculation
    }

    #[test]
    fn drafts_follow_what_pays() {
        let text: Vec<u32> = (0..20).map(|i| i % 5).collect();
        let mut cheap = measured(true);
        assert!(cheap.draft(&text, 0).is_empty());
        let first = cheap.draft(&text, 9);
        assert!(!first.is_empty() && text.starts_with(&first), "{first:?}");
        cheap.checked(first.len(), 1);
        assert_eq!((cheap.drafts().lookup, cheap.drafts().all()), ((first.len(), 1), (first.len(), 1)));
        assert!(measured(false).draft(&text, 9).is_empty());
        let mut new = Speculation::new(&SpeculationOptions::default()).unwrap();
        assert!(new.draft(&text, 9).is_empty(), "nothing was measured yet");
        let always = SpeculationOptions { length: Some(2), ..SpeculationOptions::default() };
        assert_eq!(Speculation::new(&always).unwrap().draft(&text, 9).len(), 2);
        assert_eq!(Speculation::new(&always).unwrap().draft(&text, 1).len(), 1);
    }

    #[test]
    fn drafts_that_are_wrong_end_until_the_text_repeats_itself() {
        let mut speculation = measured(true);
        let (mut text, mut taken, mut drafts) = (vec![1, 2], 0, 0);
        for i in 0..500 {
            // 1, 2 is followed by another token each time, and 10 + i occurs once.
            for after in [&[10 + i][..], &[1, 2]] {
                let drafted = speculation.draft(&text, 9).len() as u64;
                drafts += u32::from(drafted > 0);
                taken += 100 + 10 * drafted;
                speculation.took(1 + drafted as usize, Duration::from_millis(100 + 10 * drafted));
                speculation.checked(drafted as usize, 0);
                text.extend(after);
            }
        }
        assert!(drafts > 0 && taken <= 101_500, "{drafts} drafts, {taken} ms instead of 100000");
        for i in 0..20 {
            speculation.draft(&text, 9);
            text.push(text[i]);
        }
        assert_eq!(speculation.draft(&text, 9).len(), LONGEST_DRAFT);
    }

    #[test]
    fn options_out_of_their_range_are_refused() {
        for p_min in [-0.1, 1.1, f32::NAN] {
            let options = SpeculationOptions { p_min, ..SpeculationOptions::default() };
            let error = Speculation::new(&options).unwrap_err();
            assert!(error.to_string().ends_with("0 to 1 are valid"), "{error}");
        }
    }
}
