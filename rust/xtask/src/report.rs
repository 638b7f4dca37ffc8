//! The comparison of the case runners, the table, the last line.

use crate::counts::Counts;
use crate::suite::SuiteResult;

/// Every runner on every level must have passed as many cases as there are in the files, none skipped on the
/// CPU: a language that silently runs less is found here.
pub fn compare_cases(results: &[SuiteResult], expected: u64) -> Option<SuiteResult> {
    let lines: Vec<_> = results.iter().flat_map(|r| &r.cases).collect();
    if lines.is_empty() {
        return None;
    }
    println!("== case counts: {expected} cases in tests/cases");
    let mut row = SuiteResult { name: "case counts".into(), ..SuiteResult::default() };
    for line in lines {
        let counts = line.counts;
        let accounted = counts.passed + counts.failed + counts.skipped == expected;
        let on_cpu = line.runner.split(' ').nth(1) == Some("cpu");
        let equal = accounted && (!on_cpu || counts.passed == expected);
        row.counts.passed += u64::from(equal);
        row.counts.failed += u64::from(!equal);
        let mark = if equal { "  " } else { "!!" };
        println!(
            "{mark} {}: {} passed, {} failed, {} skipped",
            line.runner, counts.passed, counts.failed, counts.skipped
        );
    }
    Some(row)
}

/// Prints the table and the last line; returns the sums.
pub fn print(results: &[SuiteResult]) -> Counts {
    let mut sum = Counts::default();
    println!("\n{:<12} {:>7} {:>7} {:>8} {:>8}  skipped what and why", "suite", "run", "failed", "skipped", "seconds");
    for row in results {
        let counts = row.counts;
        sum += counts;
        println!(
            "{:<12} {:>7} {:>7} {:>8} {:>8.1}  {}",
            row.name,
            counts.passed + counts.failed,
            counts.failed,
            counts.skipped,
            row.seconds,
            row.skips.join("; ")
        );
    }
    let seconds: f64 = results.iter().map(|r| r.seconds).sum();
    println!("{:<12} {:>7} {:>7} {:>8} {:>8.1}\n", "all", sum.passed + sum.failed, sum.failed, sum.skipped, seconds);
    println!("{} passed, {} failed, {} skipped", sum.passed, sum.failed, sum.skipped);
    sum
}
