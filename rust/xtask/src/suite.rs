//! Suites, and the actions that they can take.
//!
//! A suite is a function of a [`Run`]: it builds (`run.step`), runs test programs whose printed counts are added up
//! (`run.tests`), makes its own checks (`run.check`) and reports what it leaves out (`run.skip`). An error that it
//! returns counts as a failure, so `?` stops a suite that cannot continue.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use crate::counts::{case_lines, parse, CaseLine, Counts, Style};
use crate::process::{processor_seconds, Cmd, Output};
use crate::workspace::{append_file, make_dir, parallelism, remove_file, Workspace};

/// One row of the table.
pub struct Suite {
    /// The name for `--only`.
    pub name: &'static str,
    /// The description for `--list`.
    pub about: &'static str,
    /// Whether it runs with `--deep` only.
    pub deep: bool,
    /// The suite itself.
    pub run: fn(&mut Run) -> Result<(), String>,
}

/// A running suite.
pub struct Run<'a> {
    /// The source tree.
    pub ws: &'a Workspace,
    /// Builds and programs that suites share.
    pub made: &'a mut Made,
    log: PathBuf,
    line: Cell<Clock>, // when the last line was printed
    result: SuiteResult,
}

/// Builds and programs that several suites use, by name: the path of each, or why it could not be made.
pub type Made = HashMap<String, Result<PathBuf, String>>;

/// The result of a suite.
#[derive(Default)]
pub struct SuiteResult {
    /// The suite's name.
    pub name: String,
    /// The total counts.
    pub counts: Counts,
    /// What was skipped, and why.
    pub skips: Vec<String>,
    /// The lines of the case runners.
    pub cases: Vec<CaseLine>,
    /// Wall time.
    pub seconds: f64,
    /// The time of all processors, if the system reports it.
    pub processor_seconds: Option<f64>,
}

/// A moment, by wall time and by processor time.
#[derive(Clone, Copy)]
struct Clock {
    wall: Instant,
    processors: Option<f64>,
}

impl Clock {
    fn now() -> Self {
        Self { wall: Instant::now(), processors: processor_seconds() }
    }

    /// The seconds since then, by both clocks.
    fn since(self, then: Self) -> (f64, Option<f64>) {
        let processors = self.processors.zip(then.processors).map(|(now, then)| now - then);
        ((self.wall - then.wall).as_secs_f64(), processors)
    }
}

impl Suite {
    /// Runs the suite, and prints failures as they occur.
    pub fn execute(&self, ws: &Workspace, made: &mut Made) -> SuiteResult {
        let start = Clock::now();
        let mut run = Run::of(self.name, ws, made);
        println!("== {}: {}", self.name, self.about);
        let ended = run.start_log().and_then(|()| (self.run)(&mut run));
        if let Err(why) = ended {
            run.fail(self.name, &why);
        }
        if run.result.counts == Counts::default() {
            run.fail(self.name, "the suite counted nothing");
        }
        (run.result.seconds, run.result.processor_seconds) = Clock::now().since(start);
        run.result
    }
}

impl<'a> Run<'a> {
    /// For a command that builds as suites do, without counting.
    pub fn new(name: &str, ws: &'a Workspace, made: &'a mut Made) -> Result<Self, String> {
        let run = Self::of(name, ws, made);
        run.start_log().map(|()| run)
    }

    fn of(name: &str, ws: &'a Workspace, made: &'a mut Made) -> Self {
        let log = ws.out.join("logs").join(format!("{name}.log"));
        let result = SuiteResult { name: name.into(), ..SuiteResult::default() };
        Run { ws, made, log, line: Cell::new(Clock::now()), result }
    }

    fn start_log(&self) -> Result<(), String> {
        make_dir(&self.ws.out.join("logs"))?;
        std::fs::write(&self.log, "").map_err(|e| format!("{}: {e}", self.log.display()))
    }

    /// Runs a command that must succeed for the suite to continue; it is not counted.
    pub fn step(&self, cmd: Cmd) -> Result<Output, String> {
        let out = cmd.logged(&self.log)?;
        if out.ok {
            return Ok(out);
        }
        Err(format!("{}\n{}: {}", tail(&out.text), cmd.describe(), out.status))
    }

    /// Runs a test program and adds its counts. Output without a summary, or a bad exit status without a failed test in
    /// the summary, counts as one failure.
    pub fn tests(&mut self, title: &str, style: Style, cmd: Cmd) -> Result<(), String> {
        let out = self.timed(title.trim_end(), || cmd.logged(&self.log))?;
        self.count(title, style, &cmd, &out);
        Ok(())
    }

    /// [`Run::tests`] of several programs, as many at a time as there are processors; each is reported when it ends.
    pub fn tests_together(&mut self, style: Style, programs: &[(String, Cmd)]) -> Result<(), String> {
        let logs: Vec<PathBuf> = (0..programs.len()).map(|i| self.log.with_extension(format!("{i}.part"))).collect();
        let next = AtomicUsize::new(0);
        let (ended, results) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..parallelism().min(programs.len()) {
                let (ended, logs, next) = (ended.clone(), &logs, &next);
                scope.spawn(move || loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some((_, cmd)) = programs.get(i) else { return };
                    let start = Instant::now();
                    let out = remove_file(&logs[i]).and_then(|()| cmd.logged(&logs[i]));
                    if ended.send((i, out, start.elapsed())).is_err() {
                        return; // the suite has stopped
                    }
                });
            }
            drop(ended);
            for (i, out, took) in results {
                let (out, (title, cmd)) = (out?, &programs[i]);
                println!("   {}  {:.1} s", title.trim_end(), took.as_secs_f64());
                self.line.set(Clock::now());
                append_file(&logs[i], &self.log)?;
                self.count(title, style, cmd, &out);
            }
            Ok(())
        })
    }

    /// Adds the counts in a test program's output.
    fn count(&mut self, title: &str, style: Style, cmd: &Cmd, out: &Output) {
        let title = title.trim_end(); // the title may end with an empty ISA
        let lines = case_lines(&out.text);
        let mut counts = Counts::default();
        for line in &lines {
            counts += line.counts;
        }
        let summary = parse(style, &out.text);
        let known = summary.is_some() || !lines.is_empty(); // a runner's line is a summary too
        counts += summary.filter(|_| out.ok || !matches!(style, Style::Status)).unwrap_or_default();
        self.result.cases.extend(lines);
        self.result.counts += counts;
        if counts.skipped > 0 {
            self.note_skip(title, &skip_reasons(&out.text));
        }
        if out.ok && known && counts.failed == 0 {
            return;
        }
        if counts.failed == 0 {
            self.result.counts.failed += 1;
        }
        let why = if out.ok && !known { "no summary in its output" } else { &out.status };
        println!("{}\n   FAILED {title}: {why}\n   again: {}", tail(&out.text), cmd.describe());
    }

    /// Prints the title and, after the work, how long it took.
    pub fn timed<T>(&self, title: &str, work: impl FnOnce() -> T) -> T {
        print!("   {title}");
        let _ = std::io::stdout().flush(); // without a reader there is no reason to stop
        let result = work();
        println!("{}", self.lap());
        result
    }

    /// The seconds since the line before, if they are worth mentioning, and the processor seconds, if they differ.
    fn lap(&self) -> String {
        let now = Clock::now();
        match now.since(self.line.replace(now)) {
            (seconds, _) if seconds < 0.1 => String::new(),
            (seconds, Some(busy)) if seconds >= 10.0 => format!("  {seconds:.1} s ({busy:.0} of processors)"),
            (seconds, _) => format!("  {seconds:.1} s"),
        }
    }

    /// Counts a check of the suite itself.
    pub fn check(&mut self, title: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => {
                println!("   {title}{}", self.lap());
                self.result.counts.passed += 1;
            }
            Err(why) => self.fail(title, &why),
        }
    }

    /// Counts something that cannot run here.
    pub fn skip(&mut self, what: &str, why: &str) {
        self.result.counts.skipped += 1;
        self.note_skip(what, why);
    }

    fn note_skip(&mut self, what: &str, why: &str) {
        println!("   skipped in {what}: {why}");
        // A reason that is the same on every ISA is printed once.
        if !self.result.skips.iter().any(|said| said.ends_with(why)) {
            self.result.skips.push(format!("{what}: {why}"));
        }
    }

    fn fail(&mut self, title: &str, why: &str) {
        println!("   FAILED {title}: {why}\n   log: {}", self.log.display());
        self.result.counts.failed += 1;
    }

    /// Returns the path with this name, or makes it once and keeps it.
    pub fn once(
        &mut self,
        name: &str,
        make: impl FnOnce(&mut Self) -> Result<PathBuf, String>,
    ) -> Result<PathBuf, String> {
        if let Some(made) = self.made.get(name) {
            return made.clone().map_err(|_| format!("the build `{name}` failed before"));
        }
        let result = make(self);
        self.made.insert(name.into(), result.clone());
        result
    }
}

/// The reasons that a test program gives for its skipped tests.
fn skip_reasons(text: &str) -> String {
    let reason = |line: &'_ str| -> Option<String> {
        let line = line.trim();
        let marked = line.starts_with("--- SKIP") || line.contains("... ignored");
        line.strip_prefix("SKIP ").or(marked.then_some(line)).map(String::from)
    };
    let mut reasons: Vec<String> = text.lines().filter_map(reason).collect();
    // GoogleTest prints "file:line: Skipped", then the reason on a separate line.
    let mut lines = text.lines();
    while lines.by_ref().any(|line| line.ends_with(": Skipped")) {
        reasons.extend(lines.next().map(|why| why.trim().to_string()));
    }
    reasons.dedup();
    match reasons.len() {
        0 => "see the log".into(),
        1..=3 => reasons.join("; "),
        n => format!("{} and {} more", reasons[0], n - 1),
    }
}

/// The last lines of a failure, without ninja's `[3/345] Building ...`: a truncated CI page would show nothing else.
fn tail(text: &str) -> String {
    let progress = |line: &str| {
        let counts = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
        counts.is_some_and(|(counts, _)| counts.chars().all(|c| c.is_ascii_digit() || c == '/'))
    };
    let lines: Vec<&str> = text.lines().filter(|line| !progress(line)).collect();
    lines[lines.len().saturating_sub(60)..].iter().map(|l| format!("   | {l}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn what_failed_is_shown_without_the_steps_that_did_not() {
        let text = "[1/3] Building a.o\nFAILED: b.o\nb.cpp:1: error: no\n[3/3] Building c.o\n[ RUN ] x\n";
        assert_eq!(tail(text), "   | FAILED: b.o\n   | b.cpp:1: error: no\n   | [ RUN ] x\n");
    }
}
