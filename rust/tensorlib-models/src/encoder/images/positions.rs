//! Vectors of positions for a grid of patches that has another size than the one of training.

/// The inputs that an output depends on: the first one's number, and their weights.
type Taps = (usize, Vec<f64>);

/// Resizes a grid of vectors, `across` in each row and each column, to `rows` and `columns` with linear weights. Where the
/// grid becomes smaller, the weights reach further, so that all vectors count (antialiasing).
pub fn resized(values: &[f32], across: usize, (rows, columns): (usize, usize)) -> Vec<f32> {
    let width = values.len() / (across * across).max(1);
    let vector = |row: usize, column: usize| &values[(row * across + column) * width..][..width];
    let of_columns: Vec<Taps> = taps(across, columns);
    let mut made = Vec::with_capacity(rows * columns * width);
    for (first_row, row_weights) in taps(across, rows) {
        for (first_column, column_weights) in &of_columns {
            let mut total = vec![0.0f64; width];
            for (row, by_row) in (first_row..).zip(&row_weights) {
                for (column, by_column) in (*first_column..).zip(column_weights) {
                    let weight = by_row * by_column;
                    total.iter_mut().zip(vector(row, column)).for_each(|(sum, x)| *sum += weight * f64::from(*x));
                }
            }
            made.extend(total.into_iter().map(|x| x as f32));
        }
    }
    made
}

/// The taps of each of `to` outputs of `from` inputs.
fn taps(from: usize, to: usize) -> Vec<Taps> {
    let scale = from as f64 / to as f64;
    let reach = scale.max(1.0);
    let of_output = |output: usize| {
        let center = (output as f64 + 0.5) * scale;
        let first = (center - reach + 0.5).max(0.0) as usize;
        let end = ((center + reach + 0.5) as usize).min(from);
        let weight = |input: usize| (1.0 - ((input as f64 + 0.5 - center) / reach).abs()).max(0.0);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let total: f64 = weights.iter().sum();
        (first, weights.iter().map(|weight| weight / total).collect())
    };
    (0..to).map(of_output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pillow 13 resized this grid of numbers (mode F, bilinear), whose weights PyTorch's are.
    #[test]
    fn grids_are_resized_as_pillow_does() {
        let grid: Vec<f32> = (0..16).map(|i: i32| ((i * i * 7 + i * 3) % 23) as f32).collect();
        #[rustfmt::skip]
        let table: [(usize, usize, &[f32]); 4] = [
            (2, 3, &[6.77143, 12.0, 11.5286, 10.2857, 12.3571, 11.0286]),
            (6, 5, &[0.0, 7.0, 10.5, 8.6, 3.0, 4.5, 6.95, 11.0, 13.1, 11.0, 9.5, 8.56667, 12.5833, 16.95, 16.8333, 11.5, 15.2333, 16.9167, 14.35, 8.16667, 10.5, 10.85, 12.5, 12.2, 8.0, 9.0, 4.8, 7.0, 10.7, 10.0]),
            (1, 16, &[8.0, 8.0, 8.25, 8.75, 9.25, 9.75, 10.5625, 11.6875, 12.8125, 13.9375, 13.9375, 12.8125, 11.6875, 10.5625, 10.0, 10.0]),
            (3, 4, &[2.7, 8.8, 12.8, 7.8, 10.5, 12.5, 17.0, 12.5, 9.9, 7.8, 12.8, 8.8]),
        ];
        for (rows, columns, wanted) in table {
            let found = resized(&grid, 4, (rows, columns));
            assert_eq!(found.len(), wanted.len());
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-4), "{rows} {columns}: {found:?}");
        }
    }

    #[test]
    fn a_grid_of_its_own_size_stays() {
        let grid: Vec<f32> = (0..18).map(|i| i as f32 * 0.3 - 2.0).collect();
        assert_eq!(resized(&grid, 3, (3, 3)), grid);
    }
}
