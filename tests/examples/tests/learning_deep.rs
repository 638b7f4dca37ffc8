//! Runs that take minutes, ignored unless asked for: five seeds of the convolutional network; transformers from scratch
//! to their text.

use std::path::Path;
use tensorlib_example_tests::{accuracy_of, folder, number_before, root, Program};

/// Limits for `sparse_transformer`: bits per character, and percent of each layer's neurons.
const BITS: f64 = 2.55;
const ACTIVE: f64 = 6.0;

/// The median of five seeds, on the ISA of `TENSORLIB_ISA`.
#[test]
#[ignore = "takes minutes"]
fn digits_conv_is_accurate() {
    let program = Program::example("digits_conv");
    let mut all = ["1", "2", "3", "4", "5"].map(|seed| accuracy_of(&program.clone().arg(seed).succeed()));
    all.sort_by(f64::total_cmp);
    assert!(all[2] > 98.0, "the median of {all:?} is not above 98 %");
}

#[test]
#[ignore = "takes minutes"]
fn text_transformer_learns() {
    let out = Program::example("text_transformer").arg("--out").arg(folder("text").join("plays-f32.gguf")).succeed();
    let bits = number_before(&out, "bits a character");
    assert!(bits < 2.45, "{bits} bits a character");
}

/// A quantised model learns capitals by an adapter, and `generate --lora` writes them.
#[test]
#[ignore = "takes minutes"]
fn text_adapter_learns_capitals() {
    let (model, adapter) = (root().join("examples/data/plays.gguf"), folder("adapter").join("capitals.gguf"));
    let out = Program::example("text_adapter").arg(&model).arg(&adapter).succeed();
    let (before, after) = (number_before(&out, "bits a capital"), number_before(&out, "bits with an adapter"));
    assert!(after < 0.7 * before, "a third less is wanted of\n{out}");
    let generate = Program::tool(&["generate"]).arg(&model).args(["ROMEO:", "-n", "100", "--temp", "0", "--lora"]);
    let text = generate.arg(&adapter).succeed();
    let letters: Vec<char> = text.chars().filter(|c| c.is_ascii_alphabetic()).collect();
    let large = letters.iter().filter(|c| c.is_ascii_uppercase()).count();
    assert!(letters.len() > 20 && 10 * large > 9 * letters.len(), "{large} of {} letters: {text}", letters.len());
}

/// A model with ReLU from scratch; its file predicts the same with all neurons and with the active ones only.
#[test]
#[ignore = "takes minutes"]
fn sparse_transformer_learns_and_predicts_the_same_by_active_neurons() {
    let folder = folder("relu");
    let [model, transposed, activity] = ["relu.gguf", "transposed.gguf", "activity.json"].map(|name| folder.join(name));
    let out = Program::example("sparse_transformer").arg("--out").arg(&model).succeed();
    let bits = number_before(&out, "bits a character");
    let active = [number_before(&out, "% of layer 0's neurons"), number_before(&out, "% of layer 1's neurons")];
    assert!(bits < BITS && active.iter().all(|share| *share < ACTIVE), "{bits} bits, {active:?} % active");

    // Sixty thousand characters, because all of the plays take minutes.
    let text = folder.join("plays.txt");
    let plays = std::fs::read(root().join("examples/data/plays.txt")).unwrap();
    std::fs::write(&text, &plays[..plays.len().min(60_000)]).unwrap();
    Program::tool(&["transpose-down"]).arg(&model).arg(&transposed).arg("--force").succeed();
    let measure = Program::tool(&["activity"]).arg(&transposed).arg(&text).arg(&activity);
    measure.args(["--force", "-n", "4096"]).succeed();
    let perplexity = |model: &Path, more: &[&str]| -> f64 {
        let out = Program::tool(&["perplexity"]).arg(model).arg(&text).args(["--ctx", "256"]).args(more).succeed();
        let number = out.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        number.unwrap_or_else(|| panic!("no perplexity: {out}"))
    };
    let dense = perplexity(&model, &[]);
    let sparse = perplexity(&transposed, &["--activity", &activity.to_string_lossy()]);
    assert!((dense - sparse).abs() < 1e-3 * dense, "perplexity {dense} of all neurons, {sparse} of the active ones");
}
