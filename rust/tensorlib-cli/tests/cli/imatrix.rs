//! `imatrix`: from a model to weights that `quantize` takes, and the older format of such files.

use crate::common::*;
use tensorlib::{DType, Gguf};

const PLAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.gguf");

#[test]
fn weights_of_columns_go_from_one_command_to_the_other() {
    let folder = Folder::new("imatrix");
    let (text, output) = (folder.path("text"), folder.path("i.gguf"));
    std::fs::write(&text, "ROMEO:\nNo matter, go to me and do this tender be blow.\n".repeat(20)).unwrap();
    let ended = tool(&["imatrix", PLAYS, &text, "-o", &output, "--ctx", "64", "-n", "400"]);
    ended.expect(0, &["i.gguf: ", " tensors, from ", " windows of 64 tokens"]);
    let file = Gguf::open(&output).unwrap();
    assert_eq!(file.string("general.type").unwrap(), "imatrix");
    let model = Gguf::open(PLAYS).unwrap();
    let name = "blk.0.ffn_down.weight";
    let row = model.tensor_info(name).unwrap().shape[0];
    assert_eq!(file.tensor_info(&format!("{name}.in_sum2")).unwrap().shape, [row, 1]);
    // The quantised weights differ from those without importance, and have a smaller error where it matters.
    let quantize = |out: &str, more: &[&str]| {
        let args = ["quantize", PLAYS, out, "--type", "q4_0", "--pure", "--allow-requantize"];
        tool(&[&args[..], more].concat()).expect(0, &[]);
        Gguf::open(out).unwrap().tensor_info(name).unwrap().data.to_vec()
    };
    let plain = quantize(&folder.path("plain.gguf"), &[]);
    let weighted = quantize(&folder.path("weighted.gguf"), &["--imatrix", &output]);
    let sums = DType::F32.dequantize(file.tensor_info(&format!("{name}.in_sum2")).unwrap().data).unwrap();
    let original = model.tensor_info(name).unwrap();
    let original = original.dtype.dequantize(original.data).unwrap();
    let error = |bytes: &[u8]| {
        let values = DType::Q4_0.dequantize(bytes).unwrap();
        let of = |(i, (a, b)): (usize, (&f32, &f32))| f64::from(sums[i % sums.len()]) * f64::from(a - b).powi(2);
        values.iter().zip(&original).enumerate().map(of).sum::<f64>()
    };
    assert!(error(&weighted) < 0.98 * error(&plain), "{} {}", error(&weighted), error(&plain));
}

#[test]
fn files_of_the_older_format_are_read() {
    let folder = Folder::new("imatrix-dat");
    let (input, dat, output) = (folder.path("m.gguf"), folder.path("imatrix.dat"), folder.path("q.gguf"));
    let x = values(64 * 4, 0);
    write_gguf(&input, &[("blk.0.ffn_up.weight", &[64, 4], &x)]);
    let weights: Vec<f32> = (0..64).map(|i| 0.5 + (i % 5) as f32).collect();
    let number = |n: usize| (n as u32).to_le_bytes().to_vec();
    let entry = |name: &str, values: &[f32]| {
        let values: Vec<f32> = values.iter().map(|v| v * 4.0).collect(); // times the number of runs
        [number(name.len()), name.into(), number(4), number(values.len()), as_bytes(&values)].concat()
    };
    let end = [number(4), number(8), b"text.txt".to_vec()].concat();
    let bytes = [number(1), entry("blk.0.ffn_up.weight", &weights), end].concat();
    std::fs::write(&dat, &bytes).unwrap();
    let args = ["quantize", &input, &output, "--type", "q4_0", "--force", "--imatrix", &dat];
    tool(&args).expect(0, &[]);
    let file = Gguf::open(&output).unwrap();
    let want = DType::Q4_0.quantize(&x, 64, Some(&weights)).unwrap();
    assert_eq!(file.tensor_info("blk.0.ffn_up.weight").unwrap().data, want);
    // A file of this format that is cut is none, and neither is one of other numbers.
    for n in [0, 3, 8, 12, 40, bytes.len() / 2] {
        std::fs::write(&dat, &bytes[..n]).unwrap();
        tool(&args).expect(4, &["imatrix.dat"]);
    }
    std::fs::write(&dat, [number(1), entry("blk.0.ffn_up.weight", &[1.0; 60])].concat()).unwrap();
    tool(&args).expect(1, &["has 60 weights: 64 is valid"]);
}

#[test]
fn bad_input_is_refused_and_leaves_nothing() {
    let folder = Folder::new("imatrix-bad");
    let (text, output) = (folder.path("text"), folder.path("i.gguf"));
    std::fs::write(&text, "ROMEO:\n").unwrap();
    tool(&["imatrix", PLAYS, &text, "-o", &output]).expect(1, &["a window, is the least", "--ctx"]);
    tool(&["imatrix", PLAYS, &folder.path("none"), "-o", &output]).expect(3, &["none"]);
    tool(&["imatrix", PLAYS, &text, "-o", &output, "--ctx", "0"]).expect(2, &["--ctx"]);
    tool(&["imatrix", &text, &text, "-o", &output]).expect(4, &["neither GGUF nor safetensors"]);
    tool(&["imatrix", PLAYS, &text, "-o", &text]).expect(2, &["is the input as well"]);
    assert_eq!(folder.names(), ["text"]);
}
