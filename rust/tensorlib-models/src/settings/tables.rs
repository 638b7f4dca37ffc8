//! Fields of config.json and keys of GGUF files that are known although no architecture reads them.

use super::Fields;

/// Fields that transformers writes into any config.json: training, tokens (which the tokenizer's files have), and the
/// classes that wrote the file.
const COMMON: &[&str] = &[
    "_attn_implementation*",
    "_commit_hash",
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "attention_probs_dropout_prob",
    "attn_implementation",
    "attribute_map",
    "auto_map",
    "bos_token_id",
    "cache_implementation",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "classifier_dropout_prob",
    "dtype",
    "directionality",
    "embd_pdrop",
    "eos_token_id",
    "finetuning_task",
    "gradient_checkpointing",
    "hidden_dropout",
    "hidden_dropout_prob",
    "id2label",
    "initializer_factor",
    "initializer_range",
    "is_training",
    "keep_packed_weights_original",
    "label2id",
    "language",
    "model_type",
    "name",
    "num_labels",
    "original_max_position_embeddings",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_router_logits",
    "pad_token_id",
    "pooler_*",
    "pretraining_tp",
    "problem_type",
    "resid_pdrop",
    "return_dict",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "sep_token_id",
    "sentence_transformers",
    "task_specific_params",
    "text_config",
    "tf_legacy_loss",
    "tie_word_embeddings",
    "tokenizer_class",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "type_vocab_size",
    "unk_token_id",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
    "vocab_size",
];

/// Fields of decoders' config.json.
pub(crate) const DECODER_CONFIG: Fields = Fields {
    known: COMMON,
    only: &[
        ("add_cross_attention", &["false"]),
        ("alibi", &["false"]),
        ("attention_multiplier", &[]),
        ("attn_logit_softcapping", &[]),
        ("attn_temperature_tuning", &["false"]),
        ("bidirectional", &["false"]),
        ("clip_qkv", &[]),
        ("cross_attention_hidden_size", &[]),
        ("decoder_sparse_step", &["1"]),
        ("embedding_multiplier", &["1"]),
        ("final_logit_softcapping", &[]),
        ("first_k_dense_replace", &["0"]),
        ("hidden_act", &["\"silu\"", "\"swish\""]),
        ("hidden_activation", &["\"silu\"", "\"swish\""]),
        ("is_bidirectional", &["false"]),
        ("is_causal", &["true"]),
        ("is_decoder", &["true", "false"]),
        ("is_encoder_decoder", &["false"]),
        ("logit_scale", &["1"]),
        ("logits_scaling", &["1"]),
        ("mlp_only_layers", &["[]"]),
        ("n_shared_experts", &["0"]),
        ("no_rope_layers", &["[]"]),
        ("num_nextn_predict_layers", &["0"]),
        ("parallel_attn", &["false"]),
        ("pruned_heads", &["{}"]),
        ("qk_layernorm", &["false"]),
        ("qk_norm", &["false"]),
        ("residual_multiplier", &["1"]),
        ("shared_expert_intermediate_size", &["0"]),
        ("use_bidirectional_attention", &["false"]),
        ("use_mrope", &["false"]),
        ("use_qk_norm", &["false"]),
        ("use_parallel_residual", &["false"]),
    ],
};

/// Fields of config.json in decoders with recurrent layers, and of layers that other programs use to draft tokens.
pub(crate) const RECURRENT_CONFIG: Fields = Fields {
    known: &[
        "A_initializer_range",
        "attn_mode",
        "chunk_size",
        "expand",
        "fuse_cross_entropy",
        "fuse_linear_cross_entropy",
        "fuse_norm",
        "mamba_chunk_size",
        "mamba_expand",
        "mamba_ssm_cache_dtype",
        "mlp_expansion_factor",
        "mtp_*",
        "norm_before_gate",
        "num_logits_to_keep",
        "rescale_prenorm_residual",
        "residual_in_fp32",
        "time_step_floor",
        "time_step_max",
        "time_step_min",
        "time_step_rank",
        "unsloth_fixed_mtp",
        "use_l2warp",
        "use_mamba_kernels",
    ],
    only: &[("mamba_ssm_dtype", &["\"float32\""]), ("output_gate_type", &["\"swish\"", "\"silu\""])],
};

/// Fields of config.json that single families of decoders write: training, tokens, and parts that were never used.
pub(crate) const FAMILY_CONFIG: Fields = Fields {
    known: &[
        "add_classification_head",
        "attention_head_dim",
        "aux_loss_alpha",
        "block_dim",
        "block_mlp_init_scale",
        "block_norm_eps",
        "block_out_init_scale",
        "block_use_xavier_init",
        "cla_share_factor",
        "class_num",
        "conv_dim",
        "conv_dim_out",
        "conv_use_xavier_init",
        "dense_list",
        "embedding_dropout",
        "eod_token_id",
        "for_llm_compressor",
        "ep_size",
        "im_end_id",
        "im_newline_id",
        "im_start_id",
        "layer_switch",
        "mask_init_id",
        "num_heads",
        "org_vocab_size",
        "pad_id",
        "pool_type",
        "residual_dropout",
        "seq_aux",
        "text_end_id",
        "text_start_id",
        "use_embedding_sharing",
        "use_parallel_embedding",
    ],
    only: &[
        ("block_use_swiglu", &["true"]),
        ("compression_ratio", &["1"]),
        ("full_attn_mod", &["1"]),
        ("interpolate_factor", &["1"]),
        ("lm_head_bias", &["false"]),
        ("moe_layer_freq", &["1"]),
        ("norm_type", &["\"rms\""]),
        ("order_of_interleaved_layers", &["\"local_attn_first\""]),
        ("position_embedding_type", &["\"rope_gptj\""]),
        ("position_embedding_xdrope", &["false"]),
        ("post_norm", &["false"]),
        ("rotary_pct", &["1"]),
        ("use_cla", &["false"]),
        ("use_gated_activation", &["true"]),
        ("use_parallel_block", &["true"]),
        ("use_pos_enc", &["true"]),
    ],
};

/// Fields of config.json in decoders that also read pictures or sound; those parts are not loaded.
pub(crate) const OTHER_INPUTS: Fields = Fields {
    known: &[
        "audio_*",
        "boa_token_id",
        "boi_token_id",
        "boi_token_index",
        "eoa_token_id",
        "eoi_token_id",
        "eoi_token_index",
        "image_*",
        "mm_tokens_per_image",
        "multimodal_projector_bias",
        "projector_hidden_act",
        "spatial_merge_size",
        "video_*",
        "vision_*",
    ],
    only: &[],
};

/// Fields of config.json that only heads of encoders read, and the numbers of elements that vectors may be cut to.
pub(crate) const HEAD_CONFIG: Fields =
    Fields { known: &["matryoshka_dimensions", "sbert_ce_default_activation_function"], only: &[] };

/// Fields of ELECTRA's config.json: heads that are not read, and training.
pub(crate) const ELECTRA_CONFIG: Fields = Fields { known: &["generator_*", "summary_*"], only: &[] };

/// Fields of T5's config.json: the decoder, training, and what `feed_forward_proj` says too.
pub(crate) const T5_CONFIG: Fields = Fields {
    known: &["decoder_start_token_id", "dense_act_fn", "dropout_rate", "is_gated_act", "num_decoder_layers"],
    only: &[],
};

/// Fields of DeBERTa's config.json: heads that are not read.
pub(crate) const DEBERTA_CONFIG: Fields = Fields { known: &["legacy", "summary_*"], only: &[("z_steps", &["0", "1"])] };

/// Fields of CLIP's and SigLIP's config.json: what scores of pairs are multiplied by, copies of other objects, and
/// settings for generated texts.
pub(crate) const CLIP_CONFIG: Fields = Fields {
    known: &[
        "bad_words_ids",
        "begin_suppress_tokens",
        "decoder_start_token_id",
        "diversity_penalty",
        "do_sample",
        "dropout",
        "early_stopping",
        "encoder_no_repeat_ngram_size",
        "exponential_decay_length_penalty",
        "forced_bos_token_id",
        "forced_eos_token_id",
        "length_penalty",
        "logit_scale_init_value",
        "max_length",
        "min_length",
        "no_repeat_ngram_size",
        "num_beam_groups",
        "num_beams",
        "num_return_sequences",
        "output_scores",
        "prefix",
        "remove_invalid_values",
        "repetition_penalty",
        "return_dict_in_generate",
        "suppress_tokens",
        "temperature",
        "text_config_dict",
        "top_k",
        "top_p",
        "typical_p",
        "vision_config",
        "vision_config_dict",
    ],
    only: &[],
};

/// Fields of DistilBERT's config.json: training. Positions are stored, whether they were learned or not.
pub(crate) const DISTILBERT_CONFIG: Fields = Fields {
    known: &["dropout", "qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds", "tie_weights_"],
    only: &[],
};

/// Fields of EmbeddingGemma's config.json that it has in common with Gemma's language models.
pub(crate) const GEMMA_CONFIG: Fields = Fields {
    known: &["attention_bias", "layer_types"],
    only: &[("attn_logit_softcapping", &[]), ("final_logit_softcapping", &[])],
};

/// Fields of GTE's config.json: how its code computes on GPUs, and lengths, which the tokenizer's files have.
pub(crate) const GTE_CONFIG: Fields = Fields {
    known: &["model_max_length", "unpad_inputs", "use_memory_efficient_attention"],
    only: &[("logn_attention_clip1", &["false"]), ("logn_attention_scale", &["false"])],
};

/// Fields of Jina's config.json. The tokenizer's files have the length, and those of sentences the pooling.
pub(crate) const JINA_CONFIG: Fields = Fields { known: &["model_max_length"], only: &[("emb_pooler", &["\"mean\""])] };

/// Fields of Jina's config.json of version 3: training, how its code computes on GPUs, and lengths of vectors that make
/// sense.
pub(crate) const JINA_3_CONFIG: Fields = Fields {
    known: &[
        "fused_bias_fc",
        "lora_dropout_p",
        "lora_main_params_trainable",
        "matryoshka_dimensions",
        "use_flash_attn",
    ],
    only: &[
        ("emb_pooler", &["\"mean\""]),
        ("rotary_emb_interleaved", &["false"]),
        ("rotary_emb_scale_base", &[]),
        ("truncate_dim", &[]),
    ],
};

/// Fields of ModernBERT's config.json: training, and biases, of which the tensors' names say the same.
pub(crate) const MODERNBERT_CONFIG: Fields = Fields {
    known: &[
        "attention_bias",
        "classifier_bias",
        "cls_token_id",
        "decoder_bias",
        "deterministic_flash_attn",
        "embedding_dropout",
        "initializer_cutoff_factor",
        "layer_norm_eps",
        "mlp_bias",
        "mlp_dropout",
        "norm_bias",
        "position_embedding_type",
        "reference_compile",
        "repad_logits_with_grad",
        "sparse_pred_ignore_index",
        "sparse_prediction",
    ],
    only: &[],
};

/// Fields of encoders' config.json.
pub(crate) const ENCODER_CONFIG: Fields = Fields {
    known: COMMON,
    only: &[
        ("add_cross_attention", &["false"]),
        ("alibi", &["false"]),
        ("causal", &["false"]),
        ("cross_attention_hidden_size", &[]),
        ("embedding_size", &[]),
        ("is_causal", &["false"]),
        ("is_decoder", &["false"]),
        ("is_encoder_decoder", &["false"]),
        ("lora_adaptations", &["[]"]),
        ("pruned_heads", &["{}"]),
        ("use_bidirectional_attention", &["true"]),
    ],
};

/// Fields of Nomic's config.json that its code inherited from the library that it is based on.
pub(crate) const NOMIC_CONFIG: Fields = Fields {
    known: &[
        "dense_seq_output",
        "fused_bias_fc",
        "fused_dropout_add_ln",
        "last_layer_subset",
        "max_trained_positions",
        "attn_pdrop",
        "ffn_div",
        "mlp_fc1_bias",
        "mlp_fc2_bias",
        "qkv_proj_bias",
        "pad_vocab_size_multiple",
        "parallel_block_tied_norm",
        "reorder_and_upcast_attn",
        "scale_attn_weights",
        "summary_*",
        "use_flash_attn",
        "use_xentropy",
    ],
    only: &[
        ("expert_choice_router", &["false"]),
        ("moe_normalize_expert_weights", &["false"]),
        ("num_shared_experts", &["0"]),
        ("rotary_emb_scale_base", &[]),
        ("scale_attn_by_inverse_layer_idx", &["false"]),
    ],
};

/// Fields of rotations that the code does not read.
pub(crate) const ROTATION: Fields = Fields {
    known: &[
        "attention_factor",
        "beta_fast",
        "beta_slow",
        "factor",
        "finetuned",
        "high_freq_factor",
        "low_freq_factor",
        "max_position_embeddings",
        "mscale",
        "mscale_all_dim",
        "original_max_position_embeddings",
        "partial_rotary_factor",
        "rope_theta",
        "rope_type",
        "type",
    ],
    only: &[
        ("llama_4_scaling_beta", &["0"]),
        ("long_mscale", &[]),
        ("mrope_interleaved", &["false"]),
        ("mrope_section", &[]),
        ("short_mscale", &[]),
        ("truncate", &["true"]),
    ],
};

/// Keys of decoders in GGUF, without the architecture's name.
pub(crate) const DECODER_GGUF: Fields = Fields {
    known: &[
        "attention.layer_norm_epsilon",
        "classifier.output_labels",
        "dense_2_feat_in",
        "dense_2_feat_out",
        "dense_3_feat_in",
        "dense_3_feat_out",
        "pooling_type",
        "rope.scaling.finetuned",
        "tensor_data_layout",
        "vocab_size",
    ],
    only: &[
        ("attention.causal", &["true"]),
        ("attention.clamp_kqv", &["0"]),
        ("attention.max_alibi_bias", &["0"]),
        ("attention.shared_kv_layers", &["0"]),
        ("attention.temperature_length", &["0"]),
        ("attention.temperature_scale", &["0"]),
        ("embedding_scale", &["1", "0"]),
        ("expert_gating_func", &["1", "0"]),
        ("expert_group_count", &["0", "1"]),
        ("expert_group_used_count", &["0", "1"]),
        ("expert_shared_count", &["0"]),
        ("expert_shared_feed_forward_length", &["0"]),
        ("expert_weights_norm", &["true"]),
        ("expert_weights_scale", &["1", "0"]),
        ("interleave_moe_layer_step", &["0", "1"]),
        ("leading_dense_block_count", &["0"]),
        ("logit_scale", &["1", "0"]),
        ("nextn_predict_layers", &["0"]),
        ("residual_scale", &["1", "0"]),
        ("rope.dimension_sections", &[]),
        ("rope.scaling.yarn_ext_factor", &["1"]),
        ("use_parallel_residual", &["false"]),
    ],
};

/// Keys of encoders in GGUF, without the architecture's name.
pub(crate) const ENCODER_GGUF: Fields = Fields {
    known: &[
        "attention.layer_norm_rms_epsilon",
        "classifier.output_labels",
        "dense_2_feat_in",
        "dense_2_feat_out",
        "dense_3_feat_in",
        "dense_3_feat_out",
        "pooling_type",
        "tensor_data_layout",
        "vocab_size",
    ],
    only: &[
        ("attention.causal", &["false"]),
        ("attention.clamp_kqv", &["0"]),
        ("attention.max_alibi_bias", &["0"]),
        ("expert_count", &["0"]),
        ("moe_every_n_layers", &["0"]),
        ("rope.scaling.factor", &["1", "0"]),
        ("rope.scaling.type", &["\"none\""]),
    ],
};

/// Keys of T5's GGUF files: of the decoder, and of a second name for what norms add.
pub(crate) const T5_GGUF: Fields =
    Fields { known: &["attention.layer_norm_epsilon", "decoder_start_token_id", "decoder_block_count"], only: &[] };

/// Keys of GGUF files that belong to no architecture.
pub(crate) const GENERAL: Fields = Fields {
    known: &["general.*", "quantize.*", "safetensors.metadata.*", "split.*", "tensorlib.*", "xielu.*"],
    only: &[("general.type", &["\"model\""])],
};
