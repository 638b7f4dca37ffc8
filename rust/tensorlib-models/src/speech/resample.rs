//! Changes the sample rate of a sound, by a windowed sinc (Smith, Digital Audio Resampling Home Page, 2002).
//!
//! Rates are whole numbers, so output sample n lies at the input position n * from / to, whose fraction takes one of
//! to / gcd values. Each fraction has its own filter, which is computed once.

use std::f64::consts::PI;

/// Zero crossings of the sinc on each side.
const CROSSINGS: f64 = 32.0;
/// The share of the lower rate's band that passes; the filter falls in the rest.
const BAND: f64 = 0.94;
/// The Kaiser window's parameter: what is to be removed falls by 90 dB.
const BETA: f64 = 9.0;
/// Filters of up to this many numbers, 32 MiB, are kept.
const MOST_KEPT: usize = 8 << 20;

/// The samples at another rate. Samples before the first and after the last count as 0.
pub fn resampled(samples: &[f32], from: u32, to: u32) -> Vec<f32> {
    let common = gcd(from, to);
    let (step, phases) = (u64::from(from / common), u64::from(to / common));
    let filter = Filter::new(f64::from(from), f64::from(to), phases);
    let n = (samples.len() as u64 * phases).div_ceil(step);
    let is_kept = phases as usize * filter.taps() <= MOST_KEPT;
    let kept: Vec<Vec<f32>> = if is_kept { (0..phases).map(|phase| filter.of(phase)).collect() } else { Vec::new() };
    let sample = |i: u64| {
        let at = i * step;
        let (whole, phase) = ((at / phases) as i64, at % phases);
        match kept.get(phase as usize) {
            Some(taps) => filter.apply(taps, samples, whole),
            None => filter.apply(&filter.of(phase), samples, whole),
        }
    };
    (0..n).map(sample).collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

/// The filters of two rates.
struct Filter {
    /// Input samples on each side of an output sample.
    reach: i64,
    /// The share of the input's band that passes.
    cutoff: f64,
    phases: u64,
}

impl Filter {
    fn new(from: f64, to: f64, phases: u64) -> Self {
        let cutoff = BAND * (to / from).min(1.0);
        Filter { reach: (CROSSINGS / cutoff).ceil() as i64, cutoff, phases }
    }

    fn taps(&self) -> usize {
        2 * self.reach as usize
    }

    /// The factors of the input samples from `1 - reach` to `reach` around a position with this fraction. Their sum is 1.
    fn of(&self, phase: u64) -> Vec<f32> {
        let fraction = phase as f64 / self.phases as f64;
        let tap = |i: i64| {
            let x = i as f64 - fraction;
            let window = kaiser(x / self.reach as f64);
            window * sinc(self.cutoff * x)
        };
        let taps: Vec<f64> = (1 - self.reach..=self.reach).map(tap).collect();
        let sum: f64 = taps.iter().sum();
        taps.iter().map(|tap| (tap / sum) as f32).collect()
    }

    fn apply(&self, taps: &[f32], samples: &[f32], whole: i64) -> f32 {
        let first = whole + 1 - self.reach;
        let skipped = (-first).max(0) as usize;
        let (taps, rest) = (taps.get(skipped..).unwrap_or(&[]), samples.get(first.max(0) as usize..).unwrap_or(&[]));
        taps.iter().zip(rest).map(|(tap, sample)| tap * sample).sum()
    }
}

fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-12 {
        1.0
    } else {
        (PI * x).sin() / (PI * x)
    }
}

/// The Kaiser window, for x from -1 to 1.
fn kaiser(x: f64) -> f64 {
    let inside = (1.0 - x * x).max(0.0);
    bessel(BETA * inside.sqrt()) / bessel(BETA)
}

/// The modified Bessel function of order 0, by its series.
fn bessel(x: f64) -> f64 {
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1.0);
    while term > 1e-17 * sum {
        term *= (x / (2.0 * k)).powi(2);
        sum += term;
        k += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sine(rate: u32, frequency: f64, n: usize) -> Vec<f32> {
        (0..n).map(|i| (2.0 * PI * frequency * i as f64 / f64::from(rate)).sin() as f32).collect()
    }

    /// The largest difference away from the ends.
    fn off(found: &[f32], wanted: &[f32]) -> f32 {
        let inner = 400..found.len() - 400;
        found[inner.clone()].iter().zip(&wanted[inner]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn sines_keep_their_frequency_and_size() {
        for rate in [8_000, 11_025, 22_050, 24_000, 32_000, 44_100, 44_101, 48_000, 96_000, 192_000] {
            for frequency in [50.0, 440.0, 3_000.0] {
                let found = resampled(&sine(rate, frequency, rate as usize), rate, 16_000);
                assert_eq!(found.len(), 16_000, "{rate}");
                let off = off(&found, &sine(16_000, frequency, 16_000));
                assert!(off < 1e-4, "{rate}, {frequency}: {off:e}");
            }
        }
    }

    #[test]
    fn what_the_lower_rate_cannot_hold_is_removed() {
        for (rate, frequency) in [(48_000, 9_000.0), (44_100, 12_000.0), (96_000, 40_000.0)] {
            let found = resampled(&sine(rate, frequency, rate as usize), rate, 16_000);
            let off = off(&found, &vec![0.0; found.len()]);
            assert!(off < 1e-3, "{rate}, {frequency}: {off:e}");
        }
    }

    #[test]
    fn short_sounds_and_constants() {
        assert!(resampled(&[], 8_000, 16_000).is_empty());
        assert_eq!(resampled(&[0.5], 8_000, 16_000).len(), 2);
        assert_eq!(resampled(&[0.5; 3], 48_000, 16_000).len(), 1);
        assert_eq!(resampled(&[0.5; 4], 48_000, 16_000).len(), 2);
        let constant = resampled(&[0.5; 10_000], 44_100, 16_000);
        assert!(off(&constant, &vec![0.5; constant.len()]) < 1e-6);
    }
}
