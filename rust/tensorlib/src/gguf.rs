//! Reading GGUF files.

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

/// A GGUF file: metadata and tensors, checked when it is opened. Opening any shard of a split file
/// (`NAME-00001-of-00003.gguf`) opens all of them. Clones share the file. Thread-safe, and never changes after opening.
///
/// Tensors made from a file are constant from the start. Their context keeps the bytes that they lie in, so the file
/// may be dropped earlier.
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

/// A tensor's description in a file.
#[derive(Clone, Debug)]
pub struct TensorInfo<'a> {
    /// The name, unique in the file.
    pub name: &'a str,
    /// The element type.
    pub dtype: DType,
    /// Elements per dimension, the contiguous one first; empty for a scalar.
    pub shape: Vec<i64>,
    /// Offset in bytes from the first tensor byte of the shard that the tensor lies in.
    pub offset: u64,
    /// The bytes in the file.
    pub data: &'a [u8],
}

impl Gguf {
    /// Reads a file, with all its shards, into memory.
    ///
    /// # Errors
    /// [`Error::Io`] with the path and the system's reason; [`Error::Format`] with the offset of the byte that violates
    /// the format; [`Error::InvalidArgument`] for a path with a NUL; [`Error::OutOfMemory`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path_text(path.as_ref())?;
        // SAFETY: path lives for the call; out is valid.
        Self::from(|out, err| unsafe { sys::tl_gguf_open_copy(path.as_ptr(), out, err) })
    }

    /// Maps a file, with all its shards, into memory: pages are loaded when they are touched.
    ///
    /// # Errors
    /// As [`Gguf::open`].
    ///
    /// # Safety
    /// Nobody may change or truncate the file while it, or a context with tensors over it, exists: borrowed slices
    /// would change, and touching truncated pages ends the process.
    pub unsafe fn open_mapped(path: impl AsRef<Path>) -> Result<Self> {
        let path = path_text(path.as_ref())?;
        // SAFETY: path lives for the call; out is valid; that the file stays as it is is the caller's promise.
        Self::from(|out, err| unsafe { sys::tl_gguf_open(path.as_ptr(), out, err) })
    }

    /// Opens a file in memory. `'static` bytes are used in place, others are copied. Other shards are not looked for.
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

    /// The version of the format: 2 or 3.
    pub fn version(&self) -> u32 {
        // SAFETY: the file is open (as for all below).
        unsafe { sys::tl_gguf_version(self.raw()) }
    }

    /// The alignment: offsets of tensors are multiples of it.
    pub fn alignment(&self) -> usize {
        // SAFETY: the file is open.
        unsafe { sys::tl_gguf_alignment(self.raw()) }
    }

    /// The number of shards; 1 for a file that is not split.
    pub fn n_parts(&self) -> usize {
        // SAFETY: the file is open.
        unsafe { sys::tl_gguf_n_parts(self.raw()) }
    }

    /// All keys and their values, in the file's order.
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

    /// The value of a key as it is stored; `None` if the key does not exist.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.find(key).map(|i| self.value_at(i))
    }

    /// The stored bytes of a key's value: the elements of an array, the characters of a string.
    pub fn raw_value(&self, key: &str) -> Option<&[u8]> {
        self.find(key).map(|i| self.bytes_at(i))
    }

    /// A key's value as an unsigned integer; any stored integer type that holds 0 or more.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] for another value (the message shows it), [`Error::InvalidArgument`] if the key does not
    /// exist.
    pub fn u64(&self, key: &str) -> Result<u64> {
        let (index, mut out) = (self.index(key)?, 0);
        // SAFETY: the file is open; out is valid.
        check(|err| unsafe { sys::tl_gguf_get_u64(self.raw(), index, &mut out, err) }).map(|()| out)
    }

    /// A key's value as an integer; any stored integer type with a value below 2^63.
    ///
    /// # Errors
    /// As [`Gguf::u64`].
    pub fn i64(&self, key: &str) -> Result<i64> {
        let (index, mut out) = (self.index(key)?, 0);
        // SAFETY: the file is open; out is valid.
        check(|err| unsafe { sys::tl_gguf_get_i64(self.raw(), index, &mut out, err) }).map(|()| out)
    }

    /// A key's value as a float; also an integer that an `f64` represents exactly.
    ///
    /// # Errors
    /// As [`Gguf::u64`].
    pub fn f64(&self, key: &str) -> Result<f64> {
        let (index, mut out) = (self.index(key)?, 0.);
        // SAFETY: the file is open; out is valid.
        check(|err| unsafe { sys::tl_gguf_get_f64(self.raw(), index, &mut out, err) }).map(|()| out)
    }

    /// A key's value as a bool.
    ///
    /// # Errors
    /// As [`Gguf::u64`].
    pub fn bool(&self, key: &str) -> Result<bool> {
        let (index, mut out) = (self.index(key)?, false);
        // SAFETY: the file is open; out is valid.
        check(|err| unsafe { sys::tl_gguf_get_bool(self.raw(), index, &mut out, err) }).map(|()| out)
    }

    /// A key's value as a string; bytes that are not UTF-8 become U+FFFD (see [`Gguf::raw_value`]).
    ///
    /// # Errors
    /// As [`Gguf::u64`].
    pub fn string(&self, key: &str) -> Result<String> {
        let (index, mut out) = (self.index(key)?, ptr::null());
        // SAFETY: the file is open; out is valid; the size is not asked for.
        check(|err| unsafe { sys::tl_gguf_get_string(self.raw(), index, &mut out, ptr::null_mut(), err) })?;
        Ok(String::from_utf8_lossy(self.bytes_at(index)).into_owned())
    }

    /// All tensors, shard by shard in the file's order.
    pub fn tensors(&self) -> impl Iterator<Item = TensorInfo<'_>> + '_ {
        // SAFETY: the file is open.
        (0..unsafe { sys::tl_gguf_n_tensors(self.raw()) }).map(|i| self.info_at(i))
    }

    /// The description of one tensor; `None` if it does not exist.
    pub fn tensor_info(&self, name: &str) -> Option<TensorInfo<'_>> {
        let name = CString::new(name).ok()?;
        // SAFETY: the file is open; the name lives for the call.
        usize::try_from(unsafe { sys::tl_gguf_tensor_find(self.raw(), name.as_ptr()) }).ok().map(|i| self.info_at(i))
    }

    /// Makes a leaf in `context` with the contents and the name of one of the tensors, read-only. In host memory the
    /// leaf uses the file's bytes; on a device it is a copy.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the tensor does not exist, [`Error::OutOfMemory`], [`Error::Device`].
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

/// A text for C; fails for a text with a NUL.
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

/// A text as C takes it: a pointer to its first byte.
pub(crate) fn c_chars(text: &str) -> *const c_char {
    text.as_ptr().cast()
}

impl fmt::Debug for Gguf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, tensors) = (self.metadata().count(), self.tensors().count());
        write!(f, "Gguf(version {}, {keys} keys, {tensors} tensors)", self.version())
    }
}
