//! `--type`: one type for all matrices, or a mix.

use super::mix::Mix;
use crate::files::types::{file_type, is_storage};
use std::fmt;
use tensorlib::DType;

/// How types are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// The same type for all matrices.
    One(DType),
    /// The types of a mix.
    Mix(Mix),
}

impl Recipe {
    /// The names that `--type` takes. One that is both a mix and a type is the mix.
    pub fn names() -> Vec<String> {
        let types = DType::ALL.into_iter().filter(|t| is_storage(*t)).map(DType::name);
        let only_types = types.filter(|name| name.parse::<Mix>().is_err());
        Mix::names().map(String::from).chain(only_types).collect()
    }

    /// What a name stands for.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name.parse() {
            Ok(mix) => Ok(Recipe::Mix(mix)),
            Err(_) => name.parse().map(Recipe::One).map_err(|e: tensorlib::Error| e.to_string()),
        }
    }

    /// The same with one type for all matrices: of a mix the type with its name, otherwise its main one.
    pub fn pure(self) -> Self {
        let Recipe::Mix(mix) = self else { return self };
        Recipe::One(mix.name().parse().unwrap_or(mix.dtype()))
    }

    /// The type of most matrices.
    pub fn dtype(self) -> DType {
        match self {
            Recipe::One(dtype) => dtype,
            Recipe::Mix(mix) => mix.dtype(),
        }
    }

    /// The number of `general.file_type`, if the format has one.
    pub fn file_type(self) -> Option<u32> {
        match self {
            Recipe::One(dtype) => file_type(dtype),
            Recipe::Mix(mix) => Some(mix.file_type()),
        }
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Recipe::One(dtype) => write!(f, "{dtype}"),
            Recipe::Mix(mix) => f.write_str(mix.name()),
        }
    }
}
