//! What came of training, epoch by epoch.

use super::{Chart, Scores};
use crate::Result;
use std::path::Path;

/// One pass over the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Epoch {
    /// From 1 on.
    pub number: usize,
    /// The mean loss of the training samples, while the model was changing.
    pub loss: f64,
    /// Of the test samples, behind the epoch.
    pub test: Option<Scores>,
    /// The rate of its last step.
    pub rate: f64,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// All epochs were done.
    Done,
    /// The loss had not become less for as many epochs as the trainer's patience.
    Early,
    /// A callback said so.
    ByCallback,
}

/// What came of [`Trainer::fit`](super::Trainer::fit).
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Those that were done, in order; of earlier runs too, where this one was resumed.
    pub epochs: Vec<Epoch>,
    /// Why it ended.
    pub stopped: Stopped,
    /// The number of the epoch that the parameters are of, where the trainer had patience.
    pub best: Option<usize>,
}

impl History {
    /// A line for each epoch: `epoch,loss,test_loss,test_accuracy,rate`; what there is not is empty.
    pub fn csv(&self) -> String {
        let mut text = String::from("epoch,loss,test_loss,test_accuracy,rate\n");
        for epoch in &self.epochs {
            let number = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
            let (loss, accuracy) = (epoch.test.map(|t| t.loss), epoch.test.and_then(|t| t.accuracy));
            let line =
                format!("{},{},{},{},{}\n", epoch.number, epoch.loss, number(loss), number(accuracy), epoch.rate);
            text.push_str(&line);
        }
        text
    }

    /// The losses over the epochs.
    pub fn chart(&self) -> Chart {
        let points = |loss: &dyn Fn(&Epoch) -> Option<f64>| -> Vec<(f64, f64)> {
            self.epochs.iter().filter_map(|e| Some((e.number as f64, loss(e)?))).collect()
        };
        let chart = Chart::new("Loss by epoch", "epoch", "loss").line("training", points(&|e| Some(e.loss)));
        match points(&|e| e.test.map(|t| t.loss)) {
            test if test.is_empty() => chart,
            test => chart.line("test", test),
        }
    }

    /// Writes [`History::csv`].
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error).
    pub fn write_csv(&self, path: impl AsRef<Path>) -> Result<()> {
        super::chart::write(path.as_ref(), &self.csv())
    }

    /// Writes [`History::chart`] as a picture.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error).
    pub fn write_svg(&self, path: impl AsRef<Path>) -> Result<()> {
        self.chart().write_svg(path)
    }
}
