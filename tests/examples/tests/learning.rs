//! The examples that learn, on the ISA of `TENSORLIB_ISA`, compared with independent results.

use serde_json::Value;
use tensorlib_example_tests::{accuracy_of, read, root, Program};

/// Correct answers of an established library out of 284 (linear, radial), and by how many ours may differ.
const RIGHT: [f64; 2] = [272.0, 273.0];
const OFF: f64 = 2.0;

/// The median of five seeds.
#[test]
fn digits_network_is_accurate() {
    let program = Program::example("digits_network");
    let mut all = ["1", "2", "3", "4", "5"].map(|seed| accuracy_of(&program.clone().arg(seed).succeed()));
    all.sort_by(f64::total_cmp);
    assert!(all[2] > 94.0, "the median of {all:?} is not above 94 %");
}

#[test]
fn support_vector_machines_separate() {
    let text = Program::example("support_vector_machine").succeed();
    for (name, wanted) in ["linear: ", "radial: "].into_iter().zip(RIGHT) {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.split(' ').next()?.parse::<f64>().ok());
        let is_near = found.is_some_and(|found| (found - wanted).abs() <= OFF);
        assert!(is_near, "{name}{found:?}, not {wanted} +- {OFF}:\n{text}");
    }
}

/// Both solutions of the table, and that of `--json`, compared with the closed solution in double precision.
#[test]
fn linear_regression_finds_the_least_squares() {
    let wanted = least_squares();
    let program = Program::example("linear_regression");
    let text = program.clone().arg("--json").succeed();
    let json: Value = serde_json::from_str(&text).unwrap();
    let coefficients = json["coefficients"].as_array().unwrap().iter().chain([&json["intercept"]]);
    compare("--json", &coefficients.filter_map(Value::as_f64).collect::<Vec<_>>(), &wanted);
    let table = program.succeed();
    for (column, name) in [(1, "descent"), (2, "L-BFGS")] {
        let rows = table.lines().skip(1).take(wanted.len());
        let found: Vec<f64> = rows.filter_map(|row| row.split_whitespace().nth(column)?.parse().ok()).collect();
        compare(name, &found, &wanted);
    }
}

fn compare(what: &str, found: &[f64], wanted: &[f64]) {
    let largest = wanted[..wanted.len() - 1].iter().fold(0f64, |most, x| most.max(x.abs()));
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * largest;
    assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(is_near), "{what}: {found:?}, not {wanted:?}");
}

/// Coefficients, then the intercept: normal equations of centred columns, solved by elimination.
fn least_squares() -> Vec<f64> {
    let text = read(&root().join("examples/data/diabetes.csv"));
    let row = |line: &str| line.split(',').map(|x| x.trim().parse().ok()).collect::<Option<Vec<f64>>>();
    let rows: Vec<Vec<f64>> = text.lines().filter_map(row).collect();
    let (n, width) = (rows.len() as f64, rows[0].len());
    let means: Vec<f64> = (0..width).map(|c| rows.iter().map(|row| row[c]).sum::<f64>() / n).collect();
    let product = |a: usize, b: usize| rows.iter().map(|row| (row[a] - means[a]) * (row[b] - means[b])).sum::<f64>();
    let k = width - 1;
    let mut m: Vec<Vec<f64>> = (0..k).map(|a| (0..width).map(|b| product(a, b)).collect()).collect();
    for pivot in 0..k {
        let best = (pivot..k).max_by(|a, b| m[*a][pivot].abs().total_cmp(&m[*b][pivot].abs())).unwrap_or(pivot);
        m.swap(pivot, best);
        let of_pivot = m[pivot].clone();
        for (_, row) in m.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let factor = row[pivot] / of_pivot[pivot];
            row.iter_mut().zip(&of_pivot).for_each(|(x, p)| *x -= factor * p);
        }
    }
    let mut solution: Vec<f64> = (0..k).map(|i| m[i][k] / m[i][i]).collect();
    let shift: f64 = solution.iter().zip(&means).map(|(c, mean)| c * mean).sum();
    solution.push(means[k] - shift);
    solution
}
