//! `transpose-down`: some matrices are transposed, and everything else is unchanged.

use crate::common::*;
use tensorlib::{DType, Gguf, GgufWriter};

fn model(path: &str) {
    write_gguf(
        path,
        &[
            ("blk.0.ffn_down.weight", &[96, 7], &values(96 * 7, 0)),
            ("blk.0.ffn_down.bias", &[7], &values(7, 1)),
            ("blk.11.ffn_down.weight", &[5, 33], &values(165, 2)),
            ("blk.0.ffn_down_exps.weight", &[4, 3, 2], &values(24, 3)),
            ("x.blk.0.ffn_down.weight", &[2, 2], &values(4, 4)),
            ("norm.weight", &[7], &values(7, 5)),
        ],
    );
}

#[test]
fn rows_become_columns() {
    let folder = Folder::new("transpose-rows");
    let (input, output) = (folder.path("m.gguf"), folder.path("t.gguf"));
    model(&input);
    tool(&["transpose-down", &input, &output]).expect(0, &["2 down projections transposed"]);
    let (from, to) = (Gguf::open(&input).unwrap(), Gguf::open(&output).unwrap());
    let names: Vec<String> = to.tensors().map(|t| t.name.to_string()).collect();
    let want: Vec<String> = from
        .tensors()
        .map(|t| match t.name.starts_with("blk") && t.name.ends_with("ffn_down.weight") {
            true => t.name.replace("ffn_down", "ffn_down_t"),
            false => t.name.to_string(),
        })
        .collect();
    assert_eq!(names, want);
    for tensor in from.tensors() {
        let Some(same) = to.tensor_info(tensor.name) else {
            let turned = to.tensor_info(&tensor.name.replace("ffn_down", "ffn_down_t")).unwrap();
            let (columns, rows) = (tensor.shape[0] as usize, tensor.shape[1] as usize);
            assert_eq!(turned.shape, [rows as i64, columns as i64]);
            for (i, value) in turned.data.chunks_exact(4).enumerate() {
                let at = 4 * (i % rows * columns + i / rows);
                assert_eq!(value, &tensor.data[at..at + 4], "{}: {i}", tensor.name);
            }
            continue;
        };
        assert_eq!((same.shape, same.data), (tensor.shape, tensor.data), "{}", tensor.name);
    }
    assert_eq!(to.alignment(), 64);
    assert_eq!(to.string("general.architecture").unwrap(), "test");
    assert!(to.get("test.list").is_some());
    assert_eq!(folder.names(), ["m.gguf", "t.gguf"]);
    // Messages and files as in `quantize`.
    tool(&["transpose-down", &input, &output]).expect(3, &["exists already", "--force"]);
    let quiet = tool(&["transpose-down", &input, &output, "--force", "-q"]);
    assert_eq!((quiet.code, &*quiet.out, &*quiet.err), (Some(0), "", ""));
    let lines = tool(&["transpose-down", &input, &output, "--force", "-v"]);
    assert!(lines.err.contains("[1/6] blk.0.ffn_down.weight -> blk.0.ffn_down_t.weight"), "{}", lines.err);
    let standard = ended(&mut command(&["transpose-down", &input, &input, "--force"]));
    standard.expect(2, &["is the input as well"]);
    let piped = command(&["transpose-down", &input, "-"]).output().unwrap();
    assert_eq!(piped.stdout, std::fs::read(&output).unwrap());
}

#[test]
fn a_matrix_that_is_larger_than_a_piece() {
    let folder = Folder::new("transpose-large");
    let (input, output) = (folder.path("m.gguf"), folder.path("t.gguf"));
    let (columns, rows) = (1031, 2049);
    let mut writer = GgufWriter::create(&input).unwrap();
    writer.set("general.architecture", "test").unwrap();
    writer.declare("blk.3.ffn_down.weight", DType::F16, [columns as i64, rows as i64]).unwrap();
    let bytes: Vec<u8> = (0..columns * rows).flat_map(|i| (i as u16).to_le_bytes()).collect();
    writer.write(&bytes).unwrap();
    writer.finish().unwrap();
    tool(&["transpose-down", &input, &output]).expect(0, &["1 down projection transposed"]);
    let turned = Gguf::open(&output).unwrap();
    let turned = turned.tensor_info("blk.3.ffn_down_t.weight").unwrap();
    assert_eq!((turned.dtype, turned.shape), (DType::F16, vec![rows as i64, columns as i64]));
    for (i, value) in turned.data.chunks_exact(2).enumerate() {
        assert_eq!(u16::from_le_bytes([value[0], value[1]]), (i % rows * columns + i / rows) as u16, "{i}");
    }
}

#[test]
fn what_has_nothing_to_transpose_is_refused() {
    let folder = Folder::new("transpose-refused");
    let (input, output) = (folder.path("m.gguf"), folder.path("t.gguf"));
    small_model(&input);
    tool(&["transpose-down", &input, &output]).expect(1, &["has no matrices blk.*.ffn_down.weight"]);
    write_gguf(&input, &[("blk.0.ffn_down.weight", &[64, 32], &values(64 * 32, 0))]);
    let quantised = folder.path("q.gguf");
    tool(&["quantize", &input, &quantised, "--type", "q4_0", "-q"]).expect(0, &[]);
    tool(&["transpose-down", &quantised, &output]).expect(1, &["'blk.0.ffn_down.weight' is q4_0", "hint", "f16"]);
    let tensors = folder.path("m.safetensors");
    write_safetensors(&tensors, &[("blk.0.ffn_down.weight", &[4, 4], &values(16, 0))], &[]);
    tool(&["transpose-down", &tensors, &output]).expect(1, &["is safetensors: GGUF is valid"]);
    tool(&["transpose-down", &folder.path("none"), &output]).expect(3, &["none"]);
    tool(&["transpose-down", &input, &folder.path("no/t.gguf")]).expect(3, &["there is no folder"]);
    assert_eq!(folder.names(), ["m.gguf", "m.safetensors", "q.gguf"]);
}
