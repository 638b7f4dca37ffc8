//! `quantize --target-size`: a file of at most the size, with the types that lose least.

use crate::common::*;
use tensorlib::{DType, Gguf, GgufWriterOptions};

/// A model of four matrices with metadata of odd lengths, and tensors whose types are not chosen.
fn model(path: &str) {
    let mut writer = GgufWriterOptions::new().create(path).unwrap();
    writer.set("general.architecture", "llama").unwrap();
    writer.set("general.name", "an odd name!").unwrap();
    writer.set("test.texts", vec!["a".to_string(), "bcd".to_string()]).unwrap();
    writer.set("test.floats", vec![1.5f32, 2.5, 3.5]).unwrap();
    let all: Vec<Vec<f32>> = (0..4).map(|i| values(256 * 64, i)).collect();
    let small = values(256 * 3, 9);
    finish(
        writer,
        &[
            ("token_embd.weight", &[256, 64], &all[0]),
            ("blk.0.attn_q.weight", &[256, 64], &all[1]),
            ("blk.0.ffn_up.weight", &[256, 64], &all[2]),
            ("blk.0.ffn_down.weight", &[256, 16, 4], &all[3]),
            ("blk.0.attn_norm.weight", &[256], &small[..256]),
            ("blk.0.ffn_gate_inp.weight", &[256, 3], &small),
        ],
    );
}

#[test]
fn a_file_is_as_large_as_it_may_be() {
    let folder = Folder::new("target-size");
    let (input, output) = (folder.path("m.gguf"), folder.path("q.gguf"));
    model(&input);
    let whole = std::fs::metadata(&input).unwrap().len();
    // In the smallest type the matrices take 1.56 bits a weight.
    let least: u64 = tool(&["quantize", &input, &output, "--target-size", "1K"])
        .expect(1, &["the smallest possible is", "hint"])
        .err
        .split(" (")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let mut errors = Vec::new();
    for size in [least, least + 1000, 24_000, 40_000, 70_000, 130_000, whole + 1000] {
        let ended = tool(&["quantize", &input, &output, "--force", "--target-size", &size.to_string()]);
        ended.expect(0, &["4 tensors of chosen types", "bits a weight", "(root mean square)"]);
        let file = std::fs::metadata(&output).unwrap().len();
        // The largest step of a matrix of 16384 weights is that from 16 to 32 bits.
        assert!(file <= size && (size > whole || size - file <= 33_000), "{file} of {size}");
        if size == least {
            assert!(least - file <= 128, "{file} of {size}"); // the margin for keys
        }
        let json = tool(&["compare", &input, &output, "--json"]).json();
        let rows = json["tensors"].as_array().unwrap();
        errors.push(rows.iter().map(|row| row["relative"].as_f64().unwrap().powi(2)).sum::<f64>());
        let read = Gguf::open(&output).unwrap();
        assert_eq!(read.tensor_info("blk.0.ffn_gate_inp.weight").unwrap().dtype, DType::F32);
    }
    assert!(errors.windows(2).all(|pair| pair[1] <= pair[0]), "{errors:?}");
    assert_eq!(errors[errors.len() - 1], 0.0);
}

#[test]
fn no_mix_of_two_types_loses_less() {
    let folder = Folder::new("target-best");
    let (input, output, other) = (folder.path("m.gguf"), folder.path("q.gguf"), folder.path("o.gguf"));
    model(&input);
    let error = |path: &str| {
        let json = tool(&["compare", &input, path, "--json"]).json();
        let rows = json["tensors"].as_array().unwrap();
        rows.iter().map(|row| row["relative"].as_f64().unwrap().powi(2)).sum::<f64>()
    };
    for (main, keep) in
        [("q4_k", "*ffn*=q6_k"), ("q6_k", "*q*=q3_k"), ("q5_0", "*embd*=q8_0"), ("iq3_s", "*down*=q5_k")]
    {
        let args =
            ["quantize", &input, &other, "--force", "--pure", "--type", main, "--keep", keep, "--keep", "*inp*=same"];
        tool(&args).expect(0, &[]);
        let size = std::fs::metadata(&other).unwrap().len();
        // The plan leaves room for keys that the other file may lack.
        tool(&["quantize", &input, &output, "--force", "--target-size", &(size + 128).to_string()]).expect(0, &[]);
        assert!(error(&output) <= 1.001 * error(&other), "{main} {keep}: {} {}", error(&output), error(&other));
    }
}

#[test]
fn kept_types_weights_and_bad_options() {
    let folder = Folder::new("target-options");
    let (input, output, weights) = (folder.path("m.gguf"), folder.path("q.gguf"), folder.path("w.gguf"));
    model(&input);
    let args = ["quantize", &input, &output, "--force", "--target-size", "40K"];
    let run = |more: &[&str]| tool(&[&args[..], more].concat());
    run(&["--keep", "*attn_q*=q8_0"]).expect(0, &["3 tensors of chosen types"]);
    let file = Gguf::open(&output).unwrap();
    assert_eq!(file.tensor_info("blk.0.attn_q.weight").unwrap().dtype, DType::Q8_0);
    assert!(std::fs::metadata(&output).unwrap().len() <= 40 << 10);
    // Weights change what loses least.
    let first: Vec<f32> = (0..256).map(|i| if i < 128 { 1000.0 } else { 0.001 }).collect();
    write_gguf(&weights, &[("blk.0.ffn_up.weight", &[256], &first), ("blk.0.attn_q.weight", &[256], &first)]);
    run(&["--imatrix", &weights]).expect(0, &["4 tensors of chosen types"]);
    write_gguf(&weights, &[("blk.0.ffn_up.weight", &[255], &first[..255])]);
    run(&["--imatrix", &weights]).expect(1, &["has 255 weights: 256 is valid"]);
    run(&["--type", "q4_0"]).expect(2, &["cannot be used with"]);
    run(&["--split-size", "1K"]).expect(2, &["cannot be used with"]);
    run(&["--pure"]).expect(2, &["--pure", "cannot be used with"]);
    run(&["--dry-run"]).expect(0, &["by --target-size", "nothing was written"]);
    tool(&["quantize", &input, &output, "--target-size", "x"]).expect(2, &["4G"]);
    // Quantised tensors stay, and count.
    tool(&["quantize", &input, &weights, "--force", "--type", "q4_0"]).expect(0, &[]);
    tool(&["quantize", &weights, &output, "--force", "--target-size", "1M"])
        .expect(0, &["0 tensors of chosen types", "quantised already"]);
    tool(&["quantize", &weights, &output, "--force", "--target-size", "20K", "--allow-requantize"])
        .expect(0, &["loses twice"]);
}
