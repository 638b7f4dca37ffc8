//! Optimisers: groups of parameters, the state kept for them, and the nodes of their steps.

use super::Method;
use crate::nn::{invalid, Parameters};
use crate::{Context, DType, Result, Tensor};
use std::fmt;

type Chooses = Box<dyn Fn(&Tensor) -> bool + Send + Sync>;

/// Parameters with common settings.
pub struct Group {
    chooses: Chooses,
    rate_factor: f64,
    decay: Option<f64>,
    method: Option<Method>,
}

impl Group {
    /// A group of the parameters for which `chooses` returns true. Settings that the group does not change are the
    /// optimiser's.
    ///
    /// ```
    /// use tensorlib::train::Group;
    /// let without_decay = Group::new(|t| t.n_dims() < 2).decay(0.);
    /// ```
    pub fn new(chooses: impl Fn(&Tensor) -> bool + Send + Sync + 'static) -> Self {
        Self { chooses: Box::new(chooses), rate_factor: 1., decay: None, method: None }
    }

    /// Multiplies the optimiser's learning rate by this factor.
    #[must_use]
    pub fn rate_factor(mut self, factor: f64) -> Self {
        self.rate_factor = factor;
        self
    }

    /// The group's own decay.
    #[must_use]
    pub fn decay(mut self, decay: f64) -> Self {
        self.decay = Some(decay);
        self
    }

    /// The group's own method.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group(rate x {}, decay {:?}, {:?})", self.rate_factor, self.decay, self.method)
    }
}

/// Options for making an [`Optimiser`].
#[derive(Debug)]
pub struct OptimiserOptions {
    method: Method,
    rate: f64,
    decay: f64,
    clip_value: Option<f64>,
    clip_norm: Option<f64>,
    groups: Vec<Group>,
}

impl OptimiserOptions {
    /// This method with a learning rate, the factor of its steps.
    pub fn new(method: Method, rate: f64) -> Self {
        Self { method, rate, decay: 0., clip_value: None, clip_norm: None, groups: Vec::new() }
    }

    /// [`Method::adamw`] with a learning rate.
    pub fn adamw(rate: f64) -> Self {
        Self::new(Method::adamw(), rate)
    }

    /// The fraction of a parameter that a step at a rate of 1 takes away; 0 by default.
    #[must_use]
    pub fn decay(mut self, decay: f64) -> Self {
        self.decay = decay;
        self
    }

    /// Clamps elements of gradients to -bound to bound, before their norm is clipped.
    #[must_use]
    pub fn clip_value(mut self, bound: f64) -> Self {
        self.clip_value = Some(bound);
        self
    }

    /// Scales gradients down so that their norm, over all parameters together, is at most this.
    #[must_use]
    pub fn clip_norm(mut self, norm: f64) -> Self {
        self.clip_norm = Some(norm);
        self
    }

    /// Adds a group; a parameter belongs to the first group that chooses it.
    #[must_use]
    pub fn group(mut self, group: Group) -> Self {
        self.groups.push(group);
        self
    }

    /// Makes the optimiser of all of a model's parameters.
    ///
    /// # Errors
    /// As [`OptimiserOptions::build_for`].
    pub fn build(self, parameters: &Parameters) -> Result<Optimiser> {
        let mut optimiser = self.build_for(&parameters.tensors(), parameters.another_context())?;
        optimiser.buffers = parameters.buffers();
        Ok(optimiser)
    }

    /// Makes the optimiser of these leafs, F32 or BF16. `state`, a context on their device, gets the method's state
    /// and, for each BF16 parameter, an F32 master copy that steps change and from which the parameter is rounded.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for no parameters, one without a unique name or that is not a
    /// contiguous leaf of such a type, one that the method does not support, and for settings out of their range;
    /// [`Error::OutOfMemory`](crate::Error).
    pub fn build_for(mut self, parameters: &[Tensor], state: Context) -> Result<Optimiser> {
        self.check()?;
        let default = Group::new(|_| true);
        self.groups.push(default);
        let mut groups = Vec::new();
        for group in &self.groups {
            let method = group.method.unwrap_or(self.method);
            let settings = state.zeros(DType::F32, [method.settings(0., 0., 1).len() as i64])?;
            let decay = group.decay.unwrap_or(self.decay);
            groups.push(Treatment { method, rate_factor: group.rate_factor, decay, settings });
        }
        let mut members: Vec<Member> = Vec::new();
        for parameter in parameters {
            let name = parameter.name();
            let what = || format!("Optimiser: parameter '{name}' {:?} {}", parameter.shape(), parameter.dtype());
            if name.is_empty() || members.iter().any(|m| m.parameter.name() == name) {
                return Err(invalid(format!("{}: a name of its own is valid: see set_name", what())));
            }
            let is_known = [DType::F32, DType::BF16].contains(&parameter.dtype());
            if !is_known || parameter.op() != "leaf" || !parameter.is_contiguous() {
                return Err(invalid(format!("{}: a contiguous leaf of f32 or bf16 is valid", what())));
            }
            let group = self.groups.iter().position(|g| (g.chooses)(parameter)).unwrap_or(self.groups.len() - 1);
            let method = groups[group].method;
            if !method.takes(&parameter.shape()) {
                let rest = "takes matrices: a group with another method is valid for it";
                return Err(invalid(format!("{}: {method:?} {rest}", what())));
            }
            let leaf = |kind: &str| {
                let leaf = state.zeros(DType::F32, parameter.shape())?;
                leaf.set_name(&format!("optimiser.{kind}.{name}"))?;
                Ok(leaf)
            };
            let remembered = method.state().iter().map(|kind| leaf(kind)).collect::<Result<_>>()?;
            let master = (parameter.dtype() != DType::F32).then(|| leaf("master")).transpose()?;
            if let Some(master) = &master {
                master.write_f32(&parameter.to_f32_vec()?)?;
            }
            members.push(Member { parameter: parameter.clone(), master, remembered, group });
        }
        if members.is_empty() {
            return Err(invalid("Optimiser: no parameters: at least one is valid".into()));
        }
        Ok(Optimiser { options: self, groups, members, buffers: Vec::new(), step: 0 })
    }

    fn check(&self) -> Result<()> {
        let refuse = |what: String, valid: &str| Err(invalid(format!("Optimiser: {what}: {valid} is valid")));
        let (is_factor, is_bound) = (|x: f64| x.is_finite() && x >= 0., |x: f64| x.is_finite() && x > 0.);
        let rates = self.groups.iter().map(|g| g.rate_factor).chain([self.rate]);
        let decays = self.groups.iter().filter_map(|g| g.decay).chain([self.decay]);
        for (what, x) in rates.map(|x| ("rate", x)).chain(decays.map(|x| ("decay", x))) {
            if !is_factor(x) {
                return refuse(format!("a {what} of {x}"), "a finite number of 0 or more");
            }
        }
        for (what, x) in [("clip_value", self.clip_value), ("clip_norm", self.clip_norm)] {
            if let Some(x) = x.filter(|x| !is_bound(*x)) {
                return refuse(format!("{what} of {x}"), "a finite number above 0");
            }
        }
        for method in self.groups.iter().filter_map(|g| g.method).chain([self.method]) {
            if let Some(valid) = method.refusal() {
                return Err(invalid(format!("Optimiser: {method:?}: {valid}")));
            }
        }
        Ok(())
    }
}

/// A group, as the optimiser keeps it.
struct Treatment {
    method: Method,
    rate_factor: f64,
    decay: f64,
    settings: Tensor,
}

struct Member {
    parameter: Tensor,
    master: Option<Tensor>,
    remembered: Vec<Tensor>,
    group: usize,
}

impl Member {
    /// The tensor that steps write: the master copy if there is one, otherwise the parameter.
    fn target(&self) -> &Tensor {
        self.master.as_ref().unwrap_or(&self.parameter)
    }
}

/// Moves parameters against their gradients. Its steps are nodes: compute a graph of the loss and the steps once per
/// batch, after a call of [`Optimiser::advance`].
///
/// ```
/// use tensorlib::train::{Method, OptimiserOptions};
/// use tensorlib::{nn::loss, nn::Init, nn::Parameters, Backend, Context, Graph};
///
/// let parameters = Parameters::new(1);
/// let slope = parameters.make("slope", [1], Init::Zeros)?;
/// let mut optimiser = OptimiserOptions::new(Method::Sgd, 0.1).build(&parameters)?;
///
/// let ctx = Context::new();
/// let (x, y) = (ctx.tensor([3], &[1., 2., 3.])?, ctx.tensor([3], &[2., 4., 6.])?);
/// let loss = loss::mse(&x.mul(&slope)?, &y)?;
/// let steps = optimiser.steps(&loss)?;
/// let outputs: Vec<_> = [&loss].into_iter().chain(&steps).collect();
/// let (graph, cpu) = (Graph::new(&outputs)?, Backend::cpu()?);
/// for _ in 0..50 {
///     optimiser.advance(1.)?;
///     graph.compute(&cpu)?;
/// }
/// assert!((slope.get(&[0])? - 2.).abs() < 1e-5);
/// # Ok::<(), tensorlib::Error>(())
/// ```
pub struct Optimiser {
    options: OptimiserOptions,
    groups: Vec<Treatment>,
    members: Vec<Member>,
    /// What else a run of training changes, and belongs to the model.
    buffers: Vec<Tensor>,
    step: u64,
}

impl Optimiser {
    /// Appends to the loss's context the nodes of a step down its gradients, to be outputs of a graph: one or two nodes
    /// per parameter. The loss has one element.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) naming the parameters that no gradient flows to; as
    /// [`Context::gradients`].
    pub fn steps(&self, loss: &Tensor) -> Result<Vec<Tensor>> {
        self.check_paths(loss)?;
        let parameters: Vec<&Tensor> = self.members.iter().map(|m| &m.parameter).collect();
        self.steps_by(loss.context(), &loss.gradients(&parameters)?)
    }

    /// Appends the nodes of a step down existing gradients, F32, one for each of [`Optimiser::parameters`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a wrong number of gradients; as [`Context::op`].
    pub fn steps_by(&self, ctx: &Context, gradients: &[Tensor]) -> Result<Vec<Tensor>> {
        if gradients.len() != self.members.len() {
            let (found, wanted) = (gradients.len(), self.members.len());
            return Err(invalid(format!("Optimiser: {found} gradients, {wanted} parameters: as many are valid")));
        }
        ctx.within(|| {
            let step = |(member, gradient): (&Member, &Tensor)| {
                let group = &self.groups[member.group];
                let (operands, state) = ((member.target(), gradient), &member.remembered);
                let step = group.method.step(operands, state, &group.settings, group.decay)?;
                match member.master {
                    Some(_) => step.cpy(&member.parameter),
                    None => Ok(step),
                }
            };
            self.members.iter().zip(&self.clipped(gradients)?).map(step).collect()
        })
    }

    /// Call it before each run: counts a step and sets the learning rate to `factor` times that of the options.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a factor that is negative or not finite; [`Error::Busy`](crate::Error).
    pub fn advance(&mut self, factor: f64) -> Result<()> {
        if !(factor.is_finite() && factor >= 0.) {
            return Err(invalid(format!("Optimiser::advance: {factor}: a finite factor of 0 or more is valid")));
        }
        let step = self.step + 1;
        for group in &self.groups {
            let rate = self.options.rate * group.rate_factor * factor;
            group.settings.write(&group.method.settings(rate, group.decay, step))?;
        }
        self.step = step;
        Ok(())
    }

    /// The number of steps counted so far.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The learning rate at a factor of 1.
    pub fn rate(&self) -> f64 {
        self.options.rate
    }

    /// The parameters that the optimiser moves.
    pub fn parameters(&self) -> Vec<Tensor> {
        self.members.iter().map(|m| m.parameter.clone()).collect()
    }

    /// The buffers of the [`Parameters`] that the optimiser was built from. It leaves them as they are.
    pub fn buffers(&self) -> &[Tensor] {
        &self.buffers
    }

    /// All that training changes in the model: its parameters and buffers.
    pub(super) fn model(&self) -> Vec<Tensor> {
        self.members.iter().map(|m| &m.parameter).chain(&self.buffers).cloned().collect()
    }

    /// The state that the methods keep: leafs with names such as `optimiser.m.NAME`.
    pub fn state(&self) -> Vec<Tensor> {
        self.members.iter().flat_map(|m| m.master.iter().chain(&m.remembered)).cloned().collect()
    }

    /// Continues from this step; the caller restores the state.
    #[cfg(feature = "safetensors")]
    pub(super) fn resume(&mut self, step: u64) {
        self.step = step;
    }

    /// The settings that a checkpoint's optimiser must share with this one: the methods, which define the meaning of
    /// its state. Rates, decays and clipping may differ.
    #[cfg(feature = "safetensors")]
    pub(super) fn text(&self) -> String {
        self.groups.iter().map(|group| format!("{:?}", group.method)).collect::<Vec<_>>().join(", ")
    }

    /// Checks that gradients of the loss flow to all parameters.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) naming the parameters that the loss does not depend on.
    pub(super) fn check_paths(&self, loss: &Tensor) -> Result<()> {
        let mut lost = Vec::new();
        for Member { parameter, .. } in &self.members {
            if !loss.gradients_reach(parameter)? {
                lost.push(format!("'{}'", parameter.name()));
            }
        }
        if lost.is_empty() {
            return Ok(());
        }
        let (found, lost) = (lost.len(), lost.join(", "));
        let message = format!(
            "Optimiser: no gradient of the loss flows to {found} of {} parameters: {lost}: an optimiser of the others is valid",
            self.members.len()
        );
        Err(invalid(message))
    }

    fn clipped(&self, gradients: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut gradients = gradients.to_vec();
        if let Some(bound) = self.options.clip_value {
            gradients = gradients.iter().map(|g| g.clamp(-bound, bound)).collect::<Result<_>>()?;
        }
        let Some(most) = self.options.clip_norm else { return Ok(gradients) };
        let mut squares: Option<Tensor> = None;
        for gradient in &gradients {
            let of_this = gradient.sqr()?.sum(..)?;
            squares = Some(match squares {
                Some(others) => others.add(&of_this)?,
                None => of_this,
            });
        }
        let Some(squares) = squares else { return Ok(gradients) };
        // most / max(norm, most): 1 for gradients that are short enough.
        let norm = squares.sqrt()?;
        let most = norm.fill(most)?;
        let factor = most.div(&norm.maximum(&most)?)?;
        gradients.iter().map(|g| g.mul(&factor)).collect()
    }
}

impl fmt::Debug for Optimiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OptimiserOptions { method, rate, .. } = &self.options;
        write!(f, "Optimiser({method:?}, rate {rate}, {} parameters, step {})", self.members.len(), self.step)
    }
}
