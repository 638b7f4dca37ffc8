//! `tensorlib tune`: a low-rank adapter, trained on a model's own weights.

mod curve;

use crate::args::{Tune, Validation};
use crate::failure::{warn, Exit, Failure, Outcome};
use crate::files::output::{Output, Target};
use crate::model;
use crate::terminal::progress::steps_bar;
use crate::terminal::signals;
use crate::terminal::text::count;
use curve::Curve;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tensorlib::train::{schedule, OptimiserOptions, Report, Samples};
use tensorlib::BackendOptions;
use tensorlib_models::{Tuning, TuningOptions, TuningSamples, TUNED_PARTS};

/// The context that is taken unless one is asked for.
const USUAL_CONTEXT: u32 = 256;
/// The share of steps in which the rate rises, and the share of it that is left in the end.
const WARM_UP: f64 = 0.05;
const LAST_RATE: f64 = 0.1;
/// What gradients are clipped to.
const NORM: f64 = 1.0;

/// Runs the command.
pub fn run(options: &Tune, out: &mut dyn Write) -> Outcome<Exit> {
    signals::catch();
    if options.output == Path::new("-") {
        let message = "-: an adapter is written next to its checkpoint: a file is valid";
        return Err(Failure::new(Exit::Usage, message));
    }
    let target = Target { path: &options.output, split: false, force: options.force, dry_run: false };
    let output = Output::check(&target, &[options.model.clone(), options.data.clone()])?;
    let checkpoint = next_to(&options.output, "checkpoint");
    check_checkpoint(options, &checkpoint)?;
    let text = model::text_of(&options.data)?;
    let backend = BackendOptions::new().threads(options.threads.unwrap_or(0).into()).open("cpu")?;
    let tuning = open(options, &backend)?;
    let (samples, validation) = samples(options, &tuning, &text)?;
    if samples.cut() > 0 {
        warn(format_args!(
            "{} longer than the context lost their end: --context N takes more",
            count(samples.cut(), "text")
        ));
    }
    let done = train(options, &tuning, &backend, (&samples, validation.as_ref()), &checkpoint)?;
    if signals::came() {
        return signals::check(&format!("{} has what was learned: --resume goes on", checkpoint.display()))
            .map(|()| Exit::Success);
    }
    tuning.write(output.path())?;
    let _ = std::fs::remove_file(&checkpoint); // the adapter has all of it
    writeln!(out, "{}", done.drawing())?;
    let (n, learned) = (tuning.parameters().n_elements(), count(samples.learned(), "token"));
    let texts = count(samples.len(), "sequence");
    writeln!(out, "{}: {n} parameters, from {texts} with {learned} to learn", options.output.display())?;
    Ok(Exit::Success)
}

/// OUT with another ending.
fn next_to(output: &Path, ending: &str) -> PathBuf {
    let mut name = output.as_os_str().to_os_string();
    name.push(format!(".{ending}"));
    name.into()
}

fn check_checkpoint(options: &Tune, path: &Path) -> Outcome<()> {
    let refuse = |what: &str, hint: &str| Err(Failure::new(Exit::Io, format!("{}: {what}", path.display())).hint(hint));
    match (options.resume, path.exists()) {
        (true, false) => refuse("there is no such checkpoint", "leave out --resume to begin a run"),
        (false, true) => refuse("a run is not finished", "say --resume to go on, or remove the file to begin again"),
        _ => Ok(()),
    }
}

fn open(options: &Tune, backend: &tensorlib::Backend) -> Outcome<Tuning> {
    let targets = match options.targets.is_empty() {
        true => TUNED_PARTS.map(String::from).to_vec(),
        false => options.targets.clone(),
    };
    let context = options.context.unwrap_or(USUAL_CONTEXT) as usize;
    let (rank, alpha, seed) = (options.rank.into(), options.alpha, options.seed);
    Ok(Tuning::open(&options.model, backend, &TuningOptions { rank, alpha, targets, context, seed })?)
}

/// The texts to learn, and those that are measured.
fn samples(options: &Tune, tuning: &Tuning, text: &str) -> Outcome<(TuningSamples, Option<TuningSamples>)> {
    let about = |e: tensorlib_models::Error, path: &Path| Failure::from(e).about(path.display());
    let all = tuning.samples(text).map_err(|e| about(e, &options.data))?;
    Ok(match &options.validation {
        None => (all, None),
        Some(Validation::Share(share)) => all.divide(*share).map(|(rest, apart)| (rest, Some(apart)))?,
        Some(Validation::File(path)) => {
            let other = tuning.samples(&model::text_of(path)?).map_err(|e| about(e, path))?;
            (all, Some(other))
        }
    })
}

fn train(
    options: &Tune,
    tuning: &Tuning,
    backend: &tensorlib::Backend,
    (samples, validation): (&TuningSamples, Option<&TuningSamples>),
    checkpoint: &Path,
) -> Outcome<Curve> {
    let of_epoch = samples.len().div_ceil(options.batch.into()) as u64;
    let total = options.steps.unwrap_or(of_epoch * u64::from(options.epochs));
    let epochs = usize::try_from(total.div_ceil(of_epoch.max(1))).unwrap_or(usize::MAX);
    let optimiser = OptimiserOptions::adamw(options.learning_rate).clip_norm(NORM).build(tuning.parameters())?;
    let warm_up = (total as f64 * WARM_UP).ceil() as u64;
    let curve = Mutex::new(Curve::open(&next_to(&options.output, "csv"), options.resume)?);
    let failed: Mutex<Option<Failure>> = Mutex::new(None);
    let bar = steps_bar(total);
    let add = |report: &Report, is_epoch: bool| {
        let added = curve.lock().map_or(Ok(()), |mut curve| curve.add(report, is_epoch));
        if let (Err(failure), Ok(mut failed)) = (added, failed.lock()) {
            failed.get_or_insert(failure);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let mut trainer = tuning
        .trainer(backend, optimiser)
        .epochs(epochs)
        .batch(options.batch.into())
        .seed(options.seed)
        .schedule(move |step, _| schedule::cosine(step, warm_up, total, LAST_RATE))
        .checkpoint(checkpoint, options.checkpoint)
        .on_step(|report| {
            bar.set_position(report.step);
            bar.set_message(format!("loss {:.4}", report.loss));
            let added = add(report, false);
            if signals::came() || report.step >= total {
                return ControlFlow::Break(());
            }
            added
        })
        .on_epoch(|report| add(report, true));
    if let Some(validation) = validation {
        trainer = trainer.test(validation);
    }
    trainer.fit(samples)?;
    drop(trainer);
    bar.finish_and_clear();
    match failed.into_inner().ok().flatten() {
        Some(failure) => Err(failure),
        None => curve.into_inner().map_err(|_| Failure::new(Exit::Internal, "the curve of losses is lost")),
    }
}
