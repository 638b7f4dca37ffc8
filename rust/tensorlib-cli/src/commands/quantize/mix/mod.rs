//! The mixes of types that people know by name: `Q4_K_M` and others. A mix has a type for most matrices, and a rule that
//! gives more bits to those that lose most, and fewer to some others. Names, numbers and rules are those of llama.cpp.

#[cfg(test)]
mod facts;
mod model;
mod rule;
mod tensor;

pub use model::Model;
pub use rule::{fallback, Chooser};
pub use tensor::{is_mixed, order};

use std::str::FromStr;
use tensorlib::DType;
use Mix::*;

/// A mix.
#[allow(non_camel_case_types, missing_docs)] // as people write them
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    F32,
    F16,
    BF16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q2_K_S,
    Q3_K_S,
    Q3_K_M,
    Q3_K_L,
    Q4_K_S,
    Q4_K_M,
    Q5_K_S,
    Q5_K_M,
    Q6_K,
    IQ1_S,
    IQ1_M,
    IQ2_XXS,
    IQ2_XS,
    IQ2_S,
    IQ2_M,
    IQ3_XXS,
    IQ3_XS,
    IQ3_S,
    IQ3_M,
    IQ4_NL,
    IQ4_XS,
    TQ1_0,
    TQ2_0,
}

/// Each mix with its name, the type of most of its matrices, and its number in `general.file_type`.
const ALL: [(Mix, &str, DType, u32); 32] = [
    (F32, "F32", DType::F32, 0),
    (F16, "F16", DType::F16, 1),
    (BF16, "BF16", DType::BF16, 32),
    (Q4_0, "Q4_0", DType::Q4_0, 2),
    (Q4_1, "Q4_1", DType::Q4_1, 3),
    (Q5_0, "Q5_0", DType::Q5_0, 8),
    (Q5_1, "Q5_1", DType::Q5_1, 9),
    (Q8_0, "Q8_0", DType::Q8_0, 7),
    (Q2_K, "Q2_K", DType::Q2_K, 10),
    (Q2_K_S, "Q2_K_S", DType::Q2_K, 21),
    (Q3_K_S, "Q3_K_S", DType::Q3_K, 11),
    (Q3_K_M, "Q3_K_M", DType::Q3_K, 12),
    (Q3_K_L, "Q3_K_L", DType::Q3_K, 13),
    (Q4_K_S, "Q4_K_S", DType::Q4_K, 14),
    (Q4_K_M, "Q4_K_M", DType::Q4_K, 15),
    (Q5_K_S, "Q5_K_S", DType::Q5_K, 16),
    (Q5_K_M, "Q5_K_M", DType::Q5_K, 17),
    (Q6_K, "Q6_K", DType::Q6_K, 18),
    (IQ1_S, "IQ1_S", DType::IQ1_S, 24),
    (IQ1_M, "IQ1_M", DType::IQ1_M, 31),
    (IQ2_XXS, "IQ2_XXS", DType::IQ2_XXS, 19),
    (IQ2_XS, "IQ2_XS", DType::IQ2_XS, 20),
    // The smaller one of the two whose names have the type IQ2_S has it in few matrices.
    (IQ2_S, "IQ2_S", DType::IQ2_XS, 28),
    (IQ2_M, "IQ2_M", DType::IQ2_S, 29),
    (IQ3_XXS, "IQ3_XXS", DType::IQ3_XXS, 23),
    (IQ3_XS, "IQ3_XS", DType::IQ3_S, 22),
    (IQ3_S, "IQ3_S", DType::IQ3_S, 26),
    (IQ3_M, "IQ3_M", DType::IQ3_S, 27),
    (IQ4_NL, "IQ4_NL", DType::IQ4_NL, 25),
    (IQ4_XS, "IQ4_XS", DType::IQ4_XS, 30),
    (TQ1_0, "TQ1_0", DType::TQ1_0, 36),
    (TQ2_0, "TQ2_0", DType::TQ2_0, 37),
];

impl Mix {
    /// The names of all mixes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|row| row.1)
    }

    fn row(self) -> &'static (Mix, &'static str, DType, u32) {
        ALL.iter().find(|row| row.0 == self).unwrap_or(&ALL[0])
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The type of most of its matrices.
    pub fn dtype(self) -> DType {
        self.row().2
    }

    /// Its number in `general.file_type`.
    pub fn file_type(self) -> u32 {
        self.row().3
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ALL.iter().find(|row| row.1.eq_ignore_ascii_case(text));
        found.map(|row| row.0).ok_or_else(|| format!("there is no mix '{text}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_mix_has_a_row() {
        for (mix, name, dtype, number) in ALL {
            assert_eq!((mix.name(), mix.dtype(), mix.file_type()), (name, dtype, number));
            assert_eq!(name.to_lowercase().parse(), Ok(mix));
            assert_eq!(format!("{mix:?}"), name);
        }
        let numbers: HashSet<u32> = ALL.iter().map(|row| row.3).collect();
        assert_eq!(numbers.len(), ALL.len());
        assert!("Q4_K".parse::<Mix>().is_err());
    }
}
