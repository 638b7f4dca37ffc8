//! Writing GGUF files.

use crate::call::{check, check_abi, handle};
use crate::gguf::{c_chars, c_text, path_text};
use crate::{Array, DType, Gguf, Result, Tensor, Value};
use std::ffi::{c_char, CString};
use std::fmt;
use std::path::Path;
use std::ptr::{self, NonNull};
use tensorlib_sys as sys;

/// Options for writing a GGUF file.
///
/// ```no_run
/// let writer = tensorlib::GgufWriterOptions::new().alignment(4096).split_size(2 << 30).create("model.gguf")?;
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GgufWriterOptions {
    version: u32,
    alignment: u32,
    split_size: u64,
}

impl GgufWriterOptions {
    /// The defaults: version 3, alignment 32, one file.
    pub fn new() -> Self {
        Self::default()
    }

    /// The version of the format: 2 or 3.
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// The alignment: offsets of tensors become multiples of it. A power of two, at least 8.
    pub fn alignment(mut self, bytes: u32) -> Self {
        self.alignment = bytes;
        self
    }

    /// The most bytes per file; more data go to further shards, `NAME-00001-of-00003.gguf`. No tensor is split.
    pub fn split_size(mut self, bytes: u64) -> Self {
        self.split_size = bytes;
        self
    }

    /// Begins the file. It appears under its name only in [`GgufWriter::finish`].
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error) if no file can be made in that folder, [`Error::InvalidArgument`](crate::Error) for
    /// invalid options.
    pub fn create(self, path: impl AsRef<Path>) -> Result<GgufWriter> {
        check_abi()?;
        let path = path_text(path.as_ref())?;
        let params = sys::tl_gguf_writer_params {
            struct_size: std::mem::size_of::<sys::tl_gguf_writer_params>(),
            version: self.version,
            alignment: self.alignment,
            split_size: self.split_size,
        };
        let mut out = ptr::null_mut();
        // SAFETY: path and params live for the call; out is valid.
        check(|err| unsafe { sys::tl_gguf_writer_create(path.as_ptr(), &params, &mut out, err) })?;
        Ok(GgufWriter(handle(out)?))
    }
}

/// A GGUF file being written: first declare keys and tensors, then write the data. Dropping the writer before
/// [`GgufWriter::finish`] leaves no file, and an existing file of that name stays.
///
/// ```
/// use tensorlib::{DType, Gguf, GgufWriter};
/// # let folder = std::env::temp_dir().join(format!("tensorlib-doc-writer-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let path = folder.join("large.gguf");
/// let mut writer = GgufWriter::create(&path)?;
/// writer.declare("large", DType::I8, [1 << 20])?;
/// for piece in 0..16 {
///     writer.write(&[piece; 1 << 16])?; // never more than a piece in memory
/// }
/// writer.finish()?;
/// assert_eq!(Gguf::open(&path)?.tensor_info("large").unwrap().data[1 << 19], 8);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), tensorlib::Error>(())
/// ```
pub struct GgufWriter(NonNull<sys::tl_gguf_writer>);

// SAFETY: the engine allows one caller at a time, on any thread; every method that changes it takes `&mut self`.
unsafe impl Send for GgufWriter {}

impl Drop for GgufWriter {
    fn drop(&mut self) {
        // SAFETY: the pointer came from tl_gguf_writer_create and is given back once.
        unsafe { sys::tl_gguf_writer_free(self.raw()) }
    }
}

impl GgufWriter {
    /// Begins a file with the default options.
    ///
    /// # Errors
    /// As [`GgufWriterOptions::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        GgufWriterOptions::new().create(path)
    }

    /// Sets a key to a value.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) if the key is already set, is not a valid name (empty, longer than
    /// 65535 bytes, with a NUL) or belongs to the writer (`general.alignment`, `split.*`), if data were already
    /// written, and for nested arrays.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) -> Result<()> {
        let (w, key) = (self.raw(), c_text("gguf_writer: the key has", key.as_bytes())?);
        let key = key.as_ptr();
        let value = value.into();
        // SAFETY: writer and key are live; texts and arrays have as many bytes and elements as said.
        check(|err| unsafe {
            match &value {
                Value::U8(v) => sys::tl_gguf_writer_set_u8(w, key, *v, err),
                Value::I8(v) => sys::tl_gguf_writer_set_i8(w, key, *v, err),
                Value::U16(v) => sys::tl_gguf_writer_set_u16(w, key, *v, err),
                Value::I16(v) => sys::tl_gguf_writer_set_i16(w, key, *v, err),
                Value::U32(v) => sys::tl_gguf_writer_set_u32(w, key, *v, err),
                Value::I32(v) => sys::tl_gguf_writer_set_i32(w, key, *v, err),
                Value::F32(v) => sys::tl_gguf_writer_set_f32(w, key, *v, err),
                Value::Bool(v) => sys::tl_gguf_writer_set_bool(w, key, *v, err),
                Value::String(v) => sys::tl_gguf_writer_set_string(w, key, c_chars(v), v.len(), err),
                Value::U64(v) => sys::tl_gguf_writer_set_u64(w, key, *v, err),
                Value::I64(v) => sys::tl_gguf_writer_set_i64(w, key, *v, err),
                Value::F64(v) => sys::tl_gguf_writer_set_f64(w, key, *v, err),
                Value::Array(array) => Self::set_array(w, key, array, err),
            }
        })
    }

    /// # Safety
    /// Writer, key and error must be live.
    unsafe fn set_array(
        w: *mut sys::tl_gguf_writer,
        key: *const c_char,
        array: &Array,
        err: *mut sys::tl_error,
    ) -> sys::tl_status {
        macro_rules! numbers {
            ($kind:ident, $values:expr) => {{
                let values = $values;
                // SAFETY: as the caller promises; the array has as many elements as said, of that type.
                unsafe {
                    let n = values.len() as u64;
                    sys::tl_gguf_writer_set_array(w, key, sys::$kind, values.as_ptr().cast(), n, err)
                }
            }};
        }
        match array {
            Array::U8(v) => numbers!(TL_GGUF_TYPE_U8, v),
            Array::I8(v) => numbers!(TL_GGUF_TYPE_I8, v),
            Array::U16(v) => numbers!(TL_GGUF_TYPE_U16, v),
            Array::I16(v) => numbers!(TL_GGUF_TYPE_I16, v),
            Array::U32(v) => numbers!(TL_GGUF_TYPE_U32, v),
            Array::I32(v) => numbers!(TL_GGUF_TYPE_I32, v),
            Array::F32(v) => numbers!(TL_GGUF_TYPE_F32, v),
            Array::Bool(v) => numbers!(TL_GGUF_TYPE_BOOL, v),
            Array::U64(v) => numbers!(TL_GGUF_TYPE_U64, v),
            Array::I64(v) => numbers!(TL_GGUF_TYPE_I64, v),
            Array::F64(v) => numbers!(TL_GGUF_TYPE_F64, v),
            // The engine refuses nested arrays with its own message.
            Array::Nested(v) => numbers!(TL_GGUF_TYPE_ARRAY, v),
            Array::String(v) => {
                let texts: Vec<*const c_char> = v.iter().map(|t| c_chars(t)).collect();
                let sizes: Vec<usize> = v.iter().map(String::len).collect();
                // SAFETY: as the caller promises; texts and sizes have as many elements as said.
                unsafe {
                    sys::tl_gguf_writer_set_string_array(w, key, texts.as_ptr(), sizes.as_ptr(), texts.len(), err)
                }
            }
        }
    }

    /// Copies all keys of a file except those that are already set, `general.alignment` and `split.*`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) if data were already written.
    pub fn copy_metadata(&mut self, file: &Gguf) -> Result<()> {
        // SAFETY: writer and file are live.
        check(|err| unsafe { sys::tl_gguf_writer_copy_kv(self.raw(), file.raw(), err) })
    }

    /// Adds a tensor under its own name. Its data are read by [`GgufWriter::finish`], or earlier by a
    /// [`GgufWriter::write`] for a tensor after it; until then the writer keeps the tensor's memory.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a name that is already used, empty or longer than 64 bytes, or if
    /// data were already written.
    pub fn add(&mut self, tensor: &Tensor) -> Result<()> {
        // SAFETY: writer and tensor are live; the engine keeps the tensor's context.
        check(|err| unsafe { sys::tl_gguf_writer_add_tensor(self.raw(), tensor.raw(), err) })
    }

    /// Declares a tensor whose data [`GgufWriter::write`] supplies, after the data of earlier ones. An empty shape is a
    /// scalar.
    ///
    /// # Errors
    /// As [`GgufWriter::add`]; [`Error::InvalidArgument`](crate::Error) also for an invalid shape.
    pub fn declare(&mut self, name: &str, dtype: DType, shape: impl AsRef<[i64]>) -> Result<()> {
        let name: CString = c_text("gguf_writer: the name has", name.as_bytes())?;
        let ne = shape.as_ref();
        let n_dims = i32::try_from(ne.len()).unwrap_or(i32::MAX);
        // SAFETY: the writer is live, name and ne live for the call, and ne has n_dims values.
        check(|err| unsafe {
            sys::tl_gguf_writer_declare_tensor(self.raw(), name.as_ptr(), dtype.raw(), n_dims, ne.as_ptr(), err)
        })
    }

    /// Writes the next bytes of the first declared tensor that is incomplete.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for more bytes than the tensor lacks; [`Error::Io`](crate::Error) if
    /// they cannot be written.
    pub fn write(&mut self, data: &[u8]) -> Result<()> {
        // SAFETY: the writer is live; data has as many bytes as said.
        check(|err| unsafe { sys::tl_gguf_writer_write_data(self.raw(), data.as_ptr().cast(), data.len(), err) })
    }

    /// Writes the remaining data, flushes them to the disk and gives the file its name. Returns the number of shards.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) if a tensor lacks data or is not computed,
    /// [`Error::Busy`](crate::Error) if one is in use; the call may be repeated after either. After
    /// [`Error::Io`](crate::Error) there is no file.
    pub fn finish(&mut self) -> Result<usize> {
        // SAFETY: the writer is live.
        check(|err| unsafe { sys::tl_gguf_writer_finish(self.raw(), err) })?;
        // SAFETY: the writer is live.
        Ok(unsafe { sys::tl_gguf_writer_n_parts(self.raw()) })
    }

    fn raw(&self) -> *mut sys::tl_gguf_writer {
        self.0.as_ptr()
    }
}

impl fmt::Debug for GgufWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GgufWriter")
    }
}
