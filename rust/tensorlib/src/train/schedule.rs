//! Schedules: factors of the learning rate by step number. They are plain functions of numbers; a trainer takes any
//! such function.
//!
//! ```
//! use tensorlib::train::schedule;
//! let factor = |step| schedule::cosine(step, 10, 110, 0.1);
//! assert_eq!((factor(4), factor(9), factor(60)), (0.5, 1.0, 0.55));
//! ```

/// Always 1.
pub fn constant(_step: u64) -> f64 {
    1.
}

/// Rises over `warm_up` steps to 1, then falls linearly to `last` at step `total`. Steps count from 0.
pub fn linear(step: u64, warm_up: u64, total: u64, last: f64) -> f64 {
    warmed_up(step, warm_up, total, |part| 1. + (last - 1.) * part)
}

/// Rises over `warm_up` steps to 1, then falls along half a cosine to `last` at step `total` (I. Loshchilov, F. Hutter,
/// SGDR, 2017). Steps count from 0.
pub fn cosine(step: u64, warm_up: u64, total: u64, last: f64) -> f64 {
    warmed_up(step, warm_up, total, |part| last + (1. - last) * half_cosine(part))
}

/// Starts at 1 and is multiplied by `factor` after each `every` steps.
pub fn step(step: u64, every: u64, factor: f64) -> f64 {
    factor.powf((step / every.max(1)) as f64)
}

/// Rises along half a cosine from 1/25 to 1 over 30 % of the `total` steps, then falls along another one to 1/10,000 of
/// 1/25 (L. N. Smith, N. Topin, Super-Convergence, 2018).
pub fn one_cycle(step: u64, total: u64) -> f64 {
    const FIRST: f64 = 1. / 25.;
    const LAST: f64 = FIRST / 1e4;
    let (step, peak, end) = (step as f64, 0.3 * total as f64, total.saturating_sub(1) as f64);
    if step < peak {
        1. + (FIRST - 1.) * half_cosine(step / peak)
    } else {
        LAST + (1. - LAST) * half_cosine(((step - peak) / (end - peak).max(1.)).min(1.))
    }
}

/// Falls from 1 at 0 to 0 at 1.
fn half_cosine(part: f64) -> f64 {
    (1. + (std::f64::consts::PI * part).cos()) / 2.
}

fn warmed_up(step: u64, warm_up: u64, total: u64, fall: impl Fn(f64) -> f64) -> f64 {
    if step < warm_up {
        return (step + 1) as f64 / warm_up as f64;
    }
    let length = total.saturating_sub(warm_up).max(1) as f64;
    fall(((step - warm_up) as f64 / length).min(1.))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
    }

    #[test]
    fn pass_through_their_corners() {
        near(linear(0, 0, 10, 0.), 1.);
        near(linear(5, 0, 10, 0.), 0.5);
        near(linear(10, 0, 10, 0.2), 0.2);
        near(linear(99, 5, 10, 0.2), 0.2);
        near(linear(0, 4, 10, 0.2), 0.25);
        near(linear(3, 4, 10, 0.2), 1.);
        near(cosine(7, 4, 10, 0.5), 0.75);
        near(cosine(10, 4, 10, 0.5), 0.5);
        near(step(29, 10, 0.1), 0.01);
        near(step(3, 0, 0.5), 0.125);
        near(one_cycle(0, 100), 0.04);
        near(one_cycle(30, 100), 1.);
        near(one_cycle(99, 100), 4e-6);
        near(one_cycle(1000, 100), 4e-6);
        for total in 0..3 {
            for at in 0..3 {
                assert!(one_cycle(at, total).is_finite() && linear(at, total, total, 0.).is_finite());
            }
        }
    }
}
