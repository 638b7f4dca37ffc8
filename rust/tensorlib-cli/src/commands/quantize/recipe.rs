//! `--type`: one type for all matrices, or a mix.

use super::mix::{is_mixed, order, Chooser, Mix, Model};
use super::plan::Types;
use crate::args::Quantize;
use crate::files::pattern::fits;
use crate::files::types::{file_type, is_storage};
use tensorlib::DType;
use tensorlib_models::files::Entry;

/// How types are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// One type for all matrices.
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

    /// This recipe with one type for all matrices: of a mix the type with its name, otherwise its main one.
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

    /// The types of a mix; `None` where one type is that of all matrices.
    pub fn types(self, entries: &[Entry], model: &Model, options: &Quantize) -> Option<Types> {
        let Recipe::Mix(mix) = self else { return None };
        let is_matrix = |t: &&Entry| t.dims().len() >= 2 && is_mixed(&t.name);
        let mut matrices: Vec<&Entry> = entries.iter().filter(is_matrix).collect();
        // The rule counts matrices, and files may have them in any order.
        matrices.sort_by_key(|t| order(&t.name));
        // As in llama.cpp, a tensor whose type is given does not count.
        matrices.retain(|t| !options.keep.iter().any(|k| fits(&k.pattern, &t.name)));
        let mut chooser = Chooser::new(mix, model, options.importance.is_some());
        let types = matrices.into_iter().map(|t| (t.name.clone(), chooser.next(&t.name, t.row()))).collect();
        Some(Types { types, why: format!("of the mix {}", mix.name()) })
    }

    /// The number of `general.file_type`, if the format has one.
    pub fn file_type(self) -> Option<u32> {
        match self {
            Recipe::One(dtype) => file_type(dtype),
            Recipe::Mix(mix) => Some(mix.file_type()),
        }
    }
}
