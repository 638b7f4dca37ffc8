//! Parses the results that test programs print.

/// Passed, failed and skipped.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Ran and succeeded.
    pub passed: u64,
    /// Ran and failed.
    pub failed: u64,
    /// Did not run.
    pub skipped: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// A case runner's line: `cases LANGUAGE DEVICE ISA: N passed, N failed, N skipped`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseLine {
    /// `c cpu avx2`
    pub runner: String,
    /// The counts of the line.
    pub counts: Counts,
}

/// The format of a program's results.
#[derive(Clone, Copy)]
pub enum Style {
    /// GoogleTest's summary.
    GoogleTest,
    /// `test result:` lines of Rust's test harness.
    Cargo,
    /// `go test -v`.
    Go,
    /// `zig build --summary all`.
    Zig,
    /// A last line `N passed, N failed, N skipped`.
    Line,
    /// No output: the exit status alone counts, as one test.
    Status,
    /// Only case lines, which are collected from every program's output anyway.
    Cases,
}

/// The counts in a program's output; None without a summary, so that a crash is not a pass.
pub fn parse(style: Style, text: &str) -> Option<Counts> {
    match style {
        Style::GoogleTest => google_test(text),
        Style::Cargo => cargo(text),
        Style::Go => go(text),
        Style::Zig => zig(text),
        Style::Line => text.lines().rev().find_map(plain),
        Style::Status => Some(Counts { passed: 1, ..Counts::default() }),
        Style::Cases => (!case_lines(text).is_empty()).then(Counts::default),
    }
}

/// All case lines in an output; test harnesses may prefix them.
pub fn case_lines(text: &str) -> Vec<CaseLine> {
    let mut found = Vec::new();
    for line in text.lines() {
        let Some(at) = line.rfind("cases ") else { continue };
        let Some((runner, rest)) = line[at + 6..].split_once(": ") else { continue };
        if let (3, Some(counts)) = (runner.split(' ').count(), plain(rest)) {
            found.push(CaseLine { runner: runner.to_string(), counts });
        }
    }
    found
}

fn plain(line: &str) -> Option<Counts> {
    let words: Vec<&str> = line.trim().split([' ', ',']).filter(|w| !w.is_empty()).collect();
    match words[..] {
        [passed, "passed", failed, "failed", skipped, "skipped"] => {
            Some(Counts { passed: passed.parse().ok()?, failed: failed.parse().ok()?, skipped: skipped.parse().ok()? })
        }
        _ => None,
    }
}

fn google_test(text: &str) -> Option<Counts> {
    // The summary's lines have a number after the tag, a single test's line has its name.
    let number = |tag: &str| {
        text.lines().filter_map(|l| l.strip_prefix(tag)).find_map(|rest| rest.split_whitespace().next()?.parse().ok())
    };
    let passed = number("[  PASSED  ]")?;
    Some(Counts { passed, failed: number("[  FAILED  ]").unwrap_or(0), skipped: number("[  SKIPPED ]").unwrap_or(0) })
}

fn cargo(text: &str) -> Option<Counts> {
    let mut all = None;
    for line in text.lines().filter_map(|l| l.strip_prefix("test result: ")) {
        let number = |what: &str| -> u64 {
            let before = line.split(what).next().unwrap_or("").trim_end();
            before.rsplit([' ', ';']).next().and_then(|n| n.parse().ok()).unwrap_or(0)
        };
        let sum = all.get_or_insert(Counts::default());
        *sum += Counts { passed: number("passed"), failed: number("failed;"), skipped: number("ignored") };
    }
    all
}

fn go(text: &str) -> Option<Counts> {
    let number = |tag: &str| text.lines().filter(|l| l.trim_start().starts_with(tag)).count() as u64;
    let counts = Counts { passed: number("--- PASS:"), failed: number("--- FAIL:"), skipped: number("--- SKIP:") };
    (counts != Counts::default()).then_some(counts)
}

fn zig(text: &str) -> Option<Counts> {
    // "Build Summary: 7/7 steps succeeded; 31/32 tests passed; 1 skipped"
    let line = text.lines().rev().find(|l| l.contains("Build Summary:") && l.contains(" tests passed"))?;
    // Steps print "failed" before the tests do.
    let parts: Vec<&str> = line.split("; ").skip_while(|p| !p.contains("tests passed")).collect();
    let number = |what: &str| -> Option<u64> {
        let part = parts.iter().find(|p| p.trim_end().ends_with(what))?;
        part.trim_start().split([' ', '/']).next()?.parse().ok()
    };
    Some(Counts {
        passed: number("tests passed")?,
        failed: number("failed").unwrap_or(0),
        skipped: number("skipped").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(passed: u64, failed: u64, skipped: u64) -> Option<Counts> {
        Some(Counts { passed, failed, skipped })
    }

    #[test]
    fn summaries_of_each_harness() {
        let gtest = "[  SKIPPED ] A.b (0 ms)\n[  PASSED  ] 12 tests.\n[  SKIPPED ] 1 test, listed below:\n\
                     [  SKIPPED ] A.b\n[  FAILED  ] 2 tests, listed below:\n[  FAILED  ] A.c\n";
        assert_eq!(parse(Style::GoogleTest, gtest), of(12, 2, 1));
        assert_eq!(parse(Style::GoogleTest, "[ RUN      ] A.b\nSegmentation fault"), None);
        let cargo = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                     test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(parse(Style::Cargo, cargo), of(8, 2, 1));
        assert_eq!(parse(Style::Cargo, "error: could not compile"), None);
        let go = "--- PASS: TestA (0.00s)\n    --- PASS: TestA/x (0.00s)\n--- SKIP: TestB (0.00s)\n--- FAIL: TestC\n";
        assert_eq!(parse(Style::Go, go), of(2, 1, 1));
        let zig = "Build Summary: 7/9 steps succeeded; 2 failed; 30/33 tests passed; 2 skipped; 1 failed\n";
        assert_eq!(parse(Style::Zig, zig), of(30, 1, 2));
        assert_eq!(parse(Style::Line, "text\n5 passed, 1 failed, 2 skipped\n"), of(5, 1, 2));
        assert_eq!(parse(Style::Line, "5 passed"), None);
    }

    #[test]
    fn case_lines_anywhere() {
        let text = "test cases ... cases rust cpu avx2: 9 passed, 0 failed, 1 skipped\nthe cases of cpu: none\n";
        let counts = Counts { passed: 9, failed: 0, skipped: 1 };
        let bare = "cases rust cpu avx2: 9 passed, 0 failed, 1 skipped\n";
        let want = vec![CaseLine { runner: "rust cpu avx2".into(), counts }];
        assert_eq!(case_lines(bare), want);
        assert_eq!(case_lines(text), want);
        assert_eq!(parse(Style::Cases, "no line"), None);
    }
}
