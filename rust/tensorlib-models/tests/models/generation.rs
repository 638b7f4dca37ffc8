//! Generation that ends before its first token: prompts in parts.

use crate::common::architectures::all;
use crate::common::tiny::Tensors;
use crate::common::{backend, Folder};
use tensorlib::DType;
use tensorlib_models::{generate, Decoder, DecoderOptions, Ending, ErrorKind, Sampler, SamplerOptions};

#[test]
fn a_long_prompt_may_be_stopped_between_its_parts() {
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let (folder, tensors) = (Folder::new("generation"), model.spec.tensors(2, DType::F32));
    let path = folder.path("model.gguf");
    tensors.write_gguf(&path, &model.metadata());
    let decoder = Decoder::open(&path, &backend(), &DecoderOptions::new().context(700)).unwrap();
    let mut session = decoder.session(DType::F16).unwrap();
    let mut sampler = Sampler::new(SamplerOptions { temperature: 0.0, ..SamplerOptions::default() }).unwrap();
    let prompt: Vec<u32> = (0..600).map(|i| i % 61).collect();

    let mut asked = 0;
    let stop = |piece: tensorlib_models::Piece| {
        assert!(piece.token.is_none() && piece.text.is_empty());
        asked += 1;
        false
    };
    let totals = generate(&mut session, &mut sampler, &prompt, Some(3), &[], stop).unwrap();
    assert_eq!((totals.ending, totals.prompt_tokens, totals.tokens), (Ending::Interrupted, 512, 0));
    assert_eq!((session.position(), asked), (512, 1));

    // The remaining prompt runs as if nothing had happened; a prompt that does not fit is refused before any of it is
    // computed.
    let mut text = String::new();
    let totals = generate(&mut session, &mut sampler, &prompt[512..], Some(3), &[], |piece| {
        text += piece.text;
        true
    });
    assert_eq!((totals.unwrap().tokens, session.position()), (3, 602));
    let refused = generate(&mut session, &mut sampler, &prompt, Some(3), &[], |_| true).unwrap_err();
    assert_eq!((refused.kind(), session.position()), (ErrorKind::Invalid, 602));
    let mut whole = decoder.session(DType::F16).unwrap();
    let mut same = String::new();
    let mut sampler = Sampler::new(SamplerOptions { temperature: 0.0, ..SamplerOptions::default() }).unwrap();
    generate(&mut whole, &mut sampler, &prompt, Some(3), &[], |piece| {
        same += piece.text;
        true
    })
    .unwrap();
    assert_eq!(same, text);
}

#[test]
fn log_probabilities_are_the_models_own() {
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let (folder, tensors) = (Folder::new("generation-logprobs"), model.spec.tensors(2, DType::F32));
    let path = folder.path("model.gguf");
    tensors.write_gguf(&path, &model.metadata());
    let decoder = Decoder::open(&path, &backend(), &DecoderOptions::new()).unwrap();
    // Penalties, biases and samplers do not change them.
    let options = SamplerOptions {
        logprobs: Some(3),
        temperature: 3.0,
        repeat_penalty: 2.0,
        logit_bias: vec![(7, 4.0), (8, f64::NEG_INFINITY)],
        ..SamplerOptions::default()
    };
    let mut shown = Vec::new();
    let mut session = decoder.session(DType::F32).unwrap();
    let mut sampler = Sampler::new(options.clone()).unwrap();
    generate(&mut session, &mut sampler, &[3, 4, 5], Some(12), &[], |piece| {
        shown.extend(piece.token.map(|token| (token, piece.logprobs.cloned().unwrap())));
        true
    })
    .unwrap();
    let mut again = decoder.session(DType::F32).unwrap();
    let mut logits = again.feed(&[3, 4, 5]).unwrap();
    assert!(shown.len() > 5);
    for (token, got) in &shown {
        let total: f64 = logits.iter().map(|x| f64::from(*x).exp()).sum();
        let want = |token: u32| (f64::from(logits[token as usize]).exp() / total).ln();
        assert!((got.logprob - want(*token)).abs() < 1e-9, "{got:?}");
        let mut order: Vec<u32> = (0..logits.len() as u32).collect();
        order.sort_by(|a, b| logits[*b as usize].partial_cmp(&logits[*a as usize]).unwrap());
        assert_eq!(got.top.iter().map(|x| x.0).collect::<Vec<_>>(), order[..3]);
        assert!(got.top.iter().all(|(token, logprob)| (logprob - want(*token)).abs() < 1e-9), "{got:?}");
        logits = again.feed(&[*token]).unwrap();
    }
    // More than there are, none, and not asked for.
    for (logprobs, n) in [(Some(1000), Some(61)), (Some(0), Some(0)), (None, None)] {
        let mut sampler = Sampler::new(SamplerOptions { logprobs, ..options.clone() }).unwrap();
        let mut session = decoder.session(DType::F32).unwrap();
        generate(&mut session, &mut sampler, &[3, 4, 5], Some(1), &[], |piece| {
            assert!(piece.token.is_none() || piece.logprobs.map(|l| l.top.len()) == n);
            true
        })
        .unwrap();
    }
}

/// Changes a model's files and returns the warnings of generating two tokens.
fn generated(folder: &Folder, change: impl Fn(&mut Tensors), cache: DType) -> tensorlib_models::Result<Vec<String>> {
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let (mut tensors, path) = (model.spec.tensors(2, DType::F32), folder.path("model.gguf"));
    change(&mut tensors);
    tensors.write_gguf(&path, &model.metadata());
    let decoder = Decoder::open(&path, &backend(), &DecoderOptions::new()).unwrap();
    let mut session = decoder.session(cache).unwrap();
    let mut sampler = Sampler::new(SamplerOptions { temperature: 0.0, ..SamplerOptions::default() }).unwrap();
    generate(&mut session, &mut sampler, &[3, 4, 5], Some(2), &[], |_| true)?;
    Ok(session.warnings())
}

fn set(tensors: &mut Tensors, name: &str, at: usize, value: f32) {
    let bytes = &mut tensors.all.get_mut(name).unwrap().bytes;
    bytes[4 * at..4 * at + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn logits_that_are_not_numbers_end_generation() {
    let folder = Folder::new("generation-nan");
    assert_eq!(generated(&folder, |_| (), DType::F16).unwrap(), [""; 0]);
    let nan = |tensors: &mut Tensors| set(tensors, "output_norm.weight", 3, f32::NAN);
    let error = generated(&folder, nan, DType::F32).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let words = ["position 2: the logit of token 0 is NaN", "tensor 'output_norm.weight' holds NaN"];
    assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
    // Keys that overflow F16: an error if the logits show it, otherwise a warning.
    let large = |tensors: &mut Tensors| (0..64).for_each(|i| set(tensors, "blk.0.attn_norm.weight", i, 1e6));
    let (f16, f32) = (generated(&folder, large, DType::F16), generated(&folder, large, DType::F32));
    assert_eq!(f32.unwrap(), [""; 0]);
    let said = match f16 {
        Ok(warnings) => warnings.join(" "),
        Err(error) => error.hint().unwrap().to_string(),
    };
    assert!(said.contains("keys or values of layer 0") && said.contains("--cache"), "{said}");
}

#[test]
fn a_session_owns_its_share_of_the_model() {
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let (folder, tensors) = (Folder::new("generation-owned"), model.spec.tensors(2, DType::F32));
    let path = folder.path("model.gguf");
    tensors.write_gguf(&path, &model.metadata());
    let decoder = Decoder::open(&path, &backend(), &DecoderOptions::new()).unwrap();
    let computed = |decoder: &Decoder| decoder.session(DType::F16).unwrap().feed_all(&[4, 1, 5]).unwrap();
    let want = computed(&decoder);

    // Clones share the weights: the packed copies that one makes serve the other.
    let (clone, memory) = (decoder.clone(), decoder.memory());
    assert_eq!(clone.memory(), memory);
    drop(clone);

    // A session in another thread, without a handle of the model.
    let mut session = decoder.session(DType::F16).unwrap();
    drop(decoder);
    let (session, got) = std::thread::spawn(move || {
        let got = session.feed_all(&[4, 1, 5]).unwrap();
        (session, got)
    })
    .join()
    .unwrap();
    assert_eq!(got, want);

    // The session returns the model, for another session.
    let decoder = session.decoder().clone();
    drop(session);
    assert_eq!(computed(&decoder), want);
}

#[test]
fn tokens_that_files_suppress_are_not_written() {
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let (folder, tensors) = (Folder::new("generation-suppressed"), model.spec.tensors(2, DType::F32));
    let texts = |suppressed: &[i32]| {
        let path = folder.path("model.gguf");
        let mut metadata = model.metadata();
        metadata.push(("tokenizer.ggml.suppress_tokens".into(), suppressed.to_vec().into()));
        tensors.write_gguf(&path, &metadata);
        let decoder = Decoder::open(&path, &backend(), &DecoderOptions::new()).unwrap();
        assert!(decoder.warnings().is_empty(), "{:?}", decoder.warnings());
        let greedy = SamplerOptions { temperature: 0.0, ..SamplerOptions::default() };
        // Whatever way the sampler was made.
        let samplers = [Sampler::new(greedy.clone()), Sampler::with_tokenizer(greedy, decoder.tokenizer())];
        samplers.map(|sampler| {
            let (mut session, mut written) = (decoder.session(DType::F32).unwrap(), Vec::new());
            let show = |piece: tensorlib_models::Piece| {
                written.extend(piece.token);
                true
            };
            generate(&mut session, &mut sampler.unwrap(), &[3, 4, 5], Some(12), &[], show).unwrap();
            written
        })
    };
    let [free, same] = texts(&[]);
    assert_eq!(free, same);
    let suppressed: Vec<i32> = free.iter().map(|token| *token as i32).collect();
    for written in texts(&suppressed) {
        assert!(written.len() > 3 && written.iter().all(|token| !free.contains(token)), "{free:?} {written:?}");
    }
}
