//! Types of safetensors files that the engine lacks: 8-bit floats are read as F32, others are left out.

use crate::common::*;
use tensorlib::{DType, Gguf};

/// 1 to 1.875 in E4M3, in eighths, and these values as floats.
fn eighths(n: usize) -> (Vec<u8>, Vec<f32>) {
    ((0..n).map(|i| 0x38 | (i % 8) as u8).collect(), (0..n).map(|i| 1.0 + (i % 8) as f32 / 8.0).collect())
}

#[test]
fn eight_bit_floats_are_what_the_plan_says() {
    let folder = Folder::new("types-fp8");
    let (input, output) = (folder.path("m.safetensors"), folder.path("q.gguf"));
    let (codes, x) = eighths(64 * 3);
    // 2 and -0.5 in E5M2.
    let tensors: [(&str, &str, &[usize], &[u8]); 4] = [
        ("w.weight", "F8_E4M3", &[3, 64], &codes),
        ("kept.weight", "F8_E5M2", &[1, 2], &[0x40, 0xB8]),
        ("norm", "F8_E4M3", &[8], &codes[..8]),
        ("n", "I64", &[1], &7i64.to_le_bytes()),
    ];
    write_raw_safetensors(&input, &tensors);
    let args = ["quantize", &input, &output, "--type", "q8_0", "--keep", "kept*=same", "--verbose"];
    tool(&args).expect(0, &["4 tensors, 210 B -> ", "w.weight f8_e4m3 -> q8_0", "kept.weight f8_e5m2 -> f32"]);
    let file = Gguf::open(&output).unwrap();
    let data = |name| (file.tensor_info(name).unwrap().dtype, file.tensor_info(name).unwrap().data.to_vec());
    assert_eq!(data("w.weight"), (DType::Q8_0, DType::Q8_0.quantize(&x, 64, None).unwrap()));
    assert_eq!(data("kept.weight"), (DType::F32, as_bytes(&[2.0, -0.5])));
    assert_eq!(data("norm"), (DType::F32, as_bytes(&x[..8])));
    assert_eq!(data("n"), (DType::I64, 7i64.to_le_bytes().to_vec()));
    tool(&["inspect", &input]).expect(0, &["f8_e4m3", "f8_e5m2", "192 B"]);
    // All 256 codes survive the round trip.
    tool(&["quantize", &input, &output, "--type", "f32", "--force"]).expect(0, &[]);
    tool(&["compare", &input, &output, "--fail-above", "0"]).expect(0, &["exact"]);
}

#[test]
fn scales_that_would_not_be_applied() {
    let folder = Folder::new("types-scales");
    let (input, output) = (folder.path("m.safetensors"), folder.path("q.gguf"));
    let (codes, x) = eighths(64);
    let run = |weight: &str, scale: &str, more: &[&str]| {
        let half = 0.5f32.to_le_bytes();
        write_raw_safetensors(&input, &[(weight, "F8_E4M3", &[2, 32], &codes), (scale, "F32", &[1], &half)]);
        tool(&[&["quantize", &input, &output, "--type", "q8_0", "--force"][..], more].concat())
    };
    for scale in ["a.weight_scale_inv", "a.weight_scale", "a.scale_weight", "a.weight.scale"] {
        run("a.weight", scale, &[]).expect(1, &["'a.weight' is f8_e4m3", scale, "hint", "--skip '*", "bf16"]);
    }
    run("w", "w_scale", &[]).expect(1, &["'w_scale'"]);
    assert_eq!(folder.names(), ["m.safetensors"]);
    run("a.weight", "a.input_scale", &[]).expect(0, &["2 tensors"]);
    // Skipping the scales explicitly gives the bare values.
    run("a.weight", "a.weight_scale_inv", &["--skip", "*weight_scale_inv"]).expect(0, &["1 tensor,"]);
    let file = Gguf::open(&output).unwrap();
    assert_eq!(file.tensor_info("a.weight").unwrap().data, DType::Q8_0.quantize(&x, 32, None).unwrap());
}

#[test]
fn types_that_gguf_lacks_are_left_out() {
    let folder = Folder::new("types-none");
    let (input, output) = (folder.path("m.safetensors"), folder.path("q.gguf"));
    let tensors: [(&str, &str, &[usize], &[u8]); 7] = [
        ("mask", "BOOL", &[2], &[1, 0]),
        ("bytes", "U8", &[2], &[1, 2]),
        ("u16", "U16", &[1], &[1, 2]),
        ("i8", "I8", &[2], &[1, 2]),
        ("i16", "I16", &[1], &[1, 2]),
        ("u32", "U32", &[1], &[1, 2, 3, 4]),
        ("u64", "U64", &[1], &[0; 8]),
    ];
    write_raw_safetensors(&input, &tensors);
    let words =
        ["warning: left out", ": 5 of 7 tensors: ", "'mask' (bool)", "'bytes' (u8)", "'u16' (u16)", "and 1 more"];
    let args = ["quantize", &input, &output, "--type", "q8_0"];
    let dry = [&args[..], &["--dry-run"]].concat();
    tool(&dry).expect(0, &words).expect(0, &["2 tensors", "left out, as GGUF has no such type"]);
    tool(&args).expect(0, &words).expect(0, &["2 tensors", "left out, as GGUF has no such type: 5"]);
    let file = Gguf::open(&output).unwrap();
    let names: Vec<String> = file.tensors().map(|t| t.name.to_string()).collect();
    assert_eq!(names, ["i8", "i16"]);
    assert_eq!(file.tensor_info("i16").unwrap().data, [1, 2]);
    // Tensors skipped by name need no warning.
    let skip = ["--force", "--skip", "u*", "--skip", "mask", "--skip", "bytes"];
    let ended = tool(&[&args[..], &skip].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    // Only tensors of such types.
    write_raw_safetensors(&input, &tensors[..3]);
    tool(&[&args[..], &["--force"]].concat()).expect(1, &["nothing is left to write", "3 have types that GGUF lacks"]);
    // Tensors whose values cannot be read can neither be compared nor be weights.
    tool(&["compare", &input, &input]).expect(1, &["'mask' is of type bool"]);
    let small = folder.path("s.gguf");
    small_model(&small);
    tool(&["quantize", &small, &output, "--force", "--type", "q8_0", "--importance", &input])
        .expect(1, &["'mask' is of type bool"]);
}
