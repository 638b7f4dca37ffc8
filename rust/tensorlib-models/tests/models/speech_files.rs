//! Files of sound, and of Whisper in the formats that hold it.

use crate::common::tiny::Tensors;
use crate::common::whisper::*;
use crate::common::whisper_files::*;
use crate::common::{backend, error, Folder};
use std::path::Path;
use tensorlib::DType;
use tensorlib_models::{
    Decoder, DecoderOptions, ErrorKind, ModelKind, Sound, Transcriber, TranscriberOptions, Transcript,
    TranscriptOptions,
};

fn exact(path: &Path) -> Transcriber {
    Transcriber::open(path, &backend(), &TranscriberOptions::new().exact(true)).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(path: &Path) -> tensorlib_models::Error {
    Transcriber::open(path, &backend(), &TranscriberOptions::new()).expect_err("an error")
}

fn sound() -> Sound {
    Sound::new(16_000, 1, &chirp(16_000, 1.5)).unwrap()
}

fn text(model: &Transcriber) -> Transcript {
    let options = TranscriptOptions::new().temperatures([0.0]).no_speech_threshold(2.0).beams(2);
    model.transcribe(&sound(), &options, |_| true).unwrap()
}

#[track_caller]
fn expect_logits(model: &Transcriber, spec: &Spec, tensors: &Tensors) {
    let tokens = [START, FIRST_TIME, 3, 4, 30];
    let encoded = spec.encoded(tensors, &model.features(&sound()).unwrap(), 0);
    let found = model.logits(&sound(), &tokens).unwrap().concat();
    let off = error(&found, &spec.logits(tensors, &encoded, &tokens).concat());
    assert!(off < 1e-4, "{off:e}");
}

const PLAIN: Wav = Wav { format: 1, bits: 16, channels: 1, rate: 16_000 };

#[test]
fn wav_files_of_all_kinds() {
    let samples: Vec<f32> = chirp(16_000, 0.5);
    for (format, bits) in [(1, 8), (1, 16), (1, 24), (1, 32), (3, 32)] {
        for channels in [1, 2, 6] {
            let wav = Wav { format, bits, channels, ..PLAIN };
            let (file, rounded) = wav.of(&samples[..samples.len() / 6 * 6]);
            let wanted = Sound::new(16_000, channels.into(), &rounded).unwrap();
            let found = Sound::decode(&file).unwrap();
            assert_eq!(found.samples().len(), wanted.samples().len());
            let off = found.samples().iter().zip(wanted.samples()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-6, "{format} {bits} {channels}: {off:e}");
        }
    }
    // Channels are averaged.
    let both = Sound::new(16_000, 2, &[0.5, -0.25, 1.0, 0.0]).unwrap();
    assert_eq!(both.samples(), [0.125, 0.5]);
}

#[test]
fn any_rate_becomes_16000() {
    let folder = Folder::new("sound-rates");
    let wanted = Sound::new(16_000, 1, &chirp(16_000, 0.6)).unwrap();
    for rate in [8_000, 11_025, 22_050, 32_000, 44_100, 48_000, 96_000] {
        let path = folder.path("sound.wav");
        write(&path, &Wav { format: 3, bits: 32, channels: 1, rate }.of(&chirp(rate as usize, 0.6)).0);
        let found = Sound::open(&path).unwrap();
        assert!((found.seconds() - 0.6).abs() < 1e-3 && format!("{found:?}") == "Sound(0.60 s)");
        let inner = 600..9_000;
        let pairs = found.samples()[inner.clone()].iter().zip(&wanted.samples()[inner]);
        let off = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off < 1e-3, "{rate}: {off:e}");
    }
}

#[test]
fn other_files_of_sound_are_refused() {
    let folder = Folder::new("sound-wrong");
    let refused = |bytes: &[u8]| {
        let path = folder.path("sound.wav");
        write(&path, bytes);
        let error = Sound::open(&path).unwrap_err();
        assert!(error.to_string().contains("sound.wav: "), "{error}");
        (error.kind(), error.to_string())
    };
    let (good, _) = PLAIN.of(&[0.5; 100]);
    for bytes in [&b""[..], b"RIFF", b"ID3 is an MP3 file's beginning", &good[..30], &[0; 100]] {
        let (kind, message) = refused(bytes);
        assert!(kind == ErrorKind::Format && message.contains("no WAV file"), "{message}");
    }
    let (kind, message) = refused(&good[..good.len() - 9]);
    assert!(
        kind == ErrorKind::Format && message.contains("ends after 95 samples: its header tells of 100"),
        "{message}"
    );
    assert!(refused(&PLAIN.file(&[])).1.contains("without samples"));
    // A-law, 64-bit floats, 12 bits.
    for (format, bits) in [(6, 8), (3, 64), (1, 12)] {
        let (kind, message) = refused(&Wav { format, bits, ..PLAIN }.file(&[0; 96]));
        assert!(matches!(kind, ErrorKind::Unsupported | ErrorKind::Format), "{format} {bits}: {message}");
    }
    for rate in [0, 999, 800_000] {
        let (kind, message) = refused(&Wav { rate, ..PLAIN }.file(&[0; 96]));
        assert!(kind == ErrorKind::Format && message.contains("1000 to 768000 are valid"), "{message}");
    }
    let not_finite = Wav { format: 3, bits: 32, ..PLAIN }.file(&f32::NAN.to_le_bytes());
    assert!(refused(&not_finite).1.contains("sample 0 of the WAV file: "));
    let missing = Sound::open(folder.path("none.wav")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    assert_eq!(Sound::open(folder.path("")).unwrap_err().kind(), ErrorKind::Io);
    // Every beginning of a file ends in an error or a sound, and so does every changed byte of a header.
    for n in 0..good.len() {
        assert!(Sound::decode(&good[..n]).is_err());
    }
    for i in 0..44 {
        for byte in [0, 1, 255] {
            let mut changed = good.clone();
            changed[i] = byte;
            let _ = Sound::decode(&changed); // which of both does not matter
        }
    }
    for (rate, channels, samples, words) in [
        (10, 1, &[0.0f32][..], "10 samples a second: 1000 to 768000 are valid"),
        (16_000, 0, &[0.0], "0 channels: 1 to 1024 are valid"),
        (16_000, 2, &[0.0; 3], "3 samples of 2 channels"),
        (16_000, 1, &[], "a sound without samples"),
        (16_000, 1, &[0.0, f32::INFINITY], "sample 1 is inf: finite numbers are valid"),
    ] {
        let error = Sound::new(rate, channels, samples).unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(words), "{error}");
    }
}

#[test]
fn gguf_files_with_the_names_of_a_folder() {
    let folder = Folder::new("speech-gguf");
    let spec = Spec { ffn: 64, ..Spec::tiny() };
    let hub = folder.path("hub");
    let path = hub.join("whisper-tiny-q.gguf");
    for dtype in [DType::F32, DType::F16, DType::Q8_0, DType::Q5_0] {
        let tensors = spec.tensors(3, dtype);
        spec.write_folder(&hub, &spec.tensors(3, DType::F32), "", "");
        renamed(&tensors, |name| format!("model.{name}")).write_gguf(&path, &[]);
        let model = exact(&path);
        assert_eq!(model.warnings(), [""; 0]);
        expect_logits(&model, &spec, &tensors);
        if dtype == DType::F32 {
            assert_eq!(text(&model), text(&exact(&hub)));
        }
        // SAFETY: nobody changes the file.
        let mapped = unsafe { Transcriber::open_mapped(&path, &backend(), &TranscriberOptions::new()) }.unwrap();
        assert!(!text(&mapped).segments.is_empty());
    }
    // Other readers say who reads it.
    let error = Decoder::open(&path, &backend(), &DecoderOptions::new()).err().unwrap();
    assert!(error.hint().unwrap_or_default().contains("tensorlib transcribe"), "{error}");
    // candle's folders have several models.
    let named = hub.join("model-tiny-en-q80.gguf");
    std::fs::rename(&path, &named).unwrap();
    for name in ["config", "tokenizer"] {
        std::fs::rename(hub.join(format!("{name}.json")), hub.join(format!("{name}-tiny-en.json"))).unwrap();
    }
    assert!(!text(&exact(&named)).segments.is_empty());
    std::fs::remove_file(hub.join("config-tiny-en.json")).unwrap();
    let error = refused(&named);
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains("has no config.json"), "{error}");
    let other = folder.path("other.gguf");
    Tensors::default().write_gguf(&other, &[("general.architecture".into(), "whisper".into())]);
    let error = refused(&other);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("'whisper': Whisper with the names of its hub folder"), "{error}");
    assert!(error.hint().unwrap().contains("ggml-*.bin"));
    let error = refused(&hub.join("model.safetensors"));
    assert!(error.to_string().contains("tensors alone are no model"), "{error}");
}

#[test]
fn files_for_whisper_cpp() {
    let folder = Folder::new("speech-ggml");
    let spec = Spec { ffn: 256, ..Spec::tiny() };
    let path = folder.path("ggml-tiny.bin");
    let hub = folder.path("hub");
    for (dtype, quantised) in [(DType::F32, 0), (DType::F16, 1), (DType::Q8_0, 2007), (DType::Q5_0, 2008)] {
        let tensors = spec.tensors(3, dtype);
        write(&path, &ggml(&spec, &tensors, &bands(spec.mels), quantised, dtype as i32));
        let model = exact(&path);
        assert_eq!((model.warnings(), model.languages()), (vec![], vec!["en"]));
        expect_logits(&model, &spec, &tensors);
        if dtype == DType::F32 {
            // The rules are those of a folder that leaves them to the model.
            let settings = generation_config("").replace("[7, 9]", "[-1]").replace("\"is_multilingual\": true, ", "");
            spec.write_folder(&hub, &tensors, "", "");
            std::fs::write(hub.join("generation_config.json"), settings).unwrap();
            let (found, wanted) = (text(&model), text(&exact(&hub)));
            assert!(!found.segments.is_empty());
            assert_eq!(found.segments.len(), wanted.segments.len());
            for (found, wanted) in found.segments.iter().zip(&wanted.segments) {
                assert_eq!(found.text, wanted.text);
            }
        }
    }
    // SAFETY: nobody changes the file.
    let error = unsafe { ModelKind::of_mapped(&path) }.unwrap_err();
    assert!(error.hint().unwrap_or_default().contains("`tensorlib transcribe` reads such files"), "{error}");
}

#[test]
fn damaged_files_for_whisper_cpp_are_refused() {
    let folder = Folder::new("speech-ggml-wrong");
    let spec = Spec { ffn: 256, encoder_layers: 1, decoder_layers: 1, ..Spec::tiny() };
    let path = folder.path("ggml-tiny.bin");
    let tensors = spec.tensors(3, DType::F32);
    let good = ggml(&spec, &tensors, &bands(spec.mels), 0, 0);
    let with = |at: usize, number: i32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        write(&path, &bytes);
        refused(&path).to_string()
    };
    assert!(with(4, 0).contains("a size, at byte 4, is 0: 1 to 1048576 are valid"));
    assert!(with(4, 100).contains("room for up to 100 languages between them is valid"));
    assert!(with(16, 7).contains("7 heads: a number that divides the width, 64, is valid"));
    assert!(with(24, 3).contains("texts of 3 tokens"));
    assert!(with(40, 64).contains("bands of 80 times 201 numbers: 64 times 201 are valid"));
    assert!(with(44, 1007).contains("is quantised by version 1 of the format: 2 is supported"));
    assert!(with(56, f32::NAN.to_bits() as i32).contains("a band holds NaN: finite numbers are valid"));
    let texts_at = 56 + 80 * 201 * 4;
    assert!(with(texts_at + 4, -1).contains("a length that is none"));
    let tensors_at = texts_at + 4 + texts().iter().map(|text| 4 + text.len()).sum::<usize>();
    assert!(with(tensors_at, 5).contains("a tensor of 5 dimensions: 1 to 4 are valid"));
    assert!(with(tensors_at + 8, 99).contains("is of type 99: 0 (f32), 1 (f16)"));
    // A file that ends too early is refused, wherever that is.
    for n in [4, 30, 60, texts_at + 2, tensors_at - 1, tensors_at + 5, tensors_at + 40, good.len() / 2, good.len() - 1]
    {
        write(&path, &good[..n]);
        let error = refused(&path);
        assert!(error.kind() == ErrorKind::Format && error.to_string().contains("ends too early"), "{n}: {error}");
    }
    let mut lacking = tensors.clone();
    lacking.all.remove("decoder.layers.0.fc1.weight");
    write(&path, &ggml(&spec, &lacking, &bands(spec.mels), 0, 0));
    assert!(refused(&path).to_string().contains("'decoder.blocks.0.mlp.0.weight' is missing"));
    write(&path, &[&good[..], &good[tensors_at..]].concat());
    assert!(refused(&path).to_string().contains("is there twice"));
}
