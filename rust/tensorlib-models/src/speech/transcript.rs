//! What was said, and when.

use super::vocabulary::Vocabulary;

/// A part of what was said.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptSegment {
    /// Seconds from the beginning of the sound to its beginning.
    pub start: f64,
    /// Seconds from the beginning of the sound to its end.
    pub end: f64,
    /// The text, which mostly begins with a space.
    pub text: String,
    /// Its tokens, with those of its times.
    pub tokens: Vec<u32>,
    /// The temperature at which its window's text was found.
    pub temperature: f64,
    /// The mean of the natural logarithms of the probabilities of its window's tokens.
    pub average_logprob: f64,
    /// How many times fewer bytes zlib makes of its window's text.
    pub compression_ratio: f64,
    /// The probability that nobody speaks in its window.
    pub no_speech_probability: f64,
}

/// What was said in a sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// The code of the language, such as `en`.
    pub language: String,
    /// The parts, in their order.
    pub segments: Vec<TranscriptSegment>,
}

impl Transcript {
    /// The whole text.
    pub fn text(&self) -> String {
        self.segments.iter().map(|segment| segment.text.as_str()).collect::<String>().trim().to_string()
    }
}

/// How far a transcript is.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptProgress<'a> {
    /// Seconds of the sound that have been read.
    pub seconds: f64,
    /// The segments of the last window.
    pub segments: &'a [TranscriptSegment],
}

/// The tokens of a segment, with the first and the last frame that they stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    pub tokens: Vec<u32>,
    pub first: usize,
    pub end: usize,
}

/// Divides the tokens of a window of this many frames at pairs of times. Also returns how many frames the window's text
/// covers: the next window begins after them.
pub fn divided(tokens: &[u32], vocabulary: &Vocabulary, frames: usize) -> (Vec<Slice>, usize) {
    // A token stands for two frames.
    let frame = |token: u32| 2 * (token - vocabulary.first_timestamp) as usize;
    let is_time = |token: &u32| vocabulary.is_timestamp(*token);
    let after_pair = |i: &usize| is_time(&tokens[*i]) && is_time(&tokens[*i - 1]);
    let mut ends: Vec<usize> = (1..tokens.len()).filter(after_pair).collect();
    if ends.is_empty() {
        let last = tokens.iter().rev().find(|token| is_time(token)).map(|token| frame(*token)).filter(|end| *end > 0);
        let whole = Slice { tokens: tokens.to_vec(), first: 0, end: last.unwrap_or(frames) };
        return (vec![whole], frames);
    }
    // A single time at the end says that nothing is spoken after it.
    let is_complete = matches!(tokens, [.., before, last] if !is_time(before) && is_time(last));
    if is_complete {
        ends.push(tokens.len());
    }
    let (mut slices, mut begin) = (Vec::new(), 0);
    for end in ends {
        let part = &tokens[begin..end];
        let time = |token: Option<&u32>| token.filter(|token| is_time(token)).map(|token| frame(*token));
        let first = time(part.first()).unwrap_or(0);
        let end_frame = time(part.last()).unwrap_or(first);
        slices.push(Slice { tokens: part.to_vec(), first, end: end_frame });
        begin = end;
    }
    let covered = if is_complete { frames } else { slices.last().map_or(frames, |slice| slice.end) };
    (slices, covered)
}

/// How many times fewer bytes zlib makes of a text; 0 for an empty one.
pub fn compression_ratio(text: &str) -> f64 {
    const LEVEL: u8 = 6;
    text.len() as f64 / miniz_oxide::deflate::compress_to_vec_zlib(text.as_bytes(), LEVEL).len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5 texts, and times from 14 on.
    fn vocabulary() -> Vocabulary {
        let texts = ["a", "b", "c", " d", " "].map(|text| text.as_bytes().to_vec()).to_vec();
        Vocabulary::of_texts(texts, 5 + 2 + 1 + 6 + 51, 51).unwrap()
    }

    fn slices(tokens: &[u32]) -> (Vec<(usize, usize, Vec<u32>)>, usize) {
        let (slices, covered) = divided(tokens, &vocabulary(), 100);
        (slices.into_iter().map(|slice| (slice.first, slice.end, slice.tokens)).collect(), covered)
    }

    #[test]
    fn texts_are_divided_at_pairs_of_times() {
        assert_eq!(vocabulary().first_timestamp, 14);
        // Without pairs all is one segment, to the last time or to the end.
        assert_eq!(slices(&[14, 0, 1]), (vec![(0, 100, vec![14, 0, 1])], 100));
        assert_eq!(slices(&[14, 0, 1, 20]), (vec![(0, 12, vec![14, 0, 1, 20])], 100));
        assert_eq!(slices(&[]), (vec![(0, 100, vec![])], 100));
        // A text that goes on after the last pair is read again from there.
        let two = [14, 0, 1, 20, 22, 2, 30, 30, 3];
        assert_eq!(slices(&two), (vec![(0, 12, vec![14, 0, 1, 20]), (16, 32, vec![22, 2, 30])], 32));
        // With a single time at the end, all was said.
        let complete = [14, 0, 20, 22, 2, 30];
        assert_eq!(slices(&complete), (vec![(0, 12, vec![14, 0, 20]), (16, 32, vec![22, 2, 30])], 100));
        assert_eq!(slices(&[14, 0, 20, 20]), (vec![(0, 12, vec![14, 0, 20])], 12));
    }

    #[test]
    fn repeated_texts_are_compressed_well() {
        assert_eq!(compression_ratio(""), 0.0);
        assert!(compression_ratio("la ".repeat(100).as_str()) > 10.0);
        assert!(compression_ratio("A text of words that differ from each other.") < 1.2);
    }

    #[test]
    fn a_transcript_is_its_segments() {
        let segment = |text: &str| TranscriptSegment {
            start: 0.0,
            end: 1.0,
            text: text.into(),
            tokens: vec![],
            temperature: 0.0,
            average_logprob: 0.0,
            compression_ratio: 0.0,
            no_speech_probability: 0.0,
        };
        let whole =
            Transcript { language: "en".into(), segments: vec![segment(" Good day."), segment(" How are you?")] };
        assert_eq!(whole.text(), "Good day. How are you?");
    }
}
