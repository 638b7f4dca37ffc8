//! The results of training, epoch by epoch.

use super::{Chart, Scores};
use crate::Result;
use std::path::Path;

/// The result of one pass over the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Epoch {
    /// Counts from 1.
    pub number: usize,
    /// The mean loss of the training samples, measured while the model was changing.
    pub loss: f64,
    /// The scores on the test samples after the epoch.
    pub test: Option<Scores>,
    /// The learning rate of the epoch's last step.
    pub rate: f64,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// All epochs are done.
    Done,
    /// The loss has not decreased for as many epochs as the trainer's patience.
    Early,
    /// A callback ended it.
    ByCallback,
}

/// The result of [`Trainer::fit`](super::Trainer::fit).
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The completed epochs in order, including those of earlier runs if this run was resumed.
    pub epochs: Vec<Epoch>,
    /// Why training ended.
    pub stopped: Stopped,
    /// The number of the epoch that the parameters come from, if the trainer had patience.
    pub best: Option<usize>,
}

impl History {
    /// The epochs as CSV, a line for each: `epoch,loss,test_loss,test_accuracy,rate`; missing values
    /// are empty.
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

    /// A chart of the losses over the epochs.
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

    /// Writes [`History::csv`] to a file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error).
    pub fn write_csv(&self, path: impl AsRef<Path>) -> Result<()> {
        super::chart::write(path.as_ref(), &self.csv())
    }

    /// Writes [`History::chart`] to an SVG file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error).
    pub fn write_svg(&self, path: impl AsRef<Path>) -> Result<()> {
        self.chart().write_svg(path)
    }
}
