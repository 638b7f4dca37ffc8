//! A text encoder of the BERT family: prints the vector of a text, given as tokens.
//!
//!     cargo run --release --example encoder -- MODEL.gguf TOKEN...
//!
//! MODEL.gguf has the architecture bert. The vector is the mean of the tokens' vectors in the last layer, whatever
//! pooling the file names, divided by its length. It is printed one element a line, with six digits after the point.
//! TENSORLIB_DEVICE names the device; the CPU is the default.

use std::process::ExitCode;
use tensorlib::{Backend, Context, FlashAttnExtOptions, Gguf, Tensor};

type Failure = Box<dyn std::error::Error>;

struct Encoder {
    file: Gguf,
    backend: Backend,
    /// The weights and the nodes.
    ctx: Context,
    /// {width, vocabulary}.
    embeddings: Tensor,
    width: i64,
    layers: i64,
    heads: i64,
    eps: f64,
}

impl Encoder {
    fn open(path: &str, backend: Backend) -> Result<Self, Failure> {
        let file = Gguf::open(path)?;
        let architecture = file.string("general.architecture")?;
        if architecture != "bert" {
            return Err(format!("the architecture is '{architecture}': bert is valid").into());
        }
        let (layers, heads) = (count(&file, "bert.block_count")?, count(&file, "bert.attention.head_count")?);
        let eps = file.f64("bert.attention.layer_norm_epsilon")?;
        let ctx = Context::on(&backend);
        let embeddings = file.tensor(&ctx, "token_embd.weight")?;
        let width = embeddings.shape()[0];
        if width % heads != 0 {
            return Err(format!("{heads} heads do not divide the width, {width}").into());
        }
        Ok(Encoder { file, backend, ctx, embeddings, width, layers, heads, eps })
    }

    fn vocabulary(&self) -> i64 {
        self.embeddings.shape().get(1).copied().unwrap_or(1)
    }

    /// The vector of these tokens, each below `vocabulary`.
    fn encode(&self, tokens: &[i32]) -> tensorlib::Result<Vec<f32>> {
        let n = tokens.len() as i64;
        let ids = self.ctx.tensor_of([n], tokens)?;
        let positions = self.weight("position_embd.weight")?.narrow(1, 0, n)?;
        let first_type = self.weight("token_types.weight")?.narrow(1, 0, 1)?; // all are of the first type
        let x = (self.embeddings.get_rows(&ids) + positions + first_type)?;
        let mut x = self.norm("token_embd_norm", &x)?;
        for number in 0..self.layers {
            x = self.layer(number, &x)?;
        }
        let vector = x.mean(1)?.l2_norm(1e-12)?; // of the tokens' mean
        self.backend.compute(&[&vector])?;
        vector.to_vec()
    }

    fn layer(&self, number: i64, x: &Tensor) -> tensorlib::Result<Tensor> {
        let name = |part: &str| format!("blk.{number}.{part}");
        let q = self.split_heads(&self.linear(&name("attn_q"), x)?)?;
        let k = self.split_heads(&self.linear(&name("attn_k"), x)?)?;
        let v = self.split_heads(&self.linear(&name("attn_v"), x)?)?;
        let attended = q.flash_attn_ext(&k, &v, None, None, FlashAttnExtOptions::new())?;
        let attended = attended.reshape([self.width, -1])?; // was {width / heads, heads, tokens}
        let sum = self.linear(&name("attn_output"), &attended)?.add(x)?;
        let x = self.norm(&name("attn_output_norm"), &sum)?;
        let inner = self.linear(&name("ffn_up"), &x)?.gelu_erf()?;
        let sum = (self.linear(&name("ffn_down"), &inner) + x)?;
        self.norm(&name("layer_output_norm"), &sum)
    }

    /// {width, tokens} as {width / heads, tokens, heads}.
    fn split_heads(&self, x: &Tensor) -> tensorlib::Result<Tensor> {
        x.reshape([self.width / self.heads, self.heads, -1])?.permute([0, 2, 1, 3])
    }

    fn linear(&self, name: &str, x: &Tensor) -> tensorlib::Result<Tensor> {
        self.weight(&format!("{name}.weight"))?.mul_mat(x) + self.weight(&format!("{name}.bias"))?
    }

    fn norm(&self, name: &str, x: &Tensor) -> tensorlib::Result<Tensor> {
        let scaled = x.norm(self.eps) * self.weight(&format!("{name}.weight"))?;
        scaled + self.weight(&format!("{name}.bias"))?
    }

    fn weight(&self, name: &str) -> tensorlib::Result<Tensor> {
        self.file.tensor(&self.ctx, name)
    }
}

/// A setting that is a whole number of 1 or more.
fn count(file: &Gguf, key: &str) -> Result<i64, Failure> {
    match file.i64(key)? {
        value if value >= 1 => Ok(value),
        value => Err(format!("{key} is {value}: 1 or more is valid").into()),
    }
}

fn run(path: &str, arguments: &[String]) -> Result<(), Failure> {
    let device = std::env::var("TENSORLIB_DEVICE").unwrap_or_default();
    let encoder = Encoder::open(path, Backend::new(if device.is_empty() { "cpu" } else { &device })?)?;
    let parse = |text: &String| match text.parse::<i32>() {
        Ok(token) if (0..encoder.vocabulary()).contains(&i64::from(token)) => Ok(token),
        _ => Err(format!("token {text}: 0 to {} are valid", encoder.vocabulary() - 1)),
    };
    let tokens = arguments.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    for value in encoder.encode(&tokens)? {
        println!("{value:.6}");
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, tokens @ ..] = arguments.as_slice() else { return usage() };
    if tokens.is_empty() {
        return usage();
    }
    match run(path, tokens) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("encoder: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: encoder MODEL.gguf TOKEN...");
    ExitCode::from(2)
}
