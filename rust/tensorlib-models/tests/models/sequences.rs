//! Several sequences of a decoder: each has the logits that it has alone, whatever the others do and however small the
//! pool is.

use crate::common::architectures::{all, Model};
use crate::common::{backend, Folder};
use std::collections::HashMap;
use std::path::PathBuf;
use tensorlib::DType;
use tensorlib_models::{
    Decoder, DecoderOptions, ErrorKind, PrefixStore, SequenceId, Sequences, SequencesOptions, Step,
};

fn tokens(n: u32, seed: u32) -> Vec<u32> {
    (0..n).map(|i| (i * i * 7 + i * seed + 3) % 61).collect()
}

fn on_cpu() -> bool {
    backend().device() == "cpu"
}

fn model(name: &str) -> Model {
    all().into_iter().find(|model| model.name == name).unwrap()
}

fn file(folder: &Folder, model: &Model, dtype: DType) -> PathBuf {
    let path = folder.path("model.gguf");
    model.spec.tensors(5, dtype).write_gguf(&path, &model.metadata());
    path
}

fn open(folder: &Folder, model: &Model, dtype: DType) -> Decoder {
    let options = DecoderOptions::new().reproducible(on_cpu());
    Decoder::open(file(folder, model, dtype), &backend(), &options).unwrap()
}

/// The most likely token.
fn likeliest(logits: &[f32]) -> u32 {
    (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap() as u32
}

/// The logits of a sequence alone that is continued `n` times by its likeliest token.
fn alone(decoder: &Decoder, cache: DType, prompt: &[u32], n: usize) -> Vec<Vec<f32>> {
    let mut session = decoder.session(cache).unwrap();
    let mut all = vec![session.feed(prompt).unwrap()];
    for _ in 1..n {
        all.push(session.feed(&[likeliest(all.last().unwrap())]).unwrap());
    }
    all
}

fn expect_same(got: &[f32], want: &[f32], what: &str) {
    if on_cpu() {
        let bits = |logits: &[f32]| logits.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(bits(got) == bits(want), "{what}");
        return;
    }
    let largest = want.iter().fold(0f32, |m, x| m.max(x.abs()));
    assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() <= 6e-2 * largest), "{what}");
}

/// Continues each prompt `n` times, and compares all logits with those of the sequence alone. Returns the steps' results.
fn check(sequences: &mut Sequences, cache: DType, prompts: &[Vec<u32>], n: usize, what: &str) -> Vec<Step> {
    let decoder = sequences.decoder().clone();
    let ids: Vec<SequenceId> = prompts.iter().map(|prompt| sequences.add(prompt).unwrap()).collect();
    let wanted: HashMap<SequenceId, Vec<Vec<f32>>> =
        ids.iter().zip(prompts).map(|(id, prompt)| (*id, alone(&decoder, cache, prompt, n))).collect();
    let mut found: HashMap<SequenceId, usize> = HashMap::new();
    let mut steps = Vec::new();
    while !sequences.is_idle() {
        let step = sequences.step().unwrap();
        assert!(step.refused.is_empty() && step.tokens > 0, "{what}: {:?}", step.refused);
        for (id, logits) in &step.ready {
            let number = found.entry(*id).or_default();
            expect_same(logits, &wanted[id][*number], &format!("{what}: sequence {id}, token {number}"));
            *number += 1;
            if *number == n {
                assert!(sequences.remove(*id));
            } else {
                sequences.push(*id, likeliest(&wanted[id][*number - 1])).unwrap();
            }
        }
        steps.push(step);
    }
    assert!(ids.iter().all(|id| found[id] == n), "{what}: {found:?}");
    assert_eq!(sequences.counts(), (0, 0));
    steps
}

#[test]
fn each_has_the_logits_that_it_has_alone() {
    let kinds: &[(DType, DType)] = match on_cpu() {
        true => &[(DType::F32, DType::F32), (DType::Q8_0, DType::F16), (DType::BF16, DType::F16)],
        false => &[(DType::F16, DType::F16)],
    };
    // Chunks have to be whole pages: mixtures.rs has such a model.
    let models = all().into_iter().filter(|model| model.gguf.is_some() && !model.spec.chunks);
    for (i, model) in models.enumerate() {
        let model = &model;
        if !on_cpu() && !["gemma3", "qwen35", "gpt-oss"].contains(&model.name) {
            continue; // a simulated GPU takes a hundred times as long
        }
        for (dtype, cache) in kinds {
            let folder = Folder::new(&format!("sequences-{i}-{dtype}"));
            let decoder = open(&folder, model, *dtype);
            // A page has 64 tokens. One sequence at a time, token by token, takes a simulated GPU half an hour.
            let lengths: &[u32] = if on_cpu() { &[9, 70, 1, 33, 2] } else { &[5, 66, 1] };
            let prompts: Vec<Vec<u32>> = lengths.iter().map(|n| tokens(*n, *n)).collect();
            let limits: &[(usize, usize)] = if on_cpu() { &[(16, 512), (3, 7), (1, 1)] } else { &[(16, 512), (3, 7)] };
            for &(together, prompt_tokens) in limits {
                let options = SequencesOptions { cache: *cache, together, prompt_tokens, ..Default::default() };
                let mut sequences = Sequences::new(&decoder, &options).unwrap();
                let what = format!("{} {dtype}, {together} together", model.name);
                let n = if on_cpu() { 6 } else { 2 };
                check(&mut sequences, *cache, &prompts, n, &what);
                // Again, with the pages that are known now.
                check(&mut sequences, *cache, &prompts[..2], n, &what);
            }
        }
    }
}

#[test]
fn pages_of_q8_0_hold_what_a_session_holds() {
    if !on_cpu() {
        return; // a simulated GPU takes minutes
    }
    let cache = DType::Q8_0;
    for name in ["gemma2", "llama with experts"] {
        let folder = Folder::new(&format!("sequences-q8_0-{}", name.len()));
        let decoder = open(&folder, &model(name).widened(), DType::Q8_0);
        let prompts: Vec<Vec<u32>> = [9, 70, 1, 100].iter().map(|n| tokens(*n, *n)).collect();
        // In the small pool sequences wait and are computed again.
        for pages in [4, 20] {
            let options = SequencesOptions { cache, tokens: pages * 64, ..Default::default() };
            let mut sequences = Sequences::new(&decoder, &options).unwrap();
            check(&mut sequences, cache, &prompts, 6, &format!("{name}, {pages} pages"));
            // The beginning of a page is copied.
            let prompt = [&prompts[3][..40], &[60, 59]].concat();
            check(&mut sequences, cache, &[prompt], 2, &format!("{name}, {pages} pages, a copy"));
        }
    }
}

#[test]
fn a_small_pool_delays_sequences_and_changes_nothing() {
    let cache = DType::F16;
    let prompts: Vec<Vec<u32>> = [60, 100, 130, 50, 64].iter().map(|n| tokens(*n, *n)).collect();
    // The longest takes 3 pages with its answer, all of them 9.
    let (names, sizes) =
        if on_cpu() { (&["gemma2", "qwen35"][..], &[3, 4, 5, 9][..]) } else { (&["gemma2"][..], &[3, 9][..]) };
    for (name, &pages) in names.iter().flat_map(|name| sizes.iter().map(move |pages| (name, pages))) {
        let folder = Folder::new(&format!("sequences-small-{name}"));
        let decoder = open(&folder, &model(name), DType::Q8_0);
        let options = SequencesOptions { cache, tokens: pages * 64, ..Default::default() };
        let mut sequences = Sequences::new(&decoder, &options).unwrap();
        let n = if on_cpu() { 20 } else { 6 };
        let steps = check(&mut sequences, cache, &prompts, n, &format!("{name}, {pages} pages"));
        let (_, all, free) = sequences.pool();
        assert_eq!(all, pages);
        assert!(free <= all);
        // Every token that was computed again because of the small pool counts.
        let computed: usize = steps.iter().map(|step| step.tokens).sum();
        let needed: usize = prompts.iter().map(|prompt| prompt.len() + n - 1).sum();
        assert!(computed >= needed && (pages < 9 || computed == needed), "{pages} pages: {computed} of {needed}");
    }
}

#[test]
fn beginnings_are_computed_once() {
    let folder = Folder::new("sequences-known");
    let decoder = open(&folder, &model("llama"), DType::F32);
    let cache = DType::F16;
    let mut sequences = Sequences::new(&decoder, &SequencesOptions { cache, ..Default::default() }).unwrap();
    let first = tokens(150, 1);
    check(&mut sequences, cache, std::slice::from_ref(&first), 2, "first");
    let mut second = first.clone();
    second[140] = (second[140] + 1) % 61;
    let id = sequences.add(&second).unwrap();
    assert_eq!(sequences.cached_tokens(id), Some(0));
    let step = sequences.step().unwrap();
    assert_eq!((step.tokens, sequences.cached_tokens(id)), (150 - 128, Some(128)));
    expect_same(&step.ready[0].1, &alone(&decoder, cache, &second, 1)[0], "second");
    // Three at once that begin alike: the first computes the page for all.
    sequences.remove(id);
    let third = tokens(80, 9);
    let [a, b, c] = [(); 3].map(|()| sequences.add(&third).unwrap());
    let step = sequences.step().unwrap();
    assert_eq!((step.tokens, step.ready.len(), sequences.counts()), (80, 1, (1, 2)));
    let step = sequences.step().unwrap();
    assert_eq!((step.tokens, step.ready.len()), (2 * (80 - 64), 2));
    assert_eq!([a, b, c].map(|id| sequences.cached_tokens(id)), [Some(0), Some(64), Some(64)]);
    for (_, logits) in &step.ready {
        expect_same(logits, &alone(&decoder, cache, &third, 1)[0], "third");
    }
    for id in [a, b, c] {
        assert!(sequences.remove(id));
    }
    // The pages of all that is known: 2 of the first two, 1 of the third.
    let (_, all, free) = sequences.pool();
    assert_eq!(all - free, 3);
}

/// A sequence waits for another one only while that computes pages which both have, and lets others pass meanwhile.
#[test]
fn a_beginning_that_is_being_computed_is_waited_for() {
    let folder = Folder::new("sequences-begun");
    for name in ["llama", "qwen35"] {
        let decoder = open(&folder, &model(name), DType::F32);
        let options = SequencesOptions { prompt_tokens: 40, ..Default::default() };
        let mut sequences = Sequences::new(&decoder, &options).unwrap();
        let first = tokens(150, 1);
        // It has the first page in common; the one after it has nothing in common with either.
        let second = [&first[..70], &tokens(20, 5)].concat();
        let other = tokens(30, 8);
        let prompts = [first, second, other];
        let ids = prompts.each_ref().map(|prompt| sequences.add(prompt).unwrap());
        let (mut ready, mut steps) = (Vec::new(), 0);
        while !sequences.is_idle() {
            let step = sequences.step().unwrap();
            steps += 1;
            assert!(step.refused.is_empty() && steps < 20, "{name}");
            ready.extend(step.ready);
        }
        // The state of the recurrent model is kept after the second page alone, so there is nothing to wait for.
        let cached = if name == "qwen35" { 0 } else { 64 };
        assert_eq!(ids.map(|id| sequences.cached_tokens(id)), [Some(0), Some(cached), Some(0)], "{name}");
        assert_eq!(ready.len(), 3, "{name}");
        for (id, prompt) in ids.iter().zip(&prompts) {
            let (_, logits) = ready.iter().find(|(of, _)| of == id).unwrap();
            expect_same(logits, &alone(&decoder, DType::F16, prompt, 1)[0], &format!("{name}: {id}"));
        }
        // One whose leader is removed goes on alone.
        let [leader, follower] = [(); 2].map(|()| sequences.add(&tokens(140, 6)).unwrap());
        assert_eq!(sequences.step().unwrap().tokens, 40);
        assert_eq!(sequences.counts(), (4, 1), "{name}");
        assert!(sequences.remove(leader));
        while !sequences.is_idle() {
            sequences.step().unwrap();
        }
        assert_eq!(sequences.tokens(follower).map(<[u32]>::len), Some(140));
        assert_eq!(sequences.counts(), (4, 0), "{name}");
    }
}

/// Both go on as a sequence alone does, share their full pages, and take a page more for the rest.
#[test]
fn a_fork_shares_full_pages() {
    let folder = Folder::new("sequences-forks");
    let cases =
        [("llama", DType::F16, DType::F16), ("gemma3", DType::F16, DType::F32), ("qwen35", DType::Q8_0, DType::F16)];
    // The simulated GPU takes a minute for a thousand tokens.
    let (cases, lengths) =
        if on_cpu() { (&cases[..], &[1, 63, 64, 65, 130][..]) } else { (&cases[..1], &[64, 65][..]) };
    for &(name, dtype, cache) in cases {
        let decoder = open(&folder, &model(name), dtype);
        for &n in lengths {
            let what = format!("{name}: {n} tokens");
            let options = SequencesOptions { cache, tokens: 1024, ..Default::default() };
            let mut sequences = Sequences::new(&decoder, &options).unwrap();
            let prompt = tokens(n, 3);
            let id = sequences.add(&prompt).unwrap();
            // A recurrent model's prompt may take two steps.
            while !sequences.is_idle() {
                sequences.step().unwrap();
            }
            let pages = |sequences: &Sequences| sequences.pool().1 - sequences.pool().2;
            let before = pages(&sequences);
            let forks = [(); 3].map(|()| sequences.fork(id).unwrap());
            assert_eq!(pages(&sequences) - before, if n % 64 == 0 { 0 } else { 3 }, "{what}");
            assert_eq!(sequences.counts(), (4, 0), "{what}");
            assert!(sequences.is_idle() && sequences.step().unwrap().ready.is_empty(), "{what}");
            let mut all = vec![(id, prompt.clone())];
            all.extend(forks.map(|id| (id, prompt.clone())));
            for round in 0..3 {
                for (i, (id, tokens)) in all.iter_mut().enumerate() {
                    assert_eq!(sequences.tokens(*id).unwrap(), tokens, "{what}");
                    let token = (7 * i as u32 + round) % 61;
                    sequences.push(*id, token).unwrap();
                    tokens.push(token);
                }
                let step = sequences.step().unwrap();
                assert_eq!((step.tokens, step.ready.len()), (4, 4), "{what}");
                for (id, logits) in step.ready {
                    let (_, tokens) = all.iter().find(|(of, _)| *of == id).unwrap();
                    expect_same(&logits, &alone(&decoder, cache, tokens, 1)[0], &format!("{what}, {round}: {id}"));
                }
            }
            for (id, _) in all {
                assert!(sequences.remove(id));
            }
        }
    }
}

/// A fork for which there is no room waits. One of a prompt that is being computed computes the rest by itself.
#[test]
fn forks_wait_and_compute_like_other_sequences() {
    let folder = Folder::new("sequences-forks-wait");
    for name in ["llama", "qwen35"] {
        let decoder = open(&folder, &model(name), DType::F32);
        let options = SequencesOptions { together: 2, prompt_tokens: 50, ..Default::default() };
        let mut sequences = Sequences::new(&decoder, &options).unwrap();
        let prompt = tokens(90, 3);
        let want = alone(&decoder, DType::F16, &prompt, 2);
        let id = sequences.add(&prompt).unwrap();
        let waits = sequences.fork(id).unwrap();
        assert_eq!((sequences.counts(), sequences.tokens(waits)), ((0, 2), Some(&prompt[..])));
        sequences.step().unwrap();
        let early = sequences.fork(id).unwrap();
        let mut ready = Vec::new();
        while ready.len() < 2 {
            ready.extend(sequences.step().unwrap().ready);
        }
        let late = sequences.fork(id).unwrap();
        for (of, logits) in &ready {
            assert!([id, early].contains(of), "{name}: {of}");
            expect_same(logits, &want[0], name);
        }
        // Those that wait come when the others are gone, and the last one has its logits already.
        assert_eq!(sequences.counts(), (2, 2), "{name}");
        assert!(sequences.remove(id) && sequences.remove(early));
        let mut ready = Vec::new();
        while !sequences.is_idle() {
            ready.extend(sequences.step().unwrap().ready);
        }
        assert_eq!(ready.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [waits], "{name}");
        expect_same(&ready[0].1, &want[0], name);
        assert_eq!((sequences.counts(), sequences.cached_tokens(late)), ((2, 0), Some(64)), "{name}");
        sequences.push(late, likeliest(&want[0])).unwrap();
        let step = sequences.step().unwrap();
        assert_eq!(step.ready[0].0, late);
        expect_same(&step.ready[0].1, &want[1], name);
        // A sequence that is gone has no forks.
        let error = sequences.fork(id).unwrap_err();
        assert!(error.to_string().contains("is not there"), "{error}");
    }
    // No page is free for the rest: the fork waits, and nothing is lost.
    let decoder = open(&folder, &model("llama"), DType::F32);
    let mut sequences = Sequences::new(&decoder, &SequencesOptions { tokens: 128, ..Default::default() }).unwrap();
    let id = sequences.add(&tokens(90, 3)).unwrap();
    sequences.step().unwrap();
    let fork = sequences.fork(id).unwrap();
    assert_eq!((sequences.counts(), sequences.pool().2), ((1, 1), 0));
    sequences.remove(id);
    sequences.push(fork, 5).unwrap();
    let step = sequences.step().unwrap();
    assert_eq!((step.ready[0].0, step.tokens), (fork, 91 - 64));
    let want = alone(&decoder, DType::F16, &[&tokens(90, 3)[..], &[5]].concat(), 1);
    expect_same(&step.ready[0].1, &want[0], "after waiting");
}

#[test]
fn a_page_that_goes_on_otherwise_is_copied_as_far_as_it_is_the_same() {
    let folder = Folder::new("sequences-parts");
    for (name, cache) in [("llama", DType::F16), ("gemma3", DType::F16), ("llama", DType::F32)] {
        let decoder = open(&folder, &model(name), DType::F16);
        let mut sequences = Sequences::new(&decoder, &SequencesOptions { cache, ..Default::default() }).unwrap();
        let first = tokens(192, 1);
        check(&mut sequences, cache, std::slice::from_ref(&first), 1, name);
        // The pages end at 64, 128 and 192; fewer than 8 tokens are not worth a copy.
        for (same, cached) in [(150, 150), (100, 100), (40, 40), (70, 64), (133, 128), (191, 191)] {
            let prompt = [&first[..same], &[60, 59, 58]].concat();
            let id = sequences.add(&prompt).unwrap();
            let logits = loop {
                if let Some((_, logits)) = sequences.step().unwrap().ready.pop() {
                    break logits;
                }
            };
            assert_eq!(sequences.cached_tokens(id), Some(cached), "{name}: {same}");
            expect_same(&logits, &alone(&decoder, cache, &prompt, 1)[0], &format!("{name}: {same}"));
            sequences.remove(id);
        }
    }
}

#[test]
fn prompts_and_generation_share_each_step() {
    let folder = Folder::new("sequences-fair");
    let decoder = open(&folder, &model("llama"), DType::F32);
    let options = SequencesOptions { prompt_tokens: 30, ..Default::default() };
    let mut sequences = Sequences::new(&decoder, &options).unwrap();
    let short: Vec<_> = (0..3).map(|i| sequences.add(&tokens(2, i)).unwrap()).collect();
    let step = sequences.step().unwrap();
    assert_eq!((step.tokens, step.ready.len()), (6, 3));
    let long: Vec<_> = (0..3).map(|i| sequences.add(&tokens(90 - i, i)).unwrap()).collect();
    let (mut steps, mut done) = (0, Vec::new());
    while done.len() < long.len() {
        for id in &short {
            sequences.push(*id, 1).unwrap();
        }
        let step = sequences.step().unwrap();
        steps += 1;
        // Every sequence that generates takes part in every step.
        assert!(short.iter().all(|id| step.ready.iter().any(|(other, _)| other == id)), "step {steps}");
        done.extend(step.ready.iter().map(|(id, _)| *id).filter(|id| long.contains(id)).map(|id| (id, steps)));
        assert!(step.tokens <= 33);
    }
    // 30 tokens a step are divided evenly: 267 tokens take nine steps, and the prompts end together.
    assert_eq!(steps, 9);
    assert!(done.iter().all(|(_, step)| *step == 9), "{done:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new("sequences-refused");
    let decoder = open(&folder, &model("llama"), DType::F32);
    let refused = |result: tensorlib_models::Result<()>, words: &str| {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains(words)), (ErrorKind::Invalid, true), "{error}");
    };
    let made = |options: SequencesOptions| Sequences::new(&decoder, &options).map(drop);
    refused(made(SequencesOptions { together: 0, ..Default::default() }), "together is 0: 1 or more is valid");
    refused(made(SequencesOptions { prompt_tokens: 0, ..Default::default() }), "prompt_tokens is 0");
    refused(made(SequencesOptions { tokens: usize::MAX, ..Default::default() }), "2147483584 are valid");
    refused(made(SequencesOptions { cache: DType::Q4_0, ..Default::default() }), "a cache of q4_0");
    let mut sequences = Sequences::new(&decoder, &SequencesOptions { tokens: 100, ..Default::default() }).unwrap();
    refused(sequences.add(&[]).map(drop), "no tokens: at least one is valid");
    refused(sequences.add(&[61]).map(drop), "token 61: 0 to 60 are valid");
    refused(sequences.add(&[1; 257]).map(drop), "257 tokens after 0: the context has room for 256");
    refused(sequences.add(&[1; 129]).map(drop), "a sequence of 129 tokens: the pool has room for 128");
    assert_eq!(sequences.counts(), (0, 0));
    let id = sequences.add(&[1; 128]).unwrap();
    refused(sequences.push(id, 1), "a sequence of 129 tokens");
    refused(sequences.push(id, 99), "token 99: 0 to 60 are valid");
    assert_eq!(sequences.tokens(id).unwrap(), [1; 128]);
    assert_eq!(sequences.step().unwrap().ready.len(), 1);
    assert!(sequences.is_idle());
    assert_eq!(sequences.step().unwrap().tokens, 0);
    assert!(sequences.remove(id) && !sequences.remove(id));
    refused(sequences.push(id, 1), "sequence 0 is not there");
    assert_eq!((sequences.tokens(id), sequences.cached_tokens(id)), (None, None));
    // One that waits may be removed too.
    let [a, b] = [(); 2].map(|()| sequences.add(&[2; 70]).unwrap());
    assert!(sequences.remove(b));
    assert_eq!(sequences.step().unwrap().ready[0].0, a);
    // Full contexts.
    let mut sequences = Sequences::new(&decoder, &SequencesOptions::default()).unwrap();
    let id = sequences.add(&[1; 256]).unwrap();
    refused(sequences.push(id, 1), "1 tokens after 256: the context has room for 256");
}

/// Pages that callers hold while they do not go on are not taken from them.
#[test]
fn pages_of_sequences_that_wait_for_their_caller_stay() {
    let folder = Folder::new("sequences-held");
    let decoder = open(&folder, &model("llama"), DType::F32);
    let options = SequencesOptions { tokens: 128, cache: DType::F32, ..Default::default() };
    let mut sequences = Sequences::new(&decoder, &options).unwrap();
    let held = sequences.add(&[1; 64]).unwrap();
    assert_eq!(sequences.step().unwrap().ready.len(), 1);
    let other = sequences.add(&tokens(100, 3)).unwrap();
    let step = sequences.step().unwrap();
    assert_eq!((step.tokens, step.ready.len(), step.refused.len()), (64, 0, 0));
    let step = sequences.step().unwrap();
    assert_eq!((step.tokens, step.refused.len(), sequences.is_idle()), (0, 0, false));
    sequences.remove(held);
    let step = sequences.step().unwrap();
    assert_eq!((step.tokens, step.ready[0].0), (36, other));
    expect_same(&step.ready[0].1, &alone(&decoder, DType::F32, &tokens(100, 3), 1)[0], "the other");
}

#[test]
fn they_may_move_to_another_thread_beside_sessions_and_stores() {
    let folder = Folder::new("sequences-thread");
    let decoder = open(&folder, &model("llama"), DType::F32);
    let mut sequences = Sequences::new(&decoder, &SequencesOptions::default()).unwrap();
    let store = PrefixStore::new(&decoder, DType::F16, 1 << 20).unwrap();
    let thread =
        std::thread::spawn(move || check(&mut sequences, DType::F16, &[tokens(70, 2), tokens(3, 4)], 5, "thread"));
    let mut session = decoder.session(DType::F16).unwrap();
    session.feed(&tokens(70, 2)).unwrap();
    store.keep(&session).unwrap();
    thread.join().unwrap();
}
