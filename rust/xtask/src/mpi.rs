//! The MPI libraries with which groups of processes are tested and measured.

use std::path::{Path, PathBuf};

use crate::system;

/// An MPI library and its launcher.
pub struct Mpi {
    /// For messages.
    pub name: &'static str,
    program: &'static str,
    package: &'static str,
    /// What lets it start more ranks than there are processors.
    pub options: &'static [&'static str],
    /// Its file.
    pub library: &'static str,
}

/// Debian has both side by side.
pub const ALL: [Mpi; 2] = [
    Mpi {
        name: "Open MPI",
        program: "mpirun.openmpi",
        package: "openmpi-bin",
        options: &["--oversubscribe"],
        library: "libmpi.so.40",
    },
    Mpi { name: "MPICH", program: "mpirun.mpich", package: "mpich", options: &[], library: "libmpich.so.12" },
];

/// What Open MPI needs as root in a container, where processes may not read each other's memory.
pub const ENVS: [(&str, &str); 3] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
];

impl Mpi {
    /// The path of the launcher, installed if it is missing.
    pub fn launcher(&self) -> Result<PathBuf, String> {
        system::tool(self.program, self.package)
    }

    /// The launcher with its options.
    pub fn line(&self, launcher: &Path) -> String {
        [&[launcher.to_string_lossy().as_ref()], self.options].concat().join(" ")
    }
}
