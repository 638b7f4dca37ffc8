//! The operands and attributes (KEY=VALUE) of a case's operation. An absent attribute is 0, which stands for its
//! default.

use std::collections::HashMap;
use std::ops::Index;
use std::sync::OnceLock;
use tensorlib::{Context, DType, Group, Tensor};

pub struct CaseOperands<'a> {
    /// Used by operations without operands.
    pub context: &'a Context,
    /// `None` for an operand that is left out.
    pub operands: Vec<Option<&'a Tensor>>,
}

impl<'a> CaseOperands<'a> {
    // No operation has optional operands yet.
    #[allow(dead_code)]
    pub fn if_given(&self, i: usize) -> Option<&'a Tensor> {
        self.operands[i]
    }

    pub fn all(&self) -> Vec<&'a Tensor> {
        self.operands.iter().map(|operand| operand.expect("no operand is left out")).collect()
    }
}

impl Index<usize> for CaseOperands<'_> {
    type Output = Tensor;

    fn index(&self, i: usize) -> &Tensor {
        self.operands[i].unwrap_or_else(|| panic!("operand {i} is left out, and is not optional"))
    }
}

pub struct CaseAttrs<'a>(HashMap<&'a str, &'a str>);

// The current operations do not use every one of these.
#[allow(dead_code)]
impl<'a> CaseAttrs<'a> {
    pub fn new(words: &[&'a str]) -> Self {
        Self(words.iter().filter_map(|word| word.split_once('=')).collect())
    }

    pub fn ints(&self, name: &str) -> Vec<i64> {
        self.0.get(name).map_or(Vec::new(), |value| value.split(',').map(crate::number).collect())
    }

    pub fn integer(&self, name: &str) -> i64 {
        self.0.get(name).map_or(0, |value| crate::number(value))
    }

    pub fn number(&self, name: &str) -> f64 {
        self.0.get(name).map_or(0.0, |value| crate::number(value))
    }

    pub fn dtype(&self, name: &str) -> DType {
        self.0.get(name).and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name}: no type"))
    }

    pub fn list<const N: usize>(&self, name: &str) -> [i64; N] {
        match &self.ints(name)[..] {
            [] => [0; N],
            given => given.try_into().unwrap_or_else(|_| panic!("{name}: {N} values were expected")),
        }
    }

    /// The only group of the cases: that of one rank.
    pub fn group(&self) -> &'static Group {
        static SELF: OnceLock<Group> = OnceLock::new();
        SELF.get_or_init(|| Group::create("self").expect("a group of one rank"))
    }

    /// The attributes `dims` and `keep`.
    pub fn dims(&self) -> tensorlib::Dims {
        let dims: Vec<usize> = self.ints("dims").iter().map(|&d| usize::try_from(d).expect("a dimension")).collect();
        let dims = tensorlib::Dims::from(&dims[..]);
        if self.integer("keep") != 0 {
            dims.keep()
        } else {
            dims
        }
    }

    /// "" if it is absent.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).copied().unwrap_or_default()
    }
}
