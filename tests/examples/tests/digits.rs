//! The example that reads handwritten digits: its exact result, and its errors.

use tensorlib_example_tests::{expect, folder, read, root, Program};

/// The result on every device and in every language.
const ACCURACY: &str = "accuracy 96.24 % (767 of 797)";

/// `TENSORLIB_EXAMPLE_DEVICE` names the device; the CPU is the default.
#[test]
fn the_known_accuracy() {
    let device = std::env::var("TENSORLIB_EXAMPLE_DEVICE").unwrap_or_else(|_| "cpu".into());
    let program = Program::under_test("digits").args(["--device", &device, "--threads", "2", "--file"]);
    expect(&program.arg(root().join("examples/data/digits.csv")).succeed(), ACCURACY);
}

/// A program that reads digits names the file and the line of an error in it. `digits_network` reads the same file.
#[test]
fn bad_files_are_refused() {
    let good = read(&root().join("examples/data/digits.csv"));
    let short: String = good.lines().take(900).map(|line| format!("{line}\n")).collect();
    let file = folder("digits-bad").join("bad.csv");
    let program = Program::under_test("digits").arg("--file");
    // The first line of the data is line 2, after a comment.
    for (what, text, line) in [
        ("a pixel that is a word", good.replacen("\n0,0,5,", "\n0,zero,5,", 1), "2"),
        ("a pixel of 17", good.replacen("\n0,0,0,12,", "\n0,0,17,12,", 1), "3"),
        ("a column less", good.replacen("\n0,0,5,13,", "\n0,5,13,", 1), "2"),
        ("too few rows", short, "900"),
        ("an empty file", String::new(), ""),
    ] {
        std::fs::write(&file, text).unwrap();
        let said = program.clone().arg(&file).refuse("bad.csv");
        let names_line = said.contains(&format!("bad.csv:{line}")) || said.contains(&format!("line {line}"));
        assert!(names_line, "{what}: line {line} is not in:\n{said}");
    }
    program.arg("no such file.csv").refuse("no such file.csv");
}
