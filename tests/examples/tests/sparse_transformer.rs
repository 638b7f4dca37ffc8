//! `sparse_transformer` after a few steps: dense, sparse and on two devices it has the same logits.

use tensorlib_example_tests::{expect, Program};

/// `TENSORLIB_EXAMPLE_DEVICE` names the devices; two virtual CPUs are the default.
#[test]
fn logits_are_the_same_dense_sparse_and_on_two_devices() {
    let program = Program::under_test("sparse_transformer");
    let (program, devices) = match std::env::var("TENSORLIB_EXAMPLE_DEVICE") {
        Ok(devices) => (program, devices),
        Err(_) => (program.env("TENSORLIB_CPU_VIRTUAL_DEVICES", "2"), "cpu:0+cpu:1".into()),
    };
    let out = program.args(["--characters", "5200", "--repeats", "1", "--device", &devices]).succeed();
    for (name, than) in [("dense", "the trained model"), ("sparse", "dense"), (&devices[..], "sparse")] {
        expect(&out, &format!("{name}: logits are within "));
        expect(&out, &format!(" of those of {than}, of the largest"));
    }
    for words in ["% of layer 1's neurons", "bits a character", "blocks alone: "] {
        expect(&out, words);
    }
}
