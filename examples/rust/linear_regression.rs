//! Linear regression: how far diabetes has come a year later, by ten variables of the patient.
//!
//! The columns are standardised; gradient descent with momentum and L-BFGS minimise the mean square of what is left; the coefficients
//! are converted back to the data's own units.
//!
//!     cargo run --release --example linear_regression -- [--json] [PICTURE.svg]

use tensorlib::nn::{loss, Init, Linear, Module, Parameters, Pass};
use tensorlib::train::{Chart, DataSet, Lbfgs, Method, Minimum, OptimiserOptions, Standardiser};
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

    let cpu = Backend::cpu()?;
    let problem = Standardised::of(&data)?;
    let descent = by_descent(&cpu, &problem)?;
    let (lbfgs, minimum) = by_lbfgs(&cpu, &problem)?;

    if json {
        println!("{{\"coefficients\": {:?}, \"intercept\": {:?}}}", lbfgs.coefficients, lbfgs.intercept);
    } else {
        println!("{:<10} {:>14} {:>14}", "", "descent", "L-BFGS");
        for (name, (descent, lbfgs)) in names.iter().zip(descent.coefficients.iter().zip(&lbfgs.coefficients)) {
            println!("{name:<10} {descent:>14.6} {lbfgs:>14.6}");
        }
        println!("{:<10} {:>14.6} {:>14.6}", "intercept", descent.intercept, lbfgs.intercept);
        println!("descent: {STEPS} steps; L-BFGS: {} steps, {:?}", minimum.iterations, minimum.reason);
    }
    if let Some(path) = args.first() {
        let rows = data.inputs().chunks(lbfgs.coefficients.len()).zip(data.targets());
        let pairs = rows.map(|(row, y)| (f64::from(*y), lbfgs.at(row)));
        Chart::new("Diabetes a year later", "measured", "predicted")
            .points("patients", pairs.collect())
            .line("as measured", vec![(25., 25.), (346., 346.)])
            .write_svg(path)?;
    }
    Ok(())
}

/// A linear function in the data's own units.
struct Line {
    coefficients: Vec<f64>,
    intercept: f64,
}

impl Line {
    fn at(&self, row: &[f32]) -> f64 {
        self.intercept + row.iter().zip(&self.coefficients).map(|(x, c)| f64::from(*x) * c).sum::<f64>()
    }
}

/// The data with mean 0 and deviation 1 on both sides, so that coefficients have one size and no intercept moves them.
struct Standardised {
    x: Tensor,
    y: Tensor,
    inputs: Standardiser,
    targets: Standardiser,
}

impl Standardised {
    fn of(data: &DataSet) -> Result<Self> {
        let n = data.targets().len();
        let width = data.inputs().len() / n;
        let (inputs, targets) = (Standardiser::of(data.inputs(), width), Standardiser::of(data.targets(), 1));
        let (mut xs, mut ys) = (data.inputs().to_vec(), data.targets().to_vec());
        xs.chunks_mut(width).for_each(|row| inputs.apply(row));
        ys.iter_mut().for_each(|y| targets.apply(std::slice::from_mut(y)));
        let ctx = Context::new();
        let (x, y) = (ctx.tensor([width as i64, n as i64], &xs)?, ctx.tensor([1, n as i64], &ys)?);
        Ok(Self { x, y, inputs, targets })
    }

    /// The weight, bias and loss of a model.
    fn model(&self, parameters: &Parameters) -> Result<(Tensor, Tensor, Tensor)> {
        let layer = Linear::with(parameters, self.x.shape()[0], 1, Init::Zeros)?;
        let bias = parameters.make("bias", [1], Init::Zeros)?;
        let layer = Linear { bias: Some(bias.clone()), ..layer };
        let x = Context::new().within(|| self.x.cont())?;
        Ok((layer.weight.clone(), bias, loss::mse(&layer.forward(&x, &Pass::evaluation())?, &self.y)?))
    }

    /// c = w deviation(y) / deviation(x), intercept = mean(y) + b deviation(y) - sum of c mean(x).
    fn own_units(&self, weight: &Tensor, bias: &Tensor) -> Result<Line> {
        let Self { inputs, targets, .. } = self;
        let scale = targets.deviations[0];
        let weights = weight.to_vec::<f32>()?;
        let coefficients: Vec<f64> =
            weights.iter().zip(&inputs.deviations).map(|(w, deviation)| f64::from(*w) * scale / deviation).collect();
        let shift: f64 = coefficients.iter().zip(&inputs.means).map(|(c, mean)| c * mean).sum();
        let intercept = targets.means[0] + f64::from(bias.get(&[0])?) * scale - shift;
        Ok(Line { coefficients, intercept })
    }
}

fn by_descent(cpu: &Backend, problem: &Standardised) -> Result<Line> {
    let parameters = Parameters::new(0);
    let (weight, bias, loss) = problem.model(&parameters)?;
    let method = Method::Momentum { momentum: 0.99, nesterov: true };
    let mut optimiser = OptimiserOptions::new(method, 0.02).build(&parameters)?;
    let steps = optimiser.steps(&loss)?;
    let graph = Graph::new(&[&loss].into_iter().chain(&steps).collect::<Vec<_>>())?;
    for _ in 0..STEPS {
        optimiser.advance(1.)?;
        graph.compute(cpu)?;
    }
    problem.own_units(&weight, &bias)
}

fn by_lbfgs(cpu: &Backend, problem: &Standardised) -> Result<(Line, Minimum)> {
    let (weight, bias, loss) = problem.model(&Parameters::new(0))?;
    let minimum = Lbfgs::new().tolerance(1e-8).minimise(cpu, &loss, &[&weight, &bias])?;
    Ok((problem.own_units(&weight, &bias)?, minimum))
}
