//! What sessions and sequences of any decoder do, and refusals, for the tests of families.

use super::architectures::Model;
use super::checks::{expect_logits, folder_of, gguf_of, model, open, refused};
use super::decoder::Spec;
use super::{backend, error, Folder};
use std::path::Path;
use tensorlib::{DType, Value};
use tensorlib_models::{Decoder, DecoderOptions, Sequences, SequencesOptions, Session};

pub fn tokens(n: u32, seed: u32) -> Vec<u32> {
    (0..n).map(|i| (i * i * 7 + i * seed + 3) % 61).collect()
}

/// A reproducible decoder of a model with quantised weights.
pub fn decoder(folder: &Folder, name: &str) -> Decoder {
    decoder_of(folder, name, &[])
}

/// [`decoder`] with further keys.
fn decoder_of(folder: &Folder, name: &str, further: &[(&str, Value)]) -> Decoder {
    let model = model(name);
    let path = gguf_of(folder, &model, &model.spec.tensors(5, DType::Q8_0), further);
    let options = DecoderOptions::new().reproducible(backend().device() == "cpu").context(250);
    Decoder::open(path, &backend(), &options).unwrap()
}

#[track_caller]
pub fn expect_same(got: &[f32], want: &[f32], what: &str) {
    let want: Vec<f64> = want.iter().map(|x| f64::from(*x)).collect();
    let bound = if backend().device() == "cpu" { 0.0 } else { 6e-2 };
    assert!(error(got, &want) <= bound, "{what}");
}

/// Feeds what follows, and compares the logits with those of all tokens at once.
pub fn check(session: &mut Session, all: &[u32], what: &str) {
    let from = session.position();
    assert_eq!(session.tokens(), &all[..from], "{what}");
    let got = session.feed(&all[from..]).unwrap();
    let want = session.decoder().session(DType::F16).unwrap().feed(all).unwrap();
    expect_same(&got, &want, &format!("{what} from {from}"));
}

#[track_caller]
pub fn expect_refused(path: &Path, words: &str) {
    let error = refused(path);
    assert!(error.contains(words), "{words}: {error}");
}

/// Refuses a folder of this model with each of these settings added.
pub fn expect_folders_refused(folder: &Folder, name: &str, cases: &[(&str, &str)]) {
    let model = model(name);
    let tensors = model.spec.tensors(1, DType::F32);
    for (further, words) in cases {
        expect_refused(&folder_of(folder, &model, &tensors, &format!(", {further}")), words);
    }
}

/// Refuses a GGUF file of this model with each of these keys.
pub fn expect_keys_refused(folder: &Folder, name: &str, cases: &[(&str, Value, &str)]) {
    let model = model(name);
    let tensors = model.spec.tensors(1, DType::F32);
    for (key, value, words) in cases {
        expect_refused(&gguf_of(folder, &model, &tensors, &[(*key, value.clone())]), words);
    }
}

/// A folder of this model without the settings of its own, and with these instead, gives what this description does.
pub fn expect(folder: &Folder, name: &str, settings: &'static str, change: impl Fn(Spec) -> Spec) {
    let model = model(name);
    let kind = model.hub.unwrap().0;
    let model = Model { spec: change(model.spec.clone()), hub: Some((kind, settings)), ..model };
    let tensors = model.spec.tensors(3, DType::F32);
    let path = folder_of(folder, &model, &tensors, "");
    assert_eq!(open(&path).warnings(), [""; 0], "{name} {settings}");
    expect_logits(&path, &model.spec, &tensors);
}

/// Sequences of different lengths, one of which begins as another does, and their next tokens.
pub fn sequences_are_computed_together(folder: &Folder, names: &[&str]) {
    names.iter().for_each(|name| sequences_of(folder, name, &[]));
}

/// [`sequences_are_computed_together`] for a model with further keys.
pub fn sequences_of(folder: &Folder, name: &str, further: &[(&str, Value)]) {
    let decoder = decoder_of(folder, name, further);
    let mut sequences = Sequences::new(&decoder, &SequencesOptions::default()).unwrap();
    // Prompts of different lengths, one of which begins as another does, then some tokens of each.
    let first = tokens(150, 3);
    let prompts = [first.clone(), tokens(7, 4), first[..100].to_vec(), tokens(1, 5)];
    let mut texts: Vec<_> = prompts.iter().map(|p| (sequences.add(p).unwrap(), p.clone())).collect();
    let mut left = vec![4; texts.len()];
    while left.iter().any(|n| *n > 0) {
        for (id, logits) in sequences.step().unwrap().ready {
            let at = texts.iter().position(|(known, _)| *known == id).unwrap();
            let want = decoder.session(DType::F16).unwrap().feed(&texts[at].1).unwrap();
            expect_same(&logits, &want, &format!("{name}: {} tokens", texts[at].1.len()));
            left[at] -= 1;
            if left[at] == 0 {
                sequences.remove(id);
            } else {
                texts[at].1.push(7 + left[at]);
                sequences.push(id, 7 + left[at]).unwrap();
            }
        }
    }
}

/// Exact products of quantised weights are those of double precision.
pub fn quantised_weights_are_exact(folder: &Folder, names: &[&str]) {
    for name in names {
        let model = model(name);
        for dtype in [DType::Q8_0, DType::Q4_0] {
            let tensors = model.spec.tensors(7, dtype);
            let path = gguf_of(folder, &model, &tensors, &[]);
            let want = model.spec.logits(&tensors, &tokens(20, 2)).concat();
            let exact = DecoderOptions::new().exact(true);
            let decoder = Decoder::open(&path, &backend(), &exact).unwrap();
            let off = error(&decoder.session(DType::F32).unwrap().feed_all(&tokens(20, 2)).unwrap(), &want);
            assert!(off < 1e-4, "{name} {dtype}: {off:e}");
        }
    }
}
