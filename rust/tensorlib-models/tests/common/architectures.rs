//! A tiny model of each architecture, with its settings in both kinds of files.

use super::decoder::{frequencies, Delta, Gate, Route, Spec};
use super::tiny::{vocabulary, Random, Tensors};
use super::{families, hybrids, mixtures, rwkv, streams};
use std::f64::consts::PI;
use std::path::Path;
use tensorlib::{Array, DType, Value};

/// A model and its settings in both kinds of files.
#[derive(Clone)]
pub struct Model {
    pub name: &'static str,
    pub spec: Spec,
    /// `general.architecture`, and the settings that GGUF files have in addition to the common ones.
    pub gguf: Option<(&'static str, Vec<(&'static str, Value)>)>,
    /// `model_type`, and the settings that config.json has in addition to the common ones.
    pub hub: Option<(&'static str, &'static str)>,
}

impl Model {
    fn nameless() -> Self {
        Model { name: "", spec: Spec::new(), gguf: None, hub: None }
    }

    /// With heads that a cache of Q8_0 takes, and rows that quantised weights take.
    pub fn widened(mut self) -> Self {
        let spec = &mut self.spec;
        (spec.head, spec.heads, spec.width, spec.ffn) = (32, 8, 256, 256);
        if let Some(experts) = &mut spec.experts {
            experts.2 = 256;
        }
        spec.frequencies = frequencies(10_000.0, 32);
        spec.window_frequencies = None;
        self
    }

    pub fn metadata(&self) -> Vec<(String, Value)> {
        let (architecture, extra) = self.gguf.as_ref().unwrap();
        let s = &self.spec;
        let number = |n: usize| Value::U32(n as u32);
        let mut all: Vec<(String, Value)> = vec![("general.architecture".into(), (*architecture).into())];
        let common = [
            ("block_count", number(s.layers)),
            ("embedding_length", number(s.width)),
            ("attention.head_count", number(s.heads)),
            ("attention.head_count_kv", number(s.kv_heads)),
            ("attention.key_length", number(s.head)),
            ("attention.value_length", number(s.head)),
            ("feed_forward_length", number(s.ffn)),
            ("context_length", number(256)),
            (
                if s.variance_norms { "attention.layer_norm_epsilon" } else { "attention.layer_norm_rms_epsilon" },
                Value::F32(s.eps as f32),
            ),
            ("rope.dimension_count", number(2 * s.frequencies.len())),
        ];
        let common = common.into_iter().filter(|(key, _)| !extra.iter().any(|(other, _)| other == key));
        all.extend(common.chain(extra.iter().cloned()).map(|(k, v)| (format!("{architecture}.{k}"), v)));
        if let Some(numbers) = s.xielu {
            for (i, name) in families::XIELU.iter().enumerate() {
                let of_layers: Vec<f32> = (0..s.layers).map(|layer| numbers(layer)[i]).collect();
                all.push((format!("xielu.{name}"), of_layers.into()));
            }
        }
        all.extend(vocabulary(s.vocabulary));
        all
    }

    pub fn config(&self) -> String {
        let (kind, extra) = self.hub.unwrap();
        let s = &self.spec;
        if kind == "mistral3" {
            let text = Model { hub: Some(("ministral3", extra)), spec: s.clone(), ..Model::nameless() };
            return format!(
                r#"{{"model_type": "mistral3", "spatial_merge_size": 2, "text_config": {}}}"#,
                text.config()
            );
        }
        if kind == "llama4" {
            let text = Model { hub: Some(("llama4_text", extra)), spec: s.clone(), ..Model::nameless() };
            return format!(
                r#"{{"model_type": "llama4", "boi_token_index": 5, "vision_config": {{"model_type": "llama4_vision_model"}}, "text_config": {}}}"#,
                text.config()
            );
        }
        if kind == "mamba2" {
            return format!(
                r#"{{"model_type": "mamba2", "num_hidden_layers": {}, "hidden_size": {}, "layer_norm_epsilon": {:e}, "vocab_size": {},
"tie_word_embeddings": {}{extra}}}"#,
                s.layers, s.width, s.eps, s.vocabulary, s.tied
            );
        }
        if kind == "rwkv7" {
            return format!(
                r#"{{"model_type": "rwkv7", "num_hidden_layers": {}, "hidden_size": {}, "norm_eps": {:e}, "vocab_size": {}{extra}}}"#,
                s.layers, s.width, s.eps, s.vocabulary
            );
        }
        if kind == "gemma3" {
            // A multimodal model; the text model leaves out the same settings as the published models.
            return format!(
                r#"{{"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "eos_token_id": [1, 106],
"vision_config": {{"hidden_size": 1152, "num_hidden_layers": 27, "model_type": "siglip_vision_model"}}, "mm_tokens_per_image": 256,
"text_config": {{"hidden_size": {}, "intermediate_size": {}, "model_type": "gemma3_text", "num_hidden_layers": {}{extra}}}}}"#,
                s.width, s.ffn, s.layers
            );
        }
        format!(
            r#"{{"model_type": "{kind}", "num_hidden_layers": {}, "hidden_size": {}, "num_attention_heads": {},
"num_key_value_heads": {}, "head_dim": {}, "intermediate_size": {}, "max_position_embeddings": 256,
"{}": {:e}, "vocab_size": {}, "tie_word_embeddings": {}{extra}}}"#,
            s.layers,
            s.width,
            s.heads,
            s.kv_heads,
            s.head,
            s.ffn,
            families::eps_name(kind),
            s.eps,
            s.vocabulary,
            s.tied
        )
    }

    /// Writes a folder's tensors.
    pub fn write_safetensors(&self, path: &Path, tensors: &Tensors) {
        let kind = self.hub.unwrap().0;
        let has_factors = |name: &str| name.ends_with("norm.weight") && !name.ends_with("ssm_norm.weight");
        let is_less =
            ["gemma2", "gemma3", "qwen3_5", "qwen3_next"].iter().any(|k| kind.starts_with(k)) && kind != "gemma3n_text";
        let less_one = |name: &str| is_less && has_factors(name);
        let mut numbers = tensors.clone();
        if let Some(of_layer) = self.spec.xielu {
            for (i, name) in families::XIELU.iter().enumerate() {
                for layer in 0..self.spec.layers {
                    let (name, number) = (format!("blk.{layer}.xielu_{name}"), f64::from(of_layer(layer)[i]));
                    numbers.add(&mut Random(0), &name, &[1], number, 0.0, DType::F32);
                }
            }
        }
        let tensors = &numbers;
        let fused = if self.name.ends_with("with pictures") && kind == "llama4" {
            tensors.with_fused_experts()
        } else {
            tensors.clone()
        };
        let tensors = &match (self.spec.mamba, self.spec.rwkv) {
            (Some(_), _) if self.name.ends_with("in one tensor") => {
                hybrids::with_experts_in_one(&hybrids::as_folder(&fused))
            }
            (Some(_), _) => hybrids::as_folder(&fused),
            (_, Some(of)) => rwkv::as_folder(&fused, &self.spec, of, self.name.ends_with("in one tensor")),
            _ => fused,
        };
        let stored = self.spec.delta.map_or_else(|| tensors.clone(), |delta| in_groups(tensors, delta));
        stored.write_safetensors(path, |name, expert| self.hub_name(name, expert), less_one);
    }

    /// The folder's name of a tensor, or of one expert's part of it.
    pub fn hub_name(&self, name: &str, expert: Option<usize>) -> String {
        let kind = self.hub.unwrap().0;
        if name.starts_with("vision_tower") {
            return name.into();
        }
        let name = self.text_name(kind, name, expert);
        // Older and newer folders use two spellings.
        match self.name {
            "gemma3 with pictures" | "mistral3 with pictures" | "llama4 with pictures" => {
                format!("language_model.{name}")
            }
            "gemma3 with pictures, newer" | "qwen35moe with pictures" => {
                name.replace("model.", "model.language_model.")
            }
            _ => name,
        }
    }

    fn text_name(&self, kind: &str, name: &str, expert: Option<usize>) -> String {
        if let Some(name) = rwkv::whole_name(kind, name) {
            return name;
        }
        if let Some(name) = hybrids::whole_name(kind, name, expert).or_else(|| streams::whole_name(name, expert)) {
            return name;
        }
        match name {
            "token_embd.weight" => return "model.embed_tokens.weight".into(),
            "output_norm.weight" => return "model.norm.weight".into(),
            "token_embd_norm.weight" => return "model.embedding_norm.weight".into(),
            "output_norm.bias" => return "model.norm.bias".into(),
            "output.weight" => return "lm_head.weight".into(),
            "output.bias" => return "lm_head.bias".into(),
            "per_layer_token_embd.weight" => return "model.embed_tokens_per_layer.weight".into(),
            "per_layer_model_proj.weight" => return "model.per_layer_model_projection.weight".into(),
            "rope_freqs.weight" => return name.into(),
            "per_layer_proj_norm.weight" => return "model.per_layer_projection_norm.weight".into(),
            _ => {}
        }
        let (layer, rest) = name.strip_prefix("blk.").unwrap().split_once('.').unwrap();
        match rest {
            "exp_probs_b.bias" if kind.starts_with("deepseek") => {
                return format!("model.layers.{layer}.mlp.gate.e_score_correction_bias");
            }
            "exp_probs_b.bias" if kind.starts_with("lfm2") => {
                return format!("model.layers.{layer}.feed_forward.expert_bias");
            }
            "ffn_gate_up_fused" => return format!("model.layers.{layer}.feed_forward.experts.gate_up_proj"),
            "ffn_down_fused" => return format!("model.layers.{layer}.feed_forward.experts.down_proj"),
            "ssm_a" => return format!("model.layers.{layer}.linear_attn.A_log"),
            "ssm_dt.bias" => return format!("model.layers.{layer}.linear_attn.dt_bias"),
            "layer_output_scale.weight" => return format!("model.layers.{layer}.layer_scalar"),
            "ffn_gate_inp.scale" => return format!("model.layers.{layer}.router.scale"),
            "ffn_down_exps.scale" => return format!("model.layers.{layer}.router.per_expert_scale"),
            _ => {}
        }
        if let Some(number) = rest.strip_prefix("xielu_") {
            return format!("model.layers.{layer}.mlp.act_fn.{number}");
        }
        let (part, end) = rest.rsplit_once('.').unwrap();
        let own = families::part_name(kind, part, expert).or_else(|| hybrids::part_name(kind, part, expert));
        if let Some(own) = own.or_else(|| mixtures::part_name(kind, part, expert)) {
            return format!("model.layers.{layer}.{own}.{end}");
        }
        let gemma = kind.starts_with("gemma");
        let expert = expert.unwrap_or(0);
        let part = match (part, kind) {
            ("attn_norm", _) => "input_layernorm".into(),
            ("ffn_norm", _) if gemma => "pre_feedforward_layernorm".into(),
            ("ffn_norm", _) => "post_attention_layernorm".into(),
            ("post_attention_norm", _) => "post_attention_layernorm".into(),
            ("post_ffw_norm", _) => "post_feedforward_layernorm".into(),
            ("post_ffw_norm_1", _) => "post_feedforward_layernorm_1".into(),
            ("post_ffw_norm_2", _) => "post_feedforward_layernorm_2".into(),
            ("pre_ffw_norm_2", _) => "pre_feedforward_layernorm_2".into(),
            ("inp_gate", _) => "per_layer_input_gate".into(),
            ("proj", _) => "per_layer_projection".into(),
            ("post_norm", _) => "post_per_layer_input_norm".into(),
            ("ffn_gate_inp", "gemma4_text") => "router.proj".into(),
            ("ffn_gate_exps" | "ffn_up_exps" | "ffn_down_exps", "gemma4_text") => {
                format!("experts.{expert}.{}_proj", &part[4..part.len() - 5])
            }
            ("attn_q" | "attn_k" | "attn_v", _) => format!("self_attn.{}_proj", &part[5..]),
            ("attn_output", _) => "self_attn.o_proj".into(),
            ("attn_q_norm" | "attn_k_norm", _) => format!("self_attn.{}", &part[5..]),
            ("attn_qkv", _) if kind.starts_with("qwen3_5") => "linear_attn.in_proj_qkv".into(),
            ("ssm_in", _) => "linear_attn.in_proj_qkvz".into(),
            ("ssm_ba", _) => "linear_attn.in_proj_ba".into(),
            ("ffn_gate_shexp" | "ffn_up_shexp" | "ffn_down_shexp", _) => {
                format!("mlp.shared_expert.{}_proj", &part[4..part.len() - 6])
            }
            ("ffn_gate_inp_shexp", _) => "mlp.shared_expert_gate".into(),
            ("attn_gate", _) => "linear_attn.in_proj_z".into(),
            ("ssm_alpha", _) => "linear_attn.in_proj_a".into(),
            ("ssm_beta", _) => "linear_attn.in_proj_b".into(),
            ("ssm_conv1d", _) => "linear_attn.conv1d".into(),
            ("ssm_norm", _) => "linear_attn.norm".into(),
            ("ssm_out", _) => "linear_attn.out_proj".into(),
            ("attn_qkv", _) => "self_attn.qkv_proj".into(),
            ("ffn_up", "phi3") => "mlp.gate_up_proj".into(),
            ("ffn_gate" | "ffn_up" | "ffn_down", _) => format!("mlp.{}_proj", &part[4..]),
            ("ffn_gate_inp", "mixtral") => "block_sparse_moe.gate".into(),
            ("ffn_gate_inp", _) => "mlp.gate".into(),
            ("ffn_gate_exps", "mixtral") => format!("block_sparse_moe.experts.{expert}.w1"),
            ("ffn_down_exps", "mixtral") => format!("block_sparse_moe.experts.{expert}.w2"),
            ("ffn_up_exps", "mixtral") => format!("block_sparse_moe.experts.{expert}.w3"),
            ("ffn_gate_exps", _) => format!("mlp.experts.{expert}.gate_proj"),
            ("ffn_down_exps", _) => format!("mlp.experts.{expert}.down_proj"),
            ("ffn_up_exps", _) => format!("mlp.experts.{expert}.up_proj"),
            other => panic!("no name for {other:?}"),
        };
        format!("model.layers.{layer}.{part}.{end}")
    }
}

pub fn bools(values: &[bool]) -> Value {
    Value::Array(Array::Bool(values.to_vec()))
}

pub fn number(n: u32) -> Value {
    Value::U32(n)
}

/// Waves that are long are stretched by `factor`, short ones are not, and those in between by a share: 4 high and 1 low
/// turns.
pub fn llama3(base: f64, n: usize, factor: f64, trained: f64) -> Vec<f64> {
    let stretched = |f: f64| {
        let turns = trained * f / (2.0 * PI);
        if turns < 1.0 {
            f / factor
        } else if turns > 4.0 {
            f
        } else {
            let smooth = (turns - 1.0) / 3.0;
            (1.0 - smooth) * f / factor + smooth * f
        }
    };
    frequencies(base, n).into_iter().map(stretched).collect()
}

/// YaRN as in the paper: pairs between 32 turns and 1 turn in the trained context are mixed.
pub fn yarn(base: f64, n: usize, factor: f64, trained: f64) -> Vec<f64> {
    let pair = |turns: f64| n as f64 * (trained / (2.0 * PI * turns)).ln() / (2.0 * base.ln());
    let (low, high) = (pair(32.0).floor().max(0.0), pair(1.0).ceil().min(n as f64 - 1.0));
    let mixed = |(k, f): (usize, f64)| {
        let ramp = ((k as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
        f / factor * ramp + f * (1.0 - ramp)
    };
    frequencies(base, n).into_iter().enumerate().map(mixed).collect()
}

pub fn neox(spec: Spec) -> Spec {
    Spec { neox: true, ..spec }
}

fn experts(route: Route) -> Option<(usize, usize, usize, Route)> {
    Some((5, 2, 32, route))
}

/// The settings of these experts in GGUF files.
fn moe() -> Vec<(&'static str, Value)> {
    vec![("expert_count", number(5)), ("expert_used_count", number(2)), ("expert_feed_forward_length", number(32))]
}

fn gemma() -> Spec {
    Spec { embedding_scale: 8.0, gate: Gate::Gelu, post_norms: true, tied: true, ..neox(Spec::new()) }
}

fn gemma2() -> Spec {
    Spec { window: Some((7, |i| i % 2 == 0)), attention_cap: 50.0, final_cap: 30.0, ..gemma() }
}

fn gemma3() -> Spec {
    Spec {
        window: Some((7, |i| (i + 1) % 6 != 0)),
        layers: 7,
        head_norms: true,
        frequencies: frequencies(1e6, 16).iter().map(|f| f / 8.0).collect(),
        window_frequencies: Some(frequencies(1e4, 16)),
        ..gemma()
    }
}

fn pictures() -> Spec {
    Spec {
        layers: 6,
        heads: 8,
        kv_heads: 4,
        head: 256,
        attention_scale: 1.0 / 16.0,
        eps: 1e-6,
        frequencies: frequencies(1e6, 256).iter().map(|f| f / 8.0).collect(),
        window_frequencies: Some(frequencies(1e4, 256)),
        ..gemma3()
    }
}

/// A model of each architecture, with small windows and contexts, so that tests go beyond them.
pub fn all() -> Vec<Model> {
    let families = [
        llamas(),
        rotations(),
        mistrals(),
        qwens(),
        recurrent_qwens(),
        gemmas(),
        fourth_gemmas(),
        vec![streams::gemma3n(gemma())],
        gemmas_with_pictures(),
        phis(),
        vec![gpt_oss()],
        families::all(),
        hybrids::all(),
        mixtures::all(),
        rwkv::all(),
    ];
    families.into_iter().flatten().collect()
}

fn llamas() -> Vec<Model> {
    vec![
        Model { name: "llama", spec: Spec::new(), gguf: Some(("llama", vec![])), hub: None },
        Model {
            name: "llama with relu",
            spec: Spec { gate: Gate::Relu, ..Spec::new() },
            gguf: Some(("llama", vec![("feed_forward_activation", "relu".into())])),
            hub: None,
        },
        Model {
            name: "llama with relu of a folder",
            spec: Spec { gate: Gate::Relu, ..neox(Spec::new()) },
            gguf: None,
            hub: Some(("llama", r#", "hidden_act": "relu""#)),
        },
        Model { name: "llama of a folder", spec: neox(Spec::new()), gguf: None, hub: Some(("llama", "")) },
    ]
}

/// Models whose files say in different ways how positions rotate.
fn rotations() -> Vec<Model> {
    vec![
        Model {
            name: "llama 3.1",
            spec: Spec { frequencies: llama3(5e5, 16, 8.0, 64.0), ..neox(Spec::new()) },
            gguf: None,
            hub: Some((
                "llama",
                r#", "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
"high_freq_factor": 4.0, "original_max_position_embeddings": 64}"#,
            )),
        },
        Model {
            name: "llama 3.1 of a newer folder",
            spec: Spec { frequencies: llama3(5e5, 16, 8.0, 64.0), ..neox(Spec::new()) },
            gguf: None,
            hub: Some((
                "llama",
                r#", "rope_parameters": {"rope_theta": 500000.0, "rope_type": "llama3", "factor": 8.0,
"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}"#,
            )),
        },
        Model {
            name: "qwen3 of a newer folder",
            spec: Spec { head_norms: true, frequencies: frequencies(1e6, 16), ..neox(Spec::new()) },
            gguf: None,
            hub: Some(("qwen3", r#", "rope_parameters": {"rope_theta": 1000000, "rope_type": "default"}"#)),
        },
        Model {
            name: "llama, linear",
            spec: Spec { frequencies: frequencies(1e4, 16).iter().map(|f| f / 4.0).collect(), ..Spec::new() },
            gguf: Some((
                "llama",
                vec![("rope.scaling.type", "linear".into()), ("rope.scaling.factor", Value::F32(4.0))],
            )),
            hub: None,
        },
    ]
}

/// Models of Mistral, and experts that it introduced.
fn mistrals() -> Vec<Model> {
    vec![
        Model {
            name: "mistral",
            spec: Spec { window: Some((9, |_| true)), ..neox(Spec::new()) },
            gguf: None,
            hub: Some(("mistral", r#", "sliding_window": 9"#)),
        },
        Model {
            name: "llama with experts",
            spec: Spec { experts: Some((5, 2, 96, Route::Normalised)), ..Spec::new() },
            gguf: Some(("llama", vec![("expert_count", number(5)), ("expert_used_count", number(2))])),
            hub: None,
        },
        Model {
            name: "mixtral",
            // The base is the published code's default if the folder does not mention it.
            spec: Spec {
                experts: Some((5, 2, 96, Route::Normalised)),
                frequencies: frequencies(1e6, 16),
                ..neox(Spec::new())
            },
            gguf: None,
            hub: Some(("mixtral", r#", "num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": null"#)),
        },
    ]
}

fn qwens() -> Vec<Model> {
    vec![
        Model {
            name: "qwen2",
            spec: Spec { biases: true, frequencies: frequencies(1e6, 16), ..neox(Spec::new()) },
            gguf: Some(("qwen2", vec![("rope.freq_base", Value::F32(1e6))])),
            hub: Some(("qwen2", r#", "rope_theta": 1000000.0, "sliding_window": 4, "use_sliding_window": false"#)),
        },
        Model {
            name: "qwen3",
            spec: Spec {
                head_norms: true,
                tied: true,
                head: 32,
                attention_scale: 1.0 / 32f64.sqrt(),
                frequencies: frequencies(1e4, 32),
                ..neox(Spec::new())
            },
            gguf: Some(("qwen3", vec![])),
            hub: Some(("qwen3", "")),
        },
        Model {
            name: "qwen3moe",
            spec: Spec { head_norms: true, experts: experts(Route::Normalised), ..neox(Spec::new()) },
            gguf: Some(("qwen3moe", moe())),
            hub: Some((
                "qwen3_moe",
                r#", "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "norm_topk_prob": true"#,
            )),
        },
        Model {
            name: "qwen3moe, plain",
            spec: Spec { head_norms: true, experts: experts(Route::Plain), ..neox(Spec::new()) },
            gguf: None,
            hub: Some((
                "qwen3_moe",
                r#", "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "norm_topk_prob": false"#,
            )),
        },
    ]
}

/// Three of four layers are recurrent.
fn recurrent() -> Spec {
    let delta = Delta { key_heads: 2, value_heads: 4, head: 16, taps: 4, layers: |i| (i + 1) % 4 != 0, grouped: false };
    Spec {
        layers: 5,
        delta: Some(delta),
        gated_attention: true,
        head_norms: true,
        ffn_norm: "post_attention_norm",
        // A quarter of each head turns.
        frequencies: frequencies(1e7, 4),
        ..neox(Spec::new())
    }
}

/// The settings of these layers in GGUF files.
fn recurrences() -> Vec<(&'static str, Value)> {
    vec![
        ("rope.freq_base", Value::F32(1e7)),
        ("rope.dimension_sections", vec![1i32, 1, 0, 0].into()),
        ("ssm.conv_kernel", number(4)),
        ("ssm.state_size", number(16)),
        ("ssm.group_count", number(2)),
        ("ssm.time_step_rank", number(4)),
        ("ssm.inner_size", number(64)),
        ("full_attention_interval", number(4)),
    ]
}

/// The settings of these layers in folders.
macro_rules! RECURRENT {
    () => {
        r#", "linear_conv_kernel_dim": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
"linear_num_key_heads": 2, "linear_num_value_heads": 4, "attn_output_gate": true, "mamba_ssm_dtype": "float32",
"layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention", "linear_attention"],
"rope_parameters": {"rope_theta": 10000000, "rope_type": "default", "partial_rotary_factor": 0.25, "mrope_interleaved": true,
"mrope_section": [1, 1, 0]}"#
    };
}

/// The settings of experts in folders of these models.
macro_rules! EXPERTS {
    () => {
        r#", "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32"#
    };
}

fn recurrent_qwens() -> Vec<Model> {
    vec![
        Model {
            name: "qwen35",
            spec: recurrent(),
            gguf: Some(("qwen35", recurrences())),
            hub: Some(("qwen3_5_text", RECURRENT!())),
        },
        Model {
            name: "qwen35 with layers listed",
            spec: Spec { delta: recurrent().delta.map(|delta| Delta { layers: |i| i != 1, ..delta }), ..recurrent() },
            gguf: Some((
                "qwen35",
                [recurrences(), vec![("attention.recurrent_layers", bools(&[true, false, true, true, true]))]].concat(),
            )),
            hub: None,
        },
        Model {
            name: "qwen35moe",
            spec: Spec { experts: experts(Route::Normalised), shared: Some(32), ..recurrent() },
            gguf: Some((
                "qwen35moe",
                [recurrences(), moe(), vec![("expert_shared_feed_forward_length", number(32))]].concat(),
            )),
            hub: Some(("qwen3_5_moe_text", concat!(RECURRENT!(), EXPERTS!()))),
        },
        Model {
            name: "qwen35moe with pictures",
            spec: Spec { experts: experts(Route::Normalised), shared: Some(32), ..recurrent() },
            gguf: None,
            hub: Some(("qwen3_5_moe", concat!(RECURRENT!(), EXPERTS!()))),
        },
        Model {
            name: "qwen3next",
            spec: Spec {
                delta: recurrent().delta.map(|delta| Delta { grouped: true, ..delta }),
                experts: experts(Route::Normalised),
                shared: Some(32),
                ..recurrent()
            },
            gguf: Some((
                "qwen3next",
                [recurrences(), moe(), vec![("expert_shared_feed_forward_length", number(32))]].concat(),
            )),
            hub: Some((
                "qwen3_next",
                concat!(RECURRENT!(), EXPERTS!(), r#", "norm_topk_prob": true, "decoder_sparse_step": 1"#),
            )),
        },
    ]
}

/// These tensors as a folder stores them. Heads of values that share a head of keys are neighbours, and the decay is the
/// logarithm of minus its factor. Qwen 3 Next has a matrix for all that belongs to each head of keys.
fn in_groups(tensors: &Tensors, delta: Delta) -> Tensors {
    let Delta { key_heads, value_heads, head, grouped, .. } = delta;
    let per_key = value_heads / key_heads;
    // The head of values that comes at this place.
    let source = |place: usize| if grouped { place } else { place % per_key * key_heads + place / per_key };
    let heads = |elements: usize| -> Vec<usize> {
        (0..value_heads * elements).map(|i| source(i / elements) * elements + i % elements).collect()
    };
    let values = 2 * key_heads * head;
    let channels: Vec<usize> = (0..values).chain(heads(head).into_iter().map(|i| values + i)).collect();
    let mut made = tensors.clone();
    let names: Vec<String> = tensors.all.keys().filter(|name| name.starts_with("blk.")).cloned().collect();
    for name in names {
        let layer: usize = name[4..].split('.').next().unwrap().parse().unwrap();
        if !(delta.layers)(layer) {
            continue;
        }
        match name.splitn(3, '.').nth(2).unwrap() {
            "attn_qkv.weight" | "ssm_conv1d.weight" => made.take_rows(&name, &channels),
            "attn_gate.weight" => made.take_rows(&name, &heads(head)),
            "ssm_alpha.weight" | "ssm_beta.weight" => made.take_rows(&name, &heads(1)),
            "ssm_dt.bias" => made.take_columns(&name, &heads(1)),
            "ssm_a" => {
                made.take_columns(&name, &heads(1));
                made.map_f32(&name, |a| (-a).ln());
            }
            "ssm_out.weight" => made.take_columns(&name, &heads(head)),
            _ => {}
        }
    }
    if grouped {
        let layers: Vec<usize> = (0..64).filter(|i| tensors.all.contains_key(&format!("blk.{i}.ssm_a"))).collect();
        for layer in layers {
            // A head of keys has its queries, its keys, and the values and gates of its heads of values.
            let rows = |first: usize, n: usize, of: usize| (first + n * of..first + n * (of + 1)).collect::<Vec<_>>();
            let of_key = |key: usize| {
                let parts = [rows(0, head, key), rows(key_heads * head, head, key)];
                let values =
                    [rows(values, per_key * head, key), rows(values + value_heads * head, per_key * head, key)];
                [parts.concat(), values.concat()].concat()
            };
            let order: Vec<usize> = (0..key_heads).flat_map(of_key).collect();
            let [qkv, gate, all] = ["attn_qkv", "attn_gate", "ssm_in"].map(|part| format!("blk.{layer}.{part}.weight"));
            made.append_rows(&qkv, &gate, &all);
            made.take_rows(&all, &order);
        }
    }
    made
}

fn gemmas() -> Vec<Model> {
    vec![
        Model {
            name: "gemma2",
            spec: gemma2(),
            gguf: Some((
                "gemma2",
                vec![
                    ("attention.sliding_window", number(7)),
                    ("attn_logit_softcapping", Value::F32(50.0)),
                    ("final_logit_softcapping", Value::F32(30.0)),
                ],
            )),
            hub: Some((
                "gemma2",
                r#", "sliding_window": 7, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "query_pre_attn_scalar": 16"#,
            )),
        },
        Model {
            name: "gemma3",
            spec: gemma3(),
            gguf: Some((
                "gemma3",
                vec![
                    ("attention.sliding_window", number(7)),
                    ("rope.freq_base", Value::F32(1e6)),
                    ("rope.scaling.type", "linear".into()),
                    ("rope.scaling.factor", Value::F32(8.0)),
                ],
            )),
            hub: Some((
                "gemma3_text",
                r#", "sliding_window": 7, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "query_pre_attn_scalar": 16,
"rope_scaling": {"rope_type": "linear", "factor": 8.0}, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention",
"sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]"#,
            )),
        },
    ]
}

fn gemmas_with_pictures() -> Vec<Model> {
    vec![
        Model {
            name: "gemma3 with pictures",
            spec: pictures(),
            gguf: None,
            hub: Some(("gemma3", r#", "sliding_window": 7, "rope_scaling": {"rope_type": "linear", "factor": 8.0}"#)),
        },
        Model {
            name: "gemma3 with pictures, newer",
            spec: pictures(),
            gguf: None,
            hub: Some((
                "gemma3",
                r#", "sliding_window": 7, "rope_scaling": null, "rope_parameters": {
"full_attention": {"factor": 8.0, "rope_theta": 1000000.0, "rope_type": "linear"},
"sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}"#,
            )),
        },
    ]
}

/// Layers of two kinds with heads of their own, of which the last read others' keys.
fn gemma4() -> Spec {
    Spec {
        layers: 8,
        window: Some((7, |i| i % 4 != 3)),
        kv_heads: 1,
        head: 32,
        window_heads: Some((2, 16)),
        keys_as_values: true,
        value_norms: true,
        head_norms: true,
        output_factors: true,
        attention_scale: 1.0,
        final_cap: 30.0,
        eps: 1e-6,
        // A quarter of the pairs turn in layers without a window.
        turning_pairs: Some(4),
        frequencies: frequencies(1e6, 32).iter().enumerate().map(|(i, f)| if i < 4 { *f } else { 0.0 }).collect(),
        window_frequencies: Some(frequencies(1e4, 16)),
        ..gemma()
    }
}

/// With vectors for each layer, and layers that read others' keys.
fn gemma4_small() -> Spec {
    Spec { kv_heads: 2, keys_as_values: false, sharing: 3, wide: true, layer_inputs: Some(32), layers: 9, ..gemma4() }
}

fn gemma4_settings(layers: usize, further: Vec<(&'static str, Value)>) -> Vec<(&'static str, Value)> {
    let pattern: Vec<bool> = (0..layers).map(|i| i % 4 != 3).collect();
    let settings = vec![
        ("attention.sliding_window", number(7)),
        ("attention.sliding_window_pattern", bools(&pattern)),
        ("attention.key_length_swa", number(16)),
        ("attention.value_length_swa", number(16)),
        ("rope.freq_base", Value::F32(1e6)),
        ("rope.freq_base_swa", Value::F32(1e4)),
        ("rope.dimension_count", number(32)),
        ("rope.dimension_count_swa", number(16)),
        ("final_logit_softcapping", Value::F32(30.0)),
    ];
    [settings, further].concat()
}

/// The settings of all of them in folders.
macro_rules! GEMMA4 {
    () => {
        r#", "head_dim": 16, "global_head_dim": 32, "sliding_window": 7, "final_logit_softcapping": 30.0,
"hidden_activation": "gelu_pytorch_tanh", "use_bidirectional_attention": "vision",
"layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention", "sliding_attention",
"sliding_attention", "sliding_attention", "full_attention"], "rope_parameters": {"full_attention": {"rope_type": "proportional",
"rope_theta": 1000000.0, "partial_rotary_factor": 0.25}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}"#
    };
}

fn fourth_gemmas() -> Vec<Model> {
    let kv_heads: Vec<i32> = (0..8).map(|i| if i % 4 == 3 { 1 } else { 2 }).collect();
    let ffns: Vec<i32> = (0..9).map(|i| if i < 6 { 96 } else { 192 }).collect();
    vec![
        Model {
            name: "gemma4",
            spec: gemma4(),
            gguf: Some(("gemma4", gemma4_settings(8, vec![("attention.head_count_kv", kv_heads.clone().into())]))),
            hub: Some((
                "gemma4_text",
                concat!(
                    GEMMA4!(),
                    r#", "num_key_value_heads": 2, "num_global_key_value_heads": 1, "attention_k_eq_v": true,
"num_kv_shared_layers": 0, "hidden_size_per_layer_input": 0"#
                ),
            )),
        },
        Model {
            name: "gemma4 with vectors for layers",
            spec: gemma4_small(),
            gguf: Some((
                "gemma4",
                gemma4_settings(
                    9,
                    vec![
                        ("attention.shared_kv_layers", number(3)),
                        ("embedding_length_per_layer_input", number(32)),
                        ("feed_forward_length", ffns.into()),
                    ],
                ),
            )),
            hub: None,
        },
        Model {
            name: "gemma4 of a folder with vectors for layers",
            spec: Spec { layers: 8, ..gemma4_small() },
            gguf: None,
            hub: Some((
                "gemma4_text",
                concat!(
                    GEMMA4!(),
                    r#", "num_global_key_value_heads": null, "attention_k_eq_v": false, "num_kv_shared_layers": 3,
"use_double_wide_mlp": true, "hidden_size_per_layer_input": 32, "vocab_size_per_layer_input": 61"#
                ),
            )),
        },
        Model {
            name: "gemma4 with experts",
            spec: Spec { experts: experts(Route::Normalised), mixed: true, ..gemma4() },
            gguf: Some((
                "gemma4",
                gemma4_settings(8, [vec![("attention.head_count_kv", kv_heads.into())], moe()].concat()),
            )),
            hub: Some((
                "gemma4_text",
                concat!(
                    GEMMA4!(),
                    r#", "num_key_value_heads": 2, "num_global_key_value_heads": 1, "attention_k_eq_v": true,
"num_kv_shared_layers": 0, "hidden_size_per_layer_input": 0, "enable_moe_block": true, "num_experts": 5, "top_k_experts": 2,
"moe_intermediate_size": 32"#
                ),
            )),
        },
    ]
}

fn phis() -> Vec<Model> {
    vec![
        Model {
            name: "phi3",
            spec: Spec { fused: true, fused_ffn: true, window: Some((20, |_| true)), ..neox(Spec::new()) },
            gguf: Some(("phi3", vec![("attention.sliding_window", number(20))])),
            hub: Some(("phi3", r#", "sliding_window": 20"#)),
        },
        Model {
            name: "phi4-mini",
            // Three quarters of each head turn.
            spec: Spec {
                fused: true,
                fused_ffn: true,
                tied: true,
                frequencies: frequencies(1e4, 12),
                ..neox(Spec::new())
            },
            gguf: Some(("phi3", vec![("attention.sliding_window", number(262_144))])),
            hub: Some((
                "phi3",
                r#", "sliding_window": 262144, "partial_rotary_factor": 0.75, "original_max_position_embeddings": 64, "interpolate_factor": 1,
"full_attn_mod": 1, "lm_head_bias": false, "mlp_bias": false, "attention_bias": false, "rope_scaling": {"type": "longrope",
"short_factor": [1, 1, 1, 1, 1, 1], "long_factor": [1, 1, 1, 1, 1, 1], "attention_factor": 1.0}"#,
            )),
        },
        Model {
            name: "phi3 long",
            spec: Spec {
                fused: true,
                fused_ffn: true,
                // Beyond the trained context the long factors divide, and rotated values grow.
                frequencies: frequencies(1e4, 16).iter().enumerate().map(|(i, f)| f / (1.0 + i as f64)).collect(),
                magnitude: (1.0 + 4f64.ln() / 64f64.ln()).sqrt(),
                ..neox(Spec::new())
            },
            gguf: None,
            hub: Some((
                "phi3",
                r#", "original_max_position_embeddings": 64, "rope_scaling": {"type": "longrope",
"short_factor": [1, 1, 1, 1, 1, 1, 1, 1], "long_factor": [1, 2, 3, 4, 5, 6, 7, 8]}"#,
            )),
        },
    ]
}

fn gpt_oss() -> Model {
    Model {
        name: "gpt-oss",
        spec: Spec {
            experts: experts(Route::OfUsed),
            gate: Gate::Oai,
            all_biases: true,
            sinks: true,
            ffn_norm: "post_attention_norm",
            window: Some((7, |i| i % 2 == 0)),
            frequencies: yarn(150_000.0, 16, 32.0, 64.0),
            magnitude: 1.0 + 0.1 * 32f64.ln(),
            ..neox(Spec::new())
        },
        gguf: Some((
            "gpt-oss",
            moe()
                .into_iter()
                .chain([
                    ("attention.sliding_window", number(7)),
                    ("rope.freq_base", Value::F32(150_000.0)),
                    ("rope.scaling.type", "yarn".into()),
                    ("rope.scaling.factor", Value::F32(32.0)),
                    ("rope.scaling.original_context_length", number(64)),
                ])
                .collect(),
        )),
        hub: None,
    }
}
