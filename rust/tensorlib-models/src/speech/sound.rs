//! Sound in memory, and from WAV files.

use super::resample::resampled;
use crate::files::open_regular;
use crate::{Error, Result};
use hound::{SampleFormat, WavReader};
use std::fmt;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

/// Sample rates that are resampled.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=768_000;
const MOST_CHANNELS: usize = 1 << 10;

/// A sound of one channel with 16,000 samples a second, as Whisper takes it.
#[derive(Clone, PartialEq)]
pub struct Sound {
    samples: Vec<f32>,
}

impl fmt::Debug for Sound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sound({:.2} s)", self.seconds())
    }
}

impl Sound {
    /// Samples a second.
    pub const RATE: u32 = 16_000;

    /// A sound of samples from -1 to 1 at `rate` samples a second, in which the samples of all channels at one time
    /// follow each other. The channels are averaged, and the result is resampled.
    ///
    /// ```
    /// use tensorlib_models::Sound;
    /// let beep: Vec<f32> = (0..44_100).map(|i| (i as f32 * 0.06).sin()).collect();
    /// assert_eq!(Sound::new(44_100, 1, &beep)?.seconds(), 1.0);
    /// # Ok::<(), tensorlib_models::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a rate out of 1,000 to 768,000, no channels or more than 1024, no
    /// samples, samples that are no whole number for each channel, or one that is not finite.
    pub fn new(rate: u32, channels: usize, samples: &[f32]) -> Result<Self> {
        check_format(rate, channels).map_err(Error::invalid)?;
        if samples.len() % channels != 0 {
            let n = samples.len();
            return Err(Error::invalid(format!("{n} samples of {channels} channels: as many of each are valid")));
        }
        if let Some(i) = samples.iter().position(|x| !x.is_finite()) {
            return Err(Error::invalid(format!("sample {i} is {}: finite numbers are valid", samples[i])));
        }
        let mono: Vec<f32> = samples.chunks_exact(channels).map(mean).collect();
        Self::of_mono(rate, mono).ok_or_else(|| Error::invalid("a sound without samples: at least one is valid"))
    }

    /// Reads a WAV file: integers of 8 to 32 bits or floats of 32 bits, of any number of channels and at any rate.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind); [`ErrorKind::Format`](crate::ErrorKind) for a file that is no WAV file, is
    /// damaged or ends too early, or has no samples; [`ErrorKind::Unsupported`](crate::ErrorKind) for other encodings,
    /// such as A-law.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut file = BufReader::new(open_regular(path)?);
        read(&mut file).map_err(|e| e.about(path.display()))
    }

    /// [`Sound::open`] for the bytes of a file.
    ///
    /// # Errors
    /// As for [`Sound::open`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        read(&mut Cursor::new(bytes))
    }

    /// The samples.
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// How long it lasts.
    pub fn seconds(&self) -> f64 {
        self.samples.len() as f64 / f64::from(Self::RATE)
    }

    fn of_mono(rate: u32, mono: Vec<f32>) -> Option<Self> {
        let samples = if rate == Self::RATE { mono } else { resampled(&mono, rate, Self::RATE) };
        (!samples.is_empty()).then_some(Sound { samples })
    }
}

/// The mean of the channels at one time.
fn mean(channels: &[f32]) -> f32 {
    channels.iter().sum::<f32>() / channels.len() as f32
}

/// Says what is wrong with a rate or a number of channels.
fn check_format(rate: u32, channels: usize) -> std::result::Result<(), String> {
    if !RATES.contains(&rate) {
        let (least, most) = (RATES.start(), RATES.end());
        return Err(format!("{rate} samples a second: {least} to {most} are valid"));
    }
    if !(1..=MOST_CHANNELS).contains(&channels) {
        return Err(format!("{channels} channels: 1 to {MOST_CHANNELS} are valid"));
    }
    Ok(())
}

fn read(file: &mut impl Read) -> Result<Sound> {
    let reader = WavReader::new(file).map_err(|e| header_error(&e))?;
    let spec = reader.spec();
    let (rate, channels) = (spec.sample_rate, usize::from(spec.channels));
    check_format(rate, channels).map_err(Error::format)?;
    let samples = reader.len();
    let mono = match spec.sample_format {
        SampleFormat::Float => mixed(reader.into_samples::<f32>(), channels, |x| x),
        SampleFormat::Int => {
            // Division by a power of 2 is exact, and so is the conversion of up to 24 bits.
            let scale = 1.0 / 2f64.powi(i32::from(spec.bits_per_sample) - 1);
            mixed(reader.into_samples::<i32>(), channels, move |x| (f64::from(x) * scale) as f32)
        }
    };
    let mono = mono.map_err(|(n, e)| sample_error(n, samples, &e))?;
    Sound::of_mono(rate, mono).ok_or_else(|| Error::format("a WAV file without samples: at least one is valid"))
}

/// The mean of the channels at each time; or the number of samples before an error, and the error.
fn mixed<T>(
    samples: impl Iterator<Item = hound::Result<T>>,
    channels: usize,
    value: impl Fn(T) -> f32,
) -> std::result::Result<Vec<f32>, (usize, hound::Error)> {
    let (mut mono, mut frame) = (Vec::new(), Vec::with_capacity(channels));
    for (i, sample) in samples.enumerate() {
        let sample = value(sample.map_err(|e| (i, e))?);
        if !sample.is_finite() {
            return Err((i, hound::Error::FormatError("a number that is not finite")));
        }
        frame.push(sample);
        if frame.len() == channels {
            mono.push(mean(&frame));
            frame.clear();
        }
    }
    Ok(mono)
}

fn header_error(error: &hound::Error) -> Error {
    const CONVERT: &str = "`ffmpeg -i IN -ar 16000 -ac 1 OUT.wav` converts a sound file";
    match error {
        hound::Error::Unsupported => {
            Error::unsupported("a WAV file of an encoding that is not read: integers and 32-bit floats are supported")
                .with_hint(CONVERT)
        }
        other => Error::format(format!("is no WAV file, or its header is damaged: {other}")).with_hint(CONVERT),
    }
}

fn sample_error(before: usize, samples: u32, error: &hound::Error) -> Error {
    match error {
        hound::Error::IoError(_) => {
            Error::format(format!("the WAV file ends after {before} samples: its header tells of {samples}"))
                .with_hint("the file was not copied to its end: get it again")
        }
        other => Error::format(format!("sample {before} of the WAV file: {other}")),
    }
}
