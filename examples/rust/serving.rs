//! One model served by two threads: its weights in a context that is frozen, each request's nodes in a context of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tensorlib::{Backend, BackendOptions, Context, Result, Tensor};

const PIXELS: i64 = 64;
const CLASSES: i64 = 10;
const REQUESTS: usize = 40;

/// A layer: as many weights as a class has pixels, and a bias.
struct Model {
    weights: Tensor,
    bias: Tensor,
}

impl Model {
    fn new() -> Result<Self> {
        let ctx = Context::new();
        ctx.set_name("model")?; // what a message calls it
        let values: Vec<f32> = (0..PIXELS * CLASSES).map(|i| ((i * i) % 17) as f32 / 8.0 - 1.0).collect();
        let weights = ctx.tensor([PIXELS, CLASSES], &values)?;
        let bias = ctx.tensor([CLASSES], &[0.5; CLASSES as usize])?;
        ctx.freeze(); // a node that lands here by mistake is an error from now on
        Ok(Self { weights, bias })
    }

    /// The classes' scores of an image. The nodes are the request's: a node of two weights would otherwise be the model's,
    /// make it grow with each call, and keep the other thread out while it is computed.
    fn scores(&self, request: &Context, image: &Tensor) -> Result<Tensor> {
        request.within(|| self.weights.mul_mat(image)?.add(&self.bias))
    }
}

fn image(number: usize) -> Vec<f32> {
    (0..PIXELS as usize).map(|i| ((i * 7 + number * 13) % 16) as f32 / 16.0).collect()
}

/// Answers requests until there are none left; returns how many.
fn serve(model: &Model, next: &AtomicUsize) -> Result<usize> {
    let backend: Backend = BackendOptions::new().threads(1).open("cpu")?; // computes one graph at a time, so each thread has one
    let mut request = Context::new();
    let mut answered = 0;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= REQUESTS {
            return Ok(answered);
        }
        let scores = {
            let input = request.tensor([PIXELS], &image(number))?;
            let scores = model.scores(&request, &input)?;
            backend.compute(&[&scores])?;
            scores.to_vec::<f32>()?
        };
        let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0);
        println!("request {number}: class {best}");
        answered += 1;
        request.reset()?; // empty again, its memory kept for the next one
    }
}

fn main() -> Result<()> {
    let model = Model::new()?;
    let before = model.weights.context().used_memory();
    let next = AtomicUsize::new(0);
    let answered = thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| serve(&model, &next))).collect();
        threads.into_iter().map(|t| t.join().expect("a panic in a thread")).collect::<Result<Vec<usize>>>()
    })?;
    let after = model.weights.context().used_memory();
    println!(
        "{} requests by 2 threads; the model took {before} bytes before and {after} after",
        answered.iter().sum::<usize>()
    );
    Ok(())
}
