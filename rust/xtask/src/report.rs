//! Compares the case runners, and prints the table and the last line.

use std::collections::{BTreeMap, BTreeSet};

use crate::counts::Counts;
use crate::suite::SuiteResult;

/// The languages that must run the cases on each GPU of a suite; in other suites some of them run.
const LANGUAGES: [(&str, &[&str]); 3] =
    [("simt", &["c", "c++"]), ("simt-languages", &["go", "rust", "zig"]), ("cuda", &["c", "c++", "go", "rust", "zig"])];

/// Every runner on every device and ISA must have passed as many cases as the files contain, none skipped: this finds a
/// language that silently runs fewer. On a GPU all languages must have run in the suites for it, because each reaches it
/// in a different way.
pub fn compare_cases(results: &[SuiteResult], expected: u64) -> Option<SuiteResult> {
    let lines: Vec<_> = results.iter().flat_map(|r| r.cases.iter().map(move |line| (r.name.as_str(), line))).collect();
    if lines.is_empty() {
        return None;
    }
    println!("== case counts: {expected} cases in tests/cases");
    let mut row = SuiteResult { name: "case counts".into(), ..SuiteResult::default() };
    let mut languages: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (suite, line) in lines {
        let counts = line.counts;
        let equal = counts == Counts { passed: expected, ..Counts::default() };
        row.counts.passed += u64::from(equal);
        row.counts.failed += u64::from(!equal);
        let mark = if equal { "  " } else { "!!" };
        println!(
            "{mark} {}: {} passed, {} failed, {} skipped",
            line.runner, counts.passed, counts.failed, counts.skipped
        );
        if let Some((language, device)) = line.runner.split_once(' ') {
            languages.entry((suite, device)).or_default().insert(language);
        }
    }
    for ((suite, device), ran) in languages.iter().filter(|((_, device), _)| !device.starts_with("cpu ")) {
        let Some((_, wanted)) = LANGUAGES.iter().find(|(name, _)| name == suite) else { continue };
        let missing: Vec<_> = wanted.iter().filter(|l| !ran.contains(*l)).copied().collect();
        row.counts.passed += u64::from(missing.is_empty());
        row.counts.failed += u64::from(!missing.is_empty());
        if !missing.is_empty() {
            println!("!! {suite} {device}: no cases in {}", missing.join(", "));
        }
    }
    Some(row)
}

/// Prints the table and the last line; returns the totals.
pub fn print(results: &[SuiteResult]) -> Counts {
    let mut sum = Counts::default();
    let line = |name: &str, counts: Counts, seconds: f64, busy: Option<f64>, skips: &str| {
        let (run, busy) = (counts.passed + counts.failed, busy.map_or("-".into(), |busy| format!("{busy:.1}")));
        let row = format!(
            "{name:<14} {run:>7} {:>7} {:>8} {seconds:>8.1} {busy:>10}  {skips}",
            counts.failed, counts.skipped
        );
        println!("{}", row.trim_end());
    };
    println!(
        "\n{:<14} {:>7} {:>7} {:>8} {:>8} {:>10}  skipped what and why",
        "suite", "run", "failed", "skipped", "seconds", "processors"
    );
    for row in results {
        sum += row.counts;
        line(&row.name, row.counts, row.seconds, row.processor_seconds, &row.skips.join("; "));
    }
    let busy = results.iter().filter_map(|r| r.processor_seconds).reduce(|a, b| a + b);
    line("all", sum, results.iter().map(|r| r.seconds).sum(), busy, "");
    println!();
    println!("{} passed, {} failed, {} skipped", sum.passed, sum.failed, sum.skipped);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::CaseLine;

    fn row_of(lines: &[(&str, u64, u64)]) -> Counts {
        row_in("cuda", lines)
    }

    fn row_in(suite: &str, lines: &[(&str, u64, u64)]) -> Counts {
        let line = |&(runner, passed, skipped): &(&str, u64, u64)| CaseLine {
            runner: runner.into(),
            counts: Counts { passed, failed: 0, skipped },
        };
        let result =
            SuiteResult { name: suite.into(), cases: lines.iter().map(line).collect(), ..SuiteResult::default() };
        compare_cases(&[result], 9).map_or(Counts::default(), |row| row.counts)
    }

    #[test]
    fn all_cases_on_each_device_and_isa() {
        let counts = |passed, failed| Counts { passed, failed, skipped: 0 };
        assert_eq!(row_of(&[("rust cpu avx2", 9, 0), ("c cpu baseline", 9, 0)]), counts(2, 0));
        assert_eq!(row_of(&[("rust cpu avx2", 8, 1), ("c cpu baseline", 8, 0)]), counts(0, 2));
        let mut gpu = vec![
            ("c cuda:0 sm_90", 9, 0),
            ("c++ cuda:0 sm_90", 9, 0),
            ("go cuda:0 sm_90", 9, 0),
            ("rust cuda:0 sm_90", 9, 0),
            ("zig cuda:0 sm_90", 9, 0),
        ];
        assert_eq!(row_of(&gpu), counts(6, 0));
        gpu[2] = ("go cuda:0 sm_90", 8, 1);
        assert_eq!(row_of(&gpu), counts(5, 1));
        assert_eq!(row_of(&gpu[..1]), counts(1, 1), "one language of five");
        assert_eq!(row_in("sanitize", &gpu[..1]), counts(1, 0), "where no more are meant to run");
        assert_eq!(row_in("simt", &gpu[..2]), counts(3, 0), "C and C++ alone");
        assert_eq!(row_in("simt", &gpu[..1]), counts(1, 1), "C++ is missing");
        assert_eq!(row_in("simt-languages", &gpu[3..]), counts(2, 1), "Go is missing");
    }
}
