//! Models with transposed down projections: which neurons are computed, how often each is active, and neurons on two
//! devices.

use crate::common::architectures::{all, Model};
use crate::common::decoder::{Left, Spec};
use crate::common::tiny::Tensors;
use crate::common::{backend, error, Folder};
use std::path::{Path, PathBuf};
use tensorlib::{Backend, BackendOptions, Context, DType, GgufWriter};
use tensorlib_models::{
    fit_neurons, fit_split, read_split, Activity, Decoder, DecoderOptions, ErrorKind, Outline, Placement, SplitLayer,
    Tested,
};

const SEED: u64 = 11;

/// A simulated GPU takes a hundred times as long.
fn on_cpu() -> bool {
    backend().device() == "cpu"
}

fn tokens() -> Vec<u32> {
    (0..if on_cpu() { 23 } else { 19 }).map(|i| (i * i * 7 + 3) % 61).collect()
}

/// Models of GGUF files whose neurons can be skipped.
fn models() -> Vec<Model> {
    all()
        .into_iter()
        .filter(|model| {
            let s = &model.spec;
            let alone = s.mamba.is_none() && !s.inner_norms && s.altup.is_none() && s.ffn_factors == [1.0; 2];
            let has_neurons = s.gated && !s.fused_ffn && !s.rwkv.is_some_and(|rwkv| rwkv.mixes_channels);
            model.gguf.is_some() && s.experts.is_none() && has_neurons && !s.wide && alone
        })
        .take(if on_cpu() { usize::MAX } else { 2 })
        .collect()
}

fn named(name: &str) -> Model {
    all().into_iter().find(|model| model.name == name).unwrap()
}

/// A file with transposed down projections, and its tensors.
fn transposed(folder: &Folder, model: &Model, dtype: DType) -> (PathBuf, Tensors) {
    let (path, tensors) = (folder.path("t.gguf"), model.spec.tensors(SEED, dtype).with_transposed_downs(dtype));
    tensors.write_gguf(&path, &model.metadata());
    (path, tensors)
}

fn open(path: &Path, how: &DecoderOptions) -> Decoder {
    Decoder::open(path, &backend(), how).unwrap()
}

/// Logits after each token: computed for all tokens at once, and for some tokens followed by single ones.
fn logits(decoder: &Decoder, tokens: &[u32]) -> [Vec<f32>; 2] {
    let at_once = decoder.session(DType::F32).unwrap().feed_all(tokens).unwrap();
    let mut session = decoder.session(DType::F32).unwrap();
    let mut one_by_one = session.feed_all(&tokens[..9]).unwrap();
    one_by_one.extend(session.feed_all(&tokens[9..12]).unwrap());
    for token in &tokens[12..] {
        one_by_one.extend(session.feed(&[*token]).unwrap());
    }
    [at_once, one_by_one]
}

fn assert_near(got: &[Vec<f32>], want: &[f64], bound: f64, about: &str) {
    for (i, got) in got.iter().enumerate() {
        let worst = error(got, want);
        assert!(worst < bound, "{about}, {}: {worst:e}", ["at once", "one by one"][i]);
    }
}

#[test]
fn logits_are_those_of_double_precision() {
    // Layers may differ in their numbers of neurons.
    let wide = named("gemma4 with vectors for layers");
    for model in models().into_iter().chain(on_cpu().then_some(wide)) {
        for (dtype, exact, bound) in [
            (DType::F32, false, 1e-4),
            (DType::BF16, false, 1e-4),
            (DType::Q8_0, true, 1e-4),
            (DType::Q8_0, false, 0.05),
        ] {
            // States, and products of queries and keys that nothing scales, amplify what rounding changes.
            let has_states = model.spec.delta.is_some() || model.spec.rwkv.is_some();
            let is_sharp = has_states || model.spec.attention_scale == 1.0;
            if is_sharp && dtype == DType::Q8_0 && !exact {
                continue;
            }
            let folder = Folder::new(&format!("neurons-{dtype}-{exact}"));
            let (path, tensors) = transposed(&folder, &model, dtype);
            let want = model.spec.logits(&tensors, &tokens()).concat();
            let got = logits(&open(&path, &DecoderOptions::new().exact(exact)), &tokens());
            assert_near(&got, &want, bound, &format!("{} {dtype}", model.name));
        }
    }
}

/// The activity of a model's file, for this share.
fn activity_of(path: &Path, tested: Tested, share: f64) -> Activity {
    Activity::measure(&open(path, &DecoderOptions::new()), &tokens(), Some(tested), share, |_, _| true).unwrap()
}

fn with_thresholds(spec: &Spec, activity: &Activity) -> Spec {
    let thresholds = activity.layers().iter().map(|layer| f64::from(layer.threshold)).collect();
    let left = match activity.tested() {
        Tested::Positive => Left::None,
        Tested::Gate => Left::SmallGates(thresholds),
        Tested::Hidden => Left::SmallProducts(thresholds),
    };
    Spec { left, ..spec.clone() }
}

#[test]
fn neurons_are_left_out_as_in_double_precision() {
    for model in models() {
        for (tested, share) in [(Tested::Gate, 0.3), (Tested::Hidden, 0.2), (Tested::Gate, 1.0)] {
            let folder = Folder::new("neurons-thresholds");
            let (path, tensors) = transposed(&folder, &model, DType::F32);
            let activity = activity_of(&path, tested, share);
            let sparse = with_thresholds(&model.spec, &activity).logits(&tensors, &tokens()).concat();
            for exact in [false, true] {
                let got = logits(
                    &open(&path, &DecoderOptions::new().exact(exact).with_activity(activity.clone())),
                    &tokens(),
                );
                assert_near(&got, &sparse, 1e-4, &format!("{} {tested:?} {share}", model.name));
            }
            let dense = model.spec.logits(&tensors, &tokens()).concat();
            let sparse: Vec<f32> = sparse.iter().map(|x| *x as f32).collect();
            assert_eq!(error(&sparse, &dense) > 1e-3, share < 1.0, "{}", model.name);
        }
    }
}

/// Compared with the neurons that were active in the forward pass in double precision.
#[test]
fn frequencies_are_those_of_double_precision() {
    for (name, tested, share) in [
        ("llama", Tested::Gate, 0.3),
        ("llama", Tested::Hidden, 0.1),
        ("llama with relu", Tested::Positive, 0.5),
        ("gemma2", Tested::Gate, 0.5),
        ("phi3", Tested::Gate, 0.25),
    ] {
        let (model, folder) = (named(name), Folder::new("neurons-frequencies"));
        let (path, tensors) = (folder.path("plain.gguf"), model.spec.tensors(SEED, DType::F32));
        tensors.write_gguf(&path, &model.metadata());
        let (activity, n) = (activity_of(&path, tested, share), tokens().len());
        assert_eq!(
            (activity.tokens(), activity.tested(), activity.architecture()),
            (n as u64, tested, model.gguf.as_ref().unwrap().0)
        );
        let _ = model.spec.logits(&tensors, &tokens());
        for (i, layer) in activity.layers().iter().enumerate() {
            let seen = model.spec.seen.borrow();
            let of_layer = || seen.iter().filter(|(layer, _, _)| *layer == i);
            // A GPU rounds differently: values this close to the threshold may be on either side.
            const NEAR: f64 = 1e-5;
            let is_active = |gate: f64, hidden: f64, threshold: f64| match tested {
                Tested::Positive => gate > threshold,
                Tested::Gate => gate.abs() >= threshold,
                Tested::Hidden => hidden.abs() >= threshold,
            };
            let mut all = 0.0;
            for (neuron, frequency) in layer.frequencies.iter().enumerate() {
                let count = |factor: f64, more: f64| {
                    let threshold = f64::from(layer.threshold) * factor + more;
                    of_layer().filter(|(_, gates, hidden)| is_active(gates[neuron], hidden[neuron], threshold)).count()
                };
                let found = (f64::from(*frequency) * n as f64).round() as usize;
                let (least, most) = match tested {
                    Tested::Positive => (count(1.0, NEAR), count(1.0, -NEAR)),
                    _ => (count(1.0 + NEAR, 0.0), count(1.0 - NEAR, 0.0)),
                };
                assert!((least..=most).contains(&found), "{name} {tested:?}: layer {i}, neuron {neuron}: {found}");
                all += f64::from(*frequency);
            }
            let active = all / layer.frequencies.len() as f64;
            assert!(
                tested == Tested::Positive || (active >= share - 1e-6 && active < share + 0.03),
                "{name}: {active}"
            );
        }
    }
    let model = named("llama with relu");
    let folder = Folder::new("neurons-default");
    let (path, _) = transposed(&folder, &model, DType::F32);
    let found = Activity::measure(&open(&path, &DecoderOptions::new()), &tokens(), None, 0.5, |_, _| true).unwrap();
    assert_eq!(found.tested(), Tested::Positive);
    // With this activity results do not change.
    let decoder = open(&path, &DecoderOptions::new().with_activity(found));
    assert_eq!(logits(&decoder, &tokens()), logits(&open(&path, &DecoderOptions::new()), &tokens()));
}

#[test]
fn files_keep_what_was_measured() {
    let (folder, model) = (Folder::new("neurons-files"), named("llama"));
    let (path, _) = transposed(&folder, &model, DType::F32);
    let activity = activity_of(&path, Tested::Hidden, 0.37);
    for name in ["a.json", "a.safetensors"] {
        let file = folder.path(name);
        activity.write(&file).unwrap();
        assert_eq!(Activity::read(&file).unwrap(), activity, "{name}");
        activity.write(&file).unwrap();
        let refused = activity.write(folder.path("none").join(name)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Io, "{refused}");
    }
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 3, "no other file is left");
}

#[test]
fn bad_files_say_what_is_wrong() {
    let folder = Folder::new("neurons-bad");
    let head = r#""architecture": "llama", "tested": "gate", "tokens": 3"#;
    let layer = r#"{"threshold": 0.5, "frequencies": [0.5, 1]}"#;
    for (text, words) in [
        ("{".into(), "is no JSON"),
        ("[]".into(), "'layers'"),
        (format!("{{{head}}}"), "'layers': an array"),
        (format!("{{{head}, \"layers\": []}}"), "no layers"),
        (format!("{{{head}, \"layers\": [{{\"threshold\": 1}}]}}"), "'layers[0]'"),
        (
            format!("{{{head}, \"layers\": [{layer}, {{\"threshold\": -1, \"frequencies\": []}}]}}"),
            "layer 1 has a threshold of -1",
        ),
        (
            format!("{{{head}, \"layers\": [{{\"threshold\": 0, \"frequencies\": [0, 1.5]}}]}}"),
            "layer 0, neuron 1: a frequency of 1.5",
        ),
        (format!("{{{head}, \"layers\": [{{\"threshold\": 0, \"frequencies\": [\"1\"]}}]}}"), "'frequencies'"),
        (
            format!("{{{}, \"layers\": [{layer}]}}", head.replace("gate", "up")),
            "'tested' is 'up': positive, gate and hidden",
        ),
        (format!("{{{}, \"layers\": [{layer}]}}", head.replace(": 3", ": -3")), "'tokens': a whole number"),
    ] {
        let path = folder.path("bad.json");
        std::fs::write(&path, &text).unwrap();
        let refused = Activity::read(&path).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Format, "{text}");
        let message = refused.to_string();
        assert!(message.contains(words) && message.matches("bad.json").count() == 1, "{text}: {message}");
    }
    assert_eq!(Activity::read(folder.path("none.json")).unwrap_err().kind(), ErrorKind::Io);
    let (path, ctx) = (folder.path("bad.safetensors"), Context::new());
    let texts = [("architecture", "llama"), ("tested", "gate"), ("tokens", "3")];
    let frequencies = ctx.tensor([2], &[0.5f32, 1.0]).unwrap();
    frequencies.set_name("blk.0.frequencies").unwrap();
    for (texts, words) in
        [(&texts[..], "'blk.0.threshold'"), (&texts[..2], "'tokens'"), (&texts[1..], "'architecture'")]
    {
        let threshold = ctx.tensor([1], &[0.5f32]).unwrap();
        threshold.set_name("blk.0.threshold").unwrap();
        let all = [&frequencies, &threshold];
        tensorlib::safetensors::write(&path, &all[..if texts.len() == 3 { 1 } else { 2 }], texts).unwrap();
        let refused = Activity::read(&path).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new("neurons-refused");
    let llama = named("llama");
    let (path, _) = transposed(&folder, &llama, DType::F32);
    let activity = activity_of(&path, Tested::Gate, 0.5);
    let refused = |path: &Path, activity: &Activity| {
        let error = Decoder::open(path, &backend(), &DecoderOptions::new().with_activity(activity.clone()))
            .map(drop)
            .unwrap_err();
        (error.kind(), error.to_string())
    };
    // Activities of other models: the architecture, the layers, the neurons.
    for (name, spec, words) in [
        ("gemma2", None, "of architecture 'llama', this one is 'gemma2'"),
        ("llama", Some(Spec { layers: 2, ..llama.spec.clone() }), "it has 3 layers, this one 2"),
        ("llama", Some(Spec { ffn: 64, ..llama.spec.clone() }), "its layer 0 has 96 neurons, this one's 64"),
    ] {
        let mut model = named(name);
        model.spec = spec.unwrap_or(model.spec);
        let other = Folder::new("neurons-other");
        let (path, _) = transposed(&other, &model, DType::F32);
        let (kind, message) = refused(&path, &activity);
        assert!(kind == ErrorKind::Invalid && message.contains(words), "{message}");
    }
    // Down projections that are not transposed; experts; a fused gate.
    let plain = folder.path("plain.gguf");
    llama.spec.tensors(SEED, DType::F32).write_gguf(&plain, &llama.metadata());
    let (kind, message) = refused(&plain, &activity);
    assert!(kind == ErrorKind::Unsupported && message.contains("'blk.0.ffn_down_t.weight' is missing"), "{message}");
    let experts = named("llama with experts");
    let path_of_experts = folder.path("experts.gguf");
    experts.spec.tensors(SEED, DType::F32).write_gguf(&path_of_experts, &experts.metadata());
    let (kind, message) = refused(&path_of_experts, &activity);
    assert!(kind == ErrorKind::Unsupported && message.contains("experts"), "{message}");
    let fused = Folder::new("neurons-fused");
    let (path_of_fused, _) = transposed(&fused, &named("phi3"), DType::F32);
    let error = Decoder::open(&path_of_fused, &backend(), &DecoderOptions::new()).map(drop).unwrap_err();
    assert!(error.to_string().contains("no transposed down projections"), "{error}");

    let measure = |decoder: &Decoder, tokens: &[u32], share: f64, go_on: bool| {
        Activity::measure(decoder, tokens, None, share, |_, _| go_on).map(drop).unwrap_err().to_string()
    };
    let decoder = open(&path, &DecoderOptions::new());
    assert!(measure(&decoder, &[], 0.5, true).contains("no tokens"));
    assert!(measure(&decoder, &[99], 0.5, true).contains("token 99"));
    for share in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(measure(&decoder, &[1], share, true).contains("above 0 and up to 1"));
    }
    assert!(measure(&decoder, &tokens(), 0.5, false).contains("stopped after 23 of 46 tokens"));
    let sparse = open(&path, &DecoderOptions::new().with_activity(activity));
    assert!(measure(&sparse, &tokens(), 0.5, true).contains("opened with an activity"));
    let experts = open(&path_of_experts, &DecoderOptions::new());
    assert!(measure(&experts, &tokens(), 0.5, true).contains("experts"));
}

/// Two devices. Must run before anything in this process asks for the devices.
fn joined() -> Backend {
    static ASKED: std::sync::Once = std::sync::Once::new();
    ASKED.call_once(|| std::env::set_var("TENSORLIB_CPU_VIRTUAL_DEVICES", "2"));
    BackendOptions::new().threads(2).open("cpu:0+cpu:1").unwrap()
}

fn outline(
    path: &Path,
    backend: &Backend,
    how: &DecoderOptions,
    placement: &Placement,
) -> tensorlib_models::Result<Outline> {
    // SAFETY: nobody changes the file.
    unsafe { Decoder::outline(path, backend, &how.clone().placement(placement.clone()), DType::F32) }
}

#[test]
fn neurons_on_two_devices_sum_to_the_whole() {
    let backend = joined();
    for model in models() {
        for (dtype, share) in [(DType::F32, None), (DType::F32, Some(0.4)), (DType::Q8_0, None)] {
            let folder = Folder::new("neurons-divided");
            let (path, tensors) = transposed(&folder, &model, dtype);
            let mut how = DecoderOptions::new().exact(true);
            let mut spec = model.spec.clone();
            if let Some(share) = share {
                let activity = activity_of(&path, Tested::Gate, share);
                spec = with_thresholds(&spec, &activity);
                how = how.with_activity(activity);
            }
            let want = spec.logits(&tensors, &tokens()).concat();
            for every in [2, 3, 95] {
                let mut placement = Placement::default();
                let hot: Vec<i32> = (0..96).filter(|row| row % every == 1).collect();
                placement.put_neurons(0, hot.clone(), 96);
                placement.put_neurons(1, vec![], 96);
                placement.put_neurons(2, (0..96).collect(), 96);
                let found = outline(&path, &backend, &how, &placement).unwrap();
                let of = |name: &str| {
                    found.tensors.iter().filter(|t| t.name == name).map(|t| (t.device, t.bytes)).collect::<Vec<_>>()
                };
                let row = usize::try_from(64 / dtype.block_size()).unwrap() * dtype.size();
                assert_eq!(of("blk.0.ffn_up.weight"), [(0, hot.len() * row), (1, (96 - hot.len()) * row)]);
                assert_eq!(
                    (of("blk.1.ffn_up.weight"), of("blk.2.ffn_up.weight")),
                    (vec![(1, 96 * row)], vec![(0, 96 * row)])
                );
                let decoder = Decoder::open(&path, &backend, &how.clone().placement(placement)).unwrap();
                assert_near(
                    &logits(&decoder, &tokens()),
                    &want,
                    1e-4,
                    &format!("{} {dtype} {share:?} {every}", model.name),
                );
            }
        }
    }
}

#[test]
fn hot_neurons_go_to_the_first_device() {
    let (backend, folder, model) = (joined(), Folder::new("neurons-hot"), named("llama with relu"));
    let (path, tensors) = transposed(&folder, &model, DType::F32);
    let activity = activity_of(&path, Tested::Positive, 0.5);
    let frequencies: Vec<&[f32]> = activity.layers().iter().map(|layer| &layer.frequencies[..]).collect();
    let how = DecoderOptions::new().context(64).with_activity(activity.clone());
    let by = |placement: &Placement| outline(&path, &backend, &how, placement);
    let all_here = by(&Placement::default()).unwrap();
    let want = model.spec.logits(&tensors, &tokens()).concat();
    let (mut served, mut divided) = (1.0, 0);
    for hundredths in [100, 95, 85, 75, 60, 40] {
        let budget = all_here.bytes[0] as u64 * hundredths / 100;
        let (placement, found, hot) = fit_neurons(&backend, &[Some(budget), None], |_| None, &frequencies, by).unwrap();
        assert!(found.bytes[0] as u64 <= budget, "{:?} of {budget}", found.bytes);
        if let Some(hot) = hot {
            // With more neurons two activations of a whole prompt, [96, 64], would be too many, if neither finds a gap
            // between others.
            assert!(found.bytes[0] as u64 + 2 * 96 * 64 * 4 + 3 * 64 * 4 > budget, "{} of {budget}", found.bytes[0]);
            assert!(hot.served < served && hot.served <= hot.bound && hot.bound - hot.served < 0.01, "{hot:?}");
            (served, divided) = (hot.served, divided + 1);
            let least = |layer: usize, rows: &[i32]| {
                rows.iter().map(|row| frequencies[layer][*row as usize]).fold(1f32, f32::min)
            };
            for (layer, rows) in hot.rows.iter().enumerate() {
                let cold = (0..96).filter(|row| !rows.contains(row)).map(|row| frequencies[layer][row as usize]);
                assert!(cold.fold(0f32, f32::max) <= least(layer, rows), "layer {layer}");
            }
        }
        let decoder = Decoder::open(&path, &backend, &how.clone().placement(placement)).unwrap();
        assert_near(&logits(&decoder, &tokens()), &want, 1e-4, &format!("{hundredths} of 100"));
    }
    assert!(divided >= 2, "{divided}");
    // Placed by hand, and budgets that nothing fits.
    let chosen = |tensor: &str| tensor.starts_with("blk.1.ffn").then_some(1);
    let budget = all_here.bytes[0] as u64 * 70 / 100;
    let (placement, _, hot) = fit_neurons(&backend, &[Some(budget), None], chosen, &frequencies, by).unwrap();
    assert!(placement.divided(1).is_none() && placement.device("blk.1.ffn_up.weight") == 1);
    assert!(hot.is_none_or(|hot| hot.rows[1].is_empty()));
    let refused = fit_neurons(&backend, &[Some(1000), None], |_| None, &frequencies, by).map(drop).unwrap_err();
    assert!(refused.kind() == ErrorKind::Memory && refused.to_string().contains("budget of 1000 bytes"), "{refused}");
    let budgets = [Some(all_here.bytes[0] as u64 * 85 / 100), Some(1000)];
    let refused = fit_neurons(&backend, &budgets, |_| None, &frequencies, by).map(drop).unwrap_err();
    assert!(refused.to_string().contains("cpu:1 has a budget of 1000 bytes"), "{refused}");
}

/// A file as PowerInfer writes it, with these tensors.
fn write_split(path: &Path, tensors: &[(&str, Vec<i32>)]) {
    let ctx = Context::new();
    let mut writer = GgufWriter::create(path).unwrap();
    writer.set("general.architecture", "generic.gpu_index").unwrap();
    writer.set("xplit.vram_capacity", 1u64 << 33).unwrap();
    for (name, values) in tensors {
        let leaf = ctx.zeros(DType::I32, [values.len() as i64]).unwrap();
        leaf.write(values).unwrap();
        leaf.set_name(name).unwrap();
        writer.add(&leaf).unwrap();
    }
    writer.finish().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    bytes[..4].copy_from_slice(b"PWRI");
    // A key that our writer reserves for itself.
    let key = bytes.windows(6).position(|part| part == b"xplit.").unwrap();
    bytes[key] = b's';
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn split_files_divide_neurons() {
    let (backend, folder, model) = (joined(), Folder::new("neurons-split"), named("llama with relu"));
    let (path, tensors) = transposed(&folder, &model, DType::F32);
    let file = folder.path("split.gguf");
    let flags = |every: i32| (0..96).map(|i| i32::from(i % every == 0)).collect::<Vec<_>>();
    let bucket: Vec<i32> = (0..96).filter(|i| i % 2 == 0).collect();
    let layers = [
        ("blk.0.gpu_idx", flags(2)),
        ("blk.0.gpu_bucket", bucket.clone()),
        ("blk.1.gpu_idx", flags(3)),
        ("blk.2.gpu_idx", vec![0; 96]),
    ];
    write_split(&file, &layers);
    let split = read_split(&file).unwrap().unwrap();
    assert_eq!(split.len(), 3);
    assert_eq!(split[0], SplitLayer { hot: bucket, neurons: 96 });
    let how = DecoderOptions::new().context(64);
    let by = |placement: &Placement| outline(&path, &backend, &how, placement);
    let (placement, found) = fit_split(&backend, &[None, None], |_| None, &split, by).unwrap();
    assert_eq!((placement.divided(1), placement.device("blk.2.ffn_up.weight")), (Some(&split[1]), 1));
    let decoder = Decoder::open(&path, &backend, &how.clone().placement(placement)).unwrap();
    let want = model.spec.logits(&tensors, &tokens()).concat();
    assert_near(&logits(&decoder, &tokens()), &want, 1e-4, "split");

    // Splits that do not match the model.
    let refused = |split: &[SplitLayer], budgets: &[Option<u64>]| {
        fit_split(&backend, budgets, |_| None, split, by).map(drop).unwrap_err().to_string()
    };
    let budget = found.bytes[0] as u64 - 1;
    assert!(refused(&split, &[Some(budget), None]).contains("1 more"));
    assert!(refused(&split[..2], &[None, None]).contains("2 layers are divided, the model has 3"));
    let other = |hot: Vec<i32>, neurons| [SplitLayer { hot, neurons }, split[1].clone(), split[2].clone()];
    assert!(refused(&other(vec![1], 64), &[None, None]).contains("64 are divided, the model has 96"));
    assert!(refused(&other(vec![1, 96], 96), &[None, None]).contains("96 among those"));
    assert!(refused(&other(vec![5, 5], 96), &[None, None]).contains("ascending numbers below 96"));
    assert!(refused(&other(vec![-1], 96), &[None, None]).contains("-1 among those"));
    let mut placement = Placement::default();
    placement.put_neurons(0, vec![3], 96);
    let alone =
        Decoder::open(&path, &crate::common::backend(), &how.clone().placement(placement)).map(drop).unwrap_err();
    assert!(alone.to_string().contains("divided over two devices, and there is one"), "{alone}");
}

#[test]
fn files_that_are_no_splits() {
    let folder = Folder::new("neurons-no-split");
    let file = folder.path("split.gguf");
    for (tensors, words) in [
        (vec![("x", vec![1])], "'blk.0.gpu_idx' is missing"),
        (vec![("blk.0.gpu_idx", vec![0, 2])], "element 1 is 2: 0 and 1"),
        (vec![("blk.0.gpu_idx", vec![0, 1]), ("blk.0.gpu_bucket", vec![0])], "'blk.0.gpu_bucket'"),
    ] {
        write_split(&file, &tensors);
        let error = read_split(&file).unwrap_err();
        assert!(error.kind() == ErrorKind::Format && error.to_string().contains(words), "{error}");
        assert!(error.to_string().contains("split.gguf"), "{error}");
    }
    let bytes = std::fs::read(&file).unwrap();
    for n in [4, 9, 40, bytes.len() - 40] {
        std::fs::write(&file, &bytes[..n]).unwrap();
        assert_eq!(read_split(&file).unwrap_err().kind(), ErrorKind::Format, "{n} bytes");
    }
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(read_split(&file).unwrap(), None);
    assert_eq!(read_split(folder.path("none")).unwrap_err().kind(), ErrorKind::Io);
}
