//! Sessions: logits do not depend on how tokens came into one, and files restore exactly or not at all.

use crate::common::architectures::{all, Model};
use crate::common::{backend, Folder};
use std::path::{Path, PathBuf};
use tensorlib::{Backend, BackendOptions, DType};
use tensorlib_models::{Decoder, DecoderOptions, Error, ErrorKind, PrefixStore, Session, PROMPT_BLOCK};

/// Tokens of the tiny models' vocabulary.
fn tokens(n: u32) -> Vec<u32> {
    (0..n).map(|i| (i * i * 7 + i + 3) % 61).collect()
}

/// Logits as bits, so that NaN and zeros of either sign compare as what they are.
fn bits(logits: Vec<f32>) -> Vec<u32> {
    logits.into_iter().map(f32::to_bits).collect()
}

fn model(name: &str) -> Model {
    all().into_iter().find(|model| model.name == name).unwrap()
}

/// A GGUF file of this model.
fn file(folder: &Folder, model: &Model, seed: u64, dtype: DType) -> PathBuf {
    let path = folder.path(&format!("{}-{seed}-{dtype}.gguf", model.name.replace(' ', "-")));
    model.spec.tensors(seed, dtype).write_gguf(&path, &model.metadata());
    path
}

fn llama(folder: &Folder) -> PathBuf {
    file(folder, &model("llama"), 11, DType::F32)
}

fn open(path: &Path, options: &DecoderOptions) -> Decoder {
    Decoder::open(path, &backend(), options).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn reproducible() -> DecoderOptions {
    DecoderOptions::new().reproducible(true)
}

/// Batch-invariant kernels are those of the CPU.
fn on_cpu() -> bool {
    backend().device() == "cpu"
}

fn fed(decoder: &Decoder, cache: DType, tokens: &[u32]) -> Session {
    let mut session = decoder.session(cache).unwrap();
    session.feed(tokens).unwrap();
    session
}

/// Compares the logits of sessions that were filled in every way with those of `tokens` fed at once.
fn check_all_ways(decoder: &Decoder, cache: DType, tokens: &[u32], path: &Path, what: &str) {
    let n = tokens.len();
    let want = bits(decoder.session(cache).unwrap().feed_all(tokens).unwrap());
    let rows = |from: usize, to: usize| &want[from * decoder.vocabulary()..to * decoder.vocabulary()];
    let go_on = |session: &mut Session, how: &str| {
        let from = session.position();
        assert_eq!(session.tokens(), &tokens[..from], "{what}, {how}");
        assert!(bits(session.feed_all(&tokens[from..]).unwrap()) == rows(from, n), "{what}, {how} from {from}");
        assert_eq!(session.tokens(), tokens, "{what}, {how}");
    };

    let mut by_one = decoder.session(cache).unwrap();
    for (i, token) in tokens.iter().enumerate() {
        assert!(bits(by_one.feed(&[*token]).unwrap()) == rows(i, i + 1), "{what}, token {i} alone");
    }
    let (mut parts, mut left, mut size) = (decoder.session(cache).unwrap(), tokens, 1);
    while !left.is_empty() {
        let (part, rest) = left.split_at(size.min(left.len()));
        let from = parts.position();
        assert!(bits(parts.feed_all(part).unwrap()) == rows(from, from + part.len()), "{what}, {size} from {from}");
        (left, size) = (rest, size % 7 + 2);
    }
    // Other tokens in between leave nothing.
    for at in [n / 3, 1, 0, n - 1] {
        let (end, reached) = (parts.checkpoint(), parts.rewind(at));
        // Recurrent layers may only reach an earlier position.
        assert!(end == n && (reached == at || parts.state_memory() > 0 && reached < at), "{what}: {reached} for {at}");
        parts.feed(&[5; 4][..decoder.context().min(reached + 4) - reached]).unwrap();
        assert_eq!(parts.rewind(reached), reached);
        go_on(&mut parts, "after rewind");
    }
    let at = n / 2 + 1;
    let mut first = fed(decoder, cache, &tokens[..at]);
    let mut fork = first.fork().unwrap();
    first.save(path).unwrap();
    // What happens in one session does not happen in the other.
    first.feed(&[1, 2, 3]).unwrap();
    go_on(&mut fork, "in a fork");
    assert_eq!(first.rewind(at), at);
    go_on(&mut first, "after a fork");
    let mut restored = fed(decoder, cache, &[7, 7, 7]);
    restored.restore(path).unwrap();
    go_on(&mut restored, "restored");
}

#[test]
fn reproducible_logits_are_the_same_however_tokens_come() {
    if !on_cpu() {
        return;
    }
    let tokens = tokens(41);
    for (i, model) in all().iter().enumerate().filter(|(_, model)| model.gguf.is_some()) {
        let folder = Folder::new(&format!("sessions-{i}"));
        for (dtype, cache) in [
            (DType::F32, DType::F32),
            (DType::F16, DType::F16),
            (DType::BF16, DType::F16),
            (DType::Q8_0, DType::F16),
            (DType::Q4_0, DType::F32),
        ] {
            let path = file(&folder, model, i as u64, dtype);
            let decoder = open(&path, &reproducible());
            assert!(decoder.is_reproducible());
            let what = format!("{} {dtype}, cache {cache}", model.name);
            check_all_ways(&decoder, cache, &tokens, &folder.path("session"), &what);
        }
    }
}

#[test]
fn reproducible_logits_with_a_cache_of_q8_0_and_weights_of_larger_blocks() {
    if !on_cpu() {
        return;
    }
    for name in ["qwen3", "gemma2", "llama with experts"] {
        let model = model(name).widened();
        let folder = Folder::new(&format!("sessions-large-{name}"));
        for dtype in [DType::Q4_K, DType::Q6_K, DType::IQ4_XS] {
            let decoder = open(&file(&folder, &model, 3, dtype), &reproducible());
            let what = format!("{name} {dtype}, cache q8_0");
            check_all_ways(&decoder, DType::Q8_0, &tokens(41), &folder.path("session"), &what);
        }
    }
}

#[test]
fn reproducible_logits_beyond_blocks_and_with_threads() {
    if !on_cpu() {
        return;
    }
    let tokens = tokens(PROMPT_BLOCK as u32 + 60);
    for name in ["gemma2", "qwen35", "llama with experts", "rwkv7"] {
        let folder = Folder::new(&format!("sessions-long-{name}"));
        let path = file(&folder, &model(name), 5, DType::Q8_0);
        let options = reproducible().context(PROMPT_BLOCK + 60);
        let mut all: Option<Vec<u32>> = None;
        for threads in [1, 2, 5] {
            let backend = BackendOptions::new().threads(threads).open("cpu").unwrap();
            let decoder = Decoder::open(&path, &backend, &options).unwrap();
            let got = bits(decoder.session(DType::F16).unwrap().feed_all(&tokens).unwrap());
            assert!(all.as_ref().is_none_or(|all| *all == got), "{name}, {threads} threads");
            let mut parts = decoder.session(DType::F16).unwrap();
            let mut by_parts = Vec::new();
            tokens.chunks(37).for_each(|part| by_parts.extend(bits(parts.feed_all(part).unwrap())));
            assert!(by_parts == got, "{name}, {threads} threads, in parts");
            all = Some(got);
        }
    }
}

/// Any decoder: what is computed up to a multiple of a block's tokens does not depend on where prompts were divided.
#[test]
fn logits_are_the_same_where_parts_end_at_blocks() {
    let n = 2 * PROMPT_BLOCK + if on_cpu() { 76 } else { 3 };
    let tokens = tokens(n as u32);
    let names = if on_cpu() { &["gemma2", "qwen35", "llama with experts"][..] } else { &["gemma2"] };
    for name in names {
        let folder = Folder::new(&format!("sessions-blocks-{name}"));
        let decoder = open(&file(&folder, &model(name), 5, DType::Q8_0), &DecoderOptions::new().context(n));
        let want = bits(decoder.session(DType::F16).unwrap().feed(&tokens).unwrap());
        let mut session = fed(&decoder, DType::F16, &tokens[..PROMPT_BLOCK]);
        session.save(folder.path("session")).unwrap();
        let go_on = |session: &mut Session, how: &str| {
            let from = session.position();
            assert!(bits(session.feed(&tokens[from..]).unwrap()) == want, "{name}, {how}");
        };
        go_on(&mut session.fork().unwrap(), "in a fork");
        session.feed(&tokens[PROMPT_BLOCK..2 * PROMPT_BLOCK]).unwrap();
        go_on(&mut session, "in parts");
        for blocks in [2, 1] {
            assert_eq!(session.rewind(blocks * PROMPT_BLOCK), blocks * PROMPT_BLOCK);
            go_on(&mut session, "after rewind");
        }
        session.restore(folder.path("session")).unwrap();
        assert_eq!((session.position(), session.tokens()), (PROMPT_BLOCK, &tokens[..PROMPT_BLOCK]));
        go_on(&mut session, "restored");
        // A part that ends elsewhere changes rounding until the next block alone.
        assert_eq!(session.rewind(PROMPT_BLOCK), PROMPT_BLOCK);
        session.feed(&tokens[PROMPT_BLOCK..PROMPT_BLOCK + 99]).unwrap();
        session.feed(&tokens[PROMPT_BLOCK + 99..2 * PROMPT_BLOCK]).unwrap();
        let near = session.feed(&tokens[2 * PROMPT_BLOCK..]).unwrap();
        let largest = want.iter().fold(0f32, |m, x| m.max(f32::from_bits(*x).abs()));
        let worst = near.iter().zip(&want).fold(0f32, |m, (a, b)| m.max((a - f32::from_bits(*b)).abs()));
        assert!(worst <= 6e-2 * largest, "{name}: {worst} of {largest}");
    }
}

#[test]
fn reproducible_results_are_refused_where_kernels_do_not_have_them() {
    let folder = Folder::new("sessions-refused");
    let path = llama(&folder);
    let refused = |options: &DecoderOptions, backend: &Backend| {
        let error = Decoder::open(&path, backend, options).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        error.to_string()
    };
    if !on_cpu() {
        let device = backend().device().to_string();
        assert_eq!(
            refused(&reproducible(), &backend()),
            format!("reproducible results on {device}: CPUs alone have them")
        );
        return;
    }
    let words = refused(&reproducible().expert_slots(2), &backend());
    assert!(words.starts_with("reproducible results with copies of experts"), "{words}");
    assert!(!open(&path, &DecoderOptions::new()).is_reproducible());
}

/// Tries to restore a file to a session with tokens, which must not change.
fn refused(session: &mut Session, path: &Path) -> Error {
    let before = (session.tokens().to_vec(), bits(session.fork().unwrap().feed(&[9]).unwrap()));
    let error = session.restore(path).err().unwrap_or_else(|| panic!("{} was restored", path.display()));
    assert_eq!(session.tokens(), before.0, "{error}");
    assert!(bits(session.fork().unwrap().feed(&[9]).unwrap()) == before.1, "{error}");
    error
}

/// A file's header, and the data after it.
fn parts_of(path: &Path) -> (String, Vec<u8>) {
    let bytes = std::fs::read(path).unwrap();
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (String::from_utf8(bytes[8..8 + n].to_vec()).unwrap(), bytes[8 + n..].to_vec())
}

fn write_parts(path: &Path, header: &str, data: &[u8]) {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn files_of_something_else_are_refused_by_name() {
    let folder = Folder::new("sessions-foreign");
    let path = llama(&folder);
    let decoder = open(&path, &DecoderOptions::new());
    let saved = folder.path("saved");
    fed(&decoder, DType::F16, &tokens(20)).save(&saved).unwrap();
    let check = |decoder: &Decoder, cache: DType, file: &Path, kind: ErrorKind, words: &[&str]| {
        let mut session = fed(decoder, cache, &[1, 2]);
        let error = refused(&mut session, file);
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{text}");
        assert!(words.iter().all(|word| text.contains(word)), "{text}: expected {words:?}");
        assert!(kind == ErrorKind::Io || error.hint().is_some(), "{text}");
    };
    let invalid = ErrorKind::Invalid;
    check(&decoder, DType::F32, &saved, invalid, &["saved: has a cache of f16, and this one is of f32"]);
    let other = open(&file(&folder, &model("llama"), 12, DType::F32), &DecoderOptions::new());
    check(&other, DType::F16, &saved, invalid, &["a session of another model"]);
    // Only the CPU stores weights as another type.
    if on_cpu() {
        let other = open(&path, &DecoderOptions::new().stored_as(DType::F16));
        check(&other, DType::F16, &saved, invalid, &["a session of another model"]);
    }
    let other = open(&file(&folder, &model("qwen2"), 11, DType::F32), &DecoderOptions::new());
    check(&other, DType::F16, &saved, invalid, &["a session of the architecture llama, and this model is qwen2"]);
    let other = open(&path, &DecoderOptions::new().exact(true));
    check(&other, DType::F16, &saved, invalid, &["was computed by tensorlib", "and this one by", "exact"]);
    if on_cpu() {
        let other = open(&path, &reproducible());
        check(&other, DType::F16, &saved, invalid, &["was computed by tensorlib", "reproducible"]);
    }
    let other = open(&path, &DecoderOptions::new().context(19));
    check(&other, DType::F16, &saved, invalid, &["a session of 20 tokens: the context has room for 19"]);
    // As much as there is room for, and contexts of other sizes.
    for context in [20, 21, 100, 256] {
        let mut session = open(&path, &DecoderOptions::new().context(context)).session(DType::F16).unwrap();
        session.restore(&saved).unwrap();
        assert_eq!(session.tokens(), tokens(20));
    }

    let format = ErrorKind::Format;
    check(&decoder, DType::F16, &path, format, &["safetensors", "a header of"]);
    check(&decoder, DType::F16, &folder.path("missing"), ErrorKind::Io, &["missing"]);
    check(&decoder, DType::F16, &folder.path("."), ErrorKind::Io, &["folder"]);
    let (header, data) = parts_of(&saved);
    let changed = folder.path("changed");
    let with = |from: &str, to: &str, kind, words: &[&str]| {
        assert!(header.contains(from), "{header}");
        write_parts(&changed, &header.replace(from, to), &data);
        check(&decoder, DType::F16, &changed, kind, words);
    };
    for version in [1, 3] {
        let other = format!("tensorlib session {version}");
        with("tensorlib session 2", &other, invalid, &[&format!("is a '{other}'"), "reads"]);
    }
    with("tensorlib session 2", "tensorlib embeddings", format, &["is not a session"]);
    with("tensorlib 0.", "tensorlib 9.", invalid, &["was computed by tensorlib 9."]);
    with("\"sha256\"", "\"sha255\"", format, &["no 'sha256'"]);
    with("\"format\"", "\"extra\":\"1\",\"format\"", format, &["'extra', which is unknown"]);
    with("\"model\"", "\"modem\"", format, &["no 'model'"]);
    with("\"tokens\"", "\"takens\"", format, &["tensor 'tokens' is missing"]);
    with("blk.2.values", "blk.9.values", format, &["tensor 'blk.2.values' is missing"]);
    with("\"dtype\":\"U32\",\"shape\":[20]", "\"dtype\":\"F32\",\"shape\":[20]", format, &["tensor 'tokens' is f32"]);
    with("\"dtype\":\"U32\",\"shape\":[20]", "\"dtype\":\"U32\",\"shape\":[4,5]", format, &["tensor 'tokens' is u32"]);
    with("\"shape\":[2,20,32]", "\"shape\":[20,2,32]", format, &["[32, 20, 2] is expected"]);
    // Numbers that would allocate whatever a machine has.
    with("\"shape\":[20]", "\"shape\":[4611686018427387904]", format, &["safetensors"]);
    with("\"shape\":[2,20,32]", "\"shape\":[2,18446744073709551615,18446744073709551615]", format, &["safetensors"]);
    let unknown = "\"tokens\":{\"dtype\":\"U32\",\"shape\":[0],\"data_offsets\":[0,0]},\"tokens2\"";
    with("\"tokens\"", unknown, format, &[]);
    let mut wrong = data.clone();
    wrong[..4].copy_from_slice(&61u32.to_le_bytes());
    write_parts(&changed, &header, &wrong);
    check(&decoder, DType::F16, &changed, format, &["token 61: 0 to 60 are valid"]);
    // Written again as it was, it is restored.
    write_parts(&changed, &header, &data);
    decoder.session(DType::F16).unwrap().restore(&changed).unwrap();
}

#[test]
fn damaged_files_are_refused_and_change_nothing() {
    let folder = Folder::new("sessions-damaged");
    let decoder = open(&llama(&folder), &DecoderOptions::new());
    let (saved, damaged) = (folder.path("saved"), folder.path("damaged"));
    fed(&decoder, DType::F16, &tokens(5)).save(&saved).unwrap();
    let bytes = std::fs::read(&saved).unwrap();
    let header = parts_of(&saved).0.len();
    let mut session = fed(&decoder, DType::F16, &[1, 2]);
    let step = if on_cpu() { 1 } else { 97 };
    for n in (0..bytes.len()).step_by(7 * step).chain(bytes.len() - 9..bytes.len()) {
        std::fs::write(&damaged, &bytes[..n]).unwrap();
        let error = refused(&mut session, &damaged);
        assert_eq!(error.kind(), ErrorKind::Format, "{n} bytes: {error}");
    }
    std::fs::write(&damaged, [&bytes[..], b"\0"].concat()).unwrap();
    assert_eq!(refused(&mut session, &damaged).kind(), ErrorKind::Format);
    for at in (0..8 + header).step_by(step).chain((8 + header..bytes.len()).step_by(29 * step)) {
        for bit in [0x01, 0x80] {
            let mut bytes = bytes.clone();
            bytes[at] ^= bit;
            std::fs::write(&damaged, bytes).unwrap();
            refused(&mut session, &damaged);
        }
    }
    session.restore(&saved).unwrap();
    assert_eq!(session.tokens(), tokens(5));
}

#[test]
fn files_appear_when_they_are_complete() {
    let folder = Folder::new("sessions-write");
    let decoder = open(&llama(&folder), &DecoderOptions::new());
    let path = folder.path("saved");
    let empty = decoder.session(DType::F16).unwrap();
    empty.save(&path).unwrap();
    let mut session = fed(&decoder, DType::F16, &tokens(9));
    session.restore(&path).unwrap();
    assert_eq!(session.position(), 0);
    // A file is replaced, and no other stays.
    let session = fed(&decoder, DType::F16, &tokens(9));
    session.save(&path).unwrap();
    session.save(&path).unwrap();
    let error = session.save(folder.path("none/saved")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("saved: cannot be written"), "{error}");
    std::fs::create_dir(folder.path("folder")).unwrap();
    assert_eq!(session.save(folder.path("folder")).unwrap_err().kind(), ErrorKind::Io);
    let mut names: Vec<_> = std::fs::read_dir(folder.path(".")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["folder", "llama-11-f32.gguf", "saved"]);
    let mut other = decoder.session(DType::F16).unwrap();
    other.restore(&path).unwrap();
    assert_eq!(other.tokens(), tokens(9));
}

#[test]
fn stored_beginnings_are_not_computed_again() {
    let names = if on_cpu() { &["gemma3", "llama with experts", "gpt-oss"][..] } else { &["gemma3"] };
    for name in names {
        // A simulated GPU takes minutes for each.
        for &cache in if on_cpu() { &[DType::F16, DType::F32][..] } else { &[DType::F16] } {
            check_store(&model(name), cache);
        }
    }
}

#[test]
fn stored_beginnings_of_a_cache_of_q8_0_are_not_computed_again() {
    if on_cpu() {
        check_store(&model("gemma2").widened(), DType::Q8_0);
    }
}

/// Takes beginnings of prompts from a store in every way, and compares the logits with those of whole prompts.
fn check_store(model: &Model, cache: DType) {
    let (name, prompt) = (model.name, tokens(300));
    let folder = Folder::new(&format!("sessions-store-{}-{cache}", name.len()));
    let options = DecoderOptions::new().context(400).reproducible(on_cpu());
    let decoder = open(&file(&folder, model, 7, DType::Q8_0), &options);
    let store = PrefixStore::new(&decoder, cache, 1 << 24).unwrap();
    let new = || decoder.session(cache).unwrap();
    let check = |session: &mut Session, prompt: &[u32], cached: usize| {
        assert_eq!(store.prepare(session, prompt).unwrap(), cached, "{name}");
        assert_eq!(session.tokens(), &prompt[..cached]);
        let got = session.feed(&prompt[cached..]).unwrap();
        if on_cpu() {
            let want = new().feed(prompt).unwrap();
            assert!(bits(got) == bits(want), "{name}, {cached} of {}", prompt.len());
        }
    };
    let mut first = new();
    check(&mut first, &prompt[..200], 0);
    assert_eq!(store.memory(), 0);
    assert_eq!((store.keep(&first).unwrap(), store.keep(&first).unwrap()), (192, 192));
    let page = store.memory() / 3;
    assert_eq!(page, first.cache_memory() / 448 * 64);
    // Another session takes whole pages over; the first has more tokens itself.
    let mut second = fed(&decoder, cache, &[9, 9]);
    check(&mut second, &prompt, 192);
    check(&mut first, &prompt, 200);
    // The last token is left even if all are known.
    check(&mut second, &prompt[..192], 191);
    check(&mut new(), &prompt[..192], 128);
    // Beginnings are shared.
    let mut other = prompt.clone();
    other[130] = (other[130] + 1) % 61;
    check(&mut second, &other, 130);
    assert_eq!((store.keep(&second).unwrap(), store.memory() / page), (256, 5));
    check(&mut new(), &other, 256);
    check(&mut new(), &prompt, 192);
    other[0] = (other[0] + 1) % 61;
    check(&mut second, &other, 0);
    store.clear();
    assert_eq!(store.memory(), 0);
    check(&mut new(), &prompt, 0);
}

#[test]
fn a_full_store_keeps_what_was_used_last() {
    let folder = Folder::new("sessions-full");
    let decoder = open(&llama(&folder), &DecoderOptions::new());
    let cache = DType::F16;
    // Three layers of keys and values with 2 heads of 16 elements.
    let page = 64 * 3 * 2 * 32 * 2;
    let error = PrefixStore::new(&decoder, cache, page - 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("a store of {} bytes: {page}, the keys and values of 64 tokens, is the least", page - 1)
    );
    let store = PrefixStore::new(&decoder, cache, 4 * page - 1).unwrap();
    assert_eq!(store.most_memory(), 3 * page);
    let [a, b]: [Vec<u32>; 2] = [tokens(150), tokens(150).into_iter().map(|token| (token + 5) % 61).collect()];
    let has = |prompt: &[u32]| store.prepare(&mut decoder.session(cache).unwrap(), prompt).unwrap();
    assert_eq!(store.keep(&fed(&decoder, cache, &a)).unwrap(), 128);
    assert_eq!(store.keep(&fed(&decoder, cache, &b)).unwrap(), 128);
    // The end of the older one made room; its beginning is used now.
    assert_eq!((store.memory(), has(&b), has(&a)), (3 * page, 128, 64));
    let long = fed(&decoder, cache, &[&a[..], &a[..100]].concat());
    assert_eq!((store.keep(&long).unwrap(), store.memory()), (192, 3 * page));
    assert_eq!((has(&b), has(long.tokens())), (0, 192));
}

#[test]
fn stores_take_their_own_decoders_sessions() {
    let folder = Folder::new("sessions-store-bad");
    let (path, cache) = (llama(&folder), DType::F16);
    let (decoder, other) = (open(&path, &DecoderOptions::new()), open(&path, &DecoderOptions::new()));
    let store = PrefixStore::new(&decoder, cache, 1 << 20).unwrap();
    let refused = |result: tensorlib_models::Result<usize>, words: &str| {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains(words)), (ErrorKind::Invalid, true), "{error}");
    };
    let mut session = fed(&other, cache, &tokens(70));
    refused(store.keep(&session), "a session of another decoder");
    refused(store.prepare(&mut session, &[1]), "a session of another decoder");
    let mut session = fed(&decoder, DType::F32, &tokens(70));
    refused(store.keep(&session), "a session with a cache of f32: f16, as the store's, is valid");
    refused(store.prepare(&mut session, &[1]), "a session with a cache of f32");
    let mut session = fed(&decoder.clone(), cache, &tokens(70));
    store.keep(&session).unwrap();
    refused(store.prepare(&mut session, &[]), "no tokens: at least one is valid");
    refused(store.prepare(&mut session, &[61]), "token 61: 0 to 60 are valid");
    refused(store.prepare(&mut session, &[1; 257]), "257 tokens after 0: the context has room for 256");
    assert_eq!(session.tokens(), tokens(70));
    assert_eq!(PrefixStore::new(&decoder, DType::Q4_0, 1 << 20).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(PrefixStore::new(&decoder, DType::Q8_0, 1 << 20).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn threads_share_a_store() {
    let folder = Folder::new("sessions-threads");
    let decoder = open(&llama(&folder), &DecoderOptions::new().reproducible(on_cpu()));
    let prompt = tokens(140);
    let want = bits(decoder.session(DType::F32).unwrap().feed(&prompt).unwrap());
    let page = 64 * 3 * 2 * 32 * 4;
    let store = PrefixStore::new(&decoder, DType::F32, 3 * page).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, decoder, prompt, want) = (&store, &decoder, &prompt, &want);
            scope.spawn(move || {
                let mut session = decoder.session(DType::F32).unwrap();
                for round in 0..if on_cpu() { 20 } else { 2 } {
                    let mut prompt = prompt.clone();
                    let is_other = (thread + round) % 3 == 0;
                    prompt[70] = if is_other { thread } else { prompt[70] };
                    let cached = store.prepare(&mut session, &prompt).unwrap();
                    let got = bits(session.feed(&prompt[cached..]).unwrap());
                    assert!(is_other || !on_cpu() || got == *want, "{thread} {round}");
                    store.keep(&session).unwrap();
                    session.rewind(round as usize);
                }
            });
        }
    });
    assert!(store.memory() <= store.most_memory());
}
