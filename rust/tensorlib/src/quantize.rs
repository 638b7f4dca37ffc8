//! Conversion between floats and storage types outside of contexts, as converters of model files need it.

use crate::call::check;
use crate::{Backend, DType, Error, Result, Tensor};
use std::ffi::c_void;
use std::ptr;
use tensorlib_sys as sys;

impl DType {
    /// Encodes rows of `n_per_row` floats as this type with a small sum of squared errors, on the calling thread.
    /// `importance` weighs the squared error of each column: one finite, non-negative number per column. The same
    /// values give the same bytes on every CPU.
    ///
    /// ```
    /// use tensorlib::DType;
    /// let values: Vec<f32> = (0..64).map(|i| (i as f32).sin()).collect();
    /// let blocks = DType::Q8_0.quantize(&values, 32, None)?;
    /// assert_eq!(blocks.len(), 2 * 34);
    /// let back = DType::Q8_0.dequantize(&blocks)?;
    /// assert!(values.iter().zip(&back).all(|(a, b)| (a - b).abs() < 0.01));
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `values` are not whole rows, rows are not whole blocks, `importance` has a wrong
    /// length or an invalid number, or a value does not fit the type: quantised types hold finite numbers only. The
    /// message gives the value's position.
    pub fn quantize(self, values: &[f32], n_per_row: usize, importance: Option<&[f32]>) -> Result<Vec<u8>> {
        quantized(self, "quantize", values, n_per_row, importance, |job, err| {
            // SAFETY: the job's pointers and sizes come from live slices that fit together.
            unsafe { sys::tl_quantize(self.raw(), job.src, job.dst, job.n_rows, job.n_per_row, job.importance, err) }
        })
    }

    /// Decodes blocks of this type to floats.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the bytes are not whole blocks.
    pub fn dequantize(self, blocks: &[u8]) -> Result<Vec<f32>> {
        let (size, elements) = (self.size().max(1), usize::try_from(self.block_size()).unwrap_or(1));
        if blocks.len() % size != 0 {
            return invalid(format!("dequantize: {} bytes: a multiple of {size} is valid for {self}", blocks.len()));
        }
        let mut values = vec![0.0f32; blocks.len() / size * elements];
        let n = i64::try_from(values.len()).unwrap_or(i64::MAX);
        // SAFETY: blocks holds n elements and values has room for them.
        check(|err| unsafe { sys::tl_dequantize(self.raw(), blocks.as_ptr().cast(), values.as_mut_ptr(), n, err) })?;
        Ok(values)
    }
}

impl Backend {
    /// [`DType::quantize`] on this backend's threads.
    ///
    /// # Errors
    /// As [`DType::quantize`]; [`Error::Unsupported`] if the backend is not on the CPU.
    pub fn quantize(
        &self,
        dtype: DType,
        values: &[f32],
        n_per_row: usize,
        importance: Option<&[f32]>,
    ) -> Result<Vec<u8>> {
        quantized(dtype, "backend_quantize", values, n_per_row, importance, |job, err| {
            // SAFETY: the backend is live; the job's pointers and sizes come from live slices that fit together.
            unsafe {
                sys::tl_backend_quantize(
                    self.raw(),
                    dtype.raw(),
                    job.src,
                    job.dst,
                    job.n_rows,
                    job.n_per_row,
                    job.importance,
                    err,
                )
            }
        })
    }
}

/// The number of elements that are held as floats at a time.
const PIECE: usize = 4 << 20;

impl Tensor {
    /// Makes a leaf in this tensor's context, with its shape and name, that stores its values as `dtype`. It runs on
    /// the calling thread; [`Backend::quantize_tensor`] uses all threads. Values are converted in portions, so only a
    /// few megabytes are held in addition to both tensors. It runs once, outside of graphs, and is meant for weights.
    ///
    /// ```
    /// use tensorlib::{Context, DType};
    /// let ctx = Context::new();
    /// let weights = ctx.tensor([256, 2], &vec![0.5; 512])?;
    /// let small = weights.quantize(DType::Q4_K)?;
    /// assert_eq!(small.nbytes(), 2 * 144);
    /// assert!((small.dequantize()?.to_vec::<f32>()?[7] - 0.5).abs() < 0.01);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::to_vec`] if this tensor cannot be read, and as [`DType::quantize`]; [`Error::InvalidArgument`] if
    /// rows are not whole blocks; [`Error::OutOfMemory`].
    pub fn quantize(&self, dtype: DType) -> Result<Tensor> {
        self.stored_as(dtype, |values, n_per_row| dtype.quantize(values, n_per_row, None))
    }

    /// Makes a leaf in this tensor's context, with its shape and name, that stores its values as F32.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`] if this tensor cannot be read; [`Error::OutOfMemory`].
    pub fn dequantize(&self) -> Result<Tensor> {
        self.stored_as(DType::F32, |values, _| Ok(values.iter().flat_map(|v| v.to_ne_bytes()).collect()))
    }

    fn stored_as(&self, dtype: DType, encode: impl Fn(&[f32], usize) -> Result<Vec<u8>>) -> Result<Tensor> {
        let made = self.context().zeros(dtype, self.shape())?;
        made.set_name(&self.name())?;
        let source = self.dtype();
        let n_per_row = usize::try_from(self.shape()[0]).unwrap_or(0);
        let n_rows = self.n_elements().checked_div(n_per_row).unwrap_or(0);
        let row_bytes = |t: DType| n_per_row / usize::try_from(t.block_size()).unwrap_or(1).max(1) * t.size();
        let rows_at_a_time = (PIECE / n_per_row.max(1)).max(1);
        let mut raw = Vec::new();
        for first in (0..n_rows).step_by(rows_at_a_time) {
            let rows = rows_at_a_time.min(n_rows - first);
            raw.resize(rows * row_bytes(source), 0);
            self.read_bytes(first * row_bytes(source), &mut raw)?;
            let values = source.dequantize(&raw)?;
            made.write_bytes(first * row_bytes(dtype), &encode(&values, n_per_row)?)?;
        }
        Ok(made)
    }
}

impl Backend {
    /// [`Tensor::quantize`] on this backend's threads. `importance` weighs the squared error of each column: one
    /// finite, non-negative number per column.
    ///
    /// # Errors
    /// As [`Tensor::quantize`]; [`Error::Unsupported`] if the backend is not on the CPU.
    pub fn quantize_tensor(&self, tensor: &Tensor, dtype: DType, importance: Option<&[f32]>) -> Result<Tensor> {
        tensor.stored_as(dtype, |values, n_per_row| self.quantize(dtype, values, n_per_row, importance))
    }
}

struct Job {
    src: *const f32,
    dst: *mut c_void,
    n_rows: i64,
    n_per_row: i64,
    importance: *const f32,
}

fn invalid<T>(message: String) -> Result<T> {
    Err(Error::new(sys::TL_STATUS_INVALID_ARGUMENT.0, message, Vec::new()))
}

/// Checks the lengths, which pointers do not carry, and runs `call` into memory of the right size.
fn quantized(
    dtype: DType,
    what: &str,
    values: &[f32],
    n_per_row: usize,
    importance: Option<&[f32]>,
    call: impl FnOnce(&Job, *mut sys::tl_error) -> sys::tl_status,
) -> Result<Vec<u8>> {
    if !values.is_empty() && (n_per_row == 0 || values.len() % n_per_row != 0) {
        return invalid(format!("{what}: {} values are no whole rows of {n_per_row}", values.len()));
    }
    if let Some(weights) = importance {
        if weights.len() != n_per_row {
            let n = weights.len();
            return invalid(format!(
                "{what}: {n} weights of importance for rows of {n_per_row}: one for each column is valid"
            ));
        }
    }
    let elements = usize::try_from(dtype.block_size()).unwrap_or(1).max(1);
    // The engine refuses rows that are not whole blocks before it writes anything.
    let mut blocks = vec![0u8; values.len() / elements * dtype.size()];
    let job = Job {
        src: values.as_ptr(),
        dst: blocks.as_mut_ptr().cast(),
        n_rows: i64::try_from(values.len() / n_per_row.max(1)).unwrap_or(i64::MAX),
        n_per_row: i64::try_from(n_per_row).unwrap_or(i64::MAX),
        importance: importance.map_or(ptr::null(), <[f32]>::as_ptr),
    };
    check(|err| call(&job, err))?;
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BackendOptions;

    fn values(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 7919 % 1013) as f32 - 506.0) / 100.0).collect()
    }

    #[test]
    fn every_type_goes_there_and_back() {
        let cpu = BackendOptions::new().threads(2).open("cpu").unwrap();
        for dtype in DType::ALL {
            // What the type can tell: U8 has no negative numbers, and Bool only 0 and 1.
            let x: Vec<f32> = values(4 * 512)
                .into_iter()
                .map(|x| match dtype {
                    DType::U8 => x.abs(),
                    DType::Bool => f32::from(x > 0.),
                    _ => x,
                })
                .collect();
            let blocks = dtype.quantize(&x, 512, None).unwrap();
            assert_eq!(blocks.len() * usize::try_from(dtype.block_size()).unwrap(), x.len() * dtype.size(), "{dtype}");
            assert_eq!(cpu.quantize(dtype, &x, 512, Some(&[1.0; 512])).unwrap(), blocks, "{dtype}");
            let back = dtype.dequantize(&blocks).unwrap();
            let off: f32 = x.iter().zip(&back).map(|(a, b)| (a - b) * (a - b)).sum();
            let whole: f32 = x.iter().map(|a| a * a).sum();
            assert!(off < 0.5 * whole, "{dtype}: {off} of {whole}");
        }
    }

    #[test]
    fn tensors_of_any_type_in_pieces() {
        let cpu = BackendOptions::new().threads(2).open("cpu").unwrap();
        let ctx = crate::Context::new();
        // More than two portions, the last one smaller.
        let n = 4096;
        let x = values(n * (2 * PIECE / n + 3));
        let weights = ctx.tensor([n as i64, (x.len() / n) as i64], &x).unwrap();
        weights.set_name("weights").unwrap();
        let made = weights.quantize(DType::Q8_0).unwrap();
        assert_eq!((made.name(), made.shape(), made.dtype()), ("weights".into(), weights.shape(), DType::Q8_0));
        let mut bytes = vec![0; made.nbytes()];
        made.read_bytes(0, &mut bytes).unwrap();
        assert_eq!(bytes, DType::Q8_0.quantize(&x, n, None).unwrap());
        let threaded = cpu.quantize_tensor(&weights, DType::Q8_0, None).unwrap();
        assert_eq!(threaded.to_f32_vec().unwrap(), made.to_f32_vec().unwrap());
        assert_eq!(made.dequantize().unwrap().to_vec::<f32>().unwrap(), made.to_f32_vec().unwrap());
        // From one type to another, from a view with gaps, and from an empty tensor.
        let view = weights.view([256, 3], &[16384], 1024).unwrap();
        let small = view.quantize(DType::Q4_K).unwrap();
        assert_eq!(small.quantize(DType::Q6_K).unwrap().shape(), [256, 3]);
        assert_eq!(ctx.zeros(DType::F16, [0, 3]).unwrap().quantize(DType::Q8_0).unwrap().n_elements(), 0);
        let odd = ctx.zeros(DType::F32, [100, 2]).unwrap();
        assert!(odd.quantize(DType::Q4_K).unwrap_err().to_string().contains("256"));
        let sum = weights.add(&weights).unwrap();
        assert!(sum.quantize(DType::Q8_0).unwrap_err().to_string().contains("make it an output"));
        // A bad value is found before anything could be taken for a result.
        weights.set(&[5, 7], f32::NAN).unwrap();
        assert!(weights.quantize(DType::Q8_0).unwrap_err().to_string().contains("nan"));
    }

    #[test]
    fn bad_calls_say_what_is_valid() {
        let x = values(512);
        let message = |result: Result<Vec<u8>>| result.unwrap_err().to_string();
        assert!(message(DType::Q4_K.quantize(&x, 128, None)).contains("a multiple of 256"));
        assert!(message(DType::Q4_K.quantize(&x, 0, None)).contains("no whole rows"));
        assert!(message(DType::Q4_K.quantize(&x, 500, None)).contains("no whole rows"));
        assert!(message(DType::Q4_K.quantize(&x, 256, Some(&x[..3]))).contains("3 weights"));
        assert!(message(DType::Q4_K.quantize(&x, 256, Some(&x[..256]))).contains("importance 0 is"));
        let mut bad = x.clone();
        bad[256 + 17] = f32::NAN;
        assert!(message(DType::Q4_K.quantize(&bad, 256, None)).contains("value 17 of row 1 is"));
        assert!(DType::Q4_K.dequantize(&[0; 143]).unwrap_err().to_string().contains("multiple of 144"));
        assert!(DType::Q4_K.quantize(&[], 0, None).unwrap().is_empty());
        assert!(DType::Q4_K.quantize(&[], 256, None).unwrap().is_empty());
    }
}
