//! Safetensors files: written files read back equal, types and shapes, and errors for invalid
//! files.

use half::{bf16, f16};
use tensorlib::{safetensors, Context, DType, Error};

fn folder(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("tensorlib-safetensors-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A file made by hand: header, then data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

#[test]
fn every_type_goes_out_and_comes_back() -> tensorlib::Result<()> {
    let folder = folder("types");
    let path = folder.join("all.safetensors");
    let ctx = Context::new();
    let tensors = [
        ctx.tensor_of([2, 1, 3], &[1f32, -2., 3., f32::INFINITY, 5., 6.])?,
        ctx.tensor_of([2], &[1f64, -1e300])?,
        ctx.tensor_of([1], &[f16::from_f32(0.5)])?,
        ctx.tensor_of([1], &[bf16::from_f32(-2.)])?,
        ctx.tensor_of([3], &[i8::MIN, 0, i8::MAX])?,
        ctx.tensor_of([2], &[i16::MIN, i16::MAX])?,
        ctx.tensor_of([2], &[i32::MIN, i32::MAX])?,
        ctx.tensor_of([2], &[i64::MIN, i64::MAX])?,
        ctx.tensor_of([3], &[0u8, 1, 255])?,
        ctx.tensor_of([2], &[true, false])?,
        ctx.zeros(DType::F32, [4, 0])?,
        ctx.tensor([3, 2], &[1., 2., 3., 4., 5., 6.])?.transpose()?,
    ];
    for (i, tensor) in tensors.iter().enumerate() {
        tensor.set_name(&format!("t{i:02}"))?;
    }
    let refs: Vec<_> = tensors.iter().collect();
    safetensors::write(&path, &refs, &[("a", "b")])?;
    let back = safetensors::read(&Context::new(), &path)?;
    assert_eq!(back.metadata, [("a".to_string(), "b".to_string())].into());
    assert_eq!(back.tensors.len(), tensors.len());
    for (read, written) in back.tensors.iter().zip(&tensors) {
        assert_eq!((read.name(), read.dtype(), read.shape()), (written.name(), written.dtype(), written.shape()));
        assert_eq!(read.to_f32_vec()?, written.to_f32_vec()?);
    }
    assert_eq!(back.tensors[7].to_vec::<i64>()?, [i64::MIN, i64::MAX]);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
    Ok(())
}

#[test]
fn shapes_are_reversed_and_scalars_have_one_element() -> tensorlib::Result<()> {
    let header =
        r#"{"m":{"dtype":"I8","shape":[2,3],"data_offsets":[0,6]},"s":{"dtype":"I8","shape":[],"data_offsets":[6,7]}}"#;
    let file = safetensors::read_bytes(&Context::new(), &file(header, &[1, 2, 3, 4, 5, 6, 7]))?;
    assert_eq!(file.tensors[0].shape(), [3, 2]);
    assert_eq!(file.tensors[0].to_vec::<i8>()?, [1, 2, 3, 4, 5, 6]);
    assert_eq!(file.tensors[1].shape(), [1]);
    assert_eq!(file.tensors[1].to_vec::<i8>()?, [7]);
    assert!(file.metadata.is_empty());
    Ok(())
}

#[test]
fn bad_input_is_an_error_that_says_what_would_be_valid() -> tensorlib::Result<()> {
    let folder = folder("bad");
    let ctx = Context::new();
    let read = |bytes: &[u8]| safetensors::read_bytes(&ctx, bytes).unwrap_err();
    let one = |dtype: &str, shape: &str, size: usize| {
        let header = format!(r#"{{"t":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{size}]}}}}"#);
        read(&file(&header, &vec![0; size]))
    };
    assert!(matches!(read(&[]), Error::Format(_)));
    assert!(matches!(read(&[255; 100]), Error::Format(_)));
    assert!(matches!(read(&file("{", &[])), Error::Format(_)));
    assert!(matches!(one("F32", "[3]", 8), Error::Format(_)));
    let Error::Unsupported(why) = one("U16", "[3]", 6) else { panic!("no unsupported type") };
    assert!(why.message.contains("'t' is U16") && why.message.contains("BF16"), "{}", why.message);
    // Bytes other than 0 and 1 are no bools.
    let bools = r#"{"t":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}"#;
    assert!(read(&file(bools, &[1, 2])).to_string().contains("byte 1 is 2: 0 and 1 are valid"));
    let Error::Unsupported(why) = one("I8", "[1,1,1,1,1]", 1) else { panic!("no five dimensions") };
    assert!(why.message.contains("5 dimensions"), "{}", why.message);
    let Err(Error::Io(why)) = safetensors::read(&ctx, folder.join("none")) else { panic!("no such file") };
    assert!(why.message.contains("none"), "{}", why.message);

    let (a, b) = (ctx.tensor([1], &[1.])?, ctx.tensor([1], &[2.])?);
    let target = folder.join("out.safetensors");
    let refused = |tensors: &[&tensorlib::Tensor]| safetensors::write(&target, tensors, &[]).unwrap_err();
    assert!(refused(&[&a]).to_string().contains("set_name"));
    a.set_name("a")?;
    b.set_name("a")?;
    assert!(refused(&[&a, &b]).to_string().contains("'a'"));
    let sum = a.add(&b)?;
    sum.set_name("sum")?;
    assert!(refused(&[&sum]).to_string().contains("make it an output"));
    // More elements than there are addresses, all of them in the same four bytes.
    let endless = a.view([1, 1 << 50], &[0], 0)?;
    endless.set_name("endless")?;
    let Error::OutOfMemory(why) = refused(&[&endless]) else { panic!("room for 2^52 bytes") };
    assert!(why.message.contains("'endless': no memory for its 4503599627370496 bytes"), "{}", why.message);
    let Err(Error::Io(_)) = safetensors::write(folder.join("none/x"), &[&a], &[]) else { panic!("no such folder") };
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir_all(&folder).unwrap();
    Ok(())
}
