//! Tensors that are shared with other libraries, with the feature `dlpack`. The engine's own checks are in
//! tests/cpp/dlpack_test.cpp.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use tensorlib::{Backend, Context, DType, DlpackTensor, Error};

/// DLPack's struct, as another library fills it.
#[repr(C)]
struct Managed {
    version: [u32; 2],
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    flags: u64,
    data: *mut c_void,
    device: [i32; 2],
    n_dims: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// What the other library owns: its deleter frees it, and counts.
struct Foreign {
    managed: Managed,
    values: Vec<f32>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    deleted: Arc<AtomicUsize>,
}

unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: manager is the Foreign that foreign() leaked, and the deleter runs once.
    let foreign = unsafe { Box::from_raw((*managed).manager.cast::<Foreign>()) };
    foreign.deleted.fetch_add(1, Ordering::SeqCst);
}

/// A tensor of another library that counts up from 0, the number of its deleter's calls, and its first value's address.
fn foreign(shape: &[i64], strides: &[i64], flags: u64) -> (DlpackTensor, Arc<AtomicUsize>, *mut f32) {
    let deleted = Arc::new(AtomicUsize::new(0));
    let mut foreign = Box::new(Foreign {
        managed: Managed {
            version: [1, 0],
            manager: std::ptr::null_mut(),
            deleter: Some(delete),
            flags,
            data: std::ptr::null_mut(),
            device: [1, 0],
            n_dims: shape.len() as i32,
            code: 2,
            bits: 32,
            lanes: 1,
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        },
        values: (0..64).map(|i| i as f32).collect(),
        shape: shape.to_vec(),
        strides: strides.to_vec(),
        deleted: deleted.clone(),
    });
    let values = foreign.values.as_mut_ptr();
    foreign.managed.data = values.cast();
    foreign.managed.shape = foreign.shape.as_mut_ptr();
    if !strides.is_empty() {
        foreign.managed.strides = foreign.strides.as_mut_ptr();
    }
    let raw = Box::into_raw(foreign);
    // SAFETY: raw is a Foreign, which delete() frees.
    let tensor = unsafe {
        (*raw).managed.manager = raw.cast();
        DlpackTensor::from_raw((&raw mut (*raw).managed).cast())
    };
    (tensor.unwrap(), deleted, values)
}

#[test]
fn exported_memory_outlives_its_context() -> tensorlib::Result<()> {
    let cpu = Backend::cpu()?;
    let shared = {
        let ctx = Context::new();
        let t = ctx.tensor([3, 2], &[1., 2., 3., 4., 5., 6.])?;
        (&t * 2)?.eval(&cpu)?.transpose()?.to_dlpack()?
    };
    assert_eq!((shared.shape(), shared.strides()), (&[3, 2][..], &[1, 3][..]));
    assert!(!shared.is_read_only());
    // SAFETY: the memory has 6 elements, and lives as long as `shared`.
    let values = unsafe { std::slice::from_raw_parts(shared.data().cast::<f32>(), 6) };
    assert_eq!(values, [2., 4., 6., 8., 10., 12.]);
    std::thread::spawn(move || drop(shared)).join().unwrap();
    Ok(())
}

#[test]
fn exports_say_what_is_valid() -> tensorlib::Result<()> {
    let mut ctx = Context::new();
    let error = ctx.zeros(DType::Q4_0, [32])?.to_dlpack().unwrap_err();
    assert!(matches!(error, Error::TypeMismatch(_)) && error.to_string().contains("bf16"), "{error}");
    let t = ctx.tensor([2], &[1., 2.])?;
    let sum = (&t + &t)?;
    assert!(matches!(sum.to_dlpack(), Err(Error::InvalidArgument(_))));
    t.set_constant()?;
    let shared = t.to_dlpack()?;
    assert!(shared.is_read_only());
    assert_eq!(format!("{shared:?}"), "DlpackTensor([2], strides [1], type 2 of 32 bits)");
    drop((t, sum));
    assert!(matches!(ctx.reset(), Err(Error::Busy(_))));
    drop(shared);
    ctx.reset()
}

#[test]
fn imported_memory_is_deleted_once() -> tensorlib::Result<()> {
    let (shared, deleted, values) = foreign(&[2, 3], &[], 0);
    let ctx = Context::new();
    // SAFETY: this thread alone uses the values.
    let t = unsafe { ctx.from_dlpack(shared)? };
    assert_eq!(t.shape(), [3, 2]);
    t.write(&[5f32; 6])?;
    // SAFETY: the same.
    assert_eq!(unsafe { *values.add(5) }, 5.);
    assert_eq!(t.read_guard::<f32>()?.as_ptr(), values.cast_const());
    drop(ctx);
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
    drop(t);
    assert_eq!(deleted.load(Ordering::SeqCst), 1);

    let (shared, deleted, _) = foreign(&[4, 2], &[1, 4], 1);
    let mut ctx = Context::new();
    // SAFETY: the same.
    let t = unsafe { ctx.from_dlpack(shared)? };
    assert_eq!(t.to_vec::<f32>()?, [0., 4., 1., 5., 2., 6., 3., 7.]);
    assert!(matches!(t.write(&[0f32; 8]), Err(Error::InvalidArgument(_))));
    drop(t);
    ctx.reset()?;
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
    Ok(())
}

#[test]
fn what_is_refused_is_deleted_once() {
    let (shared, deleted, _) = foreign(&[2, 3], &[-3, 1], 0);
    let ctx = Context::new();
    // SAFETY: this thread alone uses the values.
    let error = unsafe { ctx.from_dlpack(shared) }.unwrap_err();
    assert!(error.to_string().contains("[-3, 1]"), "{error}");
    assert_eq!(deleted.load(Ordering::SeqCst), 1);

    let (shared, deleted, _) = foreign(&[2], &[], 0);
    // SAFETY: into_raw() gave the ownership.
    drop(unsafe { DlpackTensor::from_raw(shared.into_raw()) });
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
    // SAFETY: NULL is allowed.
    assert!(unsafe { DlpackTensor::from_raw(std::ptr::null_mut()) }.is_none());
}
