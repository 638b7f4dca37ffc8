//! The encoder example of every language, compared with vectors in float64 (tests/examples/encoder.py) and between
//! languages.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::isas;
use crate::process::Cmd;
use crate::python;
use crate::suite::Run;
use crate::suites::expect;
use crate::workspace::{make_dir, remove_dir};

/// How far a printed element may be off: far above F32's errors and half of the last digit, far below the effect of a
/// missing or additional operation.
const TOLERANCE: f64 = 1e-5;
/// Between languages: one step of the last digit, which each language may round differently.
const STEP: f64 = 1.1e-6;

/// A language's example: the vectors on each ISA, then its error messages.
pub fn everything(run: &mut Run, language: &str, program: &Cmd) -> Result<(), String> {
    isas::for_each(run, |run, isa| vectors(run, language, program, &[("TENSORLIB_ISA", isa)]))?;
    refusals(run, language, program)
}

/// The vectors and the error messages, with these variables set.
pub fn under(run: &mut Run, language: &str, program: &Cmd, envs: &[(&str, &str)]) -> Result<(), String> {
    vectors(run, language, program, envs)?;
    refusals(run, language, &program.clone().envs(envs))
}

/// The vectors with these variables set. They must agree with those of other languages under the same variables.
pub fn vectors(run: &mut Run, language: &str, program: &Cmd, envs: &[(&str, &str)]) -> Result<(), String> {
    let (folder, expected) = models(run)?;
    let title = expect::title_of(envs);
    let program = program.clone().limit(super::TEST_LIMIT).envs(envs);
    let cases = list(&expected, "vectors")?.iter().enumerate();
    let outcome = cases.map(|(i, case)| {
        let printed = with_arguments(&program, &folder, case)?.capture()?;
        near(&parse(&printed)?, &numbers(case)?, TOLERANCE, "float64")?;
        let first = run.once(&format!("vector {i} {title}"), |_| {
            let path = folder.join(format!("vector {i} {title}"));
            std::fs::write(&path, &printed).map_err(|e| format!("{}: {e}", path.display()))?;
            Ok(path)
        })?;
        near(&parse(&printed)?, &parse(&read(&first)?)?, STEP, "another language")
    });
    let outcome = outcome.collect();
    run.check(format!("{language} encoder {title}").trim_end(), outcome);
    Ok(())
}

/// The errors: a message that names the problem, an exit status, and no output.
fn refusals(run: &mut Run, language: &str, program: &Cmd) -> Result<(), String> {
    let (folder, expected) = models(run)?;
    let cases = list(&expected, "refused")?;
    let outcome = cases.iter().map(|case| {
        let word = case["word"].as_str().ok_or("a refusal without a word")?;
        match with_arguments(program, &folder, case)?.capture() {
            Ok(printed) => Err(format!("{} was accepted: {printed}", case["arguments"])),
            Err(message) => refused_well(&message, word),
        }
    });
    run.check(&format!("{language} encoder: {} bad inputs", cases.len()), outcome.collect());
    Ok(())
}

/// `message` is the command with its exit status, followed by its output, standard output first.
fn refused_well(message: &str, word: &str) -> Result<(), String> {
    let (status, printed) = message.split_once('\n').unwrap_or((message, ""));
    let known = [1, 2].iter().any(|code| status.ends_with(&format!("exit status: {code}")));
    let first = printed.lines().next().unwrap_or_default();
    if !known || !["encoder: ", "usage: "].iter().any(|start| first.starts_with(start)) {
        return Err(message.into());
    }
    expect::expect(printed, word)
}

/// The folder of models, written once per run, and the expected vectors.
fn models(run: &mut Run) -> Result<(PathBuf, Value), String> {
    let folder = run.once("encoder", |run| {
        let folder = run.ws.out.join("encoder");
        remove_dir(&folder)?;
        make_dir(&folder)?;
        run.step(run.ws.cmd(python::system()?).arg("tests/examples/encoder.py").arg(&folder))?;
        Ok(folder)
    })?;
    let expected = serde_json::from_str(&read(&folder.join("expected.json"))?).map_err(|e| e.to_string())?;
    Ok((folder, expected))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    value[key].as_array().filter(|all| !all.is_empty()).ok_or(format!("no {key} are expected"))
}

fn numbers(case: &Value) -> Result<Vec<f64>, String> {
    list(case, "vector")?.iter().map(|x| x.as_f64().ok_or(format!("{x} is no number"))).collect()
}

fn with_arguments(program: &Cmd, folder: &Path, case: &Value) -> Result<Cmd, String> {
    let arguments = case["arguments"].as_array().ok_or("no arguments")?.iter().filter_map(Value::as_str);
    Ok(arguments.enumerate().fold(program.clone(), |cmd, (i, argument)| match i {
        0 => cmd.arg(folder.join(argument)),
        _ => cmd.arg(argument),
    }))
}

/// The elements of a vector, one per line, each with six digits after the decimal point.
fn parse(printed: &str) -> Result<Vec<f64>, String> {
    let element = |line: &str| match line.split_once('.').is_some_and(|(_, digits)| digits.len() == 6) {
        true => line.parse().map_err(|e| format!("{line:?}: {e}")),
        false => Err(format!("{line:?} has no six digits behind the point")),
    };
    printed.lines().map(element).collect()
}

fn near(got: &[f64], want: &[f64], tolerance: f64, whose: &str) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} elements, {whose} has {}", got.len(), want.len()));
    }
    let mut pairs = got.iter().zip(want).enumerate();
    let is_off = |off: f64| off > tolerance || off.is_nan();
    match pairs.find(|(_, (got, want))| is_off((*got - *want).abs())) {
        Some((i, (got, want))) => Err(format!("element {i} is {got}, {whose} has {want}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_compared() {
        assert_eq!(parse("0.500000\n-1.000001\n"), Ok(vec![0.5, -1.000001]));
        assert!(parse("0.5\n").is_err() && parse("x.123456\n").is_err());
        assert!(near(&[0.5], &[0.500009], TOLERANCE, "").is_ok());
        assert!(near(&[0.5], &[0.50002], TOLERANCE, "").is_err());
        assert!(near(&[f64::NAN], &[0.5], TOLERANCE, "").is_err());
        assert!(near(&[0.5], &[], TOLERANCE, "").is_err());
    }

    #[test]
    fn a_crash_or_a_vector_is_no_refusal() {
        assert!(refused_well("encoder x.gguf 1: exit status: 1\nencoder: no 'x.gguf'\n", "x.gguf").is_ok());
        assert!(refused_well("encoder x.gguf 1: exit status: 1\nencoder: no file\n", "x.gguf").is_err());
        assert!(refused_well("encoder: signal: 11 (SIGSEGV)\nencoder: no 'x.gguf'\n", "x.gguf").is_err());
        assert!(refused_well("encoder: exit status: 1\n0.123456\nencoder: no 'x.gguf'\n", "x.gguf").is_err());
    }
}
