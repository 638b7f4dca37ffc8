//! The examples of gradients and of training, which must print the same in every language.

use std::path::Path;

use crate::isas;
use crate::process::Cmd;
use crate::suite::Run;
use crate::suites::digits;
use crate::suites::expect::expect;

/// The output of value_and_gradient: 3 x^2 + 2 and 6 x, all exact.
const VALUES: &str = "x = 2: f(x) = 14, df/dx = 12\nx = 0: f(x) = 2, df/dx = 0\n\
                      x = -1.5: f(x) = 8.75, df/dx = -9\nx = 10: f(x) = 302, df/dx = 60\n";

/// The least accuracy of digits_network, in percent: a network of this size in another library has 94.5.
const ACCURACY: f64 = 94.;

/// Both examples of a language; `program` finds them by name, and they take `--file`.
pub fn everything(run: &mut Run, language: &str, program: impl Fn(&str) -> Cmd) -> Result<(), String> {
    values(run, language, program("value_and_gradient"));
    let network = program("digits_network");
    let with_data = network.clone().arg("--file").arg(run.ws.root.join(digits::DATA));
    isas::for_each(run, |run, isa| {
        self::network(run, language, &with_data, isa, str::to_owned);
        Ok(())
    })?;
    digits::bad(run, &format!("{language} digits_network"), &network)
}

/// value_and_gradient of a language.
pub fn values(run: &mut Run, language: &str, program: Cmd) {
    let printed = run.step(program.limit(super::TEST_LIMIT)).and_then(|out| expect(&out.text, VALUES));
    run.check(&format!("{language} value_and_gradient"), printed);
}

/// digits_network of a language on an ISA: its accuracy is good, and its losses equal those of another language on that
/// ISA to the last digit. `report` extracts the output that all languages share.
pub fn network(run: &mut Run, language: &str, program: &Cmd, isa: &str, report: impl Fn(&str) -> String) {
    let program = program.clone().env("TENSORLIB_ISA", isa).limit(super::TEST_LIMIT);
    let outcome = program.capture().and_then(|printed| {
        let printed = report(&printed);
        accurate(&printed)?;
        let title = format!("digits_network {isa}");
        let first = run.once(&title, |run| {
            let path = run.ws.out.join(format!("{title}.txt"));
            std::fs::write(&path, &printed).map_err(|e| format!("{}: {e}", path.display()))?;
            Ok(path)
        })?;
        let others = std::fs::read_to_string(&first).map_err(|e| format!("{}: {e}", first.display()))?;
        if printed == others {
            return Ok(());
        }
        Err(format!("another language printed\n{others}this one\n{printed}"))
    });
    run.check(&format!("{language} digits_network {isa}"), outcome);
}

/// The network in C under a sanitizer: neither computing nor refusing leaks memory.
pub fn leakless(run: &mut Run, program: &Path, envs: &[(&str, &str)]) -> Result<(), String> {
    let program = run.ws.cmd(program).limit(super::TEST_LIMIT).envs(envs);
    let printed = program.clone().arg("--file").arg(run.ws.root.join(digits::DATA)).capture();
    run.check("C digits_network", printed.and_then(|printed| accurate(&printed)));
    digits::bad(run, "C digits_network", &program)
}

/// The history of the Rust example in the format of the other languages.
pub fn report_of_history(csv: &str) -> String {
    let mut report = String::new();
    for line in csv.lines() {
        let mut fields = line.split(',');
        let epoch = fields.next().and_then(|n| n.parse::<u32>().ok()).filter(|n| n % 10 == 0);
        if let (Some(epoch), Some(loss)) = (epoch, fields.next().and_then(|loss| loss.parse::<f64>().ok())) {
            report.push_str(&format!("epoch {epoch}: loss {loss:.12}\n"));
        } else if line.starts_with("accuracy ") {
            report.push_str(&format!("{line}\n"));
        }
    }
    report
}

/// The percentage in a last line `accuracy X %`.
pub fn accuracy_of(printed: &str) -> Option<f64> {
    printed.lines().last()?.strip_prefix("accuracy ")?.strip_suffix(" %")?.parse().ok()
}

/// Whether the last line reports enough correct answers.
fn accurate(printed: &str) -> Result<(), String> {
    match accuracy_of(printed) {
        Some(percent) if percent > ACCURACY => Ok(()),
        _ => Err(format!("'accuracy X %' with more than {ACCURACY} is not its last line:\n{printed}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{accurate, report_of_history};

    #[test]
    fn histories_are_reported() {
        let csv = "epoch,loss,test_loss,test_accuracy,rate\n9,0.5,,,1\n10,0.25,0.5,0.9,1e-3\naccuracy 95.00 %\n";
        assert_eq!(report_of_history(csv), "epoch 10: loss 0.250000000000\naccuracy 95.00 %\n");
    }

    #[test]
    fn accuracy_is_read() {
        assert!(accurate("epoch 10: loss 0.1\naccuracy 94.60 %\n").is_ok());
        assert!(accurate("accuracy 94.00 %\n").is_err() && accurate("accuracy NaN %\n").is_err());
        assert!(accurate("accuracy 99.00 %\nx\n").is_err() && accurate("").is_err());
    }
}
