//! L-BFGS: few, long steps on the whole loss, computed on the host over runs of a graph.

use crate::nn::invalid;
use crate::{Backend, Graph, Result, Tensor};
use std::collections::VecDeque;

/// Minimises smooth, deterministic losses (D. C. Liu, J. Nocedal, On the Limited Memory BFGS Method, 1989), with a line
/// search for the strong Wolfe conditions (J. Nocedal, S. J. Wright, Numerical Optimization, 2006, algorithms 7.4, 3.5
/// and 3.6). The parameters are F32 leafs; sums over them, and the steps, are computed in F64.
///
/// ```
/// use tensorlib::{train::Lbfgs, Backend, Context};
/// let ctx = Context::new();
/// let x = ctx.tensor([2], &[-1.2, 1.])?;
/// // Rosenbrock's valley: (1 - a)^2 + 100 (b - a^2)^2.
/// let (a, b) = (x.narrow(0, 0, 1)?, x.narrow(0, 1, 1)?);
/// let one = ctx.tensor([1], &[1.])?;
/// let hundred = ctx.tensor([1], &[100.])?;
/// let loss = one.sub(&a)?.sqr()?.add(&b.sub(&a.sqr()?)?.sqr()?.mul(&hundred)?)?;
/// let minimum = Lbfgs::new().minimise(&Backend::cpu()?, &loss, &[&x])?;
/// assert!(x.to_vec::<f32>()?.iter().all(|x| (x - 1.).abs() < 1e-3), "{minimum:?}");
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lbfgs {
    iterations: usize,
    memory: usize,
    tolerance: f64,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Self { iterations: 1000, memory: 20, tolerance: 1e-6 }
    }
}

/// Why the search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The gradient is within the tolerance.
    Converged,
    /// No step along the gradient reduces the loss: it is as low as F32 can represent.
    Precision,
    /// The limit of iterations was reached.
    Iterations,
}

/// The point at which the search ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// The loss at the minimum.
    pub loss: f64,
    /// The largest absolute element of the gradient.
    pub gradient: f64,
    /// How many steps were taken.
    pub iterations: usize,
    /// How many times the graph was computed.
    pub evaluations: usize,
    /// Why the search ended.
    pub reason: Reason,
    /// The losses of all steps, starting with the initial loss.
    pub losses: Vec<f64>,
}

impl Lbfgs {
    /// The defaults: at most 1,000 iterations, a memory of 20 steps, a tolerance of 1e-6.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most steps to take.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// How many earlier steps the direction of the next one is computed from.
    #[must_use]
    pub fn memory(mut self, steps: usize) -> Self {
        self.memory = steps;
        self
    }

    /// The search ends when no element of the gradient exceeds this fraction of max(1, the largest element of the
    /// initial gradient).
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Moves the parameters to a minimum of the loss, a tensor of one element.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a memory of 0, a tolerance that is negative or NaN, a parameter
    /// that no gradient flows to, and an initial loss that is not finite; as [`Tensor::gradients`] and
    /// [`Graph::compute`]. The parameters are then those of the last step taken.
    pub fn minimise(&self, backend: &Backend, loss: &Tensor, parameters: &[&Tensor]) -> Result<Minimum> {
        if self.memory == 0 || self.tolerance.is_nan() || self.tolerance < 0. {
            let (memory, tolerance) = (self.memory, self.tolerance);
            return Err(invalid(format!("Lbfgs: memory {memory}, tolerance {tolerance}: 1 and 0 or more are valid")));
        }
        for parameter in parameters {
            if !loss.gradients_reach(parameter)? {
                let what = format!("'{}' {:?}", parameter.name(), parameter.shape());
                return Err(invalid(format!("Lbfgs: no gradient of the loss flows to parameter {what}")));
            }
        }
        let gradients = loss.gradients(parameters)?;
        let outputs: Vec<&Tensor> = [loss].into_iter().chain(&gradients).collect();
        let mut function =
            Function { backend, graph: Graph::new(&outputs)?, loss, gradients: &gradients, parameters, evaluations: 0 };
        self.descend(&mut function)
    }

    fn descend(&self, function: &mut Function<'_>) -> Result<Minimum> {
        let mut here = function.begin()?;
        if !here.loss.is_finite() {
            return Err(invalid(format!("Lbfgs: the loss is {} where it begins: a finite one is valid", here.loss)));
        }
        check_gradient(&here)?;
        let enough = self.tolerance * largest(&here.gradient).max(1.);
        let mut memory = Memory { pairs: VecDeque::new(), most: self.memory };
        let mut losses = vec![here.loss];
        let mut reason = Reason::Iterations;
        while losses.len() <= self.iterations {
            if largest(&here.gradient) <= enough {
                reason = Reason::Converged;
                break;
            }
            let mut direction = memory.direction(&here.gradient);
            if dot(&direction, &here.gradient) >= 0. {
                memory.pairs.clear();
                direction = memory.direction(&here.gradient);
            }
            // The first step has no scale, so its length is at most 1.
            let first = if memory.pairs.is_empty() { (1. / norm(&here.gradient)).min(1.) } else { 1. };
            let Some(next) = Search { function, here: &here, direction: &direction }.run(first)? else {
                if memory.pairs.is_empty() {
                    reason = Reason::Precision;
                    break;
                }
                memory.pairs.clear(); // try again along the negative gradient
                continue;
            };
            if let Err(error) = check_gradient(&next) {
                function.write(&here.at)?;
                return Err(error);
            }
            memory.add(difference(&next.at, &here.at), difference(&next.gradient, &here.gradient));
            losses.push(next.loss);
            here = next;
        }
        function.write(&here.at)?;
        Ok(Minimum {
            loss: here.loss,
            gradient: largest(&here.gradient),
            iterations: losses.len() - 1,
            evaluations: function.evaluations,
            reason,
            losses,
        })
    }
}

fn check_gradient(point: &Point) -> Result<()> {
    match point.gradient.iter().find(|x| !x.is_finite()) {
        Some(x) => Err(invalid(format!(
            "Lbfgs: the gradient holds {x} where the loss is {}: a finite one is valid",
            point.loss
        ))),
        None => Ok(()),
    }
}

/// A point, with the loss and gradient computed there.
struct Point {
    at: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
}

/// The loss as a function of the elements of all parameters.
struct Function<'a> {
    backend: &'a Backend,
    graph: Graph,
    loss: &'a Tensor,
    gradients: &'a [Tensor],
    parameters: &'a [&'a Tensor],
    evaluations: usize,
}

impl Function<'_> {
    fn begin(&mut self) -> Result<Point> {
        let mut at = Vec::new();
        for parameter in self.parameters {
            at.extend(parameter.to_f32_vec()?.into_iter().map(f64::from));
        }
        self.compute(at)
    }

    fn at(&mut self, at: &[f64]) -> Result<Point> {
        self.write(at)?;
        // Parameters are rounded to F32, so differences between points must use the rounded values.
        self.compute(at.iter().map(|x| f64::from(*x as f32)).collect())
    }

    fn compute(&mut self, at: Vec<f64>) -> Result<Point> {
        self.graph.compute(self.backend)?;
        self.evaluations += 1;
        let mut gradient = Vec::with_capacity(at.len());
        for g in self.gradients {
            gradient.extend(g.to_vec::<f32>()?.into_iter().map(f64::from));
        }
        Ok(Point { at, loss: f64::from(self.loss.to_f32_vec()?[0]), gradient })
    }

    fn write(&self, at: &[f64]) -> Result<()> {
        let mut rest = at;
        for parameter in self.parameters {
            let (values, others) = rest.split_at(parameter.n_elements());
            parameter.write_f32(&values.iter().map(|x| *x as f32).collect::<Vec<_>>())?;
            rest = others;
        }
        Ok(())
    }
}

/// The last steps, and the change of the gradient in each.
struct Memory {
    pairs: VecDeque<(Vec<f64>, Vec<f64>)>,
    most: usize,
}

impl Memory {
    fn add(&mut self, step: Vec<f64>, change: Vec<f64>) {
        // Where the loss is not convex, or rounding dominates, the pair would turn directions uphill.
        if dot(&step, &change) <= 1e-10 * dot(&change, &change) {
            return;
        }
        if self.pairs.len() == self.most {
            self.pairs.pop_front();
        }
        self.pairs.push_back((step, change));
    }

    /// The two-loop recursion: minus the estimated inverse Hessian times the gradient.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut parts = Vec::with_capacity(self.pairs.len());
        for (step, change) in self.pairs.iter().rev() {
            let part = dot(step, &q) / dot(step, change);
            add_to(&mut q, -part, change);
            parts.push(part);
        }
        if let Some((step, change)) = self.pairs.back() {
            let scale = dot(step, change) / dot(change, change);
            q.iter_mut().for_each(|x| *x *= scale);
        }
        for ((step, change), part) in self.pairs.iter().zip(parts.into_iter().rev()) {
            let back = dot(change, &q) / dot(step, change);
            add_to(&mut q, part - back, step);
        }
        q
    }
}

/// A line search along a descent direction.
struct Search<'s, 'a> {
    function: &'s mut Function<'a>,
    here: &'s Point,
    direction: &'s [f64],
}

/// A point on the line: the step length, loss and slope.
struct OnLine {
    step: f64,
    slope: f64,
    point: Point,
}

impl Search<'_, '_> {
    const DECREASE: f64 = 1e-4;
    const CURVATURE: f64 = 0.9;
    /// The most evaluations for finding a bracket, and for the search inside it.
    const TRIES: usize = 25;

    /// A point that satisfies the strong Wolfe conditions; otherwise one with a lower loss, or none.
    fn run(mut self, first: f64) -> Result<Option<Point>> {
        let slope = dot(self.direction, &self.here.gradient);
        let mut before = OnLine { step: 0., slope, point: copy(self.here) };
        let mut step = first;
        for i in 0..Self::TRIES {
            let now = self.at(step)?;
            let is_high = !self.is_lower(&now) || (i > 0 && now.point.loss >= before.point.loss);
            if is_high && !self.is_good_enough(&now) {
                return self.zoom(before, now);
            }
            if self.is_flat(&now) {
                return Ok(Some(now.point));
            }
            if now.slope >= 0. {
                return self.zoom(now, before);
            }
            step *= 2.;
            before = now;
        }
        Ok((before.step > 0.).then_some(before.point))
    }

    /// Searches between a low point and another one; the slope at the low point descends towards the other.
    fn zoom(&mut self, mut low: OnLine, mut high: OnLine) -> Result<Option<Point>> {
        for _ in 0..Self::TRIES {
            let now = self.at(between(&low, &high))?;
            if self.is_good_enough(&now) && self.is_flat(&now) {
                return Ok(Some(now.point));
            }
            if !self.is_lower(&now) || now.point.loss >= low.point.loss {
                high = now;
            } else {
                if self.is_flat(&now) {
                    return Ok(Some(now.point));
                }
                if now.slope * (high.step - low.step) >= 0. {
                    high = low;
                }
                low = now;
            }
            if (high.step - low.step).abs() <= 1e-12 * low.step.abs().max(high.step.abs()) {
                break;
            }
        }
        Ok((low.step > 0. && low.point.loss < self.here.loss).then_some(low.point))
    }

    fn at(&mut self, step: f64) -> Result<OnLine> {
        let at: Vec<f64> = self.here.at.iter().zip(self.direction).map(|(x, d)| x + step * d).collect();
        let point = self.function.at(&at)?;
        Ok(OnLine { step, slope: dot(self.direction, &point.gradient), point })
    }

    fn slope(&self) -> f64 {
        dot(self.direction, &self.here.gradient)
    }

    /// NaN is not lower.
    fn is_lower(&self, now: &OnLine) -> bool {
        now.point.loss <= self.here.loss + Self::DECREASE * now.step * self.slope()
    }

    fn is_flat(&self, now: &OnLine) -> bool {
        now.slope.abs() <= -Self::CURVATURE * self.slope()
    }

    /// Near the minimum, rounding to F32 hides differences of losses but not slopes. There the slope decides about the
    /// decrease, as for a parabola (W. W. Hager, H. Zhang, A New Conjugate Gradient Method, 2005, the approximate Wolfe
    /// conditions).
    fn is_good_enough(&self, now: &OnLine) -> bool {
        let rounding = 4. * f64::from(f32::EPSILON) * self.here.loss.abs();
        let moved = now.point.at != self.here.at;
        moved
            && now.point.loss <= self.here.loss + rounding
            && now.slope <= (2. * Self::DECREASE - 1.) * self.slope()
            && self.is_flat(now)
    }
}

/// The minimum of the cubic through both points' losses and slopes, kept away from either end; the midpoint if it has
/// none.
fn between(a: &OnLine, b: &OnLine) -> f64 {
    let length = b.step - a.step;
    let d1 = a.slope + b.slope - 3. * (b.point.loss - a.point.loss) / length;
    let d2 = (d1 * d1 - a.slope * b.slope).sqrt().copysign(length);
    let step = b.step - length * (b.slope + d2 - d1) / (b.slope - a.slope + 2. * d2);
    let (low, high) = (a.step.min(b.step), a.step.max(b.step));
    let margin = 0.1 * (high - low);
    if step.is_finite() {
        step.clamp(low + margin, high - margin)
    } else {
        (low + high) / 2.
    }
}

fn copy(point: &Point) -> Point {
    Point { at: point.at.clone(), loss: point.loss, gradient: point.gradient.clone() }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0., |most: f64, x| most.max(x.abs()))
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x - y).collect()
}

fn add_to(a: &mut [f64], factor: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(x, y)| *x += factor * y);
}
