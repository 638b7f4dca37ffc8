//! bindings/zig against the installed prefix.

use std::path::{Path, PathBuf};

use crate::builds;
use crate::counts::Style;
use crate::isas;
use crate::process::Cmd;
use crate::suite::Run;
use crate::suites::{examples, expect};
use crate::tools;
use crate::workspace::Workspace;

pub fn run(run: &mut Run) -> Result<(), String> {
    let prefix = builds::prefix(run)?;
    let zig = Zig::new(run, &prefix)?;
    let tests = ["test", "--summary", "all"];
    run.tests("tests", Style::Zig, zig.build("bindings/zig", &tests))?;
    isas::for_each(run, |run, isa| zig.cases(run, &[("TENSORLIB_ISA", isa)]))?;
    zig.cases(run, &super::JOINED_CPUS)?;
    run.tests("digits' tests", Style::Zig, zig.build(EXAMPLE, &tests))?;
    zig.digits(run, "cpu")?;
    let program = zig.encoder(run)?;
    examples::encoder(run, "Zig", &program)?;
    let programs = [zig.built(run, "value_and_gradient")?, zig.built(run, "digits_network")?];
    examples::training(run, "Zig", |name| programs[usize::from(name == "digits_network")].clone())
}

/// The example's package.
pub const EXAMPLE: &str = "examples/zig/digits";

/// `zig build` against an installed prefix.
pub struct Zig<'a> {
    ws: &'a Workspace,
    zig: Cmd,
    prefix: PathBuf,
}

impl<'a> Zig<'a> {
    /// Installs Zig if necessary.
    pub fn new(run: &Run<'a>, prefix: &Path) -> Result<Self, String> {
        Ok(Self { ws: run.ws, zig: tools::zig()?, prefix: prefix.to_path_buf() })
    }

    /// `zig build STEP` in a folder of the tree.
    pub fn build(&self, dir: &str, step: &[&str]) -> Cmd {
        let out = self.ws.out.join("zig");
        let cmd = self.zig.clone().dir(&self.ws.root.join(dir)).arg("build").args(step);
        cmd.arg(format!("-Dprefix={}", self.prefix.display()))
            .arg("--cache-dir")
            .arg(out.join("cache"))
            .arg("--global-cache-dir")
            .arg(out.join("global"))
            .arg("--prefix")
            .arg(self.out())
    }

    /// The folder that programs are installed to.
    pub fn out(&self) -> PathBuf {
        self.ws.out.join("zig/out")
    }

    /// The cases with these variables set.
    pub fn cases(&self, run: &mut Run, envs: &[(&str, &str)]) -> Result<(), String> {
        let cases = self.build("bindings/zig", &["cases"]).envs(envs);
        run.tests(&format!("Zig cases {}", expect::title_of(envs)), Style::Cases, cases)
    }

    /// The encoder example, built.
    pub fn encoder(&self, run: &Run) -> Result<Cmd, String> {
        self.built(run, "encoder")
    }

    /// An example, built.
    fn built(&self, run: &Run, example: &str) -> Result<Cmd, String> {
        run.step(self.build(&format!("examples/zig/{example}"), &[]))?;
        Ok(self.ws.cmd(self.out().join("bin").join(example)))
    }

    /// The digits example on a device.
    pub fn digits(&self, run: &mut Run, device: &str) -> Result<(), String> {
        examples::digits_on(run, "Zig", device, &self.build(EXAMPLE, &["run"]).arg("--"))
    }
}
