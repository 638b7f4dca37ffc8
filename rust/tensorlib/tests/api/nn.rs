//! Layers and losses compared with plain loops in F64.

use tensorlib::nn::{
    flatten, loss, max_pool, mean_pool, Attention, AttentionOptions, Conv1d, Conv2d, Dropout, Embedding, GroupNorm,
    Init, LayerNorm, Linear, LowRank, Module, Parameters, Pass, Residual, RmsNorm, Sequential,
};
use tensorlib::{Backend, Context, DType, Error, Result, Tensor};

/// Irregular numbers between -1 and 1.
fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| (((i * 7919 + seed * 104_729 + 13) % 1009) as f32 / 504.5 - 1.) * 0.9).collect()
}

fn leaf(ctx: &Context, shape: &[i64], seed: usize) -> Tensor {
    let n = shape.iter().product::<i64>() as usize;
    ctx.tensor(shape, &numbers(n, seed)).unwrap()
}

fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_f32_vec().unwrap().into_iter().map(f64::from).collect()
}

fn computed(t: &Tensor) -> Vec<f64> {
    Backend::cpu().unwrap().compute(&[t]).unwrap();
    f64s(t)
}

fn assert_near(found: &[f64], wanted: &[f64], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    let size = wanted.iter().fold(1f64, |size, x| size.max(x.abs()));
    for (i, (a, b)) in found.iter().zip(wanted).enumerate() {
        assert!((a - b).abs() <= 2e-6 * size, "{what}: element {i} is {a}, not {b}");
    }
}

fn refused<T>(result: Result<T>, what: &str) {
    match result {
        Ok(_) => panic!("taken: {what}"),
        Err(error @ Error::InvalidArgument(_)) => assert!(error.to_string().contains(what), "{error}"),
        Err(error) => panic!("{error:?} for {what}"),
    }
}

#[test]
fn linear_layers_multiply_and_add() {
    let (p, ctx) = (Parameters::new(1), Context::new());
    let layer = Linear::new(&p, 5, 3).unwrap();
    let x = leaf(&ctx, &[5, 2, 3], 1);
    let y = layer.forward(&x, &Pass::evaluation()).unwrap();
    assert_eq!(y.shape(), [3, 2, 3]);
    let (w, b, v) = (f64s(&layer.weight), f64s(layer.bias.as_ref().unwrap()), f64s(&x));
    let row = |n: usize, m: usize| (0..5).map(|k| w[m * 5 + k] * v[n * 5 + k]).sum::<f64>() + b[m];
    let wanted: Vec<f64> = (0..6).flat_map(|n| (0..3).map(move |m| (n, m))).map(|(n, m)| row(n, m)).collect();
    assert_near(&computed(&y), &wanted, "linear");
    let plain = Linear::without_bias(&p.scope("plain"), 5, 3).unwrap();
    assert!(plain.bias.is_none() && p.names() == ["weight", "bias", "plain.weight"]);
}

/// The product of a matrix's rows with a column.
fn product(matrix: &[f64], column: &[f64]) -> Vec<f64> {
    matrix.chunks(column.len()).map(|row| row.iter().zip(column).map(|(a, b)| a * b).sum()).collect()
}

#[track_caller]
fn assert_within(found: &[f64], wanted: &[f64], bound: f64, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < bound), "{what}: {found:?} {wanted:?}");
}

/// A quantised weight stays as it is; the adapter begins as zero and gets gradients, which also pass through the
/// weight.
#[test]
fn adapters_change_layers_of_quantised_weights() {
    let ctx = Context::new();
    let (inputs, outputs, rank) = (64usize, 5usize, 3usize);
    let whole = leaf(&ctx, &[inputs as i64, outputs as i64], 1);
    let weight = whole.cast(DType::Q8_0).unwrap();
    let cpu = Backend::cpu().unwrap();
    cpu.compute(&[&weight]).unwrap();
    let w = f64s(&weight);
    let mut layer = Linear::of(weight, None);
    let p = Parameters::new(2);
    layer.adapt(&p, rank as i64, 6.).unwrap();
    let x = leaf(&ctx, &[inputs as i64, 2, 2], 2);
    let columns = f64s(&x);
    let y = layer.forward(&x, &Pass::evaluation()).unwrap();
    assert_eq!(y.shape(), [outputs as i64, 2, 2]);
    let alone: Vec<f64> = columns.chunks(inputs).flat_map(|x| product(&w, x)).collect();
    // x is rounded to 8 bits, by 0.9 / 254 for values of up to 0.9: errors of 64 products grow with the root of their
    // number, to 1e-2.
    assert_within(&computed(&y), &alone, 3e-2, "begins with nothing");

    let LowRank { a, b, scale, exact } = layer.adapters[0].clone();
    assert!(layer.adapters.len() == 1 && !exact);
    assert_eq!((a.name(), b.name(), scale), ("lora_a".into(), "lora_b".into(), 2.));
    b.write(&numbers(rank * outputs, 4)).unwrap();
    let (of_a, of_b) = (f64s(&a), f64s(&b));
    let added: Vec<f64> = columns
        .chunks(inputs)
        .zip(alone.chunks(outputs))
        .flat_map(|(x, alone)| {
            let more = product(&of_b, &product(&of_a, x));
            alone.iter().zip(more).map(|(y, more)| y + 2. * more).collect::<Vec<_>>()
        })
        .collect();
    assert_within(&computed(&y), &added, 3e-2, "with an addition");

    check_gradients(&cpu, &y, &x, &w, (&a, &b));
}

/// Compares the gradients of the sum of y = (w + 2 b a) x with their formulas.
fn check_gradients(cpu: &Backend, y: &Tensor, x: &Tensor, w: &[f64], (a, b): (&Tensor, &Tensor)) {
    let (inputs, rank, outputs) = (a.shape()[0] as usize, a.shape()[1] as usize, b.shape()[1] as usize);
    let (columns, of_a, of_b) = (f64s(x), f64s(a), f64s(b));
    let gradients = y.sum(..).unwrap().gradients(&[a, b, x]).unwrap();
    cpu.compute(&gradients.iter().collect::<Vec<_>>()).unwrap();
    let sums: Vec<f64> = (0..inputs).map(|k| columns.iter().skip(k).step_by(inputs).sum()).collect();
    let b_sum = |r: usize| (0..outputs).map(|m| of_b[m * rank + r]).sum::<f64>();
    let of_a_wanted: Vec<f64> =
        (0..rank).flat_map(|r| sums.iter().map(move |s| (r, *s))).map(|(r, s)| 2. * b_sum(r) * s).collect();
    assert_within(&f64s(&gradients[0]), &of_a_wanted, 1e-5, "a");
    let inner = product(&of_a, &sums);
    let of_b_wanted: Vec<f64> = (0..outputs).flat_map(|_| inner.iter().map(|x| 2. * x)).collect();
    assert_within(&f64s(&gradients[1]), &of_b_wanted, 1e-5, "b");
    let of_x: Vec<f64> = (0..inputs)
        .map(|k| {
            (0..outputs).map(|m| w[m * inputs + k]).sum::<f64>()
                + (0..rank).map(|r| 2. * of_a[r * inputs + k] * b_sum(r)).sum::<f64>()
        })
        .collect();
    assert_within(&f64s(&gradients[2]), &of_x.repeat(4), 1e-5, "x");
}

#[test]
fn adapters_that_fit_no_layer_are_refused() {
    let (ctx, p) = (Context::new(), Parameters::new(2));
    let mut layer = Linear::of(leaf(&ctx, &[64, 5], 1), None);
    layer.adapt(&p, 3, 6.).unwrap();
    refused(layer.adapt(&p.scope("more"), 2, 1.), "there is an adapter");
    let mut other = Linear::without_bias(&p.scope("other"), 4, 2).unwrap();
    refused(other.adapt(&p, 0, 1.), "'other.weight' [4, 2]: rank 0");
    refused(other.adapt(&p, 1, f64::NAN), "alpha NaN");
    refused(Linear::of(leaf(&ctx, &[4], 1), None).adapt(&p.scope("row"), 1, 1.), "a matrix is valid");
    assert_eq!(p.names(), ["lora_a", "lora_b", "other.weight"]);
}

/// Adapters add up in front of the bias, and `exact` forbids all products to round: a flag per matrix.
#[test]
fn layers_take_several_adapters_and_forbid_rounding() {
    let (cpu, ctx) = (Backend::cpu().unwrap(), Context::new());
    let quantised = |shape: &[i64], seed| cpu.quantize_tensor(&leaf(&ctx, shape, seed), DType::Q8_0, None).unwrap();
    let (inputs, outputs, rank) = (64, 5, 32);
    let weight = quantised(&[inputs, outputs], 1);
    let first = LowRank::of(leaf(&ctx, &[inputs, 3], 2), leaf(&ctx, &[3, outputs], 3), 0.5);
    let second = LowRank::of(quantised(&[inputs, rank], 4), quantised(&[rank, outputs], 5), -0.25);
    let bias = leaf(&ctx, &[outputs], 6);
    let x = leaf(&ctx, &[inputs, 2, 2], 7);
    let columns = |matrix: &Tensor, x: &[f64]| -> Vec<f64> {
        let (m, k) = (f64s(matrix), matrix.shape()[0] as usize);
        let dot = |row: &[f64], x: &[f64]| row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>();
        x.chunks(k).flat_map(|x| m.chunks(k).map(|row| dot(row, x)).collect::<Vec<_>>()).collect()
    };
    let added = |adapter: &LowRank| -> Vec<f64> {
        columns(&adapter.b, &columns(&adapter.a, &f64s(&x))).iter().map(|y| y * adapter.scale).collect()
    };
    let terms = [columns(&weight, &f64s(&x)), added(&first), added(&second), f64s(&bias).repeat(4)];
    let wanted: Vec<f64> = (0..terms[0].len()).map(|i| terms.iter().map(|term| term[i]).sum()).collect();

    let layer = Linear::of(weight, Some(bias)).with_adapters([first]).with_adapters([second.clone()]);
    let y = layer.forward(&x, &Pass::evaluation()).unwrap();
    assert_eq!(y.shape(), [outputs, 2, 2]);
    let size = wanted.iter().fold(1f64, |size, y| size.max(y.abs()));
    assert!(computed(&y).iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 2e-2 * size));
    let exact = layer.clone().exact(true);
    assert!(exact.exact && exact.adapters.iter().all(|adapter| adapter.exact) && !layer.exact);
    assert_near(&computed(&exact.forward(&x, &Pass::evaluation()).unwrap()), &wanted, "exact, two adapters and a bias");
    let alone = LowRank { exact: true, ..second };
    let y = alone.forward(&x, &Pass::evaluation()).unwrap();
    assert_eq!(y.shape(), [outputs, 2, 2]);
    assert_near(&computed(&y), &added(&alone), "an adapter alone");

    // A trained adapter rounds as its layer does; a layer with adapters takes no other one.
    let mut trained = Linear::of(exact.weight.clone(), None).exact(true);
    trained.adapt(&Parameters::new(1), 2, 1.).unwrap();
    assert!(trained.adapters[0].exact);
    refused(layer.clone().adapt(&Parameters::new(1), 2, 1.), "there is an adapter");
}

#[test]
fn embeddings_look_up_rows() {
    let (p, ctx) = (Parameters::new(1), Context::new());
    let table = Embedding::new(&p, 7, 4, 0.5).unwrap();
    let ids = ctx.tensor_of([3, 2], &[6i32, 0, 2, 2, 5, 1]).unwrap();
    let y = table.forward(&ids, &Pass::evaluation()).unwrap();
    assert_eq!(y.shape(), [4, 3, 2]);
    let rows = f64s(&table.weight);
    let wanted: Vec<f64> = [6, 0, 2, 2, 5, 1].iter().flat_map(|i| rows[i * 4..(i + 1) * 4].to_vec()).collect();
    assert_near(&computed(&y), &wanted, "embedding");
    // The rows of an existing table, for ids of one dimension.
    let of_half = Embedding::of(leaf(&ctx, &[4, 3], 1).cast(DType::F16).unwrap());
    let y = of_half.forward(&ctx.tensor_of([2], &[2i32, 0]).unwrap(), &Pass::evaluation()).unwrap();
    assert_eq!((y.shape(), y.dtype()), (vec![4, 2], DType::F32));
    let (y, rows) = (computed(&y), computed(&of_half.weight));
    assert_near(&y, &[&rows[8..], &rows[..4]].concat(), "embedding of an existing table");
    let beyond = ctx.tensor_of([1], &[7i32]).unwrap();
    let y = table.forward(&beyond, &Pass::evaluation()).unwrap();
    refused(Backend::cpu().unwrap().compute(&[&y]), "7");
}

#[test]
fn norms_are_of_rows_and_groups() {
    let (p, ctx) = (Parameters::new(1), Context::new());
    let x = leaf(&ctx, &[6, 4], 3);
    let layer = LayerNorm::new(&p.scope("layer"), 6).unwrap();
    let rms = RmsNorm::new(&p.scope("rms"), 6).unwrap();
    for t in p.tensors() {
        t.write(&numbers(6, t.name().len())).unwrap();
    }
    let (w, b, v) = (f64s(&layer.weight), f64s(layer.bias.as_ref().unwrap()), f64s(&x));
    let standard = |row: &[f64]| -> Vec<f64> {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
        row.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect()
    };
    let wanted: Vec<f64> = v
        .chunks(6)
        .flat_map(|row| standard(row).into_iter().zip(&w).zip(&b).map(|((x, w), b)| x * w + b).collect::<Vec<_>>())
        .collect();
    assert_near(&computed(&layer.forward(&x, &Pass::evaluation()).unwrap()), &wanted, "layer norm");
    let wanted: Vec<f64> =
        v.chunks(6).flat_map(|row| standard(row).into_iter().zip(&w).map(|(x, w)| x * w).collect::<Vec<_>>()).collect();
    let without = LayerNorm::of(layer.weight.clone(), None, 1e-5);
    assert_near(&computed(&without.forward(&x, &Pass::evaluation()).unwrap()), &wanted, "layer norm without a bias");
    let w = f64s(&rms.weight);
    let wanted: Vec<f64> = v
        .chunks(6)
        .flat_map(|row| {
            let root = (row.iter().map(|x| x * x).sum::<f64>() / 6. + 1e-5).sqrt();
            row.iter().zip(&w).map(|(x, w)| x / root * w).collect::<Vec<_>>()
        })
        .collect();
    assert_near(&computed(&rms.forward(&x, &Pass::evaluation()).unwrap()), &wanted, "rms norm");

    let p = Parameters::new(1);
    let group = GroupNorm::new(&p, 2, 4).unwrap();
    group.weight.write(&numbers(4, 1)).unwrap();
    group.bias.write(&numbers(4, 2)).unwrap();
    let images = leaf(&ctx, &[3, 2, 4, 2], 4);
    let (w, b, v) = (f64s(&group.weight), f64s(&group.bias), f64s(&images));
    let wanted: Vec<f64> = v
        .chunks(12) // 2 channels of 6 pixels
        .enumerate()
        .flat_map(|(g, values)| {
            let (w, b) = (&w, &b);
            let channel = move |i: usize| g % 2 * 2 + i / 6;
            standard(values)
                .into_iter()
                .enumerate()
                .map(move |(i, x)| x * w[channel(i)] + b[channel(i)])
                .collect::<Vec<_>>()
        })
        .collect();
    assert_near(&computed(&group.forward(&images, &Pass::evaluation()).unwrap()), &wanted, "group norm");
}

#[test]
fn convolutions_slide() {
    let (p, ctx) = (Parameters::new(1), Context::new());
    let layer = Conv2d::new(&p.scope("2d"), 2, 3, 3).unwrap();
    let x = leaf(&ctx, &[5, 4, 2, 2], 5);
    let y = layer.forward(&x, &Pass::evaluation()).unwrap();
    assert_eq!(y.shape(), [5, 4, 3, 2]);
    let (w, b, v) = (f64s(&layer.weight), f64s(layer.bias.as_ref().unwrap()), f64s(&x));
    let mut wanted = Vec::new();
    for n in 0..2i64 {
        for m in 0..3i64 {
            for (row, column) in (0..4i64).flat_map(|r| (0..5i64).map(move |c| (r, c))) {
                let mut sum = b[m as usize];
                for (channel, ty, tx) in (0..2i64).flat_map(|c| (0..9i64).map(move |t| (c, t / 3, t % 3))) {
                    let (sy, sx) = (row + ty - 1, column + tx - 1);
                    if (0..4).contains(&sy) && (0..5).contains(&sx) {
                        let weight = w[(((m * 2 + channel) * 3 + ty) * 3 + tx) as usize];
                        sum += weight * v[(((n * 2 + channel) * 4 + sy) * 5 + sx) as usize];
                    }
                }
                wanted.push(sum);
            }
        }
    }
    assert_near(&computed(&y), &wanted, "2d");

    let layer = Conv1d::new(&p.scope("1d"), 2, 3, 3).unwrap();
    let x = leaf(&ctx, &[7, 2, 2], 6);
    let y = layer.forward(&x, &Pass::evaluation()).unwrap();
    assert_eq!(y.shape(), [7, 3, 2]);
    let (w, b, v) = (f64s(&layer.weight), f64s(layer.bias.as_ref().unwrap()), f64s(&x));
    let mut wanted = Vec::new();
    for (n, m, at) in (0..2i64).flat_map(|n| (0..3i64).flat_map(move |m| (0..7i64).map(move |at| (n, m, at)))) {
        let mut sum = b[m as usize];
        for (channel, t) in (0..2i64).flat_map(|c| (0..3i64).map(move |t| (c, t))) {
            if (0..7).contains(&(at + t - 1)) {
                sum += w[((m * 2 + channel) * 3 + t) as usize] * v[((n * 2 + channel) * 7 + at + t - 1) as usize];
            }
        }
        wanted.push(sum);
    }
    assert_near(&computed(&y), &wanted, "1d");

    let x = ctx.tensor([4, 2, 1, 1], &[1., 5., 2., 0., 3., 4., 8., 6.]).unwrap();
    assert_near(&computed(&max_pool(&x, 2).unwrap()), &[5., 8.], "max");
    assert_near(&computed(&mean_pool(&x, 2).unwrap()), &[3.25, 4.], "mean");
    assert_eq!(flatten(&leaf(&ctx, &[2, 3, 4, 5], 1)).unwrap().shape(), [24, 5]);
}

const WIDTH: usize = 8;
const TOKENS: usize = 5;

/// An attention layer, and what it was made of.
struct Attending {
    layer: Attention,
    heads: usize,
    kv_heads: usize,
    causal: bool,
    rope: Option<f64>,
}

impl Attending {
    fn new(heads: usize, kv_heads: usize, causal: bool, rope: Option<f64>) -> Self {
        let mut options = AttentionOptions::new(WIDTH as i64, heads as i64).kv_heads(kv_heads as i64);
        if causal {
            options = options.causal();
        }
        if let Some(base) = rope {
            options = options.rope(base);
        }
        Self { layer: Attention::new(&Parameters::new(3), options).unwrap(), heads, kv_heads, causal, rope }
    }

    /// Rotates a token's pairs.
    fn turned(&self, mut v: Vec<f64>, token: usize) -> Vec<f64> {
        let Some(base) = self.rope else { return v };
        let size = WIDTH / self.heads;
        for (i, pair) in v.chunks_mut(2).enumerate() {
            let exponent = -2. * (i % (size / 2)) as f64 / size as f64;
            let angle = token as f64 * base.powf(exponent);
            let (a, b) = (pair[0], pair[1]);
            (pair[0], pair[1]) = (a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos());
        }
        v
    }

    /// The result for one sample, from the definition.
    fn defined(&self, sample: &[f64]) -> Vec<f64> {
        let of = |weight: &Tensor| -> Vec<Vec<f64>> {
            sample.chunks(WIDTH).map(|row| product(&f64s(weight), row)).collect()
        };
        let turned = |rows: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            rows.into_iter().enumerate().map(|(t, row)| self.turned(row, t)).collect()
        };
        let layer = &self.layer;
        let (q, k, v) = (turned(of(&layer.query.weight)), turned(of(&layer.key.weight)), of(&layer.value.weight));
        let size = WIDTH / self.heads;
        let answer = |(t, query): (usize, &Vec<f64>)| {
            let mut answer = Vec::new();
            for h in 0..self.heads {
                let (mine, theirs) = (h * size..(h + 1) * size, h * self.kv_heads / self.heads * size);
                let seen = if self.causal { t + 1 } else { TOKENS };
                let score = |s: usize| -> f64 {
                    let pairs = query[mine.clone()].iter().zip(&k[s][theirs..theirs + size]);
                    (pairs.map(|(a, b)| a * b).sum::<f64>() / (size as f64).sqrt()).exp()
                };
                let scores: Vec<f64> = (0..seen).map(score).collect();
                let sum: f64 = scores.iter().sum();
                answer.extend((0..size).map(|i| (0..seen).map(|s| scores[s] / sum * v[s][theirs + i]).sum::<f64>()));
            }
            product(&f64s(&layer.output.weight), &answer)
        };
        q.iter().enumerate().flat_map(answer).collect()
    }
}

/// Attention compared with its definition: rotated pairs, causal, grouped heads.
#[test]
fn attention_is_its_definition() {
    let ctx = Context::new();
    let x = leaf(&ctx, &[WIDTH as i64, TOKENS as i64, 2], 7);
    for (heads, kv_heads, causal, rope) in
        [(2usize, 2usize, true, Some(100.)), (4, 2, false, None), (4, 1, true, None), (1, 1, false, Some(10.))]
    {
        let attending = Attending::new(heads, kv_heads, causal, rope);
        let y = attending.layer.forward(&x, &Pass::evaluation()).unwrap();
        assert_eq!(y.shape(), x.shape());
        let samples = f64s(&x);
        let wanted: Vec<f64> = samples.chunks(WIDTH * TOKENS).flat_map(|sample| attending.defined(sample)).collect();
        assert_near(&computed(&y), &wanted, &format!("{heads} heads, {kv_heads} of keys"));
    }
}

#[test]
fn attention_refuses_what_does_not_divide() {
    let p = Parameters::new(1);
    refused(Attention::new(&p, AttentionOptions::new(8, 3)), "a width of 8, 3 heads");
    refused(Attention::new(&p, AttentionOptions::new(8, 4).kv_heads(3)), "3 heads of keys");
    refused(Attention::new(&p, AttentionOptions::new(8, 0)), "0 heads");
    refused(Attention::new(&p, AttentionOptions::new(6, 2).rope(10.)), "heads of 3 with rotation");
    assert!(p.names().is_empty());
    let layers = ["q", "k", "v", "o"].map(|name| Linear::without_bias(&p.scope(name), 8, 8).unwrap());
    refused(
        Attention::of(AttentionOptions::new(8, 4).kv_heads(2), layers.clone()),
        "'k.weight' is [8, 8]: [8, 4] is valid",
    );
    let whole = Attention::of(AttentionOptions::new(8, 4), layers).unwrap();
    let x = leaf(&Context::new(), &[8, 3], 1);
    assert_eq!(whole.forward(&x, &Pass::evaluation()).unwrap().shape(), [8, 3]);
}

#[test]
fn dropout_drops_in_training_only() {
    let (ctx, drop) = (Context::new(), Dropout::new(0.25).unwrap());
    let x = ctx.tensor([10_000], &[1.; 10_000]).unwrap();
    assert_eq!(drop.forward(&x, &Pass::evaluation()).unwrap().op(), "leaf");
    let state = ctx.tensor_of([2], &[5i64, 0]).unwrap();
    let pass = Pass::training(&state).unwrap();
    assert!(pass.is_training() && !Pass::evaluation().is_training());
    // Two dropouts of one pass draw different numbers; a new pass over this state repeats those of the first.
    let (a, b) = (drop.forward(&x, &pass).unwrap(), drop.forward(&x, &pass).unwrap());
    let again = drop.forward(&x, &Pass::training(&state).unwrap()).unwrap();
    Backend::cpu().unwrap().compute(&[&a, &b, &again]).unwrap();
    let (a, b, again) = (f64s(&a), f64s(&b), f64s(&again));
    assert!(a == again && a != b);
    // 2,500 are expected, with a deviation of 43.
    let dropped = a.iter().filter(|x| **x == 0.).count();
    assert!((2_300..2_700).contains(&dropped) && a.iter().all(|x| *x == 0. || (x - 4. / 3.).abs() < 1e-6));
    refused(Dropout::new(1.), "1");
    refused(Dropout::new(-0.1), "-0.1");
    refused(Dropout::new(f64::NAN), "NaN");
    refused(Pass::training(&x), "a seed and a counter");
}

#[test]
fn modules_are_put_together() {
    let ctx = Context::new();
    let x = leaf(&ctx, &[4, 2], 1);
    let model = Sequential::new().with(Tensor::sqr).with(Residual(|x: &Tensor| x.neg())).with(Tensor::exp);
    assert!(model.len() == 3 && !model.is_empty() && Sequential::new().is_empty());
    assert_near(&computed(&model.forward(&x, &Pass::evaluation()).unwrap()), &[1.; 8], "exp(x^2 - x^2)");
    let same = Sequential::new().forward(&x, &Pass::evaluation()).unwrap();
    assert_eq!(same.op(), "leaf");
    let p = Parameters::new(1);
    let wrong = Sequential::new().with(Linear::new(&p, 3, 3).unwrap());
    assert!(matches!(wrong.forward(&x, &Pass::evaluation()), Err(Error::ShapeMismatch(_))));
}

#[test]
fn parameters_have_names_and_the_same_values_for_ever() {
    let p = Parameters::new(42);
    let block = p.scope("blocks").scope(0);
    let a = block.make("a", [1000], Init::Uniform { bound: 0.5 }).unwrap();
    let b = block.make("b", [100, 50], Init::Normal { deviation: 2. }).unwrap();
    let c = p.make("c", [3], Init::Constant(0.25)).unwrap();
    assert_eq!(p.names(), ["blocks.0.a", "blocks.0.b", "c"]);
    assert_eq!((p.n_elements(), p.seed()), (6003, 42));
    assert!(p.get("c").is_some() && block.get("a").is_some() && p.get("a").is_none());
    assert_eq!(c.to_vec::<f32>().unwrap(), [0.25; 3]);
    let again = Parameters::new(42);
    assert_eq!(
        again.make("x", [1000], Init::Uniform { bound: 0.5 }).unwrap().to_vec::<f32>().unwrap(),
        a.to_vec::<f32>().unwrap()
    );
    assert_ne!(
        again.make("y", [1000], Init::Uniform { bound: 0.5 }).unwrap().to_vec::<f32>().unwrap(),
        a.to_vec::<f32>().unwrap()
    );
    let (a, b) = (f64s(&a), f64s(&b));
    assert!(a.iter().all(|x| x.abs() <= 0.5) && a.iter().any(|x| x.abs() > 0.49));
    let deviation = (b.iter().map(|x| x * x).sum::<f64>() / b.len() as f64).sqrt();
    assert!((deviation - 2.).abs() < 0.1, "{deviation}"); // 2 / sqrt(2 * 5000) is 0.02
    refused(block.make("a", [2], Init::Zeros), "blocks.0.a");
    refused(p.make("", [2], Init::Zeros), "''");
    refused(block.make("", [2], Init::Zeros), "'blocks.0.'");
    refused(p.make("d", [2], Init::Normal { deviation: -1. }), "'d'");
    refused(p.make("d", [2], Init::Uniform { bound: f64::INFINITY }), "'d'");
    assert!(p.make("d", [-1], Init::Zeros).is_err());
    assert_eq!(p.names().len(), 3);
    let empty = p.make("empty", [0], Init::kaiming(0)).unwrap();
    assert_eq!(empty.n_elements(), 0);
}

#[test]
fn parameters_may_be_of_half_the_size() {
    let p = Parameters::new(1).with_dtype(DType::BF16).unwrap();
    let layer = Linear::new(&p, 4, 2).unwrap();
    assert_eq!(layer.weight.dtype(), DType::BF16);
    refused(p.with_dtype(DType::F32), "there are parameters");
    refused(Parameters::new(1).with_dtype(DType::I32), "i32");
}

#[test]
fn losses_are_their_formulas() {
    let ctx = Context::new();
    let (y, t) = (leaf(&ctx, &[3, 4], 1), leaf(&ctx, &[3, 4], 2));
    let (a, b) = (f64s(&y), f64s(&t));
    let mean = |term: &dyn Fn(f64, f64) -> f64| a.iter().zip(&b).map(|(a, b)| term(*a, *b)).sum::<f64>() / 12.;
    let check = |loss: Result<Tensor>, wanted: f64, what: &str| {
        let loss = loss.unwrap();
        assert_eq!(loss.n_elements(), 1);
        assert_near(&computed(&loss), &[wanted], what);
    };
    check(loss::mse(&y, &t), mean(&|a, b| (a - b).powi(2)), "mse");
    for delta in [0.1, 0.7, 10.] {
        let term = |a: f64, b: f64| {
            let r = (a - b).abs();
            if r <= delta {
                r * r / 2.
            } else {
                delta * (r - delta / 2.)
            }
        };
        check(loss::huber(&y, &t, delta), mean(&term), "huber");
    }
    check(loss::hinge(&y, &t), mean(&|a, b| (1. - a * b).max(0.)), "hinge");
    let sigmoid = |x: f64| 1. / (1. + (-x).exp());
    let bce = |a: f64, b: f64| -b * sigmoid(a).ln() - (1. - b) * (1. - sigmoid(a)).ln();
    check(loss::binary_cross_entropy(&y, &t), mean(&bce), "binary cross entropy");
    // Nothing overflows far from 0.
    let far = ctx.tensor([2], &[1000., -1000.]).unwrap();
    let sure = ctx.tensor([2], &[1., 1.]).unwrap();
    check(loss::binary_cross_entropy(&far, &sure), 500., "far");
    let labels = ctx.tensor_of([4], &[2i32, 0, 1, 1]).unwrap();
    let wanted = a
        .chunks(3)
        .zip([2, 0, 1, 1])
        .map(|(row, label)| row.iter().map(|x| x.exp()).sum::<f64>().ln() - row[label])
        .sum::<f64>()
        / 4.;
    check(loss::cross_entropy(&y, &labels), wanted, "cross entropy");
}

#[test]
fn losses_refuse_what_does_not_fit() {
    let ctx = Context::new();
    let (y, t) = (leaf(&ctx, &[3, 4], 1), leaf(&ctx, &[3], 2));
    refused(loss::mse(&y, &t), "output [3, 4], target [3]");
    refused(loss::hinge(&y, &t), "hinge");
    refused(loss::huber(&y, &t, 1.), "huber");
    refused(loss::huber(&y, &y, 0.), "delta = 0");
    refused(loss::binary_cross_entropy(&y, &t), "binary_cross_entropy");
    let labels = ctx.tensor_of([3], &[0i32; 3]).unwrap();
    refused(loss::cross_entropy(&y, &labels), "logits [3, 4], labels [3]");
    let beyond = ctx.tensor_of([4], &[0i32, 3, 0, 0]).unwrap();
    let loss = loss::cross_entropy(&y, &beyond).unwrap();
    refused(Backend::cpu().unwrap().compute(&[&loss]), "3");
}
