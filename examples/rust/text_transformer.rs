//! A small transformer learns plays of Shakespeare, character by character, and becomes a GGUF file that `tensorlib generate` continues.
//!
//!     cargo run --release --example text_transformer -- [--seed N] [--steps N] [--out plays-f32.gguf] [--curve CURVE.svg]
//!     cargo run --release -p tensorlib-cli -- quantize plays-f32.gguf plays.gguf q8_0
//!     cargo run --release -p tensorlib-cli -- generate plays.gguf 'ROMEO:'
//!
//! The network is a llama: normalised by root mean squares, rotated positions, SwiGLU. Matrices learn by Muon, all else by AdamW.

use std::path::{Path, PathBuf};
use std::time::Instant;
use tensorlib::nn::{loss, Attention, AttentionOptions, Embedding, Init, Linear, Module, Parameters, Pass, RmsNorm};
use tensorlib::train::{
    evaluate, schedule, Chart, Form, Group, Method, OptimiserOptions, Random, Samples, Slot, Trainer,
};
use tensorlib::{Backend, GgufWriter, Result, Tensor};

const WIDTH: i64 = 192;
const HEADS: i64 = 6;
const LAYERS: usize = 4;
const FEED_FORWARD: i64 = 512;
const TOKENS: usize = 128;
const BATCH: usize = 16;
const ROPE_BASE: f64 = 10_000.;

/// How files of llamas call what is called otherwise here; longer names first.
const NAMES: [(&str, &str); 12] = [
    ("blocks.", "blk."),
    ("embedding.", "token_embd."),
    (".attention_norm.", ".attn_norm."),
    (".attention.query.", ".attn_q."),
    (".attention.key.", ".attn_k."),
    (".attention.value.", ".attn_v."),
    (".attention.output.", ".attn_output."),
    (".feed_forward_norm.", ".ffn_norm."),
    (".gate.", ".ffn_gate."),
    (".up.", ".ffn_up."),
    (".down.", ".ffn_down."),
    ("final_norm.", "output_norm."),
];

struct Block {
    attention_norm: RmsNorm,
    attention: Attention,
    feed_forward_norm: RmsNorm,
    gate: Linear,
    up: Linear,
    down: Linear,
}

struct Transformer {
    embedding: Embedding,
    blocks: Vec<Block>,
    norm: RmsNorm,
    output: Linear,
}

impl Transformer {
    fn new(p: &Parameters, vocabulary: i64) -> Result<Self> {
        let embedding = Embedding::new(&p.scope("embedding"), vocabulary, WIDTH, 0.02)?;
        let init = Init::Normal { deviation: 1. / (WIDTH as f64).sqrt() };
        let block = |i: usize| {
            let p = p.scope(format!("blocks.{i}"));
            let attention = AttentionOptions::new(WIDTH, HEADS).causal().rope(ROPE_BASE).init(init);
            Ok(Block {
                attention_norm: RmsNorm::new(&p.scope("attention_norm"), WIDTH)?,
                attention: Attention::new(&p.scope("attention"), attention)?,
                feed_forward_norm: RmsNorm::new(&p.scope("feed_forward_norm"), WIDTH)?,
                gate: Linear::with(&p.scope("gate"), WIDTH, FEED_FORWARD, init)?,
                up: Linear::with(&p.scope("up"), WIDTH, FEED_FORWARD, init)?,
                down: Linear::with(&p.scope("down"), FEED_FORWARD, WIDTH, Init::Zeros)?,
            })
        };
        let blocks = (0..LAYERS).map(block).collect::<Result<_>>()?;
        let norm = RmsNorm::new(&p.scope("final_norm"), WIDTH)?;
        let output = Linear::with(&p.scope("output"), WIDTH, vocabulary, Init::Zeros)?;
        Ok(Self { embedding, blocks, norm, output })
    }
}

impl Module for Transformer {
    fn forward(&self, tokens: &Tensor, pass: &Pass) -> Result<Tensor> {
        let mut x = self.embedding.forward(tokens, pass)?;
        for block in &self.blocks {
            x = x.add(&block.attention.forward(&block.attention_norm.forward(&x, pass)?, pass)?)?;
            let h = block.feed_forward_norm.forward(&x, pass)?;
            let h = block.gate.forward(&h, pass)?.silu()?.mul(&block.up.forward(&h, pass)?)?;
            x = x.add(&block.down.forward(&h, pass)?)?;
        }
        self.output.forward(&self.norm.forward(&x, pass)?, pass)
    }
}

/// Windows of a text: each character is told by those before it.
struct Windows<'a> {
    text: &'a [i32],
    /// From one window to the next.
    stride: usize,
}

impl Samples for Windows<'_> {
    fn len(&self) -> usize {
        (self.text.len() - 1 - TOKENS) / self.stride + 1
    }

    fn forms(&self) -> (Form, Form) {
        (Form::i32([TOKENS as i64]), Form::i32([TOKENS as i64]))
    }

    fn write(&self, number: usize, random: Option<&mut Random>, input: Slot<'_>, target: Slot<'_>) {
        let last = self.text.len() - 1 - TOKENS;
        let shift = random.map_or(0, |random| random.below(self.stride));
        let first = (number * self.stride + shift).min(last);
        if let (Slot::I32(input), Slot::I32(target)) = (input, target) {
            input.copy_from_slice(&self.text[first..first + TOKENS]);
            target.copy_from_slice(&self.text[first + 1..first + 1 + TOKENS]);
        }
    }
}

struct Options {
    seed: u64,
    steps: usize,
    out: Option<PathBuf>,
    curve: Option<PathBuf>,
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let options = options()?;
    let text = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.txt"))?;
    let mut characters = text.clone();
    characters.sort_unstable();
    characters.dedup();
    let token = |c: &u8| characters.binary_search(c).map_or(0, |i| i as i32);
    let tokens: Vec<i32> = text.iter().map(token).collect();
    let (train, test) = tokens.split_at(tokens.len() / 10 * 9);

    let parameters = Parameters::new(options.seed);
    let model = Transformer::new(&parameters, characters.len() as i64)?;
    println!("{} parameters, {} characters to learn, {} to test", parameters.n_elements(), train.len(), test.len());

    let cpu = Backend::cpu()?;
    let is_matrix = |t: &Tensor| t.n_dims() == 2 && t.name().starts_with("blocks");
    let optimiser = OptimiserOptions::adamw(4e-3)
        .group(Group::new(is_matrix).method(Method::muon()).rate_factor(5.).decay(0.1))
        .clip_norm(1.)
        .build(&parameters)?;
    let train = Windows { text: train, stride: TOKENS };
    let epochs = (options.steps * BATCH).div_ceil(train.len()).max(1);
    let begin = Instant::now();
    let curve = std::cell::RefCell::new(Vec::new());
    let mut trainer = Trainer::new(&cpu, &model, optimiser, loss::cross_entropy)
        .epochs(epochs)
        .batch(BATCH)
        .seed(options.seed)
        .schedule(|step, total| schedule::linear(step, 50, total, 0.02))
        .on_step(|report| {
            if report.step % 200 == 0 {
                println!("step {:>5}: loss {:.4}, {:.0} s", report.step, report.loss, begin.elapsed().as_secs_f64());
            }
            curve.borrow_mut().push((report.step as f64, report.loss));
            std::ops::ControlFlow::Continue(())
        })
        .progress();
    trainer.fit(&train)?;

    // The second half of windows that overlap by half: each character is told by 64 others at least.
    let second_half = |output: &Tensor, target: &Tensor| {
        let half = TOKENS as i64 / 2;
        loss::cross_entropy(&output.narrow(1, half, half)?, &target.narrow(0, half, half)?.cont()?)
    };
    let test = Windows { text: test, stride: TOKENS / 2 };
    let scores = evaluate(&cpu, &model, second_half, &test, BATCH)?;
    println!("{:.3} bits a character on the last tenth of the text", scores.loss / std::f64::consts::LN_2);
    if let Some(path) = options.curve {
        Chart::new("Plays: loss by step", "step", "nats a character").line("training", curve.take()).write_svg(path)?;
    }
    if let Some(path) = options.out {
        write_gguf(&path, &parameters, &characters)?;
        println!("written to {}", path.display());
    }
    Ok(())
}

/// The file of a llama: its settings, a tokenizer of bytes that are never joined, and the tensors under their names there.
fn write_gguf(path: &Path, parameters: &Parameters, characters: &[u8]) -> Result<()> {
    let mut file = GgufWriter::create(path)?;
    file.set("general.architecture", "llama")?;
    file.set("general.name", "plays")?;
    file.set("llama.context_length", TOKENS as u32)?;
    file.set("llama.embedding_length", WIDTH as u32)?;
    file.set("llama.block_count", LAYERS as u32)?;
    file.set("llama.feed_forward_length", FEED_FORWARD as u32)?;
    file.set("llama.attention.head_count", HEADS as u32)?;
    file.set("llama.attention.head_count_kv", HEADS as u32)?;
    file.set("llama.attention.layer_norm_rms_epsilon", 1e-5f32)?;
    file.set("llama.rope.dimension_count", (WIDTH / HEADS) as u32)?;
    file.set("llama.rope.freq_base", ROPE_BASE as f32)?;
    file.set("tokenizer.ggml.model", "gpt2")?;
    file.set("tokenizer.ggml.pre", "default")?;
    // Such tokenizers write bytes that do not print as characters from U+0100 on: of these there are two.
    let letter = |c: &u8| {
        if c.is_ascii_graphic() {
            char::from(*c)
        } else {
            char::from_u32(0x100 + u32::from(*c)).unwrap_or(' ')
        }
    };
    file.set("tokenizer.ggml.tokens", characters.iter().map(|c| letter(c).to_string()).collect::<Vec<_>>())?;
    file.set("tokenizer.ggml.merges", Vec::<String>::new())?;
    let tensors = parameters.tensors();
    let name_of = |t: &Tensor| {
        let name = t.name();
        let renamed = NAMES.iter().fold(name, |name, (ours, theirs)| name.replace(ours, theirs));
        renamed
    };
    for tensor in &tensors {
        file.declare(&name_of(tensor), tensor.dtype(), tensor.shape())?;
    }
    for tensor in &tensors {
        let bytes: Vec<u8> = tensor.to_vec::<f32>()?.into_iter().flat_map(f32::to_le_bytes).collect();
        file.write(&bytes)?;
    }
    file.finish()?;
    Ok(())
}

fn options() -> std::result::Result<Options, Box<dyn std::error::Error>> {
    let mut options = Options { seed: 1, steps: 2000, out: None, curve: None };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--seed" => options.seed = value()?.parse()?,
            "--steps" => options.steps = value()?.parse()?,
            "--out" => options.out = Some(value()?.into()),
            "--curve" => options.curve = Some(value()?.into()),
            _ => return Err(format!("unknown option {arg}: --seed, --steps, --out and --curve are valid").into()),
        }
    }
    Ok(options)
}
