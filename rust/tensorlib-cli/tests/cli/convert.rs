//! `convert`: the file that the command makes of a folder, and what it refuses.

use crate::common::*;
use std::path::Path;
use tensorlib::Gguf;

const CONFIG: &str = r#"{"model_type": "qwen3", "num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1,
"head_dim": 16, "intermediate_size": 64, "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "vocab_size": 8, "rope_theta": 10000,
"tie_word_embeddings": true}"#;
const TOKENIZER: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null,
"added_tokens": [{"id": 0, "content": "<end>", "special": true, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}],
"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
"decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
"model": {"type": "BPE", "dropout": null, "unk_token": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
"vocab": {"<end>": 0, "a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "ab": 6, "cd": 7}, "merges": ["a b", "c d"]}}"#;

/// Writes a tiny Qwen 3.
fn model(folder: &Folder) -> String {
    let path = folder.path("tiny");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(format!("{path}/config.json"), CONFIG).unwrap();
    std::fs::write(format!("{path}/tokenizer.json"), TOKENIZER).unwrap();
    let shapes: [(&str, &[i64]); 13] = [
        ("embed_tokens", &[32, 8]),
        ("norm", &[32]),
        ("layers.0.input_layernorm", &[32]),
        ("layers.0.post_attention_layernorm", &[32]),
        ("layers.0.self_attn.q_proj", &[32, 32]),
        ("layers.0.self_attn.k_proj", &[32, 16]),
        ("layers.0.self_attn.v_proj", &[32, 16]),
        ("layers.0.self_attn.o_proj", &[32, 32]),
        ("layers.0.self_attn.q_norm", &[16]),
        ("layers.0.self_attn.k_norm", &[16]),
        ("layers.0.mlp.gate_proj", &[32, 64]),
        ("layers.0.mlp.up_proj", &[32, 64]),
        ("layers.0.mlp.down_proj", &[64, 32]),
    ];
    let all: Vec<(String, &[i64], Vec<f32>)> = shapes
        .iter()
        .enumerate()
        .map(|(i, (name, shape))| {
            (format!("model.{name}.weight"), *shape, values(shape.iter().product::<i64>() as usize, i))
        })
        .collect();
    let tensors: Vec<(&str, &[i64], &[f32])> = all.iter().map(|(n, s, v)| (n.as_str(), *s, v.as_slice())).collect();
    write_safetensors(&format!("{path}/model.safetensors"), &tensors, &[]);
    path
}

#[test]
fn a_folder_becomes_a_file() {
    let folder = Folder::new("convert");
    let (input, output) = (model(&folder), folder.path("tiny.gguf"));
    let ended = tool(&["convert", &input, &output]);
    ended.expect(0, &["tiny.gguf: qwen3, 13 tensors"]);
    assert_eq!(ended.err, "");
    let logits = |path: &str| tool(&["logits", path, "--tokens", "1,6,3,7,2"]).expect(0, &[]).out.clone();
    assert_eq!(logits(&input), logits(&output));
    let file = Gguf::open(&output).unwrap();
    assert_eq!(file.string("general.architecture").unwrap(), "qwen3");
    assert_eq!((file.u64("general.file_type").unwrap(), file.string("general.name").unwrap().as_str()), (0, "tiny"));
    drop(file);
    // Existing files stay, unless --force is said.
    tool(&["convert", &input, &output]).expect(3, &["exists already", "--force"]);
    tool(&["convert", &input, &output, "--force", "--type", "Q8_0", "-v"])
        .expect(0, &["[1/13] token_embd.weight f32 -> q8_0"]);
    let file = Gguf::open(&output).unwrap();
    assert_eq!((file.u64("general.file_type").unwrap(), file.u64("general.quantization_version").unwrap()), (7, 2));
    drop(file);
    let shown = tool(&["convert", &input, "none.gguf", "--dry-run", "--type", "f16"]);
    shown.expect(0, &["blk.0.attn_q.weight", "f16", "qwen3: 13 tensors", "nothing was written"]);
    assert_eq!(folder.names(), ["tiny", "tiny.gguf"]);
    // A file in the folder itself is as good as any other.
    let inside = format!("{input}/model.gguf");
    tool(&["convert", &input, &inside, "-q"]).expect(0, &[]);
    assert_eq!(logits(&input), logits(&inside));
}

#[test]
fn what_is_refused_leaves_nothing() {
    let folder = Folder::new("convert-refused");
    let (input, output) = (model(&folder), folder.path("out.gguf"));
    let refuse = |code: i32, words: &[&str], args: &[&str]| {
        tool(&[&["convert"], args].concat()).expect(code, words);
        assert!(!Path::new(&output).exists());
    };
    refuse(3, &["there is no folder", "typing mistake"], &[&folder.path("nowhere"), &output]);
    refuse(1, &["is a file: a model's folder is valid", "quantize"], &[&format!("{input}/config.json"), &output]);
    refuse(3, &["is a folder", "name the file"], &[&input, &input]);
    refuse(2, &["is the input as well"], &[&input, &format!("{input}/model.safetensors"), "--force"]);
    refuse(3, &["there is no folder"], &[&input, &folder.path("none/out.gguf")]);
    refuse(2, &["invalid value 'i32'"], &[&input, &output, "--type", "i32"]);
    let change = |name: &str, text: Option<&str>| match text {
        Some(text) => std::fs::write(format!("{input}/{name}"), text).unwrap(),
        None => std::fs::remove_file(format!("{input}/{name}")).unwrap(),
    };
    change("config.json", Some(&CONFIG.replace("qwen3", "mpnet")));
    refuse(1, &["architecture 'mpnet' has no GGUF form that is known"], &[&input, &output]);
    change("config.json", Some(&CONFIG.replace("qwen3", "unheard")));
    refuse(1, &["architecture 'unheard' is not known"], &[&input, &output]);
    change("config.json", Some(CONFIG));
    change("tokenizer.json", None);
    refuse(3, &["tokenizer.json"], &[&input, &output]);
    change("tokenizer.json", Some(TOKENIZER));
    change("model.safetensors", None);
    refuse(3, &["model.safetensors"], &[&input, &output]);
    assert_eq!(folder.names(), ["tiny"]);
}

/// A limit for files, which stands for a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full() {
    let folder = Folder::new("convert-full");
    let (input, output) = (model(&folder), folder.path("out.gguf"));
    // Files of up to 8 blocks of 512 bytes: enough for the keys, and too little for the tensors.
    let line = format!("ulimit -f 16; trap '' XFSZ; exec {} convert {input} {output}", env!("CARGO_BIN_EXE_tensorlib"));
    ended(std::process::Command::new("sh").args(["-c", &line])).expect(3, &["out.gguf"]);
    assert_eq!(folder.names(), ["tiny"]);
}
