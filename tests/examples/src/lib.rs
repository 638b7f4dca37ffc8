//! Runs the examples as programs, for the tests of what they print.
//!
//! A test runs the Rust example of a name, which it builds first. `cargo xtask test` runs the same tests for the
//! programs of other languages: `TENSORLIB_EXAMPLE` is the command, as JSON with `argv`, `dir` and `envs`.

use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// An example's command line.
#[derive(Clone, Debug)]
pub struct Program {
    argv: Vec<String>,
    dir: Option<String>,
    envs: Vec<(String, Option<String>)>,
}

/// What a program printed, and its exit status.
#[derive(Debug)]
pub struct Ended {
    /// The exit status; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Program {
    /// The command of `TENSORLIB_EXAMPLE`, or the Rust example of this name.
    ///
    /// # Panics
    /// If the variable is no command, or the example cannot be built.
    pub fn under_test(name: &str) -> Self {
        match std::env::var("TENSORLIB_EXAMPLE") {
            Ok(json) => Self::parsed(&json).unwrap_or_else(|| panic!("TENSORLIB_EXAMPLE is no command: {json}")),
            Err(_) => Self::example(name),
        }
    }

    /// The Rust example of this name.
    ///
    /// # Panics
    /// If it cannot be built.
    pub fn example(name: &str) -> Self {
        static BUILT: Mutex<Option<HashSet<String>>> = Mutex::new(None);
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if built.get_or_insert_with(HashSet::new).insert(name.into()) {
            let cargo = Self::cargo(&["build", "--quiet", "--release", "--package", "tensorlib", "--example", name]);
            cargo.succeed();
        }
        Self::new(&[&target().join("release/examples").join(name).to_string_lossy()])
    }

    /// A program of the package `tensorlib-cli`, with its arguments.
    pub fn tool(args: &[&str]) -> Self {
        let run = ["run", "--quiet", "--release", "--package", "tensorlib-cli", "--"];
        Self::cargo(&[&run[..], args].concat())
    }

    fn cargo(args: &[&str]) -> Self {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let mut cargo = Self::new(&[&[&cargo[..]], args].concat()).env("CARGO_TARGET_DIR", &target().to_string_lossy());
        cargo.dir = Some(root().to_string_lossy().into_owned());
        cargo
    }

    fn new(argv: &[&str]) -> Self {
        Self { argv: argv.iter().map(|word| (*word).into()).collect(), dir: None, envs: Vec::new() }
    }

    fn parsed(json: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(json).ok()?;
        let text = |value: &Value| value.as_str().map(String::from);
        let argv: Vec<String> = value["argv"].as_array()?.iter().map(text).collect::<Option<_>>()?;
        let envs = value["envs"].as_array()?.iter().map(|pair| Some((text(&pair[0])?, text(&pair[1]))));
        (!argv.is_empty()).then_some(())?;
        Some(Self { argv, dir: text(&value["dir"]), envs: envs.collect::<Option<_>>()? })
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<Path>) -> Self {
        self.argv.push(arg.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args<A: AsRef<str>>(self, args: impl IntoIterator<Item = A>) -> Self {
        args.into_iter().fold(self, |program, arg| program.arg(arg.as_ref()))
    }

    /// The program as `n` processes, started by a launcher: its program and options, separated by blanks.
    #[must_use]
    pub fn started_by(mut self, launcher: &str, n: usize) -> Self {
        let n = n.to_string();
        let words = launcher.split_ascii_whitespace().chain(["-n", &n]).map(String::from);
        self.argv = words.chain(self.argv).collect();
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.envs.push((name.into(), Some(value.into())));
        self
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn run(&self) -> Ended {
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]).stdin(Stdio::null());
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        for (name, value) in &self.envs {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let output = command.output().unwrap_or_else(|e| panic!("{:?}: {e}", self.argv));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Runs the program and returns its standard output.
    ///
    /// # Panics
    /// If it does not exit with status 0.
    pub fn succeed(&self) -> String {
        let ended = self.run();
        assert_eq!(ended.code, Some(0), "{self:?}: {ended:#?}");
        ended.out
    }

    /// Runs the program and returns its standard error.
    ///
    /// # Panics
    /// If it does not exit with status 1, or its standard error lacks these words.
    pub fn refuse(&self, words: &str) -> String {
        let ended = self.run();
        // `cargo run`, `go run` and `zig build` pass the status 1 on.
        assert_eq!(ended.code, Some(1), "{self:?}: {ended:#?}");
        assert!(ended.err.contains(words), "{words:?} is not in what {self:?} printed: {ended:#?}");
        ended.err
    }
}

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_path_buf).unwrap_or_default()
}

/// Cargo's target folder, in which this test program lies: TARGET/PROFILE/deps/PROGRAM.
fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.ancestors().nth(3).map(Path::to_path_buf).unwrap_or_default()
}

/// A fresh folder for a test's files.
///
/// # Panics
/// If it cannot be made.
pub fn folder(name: &str) -> PathBuf {
    let path = target().join("example-tests").join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    std::fs::create_dir_all(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    path
}

/// The text of a file.
///
/// # Panics
/// If it cannot be read.
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What the first program that ran this printed, in another language under the same variables; the program's own output
/// if it is the first, or if `TENSORLIB_EXAMPLES_SHARED`, the folder in which outputs are kept, is not set.
///
/// # Panics
/// If a file cannot be written or read.
pub fn first_output(title: &str, printed: &str) -> String {
    let Some(shared) = std::env::var_os("TENSORLIB_EXAMPLES_SHARED") else { return printed.into() };
    let variables = ["TENSORLIB_ISA", "TENSORLIB_DEVICE"].map(|name| std::env::var(name).unwrap_or_default());
    let path = Path::new(&shared).join(format!("{title} {}", variables.join(" ")).replace(['/', ':'], "_"));
    if !path.exists() {
        std::fs::write(&path, printed).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    read(&path)
}

/// The number before these words, in the first line that has them.
///
/// # Panics
/// If there is none.
pub fn number_before(text: &str, words: &str) -> f64 {
    let number = text.lines().find_map(|line| line.trim().split_once(words)?.0.trim().parse().ok());
    number.unwrap_or_else(|| panic!("no number before {words:?}:\n{text}"))
}

/// The percentage in a last line `accuracy X %`, as the programs that read digits print it.
///
/// # Panics
/// If there is none.
pub fn accuracy_of(printed: &str) -> f64 {
    let percent =
        printed.lines().last().and_then(|line| line.strip_prefix("accuracy ")?.strip_suffix(" %")?.parse().ok());
    percent.unwrap_or_else(|| panic!("no 'accuracy X %' in the last line:\n{printed}"))
}

/// Whether `text` has these words, in an assertion that shows the text.
///
/// # Panics
/// If it has not.
pub fn expect(text: &str, words: &str) {
    assert!(text.contains(words), "{words:?} is not in:\n{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_parsed() {
        let json = r#"{"argv": ["a", "b c"], "dir": "/tmp", "envs": [["X", "1"], ["Y", null]]}"#;
        let program = Program::parsed(json).unwrap();
        assert_eq!((program.argv.len(), program.dir.as_deref()), (2, Some("/tmp")));
        assert_eq!(program.envs, [("X".to_string(), Some("1".to_string())), ("Y".to_string(), None)]);
        for wrong in ["", "{}", r#"{"argv": [], "dir": null, "envs": []}"#, r#"{"argv": [1], "dir": null, "envs": []}"#]
        {
            assert!(Program::parsed(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_read() {
        assert_eq!(accuracy_of("epoch 10: loss 0.1\naccuracy 94.60 %\n"), 94.6);
        assert_eq!(number_before("x\n  2.5 bits a character\n", " bits"), 2.5);
        assert!(accuracy_of("accuracy NaN %\n").is_nan());
        for wrong in ["accuracy 99.00 %\nx\n", "accuracy 99.00 % of all\n", ""] {
            assert!(std::panic::catch_unwind(|| accuracy_of(wrong)).is_err(), "{wrong:?}");
        }
    }
}
