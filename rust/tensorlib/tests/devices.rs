//! Graphs over several devices: virtual CPUs, joined.

use tensorlib::{Backend, BackendOptions, Context, ContextOptions, DType, Error, Graph, Result};

/// Must run before anything in this process asks for the devices.
fn ask_for_virtual_devices() {
    static ASKED: std::sync::Once = std::sync::Once::new();
    ASKED.call_once(|| std::env::set_var("TENSORLIB_CPU_VIRTUAL_DEVICES", "2"));
}

fn opened() -> Result<(Backend, Backend, Backend)> {
    ask_for_virtual_devices();
    let (a, b) = (Backend::new("cpu:0")?, Backend::new("cpu:1")?);
    let joined = Backend::join(&[a.clone(), b.clone()])?;
    Ok((a, b, joined))
}

#[test]
fn leafs_of_two_devices_meet_in_one_graph() -> Result<()> {
    let (a, b, joined) = opened()?;
    assert_eq!((joined.device(), joined.devices()), ("cpu:0+cpu:1".into(), vec!["cpu:0".into(), "cpu:1".into()]));
    let (weights, ctx) = (Context::on(&a), Context::on(&b));
    let w = weights.tensor([2, 3], &[1f32, 2., 3., 4., 5., 6.])?;
    let x = ctx.tensor([2], &[10f32, 1.])?;
    let y = w.mul_mat(&x)?;
    let graph = Graph::new(&[&y])?;
    assert!(matches!(graph.compute(&a), Err(Error::ContextMismatch(message)) if message.message.contains("cpu:1")));
    graph.compute(&joined)?;
    assert_eq!(y.to_vec::<f32>()?, [12., 34., 56.]);
    // Copying x and the result takes the fewest bytes; placing the node by hand copies the weights
    // instead.
    assert!(graph.plan_text(&joined)?.contains("8 bytes: cpu:1 to cpu:0"));
    y.place(Some("cpu:1"))?;
    graph.compute(&joined)?;
    assert!(graph.plan_text(&joined)?.contains("24 bytes: cpu:0 to cpu:1"));
    y.place(None)?;
    graph.compute(&joined)?;
    assert_eq!(y.to_vec::<f32>()?, [12., 34., 56.]);
    Ok(())
}

#[test]
fn bytes_are_told_before_anything_is_taken() -> Result<()> {
    let (a, _, joined) = opened()?;
    let shapes = ContextOptions::new().no_alloc().on(&a).build()?;
    let w = shapes.zeros(DType::F32, [1 << 20, 1 << 10])?;
    let x = shapes.zeros(DType::F32, [1 << 20])?;
    let graph = Graph::new(&[&w.mul_mat(&x)?])?;
    let bytes = graph.plan_bytes(&joined)?;
    assert!(bytes[0] >= 4 << 30 && bytes[1] == 0, "{bytes:?}");
    Ok(())
}

#[test]
fn bad_input_is_an_error() -> Result<()> {
    let (a, b, joined) = opened()?;
    let refused = |backends: &[Backend]| Backend::join(backends).map(drop).unwrap_err().to_string();
    assert!(refused(&[]).contains("0 backends"));
    assert!(refused(&[a.clone(), b, a.clone()]).contains("one of each device"));
    assert!(refused(&[a.clone(), joined]).contains("joined itself"));
    assert!(matches!(BackendOptions::new().open("cpu:0+nothing"), Err(Error::InvalidArgument(_))));
    let x = Context::on(&a).tensor([2], &[1f32, 2.])?;
    assert!(x.place(Some("cpu:1")).unwrap_err().to_string().contains("leaf"));
    assert!(x.exp()?.place(Some("cpu\0:1")).unwrap_err().to_string().contains("no device"));
    Ok(())
}
