//! Which tokens may follow: rules by which Whisper's authors make its texts ones with times.

use super::probabilities::log_sum_exp;

/// The rules of a model.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Tokens that never follow, and others that do not come first.
    pub suppressed: Vec<u32>,
    pub suppressed_first: Vec<u32>,
    /// All tokens below are text.
    pub end: u32,
    pub no_timestamps: u32,
    /// The token of the time 0, and that of the end of a window.
    pub first_timestamp: u32,
    pub last_timestamp: u32,
    /// How many steps after 0 a text begins at the latest.
    pub latest_first: u32,
}

impl Rules {
    /// Sets the logits of tokens that may not follow these tokens of a window to -infinity.
    pub fn apply(&self, logits: &mut [f32], tokens: &[u32]) {
        let hide = |logits: &mut [f32], from: u32, to: u32| {
            let (from, to) = ((from as usize).min(logits.len()), (to as usize).min(logits.len()));
            logits[from..to.max(from)].fill(f32::NEG_INFINITY);
        };
        let first = if tokens.is_empty() { &self.suppressed_first[..] } else { &[] };
        for token in self.suppressed.iter().chain(first).chain([&self.no_timestamps]) {
            hide(logits, *token, token.saturating_add(1));
        }
        hide(logits, self.last_timestamp.saturating_add(1), u32::MAX);
        let is_time = |token: &u32| *token >= self.first_timestamp;
        let was_time = tokens.last().is_some_and(is_time);
        // A text begins as if a time came before it.
        let was_time_before = tokens.len() < 2 || is_time(&tokens[tokens.len() - 2]);
        // Times come in pairs: the end of a segment and the beginning of the next one.
        if was_time && was_time_before {
            hide(logits, self.first_timestamp, u32::MAX);
        } else if was_time {
            hide(logits, 0, self.end);
        }
        if let Some(last) = tokens.iter().rev().find(|token| is_time(token)) {
            // Times do not fall, and no segment ends when it begins.
            let is_end = was_time && !was_time_before;
            hide(logits, self.first_timestamp, if is_end { *last } else { last.saturating_add(1) });
        }
        if tokens.is_empty() {
            hide(logits, 0, self.first_timestamp);
            let latest = self.first_timestamp.saturating_add(self.latest_first);
            hide(logits, latest.saturating_add(1), u32::MAX);
        }
        self.prefer_times(logits);
    }

    /// Hides all other tokens if some time is likelier than any of them.
    fn prefer_times(&self, logits: &mut [f32]) {
        let (others, times) = logits.split_at_mut((self.first_timestamp as usize).min(logits.len()));
        let most = others.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if log_sum_exp(times.iter().copied()) > f64::from(most) {
            others.fill(f32::NEG_INFINITY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens 0 to 9 are text, 10 is the end, 11 means no timestamps, and 12 to 20 are times.
    fn rules() -> Rules {
        Rules {
            suppressed: vec![3],
            suppressed_first: vec![4, 10],
            end: 10,
            no_timestamps: 11,
            first_timestamp: 12,
            last_timestamp: 20,
            latest_first: 2,
        }
    }

    /// The tokens that may follow if all have one logit but text, which is likelier.
    fn allowed(tokens: &[u32]) -> Vec<u32> {
        let mut logits = [0.0; 24];
        logits[..11].fill(10.0);
        rules().apply(&mut logits, tokens);
        (0..24).filter(|id| logits[*id as usize] != f32::NEG_INFINITY).collect()
    }

    #[test]
    fn a_text_begins_with_a_time_near_the_beginning() {
        assert_eq!(allowed(&[]), [12, 13, 14]);
    }

    #[test]
    fn times_come_in_pairs_and_do_not_fall() {
        let text = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10];
        // After the first time and after a pair only text follows.
        assert_eq!(allowed(&[13]), text);
        assert_eq!(allowed(&[13, 5, 16, 16]), text);
        // After text later times may follow.
        assert_eq!(allowed(&[13, 5]), [&text[..], &[14, 15, 16, 17, 18, 19, 20]].concat());
        // After the end of a segment the next one begins then or later, or the text ends.
        assert_eq!(allowed(&[13, 5, 18]), [10, 18, 19, 20]);
        assert_eq!(allowed(&[13, 5, 20, 20, 6]), text);
    }

    #[test]
    fn times_that_are_likelier_together_hide_text() {
        let mut logits = [0.0; 24];
        logits[14..=20].fill(1.0);
        logits[5] = 2.5;
        rules().apply(&mut logits, &[13, 5]);
        // 7 e > e^2.5
        assert!(logits[..12].iter().all(|x| *x == f32::NEG_INFINITY) && logits[14] == 1.0);
        let mut logits = [0.0; 24];
        logits[5] = 2.5;
        rules().apply(&mut logits, &[13, 5]);
        assert_eq!(logits[5], 2.5);
    }
}
