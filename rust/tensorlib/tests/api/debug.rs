//! Every public type can be formatted without blocking: formatting that takes a lock twice would
//! never return.

use std::fmt::Debug;
use std::sync::mpsc;
use std::time::Duration;
use tensorlib::nn::{loss, Dropout, Init, Linear, Parameters, Pass, RmsNorm, Sequential};
use tensorlib::train::{Column, DataSet, OptimiserOptions, Random, Trainer};
use tensorlib::{Backend, BackendOptions, Context, ContextOptions, DType, Error, GgufWriter, Graph, Tensor};

/// The formatted text; panics after a minute.
fn formatted<T: Debug + Send + 'static>(value: T) -> String {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(format!("{value:?}\n{value:#?}")));
    let text = receiver.recv_timeout(Duration::from_secs(60));
    text.unwrap_or_else(|_| panic!("{} is still being formatted", std::any::type_name::<T>()))
}

#[test]
fn handles_and_options() {
    let (cpu, ctx) = (Backend::cpu().unwrap(), Context::new());
    let t = ctx.tensor([2], &[1., 2.]).unwrap();
    let sum = t.add(&t).unwrap();
    let graph = Graph::new(&[&sum]).unwrap();
    cpu.compute(&[&sum]).unwrap();
    assert!(formatted(cpu).contains("cpu"));
    assert!(formatted(t.clone()).contains('2'));
    for text in [
        formatted(ctx),
        formatted(graph),
        formatted(BackendOptions::new()),
        formatted(ContextOptions::new()),
        formatted(DType::F32),
        formatted(Error::msg("text")),
        formatted(tensorlib::devices()),
        formatted(tensorlib::GluOptions::new()),
    ] {
        assert!(!text.trim().is_empty());
    }
    let path = std::env::temp_dir().join(format!("tensorlib-debug-{}.gguf", std::process::id()));
    formatted(GgufWriter::create(&path).unwrap());
    let guard = t.read_guard::<f32>().unwrap();
    assert!(!format!("{guard:?}").is_empty());
}

#[test]
fn layers_and_training() {
    let parameters = Parameters::new(1);
    let linear = Linear::new(&parameters.scope("l"), 2, 2).unwrap();
    assert!(formatted(parameters.clone()).contains("2 tensors, 6 elements"));
    formatted(RmsNorm::new(&parameters.scope("n"), 2).unwrap());
    formatted(Dropout::new(0.5).unwrap());
    formatted(Sequential::new().with(Tensor::relu));
    formatted(Init::Zeros);
    formatted(Pass::evaluation());
    formatted(Random::new(1, 2));
    let set = DataSet::new(Column::f32([2], vec![0., 1.]), Column::i32([], vec![0])).unwrap();
    formatted(set);
    let cpu = Backend::cpu().unwrap();
    formatted(OptimiserOptions::adamw(0.1));
    let options = OptimiserOptions::adamw(0.1);
    let trainer = Trainer::new(&cpu, &linear, options.build(&parameters).unwrap(), loss::cross_entropy);
    assert!(!format!("{trainer:?}").is_empty());
}
