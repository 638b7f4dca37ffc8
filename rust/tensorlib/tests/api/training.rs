//! The trainer: same seed, same bits; resumed runs; early stopping; errors; data sets and charts.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tensorlib::nn::{loss, Dropout, Embedding, Linear, Module, Parameters, Pass, Sequential};
use tensorlib::train::{
    evaluate, evaluate_fn, predict, predict_fn, Column, DataSet, Form, Forms, Method, OptimiserOptions, Random,
    Samples, Slot, Stopped, Trainer,
};
use tensorlib::{safetensors, Backend, BackendOptions, Context, DType, Error, Result, Tensor};

/// Points on two spirals, which no line separates.
fn spirals(n: usize) -> DataSet {
    let mut random = Random::new(9, 0);
    let (mut points, mut labels) = (Vec::new(), Vec::new());
    for i in 0..n {
        let (label, far) = (i % 2, 0.2 + 0.8 * random.uniform());
        let angle = 4. * far + std::f64::consts::PI * label as f64;
        points.extend([(far * angle.cos()) as f32, (far * angle.sin()) as f32]);
        labels.push(label as i32);
    }
    DataSet::new(Column::f32([2], points), Column::i32([], labels)).unwrap()
}

struct Net {
    parameters: Parameters,
    model: Sequential,
}

fn net(seed: u64, hidden: i64, dropped: f64) -> Net {
    let parameters = Parameters::new(seed);
    let model = Sequential::new()
        .with(Linear::new(&parameters.scope("hidden"), 2, hidden).unwrap())
        .with(Tensor::tanh)
        .with(Dropout::new(dropped).unwrap())
        .with(Linear::new(&parameters.scope("output"), hidden, 2).unwrap());
    Net { parameters, model }
}

impl Net {
    fn trainer<'a>(&'a self, backend: &'a Backend) -> Trainer<'a> {
        let optimiser = OptimiserOptions::adamw(0.02).decay(0.01).clip_norm(5.).build(&self.parameters).unwrap();
        Trainer::new(backend, &self.model, optimiser, loss::cross_entropy).seed(4).batch(16)
    }

    fn bits(&self) -> Vec<u32> {
        let values = self.parameters.tensors().into_iter().flat_map(|t| t.to_vec::<f32>().unwrap());
        values.map(f32::to_bits).collect()
    }
}

fn refused<T>(result: Result<T>, what: &str) {
    match result {
        Ok(_) => panic!("taken: {what}"),
        Err(error @ (Error::InvalidArgument(_) | Error::Format(_) | Error::Custom(_))) => {
            assert!(error.to_string().contains(what), "{error}");
        }
        Err(error) => panic!("{error:?} for {what}"),
    }
}

/// A temporary file of one test, removed with this value.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("tensorlib-training-{}-{name}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_network_learns_and_the_same_seed_gives_the_same_bits() {
    let (train, test) = spirals(301).split_at(200).unwrap();
    let mut all = Vec::new();
    for threads in [1, 2, 5] {
        let backend = BackendOptions::new().threads(threads).open("cpu").unwrap();
        let net = net(1, 24, 0.1);
        let history = net.trainer(&backend).epochs(60).test(&test).fit(&train).unwrap();
        assert_eq!((history.epochs.len(), history.stopped, history.best), (60, Stopped::Done, None));
        let scores = evaluate(&backend, &net.model, loss::cross_entropy, &test, 7).unwrap();
        assert!(scores.accuracy.unwrap() > 0.95, "{scores:?}");
        // Batches of another size add up in another order: 2^-24 for each sample's loss.
        let of_history = history.epochs[59].test.unwrap();
        assert!((of_history.loss - scores.loss).abs() < 1e-6 && of_history.accuracy == scores.accuracy);
        let outputs = predict(&backend, &net.model, &test, 13).unwrap();
        let right =
            outputs.chunks(2).zip(test.labels()).filter(|(o, label)| usize::from(o[1] > o[0]) == **label as usize);
        assert_eq!(right.count() as f64 / 101., scores.accuracy.unwrap());
        all.push((net.bits(), history));
    }
    assert!(all[0] == all[1] && all[0] == all[2]);
    let backend = Backend::cpu().unwrap();
    let other = net(2, 24, 0.1);
    other.trainer(&backend).epochs(1).fit(&train).unwrap();
    assert_ne!(other.bits(), all[0].0);
}

#[test]
fn micro_batches_are_one_batch() {
    let (train, backend) = (spirals(50), Backend::cpu().unwrap());
    let run = |parts: usize| {
        let net = net(1, 8, 0.);
        let optimiser = OptimiserOptions::new(Method::Sgd, 0.1).build(&net.parameters).unwrap();
        // 50 samples in batches of 16 leave a batch of 2, which 3 parts split into 1 and 1.
        let mut trainer =
            Trainer::new(&backend, &net.model, optimiser, loss::cross_entropy).batch(16).epochs(3).seed(4);
        trainer = trainer.micro_batches(parts);
        let history = trainer.fit(&train).unwrap();
        drop(trainer);
        let values: Vec<f32> = net.bits().into_iter().map(f32::from_bits).collect();
        (values, history.epochs[2].loss)
    };
    let (whole, loss) = run(1);
    for parts in [2, 3, 16] {
        let (values, of_parts) = run(parts);
        // Sums of 16 in another order: about 2^-22 of numbers up to 1, in 12 steps of a tenth.
        assert!((loss - of_parts).abs() < 2e-6, "{loss} {of_parts}");
        for (a, b) in whole.iter().zip(&values) {
            assert!((a - b).abs() < 2e-6, "{parts} parts: {a} {b}");
        }
    }
}

/// The bits stay the same in less memory; if the limit is too low, the error has the number of bytes needed.
#[test]
fn memory_is_bounded_by_computing_again() {
    let (train, backend) = (spirals(64), Backend::cpu().unwrap());
    let run = |bytes: Option<usize>| {
        let parameters = Parameters::new(1);
        let mut model = Sequential::new().with(Linear::new(&parameters.scope("in"), 2, 64).unwrap());
        for i in 0..12 {
            model = model.with(Linear::new(&parameters.scope(i), 64, 64).unwrap()).with(Tensor::tanh);
        }
        let model = model.with(Linear::new(&parameters.scope("out"), 64, 2).unwrap());
        let optimiser = OptimiserOptions::adamw(0.01).build(&parameters).unwrap();
        let mut trainer = Trainer::new(&backend, &model, optimiser, loss::cross_entropy).batch(64).epochs(3);
        if let Some(bytes) = bytes {
            trainer = trainer.memory(bytes);
        }
        let fitted = trainer.fit(&train);
        drop(trainer);
        let values: Vec<Vec<f32>> = parameters.tensors().iter().map(|t| t.to_vec().unwrap()).collect();
        fitted.map(|history| (history, values))
    };
    let wanted = run(None).unwrap();
    // An activation is 64 x 64 floats, 16 KiB, and so is a weight's gradient: 12 of each, plus temporaries.
    let Err(Error::OutOfMemory(failure)) = run(Some(1000)) else { panic!("1000 bytes are enough") };
    let least =
        failure.message.split("at least ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    let least = least.unwrap_or_else(|| panic!("{}", failure.message));
    assert!(least < 24 * 16 * 1024, "{least}");
    assert!(run(Some(least)).unwrap() == wanted);
}

#[test]
fn the_first_node_that_is_not_finite_is_named() {
    let (train, backend) = (spirals(20), Backend::cpu().unwrap());
    let net = net(1, 4, 0.);
    let optimiser = OptimiserOptions::adamw(0.1).build(&net.parameters).unwrap();
    let loss = |output: &Tensor, _: &Tensor| {
        let roots = output.neg()?.sqr()?.neg()?.sqrt()?; // of numbers below 0
        roots.set_name("roots")?;
        roots.sum(..)
    };
    let mut trainer = Trainer::new(&backend, &net.model, optimiser, loss).check_finite();
    refused(trainer.fit(&train), "sqrt 'roots'");
}

#[test]
fn an_interrupted_run_goes_on_with_the_same_bits() {
    let (train, test) = spirals(121).split_at(100).unwrap();
    let backend = Backend::cpu().unwrap();
    let whole = net(1, 8, 0.2);
    let wanted = whole.trainer(&backend).epochs(5).test(&test).patience(9).fit(&train).unwrap();
    for (stop, every) in [(1, 1), (3, 2), (7, 0), (10, 4), (24, 5), (35, 1)] {
        let file = Temporary::new(&format!("resumed-{stop}"));
        for run in 0..3 {
            // As in a new process: only the file is left.
            let net = net(1, 8, 0.2);
            let trainer = net.trainer(&backend).epochs(5).test(&test).patience(9).checkpoint(&file.0, every);
            let stops = move |step: u64| {
                if run == 0 && step == stop {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let history = trainer.on_step(move |report| stops(report.step)).fit(&train).unwrap();
            if run == 0 {
                assert_eq!(history.stopped, Stopped::ByCallback);
                continue;
            }
            assert_eq!(history, wanted, "stopped at {stop}, run {run}");
            assert!(net.bits() == whole.bits(), "stopped at {stop}, run {run}");
        }
    }
}

/// Resuming with half the rate, less decay and no clipping equals one run whose schedule halves the rate at that step.
#[test]
fn rates_may_change_where_a_run_goes_on() {
    let (train, backend, file) = (spirals(64), Backend::cpu().unwrap(), Temporary::new("rate"));
    let trainer = |net: &Net, rate: f64| {
        let optimiser = OptimiserOptions::adamw(rate).build(&net.parameters).unwrap();
        (optimiser, loss::cross_entropy)
    };
    let whole = net(1, 8, 0.);
    let (optimiser, by) = trainer(&whole, 0.02);
    let halves = |step: u64, _| if step < 8 { 1. } else { 0.5 };
    let mut one = Trainer::new(&backend, &whole.model, optimiser, by).seed(4).batch(16).epochs(4).schedule(halves);
    let wanted = one.fit(&train).unwrap();
    let parts = net(1, 8, 0.);
    for (epochs, rate) in [(2, 0.02), (4, 0.01)] {
        let (optimiser, by) = trainer(&parts, rate);
        let part = Trainer::new(&backend, &parts.model, optimiser, by).seed(4).batch(16).epochs(epochs);
        let history = part.checkpoint(&file.0, 0).fit(&train).unwrap();
        assert_eq!(history.epochs[..], wanted.epochs[..epochs]);
    }
    assert!(parts.bits() == whole.bits());
    // Options other than rates may change, too.
    let other = net(1, 8, 0.);
    let optimiser = OptimiserOptions::adamw(0.01).decay(0.1).clip_norm(1.).build(&other.parameters).unwrap();
    let more = Trainer::new(&backend, &other.model, optimiser, loss::cross_entropy).seed(4).batch(16).epochs(5);
    assert_eq!(more.checkpoint(&file.0, 0).fit(&train).unwrap().epochs.len(), 5);
}

#[test]
fn a_trainer_goes_to_another_thread() {
    let (train, test) = spirals(48).split_at(32).unwrap();
    let (backend, net) = (Backend::cpu().unwrap(), net(1, 8, 0.));
    let mut epochs = 0;
    let count = |_: &_| {
        epochs += 1;
        ControlFlow::Continue(())
    };
    let mut trainer = net.trainer(&backend).epochs(2).test(&test).schedule(|_, _| 1.).on_epoch(count);
    std::thread::scope(|scope| scope.spawn(move || trainer.fit(&train).map(drop)).join().unwrap()).unwrap();
    assert_eq!(epochs, 2);
}

/// A run that is killed between two checkpoints resumes from the older one.
#[test]
fn a_killed_run_goes_on_from_the_last_checkpoint() {
    let (train, backend, file) = (spirals(64), Backend::cpu().unwrap(), Temporary::new("killed"));
    let whole = net(1, 8, 0.2);
    let wanted = whole.trainer(&backend).epochs(3).fit(&train).unwrap();
    // A panic in a callback ends a run as a kill does: nothing more is written.
    let killed = net(1, 8, 0.2);
    let run = std::panic::AssertUnwindSafe(|| {
        let trainer = killed.trainer(&backend).epochs(3).checkpoint(&file.0, 3);
        let _ = trainer
            .on_step(|report| if report.step == 8 { panic!("killed") } else { ControlFlow::Continue(()) })
            .fit(&train);
    });
    assert!(std::panic::catch_unwind(run).is_err());
    let again = net(1, 8, 0.2);
    assert_eq!(again.trainer(&backend).epochs(3).checkpoint(&file.0, 3).fit(&train).unwrap(), wanted);
    assert!(again.bits() == whole.bits());
}

#[test]
fn checkpoints_of_others_or_cut_short_are_refused_and_change_nothing() {
    let (train, backend, file) = (spirals(40), Backend::cpu().unwrap(), Temporary::new("refused"));
    net(1, 8, 0.).trainer(&backend).epochs(2).checkpoint(&file.0, 0).fit(&train).unwrap();
    let whole = std::fs::read(&file.0).unwrap();
    let attempt = |change: &dyn Fn(Trainer<'_>) -> Result<()>, hidden: i64, what: &str| {
        let other = net(2, hidden, 0.);
        let before = other.bits();
        refused(change(other.trainer(&backend).epochs(3).checkpoint(&file.0, 0)), what);
        assert!(other.bits() == before, "{what}");
    };
    let fit = |mut trainer: Trainer<'_>| trainer.fit(&train).map(drop);
    attempt(&fit, 9, "it is of another model: 'hidden.weight' is [2, 8] f32, the model's [2, 9] f32");
    attempt(&|trainer| fit(trainer.batch(8)), 8, "its run is 'seed 4, 40 samples in batches of 16");
    attempt(&|trainer| fit(trainer.seed(5)), 8, "the trainer's 'seed 5");
    for end in [0, 7, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&file.0, &whole[..end]).unwrap();
        attempt(&fit, 8, "cut short");
        assert_eq!(std::fs::read(&file.0).unwrap(), whole[..end]);
    }
    let other = net(1, 8, 0.);
    let tensors = other.parameters.tensors();
    tensorlib::safetensors::write(&file.0, &tensors.iter().collect::<Vec<_>>(), &[]).unwrap();
    attempt(&fit, 8, "it is none");
    std::fs::write(&file.0, &whole).unwrap();
    let net = net(1, 8, 0.);
    let optimiser = OptimiserOptions::new(Method::Sgd, 0.02).build(&net.parameters).unwrap();
    let mut trainer = Trainer::new(&backend, &net.model, optimiser, loss::cross_entropy).seed(4).batch(16).epochs(3);
    trainer = trainer.checkpoint(&file.0, 0);
    refused(trainer.fit(&train), "its optimiser is 'Adam");
    // If no checkpoint can be written, the run fails instead of continuing silently.
    let mut lost = net.trainer(&backend).checkpoint(Path::new("/nowhere/at/all.safetensors"), 0);
    assert!(matches!(lost.fit(&train), Err(Error::Io(_))));
}

#[test]
fn training_stops_early_at_the_best_parameters() {
    let (train, test) = spirals(60).split_at(40).unwrap();
    let backend = Backend::cpu().unwrap();
    let net = net(1, 16, 0.);
    let optimiser = OptimiserOptions::adamw(0.5).build(&net.parameters).unwrap(); // so large that the loss rises again
    let mut trainer = Trainer::new(&backend, &net.model, optimiser, loss::cross_entropy).seed(4).epochs(500);
    let file = Temporary::new("best");
    trainer = trainer.test(&test).patience(5).checkpoint(&file.0, 0);
    let history = trainer.fit(&train).unwrap();
    assert_eq!(history.stopped, Stopped::Early);
    // The parameters' names in the file hold the model's current values.
    let kept = safetensors::read(&Context::new(), &file.0).unwrap();
    let of = |name: &str| kept.tensors.iter().find(|t| t.name() == name).unwrap().to_vec::<f32>().unwrap();
    for parameter in net.parameters.tensors() {
        let name = parameter.name();
        assert_eq!(parameter.to_vec::<f32>().unwrap(), of(&name), "{name}");
        assert_ne!(of(&name), of(&format!("last.{name}")), "{name}");
    }
    let losses: Vec<f64> = history.epochs.iter().map(|e| e.test.unwrap().loss).collect();
    let best = history.best.unwrap();
    assert_eq!(losses.len(), best + 5);
    assert!(losses.iter().all(|loss| losses[best - 1] <= *loss));
    let scores = evaluate(&backend, &net.model, loss::cross_entropy, &test, 256).unwrap();
    assert_eq!(scores.loss, losses[best - 1]);
}

#[test]
fn callbacks_see_each_step_and_epoch() {
    let (train, backend) = (spirals(40), Backend::cpu().unwrap());
    let net = net(1, 4, 0.);
    let (mut steps, mut epochs) = (Vec::new(), Vec::new());
    let mut trainer = net.trainer(&backend).epochs(4).schedule(|step, total| 1. - step as f64 / total as f64);
    trainer = trainer.on_step(|report| {
        steps.push((report.epoch, report.step, report.rate));
        ControlFlow::Continue(())
    });
    trainer = trainer.on_epoch(|report| {
        epochs.push((report.epoch, report.epochs, report.loss));
        if report.epoch == 2 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let history = trainer.fit(&train).unwrap();
    assert_eq!(trainer.optimiser().step(), 6);
    drop(trainer);
    assert_eq!(history.stopped, Stopped::ByCallback);
    let wanted: Vec<_> = (0..6).map(|i| (i / 3 + 1, i as u64 + 1, 0.02 * (1. - i as f64 / 12.))).collect();
    assert_eq!(steps, wanted);
    assert_eq!(epochs.iter().map(|e| (e.0, e.1)).collect::<Vec<_>>(), [(1, 4), (2, 4)]);
    assert_eq!(epochs[1].2, history.epochs[1].loss);
    let csv = history.csv();
    assert_eq!(csv.lines().count(), 3);
    assert!(csv.starts_with("epoch,loss,test_loss,test_accuracy,rate\n1,"));
    let file = Temporary::new("curve.svg");
    history.write_svg(&file.0).unwrap();
    assert!(std::fs::read_to_string(&file.0).unwrap().contains("<polyline"));
    assert!(matches!(history.write_csv("/nowhere/at/all.csv"), Err(Error::Io(_))));
}

struct Broken(fn(&Tensor) -> Result<Tensor>);

impl Module for Broken {
    fn forward(&self, x: &Tensor, _: &Pass) -> Result<Tensor> {
        self.0(x)
    }
}

#[test]
fn what_the_trainer_refuses() {
    let (train, backend) = (spirals(20), Backend::cpu().unwrap());
    let net = net(1, 4, 0.);
    let before = net.bits();
    let none = train.chosen([]).unwrap();
    refused(net.trainer(&backend).fit(&none), "no samples");
    refused(net.trainer(&backend).batch(0).fit(&train), "batches of 0 samples");
    refused(net.trainer(&backend).micro_batches(0).fit(&train), "0 micro_batches");
    refused(net.trainer(&backend).schedule(|_, _| -1.).fit(&train), "-1");
    let optimiser = || OptimiserOptions::adamw(0.1).build(&net.parameters).unwrap();
    let mut trainer = Trainer::new(&backend, &net.model, optimiser(), |output, _| output.sqr());
    refused(trainer.fit(&train), "one element is valid, such as a mean");
    let apart = Broken(|x| x.sqr());
    let mut trainer = Trainer::new(&backend, &apart, optimiser(), loss::cross_entropy);
    refused(trainer.fit(&train), "flows to 4 of 4 parameters: 'hidden.weight', 'hidden.bias'");
    assert!(net.bits() == before);
    let mut trainer = Trainer::new(&backend, &net.model, optimiser(), |output, _| output.sum(..)?.neg()?.log());
    refused(trainer.fit(&train), "in step 1, epoch 1, which was not taken: a lower rate");
    let wrong = Broken(|x| x.reshape([3, -1]));
    assert!(Trainer::new(&backend, &wrong, optimiser(), loss::cross_entropy).fit(&train).is_err());
    refused(evaluate(&backend, &net.model, loss::cross_entropy, &none, 4), "no samples");
    refused(evaluate(&backend, &net.model, loss::cross_entropy, &train, 0), "batches of 0");
    let wide = DataSet::new(Column::f32([1, 1, 1, 2], vec![0.; 2]), Column::i32([], vec![0])).unwrap();
    refused(net.trainer(&backend).fit(&wide), "inputs are [1, 1, 1, 2] f32");
}

#[test]
fn data_sets_are_read_cut_and_changed() {
    let file = Temporary::new("data.csv");
    let read = |text: &str| {
        std::fs::write(&file.0, text).unwrap();
        DataSet::read_labelled(&file.0)
    };
    let data = read("# where from\nx,y,kind\n1,2,0\n\n3, 4.5 ,1\n-1,1e3,0\n").unwrap();
    assert_eq!((data.inputs(), data.labels()), (&[1., 2., 3., 4.5, -1., 1000.][..], &[0, 1, 0][..]));
    assert!(data.targets().is_empty());
    let numbers = DataSet::read_numbers(&file.0).unwrap();
    assert_eq!((numbers.targets(), numbers.labels().len()), (&[0., 1., 0.][..], 0));
    refused(read(""), "no samples");
    refused(read("1,2\n1,2,3\n"), "line 2: 3 numbers: 2 are valid");
    refused(read("1,2\n1,x\n"), "line 2: numbers between commas");
    refused(read("1,2.5\n"), "line 1: 2.5: a label");
    refused(read("7\n"), "line 1");
    assert!(matches!(DataSet::read_labelled("/nowhere/at/all.csv"), Err(Error::Io(_))));
    refused(data.split_at(4), "4 of 3 samples");
    refused(data.chosen([0, 3]), "sample 3 of 3");
    assert_eq!(data.chosen([2, 0]).unwrap().inputs(), [-1., 1000., 1., 2.]);
    refused(DataSet::new(Column::f32([2], vec![0.; 3]), Column::i32([], vec![0])), "3 numbers of inputs [2]");
    refused(
        DataSet::new(Column::f32([2], vec![0.; 4]), Column::i32([], vec![0])),
        "1 samples of targets, 2 samples of the first input: as many are valid",
    );
    refused(DataSet::new(Column::f32([0], vec![]), Column::i32([], vec![])), "a multiple");
    let shaped = data.with_input_shape([1, 2]).unwrap().map_inputs(|row| row[0] = 0.);
    assert_eq!(shaped.forms().inputs[0].shape, [1, 2]);
    assert_eq!(shaped.inputs()[2..4], [0., 4.5]);
    refused(shaped.with_input_shape([3]), "as many elements");
}

/// The root of a mean of squares: at 0 its gradient is infinity times 0.
fn rmse(prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
    prediction.sub(target)?.sqr()?.mean(..)?.sqrt()
}

#[cfg(feature = "safetensors")]
#[test]
fn a_step_with_a_gradient_that_is_no_number_is_not_taken() {
    let path = std::env::temp_dir().join(format!("tensorlib-nan-{}.safetensors", std::process::id()));
    for parts in [1, 2] {
        let parameters = Parameters::new(1);
        let model = Sequential::new().with(Linear::new(&parameters.scope("l"), 1, 1).unwrap());
        parameters.tensors().iter().for_each(|t| t.write(&[0.5f32]).unwrap());
        // The model is right from the beginning: the loss is 0.
        let data = DataSet::new(Column::f32([1], vec![0.; 4]), Column::f32([1], vec![0.5; 4])).unwrap();
        let backend = Backend::cpu().unwrap();
        let optimiser = OptimiserOptions::new(Method::Sgd, 0.1).build(&parameters).unwrap();
        let mut trainer = Trainer::new(&backend, &model, optimiser, rmse).batch(4).micro_batches(parts);
        trainer = trainer.checkpoint(&path, 1);
        let error = trainer.fit(&data).unwrap_err().to_string();
        assert!(
            error.contains("gradient of parameter 'l.") && error.contains("holds NaN in step 1, epoch 1"),
            "{error}"
        );
        assert!(parameters.tensors().iter().all(|t| t.to_vec::<f32>().unwrap() == [0.5]), "{parts}");
        assert_eq!((trainer.optimiser().step(), path.exists()), (0, false));
    }
    // A step that is too large for F32: the earlier checkpoint stays.
    let parameters = Parameters::new(1);
    let model = Sequential::new().with(Linear::new(&parameters.scope("l"), 1, 1).unwrap());
    let data = DataSet::new(Column::f32([1], vec![1e18; 4]), Column::f32([1], vec![-1.; 4])).unwrap();
    let backend = Backend::cpu().unwrap();
    let optimiser = OptimiserOptions::new(Method::Sgd, 1e20).build(&parameters).unwrap();
    let total = |p: &Tensor, y: &Tensor| p.sub(y)?.sum(..);
    let mut trainer = Trainer::new(&backend, &model, optimiser, total).batch(4).epochs(3).checkpoint(&path, 1);
    let error = trainer.fit(&data).unwrap_err().to_string();
    assert!(error.contains("parameter 'l.") && error.contains("stays as it was before"), "{error}");
    assert!(!path.exists());
}

/// Samples with two inputs of different types and three targets: two labels and a number.
struct Pairs {
    len: usize,
    /// The sample that cannot be read.
    fails_at: Option<usize>,
}

impl Samples for Pairs {
    fn len(&self) -> usize {
        self.len
    }

    fn forms(&self) -> Forms {
        Forms {
            inputs: vec![Form::i32([]), Form::f32([2])],
            targets: vec![Form::i32([]), Form::f32([1]), Form::i32([])],
        }
    }

    fn write(
        &self,
        number: usize,
        _: Option<&mut Random>,
        inputs: &mut [Slot<'_>],
        targets: &mut [Slot<'_>],
    ) -> Result<()> {
        if self.fails_at == Some(number) {
            return Err(Error::msg(format!("sample {number} cannot be read")));
        }
        let (token, x) = (number % 3, (number % 7) as f32 / 7.);
        let ([Slot::I32(tokens), Slot::F32(point)], [Slot::I32(kind), Slot::F32(sum), Slot::I32(side)]) =
            (inputs, targets)
        else {
            panic!("slots are not those of the forms");
        };
        tokens[0] = token as i32;
        point.copy_from_slice(&[x, 1. - x]);
        kind[0] = token as i32;
        sum[0] = token as f32 + x;
        side[0] = i32::from(x > 0.5);
        Ok(())
    }
}

struct Heads {
    parameters: Parameters,
    table: Embedding,
    kind: Linear,
    sum: Linear,
    side: Linear,
}

impl Heads {
    fn new(seed: u64) -> Self {
        let parameters = Parameters::new(seed);
        let head = |name: &str, n: i64| Linear::new(&parameters.scope(name), 6, n).unwrap();
        let table = Embedding::new(&parameters.scope("table"), 3, 4, 1.).unwrap();
        let (kind, sum, side) = (head("kind", 3), head("sum", 1), head("side", 2));
        Self { parameters, table, kind, sum, side }
    }

    fn forward(&self, inputs: &[Tensor], pass: &Pass) -> Result<Vec<Tensor>> {
        assert_eq!((inputs.len(), inputs[0].dtype(), inputs[1].dtype()), (2, DType::I32, DType::F32));
        let both = self.table.forward(&inputs[0], pass)?.concat(&inputs[1], 0)?;
        [&self.kind, &self.sum, &self.side].iter().map(|head| head.forward(&both, pass)).collect()
    }

    fn loss(outputs: &[Tensor], targets: &[Tensor]) -> Result<Tensor> {
        let labels = |i: usize| loss::cross_entropy(&outputs[i], &targets[i]);
        labels(0)?.add(&loss::mse(&outputs[1], &targets[1])?)?.add(&labels(2)?)
    }

    fn trainer<'a>(&'a self, cpu: &'a Backend) -> Trainer<'a> {
        let optimiser = OptimiserOptions::adamw(0.05).build(&self.parameters).unwrap();
        Trainer::from_fn(cpu, |inputs, pass| self.forward(inputs, pass), optimiser, Self::loss).batch(8)
    }
}

#[test]
fn a_network_of_two_inputs_and_three_outputs_learns() {
    let cpu = Backend::cpu().unwrap();
    let samples = Pairs { len: 42, fails_at: None };
    let train = |parts: usize| {
        let heads = Heads::new(3);
        let history = heads.trainer(&cpu).epochs(60).micro_batches(parts).test(&samples).fit(&samples).unwrap();
        let last = history.epochs.last().unwrap().test.unwrap();
        // The trainer's scores equal those of the function, whatever the batch size.
        let forward = |inputs: &[Tensor], pass: &Pass| heads.forward(inputs, pass);
        let scores = evaluate_fn(&cpu, forward, Heads::loss, &samples, 5).unwrap();
        assert!((scores.loss - last.loss).abs() < 1e-5, "{scores:?}, {last:?}");
        assert_eq!(scores.accuracy, Some(1.), "all 84 labels of both targets");
        let outputs = predict_fn(&cpu, forward, &samples, 5).unwrap();
        assert_eq!(outputs.iter().map(Vec::len).collect::<Vec<_>>(), [3 * 42, 42, 2 * 42]);
        for (i, sum) in outputs[1].iter().enumerate() {
            let wanted = (i % 3) as f32 + (i % 7) as f32 / 7.;
            assert!((sum - wanted).abs() < 0.1, "{i}: {sum}, {wanted}");
        }
        history.epochs[0].loss
    };
    let (whole, in_parts) = (train(1), train(3));
    assert!((whole - in_parts).abs() < 1e-5, "{whole} {in_parts}");
}

#[test]
fn a_label_counts_for_its_own_output() {
    let cpu = Backend::cpu().unwrap();
    // The first output is right for both samples, the second for one of them.
    let samples = DataSet::from_columns(
        vec![Column::f32([2], vec![1., 0., 0., 1.])],
        vec![Column::i32([], vec![0, 1]), Column::i32([], vec![0, 0])],
    )
    .unwrap();
    let twice = |inputs: &[Tensor], _: &Pass| Ok(vec![inputs[0].clone(), inputs[0].clone()]);
    let both = |outputs: &[Tensor], targets: &[Tensor]| {
        loss::cross_entropy(&outputs[0], &targets[0])?.add(&loss::cross_entropy(&outputs[1], &targets[1])?)
    };
    assert_eq!(evaluate_fn(&cpu, twice, both, &samples, 2).unwrap().accuracy, Some(0.75));
}

#[test]
fn samples_without_targets_train_an_autoencoder() {
    let cpu = Backend::cpu().unwrap();
    let samples = DataSet::from_columns(vec![Column::f32([3], vec![0.5; 24])], vec![]).unwrap();
    assert_eq!((samples.targets(), samples.labels()), (&[][..], &[][..]));
    let parameters = Parameters::new(1);
    let layer = Linear::new(&parameters, 3, 3).unwrap();
    let optimiser = OptimiserOptions::adamw(0.05).build(&parameters).unwrap();
    let network = |inputs: &[Tensor], pass: &Pass| Ok(vec![layer.forward(&inputs[0], pass)?, inputs[0].clone()]);
    let loss = |outputs: &[Tensor], targets: &[Tensor]| {
        assert!(targets.is_empty());
        loss::mse(&outputs[0], &outputs[1])
    };
    let history = Trainer::from_fn(&cpu, network, optimiser, loss).epochs(80).batch(8).fit(&samples).unwrap();
    assert!(history.epochs.last().unwrap().loss < 0.01, "{history:?}");
}

#[test]
fn bad_networks_and_samples_of_several_inputs_are_refused() {
    let cpu = Backend::cpu().unwrap();
    let samples = Pairs { len: 20, fails_at: None };
    let n = net(1, 4, 0.);
    refused(n.trainer(&cpu).fit(&samples), "samples of 2 inputs, of which a module reads one: Trainer::from_fn");
    refused(predict(&cpu, &n.model, &samples, 4), "samples of 2 inputs");
    let two_targets =
        DataSet::from_columns(vec![Column::f32([2], vec![0.; 8])], vec![Column::i32([], vec![0; 4]); 2]).unwrap();
    refused(n.trainer(&cpu).fit(&two_targets), "samples of 2 targets, of which this loss reads one");
    assert_eq!(predict(&cpu, &n.model, &two_targets, 4).unwrap().len(), 8, "targets are not read");

    let heads = Heads::new(1);
    let optimiser = || OptimiserOptions::adamw(0.05).build(&heads.parameters).unwrap();
    let none = Trainer::from_fn(&cpu, |_, _| Ok(vec![]), optimiser(), Heads::loss).fit(&samples);
    refused(none, "the network has no outputs: at least one is valid");
    let own = Trainer::from_fn(&cpu, |_, _| Err(Error::msg("my own error")), optimiser(), Heads::loss).fit(&samples);
    refused(own, "my own error");

    refused(heads.trainer(&cpu).fit(&Pairs { len: 20, fails_at: Some(7) }), "sample 7 cannot be read");
    let forward = |inputs: &[Tensor], pass: &Pass| heads.forward(inputs, pass);
    refused(evaluate_fn(&cpu, forward, Heads::loss, &Pairs { len: 8, fails_at: Some(7) }, 3), "sample 7");

    refused(
        DataSet::from_columns(vec![], vec![Column::i32([], vec![1])]),
        "no columns of inputs: at least one is valid",
    );
    let uneven = vec![Column::f32([2], vec![0.; 8]), Column::f32([2], vec![0.; 6])];
    refused(
        DataSet::from_columns(uneven, vec![]),
        "3 samples of inputs, 4 samples of the first input: as many are valid",
    );
}

struct NoInputs;

impl Samples for NoInputs {
    fn len(&self) -> usize {
        4
    }

    fn forms(&self) -> Forms {
        Forms { inputs: vec![], targets: vec![Form::i32([])] }
    }

    fn write(&self, _: usize, _: Option<&mut Random>, _: &mut [Slot<'_>], _: &mut [Slot<'_>]) -> Result<()> {
        Ok(())
    }
}

#[test]
fn samples_without_inputs_are_refused() {
    let cpu = Backend::cpu().unwrap();
    let heads = Heads::new(1);
    refused(heads.trainer(&cpu).fit(&NoInputs), "Samples: no inputs: at least one is valid");
    assert_eq!(Form::f32([i64::MAX, 4]).n_elements(), 0, "more than memory can have");
    assert_eq!((Form::f32([]).n_elements(), Form::f32([3, -1]).n_elements()), (1, 0));
}
