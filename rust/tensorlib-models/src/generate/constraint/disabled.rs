//! Without the feature `grammar` there are no constraints.

use crate::generate::sampler::{Candidate, Logits};
use crate::Result;

/// A constraint, of which there is none.
#[derive(Debug)]
pub enum Constraint {}

impl Constraint {
    pub(in crate::generate) fn restart(&mut self) {
        match *self {}
    }

    pub(in crate::generate) fn allowed(&mut self, _: Vec<Candidate>, _: &[f32]) -> Result<Logits> {
        match *self {}
    }

    pub(in crate::generate) fn accept(&mut self, _: u32) -> Result<()> {
        match *self {}
    }

    pub(in crate::generate) fn forced(&mut self, _: usize) -> Result<Vec<u32>> {
        match *self {}
    }

    pub(in crate::generate) fn is_complete(&self) -> bool {
        match *self {}
    }
}
