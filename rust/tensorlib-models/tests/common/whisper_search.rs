//! The texts that Whisper's rules and beams give, in double precision: each text is computed as a whole.

use super::math::Row;
use super::tiny::Tensors;
use super::whisper::*;

/// A text that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    pub tokens: Vec<u32>,
    pub sum: f64,
}

/// The natural logarithms of probabilities after the rules: Radford and others' reference, step by step.
pub fn ruled(spec: &Spec, logits: &[f64], tokens: &[u32]) -> Row {
    let mut x = logits.to_vec();
    let no = f64::NEG_INFINITY;
    let n = x.len() as u32;
    for id in [7, 9, START, TRANSLATE, TRANSCRIBE, START_OF_LM, PREVIOUS, NO_SPEECH, NO_TIMESTAMPS] {
        x[id as usize] = no;
    }
    let is_time = |id: u32| id >= FIRST_TIME;
    let mut hide = |hidden: &dyn Fn(u32) -> bool| (0..n).filter(|id| hidden(*id)).for_each(|id| x[id as usize] = no);
    match tokens {
        [] => hide(&|id| !is_time(id) || id > FIRST_TIME + 50.min(spec.positions as u32)),
        [one] if is_time(*one) => hide(&is_time),
        [.., a, b] if is_time(*a) && is_time(*b) => hide(&is_time),
        [.., _, b] if is_time(*b) => hide(&|id| id < END || is_time(id) && id < *b),
        _ => {
            let last = tokens.iter().rev().find(|id| is_time(**id)).copied();
            hide(&|id| is_time(id) && last.is_some_and(|last| id <= last));
        }
    }
    let total = |ids: std::ops::Range<u32>, x: &[f64]| ids.map(|id| x[id as usize].exp()).sum::<f64>();
    let best_text = (0..FIRST_TIME).map(|id| x[id as usize]).fold(no, f64::max);
    if total(FIRST_TIME..n, &x).ln() > best_text {
        x[..FIRST_TIME as usize].fill(no);
    }
    let all = total(0..n, &x).ln();
    x.iter().map(|x| x - all).collect()
}

/// The best text by beam search.
pub fn searched(spec: &Spec, next: &dyn Fn(&[u32]) -> Row, beams: usize, most: usize) -> Text {
    let mut live = vec![Text { tokens: vec![], sum: 0.0 }];
    let mut ended: Vec<Text> = Vec::new();
    for _ in 0..most {
        let mut all: Vec<Text> = Vec::new();
        for text in &live {
            let mut of_text: Vec<Text> = (0..)
                .zip(ruled(spec, &next(&text.tokens), &text.tokens))
                .filter(|(_, log)| log.is_finite())
                .map(|(id, log)| Text { tokens: [&text.tokens[..], &[id]].concat(), sum: text.sum + log })
                .collect();
            of_text.sort_by(|a, b| b.sum.total_cmp(&a.sum));
            all.extend(of_text.into_iter().take(beams + 1));
        }
        all.sort_by(|a, b| b.sum.total_cmp(&a.sum));
        live.clear();
        for text in all {
            if live.len() < beams {
                match text.tokens.last() {
                    Some(&END) => ended.push(text),
                    _ => live.push(text),
                }
            }
        }
        if ended.len() >= beams {
            break;
        }
    }
    ended.truncate(beams);
    ended.iter_mut().for_each(|text| text.tokens.truncate(text.tokens.len() - 1));
    live.truncate(beams - ended.len());
    ended.extend(live);
    let score = |text: &Text| text.sum / text.tokens.len() as f64;
    ended.into_iter().reduce(|best, text| if score(&text) > score(&best) { text } else { best }).unwrap()
}

/// The segments of a sound: first and last frame, tokens, and the mean logarithm of their window.
pub type Segment = (usize, usize, Vec<u32>, f64);

/// The segments of all windows, at the temperature 0.
pub fn transcribed(
    spec: &Spec,
    t: &Tensors,
    features: &[Vec<f32>],
    start: &[u32],
    beams: usize,
    reads_previous: bool,
) -> Vec<Segment> {
    let (mut segments, mut before, mut at) = (Vec::new(), Vec::<u32>::new(), 0);
    while at < features.len() {
        let encoded = spec.encoded(t, features, at);
        let kept = &before[before.len().saturating_sub(spec.tokens / 2 - 1)..];
        let previous = if before.is_empty() { vec![] } else { [&[PREVIOUS], kept].concat() };
        let prompt = [&previous, start].concat();
        let most = (spec.tokens / 2).min(spec.tokens - prompt.len());
        let next = |tokens: &[u32]| spec.logits(t, &encoded, &[&prompt, tokens].concat()).pop().unwrap();
        let text = searched(spec, &next, beams, most);
        let average = text.sum / (text.tokens.len() + 1) as f64;
        let size = spec.frames().min(features.len() - at);
        let (parts, covered) = parts(&text.tokens, size);
        for (first, end, tokens) in parts {
            let has_text = tokens.iter().any(|id| *id < END && *id != 0);
            if first != end && has_text {
                before.extend(&tokens);
                segments.push((at + first, at + end, tokens, average));
            }
        }
        if !reads_previous {
            before.clear();
        }
        at += if covered == 0 { size } else { covered };
    }
    segments
}

/// The segments of a window and the frames that they cover.
fn parts(tokens: &[u32], size: usize) -> (Vec<(usize, usize, Vec<u32>)>, usize) {
    let is_time = |i: usize| tokens[i] >= FIRST_TIME;
    let frame = |i: usize| 2 * (tokens[i] - FIRST_TIME) as usize;
    let n = tokens.len();
    let mut cuts: Vec<usize> = (1..n).filter(|i| is_time(*i) && is_time(i - 1)).collect();
    if cuts.is_empty() {
        let last = (0..n).rev().find(|i| is_time(*i)).map_or(0, frame);
        return (vec![(0, if last > 0 { last } else { size }, tokens.to_vec())], size);
    }
    let single = n >= 2 && !is_time(n - 2) && is_time(n - 1);
    if single {
        cuts.push(n);
    }
    let (mut made, mut from) = (Vec::new(), 0);
    for cut in &cuts {
        made.push((frame(from), frame(cut - 1), tokens[from..*cut].to_vec()));
        from = *cut;
    }
    let covered = if single { size } else { frame(from - 1) };
    (made, covered)
}
