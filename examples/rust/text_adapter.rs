//! A quantised model learns another style by a low-rank adapter: the plays in capitals. Its weights stay as they are.
//!
//!     cargo run --release --example text_adapter -- [MODEL.gguf] [OUT.gguf]
//!     cargo run --release -p tensorlib-cli -- generate examples/data/plays.gguf 'ROMEO:' --lora OUT.gguf

use tensorlib::nn::{loss, Parameters};
use tensorlib::train::{schedule, OptimiserOptions, Trainer};
use tensorlib::{Backend, Gguf};

#[allow(dead_code, reason = "each of the examples on plays uses its part")]
mod plays;

const RANK: i64 = 8;
const ALPHA: f64 = 16.;
/// Characters of the text to learn, and to test.
const TRAIN: usize = 200_000;
const TEST: usize = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let model =
        args.next().unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/plays.gguf").into());
    let text = std::fs::read(plays::TEXT)?;
    let characters = plays::characters_of(&text);
    let tokens = plays::tokens_of(&text.to_ascii_uppercase(), &characters);
    let (train, test) = (&tokens[..TRAIN], &tokens[tokens.len() - TEST..]);

    let mut llama = plays::Llama::of_file(&Gguf::open(&model)?, characters.len() as i64)?;
    let cpu = Backend::cpu()?;
    println!("{:.3} bits a capital by the model alone", plays::bits(&cpu, &llama, test)?);

    let parameters = Parameters::new(1);
    llama.adapt(&parameters, RANK, ALPHA)?;
    let optimiser = OptimiserOptions::adamw(3e-3).clip_norm(1.).build(&parameters)?;
    Trainer::new(&cpu, &llama, optimiser, loss::cross_entropy)
        .batch(8)
        .seed(1)
        .schedule(|step, total| schedule::cosine(step, 10, total, 0.05))
        .progress()
        .fit(&plays::Windows { text: train, stride: plays::TOKENS })?;
    println!("{:.3} bits with an adapter of {} parameters", plays::bits(&cpu, &llama, test)?, parameters.n_elements());
    if let Some(path) = args.next() {
        plays::write_adapter(&path, &parameters, ALPHA)?;
        println!("written to {path}");
    }
    Ok(())
}
