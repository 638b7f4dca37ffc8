//! Writes a model of a real shape with random weights, for measurements: its output is noise, its cost is real.
//!
//!     cargo run --release -p tensorlib-models --example random_model -- tinyllama q4_0 /tmp/tinyllama-q4_0.gguf
//!     cargo run --release -p tensorlib-cli -- bench /tmp/tinyllama-q4_0.gguf
//!
//! Shapes: `tinyllama` (22 layers of 2048) and `minilm` (6 layers of 384). Types: any storage type, for all matrices,
//! and `q4_K_M`, which keeps values, down projections and the output in q6_K in the layers where they matter most, as
//! files of that name do.

use std::error::Error;
use tensorlib::{Backend, Context, DType, GgufWriter, Value};

struct Llama {
    layers: i64,
    width: i64,
    heads: i64,
    kv_heads: i64,
    ffn: i64,
    vocabulary: i64,
}
const TINYLLAMA: Llama = Llama { layers: 22, width: 2048, heads: 32, kv_heads: 4, ffn: 5632, vocabulary: 32000 };

struct Bert {
    layers: i64,
    width: i64,
    heads: i64,
    ffn: i64,
    vocabulary: i64,
    positions: i64,
}
const MINILM: Bert = Bert { layers: 6, width: 384, heads: 12, ffn: 1536, vocabulary: 30522, positions: 512 };

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [shape, types, file] = &arguments[..] else {
        return Err("three arguments are valid: tinyllama or minilm, a type, the file to write".into());
    };
    let mut model = Model {
        cpu: Backend::cpu()?,
        writer: GgufWriter::create(file)?,
        random: 1,
        mixed: types.eq_ignore_ascii_case("q4_K_M"),
        dtype: if types.eq_ignore_ascii_case("q4_K_M") { DType::Q4_K } else { types.parse()? },
    };
    match shape.as_str() {
        "tinyllama" => llama(&mut model, &TINYLLAMA)?,
        "minilm" => bert(&mut model, &MINILM)?,
        other => return Err(format!("no shape '{other}': tinyllama and minilm are valid").into()),
    }
    model.writer.finish()?;
    println!("{file}: {:.1} MB", std::fs::metadata(file)?.len() as f64 / 1e6);
    Ok(())
}

struct Model {
    cpu: Backend,
    writer: GgufWriter,
    random: u64,
    dtype: DType,
    /// Whether some matrices are q6_K.
    mixed: bool,
}

impl Model {
    fn set(&mut self, key: &str, value: impl Into<Value>) -> tensorlib::Result<()> {
        self.writer.set(key, value)
    }

    /// A number from -1 to 1, by SplitMix64 (Steele, Lea and Flood, 2014).
    fn next(&mut self) -> f32 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    /// `spread` is chosen so that products of numbers of size 1 have size 1.
    fn matrix(&mut self, name: &str, [inputs, rows]: [i64; 2], heavy: bool) -> tensorlib::Result<()> {
        let dtype = if self.mixed && heavy { DType::Q6_K } else { self.dtype };
        let spread = (3.0 / inputs as f32).sqrt();
        let values: Vec<f32> = (0..inputs * rows).map(|_| spread * self.next()).collect();
        self.add(&format!("{name}.weight"), dtype, &[inputs, rows], &values)
    }

    fn vector(&mut self, name: &str, n: i64, value: f32) -> tensorlib::Result<()> {
        self.add(name, DType::F32, &[n], &vec![value; n as usize])
    }

    fn add(&mut self, name: &str, dtype: DType, shape: &[i64], values: &[f32]) -> tensorlib::Result<()> {
        let ctx = Context::new();
        let leaf = ctx.zeros(dtype, shape)?;
        leaf.set_name(name)?;
        leaf.write_bytes(0, &self.cpu.quantize(dtype, values, shape[0] as usize, None)?)?;
        self.writer.add(&leaf)
    }
}

/// Whether files named q4_K_M keep the layer's values and down projection in 6 bits; false for about half of the
/// layers, which use 4.
fn is_heavy(layer: i64, layers: i64) -> bool {
    layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2
}

fn llama(model: &mut Model, shape: &Llama) -> tensorlib::Result<()> {
    let Llama { layers, width, heads, kv_heads, ffn, vocabulary } = *shape;
    let head = width / heads;
    model.set("general.architecture", "llama")?;
    model.set("general.name", "random weights")?;
    for (key, value) in [
        ("block_count", layers),
        ("context_length", 2048),
        ("embedding_length", width),
        ("feed_forward_length", ffn),
        ("attention.head_count", heads),
        ("attention.head_count_kv", kv_heads),
        ("rope.dimension_count", head),
        ("vocab_size", vocabulary),
    ] {
        model.set(&format!("llama.{key}"), value as u32)?;
    }
    model.set("llama.attention.layer_norm_rms_epsilon", 1e-5f32)?;
    // Three special tokens, the 256 bytes, which suffice for any text, and names for the rest.
    let token = |i: i64| match i {
        0 => "<unk>".into(),
        1 => "<s>".into(),
        2 => "</s>".into(),
        3..=258 => format!("<0x{:02X}>", i - 3),
        _ => format!("\u{2581}t{i}"),
    };
    let kind = |i: i64| match i {
        0 => 2,
        1 | 2 => 3,
        3..=258 => 6,
        _ => 1,
    };
    model.set("tokenizer.ggml.model", "llama")?;
    model.set("tokenizer.ggml.tokens", (0..vocabulary).map(token).collect::<Vec<String>>())?;
    model.set("tokenizer.ggml.scores", (0..vocabulary).map(|i| -(i as f32)).collect::<Vec<f32>>())?;
    model.set("tokenizer.ggml.token_type", (0..vocabulary).map(kind).collect::<Vec<i32>>())?;
    model.set("tokenizer.ggml.bos_token_id", 1u32)?;
    model.set("tokenizer.ggml.eos_token_id", 2u32)?;

    model.matrix("token_embd", [width, vocabulary], false)?;
    for i in 0..layers {
        let heavy = is_heavy(i, layers);
        model.vector(&format!("blk.{i}.attn_norm.weight"), width, 1.0)?;
        model.matrix(&format!("blk.{i}.attn_q"), [width, width], false)?;
        model.matrix(&format!("blk.{i}.attn_k"), [width, kv_heads * head], false)?;
        model.matrix(&format!("blk.{i}.attn_v"), [width, kv_heads * head], heavy)?;
        model.matrix(&format!("blk.{i}.attn_output"), [width, width], false)?;
        model.vector(&format!("blk.{i}.ffn_norm.weight"), width, 1.0)?;
        model.matrix(&format!("blk.{i}.ffn_gate"), [width, ffn], false)?;
        model.matrix(&format!("blk.{i}.ffn_up"), [width, ffn], false)?;
        model.matrix(&format!("blk.{i}.ffn_down"), [ffn, width], heavy)?;
    }
    model.vector("output_norm.weight", width, 1.0)?;
    model.matrix("output", [width, vocabulary], true)
}

fn bert_tokenizer(model: &mut Model, vocabulary: i64) -> tensorlib::Result<()> {
    // Special tokens, letters as words and as their continuations, and names for the rest.
    let letters: Vec<char> = ('a'..='z').chain('0'..='9').chain(".,;:!?'\"()-".chars()).collect();
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(String::from);
    let begins = letters.iter().map(|c| format!("\u{2581}{c}"));
    let continues = letters.iter().map(char::to_string);
    let others = (0..).map(|i| format!("\u{2581}t{i}"));
    let tokens = special.into_iter().chain(begins).chain(continues).chain(others);
    model.set("tokenizer.ggml.model", "bert")?;
    model.set("tokenizer.ggml.tokens", tokens.take(vocabulary as usize).collect::<Vec<String>>())?;
    model.set("tokenizer.ggml.token_type", (0..vocabulary).map(|i| if i < 5 { 3 } else { 1 }).collect::<Vec<i32>>())?;
    model.set("tokenizer.ggml.token_type_count", 2u32)?;
    for (key, id) in
        [("padding", 0u32), ("unknown", 1), ("bos", 2), ("cls", 2), ("eos", 3), ("seperator", 3), ("mask", 4)]
    {
        model.set(&format!("tokenizer.ggml.{key}_token_id"), id)?;
    }
    Ok(())
}

fn bert(model: &mut Model, shape: &Bert) -> tensorlib::Result<()> {
    let Bert { layers, width, heads, ffn, vocabulary, positions } = *shape;
    model.set("general.architecture", "bert")?;
    model.set("general.name", "random weights")?;
    for (key, value) in [
        ("block_count", layers),
        ("context_length", positions),
        ("embedding_length", width),
        ("feed_forward_length", ffn),
        ("attention.head_count", heads),
        ("pooling_type", 1),
    ] {
        model.set(&format!("bert.{key}"), value as u32)?;
    }
    model.set("bert.attention.layer_norm_epsilon", 1e-12f32)?;
    model.set("bert.attention.causal", false)?;
    bert_tokenizer(model, vocabulary)?;

    let norm = |model: &mut Model, name: &str| {
        model.vector(&format!("{name}.weight"), width, 1.0)?;
        model.vector(&format!("{name}.bias"), width, 0.0)
    };
    model.matrix("token_embd", [width, vocabulary], false)?;
    let dtype = std::mem::replace(&mut model.dtype, DType::F32); // small, and added as they are
    model.matrix("position_embd", [width, positions], false)?;
    model.matrix("token_types", [width, 2], false)?;
    model.dtype = dtype;
    norm(model, "token_embd_norm")?;
    for i in 0..layers {
        let linears = [
            ("attn_q", width, width),
            ("attn_k", width, width),
            ("attn_v", width, width),
            ("attn_output", width, width),
            ("ffn_up", width, ffn),
            ("ffn_down", ffn, width),
        ];
        for (part, inputs, outputs) in linears {
            model.matrix(&format!("blk.{i}.{part}"), [inputs, outputs], false)?;
            model.vector(&format!("blk.{i}.{part}.bias"), outputs, 0.0)?;
        }
        norm(model, &format!("blk.{i}.attn_output_norm"))?;
        norm(model, &format!("blk.{i}.layer_output_norm"))?;
    }
    Ok(())
}
