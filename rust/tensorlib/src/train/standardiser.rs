//! Standardisation of columns of numbers.

/// Means and standard deviations of columns; applying it gives each column the mean 0 and the
/// deviation 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Standardiser {
    /// The mean of each column.
    pub means: Vec<f64>,
    /// The standard deviation of each column, with divisor n; 1 for a column of equal numbers.
    pub deviations: Vec<f64>,
}

impl Standardiser {
    /// Measures the columns of rows of `width` numbers, such as a set's inputs.
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

    /// Standardises a row in place.
    pub fn apply(&self, row: &mut [f32]) {
        for (x, (mean, deviation)) in row.iter_mut().zip(self.means.iter().zip(&self.deviations)) {
            *x = ((f64::from(*x) - mean) / deviation) as f32;
        }
    }
}
