//! Checks of the examples that learn which one ISA is enough for.

use tensorlib_example_tests::{accuracy_of, folder, read, Program};

/// One seed; learning_deep.rs takes five.
#[test]
fn digits_conv_is_accurate() {
    let accuracy = accuracy_of(&Program::example("digits_conv").arg("1").succeed());
    assert!(accuracy > 98.0, "{accuracy} %");
}

/// The pictures begin and end as SVG does.
#[test]
fn pictures_are_drawn() {
    let folder = folder("pictures");
    for (name, seed) in [("linear_regression", None), ("support_vector_machine", None), ("digits_network", Some("1"))] {
        let file = folder.join(format!("{name}.svg"));
        Program::example(name).args(seed).arg(&file).succeed();
        let text = read(&file);
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n") && !text.contains("NaN"), "{name}:\n{text}");
    }
}

#[test]
fn sparse_transformer_refuses_bad_options() {
    let cases: [(&[&str], &str); 6] = [
        (&["--colour", "red"], "unknown option --colour: --seed, "),
        (&["--seed"], "--seed needs a value"),
        (&["--repeats", "0"], "--repeats 0: "),
        (&["--characters", "100"], "--characters 100: 5120 or more are valid"),
        (&["--device", "abacus"], "abacus"),
        (&["--device", "cpu:0+cpu:1+cpu:2"], "one or two are valid"),
    ];
    let program = Program::example("sparse_transformer").env("TENSORLIB_CPU_VIRTUAL_DEVICES", "3");
    for (args, words) in cases {
        program.clone().args(args).refuse(words);
    }
}
