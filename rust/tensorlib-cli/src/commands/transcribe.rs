//! `tensorlib transcribe`: writes down what is said in sound files.

use crate::args::{Task, Transcribe, TranscriptFormat};
use crate::failure::{Exit, Failure, Outcome};
use crate::model;
use crate::terminal::progress::seconds_bar;
use crate::terminal::signals;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use tensorlib_models::{Sound, SpeechTask, Transcriber, Transcript, TranscriptOptions, TranscriptSegment};

/// Runs the command.
pub fn run(options: &Transcribe, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    // A file that cannot be read is found before the model is loaded. Long files are not kept meanwhile.
    let first = Sound::open(&options.files[0])?;
    let model = model::transcriber(&options.devices, &options.model, options.dtype)?;
    let mut writer = Writer { format: options.format, number: 0 };
    writer.begin(out)?;
    let mut first = Some(first);
    for file in &options.files {
        let sound = first.take().map_or_else(|| Sound::open(file), Ok)?;
        transcribe(options, &model, file, &sound, &mut writer, out)?;
    }
    model::say_memory(&options.devices, model.backend(), &model.memory());
    Ok(Exit::Success)
}

fn transcribe(
    options: &Transcribe,
    model: &Transcriber,
    file: &Path,
    sound: &Sound,
    writer: &mut Writer,
    out: &mut dyn Write,
) -> Outcome<()> {
    let bar = seconds_bar(sound.seconds());
    let mut failed = None;
    writer.file(options, file, out)?;
    let made = model.transcribe(sound, &transcript_options(options), |progress| {
        bar.set_position(progress.seconds as u64);
        // Each window's text is printed when it is known.
        let printed = bar.suspend(|| progress.segments.iter().try_for_each(|segment| writer.segment(segment, out)));
        failed = printed.and_then(|()| Ok(out.flush()?)).err();
        failed.is_none() && !signals::came()
    });
    bar.finish_and_clear();
    if let Some(failure) = failed {
        return Err(failure);
    }
    signals::check("the text of the windows before is printed")?;
    let made = made.map_err(|e| Failure::from(e).about(file.display()))?;
    writer.whole(file, sound, &made, out)
}

fn transcript_options(options: &Transcribe) -> TranscriptOptions {
    let mut made = TranscriptOptions::new().beams(options.beam.into()).seed(options.seed);
    made = made.reads_previous_text(!options.no_context);
    if options.no_fallback {
        made = made.temperatures([0.0]);
    }
    if let Some(language) = &options.language {
        made = made.language(language);
    }
    match options.task {
        Some(Task::Transcribe) => made.task(SpeechTask::Transcribe),
        Some(Task::Translate) => made.task(SpeechTask::Translate),
        None => made,
    }
}

/// Writes transcripts in a format.
struct Writer {
    format: TranscriptFormat,
    /// The number of the last subtitle.
    number: usize,
}

impl Writer {
    /// What comes before all.
    fn begin(&self, out: &mut dyn Write) -> Outcome<()> {
        if self.format == TranscriptFormat::Vtt {
            writeln!(out, "WEBVTT\n")?;
        }
        Ok(())
    }

    /// What comes before a file's text, if there are several.
    fn file(&self, options: &Transcribe, file: &Path, out: &mut dyn Write) -> Outcome<()> {
        let (name, is_first) = (file.display(), options.files.first().is_some_and(|first| first == file));
        match (options.files.len() > 1, self.format) {
            (true, TranscriptFormat::Text) if is_first => writeln!(out, "{name}:")?,
            (true, TranscriptFormat::Text) => writeln!(out, "\n{name}:")?,
            (true, TranscriptFormat::Vtt) => writeln!(out, "NOTE {name}\n")?,
            _ => {}
        }
        Ok(())
    }

    fn segment(&mut self, segment: &TranscriptSegment, out: &mut dyn Write) -> Outcome<()> {
        let text = segment.text.trim();
        let times = |mark, hours| {
            let time = |seconds| timestamp(seconds, mark, hours);
            format!("{} --> {}", time(segment.start), time(segment.end))
        };
        self.number += 1;
        match self.format {
            TranscriptFormat::Text => writeln!(out, "[{}] {text}", times('.', false))?,
            TranscriptFormat::Srt => writeln!(out, "{}\n{}\n{text}\n", self.number, times(',', true))?,
            // An arrow in a text would be taken for times.
            TranscriptFormat::Vtt => writeln!(out, "{}\n{}\n", times('.', true), text.replace("-->", "->"))?,
            TranscriptFormat::Json => {}
        }
        Ok(())
    }

    /// What comes after a file's text.
    fn whole(&self, file: &Path, sound: &Sound, made: &Transcript, out: &mut dyn Write) -> Outcome<()> {
        if self.format != TranscriptFormat::Json {
            return Ok(());
        }
        let segment = |segment: &TranscriptSegment| {
            json!({
                "start": segment.start,
                "end": segment.end,
                "text": segment.text.trim(),
                "tokens": segment.tokens,
                "temperature": segment.temperature,
                "average_logprob": segment.average_logprob,
                "compression_ratio": segment.compression_ratio,
                "no_speech_probability": segment.no_speech_probability,
            })
        };
        let segments: Vec<_> = made.segments.iter().map(segment).collect();
        let (file, text) = (file.display().to_string(), made.text());
        let all = json!({
            "file": file, "language": made.language, "seconds": sound.seconds(), "text": text, "segments": segments,
        });
        writeln!(out, "{all}")?;
        Ok(())
    }
}

/// `00:02.400`, with hours where they are asked for or above 0.
fn timestamp(seconds: f64, mark: char, hours: bool) -> String {
    let milliseconds = (seconds * 1000.0).round() as u64;
    let (hour, minute) = (milliseconds / 3_600_000, milliseconds / 60_000 % 60);
    let rest = format!("{minute:02}:{:02}{mark}{:03}", milliseconds / 1000 % 60, milliseconds % 1000);
    if hours || hour > 0 {
        format!("{hour:02}:{rest}")
    } else {
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_hours_where_they_are_needed() {
        assert_eq!(timestamp(2.4, '.', false), "00:02.400");
        assert_eq!(timestamp(59.9996, '.', false), "01:00.000");
        assert_eq!(timestamp(3723.05, '.', false), "01:02:03.050");
        assert_eq!(timestamp(2.4, ',', true), "00:00:02,400");
    }
}
