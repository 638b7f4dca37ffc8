//! Trains a small transformer with ReGLU blocks on plays of Shakespeare, then runs it without the neurons whose gates
//! are closed.
//!
//!     cargo run --release --example sparse_transformer -- [--seed N] [--epochs N] [--penalty X] [--characters N]
//!         [--device NAME[+NAME]] [--threads N] [--repeats N] [--checkpoint FILE] [--out FILE]
//!
//! A penalty on open gates keeps their number small. After training the model reads unseen text, a character at a time,
//! dense and sparse, with the same answers. It reads the whole text `--repeats` times; a character's fastest time
//! counts. With two devices the last one has the neurons that are active most often (Y. Song and others, PowerInfer,
//! 2023).

use std::fmt::Display;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tensorlib::nn::{loss, Module, Parameters, Pass};
use tensorlib::train::Trainer;
use tensorlib::{Backend, BackendOptions, Context, DType, FlashAttnExtOptions, Graph, Result, Tensor};
use tensorlib::{RopeMode, RopeOptions, ScaleOptions, SparseBy, SparseFfnOptions};

#[allow(dead_code, reason = "each of the examples on plays uses its part")]
mod plays;
use plays::{Activation, Llama, Size, TOKENS};

/// The blocks are wide: they are what can be sparse.
const SIZE: Size = Size { width: 128, heads: 4, layers: 2, feed_forward: 4096, activation: Activation::Relu };
const NEURONS: usize = SIZE.feed_forward as usize;
/// How many of each layer's neurons the last of two devices has.
const HOT: usize = NEURONS / 8;
/// Windows of text that are read a character at a time, and that say which neurons are hot.
const WINDOWS: usize = 16;
/// The most that logits may differ, of the largest: as products of F32.
const BOUND: f32 = 1e-4;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let options = options()?;
    let text = std::fs::read(plays::TEXT)?;
    let characters = plays::characters_of(&text);
    let tokens = plays::tokens_of(&text[..options.characters.min(text.len())], &characters);
    let (train, test) = tokens.split_at(tokens.len() / 10 * 9);
    if test.len() < 2 * TOKENS {
        return Err(format!("--characters {}: {} or more are valid", options.characters, 20 * TOKENS).into());
    }
    let (cpu, all) = (Backend::cpu()?, BackendOptions::new().threads(options.threads).open(&options.device)?);
    if all.parts().len() > 2 {
        return Err(format!("--device {}: one or two are valid", options.device).into());
    }

    let parameters = Parameters::new(options.seed);
    let llama = Llama::new(&parameters, characters.len() as i64, SIZE)?;
    println!("{} parameters, {} characters to learn, {} to test", parameters.n_elements(), train.len(), test.len());
    learn(&options, &cpu, &llama, &parameters, train)?;
    println!("{:.3} bits a character on the last tenth of the text", plays::bits(&cpu, &llama, test)?);

    if let Some(path) = &options.out {
        plays::write(path, &parameters, &characters, SIZE)?;
        println!("written to {path}");
    }

    let (learnt, unseen) = (Answer::of(&cpu, &llama, train)?, Answer::of(&cpu, &llama, test)?);
    print_activity(&learnt, &unseen);

    let steps = steps(&all, &parameters, &learnt)?;
    let walks = walk(&steps, test, options.repeats)?;
    report_walks(&steps, &walks, &unseen)?;
    let [dense, sparse] =
        blocks_alone(&all.parts()[0], &parameters, &walks[0].inputs, options.repeats)?.map(|times| times.rate());
    let [of_dense, of_sparse] = [1e6 / dense, 1e6 / sparse];
    println!("blocks alone: {of_dense:.1} us dense, {of_sparse:.1} us sparse, {:.2} times", sparse / dense);
    Ok(())
}

fn print_activity(learnt: &Answer, unseen: &Answer) {
    for (layer, (learnt, unseen)) in learnt.active.iter().zip(&unseen.active).enumerate() {
        let (one, eight) = (100. * unseen.share_of(1), 100. * unseen.share_of(8));
        let hot = 100. * unseen.share_by(&learnt.hot_and_cold()[0]);
        println!("{one:.1} % of layer {layer}'s neurons are active in a token, {eight:.1} % in any of 8");
        println!("{hot:.1} % of layer {layer}'s active neurons are of its {HOT} hot ones");
    }
}

/// The ways to compute the model that are compared, with their names.
fn steps(all: &Backend, parameters: &Parameters, learnt: &Answer) -> Result<Vec<(String, Step)>> {
    let devices = all.parts();
    let first = &devices[0];
    let mut steps = vec![
        ("dense".into(), Step::new(first, parameters, &Way::Dense)?),
        ("sparse".into(), Step::new(first, parameters, &Way::Sparse)?),
    ];
    if devices.len() == 2 {
        steps.push((all.device(), Step::new(all, parameters, &Way::Split(&learnt.active))?));
    }
    Ok(steps)
}

/// Reads the text's windows in each way.
fn walk(steps: &[(String, Step)], text: &[i32], repeats: usize) -> Result<Vec<Walk>> {
    let mut walks: Vec<Walk> = steps.iter().map(|_| Walk::default()).collect();
    for (number, window) in text.chunks_exact(TOKENS).take(WINDOWS).enumerate() {
        // In turn, so that what disturbs one disturbs the others.
        for _ in 0..repeats {
            for ((_, step), walk) in steps.iter().zip(&mut walks) {
                step.read(number * TOKENS, window, walk)?;
            }
        }
    }
    Ok(walks)
}

/// Prints how fast each way was, and compares its answers with those of the one before it.
fn report_walks(steps: &[(String, Step)], walks: &[Walk], unseen: &Answer) -> std::result::Result<(), String> {
    let (mut than, mut wanted) = ("the trained model", &unseen.logits);
    for ((name, _), walk) in steps.iter().zip(walks) {
        let (rate, times) = (walk.times.rate(), walk.times.rate() / walks[0].times.rate());
        println!("{name}: {rate:.0} tokens a second, {times:.2} times dense");
        compare(name, &walk.logits, than, wanted)?;
        (than, wanted) = (name, &walk.logits);
    }
    Ok(())
}

/// Keeps the gates of what it computed last, for the penalty.
struct Gated<'a> {
    llama: &'a Llama,
    gates: Mutex<Vec<Tensor>>,
}

impl Module for Gated<'_> {
    fn forward(&self, tokens: &Tensor, pass: &Pass) -> Result<Tensor> {
        let (logits, gates) = self.llama.forward_and_gates(tokens, pass)?;
        *self.gates.lock().unwrap_or_else(PoisonError::into_inner) = gates;
        Ok(logits)
    }
}

fn learn(options: &Options, cpu: &Backend, llama: &Llama, parameters: &Parameters, text: &[i32]) -> Result<()> {
    let model = Gated { llama, gates: Mutex::default() };
    // The mean of what the gates let through: its gradient closes those that are open for little.
    let penalised = |output: &Tensor, target: &Tensor| {
        let gates = std::mem::take(&mut *model.gates.lock().unwrap_or_else(PoisonError::into_inner));
        gates.iter().try_fold(loss::cross_entropy(output, target)?, |sum, gate| {
            sum.add(&gate.sum(..)?.scale(options.penalty / gate.n_elements() as f64, ScaleOptions::new())?)
        })
    };
    let mut trainer = Trainer::new(cpu, &model, plays::optimiser(parameters)?, penalised)
        .epochs(options.epochs)
        .batch(plays::BATCH)
        .seed(options.seed)
        .schedule(plays::rate)
        .progress();
    if let Some(path) = &options.checkpoint {
        trainer = trainer.checkpoint(path, 100);
    }
    trainer.fit(&plays::Windows { text, stride: TOKENS }).map(drop)
}

/// The trained model's output for the windows of a text.
struct Answer {
    logits: Vec<f32>,
    /// One for each layer.
    active: Vec<Activity>,
}

impl Answer {
    fn of(cpu: &Backend, llama: &Llama, text: &[i32]) -> Result<Self> {
        let windows = (text.len() / TOKENS).min(WINDOWS);
        let input = Context::new().tensor_of([TOKENS as i64, windows as i64], &text[..windows * TOKENS])?;
        let (logits, gates) = llama.forward_and_gates(&input, &Pass::evaluation())?;
        cpu.compute(&gates.iter().chain([&logits]).collect::<Vec<_>>())?;
        let active = |gate: &Tensor| Ok(Activity(gate.to_vec::<f32>()?.iter().map(|x| *x > 0.).collect()));
        Ok(Self { logits: logits.to_vec()?, active: gates.iter().map(active).collect::<Result<_>>()? })
    }
}

/// Which of a layer's neurons are active: token by token.
struct Activity(Vec<bool>);

impl Activity {
    /// The mean share of neurons that are active in at least one of `tokens` consecutive tokens.
    fn share_of(&self, tokens: usize) -> f64 {
        let chunks = self.0.chunks_exact(tokens * NEURONS);
        let all = chunks.len() * NEURONS;
        let any = |chunk: &[bool]| (0..NEURONS).filter(|i| chunk[*i..].iter().step_by(NEURONS).any(|x| *x)).count();
        chunks.map(any).sum::<usize>() as f64 / all as f64
    }

    /// How many tokens each neuron is active in.
    fn counts(&self) -> Vec<usize> {
        (0..NEURONS).map(|i| self.0[i..].iter().step_by(NEURONS).filter(|x| **x).count()).collect()
    }

    /// Which part of all activity is that of these neurons.
    fn share_by(&self, numbers: &[i32]) -> f64 {
        let counts = self.counts();
        let by_these: usize = numbers.iter().map(|i| counts[*i as usize]).sum();
        by_these as f64 / counts.iter().sum::<usize>().max(1) as f64
    }

    /// The numbers of the [`HOT`] neurons that are active most often, and of the others, both ascending.
    fn hot_and_cold(&self) -> [Vec<i32>; 2] {
        let (counts, mut hot) = (self.counts(), all_neurons());
        hot.sort_by_key(|i| std::cmp::Reverse(counts[*i as usize]));
        let mut cold = hot.split_off(HOT);
        hot.sort_unstable();
        cold.sort_unstable();
        [hot, cold]
    }
}

fn all_neurons() -> Vec<i32> {
    (0..NEURONS as i32).collect()
}

/// How feed-forward blocks are computed.
enum Way<'a> {
    /// All neurons.
    Dense,
    /// Only neurons whose gate is open.
    Sparse,
    /// As `Sparse`, with the hot neurons on the last device and the others on the first.
    Split(&'a [Activity]),
}

/// The model's graph for one token. Keys and values of the tokens before it are in tensors that it writes to.
struct Step {
    backend: Backend,
    graph: Graph,
    token: Tensor,
    position: Tensor,
    /// 0 where there is a key, -infinity where there is none yet.
    mask: Tensor,
    /// The inputs of the feed-forward blocks.
    inputs: Vec<Tensor>,
    logits: Tensor,
}

/// The result of reading windows a token at a time.
#[derive(Default)]
struct Walk {
    logits: Vec<f32>,
    /// Inputs of the feed-forward blocks, layer by layer for each token.
    inputs: Vec<Vec<f32>>,
    times: Times,
}

/// The least seconds that each token took.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn take(&mut self, token: usize, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let begin = Instant::now();
        work()?;
        let seconds = begin.elapsed().as_secs_f64();
        self.0.resize(self.0.len().max(token + 1), f64::INFINITY);
        self.0[token] = self.0[token].min(seconds);
        Ok(())
    }

    /// Tokens a second.
    fn rate(&self) -> f64 {
        self.0.len() as f64 / self.0.iter().sum::<f64>()
    }
}

impl Step {
    fn new(backend: &Backend, parameters: &Parameters, way: &Way<'_>) -> Result<Self> {
        let weights = Weights::new(backend, parameters);
        let ctx = weights.first();
        let (token, position) = (ctx.zeros(DType::I32, [1])?, ctx.zeros(DType::I32, [1])?);
        let mask = ctx.zeros(DType::F32, [TOKENS as i64, 1])?;
        let (head, heads, width) = (SIZE.width / SIZE.heads, SIZE.heads, SIZE.width);
        let rope = RopeOptions::new().mode(RopeMode::Normal).freq_base(plays::ROPE_BASE);
        let turned = |t: Tensor| t.reshape([head, heads, 1])?.rope(&position, None, rope);
        let kept = |t: Tensor| {
            let all = ctx.zeros(DType::F32, [width, TOKENS as i64])?;
            let all = all.set_rows(&t.reshape([width, 1])?, &position)?;
            all.reshape([head, heads, TOKENS as i64])?.permute([0, 2, 1, 3])
        };
        let norm = |x: &Tensor, name: &str| x.rms_norm(plays::EPSILON)?.mul(&weights.get(name)?);
        let mut x = weights.get("token_embd")?.get_rows(&token)?;
        let mut inputs = Vec::new();
        for layer in 0..SIZE.layers {
            let name = |part: &str| format!("blk.{layer}.{part}");
            let h = norm(&x, &name("attn_norm"))?;
            let [q, k, v] = ["attn_q", "attn_k", "attn_v"].map(|part| weights.get(&name(part))?.mul_mat(&h));
            let (q, k, v) = (turned(q?)?.permute([0, 2, 1, 3])?, kept(turned(k?)?)?, kept(v?)?);
            let c = q.flash_attn_ext(&k, &v, Some(&mask), None, FlashAttnExtOptions::new())?;
            x = x.add(&weights.get(&name("attn_output"))?.mul_mat(&c.reshape([width, 1])?)?)?;
            let h = norm(&x, &name("ffn_norm"))?;
            x = x.add(&weights.feed_forward(layer, &h, way)?)?;
            inputs.push(h);
        }
        let logits = weights.get("output")?.mul_mat(&norm(&x, "output_norm")?)?;
        let graph = Graph::new(&inputs.iter().chain([&logits]).collect::<Vec<_>>())?;
        Ok(Self { backend: backend.clone(), graph, token, position, mask, inputs, logits })
    }

    /// Reads a window from its beginning, whose first token has this number; what it gives is kept at the first time.
    fn read(&self, number: usize, window: &[i32], walk: &mut Walk) -> Result<()> {
        let is_new = number == walk.times.0.len();
        let mut mask = vec![f32::NEG_INFINITY; TOKENS];
        for (position, token) in window.iter().enumerate() {
            mask[position] = 0.;
            self.mask.write(&mask)?;
            self.token.write(&[*token])?;
            self.position.write(&[position as i32])?;
            walk.times.take(number + position, || self.graph.compute(&self.backend))?;
            if is_new {
                walk.logits.extend(self.logits.to_vec::<f32>()?);
                self.inputs.iter().try_for_each(|h| h.to_vec().map(|h| walk.inputs.push(h)))?;
            }
        }
        Ok(())
    }
}

/// Makes constants of parameters.
struct Weights<'a> {
    contexts: Vec<Context>,
    parameters: &'a Parameters,
}

impl<'a> Weights<'a> {
    fn new(backend: &Backend, parameters: &'a Parameters) -> Self {
        // A node is in the youngest of its operands' contexts: let that be the first device's.
        let mut contexts: Vec<Context> = backend.parts().iter().rev().map(Context::on).collect();
        contexts.reverse();
        Self { contexts, parameters }
    }

    fn first(&self) -> &Context {
        &self.contexts[0]
    }

    fn last(&self) -> &Context {
        &self.contexts[self.contexts.len() - 1]
    }

    fn parameter(&self, name: &str) -> Tensor {
        self.parameters.get(&format!("{name}.weight")).expect("a parameter of the model")
    }

    fn get(&self, name: &str) -> Result<Tensor> {
        let parameter = self.parameter(name);
        constant(self.first(), &parameter.shape(), &parameter.to_vec()?)
    }

    /// What a layer's feed-forward block makes of h.
    fn feed_forward(&self, layer: usize, h: &Tensor, way: &Way<'_>) -> Result<Tensor> {
        let [gate, up, down] = ["gate", "up", "down"].map(|part| format!("blk.{layer}.ffn_{part}"));
        let gates = self.get(&gate)?.mul_mat(h)?;
        let part = |ctx: &Context, numbers: &[i32]| {
            let [gate, up, down_t] = [&gate, &up, &down].map(|name| neurons(ctx, &self.parameter(name), numbers));
            let rows = (numbers.len() < NEURONS).then(|| ctx.tensor_of([numbers.len() as i64], numbers)).transpose()?;
            let options = SparseFfnOptions::new().by(SparseBy::Positive);
            h.sparse_ffn(&gate?, &up?, &down_t?, Some(&gates), rows.as_ref(), options)
        };
        match way {
            Way::Dense => self.get(&down)?.mul_mat(&gates.relu()?.mul(&self.get(&up)?.mul_mat(h)?)?),
            Way::Sparse => part(self.first(), &all_neurons()),
            Way::Split(learnt) => {
                let [hot, cold] = learnt[layer].hot_and_cold();
                part(self.first(), &cold)?.add(&part(self.last(), &hot)?)
            }
        }
    }
}

/// The times of all layers' feed-forward blocks alone, dense and sparse.
fn blocks_alone(backend: &Backend, parameters: &Parameters, inputs: &[Vec<f32>], repeats: usize) -> Result<[Times; 2]> {
    let weights = Weights::new(backend, parameters);
    let of_token = (0..SIZE.layers).map(|_| weights.first().zeros(DType::F32, [SIZE.width, 1]));
    let leafs = of_token.collect::<Result<Vec<_>>>()?;
    let graph = |way: &Way<'_>| {
        let block = |(layer, h)| weights.feed_forward(layer, h, way);
        let outputs = leafs.iter().enumerate().map(block).collect::<Result<Vec<_>>>()?;
        Graph::new(&outputs.iter().collect::<Vec<_>>())
    };
    let graphs = [graph(&Way::Dense)?, graph(&Way::Sparse)?];
    let mut times = [Times::default(), Times::default()];
    for _ in 0..repeats {
        for (graph, times) in graphs.iter().zip(&mut times) {
            for (number, token) in inputs.chunks(SIZE.layers).enumerate() {
                leafs.iter().zip(token).try_for_each(|(leaf, h)| leaf.write(h))?;
                times.take(number, || graph.compute(backend))?;
            }
        }
    }
    Ok(times)
}

/// A matrix of these neurons alone, a row for each: those of gate and up are rows already, those of down columns.
fn neurons(ctx: &Context, matrix: &Tensor, numbers: &[i32]) -> Result<Tensor> {
    let (values, width) = (matrix.to_vec::<f32>()?, SIZE.width as usize);
    let (row, next) = if matrix.shape()[0] == SIZE.width { (width, 1) } else { (1, NEURONS) };
    let chosen = numbers.iter().flat_map(|i| values[*i as usize * row..].iter().step_by(next).take(width).copied());
    constant(ctx, &[SIZE.width, numbers.len() as i64], &chosen.collect::<Vec<_>>())
}

fn constant(ctx: &Context, shape: &[i64], values: &[f32]) -> Result<Tensor> {
    let tensor = ctx.tensor(shape, values)?;
    tensor.set_constant()?;
    Ok(tensor)
}

/// Prints how far logits are from those that are wanted; an error where that is more than products of F32 may be.
fn compare(name: &str, logits: &[f32], than: &str, wanted: &[f32]) -> std::result::Result<(), String> {
    let largest = wanted.iter().fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
    let apart = logits.iter().zip(wanted).map(|(a, b)| (a - b).abs() / largest);
    let most = apart.fold(0f32, |most, x| if x > most || x.is_nan() { x } else { most });
    println!("{name}: logits are within {most:.1e} of those of {than}, of the largest");
    if most <= BOUND && logits.len() == wanted.len() {
        return Ok(());
    }
    Err(format!("{name}: logits differ from those of {than} by {most:.1e} of the largest: {BOUND:.0e} is valid"))
}

struct Options {
    seed: u64,
    epochs: usize,
    penalty: f64,
    characters: usize,
    device: String,
    threads: usize,
    repeats: usize,
    checkpoint: Option<String>,
    out: Option<String>,
}

fn options() -> std::result::Result<Options, String> {
    let (device, characters) = ("cpu".into(), usize::MAX);
    let (checkpoint, out) = (None, None);
    let mut options =
        Options { seed: 1, epochs: 1, penalty: 0.3, characters, device, threads: 0, repeats: 5, checkpoint, out };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next();
        match arg.as_str() {
            "--seed" => options.seed = parsed(&arg, value)?,
            "--epochs" => options.epochs = parsed(&arg, value)?,
            "--penalty" => options.penalty = parsed(&arg, value)?,
            "--characters" => options.characters = parsed(&arg, value)?,
            "--device" => options.device = parsed(&arg, value)?,
            "--threads" => options.threads = parsed(&arg, value)?,
            "--repeats" => options.repeats = parsed::<NonZeroUsize>(&arg, value)?.get(),
            "--checkpoint" => options.checkpoint = Some(parsed(&arg, value)?),
            "--out" => options.out = Some(parsed(&arg, value)?),
            _ => {
                let valid =
                    "--seed, --epochs, --penalty, --characters, --device, --threads, --repeats, --checkpoint and --out";
                return Err(format!("unknown option {arg}: {valid} are valid"));
            }
        }
    }
    Ok(options)
}

fn parsed<T: FromStr<Err: Display>>(arg: &str, value: Option<String>) -> std::result::Result<T, String> {
    let value = value.ok_or(format!("{arg} needs a value"))?;
    value.parse().map_err(|e| format!("{arg} {value}: {e}"))
}
