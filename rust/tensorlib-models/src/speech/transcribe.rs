//! Transcribes a sound window by window (Radford and others, 2022, section 4.5).

use super::features::{Features, FRAMES_PER_SECOND};
use super::options::{SpeechTask, TranscriptOptions};
use super::search::{draw, search, softmax, Draws, Found, Rules};
use super::session::Session;
use super::sound::Sound;
use super::transcript::{compression_ratio, divided, Slice, Transcript, TranscriptProgress, TranscriptSegment};
use super::Transcriber;
use crate::generate::Random;
use crate::{Error, Result};

/// Texts that were found at a higher temperature are not read before the next window.
const HOTTEST_READ: f64 = 0.5;

/// A transcript while it is made.
struct Work<'a> {
    model: &'a Transcriber,
    options: &'a TranscriptOptions,
    session: Session<'a>,
    /// The tokens that a text begins with: the start, the language and the task.
    start: Vec<u32>,
    rules: Rules,
    random: Random,
}

/// The text of a window.
struct Window {
    found: Found,
    temperature: f64,
    compression: f64,
    no_speech: f64,
}

impl Transcriber {
    /// Writes down what is said in a sound. `progress` is called after each window, and ends the work by returning
    /// false. The same sound, model, options and device give the same text with any number of threads.
    ///
    /// ```no_run
    /// use tensorlib_models::{Sound, Transcriber, TranscriberOptions, TranscriptOptions};
    /// let cpu = tensorlib::Backend::cpu()?;
    /// let model = Transcriber::open("whisper-tiny", &cpu, &TranscriberOptions::new())?;
    /// let made = model.transcribe(&Sound::open("speech.wav")?, &TranscriptOptions::new(), |_| true)?;
    /// for segment in &made.segments {
    ///     println!("{:.2} to {:.2}: {}", segment.start, segment.end, segment.text);
    /// }
    /// # Ok::<(), tensorlib_models::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for an option out of its range, a language or task that the model does
    /// not know, logits that are not finite, or work that `progress` ended; [`ErrorKind::Memory`](crate::ErrorKind),
    /// [`ErrorKind::Internal`](crate::ErrorKind).
    pub fn transcribe(
        &self,
        sound: &Sound,
        options: &TranscriptOptions,
        mut progress: impl FnMut(TranscriptProgress) -> bool,
    ) -> Result<Transcript> {
        options.check()?;
        let chosen = self.chosen_language(options)?;
        let task = self.chosen_task(options)?;
        let features = self.bank.features(sound.samples())?;
        let draws = if options.temperatures.iter().any(|t| *t > 0.0) { options.draws } else { 1 };
        let mut session = Session::new(self, options.beams.max(draws))?;
        let mut seen = None;
        let language = match chosen {
            Some(language) => language,
            None if features.frames() == 0 => self.vocabulary.languages[0].clone(),
            None => {
                session.see(&self.window(&features, 0))?;
                seen = Some(0);
                self.spoken(&mut session)?.0
            }
        };
        let mut work = Work {
            model: self,
            options,
            session,
            start: self.start(&language, task),
            rules: self.rules.clone(),
            random: Random(options.seed),
        };
        let (mut segments, mut before, mut at) = (Vec::new(), Vec::new(), 0);
        while at < features.frames() {
            if seen != Some(at) {
                work.session.see(&self.window(&features, at))?;
                seen = Some(at);
            }
            let window = work.window(&before)?;
            let first = segments.len();
            at = work.take(&window, at, features.frames(), &mut segments, &mut before);
            let seconds = (at.min(features.frames()) as f64) / FRAMES_PER_SECOND;
            if !progress(TranscriptProgress { seconds, segments: &segments[first..] }) {
                let of = sound.seconds();
                return Err(Error::invalid(format!("stopped after {seconds:.2} of {of:.2} seconds")));
            }
        }
        Ok(Transcript { language: language.0, segments })
    }

    /// The language that is spoken at the beginning of a sound, as its code, and its probability.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a model of English alone, or a sound of less than 10 ms; and as
    /// [`Transcriber::transcribe`].
    pub fn detect_language(&self, sound: &Sound) -> Result<(String, f64)> {
        if self.vocabulary.languages.is_empty() {
            return Err(Error::invalid("the model knows English alone, and detects no language"));
        }
        let features = self.bank.features(sound.samples())?;
        if features.frames() == 0 {
            return Err(Error::invalid("a sound of less than 10 ms: at least one frame is valid"));
        }
        let mut session = Session::new(self, 1)?;
        session.see(&self.window(&features, 0))?;
        let ((code, _), probability) = self.spoken(&mut session)?;
        Ok((code, probability))
    }

    /// The language of the window that a session sees, and its probability among those of all languages.
    fn spoken(&self, session: &mut Session) -> Result<((String, u32), f64)> {
        let logits = session.begin(&[self.vocabulary.start], &[0])?.remove(0);
        let of_languages: Vec<f32> = self.vocabulary.languages.iter().map(|(_, id)| logits[*id as usize]).collect();
        let probabilities = softmax(&of_languages).into_iter().enumerate();
        let best = probabilities.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let (i, probability) = best.ok_or_else(|| Error::internal("a model without languages"))?;
        Ok((self.vocabulary.languages[i].clone(), probability))
    }

    /// The language that the options or the files name; none if it is to be detected. A model of English alone has no
    /// token for it.
    fn chosen_language(&self, options: &TranscriptOptions) -> Result<Option<(String, u32)>> {
        let asked = options.language.as_deref();
        if self.vocabulary.languages.is_empty() {
            return match asked.map(super::languages::code) {
                Some(code) if code != "en" => {
                    let hint = "take a model that knows several languages, such as one without .en in its name";
                    Err(Error::invalid(format!("language '{code}': the model knows English alone")).with_hint(hint))
                }
                _ => Ok(Some(("en".into(), self.vocabulary.start))),
            };
        }
        asked.or(self.language.as_deref()).map(|name| self.vocabulary.language(name)).transpose()
    }

    fn chosen_task(&self, options: &TranscriptOptions) -> Result<SpeechTask> {
        let task = options.task.or(self.task).unwrap_or(SpeechTask::Transcribe);
        if task == SpeechTask::Translate && self.vocabulary.languages.is_empty() {
            return Err(Error::invalid("the model knows English alone, and does not translate"));
        }
        Ok(task)
    }

    /// The tokens that a text begins with.
    fn start(&self, (_, language): &(String, u32), task: SpeechTask) -> Vec<u32> {
        let vocabulary = &self.vocabulary;
        if vocabulary.languages.is_empty() {
            return vec![vocabulary.start];
        }
        let task = match task {
            SpeechTask::Transcribe => vocabulary.transcribe,
            SpeechTask::Translate => vocabulary.translate,
        };
        [Some(vocabulary.start), Some(*language), task].into_iter().flatten().collect()
    }

    /// The features of a window from this frame on; what is missing of it is 0.
    pub(super) fn window(&self, features: &Features, first: usize) -> Vec<f32> {
        let n = self.shape.frames() * features.mels;
        let mut values: Vec<f32> = features.values.iter().skip(first * features.mels).take(n).copied().collect();
        values.resize(n, 0.0);
        values
    }
}

impl Work<'_> {
    /// The text of the window that the session sees, at the first temperature that gives a good one. `before`: tokens
    /// of the text so far.
    fn window(&mut self, before: &[u32]) -> Result<Window> {
        let mut last = None;
        for temperature in self.options.temperatures.clone() {
            let window = self.at_temperature(before, temperature)?;
            let is_good = self.is_good(&window);
            last = Some(window);
            if is_good {
                break;
            }
        }
        last.ok_or_else(|| Error::internal("no temperatures"))
    }

    fn is_good(&self, window: &Window) -> bool {
        let is_unlikely = window.found.average() < self.options.least_average;
        let is_silent = window.no_speech > self.options.no_speech && is_unlikely;
        is_silent || window.compression <= self.options.most_compressed && !is_unlikely
    }

    fn at_temperature(&mut self, before: &[u32], temperature: f64) -> Result<Window> {
        let (options, vocabulary) = (self.options, &self.model.vocabulary);
        let mut prompt = self.model.previous(before);
        let start = prompt.len();
        prompt.extend(&self.start);
        let mut logits = self.session.begin(&prompt, &[start, prompt.len() - 1])?;
        let no_speech = vocabulary.no_speech.map_or(0.0, |id| softmax(&logits[0])[id as usize]);
        let most = (self.model.tokens / 2).min(self.model.tokens - prompt.len());
        let logits = logits.remove(1);
        let found = match temperature > 0.0 {
            false => search(&mut self.session, logits, &self.rules, options.beams, most)?,
            true => {
                let draws = Draws { texts: options.draws, temperature, most };
                draw(&mut self.session, logits, &self.rules, draws, &mut self.random)?
            }
        };
        let compression = compression_ratio(vocabulary.text(&found.tokens).trim());
        Ok(Window { found, temperature, compression, no_speech })
    }

    /// Adds the segments of a window that begins at the frame `at`, and the tokens that are read before the next one.
    /// Returns the first frame of that.
    fn take(
        &self,
        window: &Window,
        at: usize,
        frames: usize,
        segments: &mut Vec<TranscriptSegment>,
        before: &mut Vec<u32>,
    ) -> usize {
        let (options, vocabulary) = (self.options, &self.model.vocabulary);
        let size = self.model.shape.frames().min(frames - at);
        let average = window.found.average();
        if window.no_speech > options.no_speech && average <= options.least_average {
            return at + size;
        }
        let (slices, covered) = divided(&window.found.tokens, vocabulary, size);
        for Slice { tokens, first, end } in slices {
            let text = vocabulary.text(&tokens);
            if first == end || text.trim().is_empty() {
                continue;
            }
            before.extend(&tokens);
            segments.push(TranscriptSegment {
                start: (at + first) as f64 / FRAMES_PER_SECOND,
                end: (at + end) as f64 / FRAMES_PER_SECOND,
                text,
                tokens,
                temperature: window.temperature,
                average_logprob: average,
                compression_ratio: window.compression,
                no_speech_probability: window.no_speech,
            });
        }
        if !options.reads_previous || window.temperature > HOTTEST_READ {
            before.clear();
        }
        // A window whose text ends where it begins is left as a whole: it would be read for ever.
        at + if covered == 0 { size } else { covered }
    }
}
