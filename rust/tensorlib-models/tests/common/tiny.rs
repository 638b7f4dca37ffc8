//! Tiny models: tensors of random values, written as GGUF files and as hub folders.

use std::collections::BTreeMap;
use std::path::Path;
use tensorlib::{safetensors, Context, DType, GgufWriter, Tensor, Value};

/// Random numbers, equal in each run.
pub struct Random(pub u64);

impl Random {
    /// A number from -1 to 1.
    pub fn next(&mut self) -> f64 {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A tensor: its stored bytes, and the values that they represent.
#[derive(Clone)]
pub struct Stored {
    pub shape: Vec<i64>,
    dtype: DType,
    pub bytes: Vec<u8>,
    values: Vec<f64>,
}

/// Tensors by their GGUF names.
#[derive(Clone, Default)]
pub struct Tensors {
    pub all: BTreeMap<String, Stored>,
}

impl Stored {
    /// A matrix of a type without blocks, transposed.
    pub fn transposed(&self) -> Stored {
        let (columns, rows, size) = (self.shape[0] as usize, self.shape[1] as usize, self.dtype.size());
        let order: Vec<usize> = (0..columns * rows).map(|i| i % rows * columns + i / rows).collect();
        Stored {
            shape: vec![self.shape[1], self.shape[0]],
            dtype: self.dtype,
            bytes: order.iter().flat_map(|i| self.bytes[i * size..(i + 1) * size].to_vec()).collect(),
            values: order.iter().map(|i| self.values[*i]).collect(),
        }
    }
}

impl Tensors {
    /// Adds a tensor of random values around `center`.
    pub fn add(&mut self, random: &mut Random, name: &str, shape: &[i64], center: f64, spread: f64, dtype: DType) {
        let n = shape.iter().product::<i64>() as usize;
        let values: Vec<f32> = (0..n).map(|_| (center + spread * random.next()) as f32).collect();
        let bytes = dtype.quantize(&values, shape[0] as usize, None).unwrap();
        let values = dtype.dequantize(&bytes).unwrap().into_iter().map(f64::from).collect();
        let stored = Stored { shape: shape.to_vec(), dtype, bytes, values };
        assert!(self.all.insert(name.into(), stored).is_none(), "{name}");
    }

    /// Adds a vector of these values.
    pub fn add_values(&mut self, name: &str, values: &[f32]) {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let (shape, values) = (vec![values.len() as i64], values.iter().map(|x| f64::from(*x)).collect());
        self.all.insert(name.into(), Stored { shape, dtype: DType::F32, bytes, values });
    }

    pub fn get(&self, name: &str) -> &[f64] {
        self.find(name).unwrap_or_else(|| panic!("no {name}"))
    }

    pub fn find(&self, name: &str) -> Option<&[f64]> {
        self.all.get(name).map(|stored| stored.values.as_slice())
    }

    /// Adds scale * B A to the values of a matrix, or of each matrix of a stack, that `logits` uses; the bytes stay.
    pub fn merge(&mut self, name: &str, adapter: &Tensors, scale: f64) {
        let (a, b) = (&adapter.all[&format!("{name}.lora_a")], &adapter.all[&format!("{name}.lora_b")]);
        let stored = self.all.get_mut(name).unwrap();
        let (inputs, rank, outputs) = (a.shape[0] as usize, a.shape[1] as usize, b.shape[1] as usize);
        for (i, value) in stored.values.iter_mut().enumerate() {
            let (column, row, matrix) = (i % inputs, i / inputs % outputs, i / (inputs * outputs));
            let (a, b) = (&a.values[matrix * rank * inputs..], &b.values[matrix * rank * outputs..]);
            *value += scale * (0..rank).map(|r| a[r * inputs + column] * b[row * rank + r]).sum::<f64>();
        }
    }

    /// Adds scale * B A to the rows of a table: a has a row of factors for each of its rows.
    pub fn merge_rows(&mut self, name: &str, adapter: &Tensors, scale: f64) {
        let (a, b) = (&adapter.all[&format!("{name}.lora_a")], &adapter.all[&format!("{name}.lora_b")]);
        let stored = self.all.get_mut(name).unwrap();
        let (rank, width) = (a.shape[0] as usize, b.shape[1] as usize);
        for (i, value) in stored.values.iter_mut().enumerate() {
            let (a, b) = (&a.values[i / width * rank..], &b.values[i % width * rank..]);
            *value += scale * (0..rank).map(|r| a[r] * b[r]).sum::<f64>();
        }
    }

    /// Puts matrices of one shape into one tensor.
    pub fn stack(&mut self, name: &str, parts: &[&Stored]) {
        let mut all = parts[0].clone();
        all.bytes = parts.iter().flat_map(|part| part.bytes.clone()).collect();
        all.values = parts.iter().flat_map(|part| part.values.clone()).collect();
        all.shape.push(parts.len() as i64);
        self.all.insert(name.into(), all);
    }

    /// Replaces two matrices by one with the rows of the first and then of the second.
    pub fn append_rows(&mut self, first: &str, second: &str, name: &str) {
        let (mut all, second) = (self.all.remove(first).unwrap(), self.all.remove(second).unwrap());
        all.shape[1] += second.shape[1];
        all.bytes.extend(second.bytes);
        all.values.extend(second.values);
        self.all.insert(name.into(), all);
    }

    /// Chooses rows of a matrix by their numbers. The values stay.
    pub fn take_rows(&mut self, name: &str, rows: &[usize]) {
        let stored = self.all.get_mut(name).unwrap();
        let row = stored.bytes.len() / stored.shape[1] as usize;
        stored.bytes = rows.iter().flat_map(|i| stored.bytes[i * row..(i + 1) * row].to_vec()).collect();
    }

    /// Chooses elements of each row by their numbers, of a type without blocks. The values stay.
    pub fn take_columns(&mut self, name: &str, columns: &[usize]) {
        let stored = self.all.get_mut(name).unwrap();
        let (size, n) = (stored.dtype.size(), stored.shape[0] as usize);
        let of_row =
            |row: &[u8]| columns.iter().flat_map(|i| row[i * size..(i + 1) * size].to_vec()).collect::<Vec<u8>>();
        stored.bytes = stored.bytes.chunks(n * size).flat_map(of_row).collect();
    }

    /// Stores a tensor with one dimension. The values stay.
    pub fn flatten(&mut self, name: &str) {
        let n = self.all[name].shape.iter().product();
        self.reshape(name, &[n]);
    }

    /// Stores a tensor with this shape. The values stay.
    pub fn reshape(&mut self, name: &str, shape: &[i64]) {
        self.all.get_mut(name).unwrap().shape = shape.to_vec();
    }

    /// Adds a tensor with the values of another one.
    pub fn copy(&mut self, from: &str, to: &str) {
        self.all.insert(to.into(), self.all[from].clone());
    }

    /// Replaces a tensor by parts of this shape, each with its name.
    pub fn divide(&mut self, name: &str, names: &[String], shape: &[i64]) {
        let whole = self.all.remove(name).unwrap();
        let (bytes, values) = (whole.bytes.len() / names.len(), whole.values.len() / names.len());
        let parts = whole.bytes.chunks(bytes).zip(whole.values.chunks(values));
        for (name, (bytes, values)) in names.iter().zip(parts) {
            let (bytes, values) = (bytes.to_vec(), values.to_vec());
            self.all.insert(name.clone(), Stored { shape: shape.to_vec(), dtype: whole.dtype, bytes, values });
        }
    }

    /// Changes the stored numbers of an F32 tensor. The values stay.
    pub fn map_f32(&mut self, name: &str, f: impl Fn(f32) -> f32) {
        let bytes = &mut self.all.get_mut(name).unwrap().bytes;
        for number in bytes.chunks_exact_mut(4) {
            let changed = f(f32::from_le_bytes(number.try_into().unwrap()));
            number.copy_from_slice(&changed.to_le_bytes());
        }
    }

    /// These tensors with transposed down projections of this type.
    pub fn with_transposed_downs(&self, dtype: DType) -> Tensors {
        let mut made = self.clone();
        for name in self.all.keys().filter(|name| name.ends_with(".ffn_down.weight")) {
            let Stored { shape, values, .. } = made.all.remove(name).unwrap();
            let (columns, rows) = (shape[0] as usize, shape[1] as usize);
            let turned: Vec<f32> = (0..values.len()).map(|i| values[i % rows * columns + i / rows] as f32).collect();
            let bytes = dtype.quantize(&turned, rows, None).unwrap();
            let values = dtype.dequantize(&bytes).unwrap().into_iter().map(f64::from).collect();
            let stored = Stored { shape: vec![shape[1], shape[0]], dtype, bytes, values };
            made.all.insert(name.replace("ffn_down", "ffn_down_t"), stored);
        }
        made
    }

    /// These tensors with one tensor per expert instead of stacks, as older GGUF files have them.
    pub fn with_experts_apart(&self) -> Tensors {
        let mut made = Tensors::default();
        for (name, stored) in &self.all {
            if stored.shape.len() < 3 {
                made.all.insert(name.clone(), stored.clone());
                continue;
            }
            for (i, bytes) in stored.bytes.chunks(stored.bytes.len() / stored.shape[2] as usize).enumerate() {
                let mut one = stored.clone();
                (one.shape, one.bytes) = (stored.shape[..2].to_vec(), bytes.to_vec());
                made.all.insert(name.replace("_exps", &format!(".{i}")), one);
            }
        }
        made
    }

    /// These tensors with the gates and the other half of each expert in one matrix, as some GGUF files have them.
    pub fn with_gates_and_ups(&self) -> Tensors {
        let mut made = self.clone();
        for name in self.all.keys().filter(|name| name.ends_with(".ffn_gate_exps.weight")) {
            let mut gate = made.all.remove(name).unwrap();
            let up = made.all.remove(&name.replace("_gate_", "_up_")).unwrap();
            let of_expert = gate.bytes.len() / gate.shape[2] as usize;
            let both = gate.bytes.chunks(of_expert).zip(up.bytes.chunks(of_expert));
            gate.bytes = both.flat_map(|(gate, up)| [gate, up].concat()).collect();
            gate.shape[1] *= 2;
            made.all.insert(name.replace("_gate_", "_gate_up_"), gate);
        }
        made
    }

    /// These tensors with the matrices of all experts in two tensors, rows by inputs, as folders of Llama 4 have them.
    pub fn with_fused_experts(&self) -> Tensors {
        let mut made = self.clone();
        let turned = |stored: &Stored, e: usize, input: usize| -> Vec<u8> {
            let [inputs, outputs, experts] = [0, 1, 2].map(|i| stored.shape[i] as usize);
            let size = stored.bytes.len() / (inputs * outputs * experts);
            let at = |output: usize| ((e * outputs + output) * inputs + input) * size;
            (0..outputs).flat_map(|output| stored.bytes[at(output)..at(output) + size].to_vec()).collect()
        };
        for name in self.all.keys().filter(|name| name.ends_with(".ffn_gate_exps.weight")) {
            let mut take = |part: &str| made.all.remove(&name.replace("ffn_gate_exps", part)).unwrap();
            let (gate, up, down) = (take("ffn_gate_exps"), take("ffn_up_exps"), take("ffn_down_exps"));
            let mut add = |part: &str, from: &[&Stored]| {
                let [inputs, outputs, experts] = [0, 1, 2].map(|i| from[0].shape[i]);
                let all = (0..experts as usize).flat_map(|e| (0..inputs as usize).map(move |input| (e, input)));
                let bytes = all.flat_map(|(e, input)| from.iter().flat_map(move |from| turned(from, e, input)));
                let (shape, bytes) = (vec![outputs * from.len() as i64, inputs, experts], bytes.collect());
                let name = name.replace("ffn_gate_exps.weight", part);
                made.all.insert(name, Stored { shape, bytes, ..from[0].clone() });
            };
            add("ffn_gate_up_fused", &[&gate, &up]);
            add("ffn_down_fused", &[&down]);
        }
        made
    }

    /// These tensors with the rows of all experts in one matrix, and those of down projections transposed, as Nomic's
    /// folders have them.
    pub fn with_experts_as_rows(&self) -> Tensors {
        let mut made = self.clone();
        for (_, stored) in made.all.iter_mut().filter(|(name, of)| of.shape.len() == 3 && name.contains("_exps.")) {
            let [inputs, outputs, experts] = [0, 1, 2].map(|i| stored.shape[i]);
            stored.shape = vec![inputs, outputs * experts];
        }
        for (_, stored) in made.all.iter_mut().filter(|(name, _)| name.ends_with("ffn_down_exps.weight")) {
            let (inputs, rows) = (stored.shape[0] as usize, stored.shape[1] as usize);
            let experts = self.all.iter().find(|(name, _)| name.ends_with("ffn_down_exps.weight")).unwrap().1.shape[2];
            let outputs = rows / experts as usize;
            let size = stored.bytes.len() / (inputs * rows);
            let at = |i: usize| {
                let (expert, row, column) = (i / (inputs * outputs), i / outputs % inputs, i % outputs);
                expert * inputs * outputs + column * inputs + row
            };
            stored.bytes = (0..inputs * rows).flat_map(|i| stored.bytes[at(i) * size..][..size].to_vec()).collect();
            stored.shape = vec![outputs as i64, inputs as i64 * experts];
        }
        made
    }

    /// These tensors without the biases that all experts of a layer share.
    pub fn without_shared_bias(&self) -> Tensors {
        let mut made = self.clone();
        made.all.retain(|name, _| !name.ends_with("ffn_exps.bias"));
        made
    }

    /// These tensors with a norm before the feed-forward block as llama.cpp's files of Falcon H1 name it, without an ending.
    pub fn with_plain_names_of_norms(&self) -> Tensors {
        let mut made = self.clone();
        for name in self.all.keys().filter(|name| name.ends_with(".ffn_norm.weight")) {
            let norm = made.all.remove(name).unwrap();
            made.all.insert(name.replace(".weight", ""), norm);
        }
        made
    }

    /// These tensors with a matrix for keys, which is transposed, and one for values of each head instead of one for both.
    pub fn with_keys_and_values_apart(&self, heads: usize, plain: usize) -> Tensors {
        let mut made = self.clone();
        for name in self.all.keys().filter(|name| name.ends_with("attn_kv_b.weight")) {
            let both = made.all.remove(name).unwrap();
            let (rank, of_head) = (both.shape[0] as usize, both.shape[1] as usize / heads);
            let mut add = |part: &str, shape: [usize; 3], values: Vec<f32>| {
                let bytes = both.dtype.quantize(&values, shape[0], None).unwrap();
                let values = both.dtype.dequantize(&bytes).unwrap().into_iter().map(f64::from).collect();
                let shape = shape.map(|n| n as i64).to_vec();
                made.all.insert(name.replace("attn_kv_b", part), Stored { shape, dtype: both.dtype, bytes, values });
            };
            let at = |h: usize, row: usize, column: usize| both.values[(h * of_head + row) * rank + column] as f32;
            let keys = (0..heads * rank * plain).map(|i| at(i / (rank * plain), i % plain, i / plain % rank));
            add("attn_k_b", [plain, rank, heads], keys.collect());
            let value = of_head - plain;
            let values = (0..heads * value * rank).map(|i| at(i / (rank * value), plain + i / rank % value, i % rank));
            add("attn_v_b", [rank, value, heads], values.collect());
        }
        made
    }

    fn leaf(ctx: &Context, name: &str, shape: &[i64], dtype: DType, bytes: &[u8]) -> Tensor {
        let leaf = ctx.zeros(dtype, shape).unwrap();
        leaf.set_name(name).unwrap();
        leaf.write_bytes(0, bytes).unwrap();
        leaf
    }

    /// Replaces the values that `logits` and similar functions use; the bytes stay.
    pub fn set_values(&mut self, name: &str, values: Vec<f64>) {
        let stored = self.all.get_mut(name).unwrap();
        assert_eq!(stored.values.len(), values.len());
        stored.values = values;
    }

    /// The tensors by T5's names in GGUF files.
    pub fn with_encoder_marks(&self) -> Tensors {
        let marked = |name: &String| match name.as_str() {
            "token_embd.weight" => name.clone(),
            "attn_rel_b.weight" => format!("enc.blk.0.{name}"),
            _ => format!("enc.{name}"),
        };
        Tensors { all: self.all.iter().map(|(name, stored)| (marked(name), stored.clone())).collect() }
    }

    pub fn write_gguf(&self, path: &Path, metadata: &[(String, Value)]) {
        let ctx = Context::new();
        let mut writer = GgufWriter::create(path).unwrap();
        for (key, value) in metadata {
            writer.set(key, value.clone()).unwrap();
        }
        for (name, stored) in &self.all {
            writer.add(&Self::leaf(&ctx, name, &stored.shape, stored.dtype, &stored.bytes)).unwrap();
        }
        writer.finish().unwrap();
    }

    /// `name_of` gives the folder's names; a stack of experts has one name per expert.
    pub fn write_safetensors(
        &self,
        path: &Path,
        name_of: impl Fn(&str, Option<usize>) -> String,
        less_one: impl Fn(&str) -> bool,
    ) {
        let ctx = Context::new();
        let mut leafs = Vec::new();
        // Tensors with three dimensions that are no stacks of experts.
        let is_whole = |name: &str| {
            name.ends_with("_fused")
                || name.starts_with("encoder.conv")
                || name == "conv.weight"
                || name.contains(".lora_A")
                || name.contains(".lora_B")
        };
        for (name, Stored { shape, dtype, bytes, values }) in &self.all {
            if name.ends_with("ssm_conv1d.weight") || name.ends_with("shortconv.conv.weight") {
                // A folder stores the kernel of a convolution over one channel.
                leafs.push(Self::leaf(&ctx, &name_of(name, None), &[shape[0], 1, shape[1]], *dtype, bytes));
            } else if less_one(name) {
                let values: Vec<f32> = values.iter().map(|v| (v - 1.0) as f32).collect();
                let bytes = dtype.quantize(&values, shape[0] as usize, None).unwrap();
                leafs.push(Self::leaf(&ctx, &name_of(name, None), shape, *dtype, &bytes));
            } else if shape.len() == 3 && !is_whole(name) || shape.len() == 2 && name.ends_with("_norm.weight") {
                // A tensor of each expert, or of each head.
                let (n, of_one) = shape.split_last().unwrap();
                for (i, part) in bytes.chunks(bytes.len() / *n as usize).enumerate() {
                    leafs.push(Self::leaf(&ctx, &name_of(name, Some(i)), of_one, *dtype, part));
                }
            } else {
                leafs.push(Self::leaf(&ctx, &name_of(name, None), shape, *dtype, bytes));
            }
        }
        safetensors::write(path, &leafs.iter().collect::<Vec<_>>(), &[]).unwrap();
    }
}

/// A tensor of a safetensors file made by hand: name, type, shape with the contiguous dimension last, bytes.
pub type Raw = (String, &'static str, Vec<i64>, Vec<u8>);

/// Writes a safetensors file with types that the engine lacks.
pub fn write_raw(path: &Path, tensors: &[Raw]) {
    let (mut header, mut data) = (Vec::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let (begin, end) = (data.len(), data.len() + bytes.len());
        data.extend_from_slice(bytes);
        header
            .push(format!("\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{begin},{end}]}}"));
    }
    let header = format!("{{{}}}", header.join(","));
    std::fs::write(path, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()).unwrap();
}

/// A vocabulary of n tokens: special ones, the beginning of a word, letters and marks.
pub fn vocabulary(n: usize) -> Vec<(String, Value)> {
    let special = ["<unk>", "<s>", "</s>", "\u{2581}"].map(String::from);
    let letters = ('a'..='z').chain(".,!?".chars()).chain('A'..='Z').map(String::from);
    let others = (0..n).map(|i| format!("<{i}>"));
    let tokens: Vec<String> = special.into_iter().chain(letters).chain(others).take(n).collect();
    let kinds: Vec<i32> = (0..n)
        .map(|i| match i {
            0 => 2,
            1 | 2 => 3,
            _ => 1,
        })
        .collect();
    vec![
        ("tokenizer.ggml.model".into(), "llama".into()),
        ("tokenizer.ggml.tokens".into(), tokens.into()),
        ("tokenizer.ggml.scores".into(), (0..n).map(|i| -(i as f32)).collect::<Vec<f32>>().into()),
        ("tokenizer.ggml.token_type".into(), kinds.into()),
        ("tokenizer.ggml.bos_token_id".into(), 1u32.into()),
        ("tokenizer.ggml.eos_token_id".into(), 2u32.into()),
    ]
}

/// This vocabulary as a folder's tokenizer.json: whole words.
pub fn tokenizer_json(n: usize) -> String {
    let words: Vec<String> = (0..n).map(|i| format!("\"w{i}\": {i}")).collect();
    format!(
        r#"{{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
"pre_tokenizer": {{"type": "Whitespace"}}, "post_processor": null, "decoder": null,
"model": {{"type": "WordLevel", "vocab": {{{}}}, "unk_token": "w0"}}}}"#,
        words.join(", ")
    )
}

/// A folder's tokenizer.json of byte pairs with this number of tokens.
pub fn byte_pairs_json(n: usize) -> String {
    let special = ["<unk>", "<s>", "</s>"].map(String::from);
    let letters = ('a'..='z').chain(".,!?\u{120}\u{10a}".chars()).map(String::from);
    let pairs = ["th", "he", "\u{120}t", "\u{120}a", "in"].map(String::from);
    let others = (0..n).map(|i| format!("<{i}>"));
    let tokens: Vec<String> = special.into_iter().chain(letters).chain(pairs).chain(others).take(n).collect();
    let vocab: Vec<String> = tokens.iter().enumerate().map(|(i, token)| format!("\"{token}\": {i}")).collect();
    let added = [1, 2].map(|i| format!(r#"{{"id": {i}, "content": "{}", "special": true, "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}}"#, tokens[i]));
    format!(
        r#"{{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [{}], "normalizer": null,
"pre_tokenizer": {{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}}, "post_processor": null,
"decoder": {{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}},
"model": {{"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": false,
"byte_fallback": false, "ignore_merges": false, "vocab": {{{}}}, "merges": ["t h", "h e", "{g} t", "{g} a", "i n"]}}}}"#,
        added.join(", "),
        vocab.join(", "),
        g = "\u{120}"
    )
}
