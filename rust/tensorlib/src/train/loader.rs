//! A data loader: batches for a training loop of one's own, assembled by worker threads.

use super::buffer::{assemble, shuffled, Augment, Buffer};
use super::queue::Queue;
use super::{Random, Samples, Slot};
use crate::nn::invalid;
use crate::{Context, Result, Tensor};
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Assembles batches of samples, in a new order in each epoch. Worker threads read and change the samples of later
/// batches while the program computes. Orders and changes are functions of the seed and the epoch: the batches are the
/// same whatever the number of workers, and those that [`Trainer`](super::Trainer) takes with this seed.
///
/// ```
/// use tensorlib::train::{Column, DataLoader, DataSet, Slot};
/// use tensorlib::Context;
/// let samples = DataSet::new(Column::f32([2], vec![0.5; 20]), Column::i32([], vec![1; 10]))?;
/// let loader = DataLoader::new(samples, 4).seed(7).workers(2).augment(|inputs, _, random| {
///     if let [Slot::F32(point)] = inputs {
///         point.iter_mut().for_each(|x| *x += (random.uniform() / 10.) as f32);
///     }
///     Ok(())
/// });
/// for epoch in 0..3 {
///     for batch in loader.epoch(epoch)? {
///         let (inputs, targets) = batch?.leafs(&Context::new())?;
///         assert_eq!(inputs[0].shape()[0], 2);
///         assert_eq!(inputs[0].shape()[1], targets[0].shape()[0]); // 4, 4 and 2 samples
///     }
/// }
/// # Ok::<(), tensorlib::Error>(())
/// ```
pub struct DataLoader<S> {
    samples: Arc<S>,
    batch: usize,
    seed: u64,
    workers: usize,
    prefetch: usize,
    drop_last: bool,
    training: bool,
    augment: Option<Arc<Augment>>,
}

impl<S: Samples + Send + Sync + 'static> DataLoader<S> {
    /// Loads samples in batches of `batch`, the last of which takes the rest. An `Arc` of samples shares them with other
    /// loaders. The seed is 0, and batches are assembled by the thread that takes them.
    pub fn new(samples: S, batch: usize) -> Self {
        Self {
            samples: Arc::new(samples),
            batch,
            seed: 0,
            workers: 0,
            prefetch: 2,
            drop_last: false,
            training: true,
            augment: None,
        }
    }

    /// The seed of orders and changes.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The number of threads that assemble batches; 0 for the thread that takes them.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// How many batches each worker may be ahead; 2 by default.
    #[must_use]
    pub fn prefetch(mut self, batches: usize) -> Self {
        self.prefetch = batches;
        self
    }

    /// Leaves out the last batch of an epoch if it is smaller, so that one graph serves all batches.
    #[must_use]
    pub fn drop_last(mut self) -> Self {
        self.drop_last = true;
        self
    }

    /// Changes each sample with this function of its inputs, its targets and random numbers, after the sample was
    /// written. An error ends the epoch.
    ///
    /// Images and the masks that are their targets, half of them flipped:
    ///
    /// ```
    /// use tensorlib::train::{Column, DataLoader, DataSet, Slot};
    /// use tensorlib::Error;
    /// let width = 4;
    /// let images = Column::f32([4, 3, 1], vec![0.; 120]);
    /// let samples = DataSet::new(images, Column::f32([4, 3, 1], vec![1.; 120]))?;
    /// let loader = DataLoader::new(samples, 5).augment(move |inputs, targets, random| {
    ///     let ([Slot::F32(image)], [Slot::F32(mask)]) = (inputs, targets) else {
    ///         return Err(Error::msg("an image and its mask are valid"));
    ///     };
    ///     if random.below(2) == 1 {
    ///         image.chunks_mut(width).chain(mask.chunks_mut(width)).for_each(<[f32]>::reverse);
    ///     }
    ///     Ok(())
    /// });
    /// assert!(loader.epoch(0)?.all(|batch| batch.is_ok()));
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    #[must_use]
    pub fn augment(
        mut self,
        change: impl Fn(&mut [Slot<'_>], &mut [Slot<'_>], &mut Random) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.augment = Some(Arc::new(change));
        self
    }

    /// Loads for evaluation: samples in their own order, without random changes.
    #[must_use]
    pub fn evaluation(mut self) -> Self {
        self.training = false;
        self
    }

    /// The number of batches in an epoch; 0 for batches of 0 samples.
    pub fn len(&self) -> usize {
        let samples = self.samples.len();
        if self.drop_last {
            samples.checked_div(self.batch).unwrap_or(0)
        } else if self.batch == 0 {
            0
        } else {
            samples.div_ceil(self.batch)
        }
    }

    /// Whether there are no batches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The samples.
    pub fn samples(&self) -> &S {
        &self.samples
    }

    /// The batches of an epoch. Dropping the iterator ends the workers.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for batches of 0 samples, no batches, a prefetch of 0, and samples
    /// without inputs; [`Error::Io`](crate::Error) if a thread cannot be started.
    pub fn epoch(&self, epoch: usize) -> Result<Batches> {
        let (samples, batch, prefetch) = (self.samples.len(), self.batch, self.prefetch);
        if self.is_empty() || prefetch == 0 {
            return Err(invalid(format!(
                "DataLoader: {samples} samples in batches of {batch}, prefetch {prefetch}: a whole batch, and 1 or more of each, are valid"
            )));
        }
        if self.samples.forms().inputs.is_empty() {
            return Err(invalid("Samples: no inputs: at least one is valid".into()));
        }
        let (order, seed) = match self.training {
            true => {
                let (order, seed) = shuffled(self.seed, epoch, samples);
                (order, Some(seed))
            }
            false => ((0..samples).collect(), None),
        };
        let (loader, n) = (self.clone(), self.len());
        let make = move |number: usize| loader.make(&order, number, seed);
        let queue = Arc::new(Queue::new(n, self.workers.saturating_mul(prefetch)));
        let mut batches = Batches { queue, n, taken: 0, workers: Vec::new(), make: Arc::new(make) };
        for i in 0..self.workers.min(n) {
            let (queue, make) = (batches.queue.clone(), batches.make.clone());
            let thread = std::thread::Builder::new().name(format!("loader {i}"));
            batches.workers.push(thread.spawn(move || queue.work(|number| make(number)))?);
        }
        Ok(batches)
    }

    /// Assembles a batch of the epoch.
    fn make(&self, order: &[usize], number: usize, seed: Option<u64>) -> Result<Batch> {
        let begin = number * self.batch;
        let numbers = order[begin..order.len().min(begin + self.batch)].to_vec();
        let forms = self.samples.forms();
        let mut inputs = Buffer::all(&forms.inputs, numbers.len(), "input")?;
        let mut targets = Buffer::all(&forms.targets, numbers.len(), "target")?;
        assemble(&*self.samples, &numbers, (seed, self.augment.as_deref()), &mut inputs, &mut targets)?;
        Ok(Batch { numbers, inputs, targets })
    }
}

/// Clones share the samples.
impl<S> Clone for DataLoader<S> {
    fn clone(&self) -> Self {
        Self { samples: self.samples.clone(), augment: self.augment.clone(), ..*self }
    }
}

impl<S: fmt::Debug> fmt::Debug for DataLoader<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { samples, batch, seed, workers, .. } = self;
        write!(f, "DataLoader({samples:?} in batches of {batch}, seed {seed}, {workers} workers)")
    }
}

/// The batches of an epoch, in order. After an error there are no more.
pub struct Batches {
    queue: Arc<Queue<Result<Batch>>>,
    n: usize,
    taken: usize,
    workers: Vec<JoinHandle<()>>,
    make: Arc<dyn Fn(usize) -> Result<Batch> + Send + Sync>,
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        if self.taken == self.n {
            return None;
        }
        let batch = if self.workers.is_empty() { Some((self.make)(self.taken)) } else { self.queue.take() };
        self.taken = if matches!(batch, Some(Ok(_))) { self.taken + 1 } else { self.n };
        batch
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.n - self.taken))
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.queue.stop();
        // A worker's panic has been passed on with its batch.
        self.workers.drain(..).for_each(|worker| drop(worker.join()));
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batches({} of {}, {} workers)", self.taken, self.n, self.workers.len())
    }
}

/// The samples of a batch.
#[derive(Clone, Debug)]
pub struct Batch {
    numbers: Vec<usize>,
    inputs: Vec<Buffer>,
    targets: Vec<Buffer>,
}

impl Batch {
    /// The numbers of the samples.
    pub fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are no samples; an epoch has no such batch.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Makes leafs of the batch: one for each input and for each target, with the samples as the last dimension.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error).
    pub fn leafs(&self, ctx: &Context) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
        let leaf = |buffer: &Buffer| {
            let leaf = ctx.zeros(buffer.dtype(), buffer.shape())?;
            buffer.write(&leaf)?;
            Ok(leaf)
        };
        let leafs = |buffers: &[Buffer]| buffers.iter().map(leaf).collect::<Result<Vec<_>>>();
        Ok((leafs(&self.inputs)?, leafs(&self.targets)?))
    }

    /// Writes the batch into leafs that [`Batch::leafs`] made of another batch of as many samples, so that their graph
    /// serves for all of them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for another number of leafs, or leafs of other shapes or types, of which
    /// none is written then; [`Error::Busy`](crate::Error).
    pub fn write(&self, inputs: &[Tensor], targets: &[Tensor]) -> Result<()> {
        for (leafs, buffers, what) in [(inputs, &self.inputs, "input"), (targets, &self.targets, "target")] {
            if leafs.len() != buffers.len() {
                let (found, wanted) = (leafs.len(), buffers.len());
                return Err(invalid(format!("Batch::write: {found} leafs for {what}s: {wanted} are valid")));
            }
            for (leaf, buffer) in leafs.iter().zip(buffers) {
                if leaf.shape() != buffer.shape() || leaf.dtype() != buffer.dtype() {
                    let (found, wanted) = (leaf.shape(), buffer.shape());
                    let (of_leaf, of_batch) = (leaf.dtype(), buffer.dtype());
                    return Err(invalid(format!(
                        "Batch::write: a leaf for {what}s is {found:?} {of_leaf}: {wanted:?} {of_batch} is valid"
                    )));
                }
            }
        }
        let all = inputs.iter().zip(&self.inputs).chain(targets.iter().zip(&self.targets));
        all.into_iter().try_for_each(|(leaf, buffer)| buffer.write(leaf))
    }
}
