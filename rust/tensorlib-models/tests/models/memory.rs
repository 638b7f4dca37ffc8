//! The memory of models: original weights are freed once packed copies replace them, and nothing else changes.

use crate::common::architectures::all;
use crate::common::tiny::{tokenizer_json, Tensors};
use crate::common::{backend, Folder};
use std::path::Path;
use std::sync::Barrier;
use tensorlib::DType;
use tensorlib_models::{Decoder, DecoderOptions};

const TOKENS: [u32; 9] = [3, 10, 31, 5, 54, 56, 11, 41, 23];

fn stored(tensors: &Tensors) -> usize {
    tensors.all.values().map(|tensor| tensor.bytes.len()).sum()
}

/// Computes twice, the second time without original weights; returns the freed bytes.
fn given_back(decoder: &Decoder, stored: usize) -> usize {
    let before = decoder.memory();
    assert_eq!((before.stored, before.replaced_tensors, before.given_back), (stored, 0, 0));
    let first = decoder.session(DType::F32).unwrap().feed_all(&TOKENS).unwrap();
    let after = decoder.memory();
    assert!(after.given_back <= stored && after.replaced_tensors <= after.tensors);
    assert_eq!(after.given_back == 0, after.replaced_tensors == 0);
    let mut session = decoder.session(DType::F32).unwrap();
    assert_eq!(session.feed_all(&TOKENS).unwrap(), first);
    assert!(session.cache_memory() > 0);
    session.feed(&[7]).unwrap();
    // Products of one column may have packed weights that others had not; at most all weights can go.
    assert!(decoder.memory().given_back >= after.given_back && decoder.memory().given_back <= stored);
    decoder.memory().given_back
}

#[test]
fn originals_go_once_there_are_copies() {
    let device = backend();
    for (name, dtype) in
        [("llama", DType::Q8_0), ("llama", DType::F32), ("gemma2", DType::F16), ("qwen3moe", DType::Q4_0)]
    {
        let model = all().into_iter().find(|model| model.name == name).unwrap();
        let (folder, tensors) = (Folder::new(&format!("memory-{name}-{dtype}")), model.spec.tensors(3, dtype));
        let (path, stored) = (folder.path("model.gguf"), stored(&tensors));
        tensors.write_gguf(&path, &model.metadata());
        let options = DecoderOptions::new();
        // SAFETY: the file is this test's own.
        let mapped = unsafe { Decoder::open_mapped(&path, &device, &options).unwrap() };
        let n = given_back(&mapped, stored);
        assert_eq!(n > 0, device.device() == "cpu", "{name} {dtype}");
        // A file that was read as a whole stays as a whole.
        assert_eq!(given_back(&Decoder::open(&path, &device, &options).unwrap(), stored), 0, "{name} {dtype}");
    }
}

#[test]
fn originals_of_a_folder_go_and_the_embeddings_are_read_from_their_copy() {
    let model = all().into_iter().find(|model| model.name == "gemma2").unwrap();
    assert!(model.spec.tied);
    let (folder, tensors) = (Folder::new("memory-hub"), model.spec.tensors(3, DType::BF16));
    std::fs::write(folder.path("config.json"), model.config()).unwrap();
    std::fs::write(folder.path("tokenizer.json"), tokenizer_json(model.spec.vocabulary)).unwrap();
    let less_one = |name: &str| name.ends_with("norm.weight");
    tensors.write_safetensors(&folder.path("model.safetensors"), |name, expert| model.hub_name(name, expert), less_one);
    let device = backend();
    let decoder = Decoder::open(folder.path(""), &device, &DecoderOptions::new()).unwrap();
    let n = given_back(&decoder, stored(&tensors));
    assert_eq!(n > 0, device.device() == "cpu");
}

/// Original weights are freed while other threads compute with them. The model is large enough for both to take time.
#[test]
fn threads_that_begin_with_a_fresh_model_all_get_their_answers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/plays.gguf");
    let mut answer: Option<Vec<f32>> = None;
    for _ in 0..20 {
        // A new backend has no copies yet.
        let device = backend();
        // SAFETY: nobody writes to the files of the repository.
        let decoder = unsafe { Decoder::open_mapped(&path, &device, &DecoderOptions::new()).unwrap() };
        let begin = Barrier::new(8);
        let feed = || {
            let mut session = decoder.session(DType::F16)?;
            begin.wait();
            session.feed(&[1, 2, 3])?;
            session.feed(&[4])
        };
        let answers: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(feed)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for got in answers {
            let got = got.unwrap();
            assert_eq!(answer.get_or_insert_with(|| got.clone()), &got);
        }
        assert_eq!(decoder.memory().given_back > 0, device.device() == "cpu");
    }
}
