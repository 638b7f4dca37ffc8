//! Shared by the examples on plays: a small llama as a module, its characters as tokens, and windows of a text as
//! samples.

use tensorlib::nn::{Attention, AttentionOptions, Embedding, Init, Linear, Module, Parameters, Pass, RmsNorm};
use tensorlib::train::{schedule, Form, Forms, Group, Method, Optimiser, OptimiserOptions, Random, Samples, Slot};
use tensorlib::{Context, Gguf, GgufWriter, Result, Tensor};

pub const TEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.txt");

pub const TOKENS: usize = 256;
/// Windows of a step.
pub const BATCH: usize = 8;
pub const ROPE_BASE: f64 = 10_000.;
pub const EPSILON: f64 = 1e-5;

/// What the gate of a feed-forward block passes.
#[derive(Clone, Copy, PartialEq)]
pub enum Activation {
    Silu,
    Relu,
}

#[derive(Clone, Copy)]
pub struct Size {
    pub width: i64,
    pub heads: i64,
    pub layers: usize,
    pub feed_forward: i64,
    pub activation: Activation,
}

/// That of `examples/data/plays.gguf`.
pub const SMALL: Size = Size { width: 192, heads: 6, layers: 4, feed_forward: 512, activation: Activation::Silu };

struct Block {
    attention_norm: RmsNorm,
    attention: Attention,
    feed_forward_norm: RmsNorm,
    gate: Linear,
    up: Linear,
    down: Linear,
    activation: Activation,
}

impl Block {
    /// The block's output, and its gate after the activation.
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<(Tensor, Tensor)> {
        let x = (x + self.attention.forward(&self.attention_norm.forward(x, pass)?, pass))?;
        let h = self.feed_forward_norm.forward(&x, pass)?;
        let gate = self.gate.forward(&h, pass)?;
        let gate = match self.activation {
            Activation::Silu => gate.silu()?,
            Activation::Relu => gate.relu()?,
        };
        let h = (&gate * self.up.forward(&h, pass))?;
        Ok(((x + self.down.forward(&h, pass))?, gate))
    }
}

/// A llama: RMS norms, rotary positions, SwiGLU or ReGLU. Its parameters have the names that they have in files.
pub struct Llama {
    embedding: Embedding,
    blocks: Vec<Block>,
    norm: RmsNorm,
    output: Linear,
}

impl Llama {
    /// A new one.
    pub fn new(p: &Parameters, vocabulary: i64, size: Size) -> Result<Self> {
        let embedding = Embedding::new(&p.scope("token_embd"), vocabulary, size.width, 0.02)?;
        let matrix = |name: &str, inputs: i64, outputs: i64| {
            // What adds to the sum of all layers, and the answer, begin with nothing.
            let init = match name {
                "output" => Init::Zeros,
                name if name.ends_with("down") => Init::Zeros,
                _ => Init::Normal { deviation: 1. / (size.width as f64).sqrt() },
            };
            Linear::with(&p.scope(name), inputs, outputs, init)
        };
        Self::of(embedding, vocabulary, size, &matrix, &|name| RmsNorm::new(&p.scope(name), size.width))
    }

    /// One of a file that [`write`] has made, quantised or not. Its weights are constants, which nothing trains.
    pub fn of_file(file: &Gguf, vocabulary: i64) -> Result<Self> {
        let ctx = Context::new();
        let weight = |name: &str| file.tensor(&ctx, &format!("{name}.weight"));
        let embedding = Embedding::of(weight("token_embd")?);
        let matrix = |name: &str, _: i64, _: i64| Ok(Linear::of(weight(name)?, None));
        let norm = |name: &str| Ok(RmsNorm::of(weight(name)?, EPSILON));
        Self::of(embedding, vocabulary, SMALL, &matrix, &norm)
    }

    fn of(
        embedding: Embedding,
        vocabulary: i64,
        size: Size,
        matrix: &dyn Fn(&str, i64, i64) -> Result<Linear>,
        norm: &dyn Fn(&str) -> Result<RmsNorm>,
    ) -> Result<Self> {
        let Size { width, heads, layers, feed_forward, activation } = size;
        let block = |i: usize| {
            let matrix = |name: &str, inputs, outputs| matrix(&format!("blk.{i}.{name}"), inputs, outputs);
            let square = |name: &str| matrix(name, width, width);
            let options = AttentionOptions::new(width, heads).causal().rope(ROPE_BASE);
            Ok(Block {
                attention_norm: norm(&format!("blk.{i}.attn_norm"))?,
                attention: Attention::of(
                    options,
                    [square("attn_q")?, square("attn_k")?, square("attn_v")?, square("attn_output")?],
                )?,
                feed_forward_norm: norm(&format!("blk.{i}.ffn_norm"))?,
                gate: matrix("ffn_gate", width, feed_forward)?,
                up: matrix("ffn_up", width, feed_forward)?,
                down: matrix("ffn_down", feed_forward, width)?,
                activation,
            })
        };
        let blocks = (0..layers).map(block).collect::<Result<_>>()?;
        Ok(Self { embedding, blocks, norm: norm("output_norm")?, output: matrix("output", width, vocabulary)? })
    }

    /// The logits, and each layer's gate after its activation.
    pub fn forward_and_gates(&self, tokens: &Tensor, pass: &Pass) -> Result<(Tensor, Vec<Tensor>)> {
        let mut x = self.embedding.forward(tokens, pass)?;
        let mut gates = Vec::new();
        for block in &self.blocks {
            let (sum, gate) = block.forward(&x, pass)?;
            x = sum;
            gates.push(gate);
        }
        Ok((self.output.forward(&self.norm.forward(&x, pass)?, pass)?, gates))
    }

    /// Low-rank additions to all matrices of all layers, which are trained in their place.
    pub fn adapt(&mut self, p: &Parameters, rank: i64, alpha: f64) -> Result<()> {
        for (i, block) in self.blocks.iter_mut().enumerate() {
            let Attention { query, key, value, output, .. } = &mut block.attention;
            for (matrix, name) in [
                (query, "attn_q"),
                (key, "attn_k"),
                (value, "attn_v"),
                (output, "attn_output"),
                (&mut block.gate, "ffn_gate"),
                (&mut block.up, "ffn_up"),
                (&mut block.down, "ffn_down"),
            ] {
                matrix.adapt(&p.scope(format!("blk.{i}.{name}.weight")), rank, alpha)?;
            }
        }
        Ok(())
    }
}

impl Module for Llama {
    fn forward(&self, tokens: &Tensor, pass: &Pass) -> Result<Tensor> {
        Ok(self.forward_and_gates(tokens, pass)?.0)
    }
}

/// Matrices learn by Muon, all else by AdamW.
pub fn optimiser(parameters: &Parameters) -> Result<Optimiser> {
    let matrices = Group::new(|t| t.n_dims() == 2 && t.name().starts_with("blk"));
    let matrices = matrices.method(Method::muon()).rate_factor(5.).decay(0.1);
    OptimiserOptions::adamw(4e-3).group(matrices).clip_norm(1.).build(parameters)
}

/// The rate's factor: it rises in 50 steps, then falls to a fiftieth.
pub fn rate(step: u64, steps: u64) -> f64 {
    schedule::linear(step, 50, steps, 0.02)
}

/// The file of a llama: its settings, a tokenizer of characters that are never joined, and the parameters.
pub fn write(path: &str, parameters: &Parameters, characters: &[u8], size: Size) -> Result<()> {
    let Size { width, heads, layers, feed_forward, activation } = size;
    let mut file = GgufWriter::create(path)?;
    file.set("general.architecture", "llama")?;
    file.set("general.name", "plays")?;
    file.set("llama.context_length", TOKENS as u32)?;
    file.set("llama.embedding_length", width as u32)?;
    file.set("llama.block_count", layers as u32)?;
    file.set("llama.feed_forward_length", feed_forward as u32)?;
    file.set("llama.attention.head_count", heads as u32)?;
    file.set("llama.attention.head_count_kv", heads as u32)?;
    file.set("llama.attention.layer_norm_rms_epsilon", EPSILON as f32)?;
    if activation == Activation::Relu {
        file.set("llama.feed_forward_activation", "relu")?;
    }
    file.set("llama.rope.dimension_count", (width / heads) as u32)?;
    file.set("llama.rope.freq_base", ROPE_BASE as f32)?;
    file.set("tokenizer.ggml.model", "gpt2")?;
    file.set("tokenizer.ggml.pre", "default")?;
    // Such tokenizers write bytes that do not print as characters from U+0100 on: of these there are two, space and new line.
    let letter = |c: &u8| match char::from(*c) {
        c if c.is_ascii_graphic() => c,
        c => char::from_u32(0x100 + u32::from(c)).unwrap_or(c),
    };
    file.set("tokenizer.ggml.tokens", characters.iter().map(|c| letter(c).to_string()).collect::<Vec<_>>())?;
    file.set("tokenizer.ggml.merges", Vec::<String>::new())?;
    add_all(file, parameters)
}

/// The file of an adapter, for `generate --lora`.
pub fn write_adapter(path: &str, parameters: &Parameters, alpha: f64) -> Result<()> {
    let mut file = GgufWriter::create(path)?;
    file.set("general.type", "adapter")?;
    file.set("general.architecture", "llama")?;
    file.set("adapter.type", "lora")?;
    file.set("adapter.lora.alpha", alpha as f32)?;
    add_all(file, parameters)
}

fn add_all(mut file: GgufWriter, parameters: &Parameters) -> Result<()> {
    for tensor in parameters.tensors() {
        file.add(&tensor)?;
    }
    file.finish().map(drop)
}

/// The characters that there are in a text, in order: a character's token is its place here.
pub fn characters_of(text: &[u8]) -> Vec<u8> {
    let mut characters = text.to_vec();
    characters.sort_unstable();
    characters.dedup();
    characters
}

/// A text's tokens; characters that there are not become the first one.
pub fn tokens_of(text: &[u8], characters: &[u8]) -> Vec<i32> {
    text.iter().map(|c| characters.binary_search(c).map_or(0, |i| i as i32)).collect()
}

/// Windows of a text of more than [`TOKENS`] characters: each character is told by those before it.
pub struct Windows<'a> {
    pub text: &'a [i32],
    /// From one window to the next.
    pub stride: usize,
}

impl Samples for Windows<'_> {
    fn len(&self) -> usize {
        (self.text.len() - 1 - TOKENS) / self.stride + 1
    }

    fn forms(&self) -> Forms {
        Forms::new(Form::i32([TOKENS as i64]), Form::i32([TOKENS as i64]))
    }

    fn write(
        &self,
        number: usize,
        random: Option<&mut Random>,
        inputs: &mut [Slot<'_>],
        targets: &mut [Slot<'_>],
    ) -> Result<()> {
        let last = self.text.len() - 1 - TOKENS;
        let shift = random.map_or(0, |random| random.below(self.stride));
        let first = (number * self.stride + shift).min(last);
        if let ([Slot::I32(input)], [Slot::I32(target)]) = (inputs, targets) {
            input.copy_from_slice(&self.text[first..first + TOKENS]);
            target.copy_from_slice(&self.text[first + 1..first + 1 + TOKENS]);
        }
        Ok(())
    }
}

/// Bits a character, of the second half of windows that overlap by half: each character is told by 128 others at least.
pub fn bits(cpu: &tensorlib::Backend, model: &dyn Module, text: &[i32]) -> Result<f64> {
    let second_half = |output: &Tensor, target: &Tensor| {
        let half = TOKENS as i64 / 2;
        tensorlib::nn::loss::cross_entropy(&output.narrow(1, half, half)?, &target.narrow(0, half, half)?.cont()?)
    };
    let windows = Windows { text, stride: TOKENS / 2 };
    let scores = tensorlib::train::evaluate(cpu, model, second_half, &windows, 8)?;
    Ok(scores.loss / std::f64::consts::LN_2)
}
