//! The files of tiny encoders: settings and tensor names, in GGUF files and hub folders.

use super::encoder::{Family, Spec};
use super::tiny::{tokenizer_json, vocabulary, Tensors};
use std::path::Path;
use tensorlib::Value;

/// A GGUF file's metadata.
pub fn metadata(spec: &Spec) -> Vec<(String, Value)> {
    let number = |n: usize| Value::U32(n as u32);
    let architecture = match spec.family {
        Family::Bert => "bert",
        Family::Nomic => "nomic-bert",
        Family::ModernBert => "modern-bert",
        Family::Gemma => "gemma-embedding",
        Family::Jina | Family::JinaCode => "jina-bert-v2",
        Family::Jina3 => "jina-bert-v3",
        Family::NomicExperts => "nomic-bert-moe",
        Family::T5 | Family::T5Gated => "t5encoder",
        other => panic!("GGUF has no architecture for {other:?}"),
    };
    let mut all: Vec<(String, Value)> = vec![("general.architecture".into(), architecture.into())];
    let mut own = vec![
        ("block_count", number(spec.layers)),
        ("embedding_length", number(spec.width)),
        ("attention.head_count", number(spec.heads)),
        ("feed_forward_length", number(spec.ffn)),
        ("context_length", number(spec.positions)),
        (
            if spec.family == Family::Gemma || spec.is_t5() {
                "attention.layer_norm_rms_epsilon"
            } else {
                "attention.layer_norm_epsilon"
            },
            Value::F32(spec.eps as f32),
        ),
        ("attention.causal", Value::Bool(false)),
        ("pooling_type", Value::U32(1)),
    ];
    if spec.experts.0 > 0 {
        own.push(("moe_every_n_layers", number(spec.every)));
        own.push(("expert_count", number(spec.experts.0)));
        own.push(("expert_used_count", number(spec.experts.1)));
    }
    if spec.is_t5() {
        own.push(("attention.key_length", number(spec.head)));
        own.push(("attention.value_length", number(spec.head)));
        own.push(("attention.relative_buckets_count", number(32)));
    }
    if spec.rope_base > 0.0 {
        own.push(("rope.freq_base", Value::F32(spec.rope_base as f32)));
    }
    if spec.family == Family::Gemma {
        own.push(("rope.freq_base_swa", Value::F32(spec.near_base as f32)));
        own.push(("attention.sliding_window", number(spec.window)));
        own.push(("attention.head_count_kv", number(spec.kv_heads)));
        own.push(("attention.key_length", number(spec.head)));
        own.push(("attention.value_length", number(spec.head)));
    }
    if spec.family == Family::ModernBert {
        own.push(("rope.freq_base_swa", Value::F32(spec.near_base as f32)));
        own.push(("rope.scaling.type", "none".into()));
        own.push(("attention.sliding_window", number(spec.window)));
        own.push(("attention.sliding_window_pattern", number(spec.every)));
        own.push(("hidden_activation", "gelu".into()));
        own.push(("vocab_size", number(spec.vocabulary)));
    }
    all.extend(own.into_iter().map(|(key, value)| (format!("{architecture}.{key}"), value)));
    all.extend(vocabulary(spec.vocabulary));
    all
}

/// A config.json, with further settings at the end.
pub fn config(spec: &Spec, kind: &str, further: &str) -> String {
    let names = match spec.family {
        Family::Nomic | Family::NomicExperts => {
            ["n_layer", "n_embd", "n_head", "n_inner", "n_positions", "layer_norm_epsilon"]
        }
        Family::DistilBert => ["n_layers", "dim", "n_heads", "hidden_dim", "max_position_embeddings", ""],
        Family::T5 | Family::T5Gated => {
            ["num_layers", "d_model", "num_heads", "d_ff", "n_positions", "layer_norm_epsilon"]
        }
        family => [
            "num_hidden_layers",
            "hidden_size",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
            match family {
                Family::ModernBert => "norm_eps",
                Family::Gemma => "rms_norm_eps",
                _ => "layer_norm_eps",
            },
        ],
    };
    let counts = [spec.layers, spec.width, spec.heads, spec.ffn, spec.positions];
    let counts: Vec<String> = names.iter().zip(counts).map(|(name, n)| format!("\"{name}\": {n}, ")).collect();
    let own = match spec.family {
        Family::Nomic => format!(
            r#""activation_function": "swiglu", "rotary_emb_base": {}, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false,
"rotary_scaling_factor": null, "prenorm": false, "causal": false, "use_rms_norm": false, "max_trained_positions": 32"#,
            spec.rope_base
        ),
        Family::NomicExperts => format!(
            r#""activation_function": "gelu", "rotary_emb_base": {}, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false,
"rotary_scaling_factor": null, "prenorm": false, "causal": false, "use_rms_norm": false, "max_trained_positions": 2048,
"qkv_proj_bias": true, "mlp_fc1_bias": true, "mlp_fc2_bias": true, "moe_every_n_layers": {}, "num_experts": {},
"moe_top_k": {}, "moe_normalize_expert_weights": false, "num_shared_experts": 0, "expert_choice_router": false, "ffn_div": 1,
"moe_impl": "megablocks", "moe_resid_pdrop": 0.0, "parallel_block": false, "rotary_emb_scale_base": null"#,
            spec.rope_base, spec.every, spec.experts.0, spec.experts.1
        ),
        Family::Gte => {
            let scaling = match spec.stretch {
                1.0 => "null".into(),
                factor => format!(r#"{{"factor": {factor}, "type": "ntk"}}"#),
            };
            format!(
                r#""hidden_act": "gelu", "position_embedding_type": "rope", "rope_theta": {}, "rope_scaling": {scaling},
"layer_norm_type": "layer_norm", "logn_attention_clip1": false, "logn_attention_scale": false, "pack_qkv": true,
"unpad_inputs": "true", "use_memory_efficient_attention": "true", "pad_token_id": 1"#,
                spec.rope_base
            )
        }
        Family::Mpnet => r#""hidden_act": "gelu", "pad_token_id": 1, "relative_attention_num_buckets": 32"#.into(),
        Family::ModernBert => format!(
            r#""hidden_activation": "gelu", "global_rope_theta": {}, "local_rope_theta": {}, "local_attention": {},
"global_attn_every_n_layers": {}, "attention_bias": false, "mlp_bias": false, "norm_bias": false, "classifier_bias": false,
"classifier_activation": "gelu", "layer_norm_eps": 1e-05, "position_embedding_type": "absolute""#,
            spec.rope_base, spec.near_base, spec.window, spec.every
        ),
        Family::Gemma => format!(
            r#""hidden_activation": "gelu_pytorch_tanh", "use_bidirectional_attention": true, "num_key_value_heads": {},
"head_dim": {}, "query_pre_attn_scalar": {}, "rope_theta": {}, "rope_local_base_freq": {}, "sliding_window": {},
"_sliding_window_pattern": {}, "attention_bias": false, "attn_logit_softcapping": null, "final_logit_softcapping": null,
"rope_scaling": null, "vocab_size": {}"#,
            spec.kv_heads,
            spec.head,
            spec.head,
            spec.rope_base,
            spec.near_base,
            spec.window,
            spec.every,
            spec.vocabulary
        ),
        Family::DistilBert => {
            r#""activation": "gelu", "sinusoidal_pos_embds": false, "tie_weights_": true, "pad_token_id": 0,
"seq_classif_dropout": 0.2, "qa_dropout": 0.1, "dropout": 0.1"#
                .into()
        }
        Family::Electra => format!(
            r#""hidden_act": "gelu", "pad_token_id": 0, "embedding_size": {}, "summary_type": "first", "position_embedding_type": "absolute""#,
            spec.embedding
        ),
        Family::Jina | Family::JinaCode => {
            r#""hidden_act": "gelu", "position_embedding_type": "alibi", "feed_forward_type": "geglu", "emb_pooler": "mean",
"attn_implementation": null, "pad_token_id": 0, "type_vocab_size": 2, "model_max_length": 8192"#
                .into()
        }
        Family::Jina3 => format!(
            r#""hidden_act": "gelu", "position_embedding_type": "rotary", "rotary_emb_base": {:?}, "use_flash_attn": true,
"lora_adaptations": null, "matryoshka_dimensions": [32], "truncate_dim": null, "emb_pooler": null, "type_vocab_size": 1,
"load_trained_adapters": false, "pad_token_id": 1"#,
            spec.rope_base
        ),
        Family::T5 | Family::T5Gated => format!(
            r#""d_kv": {}, "feed_forward_proj": "{}", "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128,
"is_encoder_decoder": true, "num_decoder_layers": 2, "dropout_rate": 0.1, "decoder_start_token_id": 0, "dense_act_fn": "x",
"is_gated_act": false, "initializer_factor": 1.0"#,
            spec.head,
            if spec.family == Family::T5 { "relu" } else { "gated-gelu" }
        ),
        Family::Deberta => format!(
            r#""hidden_act": "gelu", "pad_token_id": 0, "embedding_size": {}, "relative_attention": true, "position_buckets": {},
"max_relative_positions": {}, "norm_rel_ebd": "layer_norm", "share_att_key": true, "pos_att_type": "p2c|c2p",
"position_biased_input": false, "pooler_hidden_act": "gelu", "pooler_dropout": 0, "pooler_hidden_size": {}, "type_vocab_size": 0,
"conv_kernel_size": {}, "conv_groups": {}, "conv_act": "gelu""#,
            spec.embedding, spec.span, spec.farthest, spec.width, spec.convolution.0, spec.convolution.1
        ),
        Family::Bert => r#""hidden_act": "gelu", "pad_token_id": 1"#.into(),
    };
    let eps = if names[5].is_empty() { String::new() } else { format!("\"{}\": {:e}, ", names[5], spec.eps) };
    format!(r#"{{"model_type": "{kind}", {}{eps}{own}{further}}}"#, counts.concat())
}

/// The folder's name of a tensor.
pub fn hub_name(family: Family, prefix: &str, name: &str) -> String {
    let (base, end) = name.rsplit_once('.').unwrap();
    let base = match base.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
        None => match (base, family) {
            // Heads have no prefix, but for BERT's pooler.
            ("cls", Family::ModernBert) => return format!("head.dense.{end}"),
            ("cls.norm", _) => return format!("head.norm.{end}"),
            ("cls", Family::DistilBert) => return format!("pre_classifier.{end}"),
            ("cls", Family::Deberta) => return format!("pooler.dense.{end}"),
            ("token_embd", Family::T5 | Family::T5Gated) => "shared".into(),
            ("output_norm", Family::T5 | Family::T5Gated) => "encoder.final_layer_norm".into(),
            ("attn_rel_b", Family::T5 | Family::T5Gated) => {
                "encoder.block.0.layer.0.SelfAttention.relative_attention_bias".into()
            }
            ("distance_embd", _) => "encoder.rel_embeddings".into(),
            ("distance_norm", _) => "encoder.LayerNorm".into(),
            ("conv", _) => "encoder.conv.conv".into(),
            ("conv_norm", _) => "encoder.conv.LayerNorm".into(),
            ("embeddings_project", Family::Deberta) => "embeddings.embed_proj".into(),
            ("cls", Family::Bert | Family::Gte | Family::Jina) if prefix != "roberta." => "pooler.dense".to_string(),
            ("cls", _) => return format!("classifier.dense.{end}"),
            ("cls.output", Family::Mpnet | Family::Electra) => return format!("classifier.out_proj.{end}"),
            ("cls.output", _) if prefix == "roberta." => return format!("classifier.out_proj.{end}"),
            ("cls.output", _) => return format!("classifier.{end}"),
            ("token_embd", Family::Gemma) => "embed_tokens".into(),
            ("output_norm", Family::Gemma) => "norm".into(),
            ("token_embd", Family::ModernBert) => "embeddings.tok_embeddings".into(),
            ("token_embd_norm", Family::ModernBert) => "embeddings.norm".into(),
            ("output_norm", _) => "final_norm".into(),
            ("embeddings_project", _) => "embeddings_project".into(),
            ("token_embd", _) => "embeddings.word_embeddings".into(),
            ("position_embd", _) => "embeddings.position_embeddings".into(),
            ("token_types", _) => "embeddings.token_type_embeddings".into(),
            ("token_embd_norm", Family::Nomic | Family::NomicExperts | Family::Jina3) => "emb_ln".into(),
            ("token_embd_norm", _) => "embeddings.LayerNorm".into(),
            ("attn_rel_b", Family::Mpnet) => "encoder.relative_attention_bias".into(),
            (other, _) => panic!("{other}"),
        },
        Some((layer, part)) => {
            let part = match (family, part) {
                (Family::Gte, "attn_qkv") => "attention.qkv_proj",
                (Family::Gte, "attn_output") => "attention.o_proj",
                (Family::Gte, "attn_output_norm") => "attn_ln",
                (Family::Gte, "ffn_up") => "mlp.up_gate_proj",
                (Family::Gte, "ffn_down") => "mlp.down_proj",
                (Family::Gte, "layer_output_norm") => "mlp_ln",
                (Family::NomicExperts, "ffn_gate_inp") => "mlp.router.layer",
                (Family::NomicExperts, "ffn_up_exps") => "mlp.experts.mlp.w1",
                (Family::NomicExperts, "ffn_down_exps") => "mlp.experts.mlp.w2",
                (Family::NomicExperts, "ffn_exps") => "mlp.experts",
                (Family::NomicExperts, "ffn_up") => "mlp.fc1",
                (Family::Nomic | Family::NomicExperts, "attn_qkv") => "attn.Wqkv",
                (Family::Nomic | Family::NomicExperts, "attn_output") => "attn.out_proj",
                (Family::Nomic | Family::NomicExperts, "attn_output_norm") => "norm1",
                (Family::Nomic, "ffn_up") => "mlp.fc11",
                (Family::Nomic, "ffn_gate") => "mlp.fc12",
                (Family::Nomic | Family::NomicExperts, "ffn_down") => "mlp.fc2",
                (Family::Nomic | Family::NomicExperts, "layer_output_norm") => "norm2",
                (Family::Jina3, part) => {
                    let part = match part {
                        "attn_qkv" => "mixer.Wqkv",
                        "attn_output" => "mixer.out_proj",
                        "attn_output_norm" => "norm1",
                        "ffn_up" => "mlp.fc1",
                        "ffn_down" => "mlp.fc2",
                        "layer_output_norm" => "norm2",
                        other => panic!("{other}"),
                    };
                    return format!("{prefix}encoder.layers.{layer}.{part}.{end}");
                }
                (Family::ModernBert, part) => {
                    let part = match part {
                        "attn_qkv" => "attn.Wqkv",
                        "attn_output" => "attn.Wo",
                        "attn_norm" => "attn_norm",
                        "ffn_up" => "mlp.Wi",
                        "ffn_down" => "mlp.Wo",
                        "ffn_norm" => "mlp_norm",
                        other => panic!("{other}"),
                    };
                    return format!("{prefix}layers.{layer}.{part}.{end}");
                }
                (Family::Gemma, part) => {
                    let part = match part {
                        "attn_norm" => "input_layernorm",
                        "post_attention_norm" => "post_attention_layernorm",
                        "ffn_norm" => "pre_feedforward_layernorm",
                        "post_ffw_norm" => "post_feedforward_layernorm",
                        "attn_output" => "self_attn.o_proj",
                        "attn_q_norm" | "attn_k_norm" => &format!("self_attn.{}", &part[5..]),
                        "ffn_gate" | "ffn_up" | "ffn_down" => &format!("mlp.{}_proj", &part[4..]),
                        projection => &format!("self_attn.{}_proj", &projection[5..]),
                    };
                    return format!("{prefix}layers.{layer}.{part}.{end}");
                }
                (Family::DistilBert, part) => {
                    let part = match part {
                        "attn_output" => "attention.out_lin",
                        "attn_output_norm" => "sa_layer_norm",
                        "ffn_up" => "ffn.lin1",
                        "ffn_down" => "ffn.lin2",
                        "layer_output_norm" => "output_layer_norm",
                        projection => &format!("attention.{}_lin", &projection[5..]),
                    };
                    return format!("{prefix}transformer.layer.{layer}.{part}.{end}");
                }
                (Family::T5 | Family::T5Gated, part) => {
                    let part = match part {
                        "attn_norm" => "0.layer_norm",
                        "ffn_norm" => "1.layer_norm",
                        "ffn_gate" => "1.DenseReluDense.wi_0",
                        "ffn_up" if family == Family::T5 => "1.DenseReluDense.wi",
                        "ffn_up" => "1.DenseReluDense.wi_1",
                        "ffn_down" => "1.DenseReluDense.wo",
                        "attn_output" => "0.SelfAttention.o",
                        projection => &format!("0.SelfAttention.{}", &projection[5..]),
                    };
                    return format!("{prefix}encoder.block.{layer}.layer.{part}.{end}");
                }
                (Family::Deberta, "attn_q" | "attn_k" | "attn_v") => {
                    let projection = ["query_proj", "key_proj", "value_proj"];
                    let i = ["attn_q", "attn_k", "attn_v"].iter().position(|name| *name == part).unwrap();
                    &format!("attention.self.{}", projection[i])
                }
                (Family::Deberta, "attn_output") => "attention.output.dense",
                (Family::Deberta, "attn_output_norm") => "attention.output.LayerNorm",
                (Family::Jina, "ffn_up") => "mlp.gated_layers",
                (Family::Jina, "ffn_down") => "mlp.wo",
                (Family::Jina, "layer_output_norm") => "mlp.layernorm",
                (Family::JinaCode, "attn_q_norm") => "attention.self.layer_norm_q",
                (Family::JinaCode, "attn_k_norm") => "attention.self.layer_norm_k",
                (Family::JinaCode, "attn_norm_2") => "layer_norm_1",
                (Family::JinaCode, "ffn_up") => "mlp.up_gated_layer",
                (Family::JinaCode, "ffn_down") => "mlp.down_layer",
                (Family::JinaCode, "layer_output_norm") => "layer_norm_2",
                (Family::Bert | Family::Electra | Family::Jina | Family::JinaCode, "attn_q") => "attention.self.query",
                (Family::Bert | Family::Electra | Family::Jina | Family::JinaCode, "attn_k") => "attention.self.key",
                (Family::Bert | Family::Electra | Family::Jina | Family::JinaCode, "attn_v") => "attention.self.value",
                (Family::Bert | Family::Electra | Family::Jina | Family::JinaCode, "attn_output") => {
                    "attention.output.dense"
                }
                (Family::Bert | Family::Electra | Family::Jina | Family::JinaCode, "attn_output_norm") => {
                    "attention.output.LayerNorm"
                }
                (Family::Mpnet, "attn_q") => "attention.attn.q",
                (Family::Mpnet, "attn_k") => "attention.attn.k",
                (Family::Mpnet, "attn_v") => "attention.attn.v",
                (Family::Mpnet, "attn_output") => "attention.attn.o",
                (Family::Mpnet, "attn_output_norm") => "attention.LayerNorm",
                (_, "ffn_up") => "intermediate.dense",
                (_, "ffn_down") => "output.dense",
                (_, "layer_output_norm") => "output.LayerNorm",
                (_, other) => panic!("{other}"),
            };
            let layers = if matches!(family, Family::Nomic | Family::NomicExperts) { "layers" } else { "layer" };
            format!("encoder.{layers}.{layer}.{part}")
        }
    };
    match base.contains("experts.mlp.") {
        true => format!("{prefix}{base}"),
        false => format!("{prefix}{base}.{end}"),
    }
}

/// A folder of this `model_type`, whose tensors have a prefix.
pub fn write_folder(path: &Path, spec: &Spec, tensors: &Tensors, kind: &str, prefix: &str) {
    std::fs::create_dir_all(path.join("1_Pooling")).unwrap();
    std::fs::write(path.join("config.json"), config(spec, kind, "")).unwrap();
    std::fs::write(path.join("tokenizer.json"), tokenizer_json(spec.vocabulary)).unwrap();
    let file = path.join("model.safetensors");
    let tensors = &tensors.with_experts_as_rows();
    tensors.write_safetensors(
        &file,
        |name, _| hub_name(spec.family, prefix, name),
        |name| spec.family == Family::Gemma && name.ends_with("norm.weight"),
    );
}
