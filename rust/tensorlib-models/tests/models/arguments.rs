//! Invalid arguments are refused where they are given, and models can be printed.

use crate::common::architectures::all;
use crate::common::{backend, Folder};
use tensorlib::DType;
use tensorlib_models::{Decoder, DecoderOptions, ErrorKind, Sampler, SamplerOptions};

/// A small opened Llama of this type.
fn opened(folder: &Folder, dtype: DType, options: &DecoderOptions) -> tensorlib_models::Result<Decoder> {
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let path = folder.path("model.gguf");
    model.spec.tensors(3, dtype).write_gguf(&path, &model.metadata());
    Decoder::open(&path, &backend(), options)
}

#[test]
fn types_of_caches_and_weights() {
    let folder = Folder::new("arguments");
    let decoder = opened(&folder, DType::F32, &DecoderOptions::new()).unwrap();
    for dtype in [DType::I32, DType::I8, DType::Q8_1, DType::BF16, DType::Q4_0] {
        let error = decoder.session(dtype).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert_eq!(error.to_string(), format!("a cache of {dtype}: f16, q8_0 and f32 are valid"));
    }
    for dtype in [DType::I32, DType::I64, DType::Q8_1, DType::Q8_K] {
        let error = opened(&folder, DType::F32, &DecoderOptions::new().stored_as(dtype)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().starts_with(&format!("weights stored as {dtype}: ")), "{error}");
    }
}

/// The type of the stored weights does not matter.
#[test]
fn quantised_weights_are_converted_too() {
    let folder = Folder::new("arguments-converted");
    let logits = |decoder: &Decoder| decoder.session(DType::F32).unwrap().feed_all(&[3, 10, 31, 5]).unwrap();
    let exact = DecoderOptions::new().exact(true);
    let quantised = opened(&folder, DType::Q8_0, &exact).unwrap();
    let floats = opened(&folder, DType::Q8_0, &exact.clone().stored_as(DType::F32)).unwrap();
    assert!(floats.memory().stored > 3 * quantised.memory().stored, "{:?}", floats.memory());
    for (got, wanted) in logits(&floats).iter().zip(logits(&quantised)) {
        assert!((got - wanted).abs() <= 1e-4 * wanted.abs().max(1.), "{got} {wanted}");
    }
}

#[test]
fn handles_can_be_printed() {
    let folder = Folder::new("arguments-printed");
    let decoder = opened(&folder, DType::F32, &DecoderOptions::new()).unwrap();
    let mut session = decoder.session(DType::F16).unwrap();
    session.feed(&[3, 10]).unwrap();
    let text = format!("{session:?}");
    for words in ["Session", "position: 2", "Decoder", "\"llama\""] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    let sampler = Sampler::new(SamplerOptions::default()).unwrap();
    assert!(format!("{sampler:?} {:?}", decoder.tokenizer()).contains("Tokenizer"));
}
