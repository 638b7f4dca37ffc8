//! Linear regression: how far diabetes has come a year later, by ten variables of the patient.
//!
//! The columns are standardised; gradient descent with momentum and L-BFGS minimise the mean square of what is left; the coefficients
//! are converted back to the data's own units.
//!
//!     cargo run --release --example linear_regression -- [--json] [PICTURE.svg]

use tensorlib::nn::{loss, Init, Linear, Module, Parameters, Pass};
use tensorlib::train::{Chart, DataSet, Lbfgs, Method, OptimiserOptions, Standardiser};
use tensorlib::{Backend, Context, Graph, Result, Tensor};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/diabetes.csv");
const STEPS: usize = 20_000;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let json = args.iter().position(|arg| arg == "--json").map(|i| args.remove(i)).is_some();
    let data = DataSet::read_numbers(FILE)?;
    let text = std::fs::read_to_string(FILE)?;
    let header = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    let names: Vec<&str> = header.split(',').collect();
    let n = data.targets().len();
    let width = data.inputs().len() / n;

    // Both sides with the mean 0 and the deviation 1: of coefficients of one size, that no intercept moves.
    let (inputs, targets) = (Standardiser::of(data.inputs(), width), Standardiser::of(data.targets(), 1));
    let (mut xs, mut ys) = (data.inputs().to_vec(), data.targets().to_vec());
    xs.chunks_mut(width).for_each(|row| inputs.apply(row));
    ys.iter_mut().for_each(|y| targets.apply(std::slice::from_mut(y)));
    let cpu = Backend::cpu()?;
    let ctx = Context::new();
    let (x, y) = (ctx.tensor([width as i64, n as i64], &xs)?, ctx.tensor([1, n as i64], &ys)?);

    let model = |parameters: &Parameters| -> Result<(Tensor, Tensor, Tensor)> {
        let layer = Linear::with(parameters, width as i64, 1, Init::Zeros)?;
        let bias = parameters.make("bias", [1], Init::Zeros)?;
        let layer = Linear { bias: Some(bias.clone()), ..layer };
        let ctx = Context::new();
        Ok((layer.weight.clone(), bias, loss::mse(&layer.forward(&ctx.cont(&x)?, &Pass::evaluation())?, &y)?))
    };
    // c = w deviation(y) / deviation(x), intercept = mean(y) + b deviation(y) - sum of c mean(x).
    let own_units = |weight: &Tensor, bias: &Tensor| -> Result<(Vec<f64>, f64)> {
        let scale = targets.deviations[0];
        let weights = weight.to_vec::<f32>()?;
        let coefficients: Vec<f64> =
            weights.iter().zip(&inputs.deviations).map(|(w, deviation)| f64::from(*w) * scale / deviation).collect();
        let shift: f64 = coefficients.iter().zip(&inputs.means).map(|(c, mean)| c * mean).sum();
        Ok((coefficients, targets.means[0] + f64::from(bias.get(&[0])?) * scale - shift))
    };

    let by_descent = {
        let parameters = Parameters::new(0);
        let (weight, bias, loss) = model(&parameters)?;
        let method = Method::Momentum { momentum: 0.99, nesterov: true };
        let mut optimiser = OptimiserOptions::new(method, 0.02).build(&parameters)?;
        let steps = optimiser.steps(&loss)?;
        let graph = Graph::new(&[&loss].into_iter().chain(&steps).collect::<Vec<_>>())?;
        for _ in 0..STEPS {
            optimiser.advance(1.)?;
            graph.compute(&cpu)?;
        }
        own_units(&weight, &bias)?
    };
    let parameters = Parameters::new(0);
    let (weight, bias, loss) = model(&parameters)?;
    let minimum = Lbfgs::new().tolerance(1e-8).minimise(&cpu, &loss, &[&weight, &bias])?;
    let (coefficients, intercept) = own_units(&weight, &bias)?;

    if json {
        println!("{{\"coefficients\": {coefficients:?}, \"intercept\": {intercept:?}}}");
    } else {
        println!("{:<10} {:>14} {:>14}", "", "descent", "L-BFGS");
        for (name, (descent, lbfgs)) in names.iter().zip(by_descent.0.iter().zip(&coefficients)) {
            println!("{name:<10} {descent:>14.6} {lbfgs:>14.6}");
        }
        println!("{:<10} {:>14.6} {:>14.6}", "intercept", by_descent.1, intercept);
        println!("descent: {STEPS} steps; L-BFGS: {} steps, {:?}", minimum.iterations, minimum.reason);
    }
    if let Some(path) = args.first() {
        let predicted = |row: &[f32]| -> f64 {
            intercept + row.iter().zip(&coefficients).map(|(x, c)| f64::from(*x) * c).sum::<f64>()
        };
        let pairs = data.inputs().chunks(width).zip(data.targets()).map(|(row, y)| (f64::from(*y), predicted(row)));
        Chart::new("Diabetes a year later", "measured", "predicted")
            .points("patients", pairs.collect())
            .line("as measured", vec![(25., 25.), (346., 346.)])
            .write_svg(path)?;
    }
    Ok(())
}
