//! How the elements of a folder's tensor are arranged in a GGUF file.

use crate::weights::HeadRows;

/// How the values of a tensor are read.
#[derive(Clone, Debug)]
pub enum Reading {
    /// The tensor of this name and shape.
    Tensor { name: String, shape: Vec<i64> },
    /// The first `n` rows of each head, transposed.
    FirstRows { name: String, rows: HeadRows, n: i64 },
    /// The last `n` rows of each head.
    LastRows { name: String, rows: HeadRows, n: i64 },
    /// These values, which follow from the settings.
    Values(Vec<f32>),
}

/// Which elements of a tensor come in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// All, as they are.
    All,
    /// Rows of these numbers.
    Rows(Vec<usize>),
    /// Elements of each row of these numbers.
    Elements(Vec<usize>),
}

/// A tensor of a GGUF file that is made from a folder.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its name in the file.
    pub name: String,
    /// Its shape in the file.
    pub shape: Vec<i64>,
    pub reading: Reading,
    pub order: Order,
    /// Values become -exp(x).
    pub minus_exp: bool,
    /// Factors of its rows: none, one for all, or one for each.
    pub factors: Vec<f32>,
    /// The type of its values when they are read.
    pub stored: tensorlib::DType,
}

impl Planned {
    /// A tensor that is as it was read.
    pub fn plain(name: String, shape: Vec<i64>, stored: tensorlib::DType) -> Self {
        let reading = Reading::Tensor { name: name.clone(), shape: shape.clone() };
        Planned { name, shape, reading, order: Order::All, minus_exp: false, factors: Vec::new(), stored }
    }

    /// A vector of values that follow from the settings.
    pub fn values(name: &str, values: Vec<f32>) -> Self {
        let shape = vec![i64::try_from(values.len()).unwrap_or(0)];
        let reading = Reading::Values(values);
        Planned {
            name: name.into(),
            shape,
            reading,
            order: Order::All,
            minus_exp: false,
            factors: Vec::new(),
            stored: tensorlib::DType::F32,
        }
    }
}

/// The rows of `heads` heads in which pairs that rotate, which are half of the `turning` elements apart, become
/// neighbours. The other elements of a head stay.
pub fn neighbours(heads: i64, head: i64, turning: i64) -> Vec<usize> {
    let [heads, head, half] = [heads, head, turning / 2].map(|n| usize::try_from(n).unwrap_or(0));
    let inside = |i: usize| if i < 2 * half { i / 2 + i % 2 * half } else { i };
    (0..heads * head).map(|i| i / head * head + inside(i % head)).collect()
}

/// Elements of value heads, `elements` of each. In a folder, the heads that share a head of keys follow each other; here
/// they are `keys` heads apart.
pub fn tiled(keys: i64, values: i64, elements: i64) -> Vec<usize> {
    let [keys, values, elements] = [keys, values, elements].map(|n| usize::try_from(n).unwrap_or(0));
    let of_key = values / keys.max(1);
    let source = |place: usize| place % keys * of_key + place / keys;
    (0..values * elements).map(|i| source(i / elements) * elements + i % elements).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_neighbours() {
        assert_eq!(neighbours(1, 6, 6), [0, 3, 1, 4, 2, 5]);
        assert_eq!(neighbours(2, 5, 4), [0, 2, 1, 3, 4, 5, 7, 6, 8, 9]);
    }

    #[test]
    fn value_heads_are_tiled() {
        // Heads 0 and 1 belong to the first key, 2 and 3 to the second.
        assert_eq!(tiled(2, 4, 1), [0, 2, 1, 3]);
        assert_eq!(tiled(2, 4, 2), [0, 1, 4, 5, 2, 3, 6, 7]);
        assert_eq!(tiled(3, 3, 1), [0, 1, 2]);
    }
}
