//! What a folder's preprocessor_config.json says about features: that they are those which are computed.

use super::features::{slaney_bands, BINS, FRAME, HOP};
use super::model::Shape;
use super::sound::Sound;
use crate::settings::{Fields, Object};
use crate::warnings::Warnings;
use crate::Result;
use serde_json::Value as Json;
use std::path::Path;

const FILE: &str = "preprocessor_config.json";

const FIELDS: Fields = Fields {
    known: &[
        "_processor_class",
        "chunk_length",
        "feature_extractor_type",
        "feature_size",
        "hop_length",
        "mel_filters",
        "n_fft",
        "n_samples",
        "nb_max_frames",
        "processor_class",
        "return_attention_mask",
        "sampling_rate",
    ],
    only: &[
        ("dither", &["0"]),
        ("do_normalize", &["false"]),
        ("padding_side", &["\"right\""]),
        ("padding_value", &["0"]),
    ],
};

/// Refuses a folder that was made for other features.
pub fn check(folder: &Path, shape: &Shape, warnings: &Warnings) -> Result<()> {
    let Some(file) = Object::read(&folder.join(FILE), &FIELDS, warnings)? else { return Ok(()) };
    let frames = shape.frames() as u64;
    let expected = [
        ("feature_size", u64::try_from(shape.mels).unwrap_or(0)),
        ("sampling_rate", u64::from(Sound::RATE)),
        ("hop_length", HOP as u64),
        ("n_fft", FRAME as u64),
        ("nb_max_frames", frames),
        ("n_samples", frames * HOP as u64),
    ];
    for (name, wanted) in expected {
        let value = &file.json[name];
        if !value.is_null() && value.as_u64() != Some(wanted) {
            return Err(file.wrong(name, &wanted.to_string()));
        }
    }
    let length = &file.json["chunk_length"];
    let seconds = frames as f64 * HOP as f64 / f64::from(Sound::RATE);
    if !length.is_null() && length.as_f64() != Some(seconds) {
        return Err(file.wrong("chunk_length", &seconds.to_string()));
    }
    match &file.json["mel_filters"] {
        Json::Null => Ok(()),
        matrix if are_bands(matrix, usize::try_from(shape.mels).unwrap_or(0)) => Ok(()),
        _ => {
            let message = format!("{}: mel_filters: are others than Slaney's bands, which are supported", file.path);
            Err(crate::Error::unsupported(message))
        }
    }
}

/// Whether a matrix has the bands, as rows or as columns.
fn are_bands(matrix: &Json, mels: usize) -> bool {
    /// Files have the numbers in F32, and some computed them in it.
    const OFF: f64 = 1e-5;
    let rows: Vec<Vec<f64>> = matrix
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| row.as_array().into_iter().flatten().filter_map(Json::as_f64).collect())
        .collect();
    let bands = slaney_bands(mels);
    let number = |band: usize, bin: usize| match rows.len() == mels {
        true => rows[band].get(bin).copied(),
        false => rows.get(bin).and_then(|row| row.get(band)).copied(),
    };
    let is_near = |i: usize| number(i / BINS, i % BINS).is_some_and(|x| (x - f64::from(bands[i])).abs() <= OFF);
    (0..bands.len()).all(is_near)
}
