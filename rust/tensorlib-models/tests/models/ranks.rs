//! Models that are divided over the ranks of a group give every rank the logits of the whole model.

use crate::adapters::{adapter, adapter_files, ALPHA, RANK};
use crate::common::architectures::{all, Model};
use crate::common::behaviour::tokens;
use crate::common::checks::{folder_of, gguf_of, model, TOKENS};
use crate::common::tiny::Tensors;
use crate::common::{backend, error, Folder};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use tensorlib::{DType, Group, GroupOptions};
use tensorlib_models::{
    generate, generate_speculating, perplexity, Decoder, DecoderOptions, Importance, Result, Sampler, SamplerOptions,
    Sequences, SequencesOptions, Speculation, SpeculationOptions,
};

/// What `f` returns on each rank, which is a thread.
fn on_ranks<T: Send>(n: usize, f: impl Fn(&Group) -> T + Sync) -> Vec<T> {
    let groups = GroupOptions::new().timeout(Duration::from_secs(60)).local(n).unwrap();
    let f = &f;
    std::thread::scope(|scope| {
        let threads: Vec<_> = groups.into_iter().map(|group| scope.spawn(move || f(&group))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn open(path: &Path, options: &DecoderOptions, group: &Group) -> Result<Decoder> {
    Decoder::open(path, &backend(), &options.clone().group(group))
}

/// The logits after each of the tokens, fed at once or one by one, of all ranks. They have equal bits.
fn logits(path: &Path, options: &DecoderOptions, ranks: usize, one_by_one: bool) -> Vec<f32> {
    let all = on_ranks(ranks, |group| {
        let mut session = open(path, options, group).unwrap_or_else(|e| panic!("{e}")).session(DType::F32).unwrap();
        match one_by_one {
            true => TOKENS.iter().flat_map(|token| session.feed(&[*token]).unwrap()).collect(),
            false => session.feed_all(&TOKENS).unwrap(),
        }
    });
    let bits = |logits: &[f32]| logits.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert!(all.iter().all(|logits| bits(logits) == bits(&all[0])), "ranks of {} differ", path.display());
    all.into_iter().next().unwrap()
}

/// Compares files of a model, whatever there are, on several ranks with double precision.
fn check(model: &Model, tensors: &Tensors, ranks: usize) {
    let folder = Folder::new("ranks");
    let want = model.spec.logits(tensors, &TOKENS).concat();
    let mut paths = Vec::new();
    if model.gguf.is_some() {
        paths.push(gguf_of(&folder, model, tensors, &[]));
    }
    if model.hub.is_some() {
        paths.push(folder_of(&folder, model, tensors, ""));
    }
    for (path, one_by_one) in paths.iter().flat_map(|path| [(path, false), (path, true)]) {
        let got = logits(path, &DecoderOptions::new().exact(true), ranks, one_by_one);
        let off = error(&got, &want);
        assert!(off < 1e-4, "{} on {ranks} ranks, {}, one by one: {one_by_one}: {off:e}", model.name, path.display());
    }
}

#[test]
fn two_ranks_compute_every_architecture() {
    for model in all().iter().filter(|model| !model.name.contains("rwkv")) {
        check(model, &model.spec.tensors(3, DType::F32), 2);
    }
}

#[test]
fn more_ranks_than_heads_or_blocks() {
    // Blocks of 32 weights are divided whole, so that some ranks have no neurons or heads.
    for (dtype, ranks) in [(DType::F32, 3), (DType::Q8_0, 3), (DType::Q4_0, 5), (DType::Q8_0, 9)] {
        let names = ["llama", "gemma3", "phi3", "gpt-oss", "qwen3moe", "qwen35moe", "gemma4 with experts", "olmo2"];
        for name in names.into_iter().chain((dtype == DType::F32).then_some("deepseek2")) {
            let model = model(name);
            check(&Model { hub: None, ..model.clone() }, &model.spec.tensors(7, dtype), ranks);
        }
    }
}

#[test]
fn converted_weights_and_adapters_are_divided_too() {
    let folder = Folder::new("ranks-converted");
    let model = model("llama").widened();
    let tensors = model.spec.tensors(5, DType::F16);
    let path = gguf_of(&folder, &model, &tensors, &[]);
    for options in [DecoderOptions::new().stored_as(DType::Q8_0), DecoderOptions::new().stored_as(DType::F16)] {
        let options = options.exact(true);
        let whole = Decoder::open(&path, &backend(), &options).unwrap();
        let want = whole.session(DType::F32).unwrap().feed_all(&TOKENS).unwrap();
        let want: Vec<f64> = want.into_iter().map(f64::from).collect();
        let off = error(&logits(&path, &options, 3, false), &want);
        assert!(off < 1e-5, "{options:?}: {off:e}");
    }
    // Rows of B, and columns of A, belong to the rows and columns of a matrix.
    for name in ["llama", "qwen3moe"] {
        let model = crate::common::checks::model(name);
        let tensors = model.spec.tensors(5, DType::F32);
        let down = if name == "llama" { "blk.1.ffn_down.weight" } else { "blk.1.ffn_down_exps.weight" };
        let up = down.replace("down", "up");
        let matrices = ["blk.0.attn_q.weight", "blk.1.attn_v.weight", "blk.2.attn_output.weight", &up, down];
        let added = adapter(&tensors, &matrices, 9);
        let mut merged = tensors.clone();
        matrices.iter().for_each(|name| merged.merge(name, &added, ALPHA / RANK as f64));
        let path = gguf_of(&folder, &model, &tensors, &[]);
        let options = DecoderOptions::new().exact(true).adapter(adapter_files(&folder, &model, &added, ""), 1.0);
        let off = error(&logits(&path, &options, 2, true), &model.spec.logits(&merged, &TOKENS).concat());
        assert!(off < 1e-4, "{name}: {off:e}");
    }
}

#[test]
fn sessions_sequences_and_generation_are_the_same_on_all_ranks() {
    let folder = Folder::new("ranks-sequences");
    for name in ["llama", "qwen35", "gemma3"] {
        let model = model(name);
        let path = gguf_of(&folder, &model, &model.spec.tensors(5, DType::F32), &[]);
        let whole = Decoder::open(&path, &backend(), &DecoderOptions::new()).unwrap();
        let sampled = |decoder: &Decoder| {
            let mut session = decoder.session(DType::F32).unwrap();
            session.feed(&tokens(20, 3)).unwrap();
            session.rewind(session.position() / 2);
            let mut fork = session.fork().unwrap();
            let (mut texts, prompts) = (Vec::new(), [tokens(9, 4), tokens(70, 5)]);
            for session in [&mut session, &mut fork] {
                let mut sampler = Sampler::new(SamplerOptions { seed: 11, ..SamplerOptions::default() }).unwrap();
                let mut text = String::new();
                generate(session, &mut sampler, &prompts[0], Some(12), &[], |piece| {
                    text += piece.text;
                    true
                })
                .unwrap();
                texts.push(text);
            }
            let mut sequences = Sequences::new(decoder, &SequencesOptions::default()).unwrap();
            let ids: Vec<_> = prompts.iter().map(|prompt| sequences.add(prompt).unwrap()).collect();
            let mut logits = vec![Vec::new(); ids.len()];
            while logits.iter().any(Vec::is_empty) {
                for (id, ready) in sequences.step().unwrap().ready {
                    logits[ids.iter().position(|known| *known == id).unwrap()] = ready;
                }
            }
            let found = perplexity(decoder, DType::F32, &tokens(64, 9), 32, |_, _| true).unwrap();
            (texts, logits.concat(), found.value())
        };
        let (texts, want, value) = sampled(&whole);
        let want: Vec<f64> = want.into_iter().map(f64::from).collect();
        for (of_rank, logits, own) in on_ranks(2, |group| sampled(&open(&path, &DecoderOptions::new(), group).unwrap()))
        {
            assert_eq!(of_rank, texts, "{name}");
            assert!(error(&logits, &want) < 1e-3, "{name}");
            assert!((own - value).abs() < 1e-3 * value, "{name}: {own} {value}");
        }
    }
}

#[test]
fn ranks_that_open_other_models_or_none_are_errors() {
    let folder = Folder::new("ranks-others");
    let model = model("llama");
    let first = gguf_of(&folder, &model, &model.spec.tensors(5, DType::F32), &[]);
    let second = folder.path("second.gguf");
    model.spec.tensors(6, DType::F32).write_gguf(&second, &model.metadata());
    for failure in on_ranks(2, |group| {
        open(if group.rank() == 0 { &first } else { &second }, &DecoderOptions::new(), group).unwrap_err().to_string()
    }) {
        assert!(failure.contains("rank 1 has opened another model than rank 0"), "{failure}");
    }
    for failure in on_ranks(2, |group| {
        open(&first, &DecoderOptions::new().exact(group.rank() == 0), group).unwrap_err().to_string()
    }) {
        assert!(failure.contains("or with other options"), "{failure}");
    }
    let failures = on_ranks(2, |group| {
        let path = if group.rank() == 0 { first.clone() } else { folder.path("none.gguf") };
        let opened = open(&path, &DecoderOptions::new(), group);
        opened.unwrap_err().to_string()
    });
    assert!(failures[1].contains("none.gguf"), "{failures:?}");
    // The handle of the rank that failed goes with its thread.
    assert!(failures[0].contains("rank 1 has left"), "{failures:?}");
    // Tokens that differ are different graphs.
    let failures = on_ranks(2, |group| {
        let mut session = open(&first, &DecoderOptions::new(), group).unwrap().session(DType::F32).unwrap();
        session.feed(&tokens(1 + group.rank() as u32, 3)).unwrap_err().to_string()
    });
    assert!(failures.iter().all(|failure| failure.contains("the ranks' graphs differ")), "{failures:?}");
}

#[test]
fn what_needs_the_whole_model_is_refused() {
    let folder = Folder::new("ranks-refused");
    let path = gguf_of(&folder, &model("llama"), &model("llama").spec.tensors(5, DType::F32), &[]);
    let file = Mutex::new(folder.path("session"));
    for failures in on_ranks(2, |group| {
        let decoder = open(&path, &DecoderOptions::new(), group).unwrap();
        let mut session = decoder.session(DType::F32).unwrap();
        session.feed(&TOKENS).unwrap();
        let file = file.lock().unwrap().clone();
        let mut speculation = Speculation::new(&SpeculationOptions::default()).unwrap();
        let mut sampler = Sampler::new(SamplerOptions::default()).unwrap();
        let drafted =
            generate_speculating(&mut session, &mut sampler, &TOKENS, Some(2), &[], &mut speculation, |_| true);
        [
            session.save(&file).map(drop),
            Sequences::new(&decoder, &SequencesOptions::default()).unwrap().save_prefixes(&file).map(drop),
            Importance::measure(&decoder, &tokens(64, 3), 32, |_, _| true).map(drop),
            drafted.map(drop),
            open(&path, &DecoderOptions::new().expert_slots(2), group).map(drop),
        ]
        .map(|result| result.unwrap_err().to_string())
    }) {
        for failure in failures {
            assert!(failure.contains("divided over") && failure.contains("ranks"), "{failure}");
        }
    }
    assert!(!file.into_inner().unwrap().exists());
    let rwkv = model("rwkv7");
    let path = gguf_of(&folder, &rwkv, &rwkv.spec.tensors(5, DType::F32), &[]);
    for failure in on_ranks(2, |group| open(&path, &DecoderOptions::new(), group).unwrap_err().to_string()) {
        assert!(failure.contains("rwkv7 over several ranks"), "{failure}");
    }
    // One rank changes nothing.
    let alone = on_ranks(1, |group| {
        open(&path, &DecoderOptions::new(), group).unwrap().session(DType::F32).unwrap().feed(&TOKENS).unwrap()
    });
    let want = Decoder::open(&path, &backend(), &DecoderOptions::new())
        .unwrap()
        .session(DType::F32)
        .unwrap()
        .feed(&TOKENS)
        .unwrap();
    assert_eq!(alone, [want]);
}
