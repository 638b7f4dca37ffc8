//! Recognises handwritten digits by their nearest neighbour.
//!
//! One graph computes all squared distances between queries y and references x: |x|^2 + |y|^2 - 2 x.y, a mul_mat and
//! two adds. The host fills the leafs with the factor -2 and the norms.
//!
//!     cargo run --release --example digits -- [--device NAME] [--threads N] [--file CSV]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use tensorlib::{BackendOptions, Context, Graph};

const PIXELS: usize = 64; // 8 x 8, each 0 to 16
const REFERENCES: usize = 1000;

type Failure = Box<dyn std::error::Error>;

struct Options {
    device: String,
    threads: usize,
    file: PathBuf,
}

struct Digit {
    pixels: Vec<f32>,
    label: u8,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digits: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let options = parse_options(std::env::args().skip(1))?;
    let digits = read_digits(&options.file)?;
    let (references, queries) = digits.split_at(REFERENCES);

    let backend = BackendOptions::new().threads(options.threads).open(&options.device)?;
    let ctx = Context::on(&backend);
    let (n_references, n_queries) = (references.len() as i64, queries.len() as i64);
    let scaled = ctx.tensor([PIXELS as i64, n_references], &pixels(references, -2.0))?;
    let y = ctx.tensor([PIXELS as i64, n_queries], &pixels(queries, 1.0))?;
    let x_norms = ctx.tensor([n_references], &norms(references))?;
    let y_norms = ctx.tensor([1, n_queries], &norms(queries))?;
    let products = scaled.mul_mat(&y)?; // [references, queries]: -2 x.y
    let distances = (products + x_norms + y_norms)?;
    let graph = Graph::new(&[&distances])?;

    graph.compute(&backend)?; // the first run also plans
    let start = Instant::now();
    graph.compute(&backend)?;
    let seconds = start.elapsed().as_secs_f64();

    let answers: Vec<u8> =
        distances.to_vec::<f32>()?.chunks(REFERENCES).map(|row| references[nearest(row)].label).collect();
    draw(queries, &answers);
    let right = queries.iter().zip(&answers).filter(|(query, answer)| query.label == **answer).count();
    // 2 PIXELS for each product, 2 additions for each distance.
    let flops = (2 * PIXELS + 2) as f64 * (references.len() * queries.len()) as f64;
    println!("{backend:?}: {:.3} ms, {:.1} GFLOP/s", seconds * 1e3, flops / seconds / 1e9);
    println!("accuracy {:.2} % ({right} of {})", 100.0 * right as f64 / queries.len() as f64, queries.len());
    Ok(())
}

fn parse_options(mut args: impl Iterator<Item = String>) -> Result<Options, Failure> {
    let mut options = Options { device: "cpu".into(), threads: 0, file: default_file() };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--device" => options.device = value()?,
            "--threads" => {
                let text = value()?;
                options.threads =
                    text.parse().map_err(|_| format!("--threads {text}: a number of threads is valid"))?;
            }
            "--file" => options.file = value()?.into(),
            _ => return Err(format!("unknown option {arg}: --device, --threads and --file are valid").into()),
        }
    }
    Ok(options)
}

/// The data in the repository, wherever the program is started from.
fn default_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/digits.csv")
}

/// A line per digit: 64 pixels and the label, separated by commas. Lines that begin with # are comments.
fn read_digits(file: &Path) -> Result<Vec<Digit>, Failure> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut digits = Vec::new();
    let mut last_line = 0;
    for (index, line) in text.lines().enumerate() {
        last_line = index + 1;
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        digits.push(parse_digit(line).map_err(|e| format!("{}:{last_line}: {e}", file.display()))?);
    }
    if digits.len() <= REFERENCES {
        let n = digits.len();
        let message = format!("the file ends after {n} digits: more than {REFERENCES} are needed");
        return Err(format!("{}:{last_line}: {message}", file.display()).into());
    }
    Ok(digits)
}

fn parse_digit(line: &str) -> Result<Digit, String> {
    let mut values = Vec::with_capacity(PIXELS + 1);
    for word in line.split(',') {
        match word.trim().parse::<u8>() {
            Ok(value) if value <= 16 => values.push(value),
            _ => return Err(format!("'{word}' is not a whole number from 0 to 16")),
        }
    }
    if values.len() != PIXELS + 1 {
        return Err(format!("{} values: {PIXELS} pixels and a digit are {}", values.len(), PIXELS + 1));
    }
    let label = values[PIXELS];
    if label > 9 {
        return Err(format!("the label is {label}: 0 to 9 are digits"));
    }
    Ok(Digit { pixels: values[..PIXELS].iter().map(|&v| f32::from(v)).collect(), label })
}

fn pixels(digits: &[Digit], factor: f32) -> Vec<f32> {
    digits.iter().flat_map(|d| d.pixels.iter().map(move |p| factor * p)).collect()
}

fn norms(digits: &[Digit]) -> Vec<f32> {
    digits.iter().map(|d| d.pixels.iter().map(|p| p * p).sum()).collect()
}

fn nearest(distances: &[f32]) -> usize {
    (0..distances.len()).min_by(|&a, &b| distances[a].total_cmp(&distances[b])).unwrap_or(0)
}

/// Draws four queries side by side with their answers: the first three, and the first one with a wrong answer.
fn draw(queries: &[Digit], answers: &[u8]) {
    let wrong = (0..queries.len()).find(|&i| queries[i].label != answers[i]);
    let shown: Vec<usize> = (0..3).chain(wrong).filter(|&i| i < queries.len()).collect();
    const SHADES: [&str; 5] = ["  ", "░░", "▒▒", "▓▓", "██"];
    for y in 0..8 {
        for &i in &shown {
            for x in 0..8 {
                print!("{}", SHADES[(queries[i].pixels[8 * y + x] / 4.0) as usize]);
            }
            print!("    ");
        }
        println!();
    }
    for &i in &shown {
        let verdict =
            if queries[i].label == answers[i] { "right".into() } else { format!("wrong: {}", queries[i].label) };
        print!("{:<20}", format!("{} ({verdict})", answers[i]));
    }
    println!("\n");
}
