//! A small transformer learns plays of Shakespeare, character by character, and becomes a GGUF file that `tensorlib generate` continues.
//!
//!     cargo run --release --example text_transformer -- [--seed N] [--epochs N] [--out plays-f32.gguf] [--curve CURVE.svg]
//!         [--checkpoint FILE]
//!     cargo run --release -p tensorlib-cli -- quantize plays-f32.gguf plays.gguf --type q8_0
//!     cargo run --release -p tensorlib-cli -- generate plays.gguf 'ROMEO:'
//!
//! With a checkpoint a run that was interrupted goes on where it was.

use std::time::Instant;
use tensorlib::nn::{loss, Parameters};
use tensorlib::train::{Chart, Trainer};
use tensorlib::Backend;

#[allow(dead_code, reason = "each of the examples on plays uses its part")]
mod plays;

struct Options {
    seed: u64,
    epochs: usize,
    out: Option<String>,
    curve: Option<String>,
    checkpoint: Option<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = options()?;
    let text = std::fs::read(plays::TEXT)?;
    let characters = plays::characters_of(&text);
    let tokens = plays::tokens_of(&text, &characters);
    let (train, test) = tokens.split_at(tokens.len() / 10 * 9);

    let parameters = Parameters::new(options.seed);
    let model = plays::Llama::new(&parameters, characters.len() as i64, plays::SMALL)?;
    println!("{} parameters, {} characters to learn, {} to test", parameters.n_elements(), train.len(), test.len());

    let cpu = Backend::cpu()?;
    let begin = Instant::now();
    let mut curve = Vec::new();
    let mut trainer = Trainer::new(&cpu, &model, plays::optimiser(&parameters)?, loss::cross_entropy)
        .epochs(options.epochs)
        .batch(plays::BATCH)
        .seed(options.seed)
        .schedule(plays::rate)
        .on_step(|report| {
            if report.step % 100 == 0 {
                println!("step {:>5}: loss {:.4}, {:.0} s", report.step, report.loss, begin.elapsed().as_secs_f64());
            }
            curve.push((report.step as f64, report.loss));
            std::ops::ControlFlow::Continue(())
        })
        .progress();
    if let Some(path) = options.checkpoint {
        trainer = trainer.checkpoint(path, 100);
    }
    trainer.fit(&plays::Windows { text: train, stride: plays::TOKENS })?;
    drop(trainer);

    println!("{:.3} bits a character on the last tenth of the text", plays::bits(&cpu, &model, test)?);
    if let Some(path) = options.curve {
        Chart::new("Plays: loss by step", "step", "nats a character").line("training", curve).write_svg(path)?;
    }
    if let Some(path) = options.out {
        plays::write(&path, &parameters, &characters, plays::SMALL)?;
        println!("written to {path}");
    }
    Ok(())
}

fn options() -> Result<Options, Box<dyn std::error::Error>> {
    let mut options = Options { seed: 1, epochs: 3, out: None, curve: None, checkpoint: None };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--seed" => options.seed = value()?.parse()?,
            "--epochs" => options.epochs = value()?.parse()?,
            "--out" => options.out = Some(value()?),
            "--curve" => options.curve = Some(value()?),
            "--checkpoint" => options.checkpoint = Some(value()?),
            _ => {
                return Err(format!(
                    "unknown option {arg}: --seed, --epochs, --out, --curve and --checkpoint are valid"
                )
                .into())
            }
        }
    }
    Ok(options)
}
