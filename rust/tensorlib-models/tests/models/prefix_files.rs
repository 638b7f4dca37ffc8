//! Files of known beginnings: what comes back is exact, or the file is refused by name.

use crate::common::architectures::all;
use crate::common::{backend, Folder};
use std::path::{Path, PathBuf};
use tensorlib::DType;
use tensorlib_models::{Decoder, DecoderOptions, ErrorKind, SequenceId, Sequences, SequencesOptions};

fn tokens(n: u32, seed: u32) -> Vec<u32> {
    (0..n).map(|i| (i * i * 7 + i * seed + 3) % 61).collect()
}

fn file(folder: &Folder, seed: u64) -> PathBuf {
    let path = folder.path(&format!("model-{seed}.gguf"));
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    model.spec.tensors(seed, DType::F16).write_gguf(&path, &model.metadata());
    path
}

fn open(folder: &Folder, seed: u64, context: usize) -> Decoder {
    let options = DecoderOptions::new().reproducible(backend().device() == "cpu").context(context);
    Decoder::open(file(folder, seed), &backend(), &options).unwrap()
}

fn sequences(decoder: &Decoder, tokens: usize) -> Sequences {
    Sequences::new(decoder, &SequencesOptions { tokens, ..SequencesOptions::default() }).unwrap()
}

/// The logits after a prompt, and how many of its tokens were known.
fn run(sequences: &mut Sequences, prompt: &[u32]) -> (Vec<f32>, usize) {
    let id: SequenceId = sequences.add(prompt).unwrap();
    loop {
        if let Some((_, logits)) = sequences.step().unwrap().ready.pop() {
            let cached = sequences.cached_tokens(id).unwrap();
            sequences.remove(id);
            return (logits, cached);
        }
    }
}

/// Two prompts that begin alike, and another one.
fn prompts() -> [Vec<u32>; 3] {
    let shared = tokens(150, 1);
    [[&shared[..], &tokens(60, 2)].concat(), [&shared[..], &tokens(90, 3)].concat(), tokens(140, 4)]
}

#[test]
fn beginnings_come_back_exactly() {
    let folder = Folder::new("prefixes");
    let (decoder, path) = (open(&folder, 1, 250), folder.path("prefixes"));
    let mut first = sequences(&decoder, 2000);
    let want: Vec<Vec<f32>> = prompts().iter().map(|prompt| run(&mut first, prompt).0).collect();
    // 3 + 1 + 2 pages: the first two prompts share two.
    assert_eq!(first.save_prefixes(&path).unwrap(), 64 * 6);
    let mut second = sequences(&decoder, 2000);
    assert_eq!(second.restore_prefixes(&path).unwrap(), 64 * 6);
    for (i, prompt) in prompts().iter().enumerate() {
        let (logits, cached) = run(&mut second, prompt);
        assert_eq!(cached, [192, 192, 128][i]);
        assert!(backend().device() != "cpu" || logits == want[i], "prompt {i}");
    }
    // Pages that are there already are not there twice.
    let (_, pages, free) = second.pool();
    second.restore_prefixes(&path).unwrap();
    assert_eq!(second.pool(), (second.pool().0, pages, free));
    // Nothing is known: a file of nothing.
    let empty = folder.path("empty");
    assert_eq!(sequences(&decoder, 640).save_prefixes(&empty).unwrap(), 0);
    assert_eq!(second.restore_prefixes(&empty).unwrap(), 0);
}

#[test]
fn a_small_pool_takes_what_was_used_last() {
    let folder = Folder::new("prefixes-small");
    let (decoder, path) = (open(&folder, 1, 250), folder.path("prefixes"));
    let mut first = sequences(&decoder, 2000);
    prompts().iter().for_each(|prompt| _ = run(&mut first, prompt));
    run(&mut first, &prompts()[1]);
    first.save_prefixes(&path).unwrap();
    let mut small = sequences(&decoder, 64 * 4);
    assert_eq!(small.restore_prefixes(&path).unwrap(), 64 * 4);
    // The second prompt was used last, then the third, of which one page fits.
    let [a, b, c] = prompts();
    assert_eq!(run(&mut small, &b).1, 192);
    assert_eq!(run(&mut sequences(&decoder, 64 * 4), &b).1, 0);
    let mut small = sequences(&decoder, 64 * 4);
    small.restore_prefixes(&path).unwrap();
    assert_eq!(run(&mut small, &c).1, 64);
    // What was used longest ago makes room first, as before.
    let mut again = sequences(&decoder, 64 * 6);
    again.restore_prefixes(&path).unwrap();
    assert_eq!(run(&mut again, &tokens(64, 9)).1, 0);
    assert_eq!((run(&mut again, &b).1, run(&mut again, &a).1 < 192), (192, true));
}

fn refused(decoder: &Decoder, path: &Path, kind: ErrorKind, words: &str) {
    let mut sequences = sequences(decoder, 2000);
    let before = sequences.pool();
    let error = sequences.restore_prefixes(path).unwrap_err();
    assert!(error.to_string().contains(words), "{words}: {error}");
    assert!(error.kind() == kind && error.hint().is_some(), "{error:?}");
    assert_eq!((sequences.pool(), run(&mut sequences, &prompts()[0][..90]).1), (before, 0));
}

#[test]
fn files_of_something_else_are_refused_by_name() {
    let folder = Folder::new("prefixes-other");
    let (decoder, path) = (open(&folder, 1, 250), folder.path("prefixes"));
    let mut first = sequences(&decoder, 2000);
    prompts().iter().for_each(|prompt| _ = run(&mut first, prompt));
    first.save_prefixes(&path).unwrap();
    refused(&open(&folder, 2, 250), &path, ErrorKind::Invalid, "is a store of prefixes of another model");
    refused(
        &open(&folder, 1, 100),
        &path,
        ErrorKind::Invalid,
        "a sequence of 192 tokens: the context has room for 100",
    );
    let options = SequencesOptions { cache: DType::F32, ..SequencesOptions::default() };
    let error = Sequences::new(&decoder, &options).unwrap().restore_prefixes(&path).unwrap_err();
    assert!(error.to_string().contains("has a cache of f16, and this one is of f32"), "{error}");
    let session = folder.path("session");
    decoder.session(DType::F16).unwrap().save(&session).unwrap();
    refused(&decoder, &session, ErrorKind::Format, "is not a store of prefixes");
    refused(&decoder, &folder.path("none"), ErrorKind::Io, "cannot be opened");
    let error = first.save_prefixes(folder.path("none/prefixes")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
}

#[test]
fn damaged_files_are_refused() {
    let folder = Folder::new("prefixes-damaged");
    let (decoder, path) = (open(&folder, 1, 250), folder.path("prefixes"));
    let mut first = sequences(&decoder, 2000);
    run(&mut first, &prompts()[2]);
    first.save_prefixes(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut sequences = sequences(&decoder, 2000);
    let before = sequences.pool();
    let mut check = |bytes: &[u8], what: &str| {
        std::fs::write(&path, bytes).unwrap();
        assert!(sequences.restore_prefixes(&path).is_err(), "{what}");
        assert_eq!(sequences.pool(), before, "{what}");
    };
    for n in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
        check(&bytes[..n], &format!("{n} bytes"));
    }
    check(&[&bytes[..], b"\0"].concat(), "a byte more");
    let (step, data) = (1 + header / 300, 1 + (bytes.len() - header) / 300);
    for at in (0..8 + header).step_by(step).chain((8 + header..bytes.len()).step_by(data)) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x01;
        check(&bytes, &format!("byte {at}"));
    }
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(sequences.restore_prefixes(&path).unwrap(), 128);
}
