//! `quantize`: the type of each tensor in OUT; the bytes equal those of the crate.

use crate::common::*;
use tensorlib::{DType, Gguf, GgufWriterOptions};

fn types(path: &str) -> Vec<(String, String)> {
    let file = Gguf::open(path).unwrap();
    file.tensors().map(|t| (t.name.to_string(), t.dtype.name())).collect()
}

#[test]
fn a_small_model() {
    let folder = Folder::new("quantize-small");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    small_model(&input);
    let ended = tool(&["quantize", &input, &output, "--type", "Q4_k", "--threads", "2"]);
    ended.expect(0, &["5 tensors", "q8_0: 1 (rows of 96 are no blocks of 256)", "less than 2 dimensions"]);
    assert_eq!(ended.err, "");
    let want = [
        ("blk.0.weight", "q4_K"),
        ("blk.1.weight", "q4_K"),
        ("rows96.weight", "q8_0"),
        ("rows10.weight", "f32"),
        ("norm.weight", "f32"),
    ];
    assert_eq!(types(&output), want.map(|(n, t)| (n.to_string(), t.to_string())));
    let file = Gguf::open(&output).unwrap();
    assert_eq!(file.alignment(), 64);
    assert_eq!(file.u64("general.file_type").unwrap(), 14);
    assert_eq!(file.u64("general.quantization_version").unwrap(), 2);
    assert_eq!(file.string("general.architecture").unwrap(), "test");
    assert!(file.get("test.list").is_some());
    // The bytes equal those of the crate; unconverted tensors are equal byte for byte.
    let blocks = |name| file.tensor_info(name).unwrap().data.to_vec();
    assert_eq!(blocks("blk.0.weight"), DType::Q4_K.quantize(&values(512 * 6, 0), 512, None).unwrap());
    assert_eq!(blocks("rows96.weight"), DType::Q8_0.quantize(&values(96 * 4, 2), 96, None).unwrap());
    assert_eq!(blocks("norm.weight"), as_bytes(&values(512, 4)));
    assert_eq!(blocks("rows10.weight"), as_bytes(&values(40, 3)));
    assert_eq!(folder.names(), ["m.gguf", "q.gguf"]);
}

#[test]
fn every_type() {
    let folder = Folder::new("quantize-types");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    let x = values(512 * 6, 0);
    write_gguf(&input, &[("w", &[512, 6], &x)]);
    let valid = tool(&["quantize", &input, &output, "--type", "no"]);
    for dtype in DType::ALL {
        let ended = tool(&["quantize", &input, &output, "--force", "--type", &dtype.name(), "--pure"]);
        // A name that is one of a mix too is written in capitals.
        let names = [dtype.name(), dtype.name().to_uppercase()];
        if !names
            .iter()
            .any(|name| valid.err.contains(&format!(" {name},")) || valid.err.contains(&format!(" {name}]")))
        {
            ended.expect(2, &["possible values"]);
            continue;
        }
        ended.expect(0, &[]);
        let file = Gguf::open(&output).unwrap();
        let tensor = file.tensor_info("w").unwrap();
        assert_eq!(tensor.dtype, dtype);
        assert_eq!(tensor.data, dtype.quantize(&x, 512, None).unwrap(), "{dtype}");
    }
}

#[test]
fn patterns_first_match_wins() {
    let folder = Folder::new("quantize-keep");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    small_model(&input);
    let keep = ["--keep", "blk.0.*=same", "--keep", "blk.?.weight=q6_k", "--keep", "norm*=f16"];
    for (pure, rows96, rows10) in [(&["--pure"][..], "q8_0", "f32"), (&[], "q4_0", "f16")] {
        let args = [&["quantize", &input, &output, "--force", "--type", "q2_k"], pure, &keep].concat();
        tool(&args).expect(0, &[]);
        let got: Vec<String> = types(&output).into_iter().map(|(_, t)| t).collect();
        assert_eq!(got, ["f32", "q6_K", rows96, rows10, "f16"]);
    }
    let shadowed = ["--force", "--keep", "blk.*=f16", "--keep", "blk.0*=q4_0"];
    tool(&[&["quantize", &input, &output, "--type", "q2_k"][..], &shadowed].concat())
        .expect(0, &["warning: --keep: patterns before it fit all that 'blk.0*' does"]);
    let bad = ["quantize", &input, &output, "--force", "--type", "q2_k", "--keep", "rows10*=q4_0"];
    tool(&bad).expect(1, &["rows10.weight", "rows of 10", "hint"]);
}

/// A model in the shape of a llama: the types of a mix, and what the file says of them.
#[test]
fn mixes_have_several_types() {
    let folder = Folder::new("quantize-mix");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    let x = values(256 * 4, 0);
    let mut writer = GgufWriterOptions::new().create(&input).unwrap();
    writer.set("general.architecture", "llama").unwrap();
    for (key, value) in [("block_count", 8u32), ("attention.head_count", 8), ("attention.head_count_kv", 2)] {
        writer.set(&format!("llama.{key}"), value).unwrap();
    }
    let roles = ["attn_q.weight", "attn_v.weight", "ffn_down.weight", "ffn_gate_inp.weight"];
    let layers = (0..8).rev().flat_map(|i| roles.map(|role| format!("blk.{i}.{role}")));
    let names: Vec<String> =
        ["token_embd.weight", "output.weight"].map(String::from).into_iter().chain(layers).collect();
    let tensors: Vec<(&str, &[i64], &[f32])> =
        names.iter().map(|name| (name.as_str(), &[256, 4][..], &x[..])).collect();
    finish(writer, &tensors);
    let run = |more: &[&str]| {
        let ended = tool(&[&["quantize", &input, &output, "--force", "--type"][..], more].concat());
        ended.expect(0, &[]);
        let file = Gguf::open(&output).unwrap();
        let of = |name: &str| file.tensor_info(name).unwrap().dtype.name();
        let layers = |role: &str| (0..8).map(|i| of(&format!("blk.{i}.{role}.weight"))).collect::<Vec<_>>().join(" ");
        let ends = format!("{} {}", of("token_embd.weight"), of("output.weight"));
        (file.u64("general.file_type").unwrap(), ends, layers("attn_v"), layers("ffn_down"), layers("ffn_gate_inp"))
    };
    let (number, ends, attn_v, down, routes) = run(&["Q4_K_M"]);
    assert_eq!((number, ends.as_str()), (15, "q4_K q6_K"));
    // The first and the last of 8 layers, and every third one between.
    let want = "q6_K q4_K q4_K q6_K q4_K q4_K q6_K q6_K";
    assert_eq!((attn_v.as_str(), down.as_str()), (want, want));
    assert_eq!(routes, ["f32"; 8].join(" "));
    let (number, ends, attn_v, ..) = run(&["iq2_m"]);
    assert_eq!((number, ends, attn_v), (29, "iq3_s q5_K".into(), ["q4_K"; 8].join(" ")));
    // One type for all.
    let (number, ends, attn_v, _, routes) = run(&["q4_0", "--pure"]);
    assert_eq!((number, ends, attn_v, routes), (2, "q4_0 q4_0".into(), ["q4_0"; 8].join(" "), ["q4_0"; 8].join(" ")));
    let (number, ends, ..) = run(&["q4_k"]);
    assert_eq!((number, ends), (14, "q4_K q4_K".into()));
    // A tensor with a type of its own does not count in the rule.
    let (.., attn_v, _, _) = run(&["q3_k_m", "--keep", "blk.0.attn_v.weight=q8_0"]);
    assert_eq!(attn_v, "q8_0 q5_K q5_K q4_K q4_K q4_K q4_K q4_K");
    tool(&["quantize", &input, &output, "--force", "--type", "q4_k_m"]).expect(0, &["q6_K: 9 (of the mix Q4_K_M)"]);
    tool(&["quantize", &input, &output, "--force", "--type", "q4_k_x"]).expect(2, &["Q4_K_M"]);
}

/// Such tensors have two dimensions, but models add their rows: quantised, the model could not be opened.
#[test]
fn tensors_that_are_added_keep_their_types() {
    let folder = Folder::new("quantize-added");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    let x = values(64 * 4, 0);
    let added = ["blk.0.ffn_gate_exps.bias", "position_embd.weight", "token_types.weight", "attn_rel_b.weight"];
    let all: Vec<(&str, &[i64], &[f32])> =
        added.iter().chain(&["blk.0.attn_q.weight"]).map(|name| (*name, &[64, 4][..], &x[..])).collect();
    write_gguf(&input, &all);
    let ended = tool(&["quantize", &input, &output, "--type", "q8_0"]);
    ended.expect(0, &["5 tensors", "f32: 4 (added, not multiplied)"]);
    let want: Vec<(String, String)> = all
        .iter()
        .map(|(name, ..)| (name.to_string(), if added.contains(name) { "f32" } else { "q8_0" }.into()))
        .collect();
    assert_eq!(types(&output), want);
    for name in added {
        let keep = |dtype: &str| {
            let keep = format!("{name}={dtype}");
            tool(&["quantize", &input, &output, "--force", "--type", "q8_0", "--keep", &keep])
        };
        keep("bf16").expect(0, &["bf16: 1 (by --keep)"]);
        keep("q4_0").expect(1, &[name, "models add its rows, which takes f32, f16 or bf16"]);
    }
}

#[test]
fn what_is_skipped_is_left_out() {
    let folder = Folder::new("quantize-skip");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    small_model(&input);
    let args = ["quantize", &input, &output, "--type", "q8_0", "--skip", "rows*", "--skip", "nor?.weight"];
    tool(&[&args[..], &["--dry-run"]].concat()).expect(0, &["left out by --skip", "2 tensors"]);
    tool(&args).expect(0, &["2 tensors", "left out by --skip: 3"]);
    let names: Vec<String> = types(&output).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["blk.0.weight", "blk.1.weight"]);
    let file = Gguf::open(&output).unwrap();
    let want = DType::Q8_0.quantize(&values(256 * 12, 1), 256, None).unwrap();
    assert_eq!(file.tensor_info("blk.1.weight").unwrap().data, want);
}

#[test]
fn a_pattern_that_fits_nothing_is_an_error() {
    let folder = Folder::new("quantize-unused");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    small_model(&input);
    let table: &[(&[&str], &[&str])] = &[
        (&["--keep", "nothing*=q8_0"], &["--keep: no tensor fits 'nothing*'", "hint", "inspect --tensors"]),
        (&["--skip", "blk.0.*", "--skip", "Norm*", "--skip", "x"], &["--skip: no tensor fits 'Norm*', 'x'"]),
        (&["--skip", "norm*", "--keep", "n*=f16"], &["--keep: --skip leaves out all that fits 'n*'"]),
        (&["--skip", "*"], &["nothing is left to write: 5 tensors are left out by --skip"]),
    ];
    for (more, words) in table {
        for dry in [&[][..], &["--dry-run"]] {
            tool(&[&["quantize", &input, &output, "--type", "q8_0"], *more, dry].concat()).expect(1, words);
        }
    }
    assert_eq!(folder.names(), ["m.gguf"]);
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = Folder::new("quantize-dry");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    small_model(&input);
    tool(&["quantize", &input, &output, "--type", "q4_k", "--dry-run"])
        .expect(0, &["nothing was written", "rows of 96"]);
    assert_eq!(folder.names(), ["m.gguf"]);
}

#[test]
fn safetensors_in() {
    let folder = Folder::new("quantize-safetensors");
    let (input, output) = (folder.path("m.safetensors"), folder.path("q.gguf"));
    let x = values(64 * 3, 0);
    write_safetensors(&input, &[("w", &[64, 3], &x), ("b", &[3], &values(3, 1))], &[("format", "pt")]);
    tool(&["quantize", &input, &output, "--type", "q5_1", "--arch", "mine"]).expect(0, &["2 tensors"]);
    let file = Gguf::open(&output).unwrap();
    assert_eq!(file.string("general.architecture").unwrap(), "mine");
    assert_eq!(file.string("safetensors.metadata.format").unwrap(), "pt");
    assert_eq!(file.u64("general.file_type").unwrap(), 9);
    assert_eq!(file.tensor_info("w").unwrap().shape, [64, 3]);
    assert_eq!(file.tensor_info("w").unwrap().data, DType::Q5_1.quantize(&x, 64, None).unwrap());
    tool(&["compare", &input, &output]).expect(0, &["q5_1", "exact"]);
}

#[test]
fn a_file_type_without_number_is_left_out() {
    let folder = Folder::new("quantize-file-type");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    small_model(&input);
    tool(&["quantize", &input, &output, "--type", "nvfp4"]).expect(0, &[]);
    let file = Gguf::open(&output).unwrap();
    assert!(file.get("general.file_type").is_none());
    assert!(file.get("test.list").is_some());
}

#[test]
fn importance_by_either_name() {
    let folder = Folder::new("quantize-importance");
    let (input, output, plain, field) =
        (folder.path("m.gguf"), folder.path("q.gguf"), folder.path("plain.safetensors"), folder.path("imatrix.gguf"));
    let (x, stack) = (values(512 * 6, 0), values(256 * 4 * 3, 5));
    write_gguf(&input, &[("w", &[512, 6], &x), ("stack", &[256, 4, 3], &stack)]);
    let weights: Vec<f32> = (0..512).map(|i| 0.5 + (i % 7) as f32).collect();
    write_safetensors(&plain, &[("w", &[512], &weights), ("other", &[2], &[1., 1.])], &[]);
    let args = ["quantize", &input, &output, "--type", "q4_k", "--force", "--importance"];
    let run = |file: &str, words: &[&str]| {
        tool(&[&args[..], &[file]].concat()).expect(0, words);
        let file = Gguf::open(&output).unwrap();
        ["w", "stack"].map(|name| file.tensor_info(name).unwrap().data.to_vec())
    };
    let want = DType::Q4_K.quantize(&x, 512, Some(&weights)).unwrap();
    assert_ne!(want, DType::Q4_K.quantize(&x, 512, None).unwrap());
    assert_eq!(run(&plain, &["'other'", "1 tensors that are quantised have no weights"])[0], want);
    // An imatrix file: sums over 4, with counts for each matrix of a stack, one of which was never used.
    let sums: Vec<f32> = weights.iter().map(|w| w * 4.0).collect();
    let of_stack: Vec<f32> = (0..256 * 3).map(|i| (1 + i % 5) as f32 * if i < 256 { 2.0 } else { 8.0 }).collect();
    let mut writer = GgufWriterOptions::new().create(&field).unwrap();
    writer.set("general.type", "imatrix").unwrap();
    finish(
        writer,
        &[
            ("w.in_sum2", &[512, 1], &sums),
            ("w.counts", &[1, 1], &[4.0]),
            ("stack.in_sum2", &[256, 3], &of_stack),
            ("stack.counts", &[1, 3], &[2.0, 8.0, 0.0]),
        ],
    );
    let [w, of_stacks] = run(&field, &[]);
    assert_eq!(w, want);
    let mean = |matrix: usize| -> Vec<f32> {
        let n = [2.0, 8.0][matrix];
        of_stack[256 * matrix..256 * (matrix + 1)].iter().map(|s| s / n).collect()
    };
    let part = |matrix: usize, weights: &[f32]| {
        DType::Q4_K.quantize(&stack[1024 * matrix..1024 * (matrix + 1)], 256, Some(weights)).unwrap()
    };
    assert_eq!(of_stacks, [part(0, &mean(0)), part(1, &mean(1)), part(2, &[1.0; 256])].concat());
}

#[test]
fn rows_longer_than_a_piece() {
    let folder = Folder::new("quantize-long");
    let (input, output, importance) = (folder.path("m.gguf"), folder.path("q.gguf"), folder.path("i.gguf"));
    let (row, rows) = ((1 << 20) + 4096, 2); // with one thread a piece has 1 Mi elements
    let x = values(row * rows, 0);
    write_gguf(&input, &[("w", &[row as i64, 2], &x)]);
    let weights: Vec<f32> = (0..row).map(|i| 1.0 + (i % 3) as f32).collect();
    write_gguf(&importance, &[("w", &[row as i64], &weights)]);
    let args = ["quantize", &input, &output, "--type", "q4_0", "--threads", "1", "--importance", &importance];
    tool(&args).expect(0, &[]);
    let file = Gguf::open(&output).unwrap();
    assert_eq!(file.tensor_info("w").unwrap().data, DType::Q4_0.quantize(&x, row, Some(&weights)).unwrap());
}

#[test]
fn split_output() {
    let folder = Folder::new("quantize-split");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    small_model(&input);
    tool(&["quantize", &input, &output, "--type", "q8_0", "--split-size", "5K"]).expect(0, &["parts)"]);
    let names = folder.names();
    assert!(names.len() > 2 && names[1].starts_with("q-00001-of-"), "{names:?}");
    let first = folder.path(&names[1]);
    assert_eq!(types(&first).len(), 5);
    tool(&["inspect", &first]).expect(0, &[" parts"]);
    // Shards in, one file out, without loss.
    let whole = folder.path("whole.gguf");
    tool(&["quantize", &first, &whole, "--type", "q8_0"]).expect(0, &["5 tensors"]);
    tool(&["compare", &first, &whole, "--fail-above", "0"]).expect(0, &["exact"]);
    // A second run would replace them.
    tool(&["quantize", &input, &output, "--type", "q8_0", "--split-size", "5K"])
        .expect(3, &["exists already", "--force"]);
}

#[test]
fn all_types_again() {
    let Some(input) = all_types() else { return };
    let folder = Folder::new("quantize-all");
    let output = folder.path("q.gguf");
    tool(&["quantize", &input, &output, "--type", "q8_0"]).expect(1, &["already", "--allow-requantize"]);
    assert!(folder.names().is_empty());
    tool(&["quantize", &input, &output, "--type", "q8_0", "--allow-requantize"]).expect(0, &["loses twice"]);
    let json = tool(&["compare", &input, &output, "--json"]).json();
    for row in json["tensors"].as_array().unwrap() {
        let limit = if row["type_b"] == "q8_0" { 0.01 } else { 0.0 };
        assert!(row["relative"].as_f64().unwrap() <= limit || row["type_a"] == "f64", "{row}");
    }
}
