//! GGUF files through the safe API: written files read back equal, and invalid ones are errors.

use std::path::PathBuf;
use tensorlib::{Array, Backend, Context, DType, Error, Gguf, GgufWriter, GgufWriterOptions, Value};

/// A temporary folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tensorlib-gguf-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn values() -> Vec<(&'static str, Value)> {
    vec![
        ("u8", Value::from(200u8)),
        ("i8", Value::from(-100i8)),
        ("u16", Value::from(60000u16)),
        ("i16", Value::from(-30000i16)),
        ("u32", Value::from(4_000_000_000u32)),
        ("i32", Value::from(-2_000_000_000i32)),
        ("f32", Value::from(3.25f32)),
        ("bool", Value::from(true)),
        ("text", Value::from("grüß")),
        ("u64", Value::from(u64::MAX)),
        ("i64", Value::from(i64::MIN)),
        ("f64", Value::from(-1e300)),
        ("numbers", Value::from(vec![1i16, -2])),
        ("bools", Value::from(Array::Bool(vec![true, false]))),
        ("texts", Value::from(&["a", "", "bc"][..])),
        ("none", Value::from(Vec::<f64>::new())),
    ]
}

fn write_small(path: &PathBuf, ctx: &Context) -> tensorlib::Result<()> {
    let weights = ctx.tensor([2, 3], &[1., 2., 3., 4., 5., 6.])?;
    weights.set_name("weights")?;
    let mut writer = GgufWriterOptions::new().alignment(64).create(path)?;
    for (key, value) in values() {
        writer.set(key, value)?;
    }
    writer.add(&weights)?;
    writer.declare("scalar", DType::I32, [])?;
    writer.write(&7i32.to_le_bytes()[..1])?;
    writer.write(&7i32.to_le_bytes()[1..])?;
    assert_eq!(writer.finish()?, 1);
    Ok(())
}

#[test]
fn what_was_written_is_read() -> tensorlib::Result<()> {
    let folder = Folder::new("written");
    let path = folder.path("small.gguf");
    let ctx = Context::new();
    write_small(&path, &ctx)?;
    let bytes = std::fs::read(&path).unwrap();
    let leaked: &'static [u8] = Box::leak(bytes.clone().into_boxed_slice());
    // SAFETY: nobody touches the file meanwhile.
    let mapped = unsafe { Gguf::open_mapped(&path)? };
    for file in [Gguf::open(&path)?, mapped, Gguf::open_memory(bytes)?, Gguf::open_memory(leaked)?] {
        assert_eq!((file.version(), file.alignment(), file.n_parts()), (3, 64, 1));
        let read: Vec<(&str, Value)> = file.metadata().filter(|(key, _)| *key != "general.alignment").collect();
        assert_eq!(read, values());
        assert_eq!(file.get("text"), Some(Value::from("grüß")));
        assert_eq!(file.get("nothing"), None);
        assert_eq!(file.raw_value("numbers"), Some(&[1, 0, 254, 255][..]));
        assert_eq!(file.u64("u8")?, 200);
        assert_eq!(file.i64("u32")?, 4_000_000_000);
        assert_eq!(file.f64("i16")?, -30000.);
        assert!(file.bool("bool")?);
        assert_eq!(file.string("text")?, "grüß");
        let tensors: Vec<_> = file.tensors().map(|t| (t.name.to_string(), t.dtype, t.shape, t.data.len())).collect();
        assert_eq!(tensors, [("weights".into(), DType::F32, vec![2, 3], 24), ("scalar".into(), DType::I32, vec![], 4)]);
        assert_eq!(file.tensors().map(|t| t.offset).collect::<Vec<_>>(), [0, 64]);
        let other = Context::new();
        let leaf = file.tensor(&other, "weights")?;
        let scalar = file.tensor(&other, "scalar")?;
        drop(file);
        assert_eq!(leaf.name(), "weights");
        assert_eq!(scalar.to_vec::<i32>()?, [7]);
        let sum = leaf.add(&leaf)?;
        Backend::cpu()?.compute(&[&sum])?;
        assert_eq!(sum.to_vec::<f32>()?, [2., 4., 6., 8., 10., 12.]);
        let Err(Error::InvalidArgument(why)) = leaf.write(&[0f32; 6]) else { panic!("a leaf of a file was written") };
        assert!(why.message.contains("GGUF file and is read-only"), "{why:?}");
    }
    Ok(())
}

#[test]
fn files_and_handles_cross_threads() -> tensorlib::Result<()> {
    fn send_and_sync<T: Send + Sync + 'static>() {}
    fn send<T: Send + 'static>() {}
    send_and_sync::<Gguf>();
    send::<GgufWriter>();
    let folder = Folder::new("threads");
    let path = folder.path("small.gguf");
    write_small(&path, &Context::new())?;
    let file = Gguf::open(&path)?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let ctx = Context::new();
                assert_eq!(file.tensor(&ctx, "weights").unwrap().to_f32_vec().unwrap()[5], 6.);
            });
        }
    });
    Ok(())
}

#[test]
fn parts_are_written_and_read_as_one() -> tensorlib::Result<()> {
    let folder = Folder::new("parts");
    let ctx = Context::new();
    let mut writer = GgufWriterOptions::new().split_size(1024).create(folder.path("big.gguf"))?;
    for i in 0..5 {
        let t = ctx.tensor([100], &[i as f32; 100])?;
        t.set_name(&format!("t{i}"))?;
        writer.add(&t)?;
    }
    let parts = writer.finish()?;
    assert_eq!(parts, 5);
    let file = Gguf::open(folder.path("big-00003-of-00005.gguf"))?;
    assert_eq!(file.n_parts(), 5);
    assert_eq!(file.tensor(&ctx, "t4")?.to_f32_vec()?, [4.; 100]);
    std::fs::remove_file(folder.path("big-00002-of-00005.gguf")).unwrap();
    let Err(Error::Io(why)) = Gguf::open(folder.path("big-00001-of-00005.gguf")) else { panic!("a part is missing") };
    assert!(why.message.contains("big-00002-of-00005.gguf"), "{why:?}");
    Ok(())
}

#[test]
fn nested_arrays_are_read_and_copied() -> tensorlib::Result<()> {
    // Key "n": [[1, 2], ["x"]] of u8 and string.
    let mut bytes = b"GGUF".to_vec();
    let mut put = |part: &[u8]| bytes.extend_from_slice(part);
    put(&3u32.to_le_bytes());
    put(&0u64.to_le_bytes());
    put(&1u64.to_le_bytes());
    put(&1u64.to_le_bytes());
    put(b"n");
    for (kind, n) in [(9u32, None), (9, Some(2u64)), (0, Some(2))] {
        put(&kind.to_le_bytes());
        if let Some(n) = n {
            put(&n.to_le_bytes());
        }
    }
    put(&[1, 2]);
    put(&8u32.to_le_bytes());
    put(&1u64.to_le_bytes());
    put(&1u64.to_le_bytes());
    put(b"x");
    let want = Value::Array(Array::Nested(vec![Array::U8(vec![1, 2]), Array::String(vec!["x".into()])]));
    let file = Gguf::open_memory(bytes)?;
    assert_eq!(file.get("n"), Some(want.clone()));
    let folder = Folder::new("nested");
    let mut writer = GgufWriter::create(folder.path("n.gguf"))?;
    assert!(matches!(writer.set("m", want.clone()), Err(Error::InvalidArgument(_))));
    writer.copy_metadata(&file)?;
    writer.finish()?;
    assert_eq!(Gguf::open(folder.path("n.gguf"))?.get("n"), Some(want));
    Ok(())
}

#[test]
fn bad_input_is_an_error_that_says_what_would_be_valid() -> tensorlib::Result<()> {
    let folder = Folder::new("bad");
    let path = folder.path("small.gguf");
    let ctx = Context::new();
    write_small(&path, &ctx)?;
    let file = Gguf::open(&path)?;
    let rows: Vec<(Result<(), Error>, i32, &str)> = vec![
        (Gguf::open(folder.path("none.gguf")).map(drop), 10, "No such file"),
        (Gguf::open(&folder.0).map(drop), 10, "folder"),
        (Gguf::open("a\0b").map(drop), 1, "NUL at byte 1"),
        (Gguf::open_memory(&b"GGUF"[..]).map(drop), 11, "byte 4"),
        (Gguf::open_memory(Vec::new()).map(drop), 11, "byte 0"),
        (file.u64("nothing").map(drop), 1, "no key 'nothing'"),
        (file.u64("a\0b").map(drop), 1, "no key"),
        (file.u64("i8").map(drop), 3, "'i8' is i8"),
        (file.bool("u8").map(drop), 3, "'u8' is u8"),
        (file.string("numbers").map(drop), 3, "'numbers' is array"),
        (file.tensor(&ctx, "nothing").map(drop), 1, "no tensor 'nothing'"),
        (GgufWriter::create(folder.path("none/x.gguf")).map(drop), 10, "none/x.gguf"),
        (GgufWriterOptions::new().alignment(3).create(&path).map(drop), 1, "alignment 3"),
    ];
    for (result, code, word) in rows {
        let error = result.expect_err(word);
        let number = match error {
            Error::InvalidArgument(_) => 1,
            Error::TypeMismatch(_) => 3,
            Error::Io(_) => 10,
            Error::Format(_) => 11,
            _ => -1,
        };
        assert_eq!(number, code, "{error}");
        assert!(error.to_string().contains(word), "{error} lacks {word}");
    }
    let mut writer = GgufWriter::create(folder.path("w.gguf"))?;
    writer.set("k", 1u8)?;
    assert!(writer.set("k", 1u8).unwrap_err().to_string().contains("set already"));
    assert!(writer.set("a\0b", 1u8).unwrap_err().to_string().contains("NUL"));
    writer.declare("t", DType::F32, [4])?;
    assert!(writer.declare("t", DType::F32, [4]).unwrap_err().to_string().contains("declared already"));
    assert!(writer.write(&[0; 17]).unwrap_err().to_string().contains("lacks 16"));
    assert!(writer.finish().unwrap_err().to_string().contains("lacks 16"));
    drop(writer);
    assert!(!folder.path("w.gguf").exists());
    Ok(())
}
