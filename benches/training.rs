//! Training steps: forward, backward and AdamW, with the batch written and the loss read.
//!
//!     cargo bench --package tensorlib-benches --bench training                # criterion
//!     cargo bench --package tensorlib-benches --bench training -- --serve     # for peers/training.py, which runs JAX in turn
//!
//! The networks are those of examples/rust: `digits` (digits_network.rs), `conv` (digits_conv.rs without dropout), and
//! a transformer like text_transformer.rs's: 4 layers of 256, 4 heads, 128 tokens, SwiGLU of 1024, 65 characters.
//! `gru` has 128 units, which read 64 steps of 128 numbers, and a label for each step. Batches are random numbers, and
//! rotate.

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use tensorlib::nn::{
    flatten, loss, max_pool, Attention, AttentionOptions, Conv2d, Embedding, Gru, Linear, Module, Parameters, Pass,
    RecurrentOptions, RmsNorm, Sequential,
};
use tensorlib::train::{Optimiser, OptimiserOptions, Random};
use tensorlib::{Backend, BackendOptions, Context, DType, Graph, Result, Tensor};

/// Networks and their batches' sizes.
const ALL: [(&str, usize); 6] =
    [("digits", 32), ("digits", 256), ("conv", 32), ("conv", 256), ("transformer", 8), ("gru", 32)];

const WIDTH: i64 = 256;
const TOKENS: i64 = 128;
const CHARACTERS: i64 = 65;
const UNITS: i64 = 128;
const STEPS: i64 = 64;

/// A layer of the transformer.
struct Block {
    attention_norm: RmsNorm,
    attention: Attention,
    feed_forward_norm: RmsNorm,
    gate: Linear,
    up: Linear,
    down: Linear,
}

impl Block {
    fn new(p: &Parameters) -> Result<Self> {
        Ok(Self {
            attention_norm: RmsNorm::new(&p.scope("attention_norm"), WIDTH)?,
            attention: Attention::new(&p.scope("attention"), AttentionOptions::new(WIDTH, 4).causal().rope(10_000.))?,
            feed_forward_norm: RmsNorm::new(&p.scope("feed_forward_norm"), WIDTH)?,
            gate: Linear::without_bias(&p.scope("gate"), WIDTH, 4 * WIDTH)?,
            up: Linear::without_bias(&p.scope("up"), WIDTH, 4 * WIDTH)?,
            down: Linear::without_bias(&p.scope("down"), 4 * WIDTH, WIDTH)?,
        })
    }
}

impl Module for Block {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let x = x.add(&self.attention.forward(&self.attention_norm.forward(x, pass)?, pass)?)?;
        let h = self.feed_forward_norm.forward(&x, pass)?;
        let h = self.gate.forward(&h, pass)?.silu()?.mul(&self.up.forward(&h, pass)?)?;
        x.add(&self.down.forward(&h, pass)?)
    }
}

fn model(name: &str, p: &Parameters) -> Result<Sequential> {
    Ok(match name {
        "digits" => Sequential::new()
            .with(Linear::new(&p.scope("hidden"), 64, 256)?)
            .with(Tensor::relu)
            .with(Linear::new(&p.scope("output"), 256, 10)?),
        "conv" => Sequential::new()
            .with(Conv2d::new(&p.scope("conv1"), 1, 32, 3)?)
            .with(Tensor::relu)
            .with(Conv2d::new(&p.scope("conv2"), 32, 64, 3)?)
            .with(Tensor::relu)
            .with(|x: &Tensor| max_pool(x, 2))
            .with(flatten)
            .with(Linear::new(&p.scope("hidden"), 64 * 16, 128)?)
            .with(Tensor::relu)
            .with(Linear::new(&p.scope("output"), 128, 10)?),
        "transformer" => {
            let embedding = Embedding::new(&p.scope("embedding"), CHARACTERS, WIDTH, 0.02)?;
            let blocks = (0..4).map(|i| Block::new(&p.scope(format!("blocks.{i}")))).collect::<Result<Vec<_>>>()?;
            let model = blocks.into_iter().fold(Sequential::new().with(embedding), Sequential::with);
            let norm = RmsNorm::new(&p.scope("final_norm"), WIDTH)?;
            model.with(norm).with(Linear::without_bias(&p.scope("output"), WIDTH, CHARACTERS)?)
        }
        "gru" => Sequential::new()
            .with(Gru::new(&p.scope("gru"), RecurrentOptions::new(UNITS, UNITS))?)
            .with(Linear::new(&p.scope("output"), UNITS, 10)?),
        _ => panic!("no network {name}: digits, conv, transformer and gru are valid"),
    })
}

/// A network with its batches, on some threads.
struct Training {
    backend: Backend,
    optimiser: Optimiser,
    input: Tensor,
    labels: Tensor,
    loss: Tensor,
    graph: Graph,
    /// As bytes, so that numbers of either type are written alike.
    batches: Vec<(Vec<u8>, Vec<u8>)>,
    steps: usize,
}

impl Training {
    fn new(name: &str, batch: usize, threads: usize) -> Result<Self> {
        let backend = BackendOptions::new().threads(threads).open("cpu")?;
        let parameters = Parameters::new(1);
        let model = model(name, &parameters)?;
        let optimiser = OptimiserOptions::adamw(1e-3).decay(0.1).build(&parameters)?;
        let ctx = Context::on(&backend);
        let n = batch as i64;
        let (input, labels, classes) = match name {
            "digits" => (ctx.zeros(DType::F32, [64, n])?, ctx.zeros(DType::I32, [n])?, 10),
            "conv" => (ctx.zeros(DType::F32, [8, 8, 1, n])?, ctx.zeros(DType::I32, [n])?, 10),
            "gru" => (ctx.zeros(DType::F32, [UNITS, STEPS, n])?, ctx.zeros(DType::I32, [STEPS, n])?, 10),
            _ => (ctx.zeros(DType::I32, [TOKENS, n])?, ctx.zeros(DType::I32, [TOKENS, n])?, CHARACTERS as usize),
        };
        let mut random = Random::new(1, 0);
        let batches = (0..8).map(|_| (bytes(&input, classes, &mut random), bytes(&labels, classes, &mut random)));
        let batches = batches.collect();
        let random_state = ctx.zeros(DType::I64, [2])?;
        let output = model.forward(&input, &Pass::training(&random_state)?)?;
        let loss = loss::cross_entropy(&output, &labels)?;
        let steps = optimiser.steps(&loss)?;
        let graph = Graph::new(&[&loss].into_iter().chain(&steps).collect::<Vec<_>>())?;
        Ok(Self { backend, optimiser, input, labels, loss, graph, batches, steps: 0 })
    }

    /// One step; gives the loss.
    fn step(&mut self) -> Result<f32> {
        let (input, labels) = &self.batches[self.steps % self.batches.len()];
        self.steps += 1;
        self.input.write_bytes(0, input)?;
        self.labels.write_bytes(0, labels)?;
        self.optimiser.advance(1.)?;
        self.graph.compute(&self.backend)?;
        self.loss.get(&[0])
    }
}

/// Random contents: numbers from 0 to 1, or integers below `classes`.
fn bytes(leaf: &Tensor, classes: usize, random: &mut Random) -> Vec<u8> {
    let mut one = || match leaf.dtype() {
        DType::F32 => (random.uniform() as f32).to_le_bytes(),
        _ => (random.below(classes) as i32).to_le_bytes(),
    };
    (0..leaf.n_elements()).flat_map(|_| one()).collect()
}

/// It learns: what is timed is no failure.
fn check(training: &mut Training) {
    let first = training.step().expect("a step");
    let last = (0..100).map(|_| training.step().expect("a step")).last().expect("100 steps");
    assert!(last < first, "the loss went from {first} to {last}");
}

/// GFLOP/s of a product of matrices of 1024 x 1024, the best of some.
fn product_rate(threads: usize) -> Result<f64> {
    const N: i64 = 1024;
    let backend = BackendOptions::new().threads(threads).open("cpu")?;
    let ctx = Context::new();
    let (a, b) = (ctx.zeros(DType::F32, [N, N])?, ctx.zeros(DType::F32, [N, N])?);
    a.set_constant()?;
    let graph = Graph::new(&[&a.mul_mat(&b)?])?;
    graph.compute(&backend)?;
    let mut best = f64::MAX;
    for _ in 0..8 {
        let start = Instant::now();
        graph.compute(&backend)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(2. * (N * N * N) as f64 / best * 1e-9)
}

/// Answers lines of standard input: `NETWORK BATCH THREADS STEPS` by the milliseconds of each step, `product THREADS`
/// by GFLOP/s.
fn serve() -> Result<()> {
    let mut opened: Vec<((String, usize, usize), Training)> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| words[i].parse::<usize>().expect("a number");
        let answer: Vec<f64> = if words[0] == "product" {
            vec![product_rate(number(1))?]
        } else {
            let key = (words[0].to_owned(), number(1), number(2));
            if !opened.iter().any(|(there, _)| *there == key) {
                let mut training = Training::new(words[0], key.1, key.2)?;
                (0..3).try_for_each(|_| training.step().map(drop))?;
                opened.push((key.clone(), training));
            }
            let training = opened.iter_mut().find(|(there, _)| *there == key).map(|(_, training)| training);
            let training = training.expect("it was opened");
            let timed = |training: &mut Training| {
                let start = Instant::now();
                training.step().map(|_| start.elapsed().as_secs_f64() * 1e3)
            };
            (0..number(3)).map(|_| timed(training)).collect::<Result<_>>()?
        };
        println!("{}", answer.iter().map(f64::to_string).collect::<Vec<_>>().join(" "));
        std::io::stdout().flush().expect("standard output");
    }
    Ok(())
}

fn main() {
    if std::env::args().any(|arg| arg == "--serve") {
        return serve().expect("training");
    }
    let mut criterion = Criterion::default().measurement_time(Duration::from_secs(3)).configure_from_args();
    let mut group = criterion.benchmark_group("training");
    for (name, batch) in ALL {
        for threads in [1, 2] {
            let mut training = Training::new(name, batch, threads).expect("a network");
            if name == "digits" {
                check(&mut training);
            }
            group.bench_function(BenchmarkId::new(name, format!("n{batch}/t{threads}")), |b| {
                b.iter(|| training.step().expect("a step"));
            });
        }
    }
    group.finish();
    criterion.final_summary();
}
