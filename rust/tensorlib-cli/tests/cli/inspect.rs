//! `inspect` and `devices`: as text and as JSON.

use crate::common::*;

#[test]
fn a_gguf_file_as_text() {
    let folder = Folder::new("inspect-text");
    let path = folder.path("m.gguf");
    small_model(&path);
    let words = ["GGUF version 3, alignment 64", "general.architecture", "\"test\"", "array of i32", "(100 elements)"];
    let ended = tool(&["inspect", &path]);
    ended.expect(0, &words).expect(0, &["512 x 6", "12.00 KiB", "blk.1.weight", "bits per weight", "32.0000"]);
    assert!(!ended.out.contains(", 99]"));
    tool(&["inspect", "--full", &path]).expect(0, &[", 98, 99]"]);
    let tensors = tool(&["inspect", "--tensors", &path]);
    assert!(tensors.out.contains("norm.weight") && !tensors.out.contains("general."), "{tensors:?}");
    let metadata = tool(&["inspect", "--metadata", &path]);
    assert!(!metadata.out.contains("norm.weight") && metadata.out.contains("general."), "{metadata:?}");
    let twice = tool(&["inspect", &path, &path]);
    assert_eq!(twice.out.matches("GGUF version 3").count(), 2);
}

#[test]
fn a_gguf_file_as_json() {
    let folder = Folder::new("inspect-json");
    let path = folder.path("m.gguf");
    small_model(&path);
    let json = tool(&["inspect", "--json", &path]).json();
    let file = &json["files"][0];
    assert_eq!(file["format"], "gguf");
    assert_eq!(
        (file["version"].as_u64(), file["alignment"].as_u64(), file["parts"].as_u64()),
        (Some(3), Some(64), Some(1))
    );
    let list = file["metadata"].as_array().unwrap().iter().find(|kv| kv["key"] == "test.list").unwrap();
    assert_eq!((list["type"].as_str(), list["value"].as_array().unwrap().len()), (Some("array of i32"), 100));
    let tensor = &file["tensors"][1];
    assert_eq!(tensor["name"], "blk.1.weight");
    assert_eq!(tensor["shape"], serde_json::json!([256, 4, 3]));
    assert_eq!(tensor["offset"], 512 * 6 * 4);
    assert_eq!(tensor["bytes"], 256 * 12 * 4);
    let totals = &file["totals"];
    assert_eq!(totals["tensors"], 5);
    assert_eq!(totals["types"][0]["type"], "f32");
    assert_eq!(totals["types"][0]["bits_per_weight"], 32.0);
    assert!(tool(&["inspect", "--json", "--tensors", &path]).json()["files"][0].get("metadata").is_none());
}

#[test]
fn a_safetensors_file() {
    let folder = Folder::new("inspect-safetensors");
    // The first bytes decide the kind, whatever the name.
    let path = folder.path("m.gguf");
    write_safetensors(&path, &[("w", &[3, 2], &values(6, 0))], &[("made by", "a test\x1b[31m")]);
    let ended = tool(&["inspect", &path]);
    ended.expect(0, &["safetensors", "made by", "3 x 2", "24 B"]);
    assert!(!ended.out.contains('\x1b'), "a file's text must not reach the terminal as it is");
    let json = tool(&["inspect", "--json", &path]).json();
    assert_eq!(json["files"][0]["format"], "safetensors");
    assert_eq!(json["files"][0]["tensors"][0]["shape"], serde_json::json!([3, 2]));
}

/// Names also come from files, wherever they are shown.
#[test]
fn no_name_steers_the_terminal() {
    let folder = Folder::new("inspect-escapes");
    let (input, other, output) = (folder.path("m.safetensors"), folder.path("o.safetensors"), folder.path("q.gguf"));
    write_raw_safetensors(&input, &[("w\x1b[31m\n", "I8", &[1], &[1]), ("m\x1b[31m", "BOOL", &[1], &[1])]);
    write_raw_safetensors(&other, &[("w\x1b[31m\n", "I8", &[2], &[1, 1])]);
    for args in [
        &["inspect", &input][..],
        &["quantize", &input, &output, "--type", "q8_0", "--verbose"],
        &["quantize", &input, &output, "--type", "q8_0", "--force", "--dry-run"],
        &["compare", &input, &other],
        &["compare", &other, &input],
        &["compare", &input, &input],
    ] {
        let ended = tool(args);
        assert!(!ended.out.contains('\x1b') && !ended.err.contains('\x1b'), "{args:?}: {ended:?}");
        assert!(ended.out.contains("\\u{1b}[31m") || ended.err.contains("\\u{1b}[31m"), "{args:?}: {ended:?}");
    }
}

#[test]
fn a_file_that_fails_does_not_stop_the_others() {
    let folder = Folder::new("inspect-several");
    let (good, missing, text) = (folder.path("m.gguf"), folder.path("none.gguf"), folder.path("text.gguf"));
    small_model(&good);
    std::fs::write(&text, "no model").unwrap();
    let ended = tool(&["inspect", &missing, &good, &text, &good]);
    // The code is that of the first failure; every failure is reported, after the other output.
    ended.expect(3, &["none.gguf: cannot be opened", "text.gguf: begins with", "hint"]);
    assert_eq!(ended.out.matches("GGUF version 3").count(), 2);
    assert_eq!(tool(&["inspect", &text, &missing]).code, Some(4));
    let ended = tool(&["inspect", "--json", &missing, &good]);
    assert_eq!(ended.code, Some(3));
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((json["files"].as_array().unwrap().len(), &json["failed"][0]["path"]), (1, &missing.into()));
    assert!(json["failed"][0]["error"].as_str().unwrap().contains("cannot be opened"), "{json}");
}

#[test]
fn all_types_of_the_reference() {
    let Some(path) = all_types() else { return };
    let json = tool(&["inspect", "--json", &path]).json();
    let file = &json["files"][0];
    assert_eq!(file["tensors"].as_array().unwrap().len(), 35);
    let value = |key: &str| {
        file["metadata"].as_array().unwrap().iter().find(|kv| kv["key"] == key).map(|kv| kv["value"].clone()).unwrap()
    };
    assert_eq!(value("test.u64"), 18_000_000_000_000_000_000u64);
    assert_eq!(value("test.i64"), -9_000_000_000_000_000_000i64);
    assert_eq!(value("test.arr_str"), serde_json::json!(["alpha", "", "gamma γ"]));
    tool(&["inspect", &path]).expect(0, &["-1e300", "weights.iq2_xxs", "3 x 2 x 2 x 2"]);
}

#[test]
fn a_file_without_tensors() {
    let folder = Folder::new("inspect-none");
    let path = folder.path("none.gguf");
    write_gguf(&path, &[]);
    tool(&["inspect", &path]).expect(0, &["tensors: 0"]);
    let json = tool(&["inspect", "--json", &path]).json();
    assert_eq!(json["files"][0]["totals"]["tensors"], 0);
    let out = folder.path("out.gguf");
    tool(&["quantize", &path, &out, "--type", "q4_0"]).expect(0, &["0 tensors"]);
    tool(&["compare", &path, &out]).expect(0, &[]);
}

#[test]
fn devices_are_listed() {
    tool(&["devices"]).expect(0, &["cpu", "threads: ", "baseline"]);
    let json = tool(&["devices", "--json"]).json();
    assert_eq!(json["devices"][0]["name"], "cpu");
    assert!(json["cpu"]["threads"].as_u64().unwrap() >= 1);
    let isas = json["cpu"]["isas"].as_array().unwrap();
    assert_eq!(isas.last().unwrap(), "baseline");
    let ended = command(&["devices"]).env("TENSORLIB_ISA", "sse9").output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
}
