//! The examples of gradients and of training, which print the same in every language.

use tensorlib_example_tests::{accuracy_of, first_output, root, Program};

/// The output of value_and_gradient: 3 x^2 + 2 and 6 x, all exact.
const VALUES: &str = "x = 2: f(x) = 14, df/dx = 12\nx = 0: f(x) = 2, df/dx = 0\n\
                      x = -1.5: f(x) = 8.75, df/dx = -9\nx = 10: f(x) = 302, df/dx = 60\n";

/// The least accuracy of digits_network, in percent: a network of this size in another library has 94.5.
const ACCURACY: f64 = 94.;

#[test]
fn value_and_gradient() {
    let printed = Program::under_test("value_and_gradient").succeed();
    assert!(printed.contains(VALUES), "{printed}");
}

/// Its accuracy is good, and its losses equal those of another language on the same ISA to the last digit.
#[test]
fn digits_network() {
    let mut program = Program::under_test("digits_network");
    // The Rust example finds its data itself.
    if std::env::var_os("TENSORLIB_EXAMPLE").is_some() {
        program = program.arg("--file").arg(root().join("examples/data/digits.csv"));
    }
    let printed = report_of(&program.succeed());
    assert!(accuracy_of(&printed) > ACCURACY, "{printed}");
    assert_eq!(printed, first_output("digits_network", &printed), "another language printed the second one");
}

/// What all languages print: a loss every ten epochs, and the accuracy. The Rust example prints its history as CSV.
fn report_of(printed: &str) -> String {
    if !printed.starts_with("epoch,") {
        return printed.into();
    }
    let mut report = String::new();
    for line in printed.lines() {
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

#[test]
fn histories_are_reported() {
    let csv = "epoch,loss,test_loss,test_accuracy,rate\n9,0.5,,,1\n10,0.25,0.5,0.9,1e-3\naccuracy 95.00 %\n";
    assert_eq!(report_of(csv), "epoch 10: loss 0.250000000000\naccuracy 95.00 %\n");
}
