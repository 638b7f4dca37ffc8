//! Options of `transcribe`.

use super::{storage_types, DeviceArgs, Hub};
use clap::Args;
use std::path::PathBuf;
use tensorlib::DType;

/// How a transcript is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TranscriptFormat {
    /// A line for each segment, with its times.
    Text,
    /// SubRip subtitles.
    Srt,
    /// WebVTT subtitles.
    Vtt,
    /// A JSON object for each file.
    Json,
}

/// What is made of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Task {
    /// Its text.
    Transcribe,
    /// Its text in English.
    Translate,
}

/// `transcribe`
#[derive(Args)]
pub struct Transcribe {
    /// A hub folder of Whisper, a GGUF file with its config.json next to it, or a file for whisper.cpp (ggml-*.bin)
    pub model: PathBuf,
    /// WAV files, of integers or floats, any rate and any number of channels
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub hub: Hub,
    #[command(flatten)]
    pub devices: DeviceArgs,
    /// Convert matrices to this type when they are loaded, such as q8_0 [default: as they are stored]
    #[arg(long = "type", value_name = "TYPE", ignore_case = true, value_parser = storage_types())]
    pub dtype: Option<DType>,
    /// How the transcript is written
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub format: TranscriptFormat,
    /// The language that is spoken: a code such as de, or its English name [default: the likeliest one]
    #[arg(long, value_name = "LANGUAGE")]
    pub language: Option<String>,
    /// What is made of the speech [default: as the model says, else transcribe]
    #[arg(long, value_name = "TASK", value_enum)]
    pub task: Option<Task>,
    /// Beams that are searched; 1 takes the likeliest token each time
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub beam: u8,
    /// Try only the temperature 0, also where the text repeats itself or is unlikely
    #[arg(long)]
    pub no_fallback: bool,
    /// Do not read the text so far before each window: texts fit each other less, and mistakes do not repeat
    #[arg(long)]
    pub no_context: bool,
    /// Seed of what is drawn at temperatures above 0
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
}
