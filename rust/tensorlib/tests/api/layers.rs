//! Properties of layers that no table of values shows, and what layers refuse. `pytorch_layers.rs` compares values.

use tensorlib::nn::metrics::{self, Average};
use tensorlib::nn::{
    loss, mask, BatchNorm, Conv2d, ConvTranspose1d, ConvTranspose2d, Gru, Init, Linear, Lstm, LstmState, MaxPool1d,
    MaxPool2d, Module, MultiHeadAttention, Parameters, Pass, RecurrentOptions, Sequential, TransformerDecoderLayer,
    TransformerEncoderLayer, TransformerOptions, Upsample,
};
use tensorlib::train::{evaluate, Column, DataSet, OptimiserOptions, Trainer};
use tensorlib::{Backend, Context, DType, Error, Result, Tensor};

/// Irregular numbers between -1 and 1.
fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| (((i * 7919 + seed * 104_729 + 13) % 1009) as f32 / 504.5 - 1.) * 0.9).collect()
}

fn leaf(ctx: &Context, shape: &[i64], seed: usize) -> Tensor {
    ctx.tensor(shape, &numbers(shape.iter().product::<i64>() as usize, seed)).unwrap()
}

fn computed(t: &Tensor) -> Vec<f32> {
    t.eval(&Backend::cpu().unwrap()).unwrap().to_f32_vec().unwrap()
}

fn refused<T>(result: Result<T>, what: &str) {
    match result {
        Ok(_) => panic!("taken: {what}"),
        Err(error @ Error::InvalidArgument(_)) => assert!(error.to_string().contains(what), "{error}"),
        Err(error) => panic!("{error:?} for {what}"),
    }
}

fn pass() -> Pass {
    Pass::evaluation()
}

/// A product's last bits may depend on its number of columns. Outputs are below 1 and each step adds a few roundings,
/// so 5 steps of 2 layers stay below 64.
fn assert_near(found: &[f32], wanted: &[f32]) {
    assert_eq!(found.len(), wanted.len());
    assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 64. / (1 << 24) as f32), "{found:?} {wanted:?}");
}

/// Sequences in two parts, the second from the state after the first, give the outputs of whole sequences.
#[test]
fn recurrent_layers_continue_from_a_state() {
    let (ctx, p) = (Context::new(), Parameters::new(1));
    let x = leaf(&ctx, &[3, 5, 2], 1);
    let (begin, end) = (x.narrow(1, 0, 2).unwrap(), x.narrow(1, 2, 3).unwrap());
    let options = RecurrentOptions::new(3, 4).layers(2);

    let lstm = Lstm::new(&p.scope("lstm"), options).unwrap();
    let (first, state) = lstm.forward_from(&begin, None, &pass()).unwrap();
    let (second, _) = lstm.forward_from(&end, Some(&state), &pass()).unwrap();
    let whole = lstm.forward(&x, &pass()).unwrap();
    assert_eq!(whole.shape(), [4, 5, 2]);
    assert_near(&computed(&first.concat(&second, 1).unwrap()), &computed(&whole));

    let gru = Gru::new(&p.scope("gru"), options).unwrap();
    let (first, state) = gru.forward_from(&begin, None, &pass()).unwrap();
    let (second, _) = gru.forward_from(&end, Some(&state), &pass()).unwrap();
    let whole = gru.forward(&x, &pass()).unwrap();
    assert_near(&computed(&first.concat(&second, 1).unwrap()), &computed(&whole));

    // One sequence needs no dimension of samples.
    let single = x.select(2, 1).unwrap();
    let y = gru.forward(&single, &pass()).unwrap();
    assert_eq!(y.shape(), [4, 5]);
    assert_near(&computed(&y), &computed(&whole)[20..]);
}

#[test]
fn recurrent_layers_drop_between_layers_in_training() {
    let ctx = Context::new();
    let x = leaf(&ctx, &[3, 5, 2], 1);
    let random = ctx.tensor_of([2], &[1i64, 1]).unwrap();
    for (layers, changes) in [(1, false), (2, true)] {
        let gru = Gru::new(&Parameters::new(1), RecurrentOptions::new(3, 8).layers(layers).dropout(0.5)).unwrap();
        let evaluated = computed(&gru.forward(&x, &pass()).unwrap());
        let trained = computed(&gru.forward(&x, &Pass::training(&random).unwrap()).unwrap());
        assert_eq!(evaluated != trained, changes, "{layers} layers");
    }
}

#[test]
fn recurrent_layers_refuse_what_does_not_fit() {
    let (ctx, p) = (Context::new(), Parameters::new(1));
    refused(Lstm::new(&p, RecurrentOptions::new(0, 4)), "Lstm::new: 0 inputs, 4 units and 1 layers: 1 or more");
    refused(Gru::new(&p, RecurrentOptions::new(3, -1)), "Gru::new: 3 inputs, -1 units");
    refused(Gru::new(&p, RecurrentOptions::new(3, 4).layers(0)), "0 layers");
    refused(Lstm::new(&p, RecurrentOptions::new(3, 4).dropout(1.)), "a probability from 0 on and below 1");
    assert!(p.names().is_empty());

    let lstm = Lstm::new(&p.scope("lstm"), RecurrentOptions::new(3, 4).layers(2)).unwrap();
    let gru = Gru::new(&p.scope("gru"), RecurrentOptions::new(3, 4)).unwrap();
    let wrong = leaf(&ctx, &[2, 5, 2], 1);
    refused(lstm.forward(&wrong, &pass()), "Lstm: x is [2, 5, 2] f32: [3, steps, n] with 1 or more steps is valid");
    refused(gru.forward(&leaf(&ctx, &[3, 0, 2], 1), &pass()), "Gru: x is [3, 0, 2] f32");
    refused(gru.forward(&leaf(&ctx, &[3, 5, 2, 2], 1), &pass()), "Gru: x is [3, 5, 2, 2] f32");
    let x = leaf(&ctx, &[3, 5, 2], 1);
    let (hidden, cell) = (leaf(&ctx, &[4, 2, 2], 2), leaf(&ctx, &[4, 2], 3));
    refused(gru.forward_from(&x, Some(&hidden), &pass()), "Gru: a state is [4, 2, 2] f32: [4, 2, 1] is valid");
    let both = Gru::new(&p.scope("both"), RecurrentOptions::new(3, 4).bidirectional()).unwrap();
    refused(both.forward_from(&x, Some(&cell), &pass()), "Gru: a state is [4, 2] f32: [4, 2, 2] is valid");
    let state = LstmState { hidden, cell };
    refused(lstm.forward_from(&x, Some(&state), &pass()), "Lstm: a state is [4, 2] f32: [4, 2, 2] is valid");
}

#[test]
fn losses_refuse_what_does_not_fit() {
    let ctx = Context::new();
    let (x, other) = (leaf(&ctx, &[3, 4], 1), leaf(&ctx, &[3, 2], 2));
    let labels = ctx.tensor_of([3], &[0i32; 3]).unwrap();
    refused(loss::nll(&x, &labels), "nll: log_probabilities [3, 4], labels [3]: a label for each row");
    refused(loss::kl_divergence(&x, &other), "kl_divergence: output [3, 4], target [3, 2]: one shape");
    let signs = leaf(&ctx, &[4], 3);
    refused(loss::cosine_embedding(&x, &other, &signs, 0.), "cosine_embedding: a [3, 4], b [3, 2]: one shape");
    refused(loss::cosine_embedding(&x, &x, &labels, 0.), "rows [3, 4], signs [3]: a sign for each row");
    refused(loss::cosine_embedding(&x, &x, &signs, 1.5), "margin = 1.5: a number from -1 to 1");
    refused(loss::triplet(&x, &other, &x, 1.), "triplet: anchor [3, 4], positive [3, 2]: one shape");
    refused(loss::triplet(&x, &x, &other, 1.), "triplet: anchor [3, 4], negative [3, 2]: one shape");
    refused(loss::triplet(&x, &x, &x, 0.), "triplet: margin = 0: a positive number");
    refused(loss::triplet(&x, &x, &x, f64::INFINITY), "triplet: margin = inf");
}

/// Equal rows, rows of zeros and probabilities of 0 have a finite loss and finite gradients.
#[test]
fn losses_are_finite_at_their_edges() {
    let ctx = Context::new();
    let (x, zeros) = (leaf(&ctx, &[3, 4], 1), ctx.zeros(DType::F32, [3, 4]).unwrap());
    let signs = ctx.tensor([4], &[1., -1., 1., -1.]).unwrap();
    let losses = [
        loss::triplet(&x, &x, &x, 0.5).unwrap(),
        loss::cosine_embedding(&x, &zeros, &signs, 0.).unwrap(),
        loss::kl_divergence(&x, &zeros).unwrap(),
    ];
    for (loss, wanted) in losses.iter().zip([0.5, 0.5, 0.]) {
        let leafs: Vec<&Tensor> = [&x, &zeros].into_iter().filter(|t| loss.gradients_reach(t).unwrap()).collect();
        let gradients = loss.gradients(&leafs).unwrap();
        Backend::cpu().unwrap().compute(&gradients.iter().chain([loss]).collect::<Vec<_>>()).unwrap();
        assert!((loss.get(&[0]).unwrap() - wanted).abs() < 1e-6, "{loss:?}");
        assert!(gradients.iter().all(|g| g.to_f32_vec().unwrap().iter().all(|x| x.is_finite())), "{loss:?}");
    }
}

#[test]
fn metrics_refuse_what_does_not_fit() {
    refused(metrics::predicted(&[0.; 5], 2), "predicted: 5 outputs of 2 classes");
    refused(metrics::predicted(&[0.; 5], 0), "predicted: 5 outputs of 0 classes");
    refused(metrics::predicted(&[0., f32::NAN], 2), "predicted: number 1 is NaN");
    refused(metrics::accuracy(&[], &[]), "accuracy: 0 predictions, 0 labels");
    refused(metrics::accuracy(&[1], &[1, 0]), "accuracy: 1 predictions, 2 labels");
    refused(metrics::f1(&[1], &[1, 0], Average::Macro), "f1: 1 predictions, 2 labels");
    refused(metrics::f1(&[1, 2], &[1, 0], Average::Binary), "f1: 2: 0 and 1 are valid");
    refused(metrics::auc(&[0.5], &[1, 0]), "auc: 1 scores, 2 labels");
    refused(metrics::auc(&[0.5, f32::NAN], &[1, 0]), "auc: number 1 is NaN");
    refused(metrics::auc(&[0.5, 0.6], &[1, -1]), "auc: -1: 0 and 1 are valid");
    refused(metrics::auc(&[0.5, 0.6], &[1, 1]), "auc: 2 labels are 1 and 0 are 0");
}

#[test]
fn metrics_at_their_edges() {
    let auc = |scores: &[f32], labels: &[i32]| metrics::auc(scores, labels).unwrap();
    let infinity = f32::INFINITY;
    assert_eq!(auc(&[0., 1.], &[0, 1]), 1.);
    assert_eq!(auc(&[0., 1.], &[1, 0]), 0.);
    assert_eq!(auc(&[-0., 0.], &[1, 0]), 0.5);
    assert_eq!(auc(&[-infinity, infinity, infinity], &[0, 1, 1]), 1.);
    assert_eq!(metrics::f1(&[0, 0], &[0, 0], Average::Binary).unwrap(), 0.);
    assert_eq!(metrics::f1(&[0, 0], &[1, 1], Average::Macro).unwrap(), 0.);
    assert_eq!(metrics::predicted(&[1., 1., 0.], 3).unwrap(), [0]);
}

/// A network with batch normalisation, and its parameters.
fn normalised(seed: u64) -> (Parameters, Sequential) {
    let p = Parameters::new(seed);
    let model = Sequential::new()
        .with(Linear::new(&p.scope("hidden"), 4, 6).unwrap())
        .with(BatchNorm::new(&p.scope("norm"), 6).unwrap())
        .with(Tensor::relu)
        .with(Linear::new(&p.scope("output"), 6, 1).unwrap());
    (p, model)
}

fn samples(n: usize) -> DataSet {
    let inputs = numbers(4 * n, 1);
    let targets = inputs.chunks(4).map(|row| row[0] * row[1] - row[2]).collect();
    DataSet::new(Column::f32([4], inputs), Column::f32([1], targets)).unwrap()
}

fn trainer<'a>(cpu: &'a Backend, p: &Parameters, model: &'a Sequential) -> Trainer<'a> {
    let optimiser = OptimiserOptions::adamw(0.05).build(p).unwrap();
    Trainer::new(cpu, model, optimiser, loss::mse).batch(8).seed(3)
}

/// The bytes of all parameters and buffers.
fn bits(p: &Parameters) -> Vec<Vec<u8>> {
    let bytes = |t: &Tensor| {
        let mut bytes = vec![0; t.nbytes()];
        t.read_bytes(0, &mut bytes).unwrap();
        bytes
    };
    p.tensors().iter().chain(&p.buffers()).map(bytes).collect()
}

/// Each part of each step moves the running statistics, and evaluation uses them.
#[test]
fn training_moves_running_statistics() {
    let cpu = Backend::cpu().unwrap();
    for (parts, batches) in [(1, 5), (2, 10)] {
        let (p, model) = normalised(1);
        let before = evaluate(&cpu, &model, loss::mse, &samples(40), 40).unwrap().loss;
        trainer(&cpu, &p, &model).micro_batches(parts).fit(&samples(40)).unwrap();
        let count = p.get("norm.num_batches_tracked").unwrap();
        assert_eq!(count.to_vec::<i64>().unwrap(), [batches], "{parts} parts");
        let mean = p.get("norm.running_mean").unwrap();
        assert!(mean.to_f32_vec().unwrap().iter().all(|x| *x != 0.));
        let trained = evaluate(&cpu, &model, loss::mse, &samples(40), 40).unwrap().loss;
        assert!(trained < before, "{trained} {before}");
        // An evaluation changes nothing, and the statistics matter to it.
        let first = bits(&p);
        evaluate(&cpu, &model, loss::mse, &samples(40), 7).unwrap();
        assert!(first == bits(&p));
        mean.write(&[9f32; 6]).unwrap();
        assert_ne!(evaluate(&cpu, &model, loss::mse, &samples(40), 40).unwrap().loss, trained);
    }
}

/// A batch whose step is not taken leaves the statistics as they were.
#[test]
fn a_step_that_is_not_taken_keeps_running_statistics() {
    let cpu = Backend::cpu().unwrap();
    let (p, model) = normalised(1);
    trainer(&cpu, &p, &model).fit(&samples(40)).unwrap();
    let before = bits(&p);
    let wrong = samples(8).map_inputs(|row| row[0] = f32::INFINITY);
    let error = trainer(&cpu, &p, &model).fit(&wrong).unwrap_err();
    assert!(error.to_string().contains("which was not taken"), "{error}");
    assert!(before == bits(&p));
}

/// With patience, the statistics are those of the best epoch, as the parameters are.
#[test]
fn the_best_epoch_has_its_running_statistics() {
    let cpu = Backend::cpu().unwrap();
    let (p, model) = normalised(2);
    let test = samples(24);
    let history = trainer(&cpu, &p, &model).epochs(60).test(&test).patience(3).fit(&samples(40)).unwrap();
    let best = history.best.unwrap();
    assert!(best < history.epochs.len(), "the best epoch of {} is the last", history.epochs.len());
    let scores = evaluate(&cpu, &model, loss::mse, &test, 256).unwrap();
    assert_eq!(scores.loss, history.epochs[best - 1].test.unwrap().loss);
}

#[cfg(feature = "safetensors")]
#[test]
fn checkpoints_contain_running_statistics() {
    use std::ops::ControlFlow;
    let cpu = Backend::cpu().unwrap();
    let path = std::env::temp_dir().join(format!("tensorlib-layers-{}.safetensors", std::process::id()));
    let (whole, model) = normalised(1);
    trainer(&cpu, &whole, &model).epochs(3).patience(9).fit(&samples(40)).unwrap();
    let (p, model) = normalised(1);
    let stop = |report: &tensorlib::train::Report| match report.step {
        7 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    trainer(&cpu, &p, &model).epochs(3).patience(9).checkpoint(&path, 1).on_step(stop).fit(&samples(40)).unwrap();
    let (p, model) = normalised(2);
    let resumed = trainer(&cpu, &p, &model).epochs(3).patience(9).checkpoint(&path, 1).fit(&samples(40));
    std::fs::remove_file(&path).unwrap();
    resumed.unwrap();
    assert!(bits(&p) == bits(&whole));
}

#[test]
fn buffers_have_names_of_their_own() {
    let p = Parameters::new(1);
    p.make("a", [2], Init::Zeros).unwrap();
    refused(p.make_buffer("a", [2], DType::F32), "Parameters::make_buffer: 'a': a name that no other parameter has");
    p.make_buffer("b", [2], DType::I64).unwrap();
    refused(p.make("b", [2], Init::Zeros), "Parameters::make: 'b'");
    refused(p.make_buffer("", [2], DType::F32), "''");
    assert_eq!((p.names(), p.buffers().len(), p.n_elements()), (vec!["a".to_string()], 1, 2));
    assert!(p.get("b").is_some());
    let only_buffers = Parameters::new(1);
    only_buffers.make_buffer("b", [2], DType::F32).unwrap();
    refused(only_buffers.with_dtype(DType::BF16), "there are parameters");
}

/// A batch of one image keeps its four dimensions, and one of no samples has results without elements.
#[test]
fn batches_of_one_and_of_none() {
    let (ctx, p) = (Context::new(), Parameters::new(1));
    let random = ctx.tensor_of([2], &[1i64, 0]).unwrap();
    let (conv, norm) = (Conv2d::new(&p, 2, 3, 3).unwrap(), BatchNorm::new(&p.scope("norm"), 3).unwrap());
    let model = Sequential::new().with(conv).with(norm).with(MaxPool2d::new(2)).with(Upsample::nearest(2));
    let y = model.forward(&leaf(&ctx, &[5, 4, 2, 1], 1), &Pass::training(&random).unwrap()).unwrap();
    assert_eq!(y.shape(), [4, 4, 3, 1]);
    assert!(computed(&y).iter().all(|x| x.is_finite()));

    let none = leaf(&ctx, &[6, 5, 0], 1);
    let options = RecurrentOptions::new(6, 4).layers(2);
    let layers: [(Box<dyn Module>, i64); 4] = [
        (Box::new(Lstm::new(&p.scope("lstm"), options).unwrap()), 4),
        (Box::new(Gru::new(&p.scope("gru"), options).unwrap()), 4),
        (Box::new(MultiHeadAttention::new(&p.scope("attention"), 6, 2).unwrap()), 6),
        (Box::new(TransformerEncoderLayer::new(&p.scope("encoder"), TransformerOptions::new(6, 2, 8)).unwrap()), 6),
    ];
    for (layer, width) in layers {
        let y = layer.forward(&none, &pass()).unwrap();
        assert_eq!((y.shape(), computed(&y).len()), (vec![width, 5, 0], 0));
    }
    let norm = BatchNorm::new(&p.scope("signals"), 5).unwrap();
    assert_eq!(norm.forward(&none, &pass()).unwrap().shape(), [6, 5, 0]);
}

#[test]
fn convolutional_layers_refuse_what_does_not_fit() {
    let (ctx, p) = (Context::new(), Parameters::new(1));
    refused(BatchNorm::new(&p, 0), "BatchNorm::new: 0 channels: 1 or more");
    let mut norm = BatchNorm::new(&p, 3).unwrap();
    let x = leaf(&ctx, &[2, 2, 4], 1);
    refused(norm.forward(&x, &pass()), "BatchNorm: x is [2, 2, 4] f32: [3, n], [length, 3, n] and [w, h, 3, n]");
    refused(norm.forward(&leaf(&ctx, &[3], 1), &pass()), "BatchNorm: x is [3] f32");
    let random = ctx.tensor_of([2], &[1i64, 0]).unwrap();
    let training = Pass::training(&random).unwrap();
    refused(norm.forward(&leaf(&ctx, &[3, 1], 1), &training), "BatchNorm: x is [3, 1] in training: 2 numbers");
    assert!(training.updates().is_empty());
    norm.momentum = 1.5;
    refused(norm.forward(&leaf(&ctx, &[3, 2], 1), &training), "BatchNorm: momentum = 1.5: a number from 0 to 1");

    let images = leaf(&ctx, &[4, 4, 3, 1], 1);
    let refused_by = |result: Result<Tensor>, words: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused_by(MaxPool2d::new(0).forward(&images, &pass()), "k0");
    refused(
        MaxPool2d::new(2).padding(2).forward(&images, &pass()),
        "MaxPool2d: k = 2, padding = 2: less padding than k",
    );
    let signals = leaf(&ctx, &[4, 3, 1], 1);
    refused(
        MaxPool1d::new(3).padding(3).forward(&signals, &pass()),
        "MaxPool1d: k = 3, padding = 3: less padding than k",
    );
    refused_by(MaxPool1d::new(2).stride(-1).forward(&images, &pass()), "pool_1d");
    refused_by(Upsample::nearest(0).forward(&images, &pass()), "upscale");
    let layer = ConvTranspose2d::new(&p.scope("2d"), 2, 3, 3).unwrap();
    refused_by(layer.forward(&images, &pass()), "conv_transpose_2d");
    let layer = ConvTranspose1d::new(&p.scope("1d"), 2, 3, 3).unwrap();
    refused_by(layer.forward(&leaf(&ctx, &[4, 3, 1], 1), &pass()), "conv_transpose_1d");
    assert!(ConvTranspose2d::new(&p.scope("none"), -1, 3, 3).is_err());
}

/// What a mask hides has no influence on what is not hidden, in encoders and in memories.
#[test]
fn hidden_tokens_have_no_influence() {
    let (ctx, p) = (Context::new(), Parameters::new(1));
    let options = TransformerOptions::new(6, 2, 8);
    let encoder = TransformerEncoderLayer::new(&p.scope("encoder"), options).unwrap();
    let decoder = TransformerDecoderLayer::new(&p.scope("decoder"), options.norm_first()).unwrap();
    let results = |last: f32| -> [Vec<f32>; 2] {
        let mut values = numbers(6 * 4, 1);
        values[18..].fill(last); // the fourth token of one sample
        let (x, target) = (ctx.tensor([6, 4], &values).unwrap(), leaf(&ctx, &[6, 3], 2));
        let mask = mask::padding(&ctx.tensor_of([1], &[3i32]).unwrap(), 4).unwrap();
        let encoded = encoder.encode(&x, Some(&mask), &pass()).unwrap();
        let causal = mask::causal(&ctx, 3).unwrap();
        let decoded = decoder.decode(&target, &encoded, Some(&causal), Some(&mask), &pass()).unwrap();
        assert_eq!((encoded.shape(), decoded.shape()), (vec![6, 4], vec![6, 3]));
        [computed(&encoded)[..18].to_vec(), computed(&decoded)]
    };
    assert_eq!(results(0.5), results(-7.));
    // Without the mask, they have.
    let without = |last: f32| {
        let mut values = numbers(6 * 4, 1);
        values[18..].fill(last);
        computed(&encoder.forward(&ctx.tensor([6, 4], &values).unwrap(), &pass()).unwrap())[..18].to_vec()
    };
    assert_ne!(without(0.5), without(-7.));
}

#[test]
fn transformer_layers_drop_in_training_only() {
    let ctx = Context::new();
    let (x, memory) = (leaf(&ctx, &[6, 4, 2], 1), leaf(&ctx, &[6, 3, 2], 2));
    let random = ctx.tensor_of([2], &[1i64, 1]).unwrap();
    for (p, changes) in [(0., false), (0.5, true)] {
        let options = TransformerOptions::new(6, 2, 8).dropout(p);
        let layer = TransformerDecoderLayer::new(&Parameters::new(1), options).unwrap();
        let y = |pass: &Pass| computed(&layer.decode(&x, &memory, None, None, pass).unwrap());
        assert_eq!(y(&pass()) != y(&Pass::training(&random).unwrap()), changes, "{p}");
        let attention = MultiHeadAttention::new(&Parameters::new(1), 6, 2).unwrap().dropout(p).unwrap();
        let y = |pass: &Pass| computed(&attention.forward(&x, pass).unwrap());
        assert_eq!(y(&pass()) != y(&Pass::training(&random).unwrap()), changes, "attention, {p}");
    }
}

#[test]
fn attention_refuses_what_does_not_fit() {
    let (ctx, p) = (Context::new(), Parameters::new(1));
    refused(MultiHeadAttention::new(&p, 6, 4), "a width of 6 and 4 heads: a number of heads that divides");
    refused(MultiHeadAttention::new(&p, 6, 0), "a width of 6 and 0 heads");
    refused(TransformerEncoderLayer::new(&p, TransformerOptions::new(6, 5, 8)), "a width of 6 and 5 heads");
    refused(TransformerDecoderLayer::new(&p, TransformerOptions::new(6, 2, 8).dropout(1.)), "Dropout::new: 1");
    assert!(p.names().is_empty());
    let layer = MultiHeadAttention::new(&p, 6, 2).unwrap();
    refused(layer.clone().dropout(-1.), "Dropout::new: -1");
    let (x, memory) = (leaf(&ctx, &[6, 4, 2], 1), leaf(&ctx, &[6, 3, 1], 2));
    let wrong = leaf(&ctx, &[5, 4, 2], 3);
    refused(layer.forward(&wrong, &pass()), "MultiHeadAttention: x is [5, 4, 2] f32: [6, tokens, n] is valid");
    refused(layer.attend_to(&x, &wrong, None, &pass()), "memory is [5, 4, 2] f32");
    refused(layer.attend_to(&x, &memory, None, &pass()), "x [6, 4, 2], memory [6, 3, 1]: as many samples");
    refused(layer.attend(&x, Some(&leaf(&ctx, &[3, 4], 1)), &pass()), "the mask is [3, 4] f32: [4, 4, 2, 2] is valid");
    refused(layer.attend(&x, Some(&leaf(&ctx, &[4, 4, 3], 1)), &pass()), "the mask is [4, 4, 3] f32");
    refused(layer.attend(&x, Some(&leaf(&ctx, &[1, 4], 1)), &pass()), "the mask is [1, 4] f32");
    refused(mask::padding(&x, 4), "mask::padding: lengths [6, 4, 2], 4 keys");
    refused(mask::padding(&leaf(&ctx, &[2], 1), -1), "-1 keys");
    assert!(mask::causal(&ctx, -1).is_err());
}

/// The smaller of rows and columns are orthogonal, and have the length of the gain.
#[test]
fn orthogonal_matrices_are_orthogonal() {
    for (shape, rows, columns) in [(vec![5, 3], 3, 5), (vec![3, 5], 5, 3), (vec![2, 2, 3, 7], 7, 12), (vec![4], 4, 1)] {
        let p = Parameters::new(3);
        let w = p.make("w", &shape, Init::Orthogonal { gain: 2. }).unwrap().to_vec::<f32>().unwrap();
        let vectors = if rows <= columns { rows } else { columns };
        let at = |vector: usize, i: usize| {
            f64::from(if rows <= columns { w[vector * columns + i] } else { w[i * columns + vector] })
        };
        for (a, b) in (0..vectors).flat_map(|a| (0..vectors).map(move |b| (a, b))) {
            let dot: f64 = (0..rows.max(columns)).map(|i| at(a, i) * at(b, i)).sum();
            // Rounding the elements to F32 is all that is lost.
            assert!((dot - if a == b { 4. } else { 0. }).abs() < 2e-6, "{shape:?}: {a} {b} {dot}");
        }
    }
}

#[test]
fn parameters_are_initialised_again() {
    let p = Parameters::new(3);
    let block = p.scope("block");
    let other = block.make("other", [4], Init::Ones).unwrap();
    let made = block.make("weight", [30], Init::Normal { deviation: 1. }).unwrap();
    let first = computed(&made);
    block.initialise("weight", Init::Zeros).unwrap();
    assert_eq!(computed(&made), [0.; 30]);
    // The numbers depend on the seed and the parameter's position, not on what it held.
    p.initialise("block.weight", Init::Normal { deviation: 1. }).unwrap();
    assert_eq!((computed(&made), computed(&other)), (first, vec![1.; 4]));
    let truncated = Init::TruncatedNormal { deviation: 0. };
    p.initialise("block.weight", truncated).unwrap();
    assert_eq!(computed(&made), [0.; 30]);
    refused(p.initialise("weight", Init::Zeros), "'weight': one of these is valid: block.other, block.weight");
    let words = "Parameters::initialise: 'block.weight': Normal { deviation: -1.0 }: a finite number of 0 or more";
    refused(p.initialise("block.weight", Init::Normal { deviation: 1. }.gain(-1.)), words);
    refused(p.make("x", [2, 2], Init::Orthogonal { gain: f64::NAN }), "Parameters::make: 'x': Orthogonal");
    refused(p.make("x", [2, 2], Init::kaiming_uniform(0)), "as from one or more inputs");
    assert_eq!(Init::Ones.gain(2.), Init::Constant(2.));
}
