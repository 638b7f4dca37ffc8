//! The losses of a run: a file of comma-separated values, and a drawing of one line.

use crate::failure::{Failure, Outcome};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use tensorlib::train::Report;

/// Heights of a drawing's columns.
const COLUMNS: [char; 8] =
    ['\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];
/// The most columns.
const WIDTH: usize = 60;
const HEAD: &str = "step,loss,rate,validation_loss";

/// The losses so far, which are written as they come.
pub struct Curve {
    path: PathBuf,
    file: File,
    /// The line of each step, and those of epochs after their last step.
    lines: Vec<(u64, String)>,
    losses: Vec<(u64, f64)>,
}

impl Curve {
    /// Begins a file, or goes on with it.
    pub fn open(path: &Path, resume: bool) -> Outcome<Self> {
        let fault = |e: &std::io::Error| Failure::io(path, "written", e);
        let old = if resume { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        let file = File::create(path).map_err(|e| fault(&e))?;
        let mut curve = Curve { path: path.into(), file, lines: Vec::new(), losses: Vec::new() };
        for line in old.lines().skip(1) {
            let mut fields = line.split(',');
            let step = fields.next().and_then(|step| step.parse().ok());
            let Some(step) = step else { continue };
            curve.losses.extend(fields.next().and_then(|loss| loss.parse().ok()).map(|loss| (step, loss)));
            curve.lines.push((step, line.to_string()));
        }
        curve.rewrite()?;
        Ok(curve)
    }

    /// Adds a step, or what was measured after an epoch. Lines of later steps, which a run that goes on repeats, go.
    pub fn add(&mut self, report: &Report, is_epoch: bool) -> Outcome<()> {
        let line = match (is_epoch, report.test) {
            (true, Some(test)) => format!("{},,,{}", report.step, test.loss),
            (true, None) => return Ok(()),
            (false, _) => format!("{},{},{},", report.step, report.loss, report.rate),
        };
        if !is_epoch {
            let before = self.lines.len();
            self.lines.retain(|(step, _)| *step < report.step);
            self.losses.retain(|(step, _)| *step < report.step);
            self.losses.push((report.step, report.loss));
            if self.lines.len() < before {
                self.rewrite()?;
            }
        }
        writeln!(self.file, "{line}").map_err(|e| Failure::io(&self.path, "written", &e))?;
        self.lines.push((report.step, line));
        Ok(())
    }

    fn rewrite(&mut self) -> Outcome<()> {
        let fault = |e: std::io::Error| Failure::io(&self.path, "written", &e);
        self.file = File::create(&self.path).map_err(fault)?;
        writeln!(self.file, "{HEAD}").map_err(fault)?;
        for (_, line) in &self.lines {
            writeln!(self.file, "{line}").map_err(fault)?;
        }
        Ok(())
    }

    /// The losses as columns, each the mean of some steps, between the first and the last number.
    pub fn drawing(&self) -> String {
        let losses: Vec<f64> = self.losses.iter().map(|(_, loss)| *loss).collect();
        let means = means(&losses);
        let (Some(first), Some(last)) = (means.first(), means.last()) else { return "no steps".into() };
        let (least, most) = means.iter().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
        let top = (COLUMNS.len() - 1) as f64;
        let height = |x: f64| if most > least { ((x - least) / (most - least) * top).round() as usize } else { 0 };
        let columns: String = means.iter().map(|x| COLUMNS[height(*x).min(COLUMNS.len() - 1)]).collect();
        format!("loss {first:.4} {columns} {last:.4}, {} steps", losses.len())
    }
}

/// The means of up to [`WIDTH`] parts.
fn means(losses: &[f64]) -> Vec<f64> {
    let n = losses.len().div_ceil(WIDTH).max(1);
    losses.chunks(n).map(|part| part.iter().sum::<f64>() / part.len() as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_means() {
        assert_eq!(means(&[]), Vec::<f64>::new());
        assert_eq!(means(&[3.0, 1.0]), [3.0, 1.0]);
        let many: Vec<f64> = (0..120).map(f64::from).collect();
        assert_eq!((means(&many).len(), means(&many)[1]), (60, 2.5));
    }
}
