//! What a suite is, and what it may do while it runs.
//!
//! A suite is a function over a [`Run`]: it builds (`run.step`), runs test programs whose printed counts are
//! added up (`run.tests`), checks things itself (`run.check`) and names what it leaves out (`run.skip`). An
//! error that it returns is one failure more, so `?` is the way to stop where nothing further makes sense.

use std::cell::Cell;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use crate::builds::Builds;
use crate::counts::{case_lines, parse, CaseLine, Counts, Style};
use crate::process::{Cmd, Output};
use crate::workspace::{append_file, make_dir, parallelism, remove_file, Workspace};

/// One row of the table.
pub struct Suite {
    /// What `--only` takes.
    pub name: &'static str,
    /// For `--list`.
    pub about: &'static str,
    /// Runs with `--deep` only.
    pub deep: bool,
    /// The suite itself.
    pub run: fn(&mut Run) -> Result<(), String>,
}

/// A suite that runs.
pub struct Run<'a> {
    /// The source tree.
    pub ws: &'a Workspace,
    /// Builds shared with the other suites.
    pub builds: &'a mut Builds,
    log: PathBuf,
    line: Cell<Instant>, // when the last line was printed
    result: SuiteResult,
}

/// What came out.
#[derive(Default)]
pub struct SuiteResult {
    /// The suite's name.
    pub name: String,
    /// Everything that was counted.
    pub counts: Counts,
    /// What was skipped, and why.
    pub skips: Vec<String>,
    /// The case runners' lines.
    pub cases: Vec<CaseLine>,
    /// Wall time.
    pub seconds: f64,
}

impl Suite {
    /// Runs the suite, and prints its failures as they come.
    pub fn execute(&self, ws: &Workspace, builds: &mut Builds) -> SuiteResult {
        let start = Instant::now();
        let mut run = Run::of(self.name, ws, builds);
        println!("== {}: {}", self.name, self.about);
        let ended = run.start_log().and_then(|()| (self.run)(&mut run));
        if let Err(why) = ended {
            run.fail(self.name, &why);
        }
        if run.result.counts == Counts::default() {
            run.fail(self.name, "the suite counted nothing");
        }
        run.result.seconds = start.elapsed().as_secs_f64();
        run.result
    }
}

impl<'a> Run<'a> {
    /// For a command that builds as suites do, and counts nothing.
    pub fn new(name: &str, ws: &'a Workspace, builds: &'a mut Builds) -> Result<Self, String> {
        let run = Self::of(name, ws, builds);
        run.start_log().map(|()| run)
    }

    fn of(name: &str, ws: &'a Workspace, builds: &'a mut Builds) -> Self {
        let log = ws.out.join("logs").join(format!("{name}.log"));
        let result = SuiteResult { name: name.into(), ..SuiteResult::default() };
        Run { ws, builds, log, line: Cell::new(Instant::now()), result }
    }

    fn start_log(&self) -> Result<(), String> {
        make_dir(&self.ws.out.join("logs"))?;
        std::fs::write(&self.log, "").map_err(|e| format!("{}: {e}", self.log.display()))
    }

    /// Runs a command that must succeed for the suite to go on; it counts for nothing.
    pub fn step(&self, cmd: Cmd) -> Result<Output, String> {
        let out = cmd.logged(&self.log)?;
        if out.ok {
            return Ok(out);
        }
        Err(format!("{}\n{}: {}", tail(&out.text), cmd.describe(), out.status))
    }

    /// Runs a test program and adds its counts. No summary, or a bad exit status without a failed test in the
    /// summary, is one failure.
    pub fn tests(&mut self, title: &str, style: Style, cmd: Cmd) -> Result<(), String> {
        let out = self.timed(title.trim_end(), || cmd.logged(&self.log))?;
        self.count(title, style, &cmd, &out);
        Ok(())
    }

    /// [`Run::tests`] of several programs, as many at a time as there are processors; each is told of when it ends.
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
                self.line.set(Instant::now());
                append_file(&logs[i], &self.log)?;
                self.count(title, style, cmd, &out);
            }
            Ok(())
        })
    }

    /// Adds what a test program's output says.
    fn count(&mut self, title: &str, style: Style, cmd: &Cmd, out: &Output) {
        let title = title.trim_end(); // a level in it may be empty
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

    /// Says what is being done, and, when it was, how long it took.
    pub fn timed<T>(&self, title: &str, work: impl FnOnce() -> T) -> T {
        print!("   {title}");
        let _ = std::io::stdout().flush(); // nobody there to read it is no reason to stop
        let result = work();
        println!("{}", self.lap());
        result
    }

    /// The seconds since the line before, where they are worth a word.
    fn lap(&self) -> String {
        let seconds = self.line.replace(Instant::now()).elapsed().as_secs_f64();
        if seconds < 0.1 {
            String::new()
        } else {
            format!("  {seconds:.1} s")
        }
    }

    /// Counts a check of the suite's own.
    pub fn check(&mut self, title: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => {
                println!("   {title}{}", self.lap());
                self.result.counts.passed += 1;
            }
            Err(why) => self.fail(title, &why),
        }
    }

    /// Counts something that can not run here.
    pub fn skip(&mut self, what: &str, why: &str) {
        self.result.counts.skipped += 1;
        self.note_skip(what, why);
    }

    fn note_skip(&mut self, what: &str, why: &str) {
        println!("   skipped in {what}: {why}");
        // The same on every level is said once.
        if !self.result.skips.iter().any(|said| said.ends_with(why)) {
            self.result.skips.push(format!("{what}: {why}"));
        }
    }

    fn fail(&mut self, title: &str, why: &str) {
        println!("   FAILED {title}: {why}\n   log: {}", self.log.display());
        self.result.counts.failed += 1;
    }

    /// The instruction-set levels of this machine, best first.
    pub fn levels(&mut self) -> Result<Vec<String>, String> {
        let program = Builds::isa_levels(self)?;
        Ok(self.ws.cmd(program).capture()?.lines().map(String::from).collect())
    }

    /// `body` once for each of them.
    pub fn for_each_isa(&mut self, mut body: impl FnMut(&mut Self, &str) -> Result<(), String>) -> Result<(), String> {
        self.levels()?.iter().try_for_each(|isa| body(self, isa))
    }
}

/// What a test program says about its skipped tests.
fn skip_reasons(text: &str) -> String {
    let reason = |line: &'_ str| -> Option<String> {
        let line = line.trim();
        let marked = line.starts_with("--- SKIP") || line.contains("... ignored");
        line.strip_prefix("SKIP ").or(marked.then_some(line)).map(String::from)
    };
    let mut reasons: Vec<String> = text.lines().filter_map(reason).collect();
    // GoogleTest: "file:line: Skipped", then the reason on a line of its own.
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

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(60)..].iter().map(|l| format!("   | {l}\n")).collect()
}
