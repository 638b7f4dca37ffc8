//! The examples, which tests/examples checks: this runs its tests for the programs of each language.

use std::path::Path;

use super::expect::title_of;
use crate::build_cache;
use crate::counts::Style;
use crate::isas;
use crate::process::Cmd;
use crate::python;
use crate::suite::Run;
use crate::workspace::{make_dir, remove_dir};

/// The tests of one file of tests/examples/tests, and the program that they run: the Rust example by default.
pub struct Tests<'a> {
    file: &'a str,
    filters: &'a [&'a str],
    program: Option<Cmd>,
    envs: Vec<(&'a str, &'a str)>,
    limit: Option<u64>,
}

impl<'a> Tests<'a> {
    pub fn of(file: &'a str) -> Self {
        Self { file, filters: &[], program: None, envs: Vec::new(), limit: None }
    }

    /// Only tests whose names contain one of these; `--ignored` runs those that take minutes.
    pub fn only(mut self, filters: &'a [&'a str]) -> Self {
        self.filters = filters;
        self
    }

    pub fn with(mut self, program: &Cmd) -> Self {
        self.program = Some(program.clone());
        self
    }

    /// Limits the time as that of a native test program.
    fn limited(mut self) -> Self {
        self.limit = Some(super::TEST_LIMIT);
        self
    }

    pub fn envs(mut self, envs: &[(&'a str, &'a str)]) -> Self {
        self.envs.extend(envs);
        self
    }

    pub fn run(self, run: &mut Run, title: &str) -> Result<(), String> {
        let shared = run.once("examples", |run| {
            let folder = run.ws.out.join("examples");
            remove_dir(&folder)?;
            make_dir(&folder)?;
            Ok(folder)
        })?;
        let cargo = build_cache::cargo(run.ws).args(["test", "--release", "--package", "tensorlib-example-tests"]);
        let cargo = cargo.args(["--test", self.file, "--"]).args(self.filters).envs(&self.envs);
        let cargo = cargo.env("TENSORLIB_EXAMPLES_SHARED", shared).env("PYTHON", python::system()?);
        let cargo = match &self.program {
            Some(program) => cargo.env("TENSORLIB_EXAMPLE", program.json()),
            None => cargo,
        };
        let cargo = match self.limit {
            Some(seconds) => cargo.limit(seconds),
            None => cargo,
        };
        run.tests(title.trim_end(), Style::Cargo, cargo)
    }
}

/// The example that reads digits: the known result for the good file, errors for bad ones.
pub fn digits(run: &mut Run, language: &str, program: &Cmd) -> Result<(), String> {
    Tests::of("digits").with(program).limited().run(run, &format!("{language} digits"))
}

/// The known result of the example that reads digits, on a device.
pub fn digits_on(run: &mut Run, language: &str, device: &str, program: &Cmd) -> Result<(), String> {
    let tests = Tests::of("digits").only(&["the_known_accuracy"]).with(program).limited();
    tests.envs(&[("TENSORLIB_EXAMPLE_DEVICE", device)]).run(run, &format!("{language} digits {device}"))
}

/// The encoder on each ISA, and its error messages.
pub fn encoder(run: &mut Run, language: &str, program: &Cmd) -> Result<(), String> {
    isas::for_each(run, |run, isa| vectors(run, language, program, &[("TENSORLIB_ISA", isa)]))?;
    Tests::of("encoder").only(&["refusals"]).with(program).run(run, &format!("{language} encoder: bad input"))
}

/// The encoder's vectors and error messages with these variables set.
pub fn encoder_under(run: &mut Run, language: &str, program: &Cmd, envs: &[(&str, &str)]) -> Result<(), String> {
    Tests::of("encoder").with(program).envs(envs).run(run, &format!("{language} encoder {}", title_of(envs)))
}

/// The encoder's vectors with these variables set.
pub fn vectors(run: &mut Run, language: &str, program: &Cmd, envs: &[(&str, &str)]) -> Result<(), String> {
    let tests = Tests::of("encoder").only(&["vectors"]).with(program);
    tests.envs(envs).run(run, &format!("{language} encoder {}", title_of(envs)))
}

/// The examples of gradients and of training of a language; `program` finds them by name.
pub fn training(run: &mut Run, language: &str, program: impl Fn(&str) -> Cmd) -> Result<(), String> {
    let values = Tests::of("training").only(&["value_and_gradient"]).with(&program("value_and_gradient"));
    values.limited().run(run, &format!("{language} value_and_gradient"))?;
    let network = program("digits_network");
    isas::for_each(run, |run, isa| {
        let tests = Tests::of("training").only(&["digits_network"]).with(&network);
        tests.envs(&[("TENSORLIB_ISA", isa)]).run(run, &format!("{language} digits_network {isa}"))
    })?;
    bad_digits(run, language, &network)
}

/// The network in C under a sanitizer: neither computing nor refusing leaks memory.
pub fn leakless(run: &mut Run, program: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    let program = run.ws.cmd(program).envs(envs);
    Tests::of("training").only(&["digits_network"]).with(&program).run(run, "C digits_network")?;
    bad_digits(run, "C", &program)
}

fn bad_digits(run: &mut Run, language: &str, network: &Cmd) -> Result<(), String> {
    let tests = Tests::of("digits").only(&["bad_files_are_refused"]).with(network);
    tests.run(run, &format!("{language} digits_network: bad files"))
}

/// The Rust examples of gradients and of training.
pub fn training_in_rust(run: &mut Run) -> Result<(), String> {
    Tests::of("training").only(&["value_and_gradient", "histories"]).run(run, "Rust value_and_gradient")?;
    isas::for_each(run, |run, isa| {
        let tests = Tests::of("training").only(&["digits_network"]).envs(&[("TENSORLIB_ISA", isa)]);
        tests.run(run, &format!("Rust digits_network {isa}"))
    })
}
