//! The examples that learn (tests/examples).

use super::examples::Tests;
use crate::isas;
use crate::suite::Run;
use crate::tools;

pub fn run(run: &mut Run) -> Result<(), String> {
    tools::native(run.ws)?;
    isas::for_each(run, |run, isa| {
        let envs = [("TENSORLIB_ISA", isa)];
        Tests::of("learning").envs(&envs).run(run, &format!("learning {isa}"))?;
        Tests::of("sparse_transformer").envs(&envs).run(run, &format!("sparse_transformer {isa}"))
    })?;
    Tests::of("learning_once").run(run, "pictures, options, digits_conv")
}

/// Runs that take minutes.
pub fn all(run: &mut Run) -> Result<(), String> {
    tools::native(run.ws)?;
    isas::for_each(run, |run, isa| {
        let tests = Tests::of("learning_deep").only(&["--ignored", "digits_conv"]);
        tests.envs(&[("TENSORLIB_ISA", isa)]).run(run, &format!("digits_conv {isa}"))
    })?;
    Tests::of("learning_deep").only(&["--ignored", "learns"]).run(run, "transformers")
}
