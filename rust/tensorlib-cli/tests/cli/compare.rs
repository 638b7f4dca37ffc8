//! `compare`: its numbers equal those of a direct computation, and its exit code reports differences.

use crate::common::*;
use tensorlib::DType;

#[test]
fn numbers_of_a_round_trip() {
    let folder = Folder::new("compare-numbers");
    let (a, b) = (folder.path("a.gguf"), folder.path("b.gguf"));
    let n = 512 * 2100; // more than one piece
    let x = values(n, 0);
    write_gguf(&a, &[("w", &[512, 2100], &x), ("norm", &[4], &[1., 2., 3., 4.])]);
    tool(&["quantize", &a, &b, "--type", "q4_k"]).expect(0, &[]);
    let back = DType::Q4_K.dequantize(&DType::Q4_K.quantize(&x, 512, None).unwrap()).unwrap();
    let (mut off, mut whole, mut max, mut at) = (0f64, 0f64, 0f64, 0);
    for (i, (x, y)) in x.iter().zip(&back).enumerate() {
        let d = f64::from(*x) - f64::from(*y);
        (off, whole) = (off + d * d, whole + f64::from(*x) * f64::from(*x));
        if d.abs() > max {
            (max, at) = (d.abs(), i);
        }
    }
    let json = tool(&["compare", &a, &b, "--json", "--threads", "3"]).json();
    let (row, close) = (&json["tensors"][0], |got: &serde_json::Value, want: f64| {
        // The sums are in another order: n roundings of 2^-53 are below 1e-9.
        assert!((got.as_f64().unwrap() - want).abs() <= 1e-9 * want, "{got} {want}");
    });
    close(&row["rmse"], (off / n as f64).sqrt());
    close(&row["relative"], (off / whole).sqrt());
    close(&row["snr_db"], 10.0 * (whole / off).log10());
    close(&row["max"], max);
    assert_eq!(row["max_at"], serde_json::json!([at % 512, at / 512]));
    assert_eq!((row["type_a"].as_str(), row["type_b"].as_str()), (Some("f32"), Some("q4_K")));
    assert_eq!(json["tensors"][1]["rmse"], 0.0);
    assert_eq!(json["success"], true);
    // Every number of threads gives the same digits.
    assert_eq!(tool(&["compare", &a, &b, "--json", "--threads", "1"]).json(), json);
    tool(&["compare", &a, &b]).expect(0, &["q4_K", "exact", "all"]);
}

#[test]
fn a_limit() {
    let folder = Folder::new("compare-limit");
    let (a, b) = (folder.path("a.gguf"), folder.path("b.safetensors"));
    write_gguf(&a, &[("x", &[4], &[1., 1., 1., 1.]), ("y", &[2], &[1., 1.])]);
    write_safetensors(&b, &[("x", &[4], &[1.1, 1., 1., 1.]), ("y", &[2], &[1., 1.])], &[]);
    tool(&["compare", &a, &b]).expect(0, &[]);
    tool(&["compare", &a, &b, "--fail-above", "0.06"]).expect(0, &[]); // the error is 0.05
    tool(&["compare", &a, &b, "--fail-above", "0.04"]).expect(1, &["relative error above 0.04: x"]);
    let ended = tool(&["compare", &a, &b, "--fail-above", "0.04", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &json["failed"], &json["success"]), (Some(1), &serde_json::json!(["x"]), &false.into()));
    tool(&["compare", &a, &b, "--fail-above", "-1"]).expect(2, &[]);
}

#[test]
fn names_and_shapes_that_differ() {
    let folder = Folder::new("compare-names");
    let (a, b) = (folder.path("a.gguf"), folder.path("b.gguf"));
    write_gguf(&a, &[("same", &[2, 1], &[1., 2.]), ("gone", &[1], &[0.]), ("shape", &[2, 3], &values(6, 0))]);
    write_gguf(&b, &[("shape", &[3, 2], &values(6, 0)), ("new", &[1], &[0.]), ("same", &[2], &[1., 2.])]);
    let words = ["only in A: gone", "only in B: new", "shapes differ: shape: 2 x 3 in A, 3 x 2 in B", "exact"];
    tool(&["compare", &a, &b]).expect(1, &words);
    let ended = tool(&["compare", &a, &b, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["only_in_a"], serde_json::json!(["gone"]));
    assert_eq!(json["shapes_differ"][0]["a"], serde_json::json!([2, 3]));
    tool(&["compare", &a, &a]).expect(0, &[]);
}

#[test]
fn types_without_values_are_named_and_the_rest_is_compared() {
    let folder = Folder::new("compare-bool");
    let (a, b) = (folder.path("a.safetensors"), folder.path("b.safetensors"));
    let one = 1f32.to_le_bytes();
    write_raw_safetensors(&a, &[("mask", "BOOL", &[2], &[1, 0]), ("w", "F32", &[1], &one)]);
    write_raw_safetensors(&b, &[("mask", "U8", &[2], &[1, 0]), ("w", "F32", &[1], &one)]);
    let words = ["not compared: mask: bool in A, u8 in B: the engine has no such type", "exact"];
    tool(&["compare", &a, &b]).expect(0, &words);
    let json = tool(&["compare", &a, &b, "--json"]).json();
    assert_eq!((&json["not_compared"][0]["name"], json["tensors"].as_array().unwrap().len()), (&"mask".into(), 1));
}

#[test]
fn values_that_are_not_finite() {
    let folder = Folder::new("compare-nan");
    let (a, b) = (folder.path("a.gguf"), folder.path("b.gguf"));
    write_gguf(&a, &[("x", &[3], &[1., f32::NAN, f32::INFINITY]), ("zero", &[2], &[0., 0.])]);
    write_gguf(&b, &[("x", &[3], &[1., 2., f32::INFINITY]), ("zero", &[2], &[0., 0.])]);
    tool(&["compare", &a, &a]).expect(0, &["exact"]);
    tool(&["compare", &a, &b]).expect(1, &["not finite in one of both: x: 1 elements"]);
}
