//! The data loader: the same batches whatever the number of workers, and what ends an epoch.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tensorlib::nn::{loss, Linear, Module, Parameters, Pass};
use tensorlib::train::{
    Column, DataLoader, DataSet, Form, Forms, OptimiserOptions, Random, Report, Samples, Slot, Trainer,
};
use tensorlib::{Backend, Context, Error, Result, Tensor};

/// Samples whose two inputs are their number, and whose target is its negative. Reading waits, so that workers overtake
/// each other, and fails for one sample.
struct Numbers {
    n: usize,
    fails: Option<usize>,
    panics: bool,
    reads: AtomicUsize,
}

impl Numbers {
    fn new(n: usize) -> Self {
        Self { n, fails: None, panics: false, reads: AtomicUsize::new(0) }
    }
}

impl Samples for Numbers {
    fn len(&self) -> usize {
        self.n
    }

    fn forms(&self) -> Forms {
        Forms { inputs: vec![Form::f32([2]), Form::i32([])], targets: vec![Form::f32([1])] }
    }

    fn write(
        &self,
        number: usize,
        random: Option<&mut Random>,
        inputs: &mut [Slot<'_>],
        targets: &mut [Slot<'_>],
    ) -> Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.fails == Some(number) {
            assert!(!self.panics, "sample {number} panics");
            return Err(Error::msg(format!("sample {number} cannot be read")));
        }
        std::thread::sleep(Duration::from_micros((number as u64 * 37) % 101));
        if let ([Slot::F32(pair), Slot::I32(count)], [Slot::F32(target)]) = (inputs, targets) {
            pair.fill(number as f32);
            pair[1] += random.map_or(0., |random| random.uniform() as f32 / 2.);
            count[0] = number as i32;
            target[0] = -(number as f32);
        }
        Ok(())
    }
}

/// The numbers of all batches of an epoch, and the values of their leafs.
type Contents = Vec<(Vec<usize>, Vec<f32>, Vec<i32>, Vec<f32>)>;

fn contents<S: Samples + Send + Sync + 'static>(loader: &DataLoader<S>, epoch: usize) -> Contents {
    let ctx = Context::new();
    let batches = loader.epoch(epoch).unwrap().map(|batch| {
        let batch = batch.unwrap();
        let (inputs, targets) = batch.leafs(&ctx).unwrap();
        assert_eq!(inputs[0].shape(), [2, batch.len() as i64]);
        assert_eq!((inputs[1].shape(), targets[0].shape()), (vec![batch.len() as i64], vec![1, batch.len() as i64]));
        let floats = inputs[0].to_vec::<f32>().unwrap();
        (batch.numbers().to_vec(), floats, inputs[1].to_vec().unwrap(), targets[0].to_vec().unwrap())
    });
    batches.collect()
}

/// Changes an input at random, and the target.
fn changed(inputs: &mut [Slot], targets: &mut [Slot], random: &mut Random) -> Result<()> {
    if let ([Slot::F32(pair), _], [Slot::F32(target)]) = (inputs, targets) {
        pair[0] += random.uniform() as f32 / 2.;
        target[0] *= 2.;
    }
    Ok(())
}

#[test]
fn batches_do_not_depend_on_workers() {
    let samples = Arc::new(Numbers::new(53));
    let loader = DataLoader::new(samples.clone(), 5).seed(3).augment(changed);
    let alone: Vec<Contents> = (0..2).map(|epoch| contents(&loader, epoch)).collect();
    for (workers, prefetch) in [(1, 1), (2, 1), (3, 2), (20, 4)] {
        let loader = loader.clone().workers(workers).prefetch(prefetch);
        for (epoch, wanted) in alone.iter().enumerate() {
            assert!(contents(&loader, epoch) == *wanted, "{workers} workers, epoch {epoch}");
        }
    }
    // The order and the changes do not depend on the size of batches either.
    let flat = |contents: Contents| -> Vec<f32> { contents.into_iter().flat_map(|batch| batch.1).collect() };
    let larger = DataLoader::new(samples, 9).seed(3).augment(changed);
    assert!(flat(contents(&larger, 1)) == flat(alone[1].clone()));
    // Each epoch has all samples, once, in another order and with other changes; another seed has another order.
    let order = |contents: &Contents| contents.iter().flat_map(|batch| batch.0.clone()).collect::<Vec<_>>();
    for epoch in &alone {
        assert_eq!(epoch.iter().map(|batch| batch.0.len()).collect::<Vec<_>>(), [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 3]);
        assert!(order(epoch).into_iter().collect::<BTreeSet<_>>() == (0..53).collect());
        for (numbers, floats, integers, targets) in epoch {
            for (i, number) in numbers.iter().enumerate() {
                let sample = *number as f32;
                assert_eq!((integers[i], targets[i]), (*number as i32, -2. * sample));
                for x in &floats[2 * i..2 * i + 2] {
                    assert!((sample..=sample + 0.5).contains(x), "{x} of sample {number}");
                }
            }
        }
    }
    assert_ne!(order(&alone[0]), order(&alone[1]));
    assert_ne!(order(&contents(&loader.clone().seed(4), 0)), order(&alone[0]));
    let change = |epoch: &Contents| epoch.iter().flat_map(|batch| batch.1.clone()).map(f32::fract).sum::<f32>();
    assert_ne!(change(&alone[0]), change(&alone[1]));
}

#[test]
fn evaluation_neither_shuffles_nor_changes() {
    let loader = DataLoader::new(Numbers::new(7), 3)
        .evaluation()
        .workers(2)
        .augment(|_, _, _| Err(Error::msg("not in evaluation")));
    let batches = contents(&loader, 5);
    assert_eq!(batches[0], (vec![0, 1, 2], vec![0., 0., 1., 1., 2., 2.], vec![0, 1, 2], vec![-0., -1., -2.]));
    assert_eq!((batches.len(), loader.len(), loader.samples().len()), (3, 3, 7));
    let loader = loader.drop_last();
    assert_eq!((contents(&loader, 0).len(), loader.len(), loader.is_empty()), (2, 2, false));
}

/// Workers are ahead by as many batches as was said, and end when the iterator is dropped.
#[test]
fn workers_are_ahead_and_end() {
    let samples = Arc::new(Numbers::new(1000));
    let loader = DataLoader::new(samples.clone(), 10).workers(2).prefetch(3);
    let mut batches = loader.epoch(0).unwrap();
    batches.next().unwrap().unwrap();
    let begin = Instant::now();
    while samples.reads.load(Ordering::Relaxed) < 70 {
        assert!(begin.elapsed() < Duration::from_secs(60), "workers are not ahead");
        std::thread::yield_now();
    }
    // They have no more to do now; the sleep only gives a mistake the time to show.
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(samples.reads.load(Ordering::Relaxed), 70);
    assert_eq!(batches.size_hint(), (0, Some(99)));
    drop(batches);
    drop(loader);
    assert_eq!(Arc::strong_count(&samples), 1);
}

/// The error of a sample is that of its batch, after the batches before it, and ends the epoch.
#[test]
fn an_error_ends_the_epoch() {
    for workers in [0, 1, 4] {
        let samples = Numbers { fails: Some(23), ..Numbers::new(50) };
        let loader = DataLoader::new(samples, 5).evaluation().workers(workers);
        let results: Vec<_> = loader.epoch(0).unwrap().collect();
        assert_eq!(results.len(), 5, "{workers} workers");
        assert!(results[..4].iter().all(Result::is_ok));
        assert_eq!(results[4].as_ref().unwrap_err().to_string(), "sample 23 cannot be read");
        let loader = DataLoader::new(Numbers::new(50), 5).workers(workers).augment(|_, _, _| Err(Error::msg("no")));
        assert_eq!(loader.epoch(0).unwrap().map(|batch| batch.unwrap_err().to_string()).collect::<Vec<_>>(), ["no"]);
    }
}

/// A panic of a sample reaches the thread that takes its batch, which would otherwise wait for ever.
#[test]
fn a_panic_is_passed_on() {
    let samples = Numbers { fails: Some(7), panics: true, ..Numbers::new(50) };
    let loader = DataLoader::new(samples, 5).evaluation().workers(2);
    let mut batches = loader.epoch(0).unwrap();
    assert!(batches.next().unwrap().is_ok());
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| batches.next())).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "sample 7 panics");
}

#[test]
fn batches_are_written_into_leafs() {
    let samples = DataSet::new(Column::f32([2], (0..20).map(|i| i as f32).collect()), Column::i32([], vec![1; 10]));
    let loader = DataLoader::new(samples.unwrap(), 4).evaluation();
    let batches: Vec<_> = loader.epoch(0).unwrap().map(Result::unwrap).collect();
    let (inputs, targets) = batches[0].leafs(&Context::new()).unwrap();
    batches[1].write(&inputs, &targets).unwrap();
    assert_eq!(inputs[0].to_vec::<f32>().unwrap(), [8., 9., 10., 11., 12., 13., 14., 15.]);
    refused(batches[2].write(&inputs, &targets), "Batch::write: a leaf for inputs is [2, 4] f32: [2, 2] f32 is valid");
    refused(batches[1].write(&targets, &inputs), "a leaf for inputs is [4] i32: [2, 4] f32 is valid");
    refused(batches[1].write(&inputs, &[]), "Batch::write: 0 leafs for targets: 1 are valid");
    assert!(!batches[0].is_empty());
}

#[test]
fn settings_out_of_their_range_are_refused() {
    let loader = DataLoader::new(Numbers::new(7), 0);
    refused(loader.epoch(0), "DataLoader: 7 samples in batches of 0, prefetch 2: a whole batch, and 1 or more of each");
    refused(DataLoader::new(Numbers::new(0), 3).epoch(0), "DataLoader: 0 samples in batches of 3");
    refused(DataLoader::new(Numbers::new(2), 3).drop_last().epoch(0), "DataLoader: 2 samples in batches of 3");
    refused(DataLoader::new(Numbers::new(2), 3).prefetch(0).epoch(0), "prefetch 0");
    assert_eq!((loader.len(), DataLoader::new(Numbers::new(2), 0).drop_last().len()), (0, 0));
}

/// A network learns the same bits whatever the number of workers, also in parts, when it stops, and after an error.
#[test]
fn a_trainer_reads_ahead() {
    let cpu = Backend::cpu().unwrap();
    let network = |p: &Parameters| Linear::new(p, 2, 1).unwrap();
    let by_first = |outputs: &[Tensor], targets: &[Tensor]| loss::mse(&outputs[0], &targets[0]);
    let fit = |workers: usize, parts: usize, stops: u64, samples: &Numbers| {
        let p = Parameters::new(1);
        let layer = network(&p);
        let forward = |inputs: &[Tensor], pass: &Pass| Ok(vec![layer.forward(&inputs[0], pass)?]);
        let optimiser = OptimiserOptions::adamw(0.01).build(&p).unwrap();
        let trainer = Trainer::from_fn(&cpu, forward, optimiser, by_first);
        let stop =
            |report: &Report| if report.step == stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let mut trainer = trainer.epochs(2).batch(5).seed(3).micro_batches(parts).workers(workers).on_step(stop);
        let history = trainer.fit(samples).map_err(|error| error.to_string());
        let bits: Vec<Vec<f32>> = p.tensors().iter().map(|t| t.to_vec().unwrap()).collect();
        (history, bits)
    };
    let whole = fit(0, 1, 0, &Numbers::new(53));
    assert_eq!(whole.0.as_ref().unwrap().epochs.len(), 2);
    let in_parts = fit(0, 2, 0, &Numbers::new(53));
    let stopped = fit(0, 1, 14, &Numbers::new(53));
    assert!(whole.1 != in_parts.1 && whole.1 != stopped.1);
    let fails = Numbers { fails: Some(23), ..Numbers::new(53) };
    let failed = fit(0, 2, 0, &fails);
    assert_eq!(failed.0.as_ref().unwrap_err(), "sample 23 cannot be read");
    for workers in [1, 3, 40] {
        assert!(fit(workers, 1, 0, &Numbers::new(53)) == whole, "{workers} workers");
        assert!(fit(workers, 2, 0, &Numbers::new(53)) == in_parts, "{workers} workers, 2 parts");
        assert!(fit(workers, 1, 14, &Numbers::new(53)) == stopped, "{workers} workers, stopped");
        assert!(fit(workers, 2, 0, &fails) == failed, "{workers} workers, failed");
    }
}

fn refused<T>(result: Result<T>, what: &str) {
    match result {
        Ok(_) => panic!("taken: {what}"),
        Err(error @ Error::InvalidArgument(_)) => assert!(error.to_string().contains(what), "{error}"),
        Err(error) => panic!("{error:?} for {what}"),
    }
}
