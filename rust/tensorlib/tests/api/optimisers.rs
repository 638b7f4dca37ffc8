//! Optimisers compared with their formulas in F64, and L-BFGS with known minima.

use tensorlib::nn::{Init, Parameters};
use tensorlib::train::{Accumulator, Group, Lbfgs, Method, Optimiser, OptimiserOptions, Reason};
use tensorlib::{Backend, BackendOptions, Context, DType, Error, Graph, Result, Tensor};

const RATE: f64 = 0.03;
const DECAY: f64 = 0.1;
const STEPS: usize = 7;

fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| (((i * 7919 + seed * 104_729 + 13) % 1009) as f32 / 504.5 - 1.) * 0.9).collect()
}

fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_f32_vec().unwrap().into_iter().map(f64::from).collect()
}

fn assert_near(found: &[f64], wanted: &[f64], bound: f64, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(wanted).enumerate() {
        assert!((a - b).abs() <= bound, "{what}: element {i} is {a}, not {b}");
    }
}

fn refused<T>(result: Result<T>, what: &str) {
    match result {
        Ok(_) => panic!("taken: {what}"),
        Err(error @ Error::InvalidArgument(_)) => assert!(error.to_string().contains(what), "{error}"),
        Err(error) => panic!("{error:?} for {what}"),
    }
}

/// Parameters of odd shapes, with a leaf for each one's gradient: a loss that sums parameter times leaf has that
/// gradient.
struct Bench {
    parameters: Parameters,
    slopes: Vec<Tensor>,
    loss: Tensor,
}

fn bench(shapes: &[&[i64]], dtype: DType) -> Bench {
    let (parameters, ctx) = (Parameters::new(3).with_dtype(dtype).unwrap(), Context::new());
    let mut loss: Option<Tensor> = None;
    let mut slopes = Vec::new();
    for (i, shape) in shapes.iter().enumerate() {
        let p = parameters.make(&format!("p{i}"), shape, Init::Uniform { bound: 1. }).unwrap();
        let slope = ctx.zeros(DType::F32, shape).unwrap();
        let term = slope.mul(&p.cast(DType::F32).unwrap()).unwrap().sum(..).unwrap();
        loss = Some(match loss {
            Some(others) => others.add(&term).unwrap(),
            None => term,
        });
        slopes.push(slope);
    }
    Bench { parameters, slopes, loss: loss.unwrap() }
}

impl Bench {
    /// Runs steps with new slopes each time, and passes them to `see` before each step.
    fn run(&self, optimiser: &mut Optimiser, backend: &Backend, mut see: impl FnMut(usize, &[Vec<f64>])) {
        let steps = optimiser.steps(&self.loss).unwrap();
        let graph = Graph::new(&[&self.loss].into_iter().chain(&steps).collect::<Vec<_>>()).unwrap();
        for step in 0..STEPS {
            for (i, slope) in self.slopes.iter().enumerate() {
                slope.write(&numbers(slope.n_elements(), 10 * step + i + 1)).unwrap();
            }
            optimiser.advance(1. / (step + 1) as f64).unwrap();
            see(step, &self.slopes.iter().map(f64s).collect::<Vec<_>>());
            graph.compute(backend).unwrap();
        }
    }
}

/// A step of one parameter by the published formula, in F64; `state` has twice the parameter's length.
fn oracle(method: Method, p: &mut [f64], g: &[f64], state: &mut [f64], rate: f64, t: i32) {
    let n = p.len();
    let (m, v) = state.split_at_mut(n);
    for i in 0..n {
        let mut g = g[i];
        if !matches!(method, Method::Adam { .. }) {
            p[i] *= 1. - rate * DECAY;
        }
        match method {
            Method::Sgd => p[i] -= rate * g,
            Method::Momentum { momentum, nesterov } => {
                m[i] = momentum * m[i] + g;
                p[i] -= rate * if nesterov { g + momentum * m[i] } else { m[i] };
            }
            Method::Adam { beta1, beta2, epsilon } | Method::AdamW { beta1, beta2, epsilon } => {
                if matches!(method, Method::Adam { .. }) {
                    g += DECAY * p[i];
                }
                m[i] = beta1 * m[i] + (1. - beta1) * g;
                v[i] = beta2 * v[i] + (1. - beta2) * g * g;
                let (mean, square) = (m[i] / (1. - beta1.powi(t)), v[i] / (1. - beta2.powi(t)));
                p[i] -= rate * mean / (square.sqrt() + epsilon);
            }
            Method::Lion { beta1, beta2 } => {
                p[i] -= rate * (beta1 * m[i] + (1. - beta1) * g).signum();
                m[i] = beta2 * m[i] + (1. - beta2) * g;
            }
            _ => unreachable!(),
        }
    }
}

#[test]
fn methods_are_their_formulas() {
    let all = [Method::Sgd, Method::momentum(), Method::nesterov(), Method::adam(), Method::adamw(), Method::lion()];
    for (threads, method) in [1, 3].into_iter().flat_map(|threads| all.map(|method| (threads, method))) {
        let backend = BackendOptions::new().threads(threads).open("cpu").unwrap();
        let bench = bench(&[&[7], &[5, 3], &[1]], DType::F32);
        let mut wanted: Vec<_> = bench.parameters.tensors().iter().map(f64s).collect();
        let mut states: Vec<_> = wanted.iter().map(|p| vec![0.; 2 * p.len()]).collect();
        let mut optimiser = OptimiserOptions::new(method, RATE).decay(DECAY).build(&bench.parameters).unwrap();
        bench.run(&mut optimiser, &backend, |step, slopes| {
            for ((p, slope), state) in wanted.iter_mut().zip(slopes).zip(&mut states) {
                oracle(method, p, slope, state, RATE / (step + 1) as f64, step as i32 + 1);
            }
        });
        assert_eq!(optimiser.step(), STEPS as u64);
        for (p, wanted) in bench.parameters.tensors().iter().zip(&wanted) {
            // Numbers up to 1 lose 2^-24 in each of about six roundings per step, and settings are rounded too: 4e-6
            // leaves a margin over 7 steps.
            assert_near(&f64s(p), wanted, 4e-6, &format!("{method:?}"));
        }
    }
}

/// Muon's step for one matrix is orthogonal up to the polynomial's slack: all singular values lie between 0.68 and 1.14
/// (K. Jordan's text), whatever those of the gradient. It also points along the gradient: with u v^T of the gradient's
/// decomposition, <step, gradient> is the sum of the gradient's singular values.
#[test]
fn muon_makes_steps_orthogonal() {
    for [inputs, outputs] in [[5usize, 3usize], [3, 5], [16, 16], [1, 4]] {
        let bench = bench(&[&[inputs as i64, outputs as i64]], DType::F32);
        let p = bench.parameters.tensors().remove(0);
        let mut optimiser = OptimiserOptions::new(Method::muon(), 1.).build(&bench.parameters).unwrap();
        let steps = optimiser.steps(&bench.loss).unwrap();
        let gradient = numbers(inputs * outputs, 5);
        bench.slopes[0].write(&gradient).unwrap();
        let before = f64s(&p);
        optimiser.advance(1.).unwrap();
        Graph::new(&steps.iter().collect::<Vec<_>>()).unwrap().compute(&Backend::cpu().unwrap()).unwrap();
        let longer = (outputs as f64 / inputs as f64).max(1.).sqrt();
        let step: Vec<f64> = f64s(&p).iter().zip(&before).map(|(after, before)| (before - after) / longer).collect();
        let inner: f64 = step.iter().zip(&gradient).map(|(s, g)| s * f64::from(*g)).sum();
        assert!(inner > 0., "{inputs} x {outputs}: downhill");
        // The eigenvalues of the smaller Gram matrix are the squared singular values: its trace and square give their
        // mean and spread.
        let (few, many) = (inputs.min(outputs), inputs.max(outputs));
        let at = |r: usize, c: usize| if inputs <= outputs { step[c * inputs + r] } else { step[r * inputs + c] };
        let gram = |a: usize, b: usize| (0..many).map(|k| at(a, k) * at(b, k)).sum::<f64>();
        let trace: f64 = (0..few).map(|i| gram(i, i)).sum();
        let square: f64 = (0..few).flat_map(|a| (0..few).map(move |b| (a, b))).map(|(a, b)| gram(a, b).powi(2)).sum();
        let (mean, spread) = (trace / few as f64, (square / few as f64 - (trace / few as f64).powi(2)).max(0.).sqrt());
        // The squares of 0.68 and 1.14 are 0.46 and 1.3: the mean lies between them and the spread is at most half
        // their distance. A random square matrix has small singular values, which five steps raise only to 0.3 and
        // more, so both bounds are wider.
        assert!((0.4..1.35).contains(&mean) && spread < 0.45, "{inputs} x {outputs}: {mean} {spread}");
    }
    let matrices = bench(&[&[7]], DType::F32);
    refused(OptimiserOptions::new(Method::muon(), 0.1).build(&matrices.parameters), "takes matrices");
}

#[test]
fn groups_have_rates_decays_and_methods_of_their_own() {
    let bench = bench(&[&[4], &[4], &[2, 2]], DType::F32);
    let mut wanted: Vec<_> = bench.parameters.tensors().iter().map(f64s).collect();
    let options = OptimiserOptions::new(Method::Sgd, RATE)
        .decay(DECAY)
        .group(Group::new(|t| t.name() == "p1").rate_factor(0.5).decay(0.))
        .group(Group::new(|t| t.n_dims() == 2).method(Method::Momentum { momentum: 0.5, nesterov: false }).decay(0.));
    let mut optimiser = options.build(&bench.parameters).unwrap();
    let mut velocity = [0.; 4];
    bench.run(&mut optimiser, &Backend::cpu().unwrap(), |step, slopes| {
        let rate = RATE / (step + 1) as f64;
        for (i, (p, slope)) in wanted.iter_mut().zip(slopes).enumerate() {
            for (j, (p, g)) in p.iter_mut().zip(slope).enumerate() {
                match i {
                    0 => *p = *p * (1. - rate * DECAY) - rate * g,
                    1 => *p -= rate / 2. * g,
                    _ => {
                        velocity[j] = 0.5 * velocity[j] + g;
                        *p -= rate * velocity[j];
                    }
                }
            }
        }
    });
    for (p, wanted) in bench.parameters.tensors().iter().zip(&wanted) {
        assert_near(&f64s(p), wanted, 4e-6, &p.name());
    }
    assert_eq!(optimiser.state().iter().map(Tensor::name).collect::<Vec<_>>(), ["optimiser.velocity.p2"]);
}

#[test]
fn gradients_are_clipped_by_value_then_by_norm() {
    let bench = bench(&[&[50], &[7, 3]], DType::F32);
    let mut wanted: Vec<_> = bench.parameters.tensors().iter().map(f64s).collect();
    let options = OptimiserOptions::new(Method::Sgd, 1.).clip_value(0.5).clip_norm(2.);
    let mut optimiser = options.build(&bench.parameters).unwrap();
    bench.run(&mut optimiser, &Backend::cpu().unwrap(), |step, slopes| {
        let clipped: Vec<Vec<f64>> = slopes.iter().map(|s| s.iter().map(|g| g.clamp(-0.5, 0.5)).collect()).collect();
        let norm = clipped.iter().flatten().map(|g| g * g).sum::<f64>().sqrt();
        assert!(norm > 2.);
        for (p, slope) in wanted.iter_mut().zip(&clipped) {
            p.iter_mut().zip(slope).for_each(|(p, g)| *p -= g * 2. / norm / (step + 1) as f64);
        }
    });
    for (p, wanted) in bench.parameters.tensors().iter().zip(&wanted) {
        assert_near(&f64s(p), wanted, 4e-6, "clipped");
    }
    // A gradient that is short enough stays the same to the bit.
    let ctx = Context::new();
    for (most, factor) in [(5., 1.), (2.5, 0.5)] {
        let p = ctx.tensor([2], &[0f32, 0.]).unwrap();
        p.set_name("p").unwrap();
        let mut optimiser = OptimiserOptions::new(Method::Sgd, 1.)
            .clip_norm(most)
            .build_for(std::slice::from_ref(&p), Context::new())
            .unwrap();
        let steps = optimiser.steps_by(&ctx, &[ctx.tensor([2], &[3f32, -4.]).unwrap()]).unwrap();
        optimiser.advance(1.).unwrap();
        Backend::cpu().unwrap().compute(&[&steps[0]]).unwrap();
        assert_eq!(p.to_vec::<f32>().unwrap(), [-3. * factor, 4. * factor]);
    }
}

/// BF16 numbers near 1 are 2^-8 apart, so steps of a thousandth would be lost; the master copy keeps them.
#[test]
fn parameters_of_bf16_have_masters() {
    let parameters = Parameters::new(1).with_dtype(DType::BF16).unwrap();
    let p = parameters.make("p", [3], Init::Constant(1.)).unwrap();
    let mut optimiser = OptimiserOptions::new(Method::Sgd, 1e-3).build(&parameters).unwrap();
    let loss = p.cast(DType::F32).unwrap().sum(..).unwrap();
    let steps = optimiser.steps(&loss).unwrap();
    let graph = Graph::new(&steps.iter().collect::<Vec<_>>()).unwrap();
    let cpu = Backend::cpu().unwrap();
    for _ in 0..8 {
        optimiser.advance(1.).unwrap();
        graph.compute(&cpu).unwrap();
    }
    let state = optimiser.state();
    assert_eq!(state[0].name(), "optimiser.master.p");
    assert_near(&f64s(&state[0]), &[0.992; 3], 1e-6, "master");
    // 0.992 rounded to the nearest BF16: multiples of 2^-8 below 1.
    assert_eq!(f64s(&p), [254. / 256.; 3]);
}

#[test]
fn accumulated_gradients_are_those_of_all() {
    let ctx = Context::new();
    let p = ctx.tensor([2], &[0.5f32, -1.]).unwrap();
    p.set_name("p").unwrap();
    let x = ctx.zeros(DType::F32, [2]).unwrap();
    let loss = p.mul(&x).unwrap().sum(..).unwrap();
    let optimiser = OptimiserOptions::new(Method::Sgd, 1.);
    let mut optimiser = optimiser.build_for(std::slice::from_ref(&p), Context::new()).unwrap();
    let accumulator = Accumulator::new(&Context::new(), std::slice::from_ref(&p)).unwrap();
    let gradients = loss.gradients(&[&p]).unwrap();
    let cpu = Backend::cpu().unwrap();
    for (i, values) in [[1f32, 2.], [3., 4.], [5., 6.]].iter().enumerate() {
        x.write(values).unwrap();
        let sums = if i == 0 { accumulator.first(&ctx, &gradients) } else { accumulator.more(&ctx, &gradients) };
        cpu.compute(&[&sums.unwrap()[0]]).unwrap();
    }
    optimiser.advance(1.).unwrap();
    let steps = optimiser.steps_by(&ctx, accumulator.sums()).unwrap();
    cpu.compute(&[&steps[0]]).unwrap();
    assert_eq!(p.to_vec::<f32>().unwrap(), [0.5 - 9., -1. - 12.]);
    refused(accumulator.first(&ctx, &[]), "0 gradients, 1 sums");
}

#[test]
fn what_optimisers_refuse() {
    let ctx = Context::new();
    let p = ctx.tensor([2], &[1f32, 2.]).unwrap();
    let build = |options: OptimiserOptions, tensors: &[Tensor]| options.build_for(tensors, Context::new());
    let sgd = || OptimiserOptions::new(Method::Sgd, 0.1);
    refused(build(sgd(), &[]), "no parameters");
    refused(build(sgd(), std::slice::from_ref(&p)), "a name of its own");
    p.set_name("p").unwrap();
    refused(build(sgd(), &[p.clone(), p.clone()]), "'p' [2] f32: a name of its own");
    let node = p.neg().unwrap();
    node.set_name("node").unwrap();
    refused(build(sgd(), &[node]), "a contiguous leaf of f32 or bf16");
    let whole = ctx.zeros(DType::I32, [2]).unwrap();
    whole.set_name("whole").unwrap();
    refused(build(sgd(), &[whole]), "'whole' [2] i32");
    refused(build(OptimiserOptions::new(Method::Sgd, f64::NAN), std::slice::from_ref(&p)), "a rate of NaN");
    refused(build(sgd().decay(-1.), std::slice::from_ref(&p)), "a decay of -1");
    refused(build(sgd().clip_norm(0.), std::slice::from_ref(&p)), "clip_norm of 0");
    refused(build(sgd().clip_value(f64::INFINITY), std::slice::from_ref(&p)), "clip_value of inf");
    let beyond = Method::Momentum { momentum: 1., nesterov: false };
    refused(
        build(sgd().group(Group::new(|_| false).method(beyond)), std::slice::from_ref(&p)),
        "a momentum from 0 on and below 1",
    );
    let wrong = Method::AdamW { beta1: 0.9, beta2: -0.1, epsilon: 1e-8 };
    refused(build(OptimiserOptions::new(wrong, 0.1), std::slice::from_ref(&p)), "betas");

    let apart = ctx.tensor([2], &[1f32, 2.]).unwrap();
    apart.set_name("apart").unwrap();
    let mut optimiser = build(sgd(), &[p.clone(), apart.clone()]).unwrap();
    let loss = p.sum(..).unwrap();
    refused(optimiser.steps(&loss), "flows to 1 of 2 parameters: 'apart'");
    refused(optimiser.steps(&loss.add(&apart.stop_gradient().unwrap().sum(..).unwrap()).unwrap()), "'apart'");
    refused(optimiser.steps(&p.add(&apart).unwrap()), "has no seed");
    refused(optimiser.steps_by(&ctx, &[]), "0 gradients, 2 parameters");
    refused(optimiser.advance(f64::NAN), "NaN");
    assert_eq!(optimiser.step(), 0);
}

#[test]
fn lbfgs_finds_minima() {
    let (ctx, cpu) = (Context::new(), Backend::cpu().unwrap());
    // The sum of c (x - a)^2, c from 1 to 100, has the gradient 2 c (x - a), which is at most 180 at the start.
    let n = 40usize;
    let a = ctx.tensor([n as i64], &numbers(n, 1)).unwrap();
    let c: Vec<f32> = (0..n).map(|i| 10f32.powf(2. * i as f32 / (n - 1) as f32)).collect();
    let c = ctx.tensor([n as i64], &c).unwrap();
    let x = ctx.zeros(DType::F32, [n as i64]).unwrap();
    let loss = x.sub(&a).unwrap().sqr().unwrap().mul(&c).unwrap().sum(..).unwrap();
    let minimum = Lbfgs::new().tolerance(1e-7).minimise(&cpu, &loss, &[&x]).unwrap();
    // The remaining gradient is up to 180 times the tolerance, and each term's rounding 2^-24 of 2 c a: 1e-5 and 1e-7
    // of x.
    assert_near(&f64s(&x), &f64s(&a), 2e-5, &format!("{minimum:?}"));
    assert!(minimum.iterations < 100 && minimum.losses.windows(2).all(|pair| pair[1] <= pair[0] * (1. + 1e-6)));
    assert_eq!(minimum.losses.len(), minimum.iterations + 1);
    // Starts at the minimum.
    let again = Lbfgs::new().tolerance(1e-3).minimise(&cpu, &loss, &[&x]).unwrap();
    assert_eq!((again.iterations, again.reason), (0, Reason::Converged));
    // Stops at the limit of iterations.
    x.write_f32(&[0.; 40]).unwrap();
    let short = Lbfgs::new().iterations(3).minimise(&cpu, &loss, &[&x]).unwrap();
    assert_eq!((short.iterations, short.reason), (3, Reason::Iterations));

    refused(Lbfgs::new().memory(0).minimise(&cpu, &loss, &[&x]), "memory 0");
    refused(Lbfgs::new().tolerance(f64::NAN).minimise(&cpu, &loss, &[&x]), "tolerance NaN");
    let apart = ctx.zeros(DType::F32, [1]).unwrap();
    refused(Lbfgs::new().minimise(&cpu, &loss, &[&x, &apart]), "flows to parameter");
    let nan = x.log().unwrap().sum(..).unwrap().mul(&loss).unwrap();
    refused(Lbfgs::new().minimise(&cpu, &nan, &[&x]), "where it begins");
    refused(Lbfgs::new().minimise(&cpu, &x.sqr().unwrap(), &[&x]), "has no seed");
}
