//! Log-mel features, as Whisper defines them (Radford and others, Robust Speech Recognition via Large-Scale Weak
//! Supervision, 2022): every 10 ms, the power of 25 ms of sound in bands that are even on the mel scale.
//!
//! The Fourier transform of 400 samples is a product with a matrix of sines and cosines, which the engine computes for
//! all frames at once: 402 products a sample are little compared with the encoder.

use super::sound::Sound;
use crate::Result;
use std::f64::consts::PI;
use tensorlib::{Backend, Context, Graph, Tensor};

/// Samples of a frame.
pub const FRAME: usize = 400;
/// Samples from one frame to the next.
pub const HOP: usize = 160;
/// Frequencies of a frame's spectrum.
pub const BINS: usize = FRAME / 2 + 1;
/// Frames a second.
pub const FRAMES_PER_SECOND: f64 = Sound::RATE as f64 / HOP as f64;
/// Frames that are computed together.
const TOGETHER: usize = 3000;
/// Powers below this count as this.
const LEAST: f32 = 1e-10;

/// The features of a sound: `mels` numbers for each frame.
pub struct Features {
    pub mels: usize,
    pub values: Vec<f32>,
}

impl Features {
    /// The number of frames.
    pub fn frames(&self) -> usize {
        self.values.len() / self.mels.max(1)
    }
}

/// The matrices of the Fourier transform and of the bands.
pub struct MelBank {
    /// [FRAME, 2 BINS]: cosines, then sines, multiplied by the window.
    transform: Tensor,
    /// [2 BINS, mels]: the bands twice, for the squares of both parts.
    bands: Tensor,
    mels: usize,
    backend: Backend,
}

impl MelBank {
    /// The bank with these bands, [BINS] for each.
    pub fn new(backend: &Backend, mels: usize, bands: &[f32]) -> Result<Self> {
        let ctx = Context::on(backend);
        let twice: Vec<f32> = bands.chunks_exact(BINS).flat_map(|band| [band, band].concat()).collect();
        let transform = ctx.tensor([FRAME as i64, 2 * BINS as i64], &transform())?;
        let bands = ctx.tensor([2 * BINS as i64, mels as i64], &twice)?;
        for leaf in [&transform, &bands] {
            leaf.set_constant()?;
        }
        ctx.freeze();
        Ok(MelBank { transform, bands, mels, backend: backend.clone() })
    }

    /// The features of a sound, without what is left of it after the last whole 10 ms.
    pub fn features(&self, samples: &[f32]) -> Result<Features> {
        let frames = samples.len() / HOP;
        // The sound counts as followed by silence, and its loudest frame may reach into that.
        let all = frames + 2;
        let mut powers = Vec::with_capacity(all * self.mels);
        let mut ctx = Context::on(&self.backend);
        for first in (0..all).step_by(TOGETHER) {
            powers.extend(self.powers(&ctx, samples, first, TOGETHER.min(all - first))?);
            ctx.reset()?;
        }
        let log = |power: &f32| f64::from(power.max(LEAST)).log10() as f32;
        let logs: Vec<f32> = powers.iter().map(log).collect();
        let most = logs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let values = logs[..frames * self.mels].iter().map(|x| (x.max(most - 8.0) + 4.0) / 4.0).collect();
        Ok(Features { mels: self.mels, values })
    }

    /// The powers of these frames: `mels` for each.
    fn powers(&self, ctx: &Context, samples: &[f32], first: usize, frames: usize) -> Result<Vec<f32>> {
        let at = |i: usize| sample(samples, (first * HOP + i) as i64 - (FRAME / 2) as i64);
        let part: Vec<f32> = (0..(frames - 1) * HOP + FRAME).map(at).collect();
        let part = ctx.tensor([part.len() as i64], &part)?;
        // Frames overlap, so they are a view whose rows share samples.
        let rows = part.view([FRAME as i64, frames as i64], &[HOP * size_of::<f32>()], 0)?;
        let spectrum = self.transform.mul_mat_exact(&rows)?;
        let powers = self.bands.mul_mat_exact(&spectrum.sqr()?)?;
        Graph::new(&[&powers])?.compute(&self.backend)?;
        Ok(powers.to_vec::<f32>()?)
    }
}

/// A sample of a sound that is mirrored at its beginning and followed by silence.
fn sample(samples: &[f32], at: i64) -> f32 {
    samples.get(at.unsigned_abs() as usize).copied().unwrap_or(0.0)
}

/// The rows of the Fourier transform, multiplied by the periodic Hann window.
fn transform() -> Vec<f32> {
    let angle = |k: usize, i: usize| 2.0 * PI * ((k * i) % FRAME) as f64 / FRAME as f64;
    let window = |i: usize| 0.5 - 0.5 * angle(1, i).cos();
    let cosines = (0..BINS).flat_map(|k| (0..FRAME).map(move |i| (window(i) * angle(k, i).cos()) as f32));
    let sines = (0..BINS).flat_map(|k| (0..FRAME).map(move |i| (window(i) * angle(k, i).sin()) as f32));
    cosines.chain(sines).collect()
}

/// Triangular bands of equal width on Slaney's mel scale up to half the sample rate, each with the same area: [BINS]
/// numbers for each band.
pub fn slaney_bands(mels: usize) -> Vec<f32> {
    let top = f64::from(Sound::RATE) / 2.0;
    let edge = |i: usize| hertz(mel(top) * i as f64 / (mels + 1) as f64);
    let band = |i: usize| {
        let (left, middle, right) = (edge(i), edge(i + 1), edge(i + 2));
        (0..BINS).map(move |k| {
            let frequency = k as f64 * f64::from(Sound::RATE) / FRAME as f64;
            let (up, down) = ((frequency - left) / (middle - left), (right - frequency) / (right - middle));
            (up.min(down).max(0.0) * 2.0 / (right - left)) as f32
        })
    };
    (0..mels).flat_map(band).collect()
}

/// Slaney's scale: linear up to 1000 Hz, which are 15 mel, then 27 mel for a factor of 6.4.
const LINEAR_END: f64 = 1000.0;
const MELS_PER_HERTZ: f64 = 15.0 / LINEAR_END;

fn log_step() -> f64 {
    6.4f64.ln() / 27.0
}

fn mel(hertz: f64) -> f64 {
    if hertz < LINEAR_END {
        hertz * MELS_PER_HERTZ
    } else {
        15.0 + (hertz / LINEAR_END).ln() / log_step()
    }
}

fn hertz(mel: f64) -> f64 {
    if mel < 15.0 {
        mel / MELS_PER_HERTZ
    } else {
        LINEAR_END * ((mel - 15.0) * log_step()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The features by the definitions, in double precision.
    fn oracle(samples: &[f32], mels: usize) -> Vec<f64> {
        let bands = slaney_bands(mels);
        let mut padded: Vec<f64> = (1..=200).rev().map(|i| f64::from(*samples.get(i).unwrap_or(&0.0))).collect();
        padded.extend(samples.iter().map(|x| f64::from(*x)));
        padded.resize(padded.len() + 480_200, 0.0);
        let frames = samples.len() / 160;
        let mut logs = Vec::new();
        for frame in padded.windows(400).step_by(160).take(frames + 3) {
            let spectrum: Vec<f64> = (0..201)
                .map(|k| {
                    let (mut re, mut im) = (0.0, 0.0);
                    for (i, x) in frame.iter().enumerate() {
                        let windowed = x * 0.5 * (1.0 - (2.0 * PI * i as f64 / 400.0).cos());
                        re += windowed * (2.0 * PI * (k * i) as f64 / 400.0).cos();
                        im += windowed * (2.0 * PI * (k * i) as f64 / 400.0).sin();
                    }
                    re * re + im * im
                })
                .collect();
            let power = |band: &[f32]| band.iter().zip(&spectrum).map(|(w, s)| f64::from(*w) * s).sum::<f64>();
            logs.extend(bands.chunks(201).map(|band| power(band).max(1e-10).log10()));
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        logs[..frames * mels].iter().map(|x| (x.max(most - 8.0) + 4.0) / 4.0).collect()
    }

    #[test]
    fn features_are_those_of_double_precision() {
        let chirp = |i: usize| {
            let t = i as f64 / 16_000.0;
            (0.4 * (2.0 * PI * (200.0 * t + 1500.0 * t * t)).sin() + 0.1 * (2.0 * PI * 3000.0 * t).sin()) as f32
        };
        let backend = Backend::cpu().unwrap();
        for mels in [80, 128] {
            let bank = MelBank::new(&backend, mels, &slaney_bands(mels)).unwrap();
            for n in [1, 159, 160, 161, 8_000, 20_000] {
                let samples: Vec<f32> = (0..n).map(chirp).collect();
                let (found, wanted) = (bank.features(&samples).unwrap(), oracle(&samples, mels));
                assert_eq!((found.frames(), found.values.len()), (n / 160, wanted.len()));
                let off = found.values.iter().zip(&wanted).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
                assert!(off < 2e-4, "{mels} bands, {n} samples: {off:e}");
            }
        }
    }

    #[test]
    fn silence_and_long_sounds() {
        let bank = MelBank::new(&Backend::cpu().unwrap(), 80, &slaney_bands(80)).unwrap();
        let silence = bank.features(&[0.0; 1600]).unwrap();
        assert!(silence.values.iter().all(|x| *x == -1.5));
        // More frames than are computed together: each has what it has in a shorter sound.
        let samples: Vec<f32> = (0..TOGETHER * HOP + 1600).map(|i| (i as f32 * 0.7).sin() * 0.3).collect();
        let (long, short) = (bank.features(&samples).unwrap(), bank.features(&samples[..3200]).unwrap());
        assert_eq!(long.frames(), TOGETHER + 10);
        let pairs = long.values[80 * 5..80 * 10].iter().zip(&short.values[80 * 5..80 * 10]);
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-4));
        // The last frames are those of the last samples alone.
        let last = bank.features(&samples[TOGETHER * HOP - 1600..]).unwrap();
        let pairs = long.values[80 * (TOGETHER + 2)..80 * (TOGETHER + 8)].iter().zip(&last.values[80 * 12..80 * 18]);
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-4));
    }

    #[test]
    fn bands_are_those_that_whisper_was_trained_with() {
        // The first numbers of the published matrix of 80 bands.
        let bands = slaney_bands(80);
        assert!((bands[1] - 0.024_862_59).abs() < 1e-7 && bands[0] == 0.0, "{}", bands[1]);
        let areas = bands.chunks(BINS).map(|band| band.iter().sum::<f32>() * 40.0);
        assert!(areas.clone().skip(40).all(|area| (area - 1.0).abs() < 0.1));
    }
}
