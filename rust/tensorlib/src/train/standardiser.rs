//! Scaling of columns of numbers.

/// Means and deviations of columns, to give all of them the mean 0 and the deviation 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Standardiser {
    /// Of each column.
    pub means: Vec<f64>,
    /// Of each column, the root of the mean square; 1 where all numbers are the same.
    pub deviations: Vec<f64>,
}

impl Standardiser {
    /// Those of a set's inputs, or of rows of so many numbers.
    pub fn of(values: &[f32], width: usize) -> Self {
        let rows = || values.chunks_exact(width.max(1));
        let n = rows().len().max(1) as f64;
        let mean_of = |term: &dyn Fn(usize, f64) -> f64| -> Vec<f64> {
            (0..width).map(|c| rows().map(|row| term(c, f64::from(row[c]))).sum::<f64>() / n).collect()
        };
        let means = mean_of(&|_, x| x);
        let squares = mean_of(&|c, x| (x - means[c]).powi(2));
        let deviations = squares.into_iter().map(|v| if v > 0. { v.sqrt() } else { 1. }).collect();
        Self { means, deviations }
    }

    /// Changes a row.
    pub fn apply(&self, row: &mut [f32]) {
        for (x, (mean, deviation)) in row.iter_mut().zip(self.means.iter().zip(&self.deviations)) {
            *x = ((f64::from(*x) - mean) / deviation) as f32;
        }
    }
}
