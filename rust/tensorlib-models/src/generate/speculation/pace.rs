//! What runs cost, and how long a draft has to be to pay.

use super::NEWEST;
use std::time::Duration;

/// How many tokens a run may compute, and so check one less: the numbers of columns whose costs are measured.
const COLUMNS: [usize; 4] = [1, 2, 4, 8];
/// The most tokens of a draft.
pub(super) const LONGEST_DRAFT: usize = COLUMNS[COLUMNS.len() - 1] - 1;
/// The share of the time that drafts may lose.
const ALLOWANCE: f64 = 0.01;
/// The loss, in runs of one token, up to which drafts are made; and the most that earlier gains count, so that drafts
/// stop soon where they begin to fail.
const LARGEST_LOSS: f64 = 1.0;
const LARGEST_GAIN: f64 = 8.0;
/// After this many runs, two without a draft measure what these take.
const PLAIN_EVERY: u32 = 64;
/// The share by which an expected time shrinks per run that does not measure it, so that an outlier is forgotten.
const FADE: f64 = 1.0 / 1024.0;

/// The average time of something, where outliers count little.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Average {
    seconds: f64,
    n: u32,
}

impl Average {
    /// Records a time and returns what counts of it. The first time is not recorded, because graphs are planned and
    /// weights packed in it.
    pub(super) fn add(&mut self, seconds: f64) -> f64 {
        let counted = self.counted(seconds);
        self.n = self.n.saturating_add(1);
        match self.n {
            1 => {}
            2 => self.seconds = seconds,
            _ => self.seconds += NEWEST * (seconds.min(2.0 * self.seconds) - self.seconds),
        }
        counted
    }

    /// What counts of a time as gain or loss: at most four times the average.
    fn counted(&self, seconds: f64) -> f64 {
        self.seconds().map_or(seconds, |average| seconds.min(4.0 * average))
    }

    /// The average, once there is one.
    pub(super) fn seconds(&self) -> Option<f64> {
        (self.n > 1).then_some(self.seconds)
    }
}

/// What is known about drafts of a source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// The share of runs of the source that gave a token.
    pub(super) sure: f64,
    /// The share of its tokens that were right, of those that were looked at.
    pub(super) right: f64,
    /// The seconds of one of its runs.
    pub(super) seconds: f64,
}

/// The length of a draft, and how many times as fast it makes generation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Best {
    pub(super) length: usize,
    pub(super) speedup: f64,
}

impl Best {
    /// No draft.
    pub(super) const NONE: Best = Best { length: 0, speedup: 1.0 };
}

/// Measures runs, and adds up what drafts gain and lose.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The time of a run of as many tokens as [`COLUMNS`] says.
    runs: [Average; COLUMNS.len()],
    /// The seconds that drafts saved, less those that they took, and more by [`ALLOWANCE`].
    balance: f64,
    /// Runs since a run of one token was measured.
    since_plain: u32,
    /// Whether the last run was of one token.
    was_plain: bool,
}

impl Pace {
    /// The seconds of a run of one token, once that is known.
    pub(super) fn one(&self) -> Option<f64> {
        self.runs[0].seconds()
    }

    /// Whether it is time to measure a run without a draft.
    pub(super) fn needs_plain(&self) -> bool {
        self.one().is_none() || self.since_plain >= PLAIN_EVERY
    }

    /// Records the time of a run of this many tokens.
    pub(super) fn took(&mut self, tokens: usize, time: Duration) {
        let Some(i) = COLUMNS.iter().position(|columns| *columns >= tokens) else { return };
        // The run after a draft takes longer than other runs of one token, because its graph is planned again.
        let (seconds, is_after_draft) = (time.as_secs_f64(), i == 0 && !self.was_plain);
        let counted = if is_after_draft { self.runs[0].counted(seconds) } else { self.runs[i].add(seconds) };
        self.since_plain = if i == 0 && !is_after_draft { 0 } else { self.since_plain.saturating_add(1) };
        self.was_plain = i == 0;
        for (_, run) in self.runs.iter_mut().enumerate().skip(1).filter(|(k, _)| *k != i) {
            run.seconds *= 1.0 - FADE;
        }
        self.add(self.one().unwrap_or(counted) - (1.0 - ALLOWANCE) * counted);
    }

    /// Records that this many drafted tokens were right.
    pub(super) fn saved(&mut self, tokens: usize) {
        self.add(tokens as f64 * self.one().unwrap_or(0.0));
    }

    /// Records time that was spent on a draft.
    pub(super) fn spent(&mut self, seconds: f64) {
        self.balance -= seconds;
    }

    fn add(&mut self, seconds: f64) {
        self.balance = (self.balance + seconds).min(LARGEST_GAIN * self.one().unwrap_or(0.0));
    }

    /// Whether drafts may lose these seconds.
    pub(super) fn allows(&self, seconds: f64) -> bool {
        self.balance + LARGEST_LOSS * self.one().unwrap_or(0.0) >= seconds
    }

    /// The length with which drafts of this source give the most tokens a second.
    pub(super) fn best(&self, source: &Source) -> Best {
        let plain = self.run(1.0);
        let all = COLUMNS[1..].iter().map(|columns| {
            let (sure, n) = (source.sure, *columns as i32);
            let tokens = powers(sure * source.right, n);
            let seconds = self.run(powers(sure, n)) + source.seconds * powers(sure, n - 1);
            Best { length: columns - 1, speedup: tokens * plain / seconds }
        });
        all.fold(Best::NONE, |best, next| if next.speedup > best.speedup { next } else { best })
    }

    /// The expected seconds of a run of this many tokens, which may be an average.
    fn run(&self, columns: f64) -> f64 {
        let after = COLUMNS.iter().position(|n| *n as f64 >= columns).unwrap_or(COLUMNS.len() - 1).max(1);
        let (low, high) = (COLUMNS[after - 1] as f64, COLUMNS[after] as f64);
        let (first, second) = (self.run_of(after - 1), self.run_of(after));
        first + (second - first) * (columns - low) / (high - low)
    }

    /// The expected seconds of a run of as many tokens as [`COLUMNS`] says. Until it was measured, each further token is
    /// expected to take what it takes in shorter runs, or a fifth of the first one.
    fn run_of(&self, i: usize) -> f64 {
        let one = self.one().unwrap_or(0.0);
        match (i, self.runs[i].seconds()) {
            (0, _) => one,
            (_, Some(seconds)) => seconds.max(one),
            (1, None) => 1.2 * one,
            (_, None) => one + (self.run_of(i - 1) - one) * (COLUMNS[i] - 1) as f64 / (COLUMNS[i - 1] - 1) as f64,
        }
    }
}

/// 1 + x + x^2 ..., n terms.
fn powers(x: f64, n: i32) -> f64 {
    (0..n).map(|i| x.powi(i)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured: runs of 1, 2, 4 and 8 tokens take this many milliseconds.
    fn measured(milliseconds: [u64; 4]) -> Pace {
        let mut pace = Pace::default();
        for (columns, ms) in COLUMNS.iter().zip(milliseconds) {
            // The first time does not count, nor does that of a run of one token after others.
            for factor in [9, 9, 1].into_iter().skip(usize::from(*columns > 1)) {
                pace.took(*columns, Duration::from_millis(factor * ms));
            }
        }
        pace.balance = 0.0;
        pace
    }

    fn lookup(right: f64) -> Source {
        Source { sure: 1.0, right, seconds: 0.0 }
    }

    #[test]
    fn drafts_are_as_long_as_pays() {
        // Each column costs as much as the first one: never worth it.
        assert_eq!(measured([100, 200, 400, 800]).best(&lookup(0.9)), Best::NONE);
        let cheap = measured([100, 110, 130, 180]);
        assert_eq!([0.05, 0.3, 0.7, 1.0].map(|right| cheap.best(&lookup(right)).length), [0, 1, 3, 7]);
        let speedup = cheap.best(&lookup(1.0)).speedup;
        assert!((speedup - 8.0 / 1.8).abs() < 0.01, "{speedup}");
        assert!(Pace::default().needs_plain(), "nothing was measured yet");
    }

    #[test]
    fn times_of_longer_runs_follow_from_shorter_ones() {
        let mut pace = Pace::default();
        for (columns, ms) in [(1, 900), (1, 900), (1, 100), (2, 900), (2, 150)] {
            pace.took(columns, Duration::from_millis(ms));
        }
        let runs = [1.0, 2.0, 4.0, 8.0, 3.0].map(|columns| (1000.0 * pace.run(columns)).round());
        assert_eq!(runs, [100.0, 150.0, 250.0, 450.0, 200.0]);
    }

    #[test]
    fn the_draft_models_time_counts() {
        let pace = measured([100, 110, 130, 180]);
        let model = |sure, right, seconds| pace.best(&Source { sure, right, seconds });
        // 8 tokens for 7 runs of 0.01 s and one of 0.18 s.
        let perfect = model(1.0, 1.0, 0.01);
        assert!(perfect.length == 7 && (perfect.speedup - 0.8 / 0.25).abs() < 0.01, "{perfect:?}");
        // A run takes as long as one of the model.
        assert_eq!(model(1.0, 1.0, 0.1).length, 0);
        assert!(model(1.0, 0.7, 0.01).speedup > model(1.0, 0.7, 0.02).speedup);
        // A source that is hardly ever sure costs its runs.
        assert_eq!(model(0.05, 0.9, 0.1).length, 0);
        assert!(model(0.05, 0.9, 0.001).length > 0);
    }

    #[test]
    fn outliers_and_old_times_are_forgotten() {
        let mut pace = measured([100, 110, 130, 180]);
        pace.took(8, Duration::from_secs(100));
        assert!((0.18..=0.22).contains(&pace.run(8.0)), "{}", pace.run(8.0));
        for _ in 0..700 {
            pace.took(1, Duration::from_millis(100));
        }
        assert!(pace.run(8.0) < 0.12, "{}", pace.run(8.0));
        assert!((pace.run(1.0) - 0.1).abs() < 1e-9, "{}", pace.run(1.0));
    }

    #[test]
    fn the_time_of_plain_runs_stays_known() {
        let mut pace = measured([100, 110, 130, 180]);
        let mut plain = 0;
        for _ in 0..660 {
            let columns = if pace.needs_plain() { 1 } else { 8 };
            plain += u32::from(columns == 1);
            pace.took(columns, Duration::from_millis(if columns == 1 { 150 } else { 180 }));
        }
        assert_eq!(plain, 20);
        assert!(pace.run(1.0) > 0.14, "{}", pace.run(1.0));
    }

    #[test]
    fn losses_are_limited() {
        // Every draft is wrong, although the source claims the opposite.
        let (mut pace, mut plain, mut taken) = (measured([100, 150, 200, 300]), 0.0, 0.0);
        for _ in 0..2000 {
            plain += 0.1;
            if pace.needs_plain() || !pace.allows(0.0) {
                pace.took(1, Duration::from_millis(100));
                taken += 0.1;
                continue;
            }
            pace.spent(0.01);
            pace.took(2, Duration::from_millis(150));
            taken += 0.16;
        }
        assert!(taken / plain < 1.015, "{taken} s instead of {plain} s");
        assert!(!pace.allows(0.2));
        pace.saved(1000);
        assert!(pace.allows(0.2) && pace.balance < 1.0, "{}", pace.balance);
    }
}
