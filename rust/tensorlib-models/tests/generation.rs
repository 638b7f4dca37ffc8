//! How generation ends before it begins: prompts in parts.

mod common;

use common::architectures::all;
use common::{backend, Folder};
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
    assert_eq!((session.len(), asked), (512, 1));

    // The rest as if nothing had been; a prompt that does not fit is refused before any of it is computed.
    let mut text = String::new();
    let totals = generate(&mut session, &mut sampler, &prompt[512..], Some(3), &[], |piece| {
        text += piece.text;
        true
    });
    assert_eq!((totals.unwrap().tokens, session.len()), (3, 602));
    let refused = generate(&mut session, &mut sampler, &prompt, Some(3), &[], |_| true).unwrap_err();
    assert_eq!((refused.kind(), session.len()), (ErrorKind::Invalid, 602));
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
