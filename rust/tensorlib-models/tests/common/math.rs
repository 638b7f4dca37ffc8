//! Plain formulas in double precision. A matrix is a list of rows.

pub type Row = Vec<f64>;

/// A matrix as a list of rows of `n` elements, in the tensor's order.
pub fn rows(values: &[f64], n: usize) -> Vec<&[f64]> {
    values.chunks(n).collect()
}

/// The product of a matrix, with rows as long as x, and x.
pub fn product(matrix: &[f64], x: &[f64]) -> Row {
    matrix.chunks(x.len()).map(|row| dot(row, x)).collect()
}

/// With eight sums, because additions to one wait for each other, and oracles take most of the time of the tests.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (whole, mut sums) = (a.len() / 8 * 8, [0.0; 8]);
    for (a, b) in a[..whole].chunks_exact(8).zip(b[..whole].chunks_exact(8)) {
        (0..8).for_each(|i| sums[i] += a[i] * b[i]);
    }
    let rest: f64 = a[whole..].iter().zip(&b[whole..]).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

pub fn sum(a: &[f64], b: &[f64]) -> Row {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

pub fn rms_norm(x: &[f64], weight: &[f64], eps: f64) -> Row {
    let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
    x.iter().zip(weight).map(|(x, w)| x / (mean + eps).sqrt() * w).collect()
}

pub fn layer_norm(x: &[f64], weight: &[f64], bias: &[f64], eps: f64) -> Row {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64;
    x.iter().zip(weight).zip(bias).map(|((x, w), b)| (x - mean) / (variance + eps).sqrt() * w + b).collect()
}

/// The weights of a softmax; `sink` is the logit of an additional summand.
pub fn softmax(x: &[f64], sink: Option<f64>) -> Row {
    let most = x.iter().copied().chain(sink).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = x.iter().copied().chain(sink).map(|x| (x - most).exp()).sum();
    x.iter().map(|x| (x - most).exp() / total).collect()
}

pub fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

pub fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)).tanh())
}

/// By the series of the error function, which converges for all values in these models; it ends where terms no longer
/// change the sum.
pub fn gelu_erf(x: f64) -> f64 {
    let z = x / 2f64.sqrt();
    if z.abs() > 5.0 {
        return if z > 0.0 { x } else { 0.0 };
    }
    let (mut term, mut erf) = (z, z);
    for n in 1..200 {
        term *= -z * z / f64::from(n);
        let next = erf + term / f64::from(2 * n + 1);
        if next == erf && f64::from(n) > z * z {
            break;
        }
        erf = next;
    }
    0.5 * x * (1.0 + erf * 2.0 / std::f64::consts::PI.sqrt())
}
