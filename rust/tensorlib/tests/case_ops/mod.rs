//! The operations of the cases by their methods. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.

use crate::case_attrs::{CaseAttrs, CaseOperands};
use tensorlib::{Result, Tensor};

/// None where it is none of these.
pub fn build(op: &str, s: &CaseOperands, _attrs: &CaseAttrs) -> Option<Result<Tensor>> {
    Some(match op {
        "add" => s[0].add(&s[1]),
        "transpose" => s[0].transpose(),
        "cont" => s[0].cont(),
        "cpy" => s[0].cpy(&s[1]),
        "dup" => s[0].dup(),
        "get_rows" => s[0].get_rows(&s[1]),
        "set_rows" => s[0].set_rows(&s[1], &s[2]),
        _ => return None,
    })
}
