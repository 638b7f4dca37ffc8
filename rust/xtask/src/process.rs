//! Runs programs: with a log and a time limit, or for their output.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A command line, its folder and its environment.
#[derive(Clone)]
pub struct Cmd {
    program: OsString,
    args: Vec<OsString>,
    dir: Option<PathBuf>,
    envs: Vec<(OsString, Option<OsString>)>,
    limit: Duration,
}

/// The result of a logged command.
pub struct Output {
    /// Exit status 0.
    pub ok: bool,
    /// The exit status in words, for messages.
    pub status: String,
    /// Standard output and error, interleaved as they arrived.
    pub text: String,
}

impl Cmd {
    /// A program, looked up in PATH if its name has no slash.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        // Long enough for a clean build of all sanitized programs on a machine that does other work as well. A build
        // does not hang as a test can, so the limit only keeps a broken tool from blocking a machine for good.
        let limit = Duration::from_secs(2 * 60 * 60);
        Self { program: program.as_ref().to_owned(), args: Vec::new(), dir: None, envs: Vec::new(), limit }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds several arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// The folder to run in.
    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_path_buf());
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.envs.push((name.into(), Some(value.as_ref().to_owned())));
        self
    }

    /// Sets several environment variables.
    pub fn envs(self, envs: &[(&str, &str)]) -> Self {
        envs.iter().fold(self, |cmd, (name, value)| cmd.env(name, value))
    }

    /// Removes an environment variable.
    pub fn env_remove(mut self, name: &str) -> Self {
        self.envs.push((name.into(), None));
        self
    }

    /// Changes the time limit.
    pub fn limit(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// The line that repeats the command, with the variables that were set.
    pub fn describe(&self) -> String {
        let mut line = String::new();
        if let Some(dir) = &self.dir {
            line += &format!("cd {} && ", quoted(dir.as_os_str()));
        }
        for (name, value) in self.envs.iter().filter_map(|(n, v)| v.as_ref().map(|v| (n, v))) {
            line += &format!("{}={} ", name.to_string_lossy(), quoted(value));
        }
        line += &quoted(&self.program);
        for arg in &self.args {
            line += &format!(" {}", quoted(arg));
        }
        line
    }

    /// The command as JSON, for programs that run it: `argv`, `dir` or null, and `envs`, pairs of a name and a value or
    /// null.
    pub fn json(&self) -> String {
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let argv: Vec<String> = [&self.program].into_iter().chain(&self.args).map(text).collect();
        let envs: Vec<_> = self.envs.iter().map(|(name, value)| (text(name), value.as_ref().map(text))).collect();
        serde_json::json!({ "argv": argv, "dir": self.dir, "envs": envs }).to_string()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::null());
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        for (name, value) in &self.envs {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// The standard output of a command that must succeed; if it fails, the message has its error output.
    pub fn capture(&self) -> Result<String, String> {
        let out = self.command().output().map_err(|e| format!("{}: {e}", self.program.to_string_lossy()))?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        if out.status.success() {
            return Ok(text);
        }
        let errors = String::from_utf8_lossy(&out.stderr);
        Err(format!("{}: {}\n{text}{errors}", self.describe(), out.status))
    }

    /// Runs the command with both outputs appended to `log`.
    pub fn logged(&self, log: &Path) -> Result<Output, String> {
        let fail = |e: std::io::Error| format!("{}: {e}", log.display());
        let mut file = OpenOptions::new().create(true).append(true).open(log).map_err(fail)?;
        writeln!(file, "\n$ {}", self.describe()).map_err(fail)?;
        let start = file.seek(SeekFrom::End(0)).map_err(fail)?;
        let (out, err) = (file.try_clone().map_err(fail)?, file.try_clone().map_err(fail)?);
        let child = self
            .command()
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|e| format!("{}: {e}", self.program.to_string_lossy()))?;
        let status = wait(child, self.limit).map_err(fail)?;
        let mut bytes = Vec::new();
        let mut file = File::open(log).map_err(fail)?;
        file.seek(SeekFrom::Start(start)).map_err(fail)?;
        file.read_to_end(&mut bytes).map_err(fail)?;
        Ok(Output {
            ok: status.is_some_and(|s| s.success()),
            status: status.map_or(format!("stopped after {} s", self.limit.as_secs()), |s| s.to_string()),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }
}

/// None if the time ran out and the child was killed.
fn wait(mut child: Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_=./,:+%@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// The processor seconds of all commands that have ended, with their children; None if the system does not say. On a
/// shared machine they mean more than the elapsed time.
pub fn processor_seconds() -> Option<f64> {
    const TICKS: f64 = 100.0; // per second: Linux has always reported this to user space, whatever its clock
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name, in parentheses, may contain anything; cutime and cstime are fields 16 and 17, which are 14
    // and 15 after the name.
    let behind = stat.rsplit_once(')')?.1;
    let ticks: Vec<f64> = behind.split_whitespace().skip(13).take(2).map_while(|field| field.parse().ok()).collect();
    (ticks.len() == 2).then(|| ticks.iter().sum::<f64>() / TICKS)
}

/// The program's path, if it is in PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{processor_seconds, Cmd};

    #[test]
    fn the_processor_seconds_of_commands_are_counted() {
        let before = processor_seconds().unwrap();
        let count = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
        Cmd::new("sh").args(["-c", count]).capture().unwrap();
        let took = processor_seconds().unwrap() - before;
        assert!(took > 0.0, "{took}");
    }
}
