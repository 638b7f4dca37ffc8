//! Support vector machines, linear and with radial basis functions, that tell benign tumours from malignant ones by 30
//! measures.
//!
//! Both minimise |f|^2 / 2 + C sum of max(0, 1 - sign f(x)), where f(x) = w.x + b, or sum of beta_i k(x_i, x) + b. The
//! hinge's corner is rounded to a parabola whose width shrinks from round to round, so that L-BFGS converges.
//!
//!     cargo run --release --example support_vector_machine -- [PICTURE.svg]

use tensorlib::train::{Chart, DataSet, Lbfgs, Standardiser};
use tensorlib::{Backend, Context, DType, Result, ScaleOptions, Tensor};

const C: f64 = 1.;
const GAMMA: f64 = 1. / 30.;
/// Widths of the hinge's rounded corner, one per round.
const WIDTHS: [f64; 4] = [1., 0.1, 0.01, 0.001];

/// Rows of 30 measures, and their classes: 1 for benign, -1 for malignant.
struct Part {
    x: Tensor,
    signs: Vec<f32>,
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let data = DataSet::read_labelled(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/breast-cancer.csv"))?;
    let n = data.labels().len();
    // Rows 1, 3, 5, ... to train; the columns standardised by these.
    let (train, test) = (data.chosen((0..n).step_by(2))?, data.chosen((1..n).step_by(2))?);
    let width = train.inputs().len() / train.labels().len();
    let columns = Standardiser::of(train.inputs(), width);
    let (train, test) = (train.map_inputs(|row| columns.apply(row)), test.map_inputs(|row| columns.apply(row)));

    let (cpu, ctx) = (Backend::cpu()?, Context::new());
    let part = |data: &DataSet| -> Result<Part> {
        let signs: Vec<f32> = data.labels().iter().map(|label| if *label == 1 { 1. } else { -1. }).collect();
        Ok(Part { x: ctx.tensor([width as i64, signs.len() as i64], data.inputs())?, signs })
    };
    let (train, test) = (part(&train)?, part(&test)?);

    // Linear: f = w.x + b, |f|^2 = w.w.
    let bias = ctx.zeros(DType::F32, [1])?;
    let w = ctx.zeros(DType::F32, [width as i64, 1])?;
    let f = |x: &Tensor| w.mul_mat(x) + &bias;
    let linear = fit(&cpu, &ctx, &f(&train.x)?, &w.sqr()?.sum(..)?, &train.signs, &[&w, &bias])?;
    let of_test = computed(&cpu, &f(&test.x)?)?;
    report("linear", &of_test, &test.signs, linear);

    // Radial: f = sum of beta_i k(x_i, x) + b, |f|^2 = beta K beta.
    bias.write(&[0f32])?;
    let beta = ctx.zeros(DType::F32, [train.signs.len() as i64, 1])?;
    let f = |x: &Tensor| beta.mul_mat(&kernel(&train.x, x)?) + &bias;
    // The loss uses the kernel matrix as a constant, so it is computed once.
    let k = kernel(&train.x, &train.x)?;
    let k = ctx.tensor(k.shape(), &computed(&cpu, &k)?)?;
    let k_beta = beta.mul_mat(&k)?;
    let square = (k_beta.reshape(beta.shape()) * &beta)?.sum(..)?;
    let radial = fit(&cpu, &ctx, &k_beta.add(&bias)?, &square, &train.signs, &[&beta, &bias])?;
    let of_test = computed(&cpu, &f(&test.x)?)?;
    report("radial", &of_test, &test.signs, radial);

    if let Some(path) = std::env::args().nth(1) {
        let points = |sign: f32| -> Vec<(f64, f64)> {
            let of_sign = test.signs.iter().zip(&of_test).enumerate().filter(|(_, (s, _))| **s == sign);
            of_sign.map(|(i, (_, f))| (i as f64, f64::from(*f))).collect()
        };
        Chart::new("Radial basis functions: what the test's tumours are told to be by", "tumour", "f(x)")
            .points("benign", points(1.))
            .points("malignant", points(-1.))
            .line("border", vec![(0., 0.), (test.signs.len() as f64, 0.)])
            .write_svg(path)?;
    }
    Ok(())
}

/// Minimises square / 2 + C sum of hinge(1 - sign f). Returns how many samples are on the margin or beyond: the support vectors.
fn fit(
    cpu: &Backend,
    ctx: &Context,
    f: &Tensor,
    square: &Tensor,
    signs: &[f32],
    parameters: &[&Tensor],
) -> Result<usize> {
    let by = |t: &Tensor, factor: f64| t.scale(factor, ScaleOptions::new());
    let signs = ctx.tensor(f.shape(), signs)?;
    let gap = f.mul(&signs)?.scale(-1., ScaleOptions::new().bias(1.))?;
    for width in WIDTHS {
        // q (gap - q / 2) / width, q = gap between 0 and width: a parabola, and then a line of slope 1.
        let q = gap.clamp(0., width)?;
        let hinge = by(&q.mul(&gap.sub(&by(&q, 0.5)?)?)?, 1. / width)?;
        let loss = by(square, 0.5)?.add(&by(&hinge.sum(..)?, C)?)?;
        Lbfgs::new().iterations(2000).minimise(cpu, &loss, parameters)?;
    }
    Ok(computed(cpu, &gap)?.into_iter().filter(|gap| *gap > -0.01).count())
}

/// k(a, b) = exp(-gamma |a - b|^2) of all pairs of rows: `[rows of a, rows of b]`.
fn kernel(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let norms = |t: &Tensor| t.sqr()?.sum_rows(); // [1, rows]
    let products = a.mul_mat(b)?.scale(-2., ScaleOptions::new())?;
    let of_a = norms(a)?.reshape([-1])?;
    products.add(&of_a)?.add(&norms(b)?)?.scale(-GAMMA, ScaleOptions::new())?.exp()
}

fn computed(cpu: &Backend, t: &Tensor) -> Result<Vec<f32>> {
    let t = t.cont()?;
    cpu.compute(&[&t])?;
    t.to_vec::<f32>()
}

fn report(name: &str, f: &[f32], signs: &[f32], support_vectors: usize) {
    let right = f.iter().zip(signs).filter(|(f, sign)| **f * **sign > 0.).count();
    println!("{name}: {right} of {} right, {support_vectors} support vectors", signs.len());
}
