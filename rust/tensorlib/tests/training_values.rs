//! Networks of `tensorlib::nn` and optimisers of `tensorlib::train` compared with an independent framework in float64:
//! losses, gradients, and parameters after some steps. `tests/training/make_values.py`, which defines the same
//! networks, made the values.

use serde_json::Value;
use tensorlib::nn::{
    flatten, loss, max_pool, mean_pool, Attention, AttentionOptions, Conv2d, Embedding, GroupNorm, LayerNorm, Linear,
    Module, Parameters, Pass, RmsNorm,
};
use tensorlib::train::{Method, OptimiserOptions};
use tensorlib::{isas, Backend, BackendOptions, Context, GluOp, GluOptions, Graph, Result, Tensor};

/// Half a unit in the last place of F32, relative to the number.
const ROUNDING: f64 = 1. / (1 << 24) as f64;

/// How many roundings an element of a gradient accumulates: the longest path, through `attentive`, has about 40
/// operations forward and back, 12 of which sum up to 60 products. Rounding errors are equally often up and down, so n
/// of them together have the deviation sqrt(n); this is 6 deviations of 40 + 12 * 60.
const ROUNDINGS: f64 = 166.;

/// The leafs of a network's inputs.
struct Data<'v> {
    ctx: Context,
    values: &'v Value,
}

impl Data<'_> {
    fn floats(&self, name: &str, shape: &[i64]) -> Result<Tensor> {
        let values: Vec<f32> = numbers(&self.values[name]).iter().map(|x| *x as f32).collect();
        let leaf = self.ctx.tensor(shape, &values)?;
        leaf.set_name(name)?;
        Ok(leaf)
    }

    fn integers(&self, name: &str, shape: &[i64]) -> Result<Tensor> {
        let values: Vec<i32> = numbers(&self.values[name]).iter().map(|x| *x as i32).collect();
        self.ctx.tensor_of(shape, &values)
    }
}

/// Builds a network's loss, and returns the input that has a gradient.
type Network = fn(&Parameters, &Data) -> Result<(Tensor, Option<Tensor>)>;

const NETWORKS: [(&str, Network); 6] = [
    ("mlp_classes", mlp_classes),
    ("mlp_values", mlp_values),
    ("convolutional", convolutional),
    ("attentive", attentive),
    ("language", language),
    ("grouped", grouped),
];

fn pass() -> Pass {
    Pass::evaluation()
}

fn mlp_classes(p: &Parameters, data: &Data) -> Result<(Tensor, Option<Tensor>)> {
    let (hidden, output) = (Linear::new(&p.scope("hidden"), 7, 11)?, Linear::new(&p.scope("output"), 11, 5)?);
    let (x, labels) = (data.floats("x", &[7, 9])?, data.integers("labels", &[9])?);
    let logits = output.forward(&hidden.forward(&x, &pass())?.relu()?, &pass())?;
    Ok((loss::cross_entropy(&logits, &labels)?, Some(x)))
}

fn mlp_values(p: &Parameters, data: &Data) -> Result<(Tensor, Option<Tensor>)> {
    let (a, b) = (Linear::new(&p.scope("a"), 5, 7)?, Linear::new(&p.scope("b"), 7, 6)?);
    let (c, d) = (Linear::new(&p.scope("c"), 6, 5)?, Linear::new(&p.scope("d"), 5, 3)?);
    let (x, target) = (data.floats("x", &[5, 8])?, data.floats("target", &[3, 8])?);
    let y = b.forward(&a.forward(&x, &pass())?.gelu()?, &pass())?.tanh()?;
    let y = d.forward(&c.forward(&y, &pass())?.silu()?, &pass())?;
    Ok((loss::mse(&y, &target)?, Some(x)))
}

fn convolutional(p: &Parameters, data: &Data) -> Result<(Tensor, Option<Tensor>)> {
    let (conv, output) = (Conv2d::new(&p.scope("conv"), 2, 3, 3)?, Linear::new(&p.scope("output"), 18, 4)?);
    let (x, labels) = (data.floats("x", &[5, 7, 2, 3])?, data.integers("labels", &[3])?);
    let y = max_pool(&conv.forward(&x, &pass())?.relu()?, 2)?;
    Ok((loss::cross_entropy(&output.forward(&flatten(&y)?, &pass())?, &labels)?, Some(x)))
}

fn attentive(p: &Parameters, data: &Data) -> Result<(Tensor, Option<Tensor>)> {
    let norm = LayerNorm::new(&p.scope("norm"), 12)?;
    let attention = Attention::new(&p.scope("attention"), AttentionOptions::new(12, 4).kv_heads(2).causal())?;
    let (last, output) = (LayerNorm::new(&p.scope("last"), 12)?, Linear::new(&p.scope("output"), 12, 3)?);
    let (x, target) = (data.floats("x", &[12, 5, 2])?, data.floats("target", &[3, 5, 2])?);
    let y = x.add(&attention.forward(&norm.forward(&x, &pass())?, &pass())?)?;
    let y = output.forward(&last.forward(&y, &pass())?, &pass())?;
    Ok((loss::mse(&y, &target)?, Some(x)))
}

fn language(p: &Parameters, data: &Data) -> Result<(Tensor, Option<Tensor>)> {
    let linear = |name: &str, inputs, outputs| Linear::without_bias(&p.scope(name), inputs, outputs);
    let norm = |name: &str| RmsNorm::new(&p.scope(name), 8);
    let embedding = Embedding::new(&p.scope("embedding"), 11, 8, 0.02)?;
    let options = AttentionOptions::new(8, 2).kv_heads(1).causal().rope(10_000.);
    let attention = Attention::new(&p.scope("attention"), options)?;
    let (gate, up, down) = (linear("gate", 8, 6)?, linear("up", 8, 6)?, linear("down", 6, 8)?);
    let (tokens, labels) = (data.integers("tokens", &[7, 2])?, data.integers("labels", &[7, 2])?);

    let x = embedding.forward(&tokens, &pass())?;
    let x = x.add(&attention.forward(&norm("norm1")?.forward(&x, &pass())?, &pass())?)?;
    let y = norm("norm2")?.forward(&x, &pass())?;
    let (gate, up) = (gate.forward(&y, &pass())?, up.forward(&y, &pass())?);
    let y = gate.glu(Some(&up), GluOp::Swiglu, GluOptions::new())?;
    let x = norm("norm3")?.forward(&x.add(&down.forward(&y, &pass())?)?, &pass())?;
    Ok((loss::cross_entropy(&linear("output", 8, 11)?.forward(&x, &pass())?, &labels)?, None))
}

fn grouped(p: &Parameters, data: &Data) -> Result<(Tensor, Option<Tensor>)> {
    let (norm, conv) = (GroupNorm::new(&p.scope("norm"), 2, 4)?, Conv2d::new(&p.scope("conv"), 4, 3, 3)?);
    let output = Linear::new(&p.scope("output"), 18, 2)?;
    let x = data.floats("x", &[6, 4, 4, 3])?;
    let [part, target, signs] = ["part", "target", "signs"].map(|name| data.floats(name, &[2, 3]));
    let y = conv.forward(&norm.forward(&x, &pass())?, &pass())?.silu()?;
    let y = output.forward(&flatten(&mean_pool(&y, 2)?)?, &pass())?;
    let loss = loss::binary_cross_entropy(&y, &part?)?.add(&loss::huber(&y, &target?, 0.5)?)?;
    Ok((loss.add(&loss::hinge(&y, &signs?)?)?, Some(x)))
}

fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0., |most, x| most.max(x.abs()))
}

/// Asserts that each element is within its bound.
fn assert_near(found: &Tensor, wanted: &[f64], bound: impl Fn(usize) -> f64, what: &str) {
    let found = found.to_f32_vec().unwrap();
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (i, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let (off, most) = ((f64::from(*found) - wanted).abs(), bound(i));
        assert!(off <= most, "{what}: element {i} is {found}, not {wanted}: off by {off:e}, {most:e} is valid");
    }
}

/// Sets the parameters to the initial values that both sides share.
fn begin(parameters: &Parameters, values: &Value) {
    for tensor in parameters.tensors() {
        let first: Vec<f32> = numbers(&values["parameters"][tensor.name()]).iter().map(|x| *x as f32).collect();
        tensor.write_f32(&first).unwrap();
    }
}

/// How far an element of a network's gradients may be off: roundings, each of a number no larger than the largest.
fn gradient_bound(values: &Value) -> f64 {
    let gradients = values["gradients"].as_object().expect("gradients");
    gradients.values().map(|g| largest(&numbers(g))).fold(0., f64::max) * ROUNDINGS * ROUNDING
}

fn check_gradients(backend: &Backend, name: &str, network: Network, values: &Value) -> Result<()> {
    let (parameters, data) = (Parameters::new(1), Data { ctx: Context::new(), values: &values["data"] });
    let (loss, x) = network(&parameters, &data)?;
    begin(&parameters, values);
    let of: Vec<Tensor> = parameters.tensors().into_iter().chain(x).collect();
    assert_eq!(of.len(), values["gradients"].as_object().map_or(0, |all| all.len()), "{name}");
    let gradients = loss.gradients(&of.iter().collect::<Vec<_>>())?;
    backend.compute(&[&loss].into_iter().chain(&gradients).collect::<Vec<_>>())?;

    let wanted = values["loss"].as_f64().expect("a loss");
    assert_near(&loss, &[wanted], |_| wanted.abs() * ROUNDINGS * ROUNDING, &format!("{name}: loss"));
    let bound = gradient_bound(values);
    for (tensor, gradient) in of.iter().zip(&gradients) {
        let wanted = numbers(&values["gradients"][tensor.name()]);
        assert_near(gradient, &wanted, |_| bound, &format!("{name}: gradient of {}", tensor.name()));
    }
    Ok(())
}

/// How far a parameter may be off, given the error of its gradients and the smallest gradient.
type Bound = Box<dyn Fn(f64, f64) -> f64>;

/// The optimisers that the values cover, each with the error that a parameter may have if its gradients are off by `g`.
/// `least` is the smallest gradient that decides a direction (0: all of them were 0).
fn methods(steps: f64, rate: f64) -> [(&'static str, Method, Bound); 6] {
    // Errors of gradients add up. A velocity contains all earlier ones, and Nesterov momentum adds the last one once
    // more.
    let sums = move |of_each: f64| move |g: f64, _: f64| rate * of_each * g;
    // Adam divides by the root of a mean of squares, which is at least the smallest gradient. Dividend and divisor are
    // each off by g, so the quotient, about 1, is off by both.
    let quotients = move |g: f64, least: f64| if least == 0. { 0. } else { steps * rate * (2. * g / least).min(2.) };
    // Lion's steps have one size, so only a sign can be off.
    let signs = move |g: f64, least: f64| if least > g || least == 0. { 0. } else { steps * rate * 2. };
    let (lone, all) = (steps, steps * (steps + 1.) / 2.);
    [
        ("sgd", Method::Sgd, Box::new(sums(lone))),
        ("momentum", Method::momentum(), Box::new(sums(all))),
        ("nesterov", Method::nesterov(), Box::new(sums(all + lone))),
        ("adam", Method::adam(), Box::new(quotients)),
        ("adamw", Method::adamw(), Box::new(quotients)),
        ("lion", Method::lion(), Box::new(signs)),
    ]
}

fn check_steps(backend: &Backend, name: &str, network: Network, (file, values): (&Value, &Value)) -> Result<()> {
    let [steps, rate, decay] = ["steps", "rate", "decay"].map(|key| file[key].as_f64().expect("a number"));
    for (optimiser, method, off) in methods(steps, rate) {
        let (parameters, data) = (Parameters::new(1), Data { ctx: Context::new(), values: &values["data"] });
        let (loss, _) = network(&parameters, &data)?;
        begin(&parameters, values);
        let mut steps_of = OptimiserOptions::new(method, rate).decay(decay).build(&parameters)?;
        let nodes = steps_of.steps(&loss)?;
        let graph = Graph::new(&nodes.iter().collect::<Vec<_>>())?;
        for _ in 0..steps as usize {
            steps_of.advance(1.)?;
            graph.compute(backend)?;
        }
        // After the first step, errors of the parameters add to those of the gradients: as much again.
        let g = 2. * gradient_bound(values);
        for tensor in parameters.tensors() {
            let wanted = numbers(&values["after"][optimiser][tensor.name()]);
            let least = numbers(&values["least"][tensor.name()]);
            // A step rounds the parameter and the change added to it, twice each.
            let roundings = 4. * steps * ROUNDING * largest(&wanted).max(rate);
            let what = format!("{name}: {} after {optimiser}", tensor.name());
            assert_near(&tensor, &wanted, |i| off(g, least[i]) + roundings, &what);
        }
    }
    Ok(())
}

/// A single test, because a variable of the process chooses the ISA.
#[test]
fn networks_are_as_in_float64() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/training/values.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let asked = std::env::var("TENSORLIB_ISA").ok();
    for isa in isas() {
        std::env::set_var("TENSORLIB_ISA", &isa);
        for threads in [1, 2] {
            let backend = BackendOptions::new().threads(threads).open("cpu")?;
            assert_eq!(backend.isa(), isa);
            for (name, network) in NETWORKS {
                let (values, what) = (&file["networks"][name], format!("{name}, {isa}, {threads} threads"));
                check_gradients(&backend, &what, network, values)?;
                check_steps(&backend, &what, network, (&file, values))?;
            }
        }
    }
    match asked {
        Some(isa) => std::env::set_var("TENSORLIB_ISA", isa),
        None => std::env::remove_var("TENSORLIB_ISA"),
    }
    Ok(())
}
