//! A small convolutional network learns handwritten digits, shifted at random by up to a pixel.
//!
//!     cargo run --release --example digits_conv -- [--group NAME] [--checkpoint FILE] [SEED] [CURVE.svg]
//!
//! With a group, several ranks train together: `cargo build --release --example digits_conv`, then
//! `mpirun -n 2 target/release/examples/digits_conv --group auto`. With a checkpoint, a run that was interrupted goes on.

use tensorlib::nn::{flatten, loss, max_pool, Conv2d, Dropout, Linear, Parameters, Sequential};
use tensorlib::train::{evaluate, schedule, DataSet, OptimiserOptions, Random, Trainer};
use tensorlib::{Backend, Group, Tensor};

const SIDE: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).peekable();
    let mut option = |name: &str| match args.next_if(|arg| arg == name) {
        Some(_) => args.next().map(Some).ok_or(format!("{name} needs a value")),
        None => Ok(None),
    };
    let group = option("--group")?.map(|name| Group::create(&name)).transpose()?;
    let checkpoint = option("--checkpoint")?;
    let seed = args.next().map_or(Ok(1), |seed| seed.parse())?;
    let data = DataSet::read_labelled(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/digits.csv"))?
        .map_inputs(|pixels| pixels.iter_mut().for_each(|p| *p /= 16.))
        .with_input_shape([SIDE as i64, SIDE as i64, 1])?;
    let (train, test) = data.split_at(1000)?;
    let train = train.with_changes(shift);

    let parameters = Parameters::new(seed);
    let model = Sequential::new()
        .with(Conv2d::new(&parameters.scope("conv1"), 1, 32, 3)?)
        .with(Tensor::relu)
        .with(Conv2d::new(&parameters.scope("conv2"), 32, 64, 3)?)
        .with(Tensor::relu)
        .with(|x: &Tensor| max_pool(x, 2))
        .with(flatten)
        .with(Dropout::new(0.4)?)
        .with(Linear::new(&parameters.scope("hidden"), 64 * 16, 128)?)
        .with(Tensor::relu)
        .with(Dropout::new(0.4)?)
        .with(Linear::new(&parameters.scope("output"), 128, 10)?);

    let cpu = Backend::cpu()?;
    let optimiser = OptimiserOptions::adamw(2e-3).decay(0.05).build(&parameters)?;
    let mut trainer = Trainer::new(&cpu, &model, optimiser, loss::cross_entropy)
        .epochs(30)
        .seed(seed)
        .schedule(|step, total| schedule::cosine(step, 50, total, 0.01))
        .test(&test)
        .progress();
    if let Some(group) = &group {
        trainer = trainer.group(group);
    }
    if let Some(file) = checkpoint {
        trainer = trainer.checkpoint(file, 0);
    }
    let history = trainer.fit(&train)?;
    if group.is_some_and(|group| group.rank() > 0) {
        return Ok(()); // all ranks have the same network
    }
    print!("{}", history.csv());
    if let Some(path) = args.next() {
        history.write_svg(path)?;
    }
    let scores = evaluate(&cpu, &model, loss::cross_entropy, &test, 256)?;
    println!("accuracy {:.2} %", 100. * scores.accuracy.unwrap_or(0.));
    Ok(())
}

/// Moves the image by up to a pixel in both directions; what comes in is empty.
fn shift(pixels: &mut [f32], random: &mut Random) {
    let old = pixels.to_vec();
    let (right, down) = (random.below(3), random.below(3));
    for (i, pixel) in pixels.iter_mut().enumerate() {
        // One to the left and up is 0: there are no negative numbers here.
        let (x, y) = (i % SIDE + right, i / SIDE + down);
        let is_inside = (1..=SIDE).contains(&x) && (1..=SIDE).contains(&y);
        *pixel = if is_inside { old[(y - 1) * SIDE + x - 1] } else { 0. };
    }
}
