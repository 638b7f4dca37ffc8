//! Vectors of encoders, compared with a forward pass in double precision.

use crate::common::encoder::{Family, Spec};
use crate::common::encoder_files::{config, hub_name, metadata, write_folder};
use crate::common::tiny::Tensors;
use crate::common::{backend, error, Folder};
use std::path::{Path, PathBuf};
use tensorlib::{Backend, DType};
use tensorlib_models::{Encoder, EncoderOptions, Pooling};

/// An architecture and how its model is described.
type Known = (&'static str, fn() -> Spec);

/// An architecture of each kind.
const FAMILIES: [Known; 16] = [
    ("bert", Spec::new),
    ("mpnet", Spec::mpnet),
    ("nomic_bert", Spec::nomic),
    ("modernbert", Spec::modernbert),
    ("distilbert", Spec::distilbert),
    ("electra", Spec::electra),
    ("gemma3_text", Spec::gemma),
    ("bert", Spec::jina),
    ("bert", Spec::jina_code),
    ("nomic_bert", Spec::nomic_experts),
    ("new", Spec::gte),
    ("t5", Spec::t5),
    ("mt5", Spec::t5_gated),
    ("deberta-v2", Spec::deberta),
    ("xlm-roberta", Spec::jina3),
    ("deberta-v2", Spec::deberta_convolved),
];

/// Lines of many lengths, some of them equal.
fn lines(spec: &Spec) -> Vec<Vec<u32>> {
    let longest = spec.positions - spec.first_position;
    let lengths = [3, 1, 7, 3, longest, 12, 7, 3, 2, longest - 1, 1];
    let line = |(i, n): (usize, &usize)| (0..*n).map(|j| ((i * 31 + j * j * 5 + 1) % spec.vocabulary) as u32).collect();
    lengths.iter().enumerate().map(line).collect()
}

fn pooling(path: &Path, mode: &str) {
    let modes = ["cls_token", "mean_tokens", "max_tokens"].map(|m| format!("\"pooling_mode_{m}\": {}", m == mode));
    let text = format!("{{\"word_embedding_dimension\": 64, {}}}", modes.join(", "));
    std::fs::write(path.join("1_Pooling/config.json"), text).unwrap();
}

fn worst(encoder: &Encoder, spec: &Spec, tensors: &Tensors, mean: bool) -> f64 {
    let lines = lines(spec);
    let got = encoder.embed_tokens(&lines, |_| true).unwrap();
    assert_eq!(got.len(), lines.len());
    let of = |(got, line): (&Vec<f32>, &Vec<u32>)| error(got, &spec.vector(tensors, line, mean));
    got.iter().zip(&lines).map(of).fold(0.0, f64::max)
}

#[test]
fn vectors_are_those_of_double_precision() {
    let cpu = backend();
    let roberta = Spec { first_position: 2, types: 1, ..Spec::new() };
    let kinds = [
        ("bert", "", Spec::new()),
        ("bert", "bert.", Spec::new()),
        ("xlm-roberta", "roberta.", roberta),
        ("mpnet", "", Spec::mpnet()),
        ("mpnet", "mpnet.", Spec::mpnet()),
        ("nomic_bert", "", Spec::nomic()),
        ("nomic_bert", "bert.", Spec { types: 0, rope_base: 10_000.0, ..Spec::nomic() }),
        ("modernbert", "model.", Spec::modernbert()),
        ("distilbert", "distilbert.", Spec::distilbert()),
        ("electra", "", Spec::electra()),
        ("gemma3_text", "", Spec::gemma()),
        ("bert", "", Spec::jina()),
        ("bert", "bert.", Spec::jina_code()),
        ("new", "", Spec::gte()),
        ("new", "new.", Spec { types: 0, ..Spec::gte() }),
        ("gte", "", Spec { stretch: 1.0, ..Spec::gte() }),
        ("nomic_bert", "", Spec::nomic_experts()),
        ("nomic_bert", "bert.", Spec::nomic_experts()),
        ("t5", "", Spec::t5()),
        ("mt5", "", Spec::t5_gated()),
        ("xlm-roberta", "roberta.", Spec::jina3()),
        ("xlm-roberta", "", Spec { rope_base: 20_000.0, ..Spec::jina3() }),
        ("deberta-v2", "deberta.", Spec::deberta()),
        ("deberta-v2", "deberta.", Spec::deberta_convolved()),
        ("deberta-v2", "", Spec { convolution: (5, 4), ..Spec::deberta() }),
        ("deberta-v2", "", Spec { convolution: (1, 1), layers: 1, ..Spec::deberta_convolved() }),
        ("deberta-v2", "", Spec { embedding: 64, span: 256, farthest: 512, ..Spec::deberta() }),
    ];
    for (i, (kind, prefix, spec)) in kinds.into_iter().enumerate() {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let folder = Folder::new(&format!("encoder-{i}-{dtype}"));
            let tensors = spec.tensors(i as u64, dtype);
            let mut paths: Vec<PathBuf> = vec![folder.path("hub")];
            write_folder(&paths[0], &spec, &tensors, kind, prefix);
            let is_jina_3 = spec.family == Family::Jina3;
            if is_jina_3 || ["bert", "nomic_bert", "modernbert", "gemma3_text", "t5", "mt5"].contains(&kind) {
                paths.push(folder.path("model.gguf"));
                let tensors = tensors.without_shared_bias();
                let tensors = if spec.is_t5() { tensors.with_encoder_marks() } else { tensors };
                tensors.write_gguf(&paths[1], &metadata(&spec));
            }
            for path in paths {
                // Converters leave out the bias of experts.
                let tensors = if path.is_dir() { tensors.clone() } else { tensors.without_shared_bias() };
                let options = EncoderOptions::new().exact(true);
                let mean = Encoder::open(&path, &cpu, &options).unwrap();
                assert_eq!((mean.pooling(), mean.max_tokens()), (Pooling::Mean, spec.positions - spec.first_position));
                let off = worst(&mean, &spec, &tensors, true);
                assert!(off < 1e-4, "{kind} {dtype} {}: {off:e}", path.display());
                let first = Encoder::open(&path, &cpu, &options.pooling(Pooling::Cls)).unwrap();
                let off = worst(&first, &spec, &tensors, false);
                assert!(off < 1e-4, "{kind} {dtype} {}, first token: {off:e}", path.display());
            }
        }
    }
}

#[test]
fn a_line_has_the_vector_that_it_has_alone() {
    let (cpu, folder) = (backend(), Folder::new("encoder-alone"));
    for (kind, spec) in FAMILIES.map(|(kind, spec)| (kind, spec())) {
        let path = folder.path(kind);
        write_folder(&path, &spec, &spec.tensors(7, DType::F32), kind, "");
        for options in [EncoderOptions::new(), EncoderOptions::new().stored_as(DType::Q8_0)] {
            let encoder = Encoder::open(&path, &cpu, &options).unwrap();
            let lines = lines(&spec);
            for (line, together) in lines.iter().zip(encoder.embed_tokens(&lines, |_| true).unwrap()) {
                let alone = encoder.embed_tokens(std::slice::from_ref(line), |_| true).unwrap();
                for (a, b) in alone[0].iter().zip(&together) {
                    assert!((a - b).abs() <= 1e-5, "{kind}, {} tokens: {a} alone, {b} among others", line.len());
                }
            }
        }
    }
}

#[test]
fn weights_in_blocks_stay_near() {
    let (cpu, folder) = (backend(), Folder::new("encoder-blocks"));
    for (kind, spec) in FAMILIES.map(|(kind, spec)| (kind, spec())) {
        let (path, tensors) = (folder.path(kind), spec.tensors(3, DType::F32));
        write_folder(&path, &spec, &tensors, kind, "");
        // A weight is off by half a step of 1/127 of its block's largest, so a product of 64 is off by about 0.3 %, and
        // each layer with six products by a few times that.
        let encoder = Encoder::open(&path, &cpu, &EncoderOptions::new().stored_as(DType::Q8_0)).unwrap();
        let off = worst(&encoder, &spec, &tensors, true);
        assert!(off > 1e-5 && off < 0.025 * spec.layers as f64, "{kind}: {off:e}");
    }
}

#[test]
fn folders_say_how_to_pool_and_where_to_cut() {
    let (cpu, spec, folder) = (backend(), Spec::new(), Folder::new("encoder-folder"));
    let path = folder.path("hub");
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "");
    pooling(&path, "cls_token");
    std::fs::write(path.join("sentence_bert_config.json"), r#"{"max_seq_length": 16}"#).unwrap();
    let open = || Encoder::open(&path, &cpu, &EncoderOptions::new());
    let encoder = open().unwrap();
    assert_eq!((encoder.pooling(), encoder.max_tokens(), encoder.width()), (Pooling::Cls, 16, 64));
    let long = "w3 ".repeat(40);
    assert_eq!(encoder.tokenize(&long).unwrap(), (vec![3; 16], true));
    assert_eq!(encoder.tokenize("w5 w7").unwrap(), (vec![5, 7], false));
    let vectors = encoder.embed(&[long.as_str(), "", "w5 w7"]).unwrap();
    assert_eq!(vectors[1], vec![0.0; 64]); // this tokenizer has no special tokens, so the line is empty
    for vector in [&vectors[0], &vectors[2]] {
        let length: f32 = vector.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }
    pooling(&path, "max_tokens");
    let refused = open().err().unwrap().to_string();
    assert!(refused.contains("pooling_mode_max_tokens"), "{refused}");
    let chosen = Encoder::open(&path, &cpu, &EncoderOptions::new().pooling(Pooling::Mean)).unwrap();
    assert_eq!(chosen.pooling(), Pooling::Mean);
    pooling(&path, "mean_tokens");
    std::fs::write(path.join("modules.json"), r#"[{"type": "sentence_transformers.models.CNN"}]"#).unwrap();
    let refused = open().err().unwrap().to_string();
    assert!(
        refused.contains("'CNN'") && refused.contains("Transformer, Pooling, Dense, LayerNorm, Normalize"),
        "{refused}"
    );
}

#[test]
fn bad_tokens_and_a_stop() {
    let (cpu, spec, folder) = (backend(), Spec::new(), Folder::new("encoder-bad"));
    let path = folder.path("hub");
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "");
    let encoder = Encoder::open(&path, &cpu, &EncoderOptions::new()).unwrap();
    let refused = |lines: &[Vec<u32>]| encoder.embed_tokens(lines, |_| true).unwrap_err().to_string();
    assert_eq!(refused(&[vec![1], vec![53]]), "line 1: token 53: 0 to 52 are valid");
    assert_eq!(refused(&[vec![1; 41]]), "line 0: 41 tokens: up to 40 are valid");
    assert_eq!(encoder.embed_tokens(&[], |_| true).unwrap(), Vec::<Vec<f32>>::new());
    let stopped = encoder.embed_tokens(&[vec![1], vec![2]], |_| false).unwrap_err().to_string();
    assert!(stopped.contains("stopped"), "{stopped}");
}

/// The error for which this folder or file is not opened.
fn refused(path: &Path) -> String {
    Encoder::open(path, &backend(), &EncoderOptions::new()).err().unwrap().to_string()
}

#[test]
fn settings_that_are_not_known() {
    let folder = Folder::new("encoder-settings");
    let families = FAMILIES.map(|(kind, spec)| (kind, spec()));
    // Where folders of two families have one name, the first family is written last.
    for (kind, spec) in families.iter().rev() {
        write_folder(&folder.path(kind), spec, &spec.tensors(5, DType::F32), kind, "");
    }
    let table = [
        ("mpnet", r#""relative_attention_num_buckets": 16"#, "relative_attention_num_buckets: is 16: 32 is known"),
        (
            "mpnet",
            r#""hidden_act": "tanh""#,
            "hidden_act: is 'tanh': gelu, gelu_new, gelu_pytorch_tanh and relu are known",
        ),
        ("mpnet", r#""max_position_embeddings": 2"#, "max_position_embeddings: is 2: more than 2 is valid"),
        ("mpnet", r#""max_position_embeddings": 150"#, "embeddings.position_embeddings.weight' is [64, 152]"),
        ("mpnet", r#""num_attention_heads": 8"#, "encoder.relative_attention_bias.weight' is [4, 32]"),
        (
            "mpnet",
            r#""text_config": {"hidden_size": 32}"#,
            "hidden_size: is 64, and in text_config 32: one value is valid",
        ),
        (
            "mpnet",
            r#""text_config": {"model_type": "bert"}"#,
            "text_config.model_type: is 'bert' in one that is 'mpnet'",
        ),
        ("distilbert", r#""activation": "swish""#, "activation: is 'swish': gelu, gelu_new"),
        ("distilbert", r#""n_heads": 7"#, "dim: is 64: a multiple of the 7 heads is valid"),
        ("distilbert", r#""hidden_dim": null"#, "hidden_dim: is missing: a whole number is expected"),
        (
            "electra",
            r#""embedding_size": 25"#,
            "embeddings.word_embeddings.weight' is [24, 53]: [25, tokens] is expected",
        ),
        ("electra", r#""embedding_size": 0"#, "embedding_size: is 0: a whole number from 1"),
        ("bert", r#""embedding_size": 24"#, "embedding_size: is 24: null is supported"),
        ("bert", r#""hidden_act": "swish""#, "hidden_act: is 'swish'"),
        ("bert", r#""position_embedding_type": "relative_key""#, "position_embedding_type: is 'relative_key'"),
        ("bert", r#""position_embedding_type": "alibi""#, "feed_forward_type: is missing: geglu and reglu are known"),
        (
            "bert",
            r#""position_embedding_type": "alibi", "feed_forward_type": "original""#,
            "feed_forward_type: is 'original': geglu and reglu are known",
        ),
        (
            "bert",
            r#""position_embedding_type": "alibi", "feed_forward_type": "geglu", "emb_pooler": "cls""#,
            "emb_pooler: is \"cls\": \"mean\" is supported",
        ),
        (
            "bert",
            r#""position_embedding_type": "alibi", "feed_forward_type": "geglu""#,
            "tensor 'encoder.layer.0.mlp.layernorm.weight' is missing: [64]",
        ),
        ("nomic_bert", r#""activation_function": "geglu""#, "activation_function: is 'geglu': swiglu, gelu, gelu_new"),
        ("nomic_bert", r#""prenorm": true"#, "prenorm: is true: false is known"),
        ("nomic_bert", r#""causal": true"#, "causal: is true: false is known"),
        ("nomic_bert", r#""rotary_emb_interleaved": true"#, "rotary_emb_interleaved: is true"),
        ("nomic_bert", r#""rotary_emb_base": null"#, "rotary_emb_base: is missing: a number is expected"),
        ("nomic_bert", r#""rotary_emb_base": 0"#, "rotary_emb_base: is 0: a number from 1 on is valid"),
        ("nomic_bert", r#""rotary_emb_fraction": 0.0"#, "rotary_emb_fraction: 0 of a head's 16 elements turn"),
        ("nomic_bert", r#""num_experts": 8"#, "moe_every_n_layers: is missing: the model has experts"),
        ("nomic_bert", r#""moe_every_n_layers": 2"#, "num_experts: is missing: a whole number is expected"),
        ("nomic_bert", r#""moe_every_n_layers": 2, "num_experts": 8"#, "moe_top_k: is missing"),
        (
            "nomic_bert",
            r#""moe_every_n_layers": 2, "num_experts": 2, "moe_top_k": 3"#,
            "moe_top_k: is 3: up to the 2 experts is valid",
        ),
        (
            "nomic_bert",
            r#""moe_every_n_layers": 2, "num_experts": 2, "moe_top_k": 1"#,
            "activation_function: experts with gates are not known",
        ),
        ("nomic_bert", r#""num_shared_experts": 1"#, "num_shared_experts: is 1: 0 is supported"),
        ("nomic_bert", r#""moe_normalize_expert_weights": true"#, "moe_normalize_expert_weights: is true"),
        ("nomic_bert", r#""expert_choice_router": true"#, "expert_choice_router: is true"),
        ("nomic_bert", r#""n_inner": null"#, "n_inner: is missing: a whole number is expected"),
        ("new", r#""position_embedding_type": "absolute""#, "position_embedding_type: is 'absolute': rope is known"),
        ("new", r#""layer_norm_type": "deep_norm""#, "layer_norm_type: is 'deep_norm': layer_norm, rms_norm is known"),
        ("new", r#""layer_norm_type": "rms_norm""#, "embeddings.LayerNorm.bias': norms by the root mean square"),
        ("new", r#""hidden_act": "mish""#, "hidden_act: is 'mish': gelu, gelu_new"),
        ("new", r#""rope_theta": 0"#, "rope_theta: is 0: a number from 1 on is valid"),
        ("new", r#""rope_scaling": {"type": "dynamic", "factor": 2}"#, "rope_scaling.type: is 'dynamic': ntk is known"),
        ("new", r#""rope_scaling": {"type": "ntk", "factor": 0.5}"#, "rope_scaling.factor: is 0.5: a number from 1"),
        (
            "new",
            r#""rope_scaling": {"type": "ntk", "factor": 2, "mixed_b": 1}"#,
            "rope_scaling.mixed_b: null is supported",
        ),
        ("new", r#""logn_attention_scale": true"#, "logn_attention_scale: is true: false is supported"),
        ("new", r#""pack_qkv": false"#, "tensor 'encoder.layer.0.attention.q_proj.weight' is missing"),
        ("t5", r#""relative_attention_num_buckets": 64"#, "relative_attention_num_buckets: is 64: 32 is known"),
        ("t5", r#""relative_attention_max_distance": 256"#, "relative_attention_max_distance: is 256: 128 is known"),
        ("t5", r#""feed_forward_proj": "swish""#, "feed_forward_proj: is 'swish': relu, gelu, gelu_new, gated-gelu"),
        ("t5", r#""feed_forward_proj": "gated-gelu""#, "DenseReluDense.wi_0.weight' is missing"),
        ("t5", r#""d_kv": 0"#, "d_kv: is 0: a whole number from 1"),
        ("t5", r#""d_kv": 16"#, "layer.0.SelfAttention.q.weight' is [64, 72] f32: [64, 48] is expected"),
        ("deberta-v2", r#""conv_kernel_size": 3"#, "tensor 'encoder.conv.conv.weight' is missing: [3, 64, 64]"),
        ("deberta-v2", r#""conv_kernel_size": 4"#, "conv_kernel_size: is 4: an odd number, or 0, is valid"),
        (
            "deberta-v2",
            r#""conv_kernel_size": 3, "conv_groups": 5"#,
            "conv_groups: is 5: a divisor of the 64 elements is valid",
        ),
        ("deberta-v2", r#""conv_act": "mish""#, "conv_act: is 'mish': tanh, gelu, gelu_new, gelu_pytorch_tanh, relu"),
        ("deberta-v2", r#""pos_att_type": "c2p|p2p""#, "pos_att_type: has 'p2p': c2p and p2c are known"),
        ("deberta-v2", r#""pos_att_type": ["c2p", 3]"#, "pos_att_type"),
        ("deberta-v2", r#""relative_attention": false"#, "relative_attention: is false, although pos_att_type"),
        (
            "deberta-v2",
            r#""norm_rel_ebd": "batch_norm""#,
            "norm_rel_ebd: is 'batch_norm': layer_norm and none are known",
        ),
        ("deberta-v2", r#""max_relative_positions": 9"#, "max_relative_positions: is 9: more than 9 is valid with 16"),
        ("deberta-v2", r#""position_buckets": 8"#, "encoder.rel_embeddings.weight' is [64, 32] f32: [64, 16] is"),
        ("deberta-v2", r#""share_att_key": false"#, "attention.self.pos_key_proj.weight' is missing"),
        ("deberta-v2", r#""position_biased_input": true"#, "embeddings.position_embeddings.weight' is missing"),
        ("deberta-v2", r#""attention_head_size": 8"#, "attention_head_size: is 8: 16 is known"),
        ("deberta-v2", r#""pooler_hidden_size": 8"#, "pooler_hidden_size: is 8: 64 is known"),
        ("deberta-v2", r#""pooler_hidden_act": "mish""#, "pooler_hidden_act: is 'mish': gelu, tanh, relu is known"),
        ("deberta-v2", r#""z_steps": 2"#, "z_steps: is 2: 0, 1 is supported"),
        (
            "nomic_bert",
            r#""model_type": "eurobert""#,
            "architecture 'eurobert' is no encoder that is known: bert, roberta",
        ),
    ];
    for (kind, other, words) in table {
        let (path, spec) = (folder.path(kind), &families.iter().find(|(name, _)| *name == kind).unwrap().1);
        // The parser takes the second of two settings with one name.
        std::fs::write(path.join("config.json"), config(spec, kind, &format!(", {other}"))).unwrap();
        let error = refused(&path);
        assert!(error.contains(words), "{other}: {error}");
    }
}

#[test]
fn tensors_that_are_missing() {
    let folder = Folder::new("encoder-tensors");
    let table = [
        (
            "mpnet",
            Spec::mpnet(),
            "attn_rel_b.weight",
            "tensor 'encoder.relative_attention_bias.weight' is missing: [4, 32]",
        ),
        (
            "mpnet",
            Spec::mpnet(),
            "blk.1.attn_q.weight",
            "tensor 'encoder.layer.1.attention.attn.q.weight' is missing: [64, 64]",
        ),
        (
            "mpnet",
            Spec::mpnet(),
            "position_embd.weight",
            "tensor 'embeddings.position_embeddings.weight' is missing: [64, 152]",
        ),
        (
            "nomic_bert",
            Spec::nomic(),
            "blk.0.ffn_gate.weight",
            "tensor 'encoder.layers.0.mlp.fc12.weight' is missing: [64, 96]",
        ),
        (
            "nomic_bert",
            Spec::nomic(),
            "blk.0.attn_qkv.weight",
            "tensor 'encoder.layers.0.attn.Wqkv.weight' is missing: [64, 192]",
        ),
        ("nomic_bert", Spec::nomic(), "token_embd_norm.weight", "tensor 'emb_ln.weight' is missing: [64]"),
    ];
    for (kind, spec, name, words) in table {
        let mut tensors = spec.tensors(5, DType::F32);
        tensors.all.remove(name).unwrap();
        write_folder(&folder.path(kind), &spec, &tensors, kind, "");
        let error = refused(&folder.path(kind));
        assert!(error.contains(words), "{error}");
        // With a prefix, the name includes it.
        let prefix = if spec.family == Family::Nomic { "bert." } else { "mpnet." };
        write_folder(&folder.path(kind), &spec, &tensors, kind, prefix);
        let (words, error) = (words.replacen("'", &format!("'{prefix}"), 1), refused(&folder.path(kind)));
        assert!(error.contains(&words), "{error}");
        if spec.family == Family::Nomic {
            let path = folder.path("less.gguf");
            tensors.write_gguf(&path, &metadata(&spec));
            assert!(refused(&path).contains(&format!("tensor '{name}' is missing")), "{}", refused(&path));
        }
    }
}

#[test]
fn positions_behind_those_that_were_trained() {
    let (cpu, folder, spec) = (backend(), Folder::new("encoder-trained"), Spec::nomic());
    let path = folder.path("hub");
    write_folder(&path, &spec, &spec.tensors(5, DType::F32), "nomic_bert", "");
    let tokens = || Encoder::open(&path, &cpu, &EncoderOptions::new()).unwrap().max_tokens();
    assert_eq!(tokens(), 40);
    // With a factor, longer lines are rotated differently, depending on the other lines.
    std::fs::write(path.join("config.json"), config(&spec, "nomic_bert", r#", "rotary_scaling_factor": 2"#)).unwrap();
    assert_eq!(tokens(), 32);
}

/// A folder with a model, and with files for sentences that a test writes.
struct Sentences {
    cpu: Backend,
    spec: Spec,
    path: PathBuf,
    _folder: Folder,
}

impl Sentences {
    fn new(name: &str) -> Self {
        let (cpu, spec, folder) = (backend(), Spec::new(), Folder::new(name));
        let path = folder.path("hub");
        write_folder(&path, &spec, &spec.tensors(5, DType::F32), "bert", "");
        Self { cpu, spec, path, _folder: folder }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path.join(name), text).unwrap();
    }

    fn open(&self) -> Encoder {
        Encoder::open(&self.path, &self.cpu, &EncoderOptions::new()).unwrap()
    }

    #[track_caller]
    fn expect_refused(&self, words: &str) {
        let error = refused(&self.path);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn pooling_is_that_of_the_sentence_files() {
    let s = Sentences::new("encoder-pooling");
    for (text, wanted) in [
        (r#"{"embedding_dimension": 64, "pooling_mode": "cls", "include_prompt": true}"#, Pooling::Cls),
        (r#"{"pooling_mode": ["mean"]}"#, Pooling::Mean),
        (r#"{"pooling_mode": "mean_sqrt_len_tokens"}"#, Pooling::Mean),
        (r#"{"pooling_mode_mean_sqrt_len_tokens": true}"#, Pooling::Mean),
        (r#"{"pooling_mode_lasttoken": true, "pooling_mode_cls_token": false}"#, Pooling::Last),
        (r#"{"pooling_mode": "lasttoken"}"#, Pooling::Last),
        (r#"{"pooling_mode_cls_token": false, "pooling_mode": null}"#, Pooling::Mean),
    ] {
        s.write("1_Pooling/config.json", text);
        assert_eq!(s.open().pooling(), wanted, "{text}");
        assert_eq!(s.open().warnings(), [""; 0]);
    }
    for text in [
        r#"{"pooling_mode": "max"}"#,
        r#"{"pooling_mode": ["mean", "cls"]}"#,
        r#"{"pooling_mode_weightedmean_tokens": true}"#,
    ] {
        s.write("1_Pooling/config.json", text);
        s.expect_refused("one of mean, cls and lasttoken is known");
    }
    s.write("1_Pooling/config.json", r#"{"pooling_mode": "cls", "odd": 1}"#);
    assert!(s.open().warnings()[0].ends_with("ignored: odd"));

    let modules = |path: &str| {
        format!(r#"[{{"idx": 0, "type": "a.Transformer", "path": ""}}, {{"type": "a.Pooling", "path": "{path}"}}]"#)
    };
    std::fs::create_dir_all(s.path.join("2_Pooling")).unwrap();
    s.write("2_Pooling/config.json", r#"{"pooling_mode": "mean"}"#);
    s.write("modules.json", &modules("2_Pooling"));
    assert_eq!(s.open().pooling(), Pooling::Mean);
    s.write("1_Pooling/config.json", r#"{"pooling_mode": "mean"}"#);
    s.write("modules.json", &modules("1_Pooling"));
    assert_eq!(s.open().pooling(), Pooling::Mean);
}

#[test]
fn the_length_is_that_of_the_sentence_files() {
    let s = Sentences::new("encoder-lengths");
    for (sentence, tokenizer, wanted) in [
        (r#"{"max_seq_length": 16}"#, r#"{"model_max_length": 20}"#, 16),
        (r#"{"max_seq_length": null}"#, r#"{"model_max_length": 20}"#, 20),
        ("{}", r#"{"model_max_length": 1000000000000000019884624838656}"#, 40),
        ("{}", r#"{"model_max_length": null}"#, 40),
        (r#"{"transformer_task": "feature-extraction", "modality_config": {"text": {"method": "forward"}}}"#, "{}", 40),
    ] {
        s.write("sentence_bert_config.json", sentence);
        s.write("tokenizer_config.json", tokenizer);
        let encoder = s.open();
        assert_eq!((encoder.max_tokens(), encoder.warnings().len()), (wanted, 0), "{sentence} {tokenizer}");
    }
}

#[test]
fn fields_of_sentence_files_are_honoured_or_refused() {
    let s = Sentences::new("encoder-sentences");
    for (name, text, words) in [
        ("sentence_bert_config.json", r#"{"max_seq_length": -1}"#, "max_seq_length: is -1"),
        ("sentence_bert_config.json", r#"{"transformer_task": "fill-mask"}"#, "transformer_task: is \"fill-mask\""),
        (
            "sentence_bert_config.json",
            r#"{"modality_config": {"text": {"method": "encode"}}}"#,
            "modality_config.text: method",
        ),
        ("sentence_bert_config.json", r#"{"do_lower_case": 1}"#, "do_lower_case: is 1"),
        ("config_sentence_transformers.json", r#"{"model_type": "SparseEncoder"}"#, "model_type"),
        ("config_sentence_transformers.json", r#"{"default_prompt_name": "q"}"#, "prompts has no text of that name"),
    ] {
        s.write(name, text);
        s.expect_refused(words);
        s.write(name, "{}");
    }
    // A prompt before each text, and conversion to lower case.
    s.write("sentence_bert_config.json", r#"{"do_lower_case": true}"#);
    let prompts = r#"{"prompts": {"q": "w7 w8 ", "d": ""}, "default_prompt_name": "q", "similarity_fn_name": "cosine", "__version__": {}}"#;
    s.write("config_sentence_transformers.json", prompts);
    assert_eq!(s.open().tokenize("W5 w6").unwrap(), (vec![7, 8, 5, 6], false));
    s.write("1_Pooling/config.json", r#"{"pooling_mode": "mean", "include_prompt": false}"#);
    s.expect_refused("include_prompt: is false");
    s.write("config_sentence_transformers.json", "{}");
    s.write("sentence_bert_config.json", r#"{"max_seq_length": 3}"#);
    assert_eq!(s.open().tokenize("w1 w2 w3 w4 w5").unwrap(), (vec![1, 2, 3], true));
    s.write("tokenizer_config.json", r#"{"truncation_side": "left"}"#);
    assert_eq!(s.open().tokenize("w1 w2 w3 w4 w5").unwrap(), (vec![3, 4, 5], true));
    s.write("config.json", &config(&s.spec, "bert", r#", "is_decoder": true"#));
    s.expect_refused("is_decoder: is true: false is supported");
}

/// The first published folders have other names for the factors and biases of norms.
#[test]
fn norms_named_gamma_and_beta() {
    let (cpu, spec, folder) = (backend(), Spec::new(), Folder::new("encoder-gamma"));
    let tensors = spec.tensors(6, DType::F32);
    for prefix in ["", "bert."] {
        let path = folder.path("hub");
        write_folder(&path, &spec, &tensors, "bert", prefix);
        let name = |name: &str, _| {
            let theirs = hub_name(spec.family, prefix, name);
            theirs.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        };
        tensors.write_safetensors(&path.join("model.safetensors"), name, |_| false);
        let encoder = Encoder::open(&path, &cpu, &EncoderOptions::new().exact(true)).unwrap();
        assert_eq!(encoder.warnings(), [""; 0]);
        let off = worst(&encoder, &spec, &tensors, true);
        assert!(off < 1e-4, "{off:e}");
    }
}

#[test]
fn vectors_that_are_not_finite() {
    let (cpu, spec, folder) = (backend(), Spec::new(), Folder::new("encoder-nan"));
    let (path, mut tensors) = (folder.path("hub"), spec.tensors(6, DType::F32));
    let bytes = &mut tensors.all.get_mut("blk.1.layer_output_norm.bias").unwrap().bytes;
    bytes[8..12].copy_from_slice(&f32::NAN.to_le_bytes());
    write_folder(&path, &spec, &tensors, "bert", "");
    let encoder = Encoder::open(&path, &cpu, &EncoderOptions::new()).unwrap();
    let error = encoder.embed_lines(5, &[vec![1], vec![2, 3, 4]], |_| true).unwrap_err().to_string();
    assert!(error.starts_with("line 6: the vector of its token 0 holds NaN"), "{error}");
    assert!(error.contains("tensor 'blk.1.layer_output_norm.bias' holds NaN"), "{error}");
}

/// A conversion must not turn weights into infinities.
#[test]
fn weights_beyond_the_range_of_f16_are_not_converted() {
    let (cpu, spec, folder) = (backend(), Spec::new(), Folder::new("encoder-range"));
    let mut tensors = spec.tensors(6, DType::F32);
    let bytes = &mut tensors.all.get_mut("blk.0.ffn_up.weight").unwrap().bytes;
    bytes[..4].copy_from_slice(&7e4f32.to_le_bytes());
    write_folder(&folder.path("hub"), &spec, &tensors, "bert", "");
    tensors.write_gguf(&folder.path("model.gguf"), &metadata(&spec));
    for path in ["hub", "model.gguf"].map(|name| folder.path(name)) {
        let open = |dtype| Encoder::open(&path, &cpu, &EncoderOptions::new().stored_as(dtype)).map(drop);
        let error = open(DType::F16).unwrap_err().to_string();
        assert!(error.contains("tensor 'blk.0.ffn_up.weight' holds 70000"), "{error}");
        open(DType::BF16).unwrap();
    }
}

/// Older converters store the halves of Jina's matrix apart, and a key says how steeply products fall.
#[test]
fn files_of_jina() {
    let (cpu, folder) = (backend(), Folder::new("encoder-jina"));
    let path = folder.path("model.gguf");
    for spec in [Spec::jina(), Spec::jina_code()] {
        let tensors = spec.tensors(6, DType::F32);
        let mut apart = tensors.clone();
        for layer in 0..spec.layers {
            let mut halves = tensors.all[&format!("blk.{layer}.ffn_up.weight")].clone();
            let mut second = halves.clone();
            let half = halves.bytes.len() / 2;
            (second.bytes, halves.shape[1]) = (halves.bytes.split_off(half), spec.ffn as i64);
            second.shape[1] = spec.ffn as i64;
            let names = if spec.family == Family::Jina { ["ffn_gate", "ffn_up"] } else { ["ffn_up", "ffn_gate"] };
            for (name, part) in names.iter().zip([halves, second]) {
                apart.all.insert(format!("blk.{layer}.{name}.weight"), part);
            }
        }
        apart.write_gguf(&path, &metadata(&spec));
        let encoder = Encoder::open(&path, &cpu, &EncoderOptions::new().exact(true)).unwrap();
        assert_eq!(encoder.warnings(), [""; 0]);
        let off = worst(&encoder, &spec, &tensors, true);
        assert!(off < 1e-4, "{off:e}");
        for (bias, words) in [(8.0, ""), (0.0, "max_alibi_bias: is 0"), (-1.0, "is -1"), (20_000.0, "is 20000")] {
            let mut data = metadata(&spec);
            data.push(("jina-bert-v2.attention.max_alibi_bias".into(), tensorlib::Value::F32(bias)));
            tensors.write_gguf(&path, &data);
            match words {
                "" => {
                    let encoder = Encoder::open(&path, &cpu, &EncoderOptions::new().exact(true)).unwrap();
                    assert!(worst(&encoder, &spec, &tensors, true) < 1e-4);
                }
                _ => assert!(refused(&path).contains(words), "{}", refused(&path)),
            }
        }
    }
}
