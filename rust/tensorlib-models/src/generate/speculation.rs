//! Speculation: drafts of the next tokens, which the model checks several at a time.

use std::collections::HashMap;
use std::time::Duration;

/// Drafts follow the last 4 tokens where these occurred before, else the last 3, else 2.
const LONGEST: usize = 4;
const SHORTEST: usize = 2;
/// How many tokens a run may compute, and so check one less: the numbers of columns whose costs are measured.
const COLUMNS: [usize; 4] = [1, 2, 4, 8];
/// The weight of the newest measurement in an average.
const NEWEST: f64 = 0.2;
/// The share of right tokens that is expected at least, so that drafts are tried again after a pause.
const HOPE: f64 = 0.3;
/// The most tokens for which drafts pause after misses.
const LONGEST_PAUSE: usize = 64;

/// Drafts the next tokens of a text by prompt lookup: what followed the last tokens where they occurred before. How many,
/// and whether any, depends on how long runs of several tokens take and on how many drafts were right.
#[derive(Debug)]
pub(super) struct Speculation {
    /// Where the last tokens occurred before: the position after each sequence of tokens.
    after: [HashMap<Vec<u32>, usize>; LONGEST - SHORTEST + 1],
    /// The number of tokens whose sequences are in `after`.
    known: usize,
    /// The average seconds of a run of as many tokens as [`COLUMNS`] says.
    seconds: [Option<f64>; COLUMNS.len()],
    /// The average share of drafted tokens that were right.
    right: f64,
    /// Misses since the last draft that began right.
    misses: u32,
    /// For how many further tokens nothing is drafted.
    pause: usize,
    /// The tokens that were drafted, and those of them that were right.
    pub(super) drafted: usize,
    pub(super) accepted: usize,
}

impl Speculation {
    pub(super) fn new() -> Self {
        Speculation {
            after: [(); LONGEST - SHORTEST + 1].map(|()| HashMap::new()),
            known: 0,
            seconds: [None; COLUMNS.len()],
            right: 0.5,
            misses: 0,
            pause: 0,
            drafted: 0,
            accepted: 0,
        }
    }

    /// At most `most` tokens that may follow these. `tokens` grows from call to call.
    pub(super) fn draft(&mut self, tokens: &[u32], most: usize) -> Vec<u32> {
        self.learn(tokens);
        if self.pause > 0 {
            self.pause -= 1;
            return Vec::new();
        }
        let n = self.best_length().min(most);
        let found = (SHORTEST..=LONGEST.min(tokens.len()))
            .rev()
            .find_map(|length| self.after[length - SHORTEST].get(&tokens[tokens.len() - length..]).copied());
        match found {
            Some(at) => tokens[at..tokens.len().min(at + n)].to_vec(),
            None => Vec::new(),
        }
    }

    /// Records the time of a run of this many tokens.
    pub(super) fn took(&mut self, tokens: usize, time: Duration) {
        let Some(i) = COLUMNS.iter().position(|columns| *columns >= tokens) else { return };
        let seconds = time.as_secs_f64();
        let average = self.seconds[i].map_or(seconds, |old| old + NEWEST * (seconds - old));
        self.seconds[i] = Some(average);
    }

    /// Records how many tokens of a draft were right.
    pub(super) fn checked(&mut self, drafted: usize, right: usize) {
        self.drafted += drafted;
        self.accepted += right;
        // The tokens after the first wrong one were not looked at.
        let looked_at = (right + 1).min(drafted);
        for i in 0..looked_at {
            self.right += NEWEST * (f64::from(u8::from(i < right)) - self.right);
        }
        if right > 0 {
            self.misses = 0;
            return;
        }
        self.misses += 1;
        if self.misses > 1 {
            self.pause = LONGEST_PAUSE.min(1 << self.misses.min(16));
        }
    }

    /// The length of a draft with the most expected tokens a second; 0 if none is worth its time.
    fn best_length(&self) -> usize {
        let Some(one) = self.seconds[0] else { return 0 };
        let rate = |i: usize| {
            // Until it was measured, a run of several tokens is expected to take what weights cost that are read once.
            let seconds = self.seconds[i].unwrap_or(one * (1.0 + 0.1 * COLUMNS[i] as f64));
            let expected: f64 = (0..COLUMNS[i]).map(|k| self.right.max(HOPE).powi(k as i32)).sum();
            expected / seconds
        };
        let best = (0..COLUMNS.len()).max_by(|a, b| rate(*a).total_cmp(&rate(*b))).unwrap_or(0);
        COLUMNS[best] - 1
    }

    /// Remembers what followed each sequence of tokens.
    fn learn(&mut self, tokens: &[u32]) {
        for end in self.known.max(SHORTEST)..tokens.len() {
            for length in SHORTEST..=LONGEST.min(end) {
                self.after[length - SHORTEST].insert(tokens[end - length..end].to_vec(), end);
            }
        }
        self.known = self.known.max(tokens.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured: runs of 2, 4 and 8 tokens take little longer than one.
    fn measured(seconds: [u64; 4]) -> Speculation {
        let mut speculation = Speculation::new();
        for (columns, ms) in COLUMNS.iter().zip(seconds) {
            speculation.took(*columns, Duration::from_millis(ms));
        }
        speculation
    }

    #[test]
    fn drafts_are_what_followed_the_longest_known_end() {
        let mut speculation = measured([100, 101, 102, 103]);
        let text = [1, 2, 3, 4, 5, 9, 3, 4, 7, 8, 3, 4];
        // The last occurrence of 3, 4 counts.
        assert_eq!(speculation.draft(&text, 8), [7, 8, 3, 4]);
        assert_eq!(speculation.draft(&text, 2), [7, 8]);
        // 2, 3, 4 is longer than 3, 4.
        let longer = [&text[..], &[2, 3, 4]].concat();
        assert_eq!(speculation.draft(&longer, 3), [5, 9, 3]);
        let unknown = [&longer[..], &[6]].concat();
        assert!(speculation.draft(&unknown, 8).is_empty());
        assert!(Speculation::new().draft(&text, 8).is_empty(), "nothing was measured yet");
        assert!(measured([1; 4]).draft(&[], 8).is_empty());
        assert!(measured([1; 4]).draft(&[1, 1], 0).is_empty());
    }

    #[test]
    fn drafts_are_as_long_as_pays() {
        let text = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2];
        // Each column costs as much as the first one: never worth it.
        assert!(measured([100, 200, 400, 800]).draft(&text, 8).is_empty());
        let mut cheap = measured([100, 110, 130, 180]);
        assert!(cheap.draft(&text, 8).len() >= 3);
        for _ in 0..20 {
            cheap.checked(7, 7);
        }
        assert_eq!(cheap.draft(&text, 8).len(), 7);
        assert_eq!((cheap.drafted, cheap.accepted), (140, 140));
    }

    #[test]
    fn misses_pause_drafts_longer_and_longer() {
        let text = [1, 2, 3, 1, 2];
        let mut speculation = measured([100, 101, 102, 103]);
        let (mut drafts, mut texts) = (0, 0);
        while texts < 1000 {
            texts += 1;
            if !speculation.draft(&text, 8).is_empty() {
                drafts += 1;
                speculation.checked(1, 0);
            }
        }
        assert!(drafts < 30, "{drafts} drafts in {texts} tokens");
        speculation.pause = 0;
        speculation.right = 0.9;
        speculation.checked(3, 2);
        assert_eq!(speculation.misses, 0);
    }
}
