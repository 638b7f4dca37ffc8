//! The training loop: epochs of batches, evaluation and early stopping.

use super::batch::{Assembled, GraphOptions, Training};
use super::buffer::shuffled;
use super::evaluate::Evaluator;
use super::network::{forward_of, loss_of, Forward, Loss};
use super::queue::Queue;
use super::ranks::{Exchange, Ranks};
use super::state::{bytes_of, Best, State};
use super::{Accumulator, Epoch, History, Optimiser, Samples, Scores, Stopped};
use crate::nn::{invalid, Module, Pass};
use crate::{Backend, Context, DType, Graph, Result, ScaleOptions, Tensor};
use std::fmt;
use std::ops::ControlFlow;
#[cfg(feature = "safetensors")]
use std::path::PathBuf;

/// The arguments of a callback.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Counts from 1.
    pub epoch: usize,
    /// The number of epochs that the trainer runs.
    pub epochs: usize,
    /// The number of steps taken.
    pub step: u64,
    /// The last step's loss; after an epoch, the mean over its steps.
    pub loss: f64,
    /// The scores on the test samples, after an epoch.
    pub test: Option<Scores>,
    /// The learning rate of the last step.
    pub rate: f64,
}

type Callback<'a> = Box<dyn FnMut(&Report) -> ControlFlow<()> + Send + 'a>;
type Factor<'a> = Box<dyn Fn(u64, u64) -> f64 + Send + 'a>;
type BoxedForward<'a> = Box<dyn Fn(&[Tensor], &Pass) -> Result<Vec<Tensor>> + Send + 'a>;
type BoxedLoss<'a> = Box<dyn Fn(&[Tensor], &[Tensor]) -> Result<Tensor> + Send + 'a>;

/// Trains a model with [`Trainer::fit`]. The defaults: one epoch, batches of 32 samples, seed 0, a constant rate.
///
/// A trainer can move to another thread, so its model and test samples are `Sync` and its closures `Send`.
pub struct Trainer<'a> {
    backend: &'a Backend,
    forward: BoxedForward<'a>,
    optimiser: Optimiser,
    loss: BoxedLoss<'a>,
    epochs: usize,
    batch: usize,
    micro_batches: usize,
    workers: usize,
    graphs: GraphOptions,
    group: Option<crate::Group>,
    seed: u64,
    schedule: Factor<'a>,
    test: Option<&'a (dyn Samples + Sync)>,
    patience: Option<usize>,
    on_step: Option<Callback<'a>>,
    on_epoch: Option<Callback<'a>>,
    #[cfg(feature = "progress")]
    progress: bool,
    #[cfg(feature = "safetensors")]
    checkpoint: Option<(PathBuf, u64)>,
}

impl fmt::Debug for Trainer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backend, optimiser, epochs, batch, micro_batches, seed, patience, .. } = self;
        let mut all = f.debug_struct("Trainer");
        all.field("backend", backend).field("optimiser", optimiser).field("epochs", epochs).field("batch", batch);
        all.field("micro_batches", micro_batches).field("seed", seed).field("patience", patience);
        all.finish_non_exhaustive()
    }
}

impl<'a> Trainer<'a> {
    /// Trains a model whose parameters belong to the optimiser. The loss is a function of the model's output and the
    /// target: one of [`nn::loss`](crate::nn::loss), or a closure.
    pub fn new(
        backend: &'a Backend,
        model: &'a (dyn Module + Sync),
        optimiser: Optimiser,
        loss: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + 'a,
    ) -> Self {
        Self::from_fn(backend, move |inputs, pass| forward_of(model, inputs, pass), optimiser, loss_of(loss))
    }

    /// Trains a network with any number of inputs and outputs. `network` gets a tensor for each input of the samples,
    /// and the loss gets a tensor for each of the network's outputs and for each target of the samples, in the order of
    /// [`Forms`](super::Forms). A tensor of samples has the shape of its form, with the samples of the batch as the
    /// last dimension. Both closures are called once per batch size and build the nodes of its graph.
    ///
    /// A network that maps two numbers to two rows, a sum and a label; the loss is the sum of the losses of both heads:
    ///
    /// ```
    /// use tensorlib::nn::{loss, Linear, Module, Parameters};
    /// use tensorlib::train::{evaluate_fn, Column, DataSet, OptimiserOptions, Trainer};
    /// use tensorlib::Backend;
    ///
    /// let numbers = |seed: usize| (0..192).map(|i| ((i * seed) % 17) as f32 / 17.).collect::<Vec<_>>();
    /// let (left, right) = (numbers(3), numbers(5));
    /// let sums: Vec<f32> = left.chunks(3).zip(right.chunks(3)).map(|(a, b)| a[0] + b[0]).collect();
    /// let labels = sums.iter().map(|sum| i32::from(*sum > 1.)).collect();
    /// let samples = DataSet::from_columns(
    ///     vec![Column::f32([3], left), Column::f32([3], right)],
    ///     vec![Column::f32([1], sums), Column::i32([], labels)],
    /// )?;
    ///
    /// let parameters = Parameters::new(1);
    /// let number = Linear::new(&parameters.scope("number"), 6, 1)?;
    /// let label = Linear::new(&parameters.scope("label"), 6, 2)?;
    /// let network = |inputs: &[tensorlib::Tensor], pass: &tensorlib::nn::Pass| {
    ///     let both = inputs[0].concat(&inputs[1], 0)?;
    ///     Ok(vec![number.forward(&both, pass)?, label.forward(&both, pass)?])
    /// };
    /// let loss = |outputs: &[tensorlib::Tensor], targets: &[tensorlib::Tensor]| {
    ///     let numbers = loss::mse(&outputs[0], &targets[0])?;
    ///     numbers.add(&loss::cross_entropy(&outputs[1], &targets[1])?)
    /// };
    /// let cpu = Backend::cpu()?;
    /// let optimiser = OptimiserOptions::adamw(0.05).build(&parameters)?;
    /// Trainer::from_fn(&cpu, network, optimiser, loss).epochs(40).batch(8).fit(&samples)?;
    /// let scores = evaluate_fn(&cpu, network, loss, &samples, 64)?;
    /// assert!(scores.accuracy > Some(0.9), "{scores:?}");
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    pub fn from_fn(
        backend: &'a Backend,
        network: impl Fn(&[Tensor], &Pass) -> Result<Vec<Tensor>> + Send + 'a,
        optimiser: Optimiser,
        loss: impl Fn(&[Tensor], &[Tensor]) -> Result<Tensor> + Send + 'a,
    ) -> Self {
        Self {
            backend,
            forward: Box::new(network),
            optimiser,
            loss: Box::new(loss),
            epochs: 1,
            batch: 32,
            micro_batches: 1,
            workers: 0,
            graphs: GraphOptions::default(),
            group: None,
            seed: 0,
            schedule: Box::new(|step, _| super::schedule::constant(step)),
            test: None,
            patience: None,
            on_step: None,
            on_epoch: None,
            #[cfg(feature = "progress")]
            progress: false,
            #[cfg(feature = "safetensors")]
            checkpoint: None,
        }
    }

    /// The number of passes over the samples.
    #[must_use]
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.epochs = epochs;
        self
    }

    /// The number of samples per step; the last step of an epoch takes the rest.
    #[must_use]
    pub fn batch(mut self, samples: usize) -> Self {
        self.batch = samples;
        self
    }

    /// Computes a batch in `parts` parts and adds up their gradients, so that memory for one part is enough.
    #[must_use]
    pub fn micro_batches(mut self, parts: usize) -> Self {
        self.micro_batches = parts;
        self
    }

    /// Trains on all ranks of a group together: each computes the gradients of its share of every batch, and all of them take
    /// the same steps. [`Trainer::batch`] is the number of samples of all ranks together, and their order does not depend
    /// on the number of ranks, so losses agree with those of one rank except for rounding.
    ///
    /// Every rank has the model, the same settings and the same samples, and calls [`Trainer::fit`]. It begins with the
    /// parameters and the checkpoint of rank 0, which alone writes checkpoints and shows progress. Test samples are shared
    /// out, too. Training ends if a callback of one rank breaks. Buffers, such as the statistics of
    /// [`BatchNorm`](crate::nn::BatchNorm), are averages over the ranks, and each rank normalises by its own samples. Ranks
    /// draw different random numbers for dropout.
    ///
    /// ```
    /// use tensorlib::nn::{loss, Linear, Parameters};
    /// use tensorlib::train::{Column, DataSet, OptimiserOptions, Trainer};
    /// use tensorlib::{Backend, Group, Result};
    ///
    /// fn train(group: Group) -> Result<f64> {
    ///     let inputs = (0..64).map(|i| i as f32 / 64.).collect::<Vec<_>>();
    ///     let outputs = inputs.iter().map(|x| 3. * x).collect();
    ///     let samples = DataSet::new(Column::f32([1], inputs), Column::f32([1], outputs))?;
    ///     let parameters = Parameters::new(1);
    ///     let model = Linear::new(&parameters, 1, 1)?;
    ///     let cpu = Backend::cpu()?;
    ///     let optimiser = OptimiserOptions::adamw(0.05).build(&parameters)?;
    ///     let mut trainer = Trainer::new(&cpu, &model, optimiser, loss::mse).epochs(20).batch(16).group(&group);
    ///     Ok(trainer.fit(&samples)?.epochs.last().map_or(0., |epoch| epoch.loss))
    /// }
    ///
    /// // Threads here; with `Group::create("auto")?`, the processes that mpirun started.
    /// let ranks: Vec<_> = Group::local(2)?.into_iter().map(|rank| std::thread::spawn(|| train(rank))).collect();
    /// let losses: Vec<f64> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect::<Result<_>>()?;
    /// assert_eq!(losses[0], losses[1]);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    #[must_use]
    pub fn group(mut self, group: &crate::Group) -> Self {
        self.group = Some(group.clone());
        self
    }

    /// The most bytes that intermediates of a batch may take. Cheap nodes are then recomputed instead of kept, with the
    /// same bits ([`Graph::within`]). If that is not enough, the error of [`Trainer::fit`] has the number of bytes that
    /// would be.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.graphs.memory = Some(bytes);
        self
    }

    /// Checks each result and fails at the first NaN or infinity with an error that names the operation, tensor and
    /// element ([`Graph::set_check_finite`]). Slow; use it to find where a NaN comes from.
    #[must_use]
    pub fn check_finite(mut self) -> Self {
        self.graphs.check_finite = true;
        self
    }

    /// The number of threads that read and change the samples of later batches while a step is computed; 0, the
    /// default, reads them between steps. It does not change results.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// The seed of the samples' order, of their random changes, and of random operations.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// A factor of the learning rate, as a function of the step's number, from 0 on, and the number of all steps: see
    /// [`schedule`](super::schedule).
    #[must_use]
    pub fn schedule(mut self, factor: impl Fn(u64, u64) -> f64 + Send + 'a) -> Self {
        self.schedule = Box::new(factor);
        self
    }

    /// Samples to evaluate the model on after each epoch.
    #[must_use]
    pub fn test(mut self, samples: &'a (dyn Samples + Sync)) -> Self {
        self.test = Some(samples);
        self
    }

    /// Ends training after `epochs` epochs without a lower loss, measured on the test samples if there are any. The
    /// parameters then return to those of the best epoch.
    #[must_use]
    pub fn patience(mut self, epochs: usize) -> Self {
        self.patience = Some(epochs);
        self
    }

    /// Calls `callback` after each step; `Break` ends training.
    #[must_use]
    pub fn on_step(mut self, callback: impl FnMut(&Report) -> ControlFlow<()> + Send + 'a) -> Self {
        self.on_step = Some(Box::new(callback));
        self
    }

    /// Calls `callback` after each epoch; `Break` ends training.
    #[must_use]
    pub fn on_epoch(mut self, callback: impl FnMut(&Report) -> ControlFlow<()> + Send + 'a) -> Self {
        self.on_epoch = Some(Box::new(callback));
        self
    }

    /// Shows a bar with the loss and the remaining time if standard error is a terminal.
    #[cfg(feature = "progress")]
    #[cfg_attr(docsrs, doc(cfg(feature = "progress")))]
    #[must_use]
    pub fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// Keeps a checkpoint file, written after each epoch and after each `steps` steps (0: after epochs only). Each one
    /// is written to a temporary file, which then replaces the old checkpoint. If the file exists, [`Trainer::fit`]
    /// resumes from it: with the same samples, trainer and machine it gives the same bits as an uninterrupted run.
    ///
    /// Rates, decays, clipping, the schedule and the number of epochs come from the trainer, not from the file, so they
    /// may differ from those of the earlier run. Another model, method, seed, batch size or number of samples is
    /// [`Error::Format`](crate::Error).
    #[cfg(feature = "safetensors")]
    #[cfg_attr(docsrs, doc(cfg(feature = "safetensors")))]
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, steps: u64) -> Self {
        self.checkpoint = Some((path.into(), steps));
        self
    }

    /// Trains on these samples. Parameters change step by step; after an error they are those of the last step. A step
    /// whose loss or gradient is infinite or NaN is not taken, and a checkpoint with infinite or NaN parameters is not
    /// written.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for no samples, settings out of their range, a loss that is not a
    /// scalar, parameters that it does not depend on, ranks whose settings differ, and if the loss, a gradient or a
    /// parameter becomes infinite or NaN; [`Error::Group`](crate::Error) if a rank of the group fails; [`Error::Format`](crate::Error) and [`Error::Io`](crate::Error) of a checkpoint; as the model's operations
    /// and [`Samples::write`].
    pub fn fit(&mut self, samples: &(dyn Samples + Sync)) -> Result<History> {
        self.check(samples)?;
        let ranks = self.group.as_ref().map(|group| Ranks::new(self.backend, group)).transpose()?;
        let state = self.start(samples, ranks.as_ref())?;
        let steps = samples.len().div_ceil(self.batch) as u64 * self.epochs as u64;
        #[cfg(feature = "progress")]
        let progress = (self.progress && ranks.as_ref().is_none_or(Ranks::is_first))
            .then(|| super::progress::Progress::new(steps, self.optimiser.step()));
        let machine = Machine::new(self.backend, &self.optimiser, self.micro_batches, ranks.as_ref())?;
        let mut evaluator = Evaluator::new(self.batch.max(256))?;
        let mut stopped = state.stopped;
        let mut fit = Fit {
            samples,
            steps,
            state,
            machine,
            ranks,
            #[cfg(feature = "progress")]
            progress,
        };
        while stopped.is_none() && fit.state.history.len() < self.epochs {
            stopped = self.take_steps(&mut fit)?;
            if stopped.is_some() {
                break;
            }
            let functions = (&*self.forward as Forward<'_>, &*self.loss as Loss<'_>);
            let ranks = fit.ranks.as_ref();
            let test = self.test.map(|test| evaluator.scores(self.backend, functions, test, ranks)).transpose()?;
            stopped = self.end_epoch(&mut fit, test)?;
            #[cfg(feature = "safetensors")]
            {
                // The next run continues where a callback ended this one.
                fit.state.stopped = stopped.filter(|stopped| *stopped == Stopped::Early);
                self.keep(&fit)?;
            }
        }
        let State { history, best, .. } = fit.state;
        if let Some(best) = &best {
            for (parameter, bytes) in self.optimiser.model().iter().zip(&best.parameters) {
                parameter.write_bytes(0, bytes)?;
            }
        }
        let best = best.map(|best| best.epoch);
        Ok(History { epochs: history, stopped: stopped.unwrap_or(Stopped::Done), best })
    }

    /// The optimiser, for use after training.
    pub fn optimiser(&self) -> &Optimiser {
        &self.optimiser
    }

    /// The state of the checkpoint if there is one, otherwise that of a new run; on all ranks that of rank 0.
    fn start(&mut self, samples: &dyn Samples, ranks: Option<&Ranks>) -> Result<State> {
        let Some(ranks) = ranks else { return self.read_state(samples) };
        ranks.check_alike(self.backend, &self.run_of_ranks(samples))?;
        let read = match ranks.is_first() {
            true => self.read_state(samples),
            false => Ok(State::default()),
        };
        // The others learn of a failure at once.
        let failed = ranks.count(self.backend, read.is_err())?;
        let mut state = read?;
        if failed != 0. {
            return Err(invalid("Trainer: rank 0 cannot read its checkpoint, and has the reason".into()));
        }
        let all = [self.optimiser.model(), self.optimiser.state()].concat();
        ranks.take_from_first(self.backend, &all)?;
        self.take_state(ranks, &mut state)?;
        Ok(state)
    }

    #[cfg(feature = "safetensors")]
    fn read_state(&mut self, samples: &dyn Samples) -> Result<State> {
        match &self.checkpoint {
            Some((path, _)) if path.exists() => {
                let run = self.run(samples);
                super::checkpoint::read(path, &mut self.optimiser, &run)
            }
            _ => Ok(State::default()),
        }
    }

    #[cfg(not(feature = "safetensors"))]
    fn read_state(&mut self, _: &dyn Samples) -> Result<State> {
        Ok(State::default())
    }

    /// Gives all ranks the state that rank 0 has read.
    #[cfg(feature = "safetensors")]
    fn take_state(&mut self, ranks: &Ranks, state: &mut State) -> Result<()> {
        let own = super::checkpoint::state_text(state, self.optimiser.step());
        let first = ranks.first_bytes(self.backend, own.as_bytes())?;
        let mut best = state.best.take().map(|best| best.parameters.concat()).unwrap_or_default();
        best = ranks.first_bytes(self.backend, &best)?;
        let Some((mut read, step)) = super::checkpoint::state_of(&String::from_utf8_lossy(&first)) else {
            return Err(invalid("Trainer: the state of rank 0 is damaged".into()));
        };
        if let Some(kept) = &mut read.best {
            let mut rest = &best[..];
            for parameter in self.optimiser.model() {
                let Some((bytes, after)) = rest.split_at_checked(parameter.nbytes()) else {
                    return Err(invalid("Trainer: the best parameters of rank 0 are of another model".into()));
                };
                kept.parameters.push(bytes.to_vec());
                rest = after;
            }
        }
        self.optimiser.resume(step);
        *state = read;
        Ok(())
    }

    /// Without checkpoints every run is a new one.
    #[cfg(not(feature = "safetensors"))]
    fn take_state(&mut self, _: &Ranks, _: &mut State) -> Result<()> {
        Ok(())
    }

    /// The settings that the ranks must have in common, so that they make the same exchanges and steps.
    fn run_of_ranks(&self, samples: &dyn Samples) -> String {
        let Self { epochs, batch, seed, patience, micro_batches, optimiser, .. } = self;
        let shapes: Vec<String> = optimiser.model().iter().map(|p| format!("{} {:?}", p.name(), p.shape())).collect();
        format!(
            "{} samples and {} test samples, epochs({epochs}), batch({batch}), micro_batches({micro_batches}), seed({seed}), patience({patience:?}), \
             callbacks {} and {}, {optimiser:?} of {}",
            samples.len(),
            self.test.map_or(0, |test| test.len()),
            self.on_step.is_some(),
            self.on_epoch.is_some(),
            shapes.join(", ")
        )
    }

    /// Takes the steps of an epoch that are left. The result is why training ends before the epoch does.
    fn take_steps(&mut self, fit: &mut Fit<'_>) -> Result<Option<Stopped>> {
        let (order, seed) = shuffled(self.seed, fit.state.history.len(), fit.samples.len());
        let batches: Vec<&[usize]> = order.chunks(self.batch).skip(fit.state.batches).collect();
        if self.workers == 0 {
            return self.take_batches(fit, batches.iter().map(|numbers| (*numbers, Source::Samples(seed))));
        }
        let (samples, parts) = (fit.samples, self.micro_batches);
        let own: Vec<&[usize]> = batches.iter().map(|numbers| own_of(fit.ranks.as_ref(), numbers)).collect();
        // Two batches per worker: one in the making and one ready.
        let queue = Queue::new(batches.len(), self.workers.saturating_mul(2));
        let read = |number: usize| -> Result<Vec<Assembled>> {
            let parts = parts_of(own[number], parts).map(|numbers| {
                let mut part = Assembled::new(samples, numbers.len())?;
                part.read(samples, numbers, Some(seed))?;
                Ok(part)
            });
            parts.collect()
        };
        std::thread::scope(|scope| {
            // Whatever ends the steps, the scope waits for its threads, so they must end too.
            let _stop = queue.stop_on_drop();
            for i in 0..self.workers.min(batches.len()) {
                let thread = std::thread::Builder::new().name(format!("trainer {i}"));
                thread.spawn_scoped(scope, || queue.work(read))?;
            }
            let ready = batches.iter().map_while(|numbers| Some((*numbers, Source::Ready(queue.take()?))));
            self.take_batches(fit, ready)
        })
    }

    /// Takes a step for each batch: the numbers of its samples, and where they come from.
    fn take_batches<'n>(
        &mut self,
        fit: &mut Fit<'_>,
        batches: impl Iterator<Item = (&'n [usize], Source)>,
    ) -> Result<Option<Stopped>> {
        let epoch = fit.state.history.len();
        for (numbers, source) in batches {
            let loss = self.step(fit, numbers, source)?;
            #[cfg(feature = "progress")]
            if let Some(bar) = &fit.progress {
                bar.step(epoch + 1, self.epochs, fit.state.loss / fit.state.counted as f64);
            }
            let report = self.report(epoch, loss, None, fit.state.rate);
            let goes_on = match &mut self.on_step {
                Some(callback) => {
                    let goes_on = callback(&report).is_continue();
                    all_go_on(fit.ranks.as_ref(), self.backend, goes_on)?
                }
                None => true,
            };
            #[cfg(feature = "safetensors")]
            if let Some((_, every)) = &self.checkpoint {
                if !goes_on || (*every > 0 && self.optimiser.step() % every == 0) {
                    self.keep(fit)?;
                }
            }
            if !goes_on {
                return Ok(Some(Stopped::ByCallback));
            }
        }
        Ok(None)
    }

    /// Takes a step with the samples of these numbers and returns their loss.
    fn step(&mut self, fit: &mut Fit<'_>, numbers: &[usize], source: Source) -> Result<f64> {
        let Fit { samples, steps, state, machine, ranks, .. } = fit;
        let epoch = state.history.len();
        let factor = (self.schedule)(self.optimiser.step(), *steps);
        let work = Work { trainer: self, samples: *samples, numbers, ranks: ranks.as_ref() };
        let computed = machine.gradients(&work, source);
        let checked = computed.and_then(|loss| {
            if !loss.is_finite() {
                return Err(self.not_finite(&format!("the loss is {loss}"), epoch));
            }
            match machine.not_finite(&self.optimiser, self.backend)? {
                Some(what) => Err(self.not_finite(&what, epoch)),
                None => Ok(loss),
            }
        });
        let loss = match checked {
            Ok(loss) => loss,
            Err(error) => {
                machine.buffers.restore(self.backend)?;
                return Err(error);
            }
        };
        self.optimiser.advance(factor)?;
        machine.steps.compute(self.backend)?;
        state.rate = self.optimiser.rate() * factor;
        state.batches += 1;
        state.loss += loss * numbers.len() as f64;
        state.counted += numbers.len();
        Ok(loss)
    }

    fn end_epoch(&mut self, fit: &mut Fit<'_>, test: Option<Scores>) -> Result<Option<Stopped>> {
        let Fit { state, ranks, .. } = fit;
        let number = state.history.len() + 1;
        let loss = state.loss / state.counted as f64;
        state.history.push(Epoch { number, loss, test, rate: state.rate });
        (state.batches, state.loss, state.counted) = (0, 0., 0);
        let mut stopped = None;
        if let Some(patience) = self.patience {
            let judged = test.map_or(loss, |test| test.loss);
            if state.best.as_ref().is_none_or(|best| judged < best.loss) {
                let parameters = self.optimiser.model().iter().map(bytes_of).collect::<Result<_>>()?;
                state.best = Some(Best { epoch: number, loss: judged, parameters });
            } else if state.best.as_ref().is_some_and(|best| number - best.epoch >= patience) {
                stopped = Some(Stopped::Early);
            }
        }
        let report = self.report(number - 1, loss, test, state.rate);
        if let Some(callback) = &mut self.on_epoch {
            let goes_on = callback(&report).is_continue();
            if !all_go_on(ranks.as_ref(), self.backend, goes_on)? {
                stopped = Some(Stopped::ByCallback);
            }
        }
        Ok(stopped)
    }

    fn report(&self, epoch: usize, loss: f64, test: Option<Scores>, rate: f64) -> Report {
        Report { epoch: epoch + 1, epochs: self.epochs, step: self.optimiser.step(), loss, test, rate }
    }

    fn check(&self, samples: &dyn Samples) -> Result<()> {
        let refuse = |what: &str| Err(invalid(format!("Trainer: {what}: 1 or more are valid")));
        if samples.is_empty() {
            return refuse("no samples");
        }
        if self.batch == 0 {
            return refuse("batches of 0 samples");
        }
        if self.micro_batches == 0 {
            return refuse("0 micro_batches");
        }
        Ok(())
    }

    /// The error of a step that is not taken.
    fn not_finite(&self, what: &str, epoch: usize) -> crate::Error {
        let (step, epoch) = (self.optimiser.step() + 1, epoch + 1);
        invalid(format!(
            "Trainer: {what} in step {step}, epoch {epoch}, which was not taken: a lower rate, or gradients clipped by norm, may be valid; \
             check_finite() names the first node"
        ))
    }

    #[cfg(feature = "safetensors")]
    fn keep(&self, fit: &Fit<'_>) -> Result<()> {
        let Some((path, _)) = &self.checkpoint else { return Ok(()) };
        if !fit.ranks.as_ref().is_none_or(Ranks::is_first) {
            return Ok(());
        }
        for parameter in self.optimiser.model() {
            if let Some(value) = parameter.to_f32_vec()?.into_iter().find(|value| !value.is_finite()) {
                let (name, step, path) = (parameter.name(), self.optimiser.step(), path.display());
                return Err(invalid(format!(
                    "Trainer: parameter '{name}' holds {value} after step {step}: the checkpoint {path} stays as it was before; a lower \
                     rate may be valid"
                )));
            }
        }
        super::checkpoint::write(path, &self.optimiser, &self.run(fit.samples), &fit.state)
    }

    /// The settings that must not change for a run to be resumed.
    #[cfg(feature = "safetensors")]
    fn run(&self, samples: &dyn Samples) -> String {
        let (seed, n) = (self.seed, samples.len());
        format!("seed {seed}, {n} samples in batches of {} in {}", self.batch, self.micro_batches)
    }
}

/// A call of [`Trainer::fit`].
struct Fit<'f> {
    samples: &'f (dyn Samples + Sync),
    /// The steps of all epochs.
    steps: u64,
    state: State,
    machine: Machine,
    ranks: Option<Ranks>,
    #[cfg(feature = "progress")]
    progress: Option<super::progress::Progress>,
}

/// Whether the callbacks of all ranks let training go on.
fn all_go_on(ranks: Option<&Ranks>, backend: &Backend, goes_on: bool) -> Result<bool> {
    let Some(ranks) = ranks else { return Ok(goes_on) };
    Ok(ranks.count(backend, !goes_on)? == 0.)
}

/// The samples of a step.
struct Work<'w, 'a> {
    trainer: &'w Trainer<'a>,
    samples: &'w dyn Samples,
    /// The batch of all ranks.
    numbers: &'w [usize],
    ranks: Option<&'w Ranks>,
}

impl Work<'_, '_> {
    /// The numbers of this rank's samples.
    fn own(&self) -> &[usize] {
        own_of(self.ranks, self.numbers)
    }
}

/// This rank's part of a batch.
fn own_of<'n>(ranks: Option<&Ranks>, numbers: &'n [usize]) -> &'n [usize] {
    ranks.map_or(numbers, |ranks| &numbers[ranks.share(numbers.len())])
}

/// Where a batch comes from.
enum Source {
    /// The samples, which are read when they are needed; the seed of their changes.
    Samples(u64),
    /// A worker, which has read the samples of each part.
    Ready(Result<Vec<Assembled>>),
}

/// The numbers of the samples of each part of a batch.
fn parts_of(numbers: &[usize], parts: usize) -> impl Iterator<Item = &[usize]> {
    numbers.chunks(numbers.len().div_ceil(parts).max(1))
}

/// The graphs of batches, by their size, and of the step after a batch.
struct Machine {
    /// Seed and counter of random operations.
    random: Tensor,
    graphs: Vec<(usize, Training)>,
    sums: Accumulator,
    /// 0 if all sums are finite, else NaN.
    finite: (Tensor, Graph),
    steps: Graph,
    buffers: Buffers,
    exchange: Option<Exchange>,
    parts: usize,
}

/// The model's buffers, which a batch changes before it is known whether its step is taken, and copies of what they
/// were after the last step.
struct Buffers {
    /// From copies to buffers; `None` if there are no buffers.
    restore: Option<Graph>,
}

impl Buffers {
    /// Makes the copies, and the nodes that bring them up to date after a step.
    fn new(backend: &Backend, buffers: &[Tensor]) -> Result<(Self, Vec<Tensor>)> {
        let ctx = Context::on(backend);
        let (mut keep, mut restore) = (Vec::new(), Vec::new());
        for buffer in buffers {
            let copy = ctx.zeros(buffer.dtype(), buffer.shape())?;
            copy.write_bytes(0, &bytes_of(buffer)?)?;
            ctx.within(|| -> Result<()> {
                keep.push(buffer.cpy(&copy)?);
                restore.push(copy.cpy(buffer)?);
                Ok(())
            })?;
        }
        let restore = match restore.is_empty() {
            true => None,
            false => Some(Graph::new(&restore.iter().collect::<Vec<_>>())?),
        };
        Ok((Self { restore }, keep))
    }

    /// Takes back what batches have changed since the last step.
    fn restore(&self, backend: &Backend) -> Result<()> {
        self.restore.as_ref().map_or(Ok(()), |graph| graph.compute(backend))
    }
}

impl Machine {
    fn new(backend: &Backend, optimiser: &Optimiser, parts: usize, ranks: Option<&Ranks>) -> Result<Self> {
        let ctx = Context::on(backend);
        let (sums, exchange) = match ranks {
            Some(ranks) => Exchange::new(backend, ranks, optimiser).map(|(sums, exchange)| (sums, Some(exchange)))?,
            None => (Accumulator::new(&ctx, &optimiser.parameters())?, None),
        };
        let of_steps = Context::on(backend);
        // 0 times a finite number is 0; 0 times infinity or NaN is NaN.
        let none = |sum: &Tensor| sum.scale(0., ScaleOptions::new())?.sum(..);
        let zero = of_steps.within(|| -> Result<Option<Tensor>> {
            let mut zero: Option<Tensor> = None;
            for sum in sums.sums() {
                zero = Some(match zero {
                    Some(zero) => zero.add(&none(sum)?)?,
                    None => none(sum)?,
                });
            }
            Ok(zero)
        })?;
        let zero = zero.ok_or_else(|| invalid("Trainer: no parameters: at least one is valid".into()))?;
        let finite = (zero.clone(), Graph::new(&[&zero])?);
        let steps = optimiser.steps_by(&of_steps, sums.sums())?;
        let (buffers, keep) = Buffers::new(backend, optimiser.buffers())?;
        let steps = Graph::new(&steps.iter().chain(&keep).collect::<Vec<_>>())?;
        Ok(Self {
            random: ctx.zeros(DType::I64, [2])?,
            graphs: Vec::new(),
            sums,
            finite,
            steps,
            buffers,
            exchange,
            parts,
        })
    }

    /// Names a sum of gradients that is not finite, if there is one.
    fn not_finite(&self, optimiser: &Optimiser, backend: &Backend) -> Result<Option<String>> {
        let (zero, graph) = &self.finite;
        graph.compute(backend)?;
        if zero.get(&[0])? == 0. {
            return Ok(None);
        }
        for (sum, parameter) in self.sums.sums().iter().zip(optimiser.parameters()) {
            if let Some(value) = sum.to_f32_vec()?.into_iter().find(|value| !value.is_finite()) {
                return Ok(Some(format!("the gradient of parameter '{}' holds {value}", parameter.name())));
            }
        }
        Ok(Some("a gradient is not finite".into()))
    }

    /// The mean loss of the samples of all ranks; the sums then hold its gradients.
    fn gradients(&mut self, work: &Work<'_, '_>, source: Source) -> Result<f64> {
        let own = self.own_gradients(work, source);
        let (Some(ranks), Some(exchange)) = (work.ranks, &self.exchange) else { return own };
        // A failure of this rank is one of all, at once.
        let [loss, failed] = ranks.sum(
            work.trainer.backend,
            match &own {
                Ok(loss) => [*loss, 0.],
                Err(_) => [0., 1.],
            },
        )?;
        own?;
        if failed != 0. {
            return Err(invalid(format!(
                "Trainer: {failed} other ranks have failed in this step, and have the reasons"
            )));
        }
        let weight = work.own().len() as f64 / work.numbers.len() as f64;
        exchange.compute(work.trainer.backend, weight as f32)?;
        Ok(loss)
    }

    /// This rank's part of the mean loss, and of its gradients.
    fn own_gradients(&mut self, work: &Work<'_, '_>, source: Source) -> Result<f64> {
        let Work { trainer, samples, numbers, ranks } = *work;
        let (rank, size) = ranks.map_or((0, 1), |ranks| (ranks.group().rank() as u64, ranks.group().size() as u64));
        let own = work.own();
        if own.is_empty() {
            self.sums.clear()?;
            return Ok(0.);
        }
        let mut sum = 0.;
        let (seed, ready) = match source {
            Source::Samples(seed) => (seed, Vec::new()),
            Source::Ready(parts) => (0, parts?),
        };
        let mut ready = ready.into_iter();
        for (i, part) in parts_of(own, self.parts).enumerate() {
            let place = self.place(trainer, samples, part.len())?;
            // Each part of each step draws other random numbers, on each rank.
            let counter = ((trainer.optimiser.step() + 1) * self.parts as u64 + i as u64) * size + rank;
            self.random.write(&[trainer.seed as i64, counter as i64])?;
            let graph = &mut self.graphs[place].1;
            match ready.next() {
                Some(assembled) => graph.leafs.write_assembled(assembled)?,
                None => graph.leafs.write(samples, part, Some(seed))?,
            }
            let weight = part.len() as f64 / numbers.len() as f64;
            sum += weight * graph.compute(trainer.backend, i == 0, weight as f32)?;
        }
        Ok(sum)
    }

    fn place(&mut self, trainer: &Trainer<'_>, samples: &dyn Samples, n: usize) -> Result<usize> {
        if let Some(place) = self.graphs.iter().position(|(size, _)| *size == n) {
            return Ok(place);
        }
        let place = (&self.random, Context::on(trainer.backend));
        let sums = (&trainer.optimiser, &self.sums, self.parts);
        let functions = (&*trainer.forward as Forward<'_>, &*trainer.loss as Loss<'_>);
        let training = Training::new(functions, samples, n, place, sums, trainer.graphs)?;
        self.graphs.push((n, training));
        Ok(self.graphs.len() - 1)
    }
}
