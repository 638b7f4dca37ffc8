//! GGUF files, read.

use crate::call::{check, check_abi, handle};
use crate::{Array, Context, DType, Error, Result, Tensor, Value};
use std::borrow::Cow;
use std::ffi::{c_char, CStr, CString};
use std::fmt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use tensorlib_sys as sys;

struct Inner(NonNull<sys::tl_gguf>);

// SAFETY: the engine allows every function on a file from any thread; it never changes.
unsafe impl Send for Inner {}
// SAFETY: the same.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the pointer came from tl_gguf_open and is given back once.
        unsafe { sys::tl_gguf_free(self.0.as_ptr()) }
    }
}

/// A GGUF file: metadata and tensors, checked when it is opened. Where it is one of several parts
/// (`NAME-00001-of-00003.gguf`), opening any of them opens all. Clones share it.
///
/// Tensors over a file are constant from the start; their context keeps the bytes that they lie in, so the file may be
/// dropped before.
///
/// ```
/// use tensorlib::{Backend, Context, DType, Gguf, GgufWriter};
/// # let folder = std::env::temp_dir().join(format!("tensorlib-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let path = folder.join("small.gguf");
/// let ctx = Context::new();
/// let weights = ctx.tensor([2], &[1., 2.])?;
/// weights.set_name("weights")?;
/// let mut writer = GgufWriter::create(&path)?;
/// writer.set("general.name", "small")?;
/// writer.set("small.width", 2u32)?;
/// writer.add(&weights)?;
/// writer.finish()?;
///
/// let file = Gguf::open(&path)?;
/// assert_eq!(file.string("general.name")?, "small");
/// assert_eq!(file.u64("small.width")?, 2);
/// for tensor in file.tensors() {
///     println!("{} {:?} {}", tensor.name, tensor.shape, tensor.dtype);
/// }
/// let leaf = file.tensor(&ctx, "weights")?;
/// let sum = leaf.add(&leaf)?;
/// Backend::cpu()?.compute(&[&sum])?;
/// assert_eq!(sum.to_vec::<f32>()?, [2., 4.]);
/// assert!(leaf.write(&[0f32; 2]).is_err()); // read-only
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone)]
pub struct Gguf(Arc<Inner>);

/// A tensor of a file, as the file describes it.
#[derive(Clone, Debug)]
pub struct TensorInfo<'a> {
    /// Its name, unique in the file.
    pub name: &'a str,
    /// The element type.
    pub dtype: DType,
    /// Elements per dimension, the contiguous one first; empty for a scalar.
    pub shape: Vec<i64>,
    /// Where its bytes begin, counted from the first tensor byte of the part that it lies in.
    pub offset: u64,
    /// Its bytes in the file.
    pub data: &'a [u8],
}

impl Gguf {
    /// Reads a file, all parts of it, into memory.
    ///
    /// # Errors
    /// [`Error::Io`] with the path and the system's reason; [`Error::Format`] with the byte at which the file is not what
    /// the format allows; [`Error::InvalidArgument`] for a path with a NUL; [`Error::OutOfMemory`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path_text(path.as_ref())?;
        // SAFETY: path lives for the call; out is valid.
        Self::from(|out, err| unsafe { sys::tl_gguf_open_copy(path.as_ptr(), out, err) })
    }

    /// Maps a file, all parts of it, into memory: pages are loaded when they are touched.
    ///
    /// # Errors
    /// As [`Gguf::open`].
    ///
    /// # Safety
    /// Nobody may change the file, or make it shorter, while this or a context with tensors over it exists: slices of it
    /// would change under their borrow, and touching what is gone ends the process.
    pub unsafe fn open_mapped(path: impl AsRef<Path>) -> Result<Self> {
        let path = path_text(path.as_ref())?;
        // SAFETY: path lives for the call; out is valid; that the file stays as it is is the caller's promise.
        Self::from(|out, err| unsafe { sys::tl_gguf_open(path.as_ptr(), out, err) })
    }

    /// A file in memory: `'static` bytes are used where they are, others are copied. Other parts are not looked for.
    ///
    /// # Errors
    /// [`Error::Format`], [`Error::OutOfMemory`].
    pub fn open_memory(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self> {
        match bytes.into() {
            Cow::Borrowed(bytes) => {
                // SAFETY: the bytes live for ever and never change.
                Self::from(|out, err| unsafe { sys::tl_gguf_open_memory(bytes.as_ptr().cast(), bytes.len(), out, err) })
            }
            Cow::Owned(bytes) => Self::from(|out, err| {
                // SAFETY: the bytes are copied during the call.
                unsafe { sys::tl_gguf_open_memory_copy(bytes.as_ptr().cast(), bytes.len(), out, err) }
            }),
        }
    }

    fn from(open: impl FnOnce(*mut *mut sys::tl_gguf, *mut sys::tl_error) -> sys::tl_status) -> Result<Self> {
        check_abi()?;
        let mut out = ptr::null_mut();
        check(|err| open(&mut out, err))?;
        Ok(Gguf(Arc::new(Inner(handle(out)?))))
    }

    /// The format's version: 2 or 3.
    pub fn version(&self) -> u32 {
        // SAFETY: the file is open (as for all below).
        unsafe { sys::tl_gguf_version(self.raw()) }
    }

    /// What the offsets of tensors are multiples of.
    pub fn alignment(&self) -> usize {
        // SAFETY: the file is open.
        unsafe { sys::tl_gguf_alignment(self.raw()) }
    }

    /// The number of files that it consists of.
    pub fn n_parts(&self) -> usize {
        // SAFETY: the file is open.
        unsafe { sys::tl_gguf_n_parts(self.raw()) }
    }

    /// All keys with their values, in the file's order.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, Value)> + '_ {
        // SAFETY: the file is open; a key lives as long as the file.
        let key = |i| unsafe { name_text(sys::tl_gguf_key(self.raw(), i)) };
        // SAFETY: the file is open.
        (0..unsafe { sys::tl_gguf_n_kv(self.raw()) }).map(move |i| (key(i), self.value_at(i)))
    }

    /// All keys, in the file's order.
    pub fn keys(&self) -> impl Iterator<Item = &str> + '_ {
        // SAFETY: the file is open; a key lives as long as the file.
        (0..unsafe { sys::tl_gguf_n_kv(self.raw()) }).map(|i| unsafe { name_text(sys::tl_gguf_key(self.raw(), i)) })
    }

    /// The value of a key, as it is stored; nothing where there is no such key.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.find(key).map(|i| self.value_at(i))
    }

    /// The bytes of a key's value as they lie in the file: of an array its elements, of a string its characters.
    pub fn raw_value(&self, key: &str) -> Option<&[u8]> {
        self.find(key).map(|i| self.bytes_at(i))
    }

    /// An integer of any type that is 0 or more.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] for another value (the message says what it is), [`Error::InvalidArgument`] where there is
    /// no such key.
    pub fn u64(&self, key: &str) -> Result<u64> {
        let (index, mut out) = (self.index(key)?, 0);
        // SAFETY: the file is open; out is valid.
        check(|err| unsafe { sys::tl_gguf_get_u64(self.raw(), index, &mut out, err) }).map(|()| out)
    }

    /// An integer of any type below 2^63.
    ///
    /// # Errors
    /// As [`Gguf::u64`].
    pub fn i64(&self, key: &str) -> Result<i64> {
        let (index, mut out) = (self.index(key)?, 0);
        // SAFETY: the file is open; out is valid.
        check(|err| unsafe { sys::tl_gguf_get_i64(self.raw(), index, &mut out, err) }).map(|()| out)
    }

    /// A float, or an integer that an `f64` holds exactly.
    ///
    /// # Errors
    /// As [`Gguf::u64`].
    pub fn f64(&self, key: &str) -> Result<f64> {
        let (index, mut out) = (self.index(key)?, 0.);
        // SAFETY: the file is open; out is valid.
        check(|err| unsafe { sys::tl_gguf_get_f64(self.raw(), index, &mut out, err) }).map(|()| out)
    }

    /// A bool.
    ///
    /// # Errors
    /// As [`Gguf::u64`].
    pub fn bool(&self, key: &str) -> Result<bool> {
        let (index, mut out) = (self.index(key)?, false);
        // SAFETY: the file is open; out is valid.
        check(|err| unsafe { sys::tl_gguf_get_bool(self.raw(), index, &mut out, err) }).map(|()| out)
    }

    /// A string; what is no UTF-8 in it becomes U+FFFD (see [`Gguf::raw_value`]).
    ///
    /// # Errors
    /// As [`Gguf::u64`].
    pub fn string(&self, key: &str) -> Result<String> {
        let (index, mut out) = (self.index(key)?, ptr::null());
        // SAFETY: the file is open; out is valid; the size is not asked for.
        check(|err| unsafe { sys::tl_gguf_get_string(self.raw(), index, &mut out, ptr::null_mut(), err) })?;
        Ok(String::from_utf8_lossy(self.bytes_at(index)).into_owned())
    }

    /// All tensors, in the order of parts and in each in the file's.
    pub fn tensors(&self) -> impl Iterator<Item = TensorInfo<'_>> + '_ {
        // SAFETY: the file is open.
        (0..unsafe { sys::tl_gguf_n_tensors(self.raw()) }).map(|i| self.info_at(i))
    }

    /// One tensor's description.
    pub fn tensor_info(&self, name: &str) -> Option<TensorInfo<'_>> {
        let name = CString::new(name).ok()?;
        // SAFETY: the file is open; the name lives for the call.
        usize::try_from(unsafe { sys::tl_gguf_tensor_find(self.raw(), name.as_ptr()) }).ok().map(|i| self.info_at(i))
    }

    /// A leaf in `context` with the contents of one of the tensors, under its name, read-only. In host memory it lies in
    /// the file's bytes, on a device it is a copy.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where there is no such tensor, [`Error::OutOfMemory`], [`Error::Device`].
    pub fn tensor(&self, context: &Context, name: &str) -> Result<Tensor> {
        let name = c_text("gguf_tensor", name.as_bytes())?;
        // SAFETY: file and context are live; the name lives for the call.
        context.construct(Vec::new, |ctx| unsafe { sys::tl_gguf_tensor(self.raw(), ctx, name.as_ptr()) })
    }

    pub(crate) fn raw(&self) -> *mut sys::tl_gguf {
        self.0 .0.as_ptr()
    }

    fn find(&self, key: &str) -> Option<usize> {
        let key = CString::new(key).ok()?;
        // SAFETY: the file is open; the key lives for the call.
        usize::try_from(unsafe { sys::tl_gguf_find(self.raw(), key.as_ptr()) }).ok()
    }

    fn index(&self, key: &str) -> Result<usize> {
        self.find(key).ok_or_else(|| {
            let message = format!("gguf: no key '{key}' among {}", self.metadata().count());
            Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, Vec::new())
        })
    }

    fn bytes_at(&self, index: usize) -> &[u8] {
        let mut size = 0;
        // SAFETY: the file is open; data has size bytes, which live as long as the file.
        unsafe {
            let data = sys::tl_gguf_kv_data(self.raw(), index, &mut size);
            slice(data.cast(), size)
        }
    }

    fn value_at(&self, index: usize) -> Value {
        let bytes = self.bytes_at(index);
        // SAFETY: the file is open.
        let (kind, element, n) = unsafe {
            let file = self.raw();
            (sys::tl_gguf_kv_type(file, index), sys::tl_gguf_array_type(file, index), sys::tl_gguf_array_n(file, index))
        };
        if kind == sys::TL_GGUF_TYPE_ARRAY {
            let mut rest = bytes;
            return Value::Array(Array::decode(element.0 as u32, n, &mut rest));
        }
        Value::decode(kind, bytes)
    }

    fn info_at(&self, index: usize) -> TensorInfo<'_> {
        // SAFETY: the file is open and index is one of its tensors'; name and data live as long as the file.
        unsafe {
            let file = self.raw();
            TensorInfo {
                name: name_text(sys::tl_gguf_tensor_name(file, index)),
                dtype: DType::from_raw(sys::tl_gguf_tensor_type(file, index)),
                shape: (0..sys::tl_gguf_tensor_n_dims(file, index))
                    .map(|d| sys::tl_gguf_tensor_ne(file, index, d))
                    .collect(),
                offset: sys::tl_gguf_tensor_offset(file, index),
                data: slice(sys::tl_gguf_tensor_data(file, index).cast(), sys::tl_gguf_tensor_nbytes(file, index)),
            }
        }
    }
}

/// # Safety
/// `name` must be NULL or a NUL-terminated text that lives as long as `'a`.
unsafe fn name_text<'a>(name: *const c_char) -> &'a str {
    if name.is_null() {
        return "";
    }
    // SAFETY: as the caller promises. The engine takes UTF-8 alone for a name.
    unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default()
}

/// # Safety
/// `data` must be NULL or have `size` bytes that live as long as `'a`.
unsafe fn slice<'a>(data: *const u8, size: usize) -> &'a [u8] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(data, size) }
}

/// A text for C, which ends at a NUL.
pub(crate) fn c_text(what: &str, bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(|nul| {
        let message = format!("{what}: a NUL at byte {}", nul.nul_position());
        Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, Vec::new())
    })
}

#[cfg(unix)]
pub(crate) fn path_text(path: &Path) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    c_text("gguf: the path has", path.as_os_str().as_bytes())
}

#[cfg(not(unix))]
pub(crate) fn path_text(path: &Path) -> Result<CString> {
    c_text("gguf: the path has", path.to_string_lossy().as_bytes())
}

/// What C calls a text: its first byte.
pub(crate) fn c_chars(text: &str) -> *const c_char {
    text.as_ptr().cast()
}

impl fmt::Debug for Gguf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, tensors) = (self.metadata().count(), self.tensors().count());
        write!(f, "Gguf(version {}, {keys} keys, {tensors} tensors)", self.version())
    }
}
