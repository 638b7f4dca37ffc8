//! The encoder example, compared with vectors in float64 (encoder.py) and between languages.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tensorlib_example_tests::{first_output, folder, read, root, Ended, Program};

/// How far a printed element may be off: far above F32's errors and half of the last digit, far below the effect of a
/// missing or additional operation.
const TOLERANCE: f64 = 1e-5;
/// Between languages: one step of the last digit, which each language may round differently.
const STEP: f64 = 1.1e-6;

/// They must agree with those of other languages under the same variables.
#[test]
fn vectors() {
    let (folder, expected) = models();
    for (i, case) in list(expected, "vectors").iter().enumerate() {
        let printed = with_arguments(folder, case).succeed();
        let wanted: Vec<f64> = list(case, "vector").iter().map(|x| x.as_f64().unwrap()).collect();
        near(&parse(&printed), &wanted, TOLERANCE).unwrap_or_else(|e| panic!("case {i}, float64: {e}"));
        let other = first_output(&format!("vector {i}"), &printed);
        near(&parse(&printed), &parse(&other), STEP).unwrap_or_else(|e| panic!("case {i}, another language: {e}"));
    }
}

/// The errors: a message that names the problem, an exit status, and no output.
#[test]
fn refusals() {
    let (folder, expected) = models();
    for case in list(expected, "refused") {
        let word = case["word"].as_str().unwrap();
        let ended = with_arguments(folder, case).run();
        assert!(is_refusal(&ended, word), "{}, {word:?}: {ended:#?}", case["arguments"]);
    }
}

fn is_refusal(ended: &Ended, word: &str) -> bool {
    let begins_well = ["encoder: ", "usage: "].iter().any(|start| ended.err.starts_with(start));
    matches!(ended.code, Some(1 | 2)) && ended.out.is_empty() && begins_well && ended.err.contains(word)
}

#[test]
fn a_crash_or_a_vector_is_no_refusal() {
    let ended = |code, out: &str, err: &str| Ended { code, out: out.into(), err: err.into() };
    assert!(is_refusal(&ended(Some(1), "", "encoder: no 'x.gguf'\n"), "x.gguf"));
    assert!(!is_refusal(&ended(Some(1), "", "encoder: no file\n"), "x.gguf"));
    assert!(!is_refusal(&ended(None, "", "encoder: no 'x.gguf'\n"), "x.gguf"));
    assert!(!is_refusal(&ended(Some(1), "0.123456\n", "encoder: no 'x.gguf'\n"), "x.gguf"));
}

/// The folder of models, and the expected vectors.
fn models() -> &'static (PathBuf, Value) {
    static MODELS: OnceLock<(PathBuf, Value)> = OnceLock::new();
    MODELS.get_or_init(|| {
        let folder = folder("encoder");
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        let script = root().join("tests/examples/encoder.py");
        let status = Command::new(&python).arg(script).arg(&folder).status();
        assert!(status.as_ref().is_ok_and(|status| status.success()), "{python} encoder.py: {status:?}");
        let expected = serde_json::from_str(&read(&folder.join("expected.json"))).unwrap();
        (folder, expected)
    })
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().filter(|all| !all.is_empty()).unwrap_or_else(|| panic!("no {key} are expected"))
}

fn with_arguments(folder: &Path, case: &Value) -> Program {
    let arguments = case["arguments"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap());
    arguments.enumerate().fold(Program::under_test("encoder"), |program, (i, argument)| match i {
        0 => program.arg(folder.join(argument)),
        _ => program.arg(argument),
    })
}

/// The elements of a vector, one per line, each with six digits after the decimal point.
fn parse(printed: &str) -> Vec<f64> {
    let element = |line: &str| {
        assert!(line.split_once('.').is_some_and(|(_, digits)| digits.len() == 6), "{line:?} has no six digits");
        line.parse().unwrap_or_else(|e| panic!("{line:?}: {e}"))
    };
    printed.lines().map(element).collect()
}

fn near(got: &[f64], want: &[f64], tolerance: f64) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} elements, not {}", got.len(), want.len()));
    }
    let mut pairs = got.iter().zip(want).enumerate();
    let is_off = |off: f64| off > tolerance || off.is_nan();
    match pairs.find(|(_, (got, want))| is_off((*got - *want).abs())) {
        Some((i, (got, want))) => Err(format!("element {i} is {got}, not {want}")),
        None => Ok(()),
    }
}

#[test]
fn elements_are_compared() {
    assert_eq!(parse("0.500000\n-1.000001\n"), [0.5, -1.000001]);
    assert!(std::panic::catch_unwind(|| parse("0.5\n")).is_err());
    assert!(std::panic::catch_unwind(|| parse("x.123456\n")).is_err());
    assert!(near(&[0.5], &[0.500009], TOLERANCE).is_ok());
    assert!(near(&[0.5], &[0.50002], TOLERANCE).is_err());
    assert!(near(&[f64::NAN], &[0.5], TOLERANCE).is_err());
    assert!(near(&[0.5], &[], TOLERANCE).is_err());
}
