//! Models in several safetensors files: any shard, or the index, stands for all.

use crate::common::*;
use serde_json::json;
use tensorlib::{DType, Gguf};

/// Writes shards of one tensor each, `t0`, `t1` ..., under these names.
fn write_shards(folder: &Folder, names: &[&str]) {
    for (i, name) in names.iter().enumerate() {
        let tensor = format!("t{i}");
        write_safetensors(&folder.path(name), &[(&tensor, &[64, 2], &values(128, i))], &[("format", "pt")]);
    }
}

const THREE: [&str; 3] =
    ["m-00001-of-00003.safetensors", "m-00002-of-00003.safetensors", "m-00003-of-00003.safetensors"];
const INDEX: &str = "m.safetensors.index.json";

fn write_index(folder: &Folder, map: serde_json::Value) -> String {
    let path = folder.path(INDEX);
    let index = json!({ "metadata": { "total_size": 1536 }, "weight_map": map });
    std::fs::write(&path, index.to_string()).unwrap();
    path
}

/// Checks that a file has the tensors of n shards, in their order and with their values.
fn check_output(path: &str, n: usize) {
    let file = Gguf::open(path).unwrap();
    let names: Vec<String> = file.tensors().map(|t| t.name.to_string()).collect();
    assert_eq!(names, (0..n).map(|i| format!("t{i}")).collect::<Vec<_>>());
    for i in 0..n {
        let want = DType::Q8_0.quantize(&values(128, i), 64, None).unwrap();
        assert_eq!(file.tensor_info(&format!("t{i}")).unwrap().data, want);
    }
}

#[test]
fn any_shard_stands_for_all() {
    let two = ["m-00000-of-00002.safetensors", "m-00001-of-00002.safetensors"];
    let eleven: Vec<String> = (1..=11).map(|i| format!("a model-{i}-of-11.safetensors")).collect();
    let eleven: Vec<&str> = eleven.iter().map(String::as_str).collect();
    for (case, names) in [&THREE[..], &two, &eleven].into_iter().enumerate() {
        let folder = Folder::new(&format!("shards-any-{case}"));
        write_shards(&folder, names);
        let output = folder.path("q.gguf");
        for name in names {
            tool(&["quantize", &folder.path(name), &output, "--type", "q8_0", "--force"]).expect(0, &[]);
            check_output(&output, names.len());
        }
        let path = folder.path(names[1]);
        tool(&["inspect", &path]).expect(0, &[&format!("safetensors, {} parts", names.len()), "t0", "t1", "pt"]);
        assert_eq!(tool(&["inspect", "--json", &path]).json()["files"][0]["parts"], names.len());
        tool(&["compare", &path, &output]).expect(0, &["t0", "t1"]);
    }
    // A single shard, and a name that only looks numbered.
    let folder = Folder::new("shards-one");
    for name in ["m-00001-of-00001.safetensors", "m-5-of-3.safetensors"] {
        write_shards(&folder, &[name]);
        tool(&["quantize", &folder.path(name), &folder.path("q.gguf"), "--type", "q8_0", "--force"])
            .expect(0, &["1 tensor,"]);
    }
}

#[test]
fn a_missing_shard_is_named() {
    let folder = Folder::new("shards-missing");
    write_shards(&folder, &THREE);
    std::fs::remove_file(folder.path(THREE[1])).unwrap();
    let (input, output) = (folder.path(THREE[0]), folder.path("q.gguf"));
    let words = ["is one of 3 shards", "its folder has no m-00002-of-00003.safetensors\n", "hint"];
    tool(&["quantize", &input, &output, "--type", "q8_0"]).expect(3, &words);
    tool(&["inspect", &input]).expect(3, &words);
    std::fs::remove_file(folder.path(THREE[2])).unwrap();
    tool(&["inspect", &input]).expect(3, &["m-00002-of-00003.safetensors, m-00003-of-00003.safetensors"]);
    assert_eq!(folder.names(), [THREE[0]]);
    // Two files with one number: neither is silently dropped.
    std::fs::copy(&input, folder.path("m-1-of-00003.safetensors")).unwrap();
    tool(&["inspect", &input]).expect(3, &["has the number of", "m-1-of-00003.safetensors", "hint"]);
    std::fs::remove_file(folder.path("m-1-of-00003.safetensors")).unwrap();
    // As the hint says.
    std::fs::rename(&input, folder.path("alone.safetensors")).unwrap();
    tool(&["inspect", &folder.path("alone.safetensors")]).expect(0, &["tensors: 1"]);
}

#[test]
fn an_index_names_the_shards() {
    let folder = Folder::new("shards-index");
    // Names without numbers: one in a folder, one through a link, as in caches.
    std::fs::create_dir(folder.path("sub")).unwrap();
    write_shards(&folder, &["a.safetensors", "sub/b.safetensors", "blob"]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path("blob"), folder.path("c.safetensors")).unwrap();
    #[cfg(not(unix))]
    std::fs::rename(folder.path("blob"), folder.path("c.safetensors")).unwrap();
    let map = json!({ "t1": "sub/b.safetensors", "t0": "a.safetensors", "t2": "c.safetensors" });
    let index = write_index(&folder, map);
    let output = folder.path("q.gguf");
    tool(&["quantize", &index, &output, "--type", "q8_0"]).expect(0, &["3 tensors"]);
    let file = Gguf::open(&output).unwrap();
    assert_eq!(file.string("safetensors.metadata.format").unwrap(), "pt");
    tool(&["compare", &index, &output]).expect(0, &[]);
    tool(&["inspect", &index]).expect(0, &["safetensors, 3 parts"]);
    // Tensors that the index leaves out are still read, with a warning.
    let index = write_index(&folder, json!({ "t0": "a.safetensors" }));
    write_safetensors(&folder.path("a.safetensors"), &[("t0", &[1], &[1.]), ("more", &[1], &[1.])], &[]);
    tool(&["inspect", &index]).expect(0, &["warning", "'more'", "tensors: 2"]);
}

#[test]
fn an_index_that_is_not_true() {
    let folder = Folder::new("shards-bad");
    write_shards(&folder, &["a.safetensors", "b.safetensors"]);
    let good = json!({ "t0": "a.safetensors", "t1": "b.safetensors" });
    let with = |key: &str, value: serde_json::Value| {
        let mut map = good.clone();
        map[key] = value;
        map
    };
    let table: Vec<(serde_json::Value, i32, &[&str])> = vec![
        (good.clone(), 0, &["tensors: 2"]),
        (with("x", "c.safetensors".into()), 3, &["not in its folder: c.safetensors", "hint"]),
        (with("x", "a.safetensors".into()), 4, &["'x' is to be in", "a.safetensors, and no shard has it", "hint"]),
        (with("t0", "b.safetensors".into()), 4, &["no shard has it"]),
        (json!({ "t0": "b.safetensors", "t1": "a.safetensors" }), 4, &["'t0' is to be in", "and is in"]),
        (with("x", "../a.safetensors".into()), 4, &["'x' is in '../a.safetensors'", "in the index's folder"]),
        (with("x", "sub/../../a.safetensors".into()), 4, &["in the index's folder"]),
        (with("x", folder.path("a.safetensors").into()), 4, &["in the index's folder"]),
        (with("x", "".into()), 4, &["'x' is in ''"]),
        (with("x", 7.into()), 4, &["'x' is 7: a file is valid"]),
        (json!({}), 4, &["weight_map is empty"]),
        (json!(["a"]), 4, &["without an object 'weight_map'"]),
        (with("x", ".".into()), 4, &["'x' is in '.'"]),
    ];
    for (map, code, words) in &table {
        tool(&["inspect", &write_index(&folder, map.clone())]).expect(*code, words);
    }
    // A tensor in two shards.
    write_safetensors(&folder.path("b.safetensors"), &[("t0", &[1], &[1.]), ("t1", &[1], &[1.])], &[]);
    tool(&["inspect", &write_index(&folder, good)])
        .expect(4, &["b.safetensors: tensor 't0' is in", "a.safetensors too"]);
    // Other JSON, and invalid JSON.
    let path = folder.path("config.json");
    for (text, words) in [("\n {\"a\": 1}     ", "without an object 'weight_map'"), ("{ no JSON at all", "no index")] {
        std::fs::write(&path, text).unwrap();
        tool(&["inspect", &path]).expect(4, &[words, "weight_map"]);
    }
    // A shard that is not safetensors.
    std::fs::write(folder.path("a.safetensors"), "text").unwrap();
    let index = write_index(&folder, json!({ "t0": "a.safetensors" }));
    tool(&["inspect", &index]).expect(4, &["a.safetensors: 4 bytes", "hint"]);
}

#[test]
fn no_shard_is_written_over() {
    let folder = Folder::new("shards-over");
    write_shards(&folder, &THREE);
    let shard = folder.path(THREE[2]);
    let before = std::fs::read(&shard).unwrap();
    let run = |input: &str, output: &str| tool(&["quantize", input, output, "--type", "q8_0", "--force"]);
    run(&folder.path(THREE[0]), &shard).expect(2, &["m-00003-of-00003.safetensors: is the input as well"]);
    let index = write_index(&folder, json!({ "t0": THREE[0], "t1": THREE[1], "t2": THREE[2] }));
    run(&index, &shard).expect(2, &["is the input as well"]);
    run(&index, &index).expect(2, &["is the input as well"]);
    assert_eq!(std::fs::read(&shard).unwrap(), before);
    // Shards of GGUF, too.
    let parts = folder.path("p.gguf");
    tool(&["quantize", &index, &parts, "--type", "f32", "--split-size", "600"]).expect(0, &["3 parts"]);
    run(&folder.path("p-00001-of-00003.gguf"), &folder.path("p-00003-of-00003.gguf"))
        .expect(2, &["is the input as well"]);
}
