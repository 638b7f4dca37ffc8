//! Whisper in double precision, and the files of tiny ones.

use super::math::*;
use super::tiny::{Random, Tensors};
use super::tokenizers::byte_character;
use std::path::Path;
use tensorlib::DType;

/// Texts of tokens: a space, letters, and words.
pub const TEXTS: usize = 240;
pub const END: u32 = TEXTS as u32;
pub const START: u32 = END + 1;
pub const LANGUAGES: [(&str, u32); 3] = [("en", END + 2), ("de", END + 3), ("sv", END + 4)];
pub const TRANSLATE: u32 = END + 5;
pub const TRANSCRIBE: u32 = END + 6;
pub const START_OF_LM: u32 = END + 7;
pub const PREVIOUS: u32 = END + 8;
pub const NO_SPEECH: u32 = END + 9;
pub const NO_TIMESTAMPS: u32 = END + 10;
pub const FIRST_TIME: u32 = END + 11;

#[derive(Clone)]
pub struct Spec {
    pub mels: usize,
    pub width: usize,
    pub heads: usize,
    pub ffn: usize,
    pub encoder_layers: usize,
    pub decoder_layers: usize,
    /// A window has twice as many frames: 64 are 1.28 s.
    pub positions: usize,
    pub tokens: usize,
}

impl Spec {
    pub fn tiny() -> Self {
        Spec { mels: 80, width: 64, heads: 2, ffn: 96, encoder_layers: 2, decoder_layers: 2, positions: 64, tokens: 40 }
    }

    /// As large-v3-turbo: more bands, fewer layers in the decoder.
    pub fn turbo() -> Self {
        Spec { mels: 128, encoder_layers: 3, decoder_layers: 1, heads: 4, ..Spec::tiny() }
    }

    pub fn vocabulary(&self) -> usize {
        FIRST_TIME as usize + self.positions + 1
    }

    pub fn frames(&self) -> usize {
        2 * self.positions
    }

    /// Tensors by the names of folders, without `model.`.
    pub fn tensors(&self, seed: u64, dtype: DType) -> Tensors {
        let (mut random, mut t) = (Random(seed), Tensors::default());
        let of = |n: usize| 2.0 / (n as f64).sqrt();
        let mut add = |name: &str, shape: &[usize], center: f64, spread: f64, dtype: DType| {
            let shape: Vec<i64> = shape.iter().map(|n| *n as i64).collect();
            t.add(&mut random, name, &shape, center, spread, dtype);
        };
        let w = self.width;
        // Rows of three numbers are no blocks.
        let conv = if dtype.block_size() > 1 { DType::F32 } else { dtype };
        for (name, inputs) in [("encoder.conv1", self.mels), ("encoder.conv2", w)] {
            add(&format!("{name}.weight"), &[3, inputs, w], 0.0, of(3 * inputs), conv);
            add(&format!("{name}.bias"), &[w], 0.0, 0.3, DType::F32);
        }
        add("encoder.embed_positions.weight", &[w, self.positions], 0.0, 1.0, DType::F32);
        add("decoder.embed_positions.weight", &[w, self.tokens], 0.0, 1.0, DType::F32);
        add("decoder.embed_tokens.weight", &[w, self.vocabulary()], 0.0, 1.0, dtype);
        for (half, layers) in [("encoder", self.encoder_layers), ("decoder", self.decoder_layers)] {
            for i in 0..layers {
                let name = |part: &str| format!("{half}.layers.{i}.{part}");
                let blocks: &[&str] = if half == "encoder" { &["self_attn"] } else { &["self_attn", "encoder_attn"] };
                for block in blocks {
                    for part in ["q_proj", "k_proj", "v_proj", "out_proj"] {
                        add(&name(&format!("{block}.{part}.weight")), &[w, w], 0.0, of(w), dtype);
                        if part != "k_proj" {
                            add(&name(&format!("{block}.{part}.bias")), &[w], 0.0, 0.3, DType::F32);
                        }
                    }
                    add(&name(&format!("{block}_layer_norm.weight")), &[w], 1.0, 0.3, DType::F32);
                    add(&name(&format!("{block}_layer_norm.bias")), &[w], 0.0, 0.3, DType::F32);
                }
                add(&name("final_layer_norm.weight"), &[w], 1.0, 0.3, DType::F32);
                add(&name("final_layer_norm.bias"), &[w], 0.0, 0.3, DType::F32);
                for (part, inputs, outputs) in [("fc1", w, self.ffn), ("fc2", self.ffn, w)] {
                    add(&name(&format!("{part}.weight")), &[inputs, outputs], 0.0, of(inputs), dtype);
                    add(&name(&format!("{part}.bias")), &[outputs], 0.0, 0.3, DType::F32);
                }
            }
            add(&format!("{half}.layer_norm.weight"), &[w], 1.0, 0.3, DType::F32);
            add(&format!("{half}.layer_norm.bias"), &[w], 0.0, 0.3, DType::F32);
        }
        t
    }

    /// A config.json with further settings.
    pub fn config(&self, further: &str) -> String {
        format!(
            r#"{{"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": {}, "encoder_layers": {}, "decoder_layers": {}, "encoder_attention_heads": {}, "decoder_attention_heads": {}, "encoder_ffn_dim": {}, "decoder_ffn_dim": {}, "num_mel_bins": {}, "max_source_positions": {}, "max_target_positions": {}, "vocab_size": {}, "activation_function": "gelu", "scale_embedding": false, "is_encoder_decoder": true, "num_hidden_layers": 2, "dropout": 0.0, "torch_dtype": "float32"{further}}}"#,
            self.width,
            self.encoder_layers,
            self.decoder_layers,
            self.heads,
            self.heads,
            self.ffn,
            self.ffn,
            self.mels,
            self.positions,
            self.tokens,
            self.vocabulary(),
        )
    }

    /// Writes a folder, with the further fields of config.json and of generation_config.json.
    pub fn write_folder(&self, path: &Path, tensors: &Tensors, config: &str, generation: &str) {
        std::fs::create_dir_all(path).unwrap();
        self.write_settings(path, config, generation);
        tensors.write_safetensors(&path.join("model.safetensors"), |name, _| format!("model.{name}"), |_| false);
    }

    pub fn write_settings(&self, path: &Path, config: &str, generation: &str) {
        let write = |name: &str, text: String| std::fs::write(path.join(name), text).unwrap();
        write("config.json", self.config(config));
        write("tokenizer.json", tokenizer());
        write("generation_config.json", generation_config(generation));
        let (frames, seconds) = (self.frames(), self.frames() as f64 / 100.0);
        let of_features = format!(
            r#"{{"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": {}, "sampling_rate": 16000, "hop_length": 160, "n_fft": 400, "nb_max_frames": {frames}, "n_samples": {}, "chunk_length": {seconds}, "padding_side": "right", "padding_value": 0.0, "return_attention_mask": false}}"#,
            self.mels,
            frames * 160
        );
        write("preprocessor_config.json", of_features);
    }

    fn linear(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        let y = product(t.get(&format!("{name}.weight")), x);
        match t.find(&format!("{name}.bias")) {
            Some(bias) => sum(&y, bias),
            None => y,
        }
    }

    fn norm(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        layer_norm(x, t.get(&format!("{name}.weight")), t.get(&format!("{name}.bias")), 1e-5)
    }

    /// Attention of each x to the first keys: for the i-th query to `seen(i)` ones.
    fn attention(&self, t: &Tensors, name: &str, xs: &[Row], of: &[Row], seen: impl Fn(usize) -> usize) -> Vec<Row> {
        let head = self.width / self.heads;
        let all = |part: &str, xs: &[Row]| -> Vec<Row> {
            xs.iter().map(|x| self.linear(t, &format!("{name}.{part}"), x)).collect()
        };
        let (q, k, v) = (all("q_proj", xs), all("k_proj", of), all("v_proj", of));
        let attended = |i: usize| -> Row {
            let of_head = |h: usize| {
                let part = h * head..(h + 1) * head;
                let dot = |j: usize| -> f64 {
                    q[i][part.clone()].iter().zip(&k[j][part.clone()]).map(|(a, b)| a * b).sum::<f64>()
                        / (head as f64).sqrt()
                };
                let weights = softmax(&(0..seen(i)).map(dot).collect::<Row>(), None);
                let value = |d: usize| weights.iter().zip(&v).map(|(w, v)| w * v[h * head + d]).sum::<f64>();
                (0..head).map(value).collect::<Row>()
            };
            (0..self.heads).flat_map(of_head).collect()
        };
        (0..xs.len()).map(|i| self.linear(t, &format!("{name}.out_proj"), &attended(i))).collect()
    }

    fn fed(&self, t: &Tensors, name: &str, x: &[f64]) -> Row {
        let normed = self.norm(t, &format!("{name}.final_layer_norm"), x);
        let hidden: Row = self.linear(t, &format!("{name}.fc1"), &normed).into_iter().map(gelu_erf).collect();
        sum(x, &self.linear(t, &format!("{name}.fc2"), &hidden))
    }

    /// A convolution with three taps and zeros at both ends, then GELU.
    fn convolved(&self, t: &Tensors, name: &str, xs: &[Row], stride: usize) -> Vec<Row> {
        let (weights, bias) = (t.get(&format!("{name}.weight")), t.get(&format!("{name}.bias")));
        let inputs = xs[0].len();
        let at = |time: usize, o: usize| {
            let mut total = bias[o];
            for tap in 0..3 {
                let Some(x) = (time * stride + tap).checked_sub(1).and_then(|i| xs.get(i)) else { continue };
                total += (0..inputs).map(|c| weights[(o * inputs + c) * 3 + tap] * x[c]).sum::<f64>();
            }
            gelu_erf(total)
        };
        (0..xs.len() / stride).map(|time| (0..self.width).map(|o| at(time, o)).collect()).collect()
    }

    /// What the encoder makes of the features of a window, from this frame on.
    pub fn encoded(&self, t: &Tensors, features: &[Vec<f32>], first: usize) -> Vec<Row> {
        let mut xs: Vec<Row> = features.iter().skip(first).map(|x| x.iter().map(|x| f64::from(*x)).collect()).collect();
        xs.resize(self.frames(), vec![0.0; self.mels]);
        let xs = self.convolved(t, "encoder.conv1", &xs, 1);
        let xs = self.convolved(t, "encoder.conv2", &xs, 2);
        let positions = rows(t.get("encoder.embed_positions.weight"), self.width);
        let mut xs: Vec<Row> = xs.iter().zip(positions).map(|(x, p)| sum(x, p)).collect();
        for i in 0..self.encoder_layers {
            let name = format!("encoder.layers.{i}");
            let normed: Vec<Row> =
                xs.iter().map(|x| self.norm(t, &format!("{name}.self_attn_layer_norm"), x)).collect();
            let made = self.attention(t, &format!("{name}.self_attn"), &normed, &normed, |_| normed.len());
            xs = xs.iter().zip(&made).map(|(x, y)| self.fed(t, &name, &sum(x, y))).collect();
        }
        xs.iter().map(|x| self.norm(t, "encoder.layer_norm", x)).collect()
    }

    /// The logits after each token.
    pub fn logits(&self, t: &Tensors, encoded: &[Row], tokens: &[u32]) -> Vec<Row> {
        let (table, places) = (t.get("decoder.embed_tokens.weight"), t.get("decoder.embed_positions.weight"));
        let row = |all: &'_ [f64], i: usize| all[i * self.width..(i + 1) * self.width].to_vec();
        let mut xs: Vec<Row> =
            tokens.iter().enumerate().map(|(i, id)| sum(&row(table, *id as usize), &row(places, i))).collect();
        for i in 0..self.decoder_layers {
            let name = format!("decoder.layers.{i}");
            let normed: Vec<Row> =
                xs.iter().map(|x| self.norm(t, &format!("{name}.self_attn_layer_norm"), x)).collect();
            let made = self.attention(t, &format!("{name}.self_attn"), &normed, &normed, |i| i + 1);
            xs = xs.iter().zip(&made).map(|(x, y)| sum(x, y)).collect();
            let norm = format!("{name}.encoder_attn_layer_norm");
            let normed: Vec<Row> = xs.iter().map(|x| self.norm(t, &norm, x)).collect();
            let made = self.attention(t, &format!("{name}.encoder_attn"), &normed, encoded, |_| encoded.len());
            xs = xs.iter().zip(&made).map(|(x, y)| self.fed(t, &name, &sum(x, y))).collect();
        }
        xs.iter().map(|x| product(table, &self.norm(t, "decoder.layer_norm", x))).collect()
    }
}

/// The texts of the tokens: a space, a to z, and words with a space before them.
pub fn texts() -> Vec<String> {
    let letters = ('a'..='z').map(String::from);
    let words = (0..TEXTS - 27).map(|i| format!(" w{i}"));
    std::iter::once(" ".to_string()).chain(letters).chain(words).collect()
}

pub fn tokenizer() -> String {
    let written = |text: &str| text.bytes().map(byte_character).collect::<String>();
    let vocabulary: Vec<String> =
        texts().iter().enumerate().map(|(i, text)| format!("\"{}\": {i}", written(text))).collect();
    let mut special = vec![("endoftext", END), ("startoftranscript", START)];
    special.extend(LANGUAGES);
    special.extend([("translate", TRANSLATE), ("transcribe", TRANSCRIBE), ("startoflm", START_OF_LM)]);
    special.extend([("startofprev", PREVIOUS), ("nospeech", NO_SPEECH), ("notimestamps", NO_TIMESTAMPS)]);
    let added: Vec<String> = special
        .iter()
        .map(|(name, id)| format!(r#"{{"id": {id}, "content": "<|{name}|>", "special": true}}"#))
        .collect();
    format!(
        r#"{{"version": "1.0", "added_tokens": [{}], "normalizer": null, "pre_tokenizer": {{"type": "ByteLevel"}}, "post_processor": null, "decoder": {{"type": "ByteLevel"}}, "model": {{"type": "BPE", "vocab": {{{}}}, "merges": []}}}}"#,
        added.join(", "),
        vocabulary.join(", ")
    )
}

/// A generation_config.json with further fields.
pub fn generation_config(further: &str) -> String {
    let languages: Vec<String> = LANGUAGES.iter().map(|(code, id)| format!("\"<|{code}|>\": {id}")).collect();
    format!(
        r#"{{"is_multilingual": true, "lang_to_id": {{{}}}, "task_to_id": {{"transcribe": {TRANSCRIBE}, "translate": {TRANSLATE}}}, "no_timestamps_token_id": {NO_TIMESTAMPS}, "suppress_tokens": [7, 9], "begin_suppress_tokens": [0, {END}], "max_initial_timestamp_index": 50, "alignment_heads": [[0, 1]], "return_timestamps": false{further}}}"#,
        languages.join(", ")
    )
}

/// A sound of a chirp and a tone, which is different at each time.
pub fn chirp(rate: usize, seconds: f64) -> Vec<f32> {
    let sample = |i: usize| {
        let t = i as f64 / rate as f64;
        let turn = 2.0 * std::f64::consts::PI;
        (0.4 * (turn * (300.0 * t + 400.0 * t * t)).sin() + 0.2 * (turn * 1800.0 * t).sin() * (3.0 * t).cos()) as f32
    };
    (0..(seconds * rate as f64) as usize).map(sample).collect()
}
