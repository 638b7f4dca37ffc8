//! Models with recurrent layers: the positions to which sessions go back, files with states, and what sequences share.

use crate::common::architectures::{all, Model};
use crate::common::{backend, Folder};
use std::path::{Path, PathBuf};
use tensorlib::DType;
use tensorlib_models::{
    Decoder, DecoderOptions, ErrorKind, PrefixStore, Sequences, SequencesOptions, Session, PROMPT_BLOCK,
};

fn tokens(n: u32, seed: u32) -> Vec<u32> {
    (0..n).map(|i| (i * i * 7 + i * seed + 3) % 61).collect()
}

fn on_cpu() -> bool {
    backend().device() == "cpu"
}

fn model() -> Model {
    all().into_iter().find(|model| model.name == "qwen35").unwrap()
}

fn file(folder: &Folder, seed: u64) -> PathBuf {
    let path = folder.path(&format!("model-{seed}.gguf"));
    model().spec.tensors(seed, DType::Q8_0).write_gguf(&path, &model().metadata());
    path
}

fn open(folder: &Folder, context: usize) -> Decoder {
    let options = DecoderOptions::new().reproducible(on_cpu()).context(context);
    Decoder::open(file(folder, 5), &backend(), &options).unwrap()
}

/// Feeds what follows, and compares the logits with those of all tokens at once.
fn check(session: &mut Session, all: &[u32], what: &str) {
    let from = session.position();
    assert_eq!(session.tokens(), &all[..from], "{what}");
    let got = session.feed(&all[from..]).unwrap();
    let want = session.decoder().session(DType::F16).unwrap().feed(all).unwrap();
    let largest = want.iter().fold(0f32, |m, x| m.max(x.abs()));
    let bound = if on_cpu() { 0.0 } else { 6e-2 * largest };
    assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= bound), "{what} from {from}");
}

/// Four of five layers have four states of 16 x 16 and three columns of the convolution's 128 channels.
const STATE: usize = 4 * (4 * 16 * 16 + 3 * 128) * 4;

#[test]
fn sessions_go_back_to_checkpoints() {
    let folder = Folder::new("recurrent-checkpoints");
    let decoder = open(&folder, 200);
    let all = tokens(150, 1);
    let mut session = decoder.session(DType::F16).unwrap();
    assert_eq!(session.state_memory(), STATE);
    assert_eq!((session.checkpoint(), session.rewind(0), session.rewind(7)), (0, 0, 0));
    session.feed(&all[..40]).unwrap();
    let memory = session.cache_memory();
    assert_eq!((session.checkpoint(), session.checkpoint(), session.cache_memory()), (40, 40, memory + STATE));
    session.feed(&all[40..90]).unwrap();
    // The beginning of the last call that fed tokens is reached without a checkpoint, once.
    session.feed(&all[90..100]).unwrap();
    assert_eq!((session.rewind(99), session.rewind(89)), (90, 40));
    check(&mut session, &all, "after a checkpoint");
    assert_eq!((session.rewind(149), session.rewind(30)), (40, 0));
    check(&mut session, &all, "from the beginning");
    // The checkpoint at 40 went with the tokens before it.
    assert_eq!(session.rewind(149), 0);
}

#[test]
fn sessions_keep_the_last_checkpoints() {
    let folder = Folder::new("recurrent-many");
    let decoder = open(&folder, 200);
    let all = tokens(120, 2);
    let mut session = decoder.session(DType::F16).unwrap();
    for part in all[..100].chunks(10) {
        session.feed(part).unwrap();
        session.checkpoint();
    }
    session.feed(&all[100..]).unwrap();
    let mut fork = session.fork().unwrap();
    // Eight are kept: 30 to 100.
    for (asked, reached) in [(119, 100), (99, 90), (45, 40), (39, 30), (29, 0)] {
        assert_eq!(session.rewind(asked), reached);
        check(&mut session.fork().unwrap(), &all, "after one of many");
    }
    assert_eq!((fork.rewind(75), fork.rewind(30), fork.rewind(29)), (70, 30, 0));
}

#[test]
fn blocks_of_long_prompts_are_checkpoints() {
    let folder = Folder::new("recurrent-blocks");
    let n = 2 * PROMPT_BLOCK + 5;
    let decoder = open(&folder, n + 10);
    let all = tokens(n as u32, 3);
    let mut session = decoder.session(DType::F16).unwrap();
    session.feed(&all).unwrap();
    assert_eq!(session.rewind(n - 1), 2 * PROMPT_BLOCK);
    assert_eq!(session.rewind(2 * PROMPT_BLOCK - 1), PROMPT_BLOCK);
    check(&mut session, &all, "after a block");
}

#[test]
fn short_runs_with_all_logits_can_be_taken_back_token_by_token() {
    let folder = Folder::new("recurrent-drafts");
    let decoder = open(&folder, 200);
    let all = tokens(60, 4);
    for at in [40, 41, 45, 59] {
        let mut session = decoder.session(DType::F16).unwrap();
        session.feed(&all[..40]).unwrap();
        // What a draft got wrong.
        let drafted = [&all[40..at], &vec![9; 60 - at][..]].concat();
        session.feed_all(&drafted).unwrap();
        assert_eq!(session.rewind(at), at);
        check(&mut session, &all, "after a draft");
    }
}

#[test]
fn files_have_the_state_and_the_checkpoints() {
    let folder = Folder::new("recurrent-files");
    let (decoder, path) = (open(&folder, 200), folder.path("session"));
    let all = tokens(90, 5);
    let mut session = decoder.session(DType::F16).unwrap();
    for (from, to) in [(0, 30), (30, 55), (55, 70)] {
        session.feed(&all[from..to]).unwrap();
        session.checkpoint();
    }
    session.feed(&all[70..77]).unwrap();
    session.save(&path).unwrap();
    let mut restored = decoder.session(DType::F16).unwrap();
    restored.feed(&[1, 2, 3]).unwrap();
    restored.restore(&path).unwrap();
    check(&mut restored.fork().unwrap(), &all, "restored");
    for reached in [70, 55, 30] {
        assert_eq!(restored.rewind(reached + 1), reached);
        check(&mut restored.fork().unwrap(), &all, "restored and taken back");
    }
    // An empty one.
    decoder.session(DType::F16).unwrap().save(&path).unwrap();
    restored.restore(&path).unwrap();
    assert_eq!(restored.position(), 0);
    check(&mut restored, &all, "restored from nothing");
}

fn changed(path: &Path, from: &str, to: &str) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = String::from_utf8(bytes[8..8 + n].to_vec()).unwrap();
    assert!(header.contains(from), "{header}");
    let header = header.replace(from, to);
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes[8 + n..]].concat()
}

#[test]
fn damaged_states_are_refused() {
    let folder = Folder::new("recurrent-damaged");
    let (decoder, path, bad) = (open(&folder, 200), folder.path("session"), folder.path("bad"));
    let mut session = decoder.session(DType::F16).unwrap();
    session.feed(&tokens(20, 6)).unwrap();
    session.checkpoint();
    session.feed(&tokens(4, 7)).unwrap();
    session.save(&path).unwrap();
    let mut other = decoder.session(DType::F16).unwrap();
    other.feed(&[1, 2]).unwrap();
    let mut refused = |bytes: &[u8], words: &str| {
        std::fs::write(&bad, bytes).unwrap();
        let error = other.restore(&bad).unwrap_err();
        assert_eq!((error.kind(), other.tokens()), (ErrorKind::Format, &[1, 2][..]), "{error}");
        assert!(error.to_string().contains(words), "{error}: {words}");
    };
    refused(&changed(&path, "state.24", "stale.24"), "tensor 'state.24' is missing");
    refused(&changed(&path, "state.24", "state.25"), "tensor 'state.24' is missing");
    refused(&changed(&path, "state.20", "state.2x"), "tensor 'state.2x' is unknown");
    refused(&changed(&path, "state.20", "state.-1"), "");
    let shape = format!("\"shape\":[{STATE}]");
    refused(&changed(&path, &shape, &format!("\"shape\":[{}]", STATE - 1)), "");
    let bytes = std::fs::read(&path).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for at in (header..bytes.len()).step_by(if on_cpu() { 997 } else { 9973 }) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        refused(&bytes, "");
    }
    other.restore(&path).unwrap();
    assert_eq!(other.position(), 24);
}

#[test]
fn stores_of_rows_are_refused() {
    let folder = Folder::new("recurrent-store");
    let error = PrefixStore::new(&open(&folder, 200), DType::F16, 1 << 24).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("'qwen35': models with recurrent layers"), "{error}");
}

/// The logits after a prompt, and how many of its tokens were known.
fn run(sequences: &mut Sequences, prompt: &[u32]) -> (Vec<f32>, usize) {
    let id = sequences.add(prompt).unwrap();
    loop {
        if let Some((_, logits)) = sequences.step().unwrap().ready.pop() {
            let cached = sequences.cached_tokens(id).unwrap();
            sequences.remove(id);
            return (logits, cached);
        }
    }
}

fn expect_alone(decoder: &Decoder, prompt: &[u32], got: &[f32]) {
    let want = decoder.session(DType::F16).unwrap().feed(prompt).unwrap();
    let largest = want.iter().fold(0f32, |m, x| m.max(x.abs()));
    let bound = if on_cpu() { 0.0 } else { 6e-2 * largest };
    assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= bound), "{} tokens", prompt.len());
}

#[test]
fn beginnings_are_computed_once_up_to_a_page_whose_state_is_known() {
    let folder = Folder::new("recurrent-known");
    let (decoder, path) = (open(&folder, 250), folder.path("prefixes"));
    let mut sequences = Sequences::new(&decoder, &SequencesOptions::default()).unwrap();
    let first = tokens(200, 1);
    let mut fed = |prompt: &[u32], cached: usize| {
        let (logits, known) = run(&mut sequences, prompt);
        assert_eq!(known, cached, "{} tokens", prompt.len());
        expect_alone(&decoder, prompt, &logits);
    };
    fed(&first, 0);
    // The state after the last whole page of the prompt is known.
    fed(&first, 192);
    fed(&[&first[..195], &tokens(20, 8)].concat(), 192);
    // No state is known after the second page, until a prompt ends with it.
    fed(&first[..150], 0);
    fed(&first[..150], 128);
    fed(&first[..192], 128);
    fed(&first[..128], 0);
    assert!(sequences.save_prefixes(&path).unwrap() >= 192);
    let mut again = Sequences::new(&decoder, &SequencesOptions::default()).unwrap();
    again.restore_prefixes(&path).unwrap();
    for (n, cached) in [(200, 192), (150, 128), (70, 64)] {
        let (logits, known) = run(&mut again, &first[..n]);
        assert_eq!(known, cached);
        expect_alone(&decoder, &first[..n], &logits);
    }
}

#[test]
fn states_make_room_for_newer_ones() {
    let folder = Folder::new("recurrent-room");
    let decoder = open(&folder, 250);
    // Keys and values of one layer with 2 heads of 16 elements: two pages have room for one state.
    let page = 64 * 2 * 2 * 16 * 2;
    let options = SequencesOptions { tokens: 64 * 8, ..Default::default() };
    let mut sequences = Sequences::new(&decoder, &options).unwrap();
    let most = 8 * page / STATE;
    assert!(most >= 2, "{most}");
    let prompts: Vec<Vec<u32>> = (0..most as u32 + 1).map(|i| tokens(70, 20 + i)).collect();
    for prompt in &prompts {
        assert_eq!(run(&mut sequences, prompt).1, 0);
    }
    let (bytes, _, _) = sequences.pool();
    assert_eq!(bytes, 8 * page + 17 * STATE + most * STATE);
    assert_eq!(run(&mut sequences, prompts.last().unwrap()).1, 64);
    assert_eq!(run(&mut sequences, &prompts[1]).1, 64);
    assert_eq!(run(&mut sequences, &prompts[0]).1, 0);
}
