//! Files exchanged with the Python packages `gguf` and `safetensors` (`tests/interop/formats.py`), in the folder that
//! TENSORLIB_INTEROP names: `cargo xtask test --deep --only interop`. Does nothing if the variable is not set.

use half::f16;
use std::path::PathBuf;
use tensorlib::{safetensors, Array, Context, DType, Gguf, GgufWriter, Tensor, Value};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("TENSORLIB_INTEROP").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: TENSORLIB_INTEROP names no folder");
    }
    folder
}

fn values() -> Vec<(&'static str, Value)> {
    vec![
        ("test.u8", 200u8.into()),
        ("test.i16", (-30000i16).into()),
        ("test.u64", u64::MAX.into()),
        ("test.f32", 3.25f32.into()),
        ("test.f64", (-1e300).into()),
        ("test.bool", true.into()),
        ("test.text", "grüß".into()),
        ("test.texts", (&["alpha", "", "gamma γ"][..]).into()),
        ("test.ints", vec![1i32, -2, 3].into()),
    ]
}

fn tensors(ctx: &Context) -> tensorlib::Result<Vec<Tensor>> {
    let tensors = vec![
        ctx.tensor([2, 3], &[0., 1., 2., 3., 4., 5.])?,
        ctx.tensor_of([3], &[f16::from_f32(0.5), f16::from_f32(-2.), f16::MAX])?,
        ctx.tensor_of([2], &[i32::MIN, 7])?,
    ];
    for (tensor, name) in tensors.iter().zip(["matrix", "halves", "ints"]) {
        tensor.set_name(name)?;
    }
    Ok(tensors)
}

#[test]
fn gguf_both_ways() -> tensorlib::Result<()> {
    let Some(folder) = folder() else { return Ok(()) };
    let ctx = Context::new();
    let theirs = Gguf::open(folder.join("theirs.gguf"))?;
    assert_eq!(theirs.string("general.architecture")?, "test");
    for (key, value) in values() {
        assert_eq!(theirs.get(key), Some(value), "{key}");
    }
    assert!(matches!(theirs.get("test.texts"), Some(Value::Array(Array::String(_)))));
    for tensor in tensors(&ctx)? {
        let read = theirs.tensor(&ctx, &tensor.name())?;
        assert_eq!((read.dtype(), read.shape()), (tensor.dtype(), tensor.shape()));
        assert_eq!(read.to_f32_vec()?, tensor.to_f32_vec()?);
    }
    let rows = theirs.tensor_info("rows").unwrap();
    assert_eq!((rows.dtype, rows.shape), (DType::Q8_0, vec![256, 2]));
    for (i, value) in theirs.tensor(&ctx, "rows")?.to_f32_vec()?.into_iter().enumerate() {
        // A step of Q8_0 is a 127th of the largest of 32 values, and rounding is off by at most half a step.
        assert!((value - (-1. + 2. * i as f32 / 511.)).abs() < 0.51 / 127., "{i}");
    }

    let mut ours = GgufWriter::create(folder.join("ours.gguf"))?;
    for (key, value) in values() {
        ours.set(key, value)?;
    }
    for tensor in tensors(&ctx)? {
        ours.add(&tensor)?;
    }
    ours.finish()?;
    let mut copied = GgufWriter::create(folder.join("copied.gguf"))?;
    copied.copy_metadata(&theirs)?;
    for tensor in theirs.tensors() {
        copied.declare(tensor.name, tensor.dtype, &tensor.shape)?;
    }
    for tensor in theirs.tensors() {
        copied.write(tensor.data)?;
    }
    copied.finish().map(drop)
}

#[test]
fn safetensors_both_ways() -> tensorlib::Result<()> {
    let Some(folder) = folder() else { return Ok(()) };
    let ctx = Context::new();
    let theirs = safetensors::read(&ctx, folder.join("theirs.safetensors"))?;
    assert_eq!(theirs.metadata["made by"], "python");
    let named = |name: &str| theirs.tensors.iter().find(|t| t.name() == name).unwrap();
    for tensor in tensors(&ctx)? {
        let read = named(&tensor.name());
        assert_eq!((read.dtype(), read.shape()), (tensor.dtype(), tensor.shape()));
        assert_eq!(read.to_f32_vec()?, tensor.to_f32_vec()?);
    }
    assert_eq!(named("scalar").to_vec::<f64>()?, [2.5]);
    let ours = tensors(&ctx)?;
    safetensors::write(folder.join("ours.safetensors"), &ours.iter().collect::<Vec<_>>(), &[("made by", "tensorlib")])
}
