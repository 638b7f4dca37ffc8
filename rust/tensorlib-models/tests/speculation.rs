//! Texts by speculation are those without it.

mod common;

use common::architectures::all;
use common::{backend, Folder};
use tensorlib::DType;
use tensorlib_models::{
    generate, generate_speculating, Decoder, DecoderOptions, Ending, Piece, Sampler, SamplerOptions, Session, Totals,
};

fn opened(folder: &Folder, name: &str, context: usize) -> Decoder {
    let model = all().into_iter().find(|model| model.name == name).unwrap();
    let path = folder.path("model.gguf");
    model.spec.tensors(8, DType::Q8_0).write_gguf(&path, &model.metadata());
    let options = DecoderOptions::new().reproducible(backend().device() == "cpu").context(context);
    Decoder::open(&path, &backend(), &options).unwrap()
}

/// A text that repeats itself.
fn prompt(n: u32) -> Vec<u32> {
    (0..n).map(|i| (i % 9 * 5 + 4) % 61).collect()
}

/// The text, its tokens, the totals and the session of a generation.
fn text(
    decoder: &Decoder,
    options: &SamplerOptions,
    n: u32,
    limit: Option<usize>,
    stops: &[String],
    speculates: bool,
) -> (String, Vec<u32>, Totals, Session) {
    let mut session = decoder.session(DType::F16).unwrap();
    let mut sampler = Sampler::new(options.clone()).unwrap();
    let (mut text, mut tokens) = (String::new(), Vec::new());
    let show = |piece: Piece| {
        text += piece.text;
        tokens.extend(piece.token);
        assert_eq!(piece.logprobs.is_some(), piece.token.is_some());
        true
    };
    let totals = match speculates {
        true => generate_speculating(&mut session, &mut sampler, &prompt(n), limit, stops, show),
        false => generate(&mut session, &mut sampler, &prompt(n), limit, stops, show),
    };
    (text, tokens, totals.unwrap(), session)
}

#[test]
fn the_text_is_the_same() {
    if backend().device() != "cpu" {
        return; // reproducible kernels are the CPU's
    }
    let (mut drafted, mut right) = (0, 0);
    for name in ["llama", "gemma3", "qwen3moe"] {
        let folder = Folder::new(&format!("speculation-{name}"));
        let decoder = opened(&folder, name, 230);
        for temperature in [0.0, 0.5, 1.5] {
            for seed in 0..4 {
                let options = SamplerOptions { temperature, seed, logprobs: Some(1), ..SamplerOptions::default() };
                for (n, limit, stops) in [
                    (40, Some(90), vec![]),
                    (3, Some(60), vec!["e".to_string(), "qx".to_string()]),
                    (100, None, vec![]),
                    (30, Some(1), vec![]),
                    (30, Some(0), vec![]),
                    (30, Some(3), vec![]),
                ] {
                    let what = format!("{name}, temperature {temperature}, seed {seed}, limit {limit:?}");
                    let want = text(&decoder, &options, n, limit, &stops, false);
                    let got = text(&decoder, &options, n, limit, &stops, true);
                    assert_eq!((&got.0, &got.1), (&want.0, &want.1), "{what}");
                    assert_eq!((&got.2.ending, got.2.tokens), (&want.2.ending, want.2.tokens), "{what}");
                    assert_eq!(got.3.tokens(), want.3.tokens(), "{what}");
                    assert_eq!(want.2.drafted, (0, 0));
                    drafted += got.2.drafted.0;
                    right += got.2.drafted.1;
                }
            }
        }
    }
    // Random models repeat themselves at a temperature of 0, so some drafts are right, and at 1.5 some are not.
    assert!(drafted > right && right > 0, "{right} of {drafted}");
}

#[test]
fn a_full_context_and_an_interruption_end_it() {
    let folder = Folder::new("speculation-ends");
    let decoder = opened(&folder, "llama", 64);
    let ends = (0..61).filter(|token| decoder.tokenizer().is_end(*token)).map(|token| (token, f64::NEG_INFINITY));
    let options =
        SamplerOptions { temperature: 0.0, logit_bias: ends.collect(), logprobs: Some(0), ..SamplerOptions::default() };
    let (_, tokens, totals, session) = text(&decoder, &options, 40, None, &[], true);
    assert_eq!((totals.ending, tokens.len(), session.position()), (Ending::Context, 25, 64));
    for stop_after in [1, 5, 12] {
        let mut session = decoder.session(DType::F16).unwrap();
        let mut sampler = Sampler::new(options.clone()).unwrap();
        let mut shown = Vec::new();
        let totals = generate_speculating(&mut session, &mut sampler, &prompt(40), None, &[], |piece| {
            shown.extend(piece.token);
            shown.len() < stop_after
        })
        .unwrap();
        assert_eq!((totals.ending, totals.tokens), (Ending::Interrupted, stop_after));
        // The last one shown is not computed yet.
        assert_eq!(session.tokens()[40..], shown[..stop_after - 1]);
    }
}
