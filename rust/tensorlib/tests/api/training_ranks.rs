//! Training on the ranks of a group: the losses of one rank, checkpoints, and ranks that differ or fail.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tensorlib::nn::{loss, BatchNorm, Linear, Parameters, Sequential};
use tensorlib::train::{Column, DataSet, Forms, History, OptimiserOptions, Random, Samples, Slot, Stopped, Trainer};
use tensorlib::{Backend, Error, Failure, Group, GroupOptions, Result, Tensor};

/// Calls f(group) on a thread for each of n ranks.
fn on_ranks<T: Send>(n: usize, f: impl Fn(Group) -> T + Sync) -> Vec<T> {
    let groups = GroupOptions::new().timeout(std::time::Duration::from_secs(60)).local(n).unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> = groups.into_iter().map(|group| scope.spawn(|| f(group))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn samples(n: usize) -> DataSet {
    let mut random = Random::new(9, 0);
    let points: Vec<f32> = (0..2 * n).map(|_| random.uniform() as f32 * 2. - 1.).collect();
    let labels = points.chunks(2).map(|p| i32::from(p[0] * p[1] > 0.)).collect();
    DataSet::new(Column::f32([2], points), Column::i32([], labels)).unwrap()
}

struct Net {
    parameters: Parameters,
    model: Sequential,
    backend: Backend,
}

/// Without random operations, whose numbers differ between ranks.
fn net(seed: u64, normalised: bool) -> Net {
    let parameters = Parameters::new(seed);
    let mut model = Sequential::new().with(Linear::new(&parameters.scope("hidden"), 2, 16).unwrap());
    if normalised {
        model = model.with(BatchNorm::new(&parameters.scope("norm"), 16).unwrap());
    }
    let model = model.with(Tensor::tanh).with(Linear::new(&parameters.scope("output"), 16, 2).unwrap());
    Net { parameters, model, backend: Backend::cpu().unwrap() }
}

impl Net {
    fn trainer(&self) -> Trainer<'_> {
        let optimiser = OptimiserOptions::adamw(0.02).decay(0.01).clip_norm(1.).build(&self.parameters).unwrap();
        Trainer::new(&self.backend, &self.model, optimiser, loss::cross_entropy).seed(4).batch(16).epochs(4)
    }

    fn bits(&self) -> Vec<u32> {
        let buffers = self.parameters.buffers();
        let all = self.parameters.tensors().into_iter().chain(buffers);
        all.flat_map(|t| t.to_f32_vec().unwrap()).map(f32::to_bits).collect()
    }
}

fn fit(mut trainer: Trainer<'_>, samples: &(dyn Samples + Sync)) -> Result<History> {
    trainer.fit(samples)
}

fn assert_close(history: &History, wanted: &History) {
    assert_eq!(history.epochs.len(), wanted.epochs.len());
    for (epoch, wanted) in history.epochs.iter().zip(&wanted.epochs) {
        assert!((epoch.loss - wanted.loss).abs() < 1e-6, "{epoch:?}, {wanted:?}");
        if let (Some(test), Some(wanted)) = (epoch.test, wanted.test) {
            assert!((test.loss - wanted.loss).abs() < 1e-6 && test.accuracy == wanted.accuracy, "{test:?}, {wanted:?}");
        }
    }
}

/// The last batch of an epoch has one sample, so all but one rank have none.
#[test]
fn any_number_of_ranks_has_the_losses_of_one() {
    let (train, test) = samples(16 * 8 + 1 + 53).split_at(16 * 8 + 1).unwrap();
    let alone = net(1, false);
    let wanted = alone.trainer().test(&test).fit(&train).unwrap();
    for n in [1, 2, 3, 4] {
        for (parts, workers) in [(1, 0), (2, 0), (3, 2)] {
            let all = on_ranks(n, |group| {
                // The parameters are those of rank 0.
                let net = net(1 + group.rank() as u64, false);
                let trainer = net.trainer().test(&test).micro_batches(parts).workers(workers).group(&group);
                let history = fit(trainer, &train).unwrap();
                (history, net.bits())
            });
            for (history, bits) in &all {
                assert_close(history, &wanted);
                assert!(*history == all[0].0 && *bits == all[0].1, "{n} ranks differ");
            }
        }
    }
}

#[test]
fn buffers_are_averages_over_the_ranks() {
    let train = samples(128);
    let all = on_ranks(3, |group| {
        let net = net(1, true);
        net.trainer().group(&group).fit(&train).unwrap();
        net.bits()
    });
    assert!(all[0] == all[1] && all[0] == all[2]);
    // Each rank normalises by its own samples, so the statistics are near those of one rank, and not equal.
    let alone = net(1, true);
    alone.trainer().fit(&train).unwrap();
    let means = |bits: &[u32]| bits[bits.len() - 32..].iter().map(|b| f32::from_bits(*b)).collect::<Vec<f32>>();
    for (ours, theirs) in means(&all[0]).iter().zip(means(&alone.bits())) {
        assert!((ours - theirs).abs() < 0.3 * (1. + theirs.abs()), "{ours}, {theirs}");
    }
}

struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("tensorlib-ranks-{}-{name}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Only rank 0 sees the file, as on two machines. The run is stopped in the middle of an epoch, after the best epoch.
#[test]
fn rank_0_keeps_the_checkpoint_from_which_all_ranks_go_on() {
    let (train, test) = samples(200).split_at(140).unwrap();
    let file = Temporary::new("resumed");
    let run = |stop_at: u64, path: Option<&Path>| {
        on_ranks(2, |group| {
            let net = net(3, false);
            let mut trainer = net.trainer().epochs(6).test(&test).patience(3).group(&group);
            if let Some(path) = path {
                let nowhere = Path::new("/nowhere/at/all.safetensors");
                trainer = trainer.checkpoint(if group.rank() == 0 { path } else { nowhere }, 4);
            }
            trainer = trainer.on_step(move |report| match report.step >= stop_at {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            });
            let history = trainer.fit(&train).unwrap();
            (history, net.bits())
        })
    };
    let whole = run(u64::MAX, None);
    let stopped = run(30, Some(&file.0));
    assert!(stopped.iter().all(|(history, _)| history.stopped == Stopped::ByCallback));
    let resumed = run(u64::MAX, Some(&file.0));
    for ((history, bits), (wanted, wanted_bits)) in resumed.iter().zip(&whole) {
        assert_eq!(history, wanted);
        assert!(bits == wanted_bits);
    }
}

#[test]
fn a_callback_of_one_rank_ends_all() {
    let train = samples(64);
    let all = on_ranks(3, |group| {
        let (net, rank) = (net(1, false), group.rank());
        let stop = |now: bool| if now { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let by_step = net.trainer().group(&group).on_step(move |report| stop(rank == 1 && report.step == 3));
        let steps = fit(by_step, &train).unwrap();
        let by_epoch = net.trainer().group(&group).on_epoch(move |report| stop(rank == 2 && report.epoch == 2));
        let epochs = fit(by_epoch, &train).unwrap();
        (steps, epochs)
    });
    for (steps, epochs) in &all {
        assert_eq!((steps.stopped, steps.epochs.len()), (Stopped::ByCallback, 0));
        assert_eq!((epochs.stopped, epochs.epochs.len()), (Stopped::ByCallback, 2));
    }
}

#[test]
fn ranks_with_other_settings_are_refused_on_all() {
    let train = samples(64);
    let change: [fn(Trainer<'_>) -> Trainer<'_>; 5] = [
        |trainer| trainer.batch(8),
        |trainer| trainer.epochs(5),
        |trainer| trainer.seed(5),
        |trainer| trainer.patience(1),
        |trainer| trainer.on_step(|_| ControlFlow::Continue(())),
    ];
    for change in change {
        let all = on_ranks(3, |group| {
            let net = net(1, false);
            let trainer = net.trainer().group(&group);
            let changed = if group.rank() == 1 { change(trainer) } else { trainer };
            let refused = fit(changed, &train).unwrap_err();
            // The group lives on.
            net.trainer().group(&group).epochs(1).fit(&train).unwrap();
            refused
        });
        for (rank, error) in all.iter().enumerate() {
            let text = error.to_string();
            assert!(
                matches!(error, Error::InvalidArgument(_)) && text.contains("the ranks of the group differ"),
                "{text}"
            );
            assert!(
                text.contains(if rank == 1 { "rank 1 has 64 samples" } else { "1 of 3 ranks have other ones" }),
                "{text}"
            );
        }
    }
    let all = on_ranks(2, |group| {
        let samples = if group.rank() == 0 { samples(64) } else { samples(65) };
        net(1, false).trainer().group(&group).fit(&samples).map(drop)
    });
    assert!(all.iter().all(|error| error.as_ref().unwrap_err().to_string().contains("64 samples")));
}

/// Samples one of which cannot be read.
struct Damaged(DataSet, usize);

impl Samples for Damaged {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn forms(&self) -> Forms {
        self.0.forms()
    }
    fn write(
        &self,
        number: usize,
        random: Option<&mut Random>,
        inputs: &mut [Slot<'_>],
        targets: &mut [Slot<'_>],
    ) -> Result<()> {
        if number == self.1 {
            let failure =
                Failure { op: "read".into(), shapes: Vec::new(), message: format!("sample {number} is gone") };
            return Err(Error::InvalidArgument(failure));
        }
        self.0.write(number, random, inputs, targets)
    }
}

#[test]
fn a_rank_that_fails_is_an_error_on_all_at_once() {
    let begin = std::time::Instant::now();
    let train = Damaged(samples(64), 17);
    let in_training = on_ranks(2, |group| {
        let net = net(1, false);
        let error = net.trainer().group(&group).fit(&train).unwrap_err().to_string();
        // The group lives on, and so do the parameters.
        net.trainer().group(&group).epochs(1).fit(&train.0).unwrap();
        error
    });
    assert_eq!(in_training.iter().filter(|error| error.contains("sample 17 is gone")).count(), 1, "{in_training:?}");
    assert!(in_training.iter().any(|error| error.contains("1 other ranks have failed")), "{in_training:?}");
    let in_test = on_ranks(2, |group| {
        let net = net(1, false);
        fit(net.trainer().group(&group).test(&train), &train.0).unwrap_err().to_string()
    });
    assert_eq!(in_test.iter().filter(|error| error.contains("sample 17 is gone")).count(), 1, "{in_test:?}");
    // A checkpoint that only rank 0 has, and cannot read.
    let file = Temporary::new("damaged");
    std::fs::write(&file.0, "nothing").unwrap();
    let in_checkpoint = on_ranks(2, |group| {
        let net = net(1, false);
        let path = if group.rank() == 0 { file.0.as_path() } else { Path::new("/nowhere") };
        let trainer = net.trainer().group(&group).checkpoint(path, 0);
        fit(trainer, &train.0).unwrap_err().to_string()
    });
    assert!(
        in_checkpoint[0].contains("damaged") && in_checkpoint[1].contains("rank 0 cannot read"),
        "{in_checkpoint:?}"
    );
    assert!(begin.elapsed().as_secs() < 40, "they waited for the deadline");
}
