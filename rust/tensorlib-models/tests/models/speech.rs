//! Whisper, compared with double precision.

use crate::common::tiny::Tensors;
use crate::common::whisper::*;
use crate::common::whisper_search::transcribed;
use crate::common::{backend, error, Folder};
use std::path::Path;
use tensorlib::{BackendOptions, DType};
use tensorlib_models::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, ErrorKind, Sound, SpeechTask, Transcriber, TranscriberOptions,
    Transcript, TranscriptOptions,
};

fn open(path: &Path) -> Transcriber {
    Transcriber::open(path, &backend(), &TranscriberOptions::new().exact(true)).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(path: &Path) -> String {
    Transcriber::open(path, &backend(), &TranscriberOptions::new()).expect_err("an error").to_string()
}

fn written(folder: &Folder, name: &str, spec: &Spec, dtype: DType) -> (std::path::PathBuf, Tensors) {
    let (path, tensors) = (folder.path(name), spec.tensors(3, dtype));
    spec.write_folder(&path, &tensors, "", "");
    (path, tensors)
}

fn sound(seconds: f64) -> Sound {
    Sound::new(16_000, 1, &chirp(16_000, seconds)).unwrap()
}

/// The options under which a text depends on no thresholds.
fn plain() -> TranscriptOptions {
    TranscriptOptions::new().temperatures([0.0]).language("de").no_speech_threshold(2.0)
}

const IN_GERMAN: [u32; 3] = [START, LANGUAGES[1].1, TRANSCRIBE];

fn transcript(model: &Transcriber, sound: &Sound, options: &TranscriptOptions) -> Transcript {
    model.transcribe(sound, options, |_| true).unwrap()
}

#[test]
fn logits_are_those_of_double_precision() {
    let folder = Folder::new("speech-logits");
    for (i, spec) in [Spec::tiny(), Spec::turbo()].iter().enumerate() {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let (path, tensors) = written(&folder, &format!("{i}-{dtype}"), spec, dtype);
            let model = open(&path);
            assert_eq!(model.warnings(), [""; 0]);
            assert_eq!(model.languages(), ["en", "de", "sv"]);
            // A sound that fills the window, and one that does not.
            for seconds in [2.0, 0.3] {
                let sound = sound(seconds);
                let encoded = spec.encoded(&tensors, &model.features(&sound).unwrap(), 0);
                let tokens = [PREVIOUS, 5, 7, START, LANGUAGES[2].1, TRANSCRIBE, FIRST_TIME, 3, 4, 30];
                let found = model.logits(&sound, &tokens).unwrap().concat();
                let off = error(&found, &spec.logits(&tensors, &encoded, &tokens).concat());
                assert!(off < 1e-4, "{i} {dtype}, {seconds} s: {off:e}");
            }
        }
    }
}

#[test]
fn texts_are_those_of_double_precision() {
    let folder = Folder::new("speech-texts");
    let spec = Spec::tiny();
    let (path, tensors) = written(&folder, "hub", &spec, DType::F32);
    let (model, sound) = (open(&path), sound(3.1));
    let features = model.features(&sound).unwrap();
    for (beams, reads) in [(1, true), (1, false), (3, true), (5, true)] {
        let options = plain().beams(beams).reads_previous_text(reads);
        let found = transcript(&model, &sound, &options);
        assert_eq!(found.language, "de");
        let wanted = transcribed(&spec, &tensors, &features, &IN_GERMAN, beams, reads);
        assert!(!wanted.is_empty());
        assert_eq!(found.segments.len(), wanted.len(), "{beams} beams");
        for (found, (first, end, tokens, average)) in found.segments.iter().zip(&wanted) {
            assert_eq!(&found.tokens, tokens, "{beams} beams");
            assert_eq!((found.start, found.end), (*first as f64 / 100.0, *end as f64 / 100.0));
            // The cache gives what whole texts give.
            assert!((found.average_logprob - average).abs() < 1e-4, "{} {average}", found.average_logprob);
            assert_eq!(found.temperature, 0.0);
        }
    }
}

#[test]
fn quantised_and_rounded_weights_stay_near() {
    let folder = Folder::new("speech-types");
    let spec = Spec::tiny();
    let (path, tensors) = written(&folder, "hub", &spec, DType::F32);
    let sound = sound(1.5);
    let tokens = [START, LANGUAGES[0].1, TRANSCRIBE, FIRST_TIME, 3];
    for (options, least, most) in [
        (TranscriberOptions::new().stored_as(DType::Q8_0), 1e-4, 0.05),
        (TranscriberOptions::new().stored_as(DType::F16), 1e-6, 5e-3),
        // Keys and values of 16 bits.
        (TranscriberOptions::new(), 1e-6, 2e-3),
    ] {
        let model = Transcriber::open(&path, &backend(), &options).unwrap();
        let encoded = spec.encoded(&tensors, &model.features(&sound).unwrap(), 0);
        let off =
            error(&model.logits(&sound, &tokens).unwrap().concat(), &spec.logits(&tensors, &encoded, &tokens).concat());
        assert!((least..most).contains(&off), "{options:?}: {off:e}");
    }
}

#[test]
fn languages_and_tasks() {
    let folder = Folder::new("speech-languages");
    let spec = Spec::tiny();
    let (path, tensors) = written(&folder, "hub", &spec, DType::F32);
    let (model, sound) = (open(&path), sound(1.2));
    let features = model.features(&sound).unwrap();
    let encoded = spec.encoded(&tensors, &features, 0);
    let logits = spec.logits(&tensors, &encoded, &[START]).remove(0);
    let of = |i: usize| logits[LANGUAGES[i].1 as usize].exp();
    let likeliest = (0..3).max_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap();
    let (code, probability) = model.detect_language(&sound).unwrap();
    assert_eq!(code, LANGUAGES[likeliest].0);
    assert!((probability - of(likeliest) / (of(0) + of(1) + of(2))).abs() < 1e-4);
    let options = TranscriptOptions::new().temperatures([0.0]).no_speech_threshold(2.0).beams(1);
    let text = |options: &TranscriptOptions| transcript(&model, &sound, options);
    let wanted = |start: &[u32]| transcribed(&spec, &tensors, &features, start, 1, true);
    for (options, start) in [
        (options.clone(), [START, LANGUAGES[likeliest].1, TRANSCRIBE]),
        (options.clone().language("Swedish"), [START, LANGUAGES[2].1, TRANSCRIBE]),
        (options.clone().language("SV").task(SpeechTask::Translate), [START, LANGUAGES[2].1, TRANSLATE]),
    ] {
        let found = text(&options);
        assert_eq!(found.language, LANGUAGES.iter().find(|(_, id)| *id == start[1]).unwrap().0);
        let tokens: Vec<_> = found.segments.iter().map(|segment| segment.tokens.clone()).collect();
        assert_eq!(tokens, wanted(&start).into_iter().map(|segment| segment.2).collect::<Vec<_>>());
    }
    // What the files name counts unless the caller chooses.
    for further in [
        format!(r#", "forced_decoder_ids": [[1, {}], [2, {TRANSLATE}], [3, {NO_TIMESTAMPS}]]"#, LANGUAGES[2].1),
        r#", "language": "<|sv|>", "task": "translate", "forced_decoder_ids": [[1, null], [2, null]]"#.to_string(),
    ] {
        spec.write_settings(&path, "", &further);
        let tokens: Vec<_> =
            transcript(&open(&path), &sound, &options).segments.into_iter().map(|segment| segment.tokens).collect();
        let start = [START, LANGUAGES[2].1, TRANSLATE];
        assert_eq!(tokens, wanted(&start).into_iter().map(|segment| segment.2).collect::<Vec<_>>(), "{further}");
    }
    let error = model.transcribe(&sound, &TranscriptOptions::new().language("xx"), |_| true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.to_string(), "language 'xx': the model knows en, de, sv");
}

#[test]
fn a_model_of_english_alone() {
    let folder = Folder::new("speech-english");
    let spec = Spec::tiny();
    let (path, tensors) = written(&folder, "hub", &spec, DType::F32);
    let settings = generation_config("").replace("\"is_multilingual\": true", "\"is_multilingual\": false");
    std::fs::write(path.join("generation_config.json"), settings).unwrap();
    let (model, sound) = (open(&path), sound(1.0));
    assert_eq!(model.languages(), ["en"]);
    // As published files of such models say it.
    let forced = generation_config(&format!(r#", "forced_decoder_ids": [[1, {NO_TIMESTAMPS}]]"#));
    std::fs::write(
        path.join("generation_config.json"),
        forced.replace("multilingual\": true", "multilingual\": false"),
    )
    .unwrap();
    assert_eq!(open(&path).languages(), ["en"]);
    let options = TranscriptOptions::new().temperatures([0.0]).no_speech_threshold(2.0).beams(2);
    let found = transcript(&model, &sound, &options.clone().language("English"));
    assert_eq!(found, transcript(&model, &sound, &options));
    assert_eq!(found.language, "en");
    let wanted = transcribed(&spec, &tensors, &model.features(&sound).unwrap(), &[START], 2, true);
    assert_eq!(found.segments[0].tokens, wanted[0].2);
    let message = |options: TranscriptOptions| model.transcribe(&sound, &options, |_| true).unwrap_err().to_string();
    assert_eq!(message(options.clone().language("de")), "language 'de': the model knows English alone");
    assert!(message(options.task(SpeechTask::Translate)).contains("does not translate"));
    assert!(model.detect_language(&sound).unwrap_err().to_string().contains("English alone"));
}

#[test]
fn other_temperatures_are_tried_where_a_text_is_not_good() {
    let folder = Folder::new("speech-temperatures");
    let (path, _) = written(&folder, "hub", &Spec::tiny(), DType::F32);
    let (model, sound) = (open(&path), sound(1.2));
    let temperature = |options: &TranscriptOptions| transcript(&model, &sound, options).segments[0].temperature;
    let all = TranscriptOptions::new().language("en").no_speech_threshold(2.0).temperatures([0.0, 0.3, 0.9]);
    assert_eq!(temperature(&all.clone().average_threshold(-100.0).compression_threshold(100.0)), 0.0);
    // No text is good enough: the last temperature counts.
    assert_eq!(temperature(&all.clone().average_threshold(0.0)), 0.9);
    assert_eq!(temperature(&all.clone().compression_threshold(0.0)), 0.9);
    // What is drawn depends on the seed alone.
    let drawn = all.clone().temperatures([1.0]).average_threshold(-100.0);
    let text = |seed: u64| transcript(&model, &sound, &drawn.clone().seed(seed));
    assert_eq!(text(1), text(1));
    assert!((2..6).any(|seed| text(seed) != text(1)));
    // A window in which nobody speaks has no text, and needs no other temperature.
    let silent = all.no_speech_threshold(-1.0).average_threshold(0.0);
    assert!(transcript(&model, &sound, &silent).segments.is_empty());
    assert!(!transcript(&model, &sound, &silent.average_threshold(-100.0)).segments.is_empty());
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let folder = Folder::new("speech-threads");
    let (path, _) = written(&folder, "hub", &Spec::tiny(), DType::F16);
    let sound = sound(2.0);
    let made = |threads: usize| {
        let backend = BackendOptions::new().threads(threads).open("cpu").unwrap();
        let model = Transcriber::open(&path, &backend, &TranscriberOptions::new()).unwrap();
        let text = transcript(&model, &sound, &plain().temperatures([0.0, 0.6]).beams(4));
        (model.features(&sound).unwrap(), model.logits(&sound, &IN_GERMAN).unwrap(), text)
    };
    let one = made(1);
    for threads in 2..=4 {
        assert_eq!(made(threads), one, "{threads} threads");
    }
}

#[test]
fn progress_tells_of_all_windows_and_ends_the_work() {
    let folder = Folder::new("speech-progress");
    let (path, _) = written(&folder, "hub", &Spec::tiny(), DType::F32);
    let (model, sound) = (open(&path), sound(3.0));
    let (mut seconds, mut segments) = (Vec::new(), Vec::new());
    let made = model
        .transcribe(&sound, &plain().beams(1), |progress| {
            seconds.push(progress.seconds);
            segments.extend_from_slice(progress.segments);
            true
        })
        .unwrap();
    assert_eq!(made.segments, segments);
    assert!(seconds.len() > 2 && seconds.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(seconds.last(), Some(&3.0));
    let error = model.transcribe(&sound, &plain().beams(1), |_| false).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().starts_with("stopped after "), "{error}");
    // Less than a frame.
    let short = Sound::new(16_000, 1, &[0.1; 159]).unwrap();
    assert!(transcript(&model, &short, &TranscriptOptions::new()).segments.is_empty());
    assert!(model.detect_language(&short).unwrap_err().to_string().contains("less than 10 ms"));
}

#[test]
fn arguments_are_checked() {
    let folder = Folder::new("speech-arguments");
    let (path, _) = written(&folder, "hub", &Spec::tiny(), DType::F32);
    let (model, sound) = (open(&path), sound(0.5));
    let refused = |options: TranscriptOptions| {
        let error = model.transcribe(&sound, &options, |_| true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error.to_string()
    };
    let options = TranscriptOptions::new;
    assert_eq!(refused(options().beams(0)), "0 beams: 1 to 64 are valid");
    assert_eq!(refused(options().beams(65)), "65 beams: 1 to 64 are valid");
    assert_eq!(refused(options().draws(0)), "0 draws: 1 to 64 are valid");
    assert!(refused(options().temperatures([])).starts_with("no temperatures"));
    assert!(refused(options().temperatures([0.0, -0.5])).contains("-0.5: 0 to 10 are valid"));
    assert!(refused(options().temperatures([f64::NAN])).contains("NaN: 0 to 10 are valid"));
    assert!(refused(options().average_threshold(f64::NAN)).contains("a threshold of average"));
    let logits = |tokens: &[u32]| model.logits(&sound, tokens).unwrap_err().to_string();
    assert_eq!(logits(&[]), "0 tokens: 1 to 40 are valid");
    assert_eq!(logits(&[1; 41]), "41 tokens: 1 to 40 are valid");
    assert_eq!(logits(&[500]), "token 500: 0 to 315 are valid");
    let error = Transcriber::open(&path, &backend(), &TranscriberOptions::new().stored_as(DType::I32)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn other_models_and_other_readers_are_refused_by_name() {
    let folder = Folder::new("speech-others");
    let (path, _) = written(&folder, "hub", &Spec::tiny(), DType::F32);
    let errors = [
        Encoder::open(&path, &backend(), &EncoderOptions::new()).err().unwrap(),
        Decoder::open(&path, &backend(), &DecoderOptions::new()).err().unwrap(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.hint().unwrap_or_default().contains("transcribe"), "{error} {:?}", error.hint());
    }
    std::fs::write(path.join("config.json"), r#"{"model_type": "bert"}"#).unwrap();
    assert!(refused(&path).contains("model_type 'bert' is no model of speech that is known: whisper is"));
}

#[test]
fn fields_of_files_are_honoured_refused_or_reported() {
    let folder = Folder::new("speech-fields");
    let spec = Spec::tiny();
    let (path, _) = written(&folder, "hub", &spec, DType::F32);
    let wrong = |config: &str, generation: &str| {
        spec.write_settings(&path, config, generation);
        refused(&path)
    };
    for (config, generation, words) in [
        (r#", "activation_function": "relu""#, "", "activation_function: is \"relu\": \"gelu\" is supported"),
        (r#", "scale_embedding": true"#, "", "scale_embedding: is true: false is supported"),
        (r#", "tie_word_embeddings": false"#, "", "tie_word_embeddings: is false: true is supported"),
        (r#", "encoder_attention_heads": 3"#, "", "a number that divides the width, 64, is valid"),
        (r#", "max_target_positions": 4"#, "", "texts of 4 tokens: at least 8 are valid"),
        (r#", "num_mel_bins": 81"#, "", "feature_size: is 80: 81 is valid"),
        (r#", "vocab_size": 50"#, "", "below 50, the model's vocab_size, is valid"),
        ("", r#", "length_penalty": 2.0"#, "length_penalty: is 2.0: 1 is supported"),
        ("", r#", "suppress_tokens": [900]"#, "suppressed token 900: 0 to 315 are valid"),
        ("", r#", "suppress_tokens": [-2]"#, "suppress_tokens: is [-2]: a list of tokens is valid"),
        ("", r#", "forced_decoder_ids": [[1, 3]]"#, "has the token 3: those of languages, of tasks"),
        ("", r#", "forced_decoder_ids": 3"#, "null, or a list of pairs"),
        ("", r#", "forced_decoder_ids": [[7, 3]]"#, "a list of pairs of a position from 1 to 3"),
        ("", r#", "task": "sing""#, "task: is 'sing': transcribe and translate are valid"),
        ("", r#", "language": "xx""#, "generation_config.json: language 'xx': the model knows en, de, sv"),
        ("", r#", "max_length": 3"#, "max_length: is 3: a number from 8 on is valid"),
        ("", r#", "eos_token_id": 4000"#, "the special token 4000 is none of the model's 316"),
        ("", r#", "lang_to_id": {}"#, "has no token of a language, such as <|en|>, and the model knows several"),
        ("", r#", "lang_to_id": 3"#, "lang_to_id: is 3: an object of names with their tokens is valid"),
        ("", r#", "task_to_id": {"sing": 1}"#, "an object with transcribe and translate"),
    ] {
        let found = wrong(config, generation);
        assert!(found.contains(words), "'{found}' has no '{words}'");
    }
    spec.write_settings(&path, r#", "new_field": 1"#, r#", "other_field": 2"#);
    let warnings = open(&path).warnings();
    assert!(warnings.iter().any(|line| line.contains("new_field")) && warnings.len() == 2, "{warnings:?}");
    assert!(warnings.iter().any(|line| line.contains("generation_config.json") && line.contains("other_field")));
    // The features are those for which the folder was made.
    let features = |field: &str, value: &str| {
        spec.write_settings(&path, "", "");
        let file = path.join("preprocessor_config.json");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace('}', &format!(", \"{field}\": {value}}}"))).unwrap();
    };
    for (field, value) in [
        ("hop_length", "128"),
        ("sampling_rate", "8000"),
        ("chunk_length", "20"),
        ("n_samples", "1"),
        ("do_normalize", "true"),
        ("dither", "0.5"),
        ("mel_filters", "[[1.0, 2.0]]"),
    ] {
        features(field, value);
        assert!(refused(&path).contains(field), "{field}");
    }
}

#[test]
fn damaged_folders_are_refused() {
    let folder = Folder::new("speech-damaged");
    let spec = Spec::tiny();
    let (path, tensors) = written(&folder, "hub", &spec, DType::F32);
    std::fs::remove_file(path.join("tokenizer.json")).unwrap();
    assert!(refused(&path).contains("tokenizer.json"));
    for (text, words) in [
        (tokenizer().replace("BPE", "Unigram"), "BPE with ByteLevel is supported"),
        (tokenizer().replace("<|startoftranscript|>", "<|other|>"), "has no token <|startoftranscript|>"),
        ("{".to_string(), "is no JSON"),
    ] {
        std::fs::write(path.join("tokenizer.json"), text).unwrap();
        let found = refused(&path);
        assert!(found.contains(words), "'{found}' has no '{words}'");
    }
    std::fs::write(path.join("tokenizer.json"), tokenizer()).unwrap();
    let mut lacking = tensors.clone();
    lacking.all.remove("decoder.layers.1.encoder_attn.v_proj.weight");
    spec.write_folder(&path, &lacking, "", "");
    assert!(refused(&path).contains("'model.decoder.layers.1.encoder_attn.v_proj.weight' is missing"));
    let mut other = spec.clone();
    other.ffn += 32;
    other.write_settings(&path, "", "");
    assert!(refused(&path).contains("is expected by the model's settings"));
    let mut poisoned = tensors;
    poisoned.map_f32("decoder.layer_norm.weight", |_| f32::NAN);
    spec.write_folder(&path, &poisoned, "", "");
    let error = open(&path).logits(&sound(0.5), &[START]).unwrap_err();
    assert!(
        error.to_string().contains("'model.decoder.layer_norm.weight' holds NaN")
            || error.to_string().contains("decoder.layer_norm.weight"),
        "{error}"
    );
    for other in ["nothing", "hub/config.json"] {
        assert!(Transcriber::open(folder.path(other), &backend(), &TranscriberOptions::new()).is_err(), "{other}");
    }
}
