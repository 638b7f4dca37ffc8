//! A network learns handwritten digits: 64 pixels, 256 hidden units, 10 classes.
//!
//!     cargo run --release --example digits_network -- [SEED] [CURVE.svg]

use tensorlib::nn::{loss, Linear, Parameters, Sequential};
use tensorlib::train::{evaluate, schedule, DataSet, OptimiserOptions, Trainer};
use tensorlib::{Backend, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let seed = args.next().map_or(Ok(1), |seed| seed.parse())?;
    let data = DataSet::read_labelled(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/digits.csv"))?;
    let (train, test) = data.map_inputs(|pixels| pixels.iter_mut().for_each(|p| *p /= 16.)).split_at(1000)?;

    let parameters = Parameters::new(seed);
    let model = Sequential::new()
        .with(Linear::new(&parameters.scope("hidden"), 64, 256)?)
        .with(Tensor::relu)
        .with(Linear::new(&parameters.scope("output"), 256, 10)?);

    let cpu = Backend::cpu()?;
    let optimiser = OptimiserOptions::adamw(0.01).decay(0.1).build(&parameters)?;
    let history = Trainer::new(&cpu, &model, optimiser, loss::cross_entropy)
        .epochs(60)
        .seed(seed)
        .schedule(|step, total| schedule::cosine(step, 50, total, 0.01))
        .test(&test)
        .progress()
        .fit(&train)?;
    print!("{}", history.csv());
    if let Some(path) = args.next() {
        history.write_svg(path)?;
    }
    let scores = evaluate(&cpu, &model, loss::cross_entropy, &test, 256)?;
    println!("accuracy {:.2} %", 100. * scores.accuracy.unwrap_or(0.));
    Ok(())
}
