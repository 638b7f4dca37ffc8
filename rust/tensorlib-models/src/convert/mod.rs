//! Hub folders as GGUF files.
//!
//! Tensors have the names by which this crate asks for them, and keys are those that it reads. Before anything is
//! written, the keys are read again as those of any GGUF file are, and the model that they describe has to be the
//! folder's. What differs between the two forms by convention decides how tensors are rearranged.

mod compare;
mod header;
mod layout;
mod settled;
mod write;

pub(crate) use header::read_back;
pub(crate) use layout::{neighbours, tiled, Order, Planned, Reading};
pub(crate) use settled::{check_same, pooling, settled};

use crate::files::{file_type, is_elementwise};
use crate::package::Package;
use crate::settings::Settings;
use crate::warnings::Warnings;
use crate::weights::{DeviceMap, HubNames, Weights};
use crate::{decoder, encoder, tokenizer, Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};
use tensorlib::{Backend, DType, GgufWriter, Kind, Value};

/// What a GGUF file of a folder has.
pub(crate) struct Plan {
    /// The value of `general.architecture`.
    pub architecture: &'static str,
    /// The architecture's keys, with its name.
    pub keys: Vec<(String, Value)>,
    /// Further keys.
    pub whole: Vec<(String, Value)>,
    pub tensors: Vec<Planned>,
    /// The folder's names of tensors.
    pub names: HubNames,
    /// Rows of the token embeddings.
    pub vocabulary: i64,
    /// The tasks for which the folder has additions.
    pub tasks: Vec<String>,
}

/// A tensor of the GGUF file.
#[derive(Clone, Debug)]
pub struct ConvertedTensor {
    /// Its name.
    pub name: String,
    /// Elements per dimension, the contiguous one first.
    pub shape: Vec<i64>,
    /// The type of its values in the folder: F32 if they are scaled or changed when they are read.
    pub from: DType,
    /// Its type in the file.
    pub to: DType,
    /// Its bytes in the file.
    pub nbytes: u64,
}

/// The conversion of a model's folder to a GGUF file.
///
/// ```no_run
/// use tensorlib::GgufWriter;
/// let conversion = tensorlib_models::Conversion::open("Qwen2.5-0.5B-Instruct", None)?;
/// let mut writer = GgufWriter::create("model.gguf")?;
/// conversion.write(&mut writer, |tensor| {
///     println!("{}", tensor.name);
///     true
/// })?;
/// # Ok::<(), tensorlib_models::Error>(())
/// ```
pub struct Conversion {
    folder: PathBuf,
    plan: Plan,
    keys: Vec<(String, Value)>,
    tensors: Vec<ConvertedTensor>,
    backend: Backend,
    warnings: Warnings,
}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Conversion");
        all.field("folder", &self.folder).field("architecture", &self.plan.architecture);
        all.field("tensors", &self.tensors.len()).finish_non_exhaustive()
    }
}

impl Conversion {
    /// Reads a folder's settings and tokenizer, and the names and shapes of its tensors. `to` is the type of matrices:
    /// a float type or a quantised type such as Q8_0; without it they keep their types. Norms, biases and other
    /// vectors become F32 in any case. Matrices whose rows are not whole blocks of a quantised type become F16.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind) and [`ErrorKind::Format`](crate::ErrorKind) as for opening the model;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind) naming what GGUF files, or this crate, do not express;
    /// [`ErrorKind::Invalid`](crate::ErrorKind) for a path that is no folder, and for another `to`.
    pub fn open(folder: impl AsRef<Path>, to: Option<DType>) -> Result<Self> {
        let folder = folder.as_ref();
        if let Some(to) = to.filter(|to| !matches!(to.kind(), Kind::Floating | Kind::Weight)) {
            return Err(Error::invalid(format!("matrices as {to}: floats, and blocks of weights as q8_0, are valid")));
        }
        let package = package_of(folder)?;
        let (warnings, settings) = (package.warnings.clone(), package.settings.clone());
        let folder = package.folder().unwrap_or(folder).to_path_buf();
        crate::kind::check_known(&settings)?;
        let backend = Backend::cpu()?;
        let plan = match encoder::is_encoder(&settings)? {
            true => encoder::plan(package, &backend)?,
            false => decoder::plan(package, &backend)?,
        };
        let of_tokenizer = tokenizer::gguf_keys(&folder, plan.architecture, plan.vocabulary, &warnings)?;
        let tensors = plan.tensors.iter().map(|planned| converted(planned, to)).collect::<Result<Vec<_>>>()?;
        let mut keys = general(&folder, &settings, plan.architecture);
        keys.extend(of_types(&tensors, to));
        keys.extend(plan.keys.iter().chain(&plan.whole).cloned());
        keys.extend(of_tokenizer);
        Ok(Conversion { folder, plan, keys, tensors, backend, warnings })
    }

    /// Reads the additions of one of the folder's [`Conversion::tasks`], which become an adapter's file. Its matrices are
    /// F32.
    ///
    /// # Errors
    /// As [`Conversion::open`]; [`ErrorKind::Invalid`](crate::ErrorKind) for a task that the folder does not have.
    pub fn open_task(folder: impl AsRef<Path>, task: &str) -> Result<Self> {
        let package = package_of(folder.as_ref())?;
        let (warnings, settings) = (package.warnings.clone(), package.settings.clone());
        let folder = package.folder().unwrap_or(folder.as_ref()).to_path_buf();
        let backend = Backend::cpu()?;
        let plan = encoder::plan_of_task(package, task, &backend)?;
        let tensors = plan.tensors.iter().map(|planned| converted(planned, None)).collect::<Result<Vec<_>>>()?;
        let tensors: Vec<ConvertedTensor> = tensors.into_iter().map(ConvertedTensor::precise).collect();
        let mut keys = general(&folder, &settings, plan.architecture);
        keys.retain(|(key, _)| key != "general.type");
        keys.extend(plan.whole.iter().cloned());
        Ok(Conversion { folder, plan, keys, tensors, backend, warnings })
    }

    /// The tasks that the folder has additions for (Jina v3), each of which [`Conversion::open_task`] converts to a file of
    /// its own.
    pub fn tasks(&self) -> &[String] {
        &self.plan.tasks
    }

    /// The value of `general.architecture`.
    pub fn architecture(&self) -> &str {
        self.plan.architecture
    }

    /// All keys of the file.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.keys.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The tensors of the file, in its order.
    pub fn tensors(&self) -> &[ConvertedTensor] {
        &self.tensors
    }

    /// Oddities of the folder that are no errors, and what the file leaves out, a line each.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.list()
    }

    /// Writes the keys, except those that are set in the writer already, and all tensors, one of which is in memory at
    /// a time. `next` gets each tensor before it is read; false ends the conversion. Call
    /// [`GgufWriter::finish`] afterwards.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind) if a file cannot be read or written, [`ErrorKind::Format`](crate::ErrorKind)
    /// and [`ErrorKind::Unsupported`](crate::ErrorKind) for tensors that are not as they should be, and
    /// [`ErrorKind::Invalid`](crate::ErrorKind) if `next` ended the conversion.
    pub fn write(&self, writer: &mut GgufWriter, mut next: impl FnMut(&ConvertedTensor) -> bool) -> Result<()> {
        for (key, value) in self.metadata() {
            writer.set(key, value.clone())?;
        }
        for tensor in &self.tensors {
            writer.declare(&tensor.name, tensor.to, &tensor.shape)?;
        }
        let files = Package::open(&self.folder)?.files;
        let devices = DeviceMap::new(&self.backend, &Default::default()).singly();
        let weights = Weights::new(files, self.plan.names.clone(), devices, None)?;
        for (planned, tensor) in self.plan.tensors.iter().zip(&self.tensors) {
            if !next(tensor) {
                return Err(Error::invalid("the conversion was ended"));
            }
            write::tensor(&weights, planned, tensor, &self.backend, writer)?;
            weights.forget();
        }
        Ok(())
    }
}

impl ConvertedTensor {
    /// This tensor in F32.
    fn precise(self) -> Self {
        let elements: i64 = self.shape.iter().product();
        let nbytes = crate::files::nbytes(DType::F32, u64::try_from(elements).unwrap_or(0));
        ConvertedTensor { to: DType::F32, nbytes, ..self }
    }
}

/// The folder of a model.
fn package_of(folder: &Path) -> Result<Package> {
    if folder.is_file() {
        let message = format!("{}: is a file: a model's folder is valid", folder.display());
        return Err(Error::invalid(message).with_hint("`tensorlib quantize` converts files"));
    }
    Package::open(folder)
}

/// The keys that belong to no architecture.
fn general(folder: &Path, settings: &Settings, architecture: &str) -> Vec<(String, Value)> {
    let of_folder = || folder.canonicalize().ok()?.file_name().map(|name| name.to_string_lossy().into_owned());
    let said = settings.hub_text("_name_or_path").and_then(|name| name.rsplit('/').next());
    let said = said.filter(|name| !name.is_empty() && *name != ".").map(String::from);
    let name = of_folder().or(said).unwrap_or_else(|| architecture.to_string());
    vec![
        ("general.architecture".into(), architecture.into()),
        ("general.type".into(), "model".into()),
        ("general.name".into(), name.into()),
    ]
}

/// The keys that the types of tensors decide. The main type is that of most bytes, unless one was asked for.
fn of_types(tensors: &[ConvertedTensor], to: Option<DType>) -> Vec<(String, Value)> {
    /// The version of GGUF's quantised types: 2 since their scales are F16.
    const VERSION: u32 = 2;
    let matrices = || tensors.iter().filter(|tensor| tensor.shape.len() > 1);
    let bytes_of =
        |dtype: DType| matrices().filter(|tensor| tensor.to == dtype).map(|tensor| tensor.nbytes).sum::<u64>();
    let main = to.or(matrices().map(|tensor| tensor.to).max_by_key(|dtype| bytes_of(*dtype)));
    let number = file_type(main.unwrap_or(DType::F32)).map(|number| ("general.file_type".into(), number.into()));
    let is_quantised = tensors.iter().any(|tensor| tensor.to.kind() == Kind::Weight);
    number.into_iter().chain(is_quantised.then(|| ("general.quantization_version".into(), VERSION.into()))).collect()
}

/// The type and the size of a tensor in the file.
fn converted(planned: &Planned, to: Option<DType>) -> Result<ConvertedTensor> {
    let from = planned.stored;
    if !matches!(from.kind(), Kind::Floating | Kind::Weight) {
        return Err(Error::unsupported(format!("tensor '{}' is {from}: floats are supported", planned.name)));
    }
    let to = match to {
        _ if !is_matrix(planned) => DType::F32,
        None => from,
        Some(_) if is_precise(&planned.name) => DType::F32,
        Some(to) if planned.shape[0] % to.block_size() != 0 => DType::F16,
        Some(to) => to,
    };
    let elements: i64 = planned.shape.iter().product();
    let nbytes = crate::files::nbytes(to, u64::try_from(elements).unwrap_or(0));
    Ok(ConvertedTensor { name: planned.name.clone(), shape: planned.shape.clone(), from, to, nbytes })
}

/// Whether a tensor is multiplied as a matrix, or has rows that are looked up.
fn is_matrix(planned: &Planned) -> bool {
    let name = &planned.name;
    let is_kernel = name.ends_with("ssm_conv1d.weight") || name.ends_with("shortconv.conv.weight");
    crate::files::dims(&planned.shape).len() > 1 && !is_elementwise(name) && !is_kernel && !name.contains("attn_rel_b.")
}

/// Matrices that other types would harm most: those of routers, and small ones of streams.
fn is_precise(name: &str) -> bool {
    ["ffn_gate_inp.weight", "altup_correct_coef.weight", "altup_predict_coef.weight"]
        .iter()
        .any(|end| name.ends_with(end))
}
