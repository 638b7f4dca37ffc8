//! Groups of processes, with each of the two MPI libraries that Debian has side by side. Groups of threads are in the languages' own
//! suites.

use std::path::{Path, PathBuf};

use crate::builds;
use crate::counts::Style;
use crate::mpi::{Mpi, ALL, ENVS};
use crate::process::Cmd;
use crate::suite::Run;
use crate::suites::examples::Tests;
use crate::tools;

pub fn run(run: &mut Run) -> Result<(), String> {
    let launchers: Vec<PathBuf> = ALL.iter().map(Mpi::launcher).collect::<Result<_, _>>()?;
    let programs = builds::tests(run)?.join("tests/groups");
    let mut commands = Vec::new();
    for (mpi, launcher) in ALL.iter().zip(&launchers) {
        for n in ["1", "2", "4"] {
            let cmd = command(run, launcher).args(mpi.options).args(["-n", n]).arg(programs.join("mpi_collectives"));
            commands.push((format!("{}, {n} ranks", mpi.name), cmd.arg("--gtest_color=no")));
        }
        commands.push((format!("{}, ranks that fail", mpi.name), failures(run, mpi, launcher, &programs)));
    }
    run.tests_together(Style::GoogleTest, &commands)?;
    tools::native(run.ws)?;
    for (mpi, launcher) in ALL.iter().zip(&launchers) {
        let line = mpi.line(launcher);
        let envs = [&ENVS[..], &[("TENSORLIB_TEST_MPIRUN", &line)]].concat();
        Tests::of("ranks")
            .only(&["--ignored"])
            .envs(&envs)
            .run(run, &format!("{}, training on two ranks", mpi.name))?;
        let tests = super::models::tests(run).args(["--test", "cli", "--", "--ignored", "ranks::"]).envs(&envs);
        run.tests(&format!("{}, models divided over ranks", mpi.name), Style::Cargo, tests)?;
    }
    Ok(())
}

fn command(run: &Run, program: &Path) -> Cmd {
    run.ws.cmd(program).envs(&ENVS).limit(super::TEST_LIMIT)
}

fn failures(run: &Run, mpi: &Mpi, launcher: &Path, programs: &Path) -> Cmd {
    let cmd = command(run, &programs.join("mpi_failures")).arg("--gtest_color=no");
    cmd.env("TENSORLIB_TEST_MPIRUN", mpi.line(launcher)).env("TENSORLIB_TEST_MPI", mpi.library)
}
