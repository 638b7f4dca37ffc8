//! Layers and losses of `tensorlib::nn` compared with PyTorch's in float64: outputs, and gradients of inputs and
//! parameters. `tests/training/pytorch_layers.py` made the values.

use std::collections::BTreeMap;
use std::path::Path;
use tensorlib::nn::metrics::{self, Average};
use tensorlib::nn::{
    loss, mask, BatchNorm, ConvTranspose1d, ConvTranspose2d, Gru, Init, Linear, Lstm, LstmState, MaxPool1d, MaxPool2d,
    Module, MultiHeadAttention, Parameters, Pass, RecurrentOptions, TransformerDecoderLayer, TransformerEncoderLayer,
    TransformerOptions, Upsample,
};
use tensorlib::{safetensors, Backend, Context, Graph, Result, Tensor};

/// Half a unit in the last place of F32, relative to the number.
const ROUNDING: f64 = 1. / (1 << 24) as f64;

/// How many roundings an element of a gradient accumulates: the longest path, through the two layers of `lstm`, passes
/// 8 cells forward and back, each with about 12 elementwise operations and sums of 28 products. Rounding errors are
/// equally often up and down, so n of them together have the deviation sqrt(n); this is 6 deviations of
/// 8 * 2 * (12 + 28).
const ROUNDINGS: f64 = 152.;

fn file() -> safetensors::File {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/training/pytorch_layers.safetensors");
    safetensors::read(&Context::new(), path).unwrap()
}

/// A case of the file: its inputs and what PyTorch computed from them.
struct Case {
    name: String,
    /// Tensors by `KIND/NAME`.
    values: BTreeMap<String, Tensor>,
}

impl Case {
    fn open(name: &str) -> Self {
        let prefix = format!("{name}/");
        let named = |t: Tensor| t.name().strip_prefix(&prefix).map(|key| (key.to_string(), t.clone()));
        let values: BTreeMap<_, _> = file().tensors.into_iter().filter_map(named).collect();
        assert!(!values.is_empty(), "the file has no case {name}");
        Self { name: name.into(), values }
    }

    fn value(&self, key: &str) -> &Tensor {
        self.values.get(key).unwrap_or_else(|| panic!("{} has no {key}", self.name))
    }

    fn names(&self, kind: &str) -> Vec<String> {
        self.values.keys().filter_map(|key| key.strip_prefix(&format!("{kind}/")).map(String::from)).collect()
    }

    /// An input; its shape is PyTorch's reversed.
    fn input(&self, name: &str) -> Tensor {
        self.value(&format!("in/{name}")).clone()
    }

    /// Compares the outputs with the file's, and the gradients of inputs and parameters.
    fn check(&self, parameters: &Parameters, outputs: &[(&str, Tensor)]) {
        self.check_updates(parameters, outputs, &[]);
    }

    /// [`Case::check`], and compares the buffers that these nodes write.
    fn check_updates(&self, parameters: &Parameters, outputs: &[(&str, Tensor)], updates: &[Tensor]) {
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        assert_eq!(sorted(parameters.names()), self.names("par"), "{}", self.name);
        assert_eq!(sorted(outputs.iter().map(|(name, _)| name.to_string()).collect()), self.names("out"));
        for parameter in parameters.tensors() {
            let value = self.value(&format!("par/{}", parameter.name()));
            assert_eq!(parameter.shape(), value.shape(), "{}: {}", self.name, parameter.name());
            parameter.write(&value.to_vec::<f32>().unwrap()).unwrap();
        }
        let buffers = parameters.buffers();
        assert_eq!(sorted(buffers.iter().map(Tensor::name).collect()), self.names("before"), "{}", self.name);
        for buffer in &buffers {
            // Not of one type: counts are integers.
            buffer.write_f32(&self.value(&format!("before/{}", buffer.name())).to_f32_vec().unwrap()).unwrap();
        }
        let names = self.names("grad");
        assert!(!names.is_empty(), "{}", self.name);
        let leafs: Vec<Tensor> = names
            .iter()
            .map(|name| parameters.get(name).unwrap_or_else(|| self.value(&format!("in/{name}")).clone()))
            .collect();
        let gradients = self.gradients(outputs, &leafs).unwrap();
        let mut found: Vec<(String, &Tensor)> =
            outputs.iter().map(|(name, output)| (format!("out/{name}"), output)).collect();
        found.extend(names.iter().map(|name| format!("grad/{name}")).zip(&gradients));
        let all: Vec<&Tensor> = found.iter().map(|(_, tensor)| *tensor).chain(updates).collect();
        let graph = Graph::new(&all).unwrap();
        graph.compute(&Backend::cpu().unwrap()).unwrap();
        found.extend(buffers.iter().map(|buffer| (format!("after/{}", buffer.name()), buffer)));
        found.iter().for_each(|(key, tensor)| self.compare(key, tensor));
    }

    /// The gradients of the sum of all elements of the outputs, each times its seed.
    fn gradients(&self, outputs: &[(&str, Tensor)], leafs: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut total: Option<Tensor> = None;
        for (name, output) in outputs {
            let term = output.mul(self.value(&format!("seed/{name}")))?.sum(..)?;
            total = Some(match total {
                Some(total) => total.add(&term)?,
                None => term,
            });
        }
        total.expect("an output").gradients(&leafs.iter().collect::<Vec<_>>())
    }

    fn compare(&self, key: &str, found: &Tensor) {
        let wanted = self.value(key);
        // A single number is [1] here.
        assert_eq!(found.shape(), wanted.shape(), "{}: {key}", self.name);
        let (found, wanted) = (found.to_f32_vec().unwrap(), wanted.to_f32_vec().unwrap());
        let size = wanted.iter().fold(1f64, |size, x| size.max(f64::from(x.abs())));
        for (i, (a, b)) in found.iter().zip(&wanted).enumerate() {
            let (a, b) = (f64::from(*a), f64::from(*b));
            assert!(
                (a - b).abs() <= ROUNDINGS * ROUNDING * size,
                "{}: {key}: element {i} is {a}, not {b}: {:.1} roundings",
                self.name,
                (a - b).abs() / size / ROUNDING
            );
        }
    }
}

fn pass() -> Pass {
    Pass::evaluation()
}

#[test]
fn lstm() {
    let (case, p) = (Case::open("lstm"), Parameters::new(1));
    let layer = Lstm::new(&p, RecurrentOptions::new(5, 7).layers(2)).unwrap();
    let start = LstmState { hidden: case.input("hidden"), cell: case.input("cell") };
    let (y, last) = layer.forward_from(&case.input("x"), Some(&start), &pass()).unwrap();
    case.check(&p, &[("y", y), ("hidden", last.hidden), ("cell", last.cell)]);

    let (case, p) = (Case::open("lstm_from_zeros"), Parameters::new(1));
    let layer = Lstm::new(&p, RecurrentOptions::new(3, 2)).unwrap();
    let (y, last) = layer.forward_from(&case.input("x"), None, &pass()).unwrap();
    case.check(&p, &[("y", y), ("hidden", last.hidden), ("cell", last.cell)]);
}

#[test]
fn recurrent_layers_in_both_directions() {
    let options = RecurrentOptions::new(5, 3).layers(2).bidirectional();
    let (case, p) = (Case::open("lstm_bidirectional"), Parameters::new(1));
    let layer = Lstm::new(&p, options).unwrap();
    let start = LstmState { hidden: case.input("hidden"), cell: case.input("cell") };
    let (y, last) = layer.forward_from(&case.input("x"), Some(&start), &pass()).unwrap();
    case.check(&p, &[("y", y), ("hidden", last.hidden), ("cell", last.cell)]);

    let (case, p) = (Case::open("gru_bidirectional"), Parameters::new(1));
    let layer = Gru::new(&p, options).unwrap();
    let (y, last) = layer.forward_from(&case.input("x"), None, &pass()).unwrap();
    case.check(&p, &[("y", y), ("hidden", last)]);
}

#[test]
fn gru() {
    let (case, p) = (Case::open("gru"), Parameters::new(1));
    let layer = Gru::new(&p, RecurrentOptions::new(5, 7).layers(2)).unwrap();
    let (y, last) = layer.forward_from(&case.input("x"), Some(&case.input("hidden")), &pass()).unwrap();
    case.check(&p, &[("y", y), ("hidden", last)]);

    let (case, p) = (Case::open("gru_from_zeros"), Parameters::new(1));
    let layer = Gru::new(&p, RecurrentOptions::new(3, 2).layers(3)).unwrap();
    let (y, last) = layer.forward_from(&case.input("x"), None, &pass()).unwrap();
    case.check(&p, &[("y", y), ("hidden", last)]);
}

/// Checks a layer's output in training, and the buffers that it leaves.
fn check_layer(case: &Case, p: &Parameters, layer: &impl Module, pass: &Pass) {
    let y = layer.forward(&case.input("x"), pass).unwrap();
    case.check_updates(p, &[("y", y)], &pass.updates());
}

#[test]
fn attention() {
    let (case, p) = (Case::open("attention"), Parameters::new(1));
    let layer = MultiHeadAttention::new(&p, 6, 2).unwrap();
    let (x, lengths) = (case.input("x"), case.input("lengths"));
    let mask = mask::padding(&lengths, 5).unwrap().add(&mask::causal(&Context::new(), 5).unwrap()).unwrap();
    case.check(&p, &[("y", layer.attend(&x, Some(&mask), &pass()).unwrap())]);
    // With dropout the weights are nodes. This probability rounds to 0 at each draw.
    let layer = layer.dropout(1e-30).unwrap();
    let random = Context::new().tensor_of([2], &[1i64, 0]).unwrap();
    let training = Pass::training(&random).unwrap();
    case.check(&p, &[("y", layer.attend(&x, Some(&mask), &training).unwrap())]);

    let (case, p) = (Case::open("attention_to_memory"), Parameters::new(1));
    let layer = MultiHeadAttention::new(&p, 6, 3).unwrap();
    let y = layer.attend_to(&case.input("x"), &case.input("memory"), None, &pass()).unwrap();
    case.check(&p, &[("y", y)]);

    let (case, p) = (Case::open("attention_mask_of_heads"), Parameters::new(1));
    let layer = MultiHeadAttention::new(&p, 6, 2).unwrap();
    let y = layer.attend(&case.input("x"), Some(&case.input("mask")), &pass()).unwrap();
    case.check(&p, &[("y", y)]);
}

#[test]
fn transformer_layers() {
    let post_norm = TransformerOptions::new(6, 2, 7);
    let pre_norm = post_norm.norm_first().activation(Tensor::gelu_erf);
    let encoders = [(Case::open("encoder_post_norm"), post_norm), (Case::open("encoder_pre_norm"), pre_norm)];
    for (case, options) in encoders {
        let p = Parameters::new(1);
        let layer = TransformerEncoderLayer::new(&p, options).unwrap();
        let mask = mask::padding(&case.input("lengths"), 5).unwrap();
        case.check(&p, &[("y", layer.encode(&case.input("x"), Some(&mask), &pass()).unwrap())]);
    }
    let decoders = [(Case::open("decoder_post_norm"), post_norm), (Case::open("decoder_pre_norm"), pre_norm)];
    for (case, options) in decoders {
        let p = Parameters::new(1);
        let layer = TransformerDecoderLayer::new(&p, options).unwrap();
        let (x, memory) = (case.input("x"), case.input("memory"));
        let masks = (mask::causal(&Context::new(), 4).unwrap(), mask::padding(&case.input("lengths"), 5).unwrap());
        let y = layer.decode(&x, &memory, Some(&masks.0), Some(&masks.1), &pass()).unwrap();
        case.check(&p, &[("y", y)]);
    }
}

#[test]
fn batch_norm() {
    let random = Context::new().tensor_of([2], &[1i64, 0]).unwrap();
    let training = || Pass::training(&random).unwrap();
    let (case, p) = (Case::open("batch_norm_rows"), Parameters::new(1));
    check_layer(&case, &p, &BatchNorm::new(&p, 5).unwrap(), &training());
    let (case, p) = (Case::open("batch_norm_signals"), Parameters::new(1));
    check_layer(&case, &p, &BatchNorm::new(&p, 3).unwrap(), &training());
    let (case, p) = (Case::open("batch_norm_images"), Parameters::new(1));
    let mut layer = BatchNorm::new(&p, 3).unwrap();
    layer.momentum = 0.3;
    check_layer(&case, &p, &layer, &training());
    let (case, p) = (Case::open("batch_norm_evaluated"), Parameters::new(1));
    check_layer(&case, &p, &BatchNorm::new(&p, 3).unwrap(), &pass());
}

#[test]
fn a_state_of_pytorch_is_loaded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/training/pytorch_batch_norm.safetensors");
    let p = Parameters::new(1);
    Linear::new(&p.scope("0"), 2, 3).unwrap();
    let norm = BatchNorm::new(&p.scope("1"), 3).unwrap();
    p.load(path).unwrap();
    assert_eq!(norm.num_batches_tracked.to_vec::<i64>().unwrap(), [1]);
    // The batch moved the statistics from 0 and 1.
    assert!(norm.running_mean.to_f32_vec().unwrap().iter().all(|x| *x != 0. && x.abs() < 0.2));
    assert!(norm.running_var.to_f32_vec().unwrap().iter().all(|x| *x != 1. && (x - 0.95).abs() < 0.06));
}

#[test]
fn transposed_convolutions() {
    let (case, p) = (Case::open("conv_transpose_1d"), Parameters::new(1));
    let mut layer = ConvTranspose1d::new(&p, 3, 4, 3).unwrap();
    layer.options = layer.options.s(2).p(1).d(2);
    check_layer(&case, &p, &layer, &pass());
    let (case, p) = (Case::open("conv_transpose_2d"), Parameters::new(1));
    let mut layer = ConvTranspose2d::new(&p, 3, 4, 3).unwrap();
    layer.options = layer.options.stride(2).p0(1).p1(1);
    check_layer(&case, &p, &layer, &pass());
}

#[test]
fn pooling_and_upsampling() {
    let p = Parameters::new(1);
    check_layer(&Case::open("max_pool_1d"), &p, &MaxPool1d::new(3).stride(2).padding(1), &pass());
    check_layer(&Case::open("max_pool_2d"), &p, &MaxPool2d::new(3).stride(2).padding(1), &pass());
    check_layer(&Case::open("max_pool_2d_apart"), &p, &MaxPool2d::new(2), &pass());
    check_layer(&Case::open("upsample_nearest"), &p, &Upsample::nearest(3), &pass());
    check_layer(&Case::open("upsample_bilinear"), &p, &Upsample::bilinear(2), &pass());
}

/// Checks a loss of inputs by their names.
fn check_loss(case: &Case, loss: Result<Tensor>) {
    case.check(&Parameters::new(1), &[("loss", loss.unwrap())]);
}

#[test]
fn losses() {
    let case = Case::open("mse");
    check_loss(&case, loss::mse(&case.input("x"), &case.input("t")));
    let case = Case::open("huber");
    check_loss(&case, loss::huber(&case.input("x"), &case.input("t"), 0.6));
    let case = Case::open("bce");
    check_loss(&case, loss::binary_cross_entropy(&case.input("x"), &case.input("t")));
    let case = Case::open("cross_entropy");
    check_loss(&case, loss::cross_entropy(&case.input("x"), &case.input("labels")));
    let case = Case::open("nll");
    check_loss(&case, loss::nll(&case.input("x"), &case.input("labels")));
    let case = Case::open("kl_divergence");
    check_loss(&case, loss::kl_divergence(&case.input("x").log_soft_max().unwrap(), &case.input("t")));
    let case = Case::open("cosine_embedding");
    check_loss(&case, loss::cosine_embedding(&case.input("a"), &case.input("b"), &case.input("signs"), 0.1));
    let case = Case::open("triplet");
    check_loss(&case, loss::triplet(&case.input("a"), &case.input("p"), &case.input("n"), 0.3));
}

/// Metrics, computed in float64 on both sides; the file keeps them as F32.
#[test]
fn metrics_of_classes_and_scores() {
    let case = Case::open("metrics");
    let integers = |key: &str| case.value(key).to_vec::<i32>().unwrap();
    let floats = |key: &str| case.value(key).to_vec::<f32>().unwrap();
    let compare = |found: Result<f64>, name: &str| {
        let (found, wanted) = (found.unwrap(), f64::from(floats(&format!("out/{name}"))[0]));
        assert!((found - wanted).abs() <= ROUNDING * wanted && wanted > 0., "{name} is {found}, not {wanted}");
    };
    let (predicted, labels) = (metrics::predicted(&floats("in/outputs"), 5).unwrap(), integers("in/labels"));
    assert_eq!(predicted, integers("out/predicted"));
    assert!(labels.contains(&4) && !predicted.contains(&4));
    compare(metrics::accuracy(&predicted, &labels), "accuracy");
    compare(metrics::f1(&predicted, &labels, Average::Macro), "macro");
    compare(metrics::f1(&predicted, &labels, Average::Micro), "micro");
    compare(metrics::f1(&predicted, &labels, Average::Weighted), "weighted");
    let (scores, binary) = (floats("in/scores"), integers("in/binary"));
    let positive: Vec<i32> = scores.iter().map(|x| i32::from(*x > 0.4)).collect();
    compare(metrics::f1(&positive, &binary, Average::Binary), "binary");
    compare(metrics::auc(&scores, &binary), "auc");
}

/// Initialisers draw other numbers than PyTorch, from the same distributions. The deviation of 60,000 numbers is off by
/// 0.3 % with each seed, so that two differ by less than 6 sqrt(2) times that. The largest of uniform and truncated
/// numbers comes closer to the bound than 1 %.
#[test]
fn initialisers() {
    let case = Case::open("initialisers");
    let value = |name: &str| f64::from(case.value(&format!("out/{name}")).to_vec::<f32>().unwrap()[0]);
    let cases = [
        ("kaiming", Init::kaiming(150), false),
        ("kaiming_uniform", Init::kaiming_uniform(150), true),
        ("xavier", Init::xavier(150, 400), true),
        ("xavier_normal", Init::xavier_normal(150, 400), false),
        ("xavier_tanh", Init::xavier(150, 400).gain(5. / 3.), true),
        ("truncated", Init::TruncatedNormal { deviation: 0.5 }, true),
        ("orthogonal", Init::Orthogonal { gain: 1.5 }, false),
    ];
    for (name, init, is_bounded) in cases {
        let weight = Parameters::new(7).make(name, [150, 400], init).unwrap().to_vec::<f32>().unwrap();
        let weight: Vec<f64> = weight.into_iter().map(f64::from).collect();
        let deviation = (weight.iter().map(|x| x * x).sum::<f64>() / weight.len() as f64).sqrt();
        let wanted = value(&format!("{name}_deviation"));
        assert!((deviation / wanted - 1.).abs() < 0.026, "{name}: {deviation} {wanted}");
        let largest = weight.iter().fold(0., |largest: f64, x| largest.max(x.abs()));
        let wanted = value(&format!("{name}_largest"));
        assert!(!is_bounded || (largest / wanted - 1.).abs() < 0.01, "{name}: {largest} {wanted}");
    }
}

#[test]
fn each_case_of_the_file_has_a_test() {
    let source = include_str!("pytorch_layers.rs");
    for tensor in file().tensors {
        let name = tensor.name();
        let case = name.split('/').next().unwrap();
        assert!(source.contains(&format!("Case::open(\"{case}\")")), "no test opens {case}");
    }
}
