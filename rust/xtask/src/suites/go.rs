//! bindings/go against the installed prefix.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::builds;
use crate::counts::Style;
use crate::isas;
use crate::process::Cmd;
use crate::suite::Run;
use crate::suites::{examples, expect};
use crate::system;
use crate::tools;
use crate::workspace::Workspace;

pub fn run(run: &mut Run) -> Result<(), String> {
    let prefix = builds::prefix(run)?;
    let go = Go::new(run, &prefix)?;
    let vetted = run.step(go.at("bindings/go").args(["vet", "./..."])).map(drop);
    run.check("vet", vetted);
    let race = ["test", "-race", "-v", "./..."];
    run.tests("tests with the race detector", Style::Go, go.at("bindings/go").args(race))?;
    isas::for_each(run, |run, isa| go.cases(run, &[("TENSORLIB_ISA", isa)]))?;
    go.cases(run, &super::JOINED_CPUS)?;
    run.tests("digits' tests", Style::Go, go.at(EXAMPLE).args(["test", "-v", "./..."]))?;
    go.digits(run, "cpu")?;
    for example in ["encoder", "value_and_gradient", "digits_network"] {
        let vetted = run.step(go.at(&format!("examples/go/{example}")).args(["vet", "./..."])).map(drop);
        run.check(&format!("vet of {example}"), vetted);
    }
    let program = go.encoder(run)?;
    examples::encoder(run, "Go", &program)?;
    let programs = [go.built(run, "value_and_gradient")?, go.built(run, "digits_network")?];
    examples::training(run, "Go", |name| programs[usize::from(name == "digits_network")].clone())
}

/// The example's Go module.
pub const EXAMPLE: &str = "examples/go/digits";

/// The Go tool against an installed prefix.
pub struct Go<'a> {
    ws: &'a Workspace,
    go: PathBuf,
    prefix: PathBuf,
    cache: PathBuf,
}

impl<'a> Go<'a> {
    /// Installs Go and pkg-config if necessary.
    pub fn new(run: &Run<'a>, prefix: &Path) -> Result<Self, String> {
        let go = tools::go(run.ws)?;
        system::tool("pkg-config", "pkg-config")?;
        let cache = run.ws.out.join(format!("go-cache-{:016x}", fingerprint(prefix)?));
        Ok(Self { ws: run.ws, go, prefix: prefix.to_path_buf(), cache })
    }

    /// `go` in a folder of the tree.
    pub fn at(&self, dir: &str) -> Cmd {
        let cmd = self.ws.cmd(&self.go).dir(&self.ws.root.join(dir)).env("GOCACHE", &self.cache);
        cmd.env("PKG_CONFIG_PATH", self.prefix.join("lib/pkgconfig")).env("LD_LIBRARY_PATH", self.prefix.join("lib"))
    }

    /// The cases with these variables set.
    pub fn cases(&self, run: &mut Run, envs: &[(&str, &str)]) -> Result<(), String> {
        let cases = self.at("bindings/go").args(["test", "-count=1", "-v", "-run", "^TestCases$", "."]);
        run.tests(&format!("Go cases {}", expect::title_of(envs)), Style::Cases, cases.envs(envs))
    }

    /// The encoder example, built.
    pub fn encoder(&self, run: &Run) -> Result<Cmd, String> {
        self.built(run, "encoder")
    }

    /// An example, built.
    fn built(&self, run: &Run, example: &str) -> Result<Cmd, String> {
        let program = self.ws.out.join(format!("go-{example}"));
        run.step(self.at(&format!("examples/go/{example}")).args(["build", "-o"]).arg(&program).arg("."))?;
        Ok(self.ws.cmd(program).env("LD_LIBRARY_PATH", self.prefix.join("lib")))
    }

    /// The digits example on a device.
    pub fn digits(&self, run: &mut Run, device: &str) -> Result<(), String> {
        examples::digits_on(run, "Go", device, &self.at(EXAMPLE).args(["run", "."]))
    }
}

/// Go's cache ignores headers outside the module, so each header gets its own cache.
fn fingerprint(prefix: &Path) -> Result<u64, String> {
    let mut hasher = DefaultHasher::new();
    for file in ["include/tensorlib/tensorlib.h", "lib/pkgconfig/tensorlib.pc"] {
        std::fs::read(prefix.join(file)).map_err(|e| format!("{file}: {e}"))?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}
