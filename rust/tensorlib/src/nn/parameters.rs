//! Parameters: leafs with names and initial values.

use super::{invalid, Init};
use crate::{Backend, Context, DType, Result, Tensor};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

struct Shared {
    context: Context,
    backend: Option<Backend>,
    seed: u64,
    dtype: DType,
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    parameters: Vec<Tensor>,
    buffers: Vec<Tensor>,
}

impl Made {
    fn all(&self) -> impl Iterator<Item = &Tensor> {
        self.parameters.iter().chain(&self.buffers)
    }
}

/// The parameters of a model: leafs of one context, in the order in which layers made them, each with a unique name.
/// Clones and scopes share them. A model may also have buffers, which training changes without gradients.
///
/// Initial values are random numbers derived from the seed and a parameter's position in that order: the same bits on
/// every machine.
///
/// ```
/// use tensorlib::nn::{Init, Parameters};
/// let parameters = Parameters::new(7);
/// let block = parameters.scope("blocks.0");
/// let gain = block.make("gain", [8], Init::Ones)?;
/// assert_eq!(gain.name(), "blocks.0.gain");
/// assert_eq!(parameters.n_elements(), 8);
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone)]
pub struct Parameters {
    shared: Arc<Shared>,
    /// The prefix of names: empty, or with a dot at its end.
    prefix: String,
}

impl Parameters {
    /// Makes an empty set of F32 parameters on the host.
    pub fn new(seed: u64) -> Self {
        Self::of(Context::new(), None, seed, DType::F32)
    }

    /// Makes an empty set of F32 parameters on a backend's device.
    pub fn on(backend: &Backend, seed: u64) -> Self {
        Self::of(Context::on(backend), Some(backend.clone()), seed, DType::F32)
    }

    fn of(context: Context, backend: Option<Backend>, seed: u64, dtype: DType) -> Self {
        let shared = Shared { context, backend, seed, dtype, made: Mutex::default() };
        Self { shared: Arc::new(shared), prefix: String::new() }
    }

    /// Makes parameters of this type, F32, F16 or BF16. Call it before the first parameter is made.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for another type, or if there are parameters already.
    pub fn with_dtype(self, dtype: DType) -> Result<Self> {
        if ![DType::F32, DType::F16, DType::BF16].contains(&dtype) {
            return Err(invalid(format!("Parameters::with_dtype: {dtype}: f32, f16 and bf16 are valid")));
        }
        let shared = &self.shared;
        if self.lock().all().next().is_some() {
            return Err(invalid("Parameters::with_dtype: there are parameters: valid before the first one".into()));
        }
        Ok(Self::of(shared.context.clone(), shared.backend.clone(), shared.seed, dtype))
    }

    /// A handle to this set that prefixes `name.` to the names of the parameters made with it.
    #[must_use]
    pub fn scope(&self, name: impl fmt::Display) -> Self {
        Self { shared: self.shared.clone(), prefix: format!("{}{name}.", self.prefix) }
    }

    /// Makes a parameter: a leaf of 1 to 4 dimensions.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a name that is taken or empty, or an invalid shape;
    /// [`Error::OutOfMemory`](crate::Error).
    pub fn make(&self, name: &str, shape: impl AsRef<[i64]>, init: Init) -> Result<Tensor> {
        let mut made = self.lock();
        let tensor = self.leaf("make", &made, name, self.shared.dtype, shape.as_ref())?;
        // Each tensor's number selects its random numbers, so adding layers after others leaves the others' values as
        // they are.
        init.fill("Parameters::make", &tensor, self.shared.seed, made.parameters.len())?;
        made.parameters.push(tensor.clone());
        Ok(tensor)
    }

    /// Gives an existing parameter other initial values, such as a layer's that has a default of its own. The name is
    /// prefixed with the scope.
    ///
    /// ```
    /// use tensorlib::nn::{Gru, Init, Parameters, RecurrentOptions};
    /// let parameters = Parameters::new(1);
    /// let gru = Gru::new(&parameters.scope("gru"), RecurrentOptions::new(3, 8))?;
    /// parameters.initialise("gru.weight_hh_l0", Init::Orthogonal { gain: 1. })?;
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a name that no parameter has; as [`Parameters::make`].
    pub fn initialise(&self, name: &str, init: Init) -> Result<()> {
        let name = format!("{}{name}", self.prefix);
        let made = self.lock();
        let Some(number) = made.parameters.iter().position(|t| t.name() == name) else {
            let names: Vec<String> = made.parameters.iter().map(Tensor::name).collect();
            let names = names.join(", ");
            return Err(invalid(format!("Parameters::initialise: '{name}': one of these is valid: {names}")));
        };
        init.fill("Parameters::initialise", &made.parameters[number], self.shared.seed, number)
    }

    /// Makes a buffer: a leaf of zeros that belongs to the model, as its parameters do, but that no optimiser moves.
    /// Nodes of a training graph write it ([`Pass::update`](super::Pass::update)). Files and checkpoints contain
    /// buffers.
    ///
    /// ```
    /// use tensorlib::nn::{BatchNorm, Parameters};
    /// let parameters = Parameters::new(1);
    /// BatchNorm::new(&parameters, 16)?;
    /// assert_eq!(parameters.names(), ["weight", "bias"]);
    /// assert_eq!(parameters.buffers()[0].name(), "running_mean");
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Parameters::make`].
    pub fn make_buffer(&self, name: &str, shape: impl AsRef<[i64]>, dtype: DType) -> Result<Tensor> {
        let mut made = self.lock();
        let tensor = self.leaf("make_buffer", &made, name, dtype, shape.as_ref())?;
        made.buffers.push(tensor.clone());
        Ok(tensor)
    }

    fn leaf(&self, call: &str, made: &Made, name: &str, dtype: DType, shape: &[i64]) -> Result<Tensor> {
        let name = format!("{}{name}", self.prefix);
        if name.is_empty() || name.ends_with('.') || made.all().any(|t| t.name() == name) {
            return Err(invalid(format!("Parameters::{call}: '{name}': a name that no other parameter has is valid")));
        }
        let tensor = self.shared.context.zeros(dtype, shape)?;
        tensor.set_name(&name)?;
        Ok(tensor)
    }

    /// All parameters, in the order in which they were made.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.lock().parameters.clone()
    }

    /// All buffers, in the order in which they were made.
    pub fn buffers(&self) -> Vec<Tensor> {
        self.lock().buffers.clone()
    }

    /// The names of all parameters, in that order.
    pub fn names(&self) -> Vec<String> {
        self.lock().parameters.iter().map(Tensor::name).collect()
    }

    /// The parameter or buffer with this name, which is prefixed with the scope.
    pub fn get(&self, name: &str) -> Option<Tensor> {
        let name = format!("{}{name}", self.prefix);
        self.lock().all().find(|t| t.name() == name).cloned()
    }

    /// Writes all parameters and buffers to a safetensors file, under their names.
    ///
    /// ```
    /// use tensorlib::nn::{Linear, Parameters};
    /// # let path = std::env::temp_dir().join(format!("tensorlib-doc-parameters-{}.safetensors", std::process::id()));
    /// let trained = Parameters::new(1);
    /// Linear::new(&trained, 4, 2)?;
    /// trained.save(&path)?;
    ///
    /// let model = Parameters::new(2); // made in the same way
    /// let layer = Linear::new(&model, 4, 2)?;
    /// model.load(&path)?;
    /// assert_eq!(layer.weight.to_vec::<f32>()?, trained.get("weight").unwrap().to_vec::<f32>()?);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`safetensors::write`](crate::safetensors::write).
    #[cfg(feature = "safetensors")]
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<()> {
        let tensors: Vec<Tensor> = self.lock().all().cloned().collect();
        crate::safetensors::write(path, &tensors.iter().collect::<Vec<_>>(), &[])
    }

    /// Reads the values of all parameters and buffers from a file, whose tensors have their names, shapes and types. A file that
    /// does not fit changes nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) listing all names that the file lacks, all names that no parameter has,
    /// and all tensors of another shape or type; otherwise as [`safetensors::read`](crate::safetensors::read).
    #[cfg(feature = "safetensors")]
    pub fn load(&self, path: impl AsRef<std::path::Path>) -> Result<()> {
        let path = path.as_ref();
        let file = crate::safetensors::read(&Context::new(), path)?;
        let ours: Vec<Tensor> = self.lock().all().cloned().collect();
        let find = |name: &str| file.tensors.iter().find(|t| t.name() == name);
        let missing = ours.iter().map(Tensor::name).filter(|name| find(name).is_none());
        let extra = file.tensors.iter().map(Tensor::name).filter(|name| ours.iter().all(|t| t.name() != *name));
        let describe = |t: &Tensor| format!("{:?} {}", t.shape(), t.dtype());
        let different = ours.iter().filter_map(|t| {
            let theirs = find(&t.name())?;
            let differs = theirs.shape() != t.shape() || theirs.dtype() != t.dtype();
            differs.then(|| format!("{} is {} here and {} there", t.name(), describe(t), describe(theirs)))
        });
        let mut wrong = Vec::new();
        let lists: [(&str, Vec<String>); 3] = [
            ("it lacks", missing.collect()),
            ("no parameter is called", extra.collect()),
            ("these differ:", different.collect()),
        ];
        for (what, names) in lists {
            if !names.is_empty() {
                wrong.push(format!("{what} {}", names.join(", ")));
            }
        }
        if !wrong.is_empty() {
            let message = format!("Parameters::load: {}: {}", path.display(), wrong.join("; "));
            return Err(invalid(message + ". A file that these parameters were saved to is valid"));
        }
        for parameter in ours {
            if let Some(theirs) = find(&parameter.name()) {
                let mut bytes = vec![0; theirs.nbytes()];
                theirs.read_bytes(0, &mut bytes)?;
                parameter.write_bytes(0, &bytes)?;
            }
        }
        Ok(())
    }

    /// The total number of elements of all parameters.
    pub fn n_elements(&self) -> usize {
        self.lock().parameters.iter().map(Tensor::n_elements).sum()
    }

    /// The context that owns the parameters.
    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// The seed of the initial values.
    pub fn seed(&self) -> u64 {
        self.shared.seed
    }

    /// Makes a context on the parameters' device.
    pub(crate) fn another_context(&self) -> Context {
        self.shared.backend.as_ref().map_or_else(Context::new, Context::on)
    }

    fn lock(&self) -> MutexGuard<'_, Made> {
        self.shared.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // n_elements() takes the lock as well.
        let tensors = self.lock().parameters.len();
        write!(f, "Parameters({tensors} tensors, {} elements)", self.n_elements())
    }
}
