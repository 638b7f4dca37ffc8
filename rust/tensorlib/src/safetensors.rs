//! Safetensors files: named tensors and a text-to-text map, read and written with the crate `safetensors`.
//!
//! A file's shapes list the contiguous dimension last and this library's list it first, so shapes are reversed and
//! memory stays as it is. Types: F64, F32, F16, BF16 and the signed integers; others are errors that name the tensor.

use crate::call::check;
use crate::{Context, DType, Error, Result, Tensor};
use ::safetensors::tensor::{serialize_to_file, Dtype, TensorView, View};
use ::safetensors::{SafeTensorError, SafeTensors};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use tensorlib_sys as sys;

const TYPES: [(Dtype, DType); 10] = [
    (Dtype::F64, DType::F64),
    (Dtype::F32, DType::F32),
    (Dtype::F16, DType::F16),
    (Dtype::BF16, DType::BF16),
    (Dtype::I8, DType::I8),
    (Dtype::I16, DType::I16),
    (Dtype::I32, DType::I32),
    (Dtype::I64, DType::I64),
    (Dtype::U8, DType::U8),
    (Dtype::BOOL, DType::Bool),
];

/// A file's tensors, as leafs, and its metadata.
///
/// ```
/// use tensorlib::{safetensors, Context};
/// # let folder = std::env::temp_dir().join(format!("tensorlib-doc-safetensors-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let path = folder.join("small.safetensors");
/// let ctx = Context::new();
/// let weights = ctx.tensor([2, 3], &[1., 2., 3., 4., 5., 6.])?;
/// weights.set_name("weights")?;
/// safetensors::write(&path, &[&weights], &[("made by", "an example")])?;
///
/// let file = safetensors::read(&ctx, &path)?;
/// assert_eq!(file.metadata["made by"], "an example");
/// assert_eq!(file.tensors[0].name(), "weights");
/// assert_eq!(file.tensors[0].shape(), [2, 3]); // [3, 2] in the file
/// assert_eq!(file.tensors[0].to_vec::<f32>()?, [1., 2., 3., 4., 5., 6.]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct File {
    /// The tensors, each with its name, sorted by name.
    pub tensors: Vec<Tensor>,
    /// The texts of the header's `__metadata__`.
    pub metadata: HashMap<String, String>,
}

/// Reads all tensors of a file into leafs of this context. The file is read once and not kept. It may be one shard of a
/// model.
///
/// # Errors
/// [`Error::Io`] with the path and the system's reason; otherwise as [`read_bytes`].
pub fn read(context: &Context, path: impl AsRef<Path>) -> Result<File> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|e| {
        let message = format!("safetensors: {}: cannot be read: {e}", path.display());
        Error::new(sys::TL_STATUS_IO.0, message, Vec::new())
    })?;
    read_bytes(context, &bytes)
}

/// [`read`] for a file's bytes.
///
/// # Errors
/// [`Error::Format`] for bytes that are not such a file, [`Error::Unsupported`] for a type that this library lacks or
/// more than 4 dimensions (the message names the tensor), [`Error::OutOfMemory`].
pub fn read_bytes(context: &Context, bytes: &[u8]) -> Result<File> {
    let file = SafeTensors::deserialize(bytes).map_err(format_error)?;
    let metadata = SafeTensors::read_metadata(bytes).map_err(format_error)?.1.metadata().clone().unwrap_or_default();
    let mut views = file.tensors();
    views.sort_by(|a, b| a.0.cmp(&b.0));
    let tensors = views.iter().map(|(name, view)| leaf(context, name, view)).collect::<Result<_>>()?;
    Ok(File { tensors, metadata })
}

/// Writes tensors under their names, with metadata. The file appears under its name only when it is complete.
///
/// # Errors
/// [`Error::InvalidArgument`] for a tensor without a name, two of one name, or one that cannot be read (make it an
/// output of a graph and compute that); [`Error::Unsupported`] for a type that such files do not have;
/// [`Error::OutOfMemory`], as a tensor's packed elements are held while they are written; [`Error::Busy`];
/// [`Error::Io`].
pub fn write(path: impl AsRef<Path>, tensors: &[&Tensor], metadata: &[(&str, &str)]) -> Result<()> {
    let failure = RefCell::new(None);
    let mut views: Vec<(String, Packed)> = Vec::new();
    for tensor in tensors {
        let name = tensor.name();
        if name.is_empty() || views.iter().any(|(other, _)| *other == name) {
            let message = format!("safetensors: tensor '{name}': a name of its own is valid: see set_name");
            return Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, vec![tensor.shape()]));
        }
        views.push((name.clone(), Packed::new(tensor, &name, &failure)?));
    }
    let texts: HashMap<String, String> = metadata.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let path = path.as_ref();
    let io_error = |e: &dyn std::fmt::Display| {
        let message = format!("safetensors: {}: cannot be written: {e}", path.display());
        Error::new(sys::TL_STATUS_IO.0, message, Vec::new())
    };
    let temporary = temporary_beside(path);
    let written = serialize_to_file(views, (!texts.is_empty()).then_some(texts), &temporary);
    let outcome = match (failure.into_inner(), written) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(io_error(&error)),
        (None, Ok(())) => std::fs::rename(&temporary, path).map_err(|e| io_error(&e)),
    };
    if outcome.is_err() {
        let _ = std::fs::remove_file(&temporary); // it may never have been made
    }
    outcome
}

/// A name for the incomplete file, formed like those of the engine.
fn temporary_beside(path: &Path) -> std::path::PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".tensorlib-{}-safetensors-{n}.tmp", std::process::id()))
}

fn leaf(context: &Context, name: &str, view: &TensorView<'_>) -> Result<Tensor> {
    let unsupported = |what: String| {
        let message = format!("safetensors: tensor '{name}' {what}");
        Error::new(sys::TL_STATUS_UNSUPPORTED.0, message, Vec::new())
    };
    let Some((_, dtype)) = TYPES.into_iter().find(|(theirs, _)| *theirs == view.dtype()) else {
        return Err(unsupported(format!("is {:?}: {} are valid", view.dtype(), known())));
    };
    if view.shape().len() > 4 {
        return Err(unsupported(format!("has {} dimensions: up to 4 are valid", view.shape().len())));
    }
    let mut ne: Vec<i64> = view.shape().iter().rev().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect();
    if ne.is_empty() {
        ne.push(1); // a scalar
    }
    let tensor = context.zeros(dtype, ne)?;
    tensor.set_name(name)?;
    let data = view.data();
    // SAFETY: the tensor is live; data has as many bytes as said.
    check(|err| unsafe { sys::tl_tensor_write(tensor.raw(), data.as_ptr().cast(), 0, data.len(), err) })?;
    Ok(tensor)
}

fn known() -> String {
    TYPES.iter().map(|(theirs, _)| format!("{theirs:?}")).collect::<Vec<_>>().join(", ")
}

fn format_error(error: SafeTensorError) -> Error {
    Error::new(sys::TL_STATUS_FORMAT.0, format!("safetensors: {error}"), Vec::new())
}

/// A tensor as the crate expects it. Its bytes are read when they are written, so that only one tensor is held at a
/// time.
struct Packed<'a> {
    tensor: &'a Tensor,
    dtype: Dtype,
    shape: Vec<usize>,
    failure: &'a RefCell<Option<Error>>,
}

/// An empty buffer that fits a tensor's elements. A view may have far more elements than there is memory.
fn room(tensor: &Tensor, name: &str) -> Result<Vec<u8>> {
    let (mut bytes, n) = (Vec::new(), tensor.nbytes());
    bytes.try_reserve_exact(n).map_err(|_| {
        let message = format!("safetensors: tensor '{name}': no memory for its {n} bytes");
        Error::new(sys::TL_STATUS_OUT_OF_MEMORY.0, message, vec![tensor.shape()])
    })?;
    Ok(bytes)
}

impl<'a> Packed<'a> {
    fn new(tensor: &'a Tensor, name: &str, failure: &'a RefCell<Option<Error>>) -> Result<Self> {
        let Some((dtype, _)) = TYPES.into_iter().find(|(_, ours)| *ours == tensor.dtype()) else {
            let message = format!("safetensors: tensor '{name}' is {}: {} are valid", tensor.dtype(), known());
            return Err(Error::new(sys::TL_STATUS_UNSUPPORTED.0, message, vec![tensor.shape()]));
        };
        room(tensor, name)?; // check before the file is begun, which could not be finished
        let shape = tensor.shape().iter().rev().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
        Ok(Packed { tensor, dtype, shape, failure })
    }
}

impl View for Packed<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let read = room(self.tensor, &self.tensor.name()).and_then(|mut bytes| {
            bytes.resize(self.data_len(), 0);
            let data = bytes.as_mut_ptr().cast();
            // SAFETY: the tensor is live; the bytes are as many as said.
            check(|err| unsafe { sys::tl_tensor_read(self.tensor.raw(), data, 0, bytes.len(), err) })?;
            Ok(bytes)
        });
        let bytes = read.unwrap_or_else(|error| {
            // The crate's trait cannot return an error here; the incomplete file is removed.
            self.failure.borrow_mut().get_or_insert(error);
            Vec::new()
        });
        bytes.into()
    }

    fn data_len(&self) -> usize {
        self.tensor.nbytes()
    }
}
