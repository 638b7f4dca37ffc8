//! Models over several devices: virtual CPUs, joined.

use crate::common::architectures::all;
use crate::common::encoder::Spec;
use crate::common::encoder_files::write_folder;
use crate::common::tiny::Random;
use crate::common::Folder;
use std::path::{Path, PathBuf};
use tensorlib::{Backend, BackendOptions, DType};
use tensorlib_models::{fit, Decoder, DecoderOptions, Encoder, EncoderOptions, ErrorKind, Outline, Placed, Placement};

/// Two devices. Must run before anything in this process asks for the devices.
fn joined() -> Backend {
    static ASKED: std::sync::Once = std::sync::Once::new();
    ASKED.call_once(|| std::env::set_var("TENSORLIB_CPU_VIRTUAL_DEVICES", "2"));
    BackendOptions::new().threads(2).open("cpu:0+cpu:1").unwrap()
}

fn outline(path: &Path, backend: &Backend, how: &DecoderOptions, placement: &Placement) -> Outline {
    let how = how.clone().placement(placement.clone());
    // SAFETY: nobody changes the file.
    unsafe { Decoder::outline(path, backend, &how, DType::F32).unwrap() }
}

/// A GGUF file of each architecture that has one.
fn files(folder: &Folder) -> Vec<(&'static str, PathBuf)> {
    let with_files = all().into_iter().filter(|model| model.gguf.is_some()).enumerate();
    with_files
        .map(|(i, model)| {
            let path = folder.path(&format!("{i}.gguf"));
            model.spec.tensors(i as u64, DType::Q8_0).write_gguf(&path, &model.metadata());
            (model.name, path)
        })
        .collect()
}

#[test]
fn logits_are_those_of_one_device_wherever_tensors_lie() {
    let (backend, alone) = (joined(), BackendOptions::new().threads(2).open("cpu:0").unwrap());
    let folder = Folder::new("placement-logits");
    // Exact, because different kernels would round a single token and several tokens differently.
    let (mut random, how) = (Random(5), DecoderOptions::new().context(64).exact(true));
    for (name, path) in files(&folder) {
        let tokens: Vec<u32> = (0..21).map(|i| (i * i * 7 + 3) % 61).collect();
        let want = Decoder::open(&path, &alone, &how).unwrap().session(DType::F32).unwrap().feed_all(&tokens).unwrap();
        for round in 0..6 {
            let mut placement = Placement::default();
            for Placed { name: tensor, .. } in outline(&path, &backend, &how, &placement).tensors {
                // All tensors on the second device, then at random.
                placement.put(&tensor, if round == 0 { 1 } else { usize::from(random.next() < 0.0) });
            }
            let decoder = Decoder::open(&path, &backend, &how.clone().placement(placement.clone())).unwrap();
            let mut session = decoder.session(DType::F32).unwrap();
            let mut got = session.feed_all(&tokens[..15]).unwrap();
            for token in &tokens[15..] {
                got.extend(session.feed(&[*token]).unwrap());
            }
            let worst = crate::common::error(&got, &want.iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
            // Products of one column and of several add up in different orders.
            assert!(worst < 1e-4, "{name}, round {round}: {worst:e}, {placement:?}");
        }
    }
}

#[test]
fn a_model_fits_into_its_budgets_or_says_what_is_missing() {
    let backend = joined();
    let folder = Folder::new("placement-fit");
    let how = DecoderOptions::new().context(64);
    for (name, path) in files(&folder) {
        let all_here = outline(&path, &backend, &how, &Placement::default());
        assert_eq!(all_here.bytes[1], 0, "{name}");
        let weights: usize = all_here.tensors.iter().map(|placed| placed.bytes).sum();
        assert!(all_here.bytes[0] > weights, "{name}");
        let mut there = 0;
        for tenths in (3..=10).rev() {
            let budget = all_here.bytes[0] * tenths / 10;
            let by = |placement: &Placement| Ok(outline(&path, &backend, &how, placement));
            match fit(&backend, &[Some(budget as u64), None], |_| None, by) {
                Ok((_, found)) => {
                    assert!(found.bytes[0] <= budget, "{name}: {:?} of {budget}", found.bytes);
                    let moved = found.tensors.iter().filter(|placed| placed.device == 1).count();
                    assert!(
                        moved >= there && (moved == 0) == (tenths == 10),
                        "{name}, {tenths}: {moved} after {there}"
                    );
                    there = moved;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Memory);
                    assert!(error.to_string().contains(&format!("cpu:0 has a budget of {budget} bytes")), "{error}");
                }
            }
        }
        assert!(there > 0, "{name}");
        // Placed by hand, whether it fits or not; and without another device.
        let by = |placement: &Placement| Ok(outline(&path, &backend, &how, placement));
        let chosen = |tensor: &str| tensor.contains("ffn_").then_some(1);
        let (placement, _) = fit(&backend, &[None, None], chosen, by).unwrap();
        for Placed { name: tensor, .. } in &all_here.tensors {
            assert_eq!(placement.device(tensor), usize::from(tensor.contains("ffn_")), "{name}: {tensor}");
        }
        let error = fit(&backend, &[Some(1000), Some(1000)], |_| None, by).map(drop).unwrap_err();
        assert!(error.to_string().contains("budget of 1000 bytes"), "{error}");
    }
}

/// Tensors that are so small that an outline loads their values are converted too.
#[test]
fn outlines_convert_what_models_convert() {
    let backend = BackendOptions::new().threads(2).open("cpu").unwrap();
    let folder = Folder::new("placement-converted");
    let mut paths = files(&folder);
    for (i, model) in all().into_iter().filter(|model| model.gguf.is_some() && model.spec.experts.is_some()).enumerate()
    {
        let path = folder.path(&format!("apart-{i}.gguf"));
        model.spec.tensors(1, DType::F32).with_experts_apart().write_gguf(&path, &model.metadata());
        paths.push((model.name, path));
    }
    let types = [DType::F32, DType::F16, DType::BF16, DType::Q4_0];
    for (name, path) in paths {
        for dtype in types {
            let how = DecoderOptions::new().context(64).stored_as(dtype);
            let found = outline(&path, &backend, &how, &Placement::default()).tensors;
            let memory = Decoder::open(&path, &backend, &how).unwrap().memory();
            let bytes: usize = found.iter().map(|placed| placed.bytes).sum();
            assert_eq!((found.len(), bytes), (memory.tensors, memory.stored), "{name} as {dtype}");
        }
    }
    let (path, spec) = (folder.path("encoder"), Spec::new());
    write_folder(&path, &spec, &spec.tensors(4, DType::F32), "bert", "");
    for dtype in types {
        let how = EncoderOptions::new().stored_as(dtype);
        // SAFETY: nobody changes the file.
        let found = unsafe { Encoder::outline(&path, &backend, &how) }.unwrap().tensors;
        let memory = Encoder::open(&path, &backend, &how).unwrap().memory();
        let bytes: usize = found.iter().map(|placed| placed.bytes).sum();
        assert_eq!((found.len(), bytes), (memory.tensors, memory.stored), "encoder as {dtype}");
    }
}

#[test]
fn encoders_spread_too() {
    let (backend, alone) = (joined(), BackendOptions::new().threads(2).open("cpu:0").unwrap());
    let folder = Folder::new("placement-encoder");
    let (path, spec) = (folder.path("encoder"), Spec::new());
    write_folder(&path, &spec, &spec.tensors(4, DType::F32), "bert", "");
    // SAFETY: nobody changes the file.
    let outline = |placement: &Placement| unsafe {
        Encoder::outline(&path, &backend, &EncoderOptions::new().placement(placement.clone()))
    };
    let all_here = outline(&Placement::default()).unwrap();
    let budget = all_here.bytes[0] as u64 * 8 / 10;
    let (placement, found) = fit(&backend, &[Some(budget), None], |_| None, outline).unwrap();
    assert!(found.bytes[0] as u64 <= budget && found.bytes[1] > 0, "{:?} of {budget}", found.bytes);
    let lines = [vec![2, 5, 9, 3], vec![2, 7, 3]];
    let vectors = |encoder: Encoder| encoder.embed_tokens(&lines, |_| true).unwrap();
    let want = vectors(Encoder::open(&path, &alone, &EncoderOptions::new()).unwrap());
    assert_eq!(vectors(Encoder::open(&path, &backend, &EncoderOptions::new().placement(placement)).unwrap()), want);
}

/// Models with experts, and their numbers of experts.
fn with_experts(folder: &Folder, dtype: DType) -> Vec<(&'static str, PathBuf)> {
    let models = all().into_iter().filter(|model| model.gguf.is_some() && model.spec.experts.is_some()).enumerate();
    models
        .map(|(i, model)| {
            let path = folder.path(&format!("{i}-{dtype}.gguf"));
            model.spec.tensors(i as u64, dtype).write_gguf(&path, &model.metadata());
            (model.name, path)
        })
        .collect()
}

/// Integer products give the same bits from any copy of the blocks; float products add up a constant's packed copy in
/// another order than a slot's rows.
#[test]
fn copies_of_experts_change_no_result() {
    let backend = joined();
    let folder = Folder::new("placement-experts");
    let integers = !backend.isa().contains("baseline");
    let models = |dtype| with_experts(&folder, dtype).into_iter().map(move |(name, path)| (name, path, dtype));
    for (name, path, dtype) in models(DType::Q8_0).chain(models(DType::F32)) {
        let mut placement = Placement::default();
        let how = DecoderOptions::new().context(64);
        for Placed { name: tensor, .. } in outline(&path, &backend, &how, &placement).tensors {
            placement.put(&tensor, usize::from(tensor.contains("_exps.")));
        }
        let how = how.placement(placement.clone());
        let logits = |slots: usize| {
            let decoder = Decoder::open(&path, &backend, &how.clone().expert_slots(slots)).unwrap();
            let mut session = decoder.session(DType::F32).unwrap();
            let mut got = session.feed_all(&[1, 5, 9, 33]).unwrap();
            for token in [7, 7, 12, 40, 7, 3, 58, 7] {
                got.extend(session.feed(&[token]).unwrap());
            }
            (got, session.expert_cache())
        };
        let (want, none) = logits(0);
        assert_eq!(none, (0, 0, 0), "{name}");
        let mut hits_before = 0;
        for slots in [1, 2, 3, 100] {
            let (got, (bytes, hits, misses)) = logits(slots);
            if dtype == DType::Q8_0 && integers {
                assert_eq!(got, want, "{name} with {slots} slots");
            }
            let worst = crate::common::error(&got, &want.iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
            assert!(worst < 1e-5, "{name} {dtype} with {slots} slots: {worst:e}");
            assert!(bytes > 0 && misses > 0 && hits >= hits_before, "{name}: {hits} hits, {misses} misses");
            hits_before = hits;
            // The outline counts the slots.
            let outlined = |n: usize| outline(&path, &backend, &how.clone().expert_slots(n), &placement).bytes[0];
            let (with, without) = (outlined(slots), outlined(0));
            // What runs write may take a little less.
            assert!(with + 4096 >= without + bytes, "{name} with {slots} slots: {with} of {without} and {bytes} bytes");
        }
        assert!(hits_before > 0, "{name}: with all experts in slots");
        // Experts on the first device need no copies.
        let here = Decoder::open(&path, &backend, &DecoderOptions::new().context(64).expert_slots(2)).unwrap();
        assert_eq!(here.session(DType::F32).unwrap().expert_cache().0, 0);
    }
}
