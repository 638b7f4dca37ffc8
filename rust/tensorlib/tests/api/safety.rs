//! What safe code cannot do: use freed memory, race, read torn data, abort the process.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tensorlib::{Attr, Backend, BackendOptions, Context, ContextOptions, DType, Error, Graph, ReadGuard, Tensor};

fn cpu() -> Backend {
    BackendOptions::new().threads(2).open("cpu").unwrap()
}

#[test]
fn handles_are_send_and_sync() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Context>();
    check::<Tensor>();
    check::<Graph>();
    check::<Backend>();
    check::<ReadGuard<'static, f32>>();
}

/// A model that owns its context and weights needs no lifetime, and can be moved to another thread.
struct Model {
    weights: Tensor,
    ctx: Context,
}

#[test]
fn a_model_owns_its_tensors_and_moves_between_threads() {
    let ctx = Context::new();
    let model = Model { weights: ctx.tensor([2, 2], &[1., 2., 3., 4.]).unwrap(), ctx };
    let y = thread::spawn(move || {
        let token = Context::new();
        let y = model.weights.mul_mat(&token.tensor([2], &[1., 1.]).unwrap()).unwrap();
        drop((model.weights, model.ctx));
        y
    })
    .join()
    .unwrap();
    cpu().compute(&[&y]).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [3., 7.]);
}

#[test]
fn handles_drop_in_any_order() {
    for order in 0..4 {
        let backend = cpu();
        let (a_ctx, b_ctx) = (Context::on(&backend), Context::on(&backend));
        let a = a_ctx.tensor([3], &[1., 2., 3.]).unwrap();
        let b = b_ctx.tensor([3], &[10., 20., 30.]).unwrap();
        let c = a.add(&b).unwrap();
        let graph = Graph::new(&[&c]).unwrap();
        match order {
            0 => drop((a, b, a_ctx, b_ctx)),
            1 => drop((b_ctx, a_ctx, b, a)),
            2 => drop(a_ctx),
            _ => drop(b_ctx),
        }
        graph.compute(&backend).unwrap();
        drop(backend);
        assert_eq!(c.to_vec::<f32>().unwrap(), [11., 22., 33.]);
        drop(c);
        graph.compute(&cpu()).unwrap();
    }
}

#[test]
fn reset_refuses_while_anything_refers_to_the_context() {
    let mut ctx = Context::new();
    let tensor = ctx.zeros(DType::F32, [4]).unwrap();
    assert!(matches!(ctx.reset(), Err(Error::Busy(_))));
    let graph = Graph::new(&[&tensor]).unwrap();
    drop(tensor);
    assert!(matches!(ctx.reset(), Err(Error::Busy(_))));
    drop(graph);
    ctx.reset().unwrap();
    let young = Context::new();
    let old = ctx.zeros(DType::F32, [4]).unwrap();
    let sum = young.within(|| old.add(&old)).unwrap();
    drop(old);
    assert!(matches!(ctx.reset(), Err(Error::Busy(_))));
    drop((sum, young));
    ctx.reset().unwrap();
    assert_eq!(ctx.used_memory(), 0);
}

#[test]
fn overlap_is_busy_never_a_race() {
    let (backend, ctx) = (cpu(), Context::new());
    let x = ctx.tensor([2], &[1., 2.]).unwrap();
    let y = x.add(&x).unwrap();
    let graph = Graph::new(&[&y]).unwrap();
    let busy = |r: tensorlib::Result<()>| assert!(matches!(r, Err(Error::Busy(_))), "{r:?}");
    {
        let first = x.read_guard::<f32>().unwrap();
        let second = x.read_guard::<f32>().unwrap();
        assert_eq!(*first, *second);
        busy(x.write(&[3f32, 4.]));
        busy(x.write_guard::<f32>().map(drop));
        busy(graph.compute(&backend));
    }
    {
        let mut guard = x.write_guard::<f32>().unwrap();
        guard[0] = 5.0;
        busy(x.to_vec::<f32>().map(drop));
        busy(x.read_guard::<f32>().map(drop));
        busy(graph.compute(&backend));
    }
    graph.compute(&backend).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [10., 4.]);
    // Called from inside a callback: the graph, its backend and its data are in use.
    graph
        .compute_with(&backend, |_, _| {
            busy(graph.compute(&backend));
            busy(graph.compute_with(&backend, |_, _| true));
            busy(backend.compute(&[&x.add(&x).unwrap()]));
            busy(x.to_vec::<f32>().map(drop));
            true
        })
        .unwrap();
}

#[test]
fn guards_need_the_right_type_and_contiguous_data() {
    let ctx = Context::new();
    let t = ctx.tensor([3, 2], &[1., 2., 3., 4., 5., 6.]).unwrap();
    assert!(matches!(t.read_guard::<f64>(), Err(Error::TypeMismatch(_))));
    assert!(matches!(t.transpose().unwrap().read_guard::<f32>(), Err(Error::InvalidArgument(_))));
    assert_eq!(*t.view([3], &[], 12).unwrap().read_guard::<f32>().unwrap(), [4., 5., 6.]);
    let node = t.add(&t).unwrap();
    assert!(matches!(node.read_guard::<f32>(), Err(Error::InvalidArgument(_))));
    cpu().compute(&[&node]).unwrap();
    assert_eq!(node.read_guard::<f32>().unwrap()[5], 12.0);
    assert!(matches!(node.write_guard::<f32>(), Err(Error::InvalidArgument(_))));
    t.set_constant().unwrap();
    assert!(matches!(t.write_guard::<f32>(), Err(Error::InvalidArgument(_))));
    assert!(matches!(t.drop_original(), Err(Error::Unsupported(_))));
    assert_eq!(ctx.zeros(DType::F32, [0, 4]).unwrap().read_guard::<f32>().unwrap().len(), 0);
}

#[test]
fn a_callback_stops_or_panics_and_the_graph_goes_on() {
    let (backend, ctx) = (cpu(), Context::new());
    let x = ctx.tensor([2], &[1., 2.]).unwrap();
    // Two steps: the copy is not fused with the sum.
    let y = x.add(&x).unwrap().cont().unwrap();
    let graph = Graph::new(&[&y]).unwrap();
    let mut seen = Vec::new();
    graph
        .compute_with(&backend, |done, total| {
            seen.push((done, total));
            true
        })
        .unwrap();
    // A step that takes more than 10 ms is reported before it is done, too.
    seen.retain(|(done, _)| *done > 0);
    seen.dedup();
    assert_eq!(seen, [(1, 2), (2, 2)]);
    assert!(matches!(graph.compute_with(&backend, |_, _| false), Err(Error::Aborted(_))));
    assert!(matches!(y.to_vec::<f32>(), Err(Error::InvalidArgument(_))));
    let panic = catch_unwind(AssertUnwindSafe(|| graph.compute_with(&backend, |_, _| panic!("from the callback"))));
    assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "from the callback");
    graph.compute(&backend).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [2., 4.]);
}

#[test]
fn threads_share_weights_and_get_their_own_errors() {
    let weights = Context::new();
    let w = weights.tensor([64, 64], &[0.5; 64 * 64]).unwrap();
    let computed = AtomicUsize::new(0);
    thread::scope(|scope| {
        for t in 1..=4i64 {
            let (w, computed, weights) = (&w, &computed, &weights);
            scope.spawn(move || {
                let backend = cpu();
                for _ in 0..50 {
                    let ctx = Context::new();
                    let x = ctx.tensor([64, t], &vec![2.0; 64 * t as usize]).unwrap();
                    let y = w.mul_mat(&x).unwrap();
                    backend.compute(&[&y]).unwrap();
                    assert!(y.to_vec::<f32>().unwrap().iter().all(|&v| v == 64.0));
                    computed.fetch_add(1, Ordering::Relaxed);
                    // A failing constructor in the shared context: the message must be this thread's.
                    let Err(Error::ShapeMismatch(failure)) = weights.within(|| w.reshape([t, 3])) else {
                        panic!("no error")
                    };
                    assert!(failure.message.contains(&format!("[{t}, 3]")), "{}", failure.message);
                    assert_eq!((failure.op.as_str(), &failure.shapes), ("reshape", &vec![vec![64, 64]]));
                }
            });
        }
    });
    assert_eq!(computed.into_inner(), 200);
}

#[test]
fn bad_input_is_an_error_that_says_what_would_be_valid() {
    let ctx = Context::new();
    let t = ctx.tensor([2, 4], &[0.; 8]).unwrap();
    let words = |error: Error, words: &[&str]| {
        let text = error.to_string();
        assert!(words.iter().all(|w| text.contains(w)), "{words:?}: {text}");
    };
    words(
        t.mul_mat(&ctx.zeros(DType::F32, [7]).unwrap()).unwrap_err(),
        &["mul_mat", "[2, 4] f32", "[7] f32", "2 and 7"],
    );
    words(
        t.mul_mat_exact(&ctx.zeros(DType::F32, [7]).unwrap()).unwrap_err(),
        &["mul_mat", "[2, 4] f32", "[7] f32", "2 and 7"],
    );
    words(t.mul_mat_exact(&ctx.zeros(DType::I32, [2]).unwrap()).unwrap_err(), &["mul_mat", "i32", "f32, f16 or bf16"]);
    words(ctx.op("mul_mat", &[&t, &t], &[("exact", Attr::Ints(vec![-1]))]).unwrap_err(), &["exact is -1", "0 or 1"]);
    words(t.mul_mat_id(&t, &t).unwrap_err(), &["mul_mat_id", "ids is [2, 4] f32", "i32 or i64"]);
    let ids = ctx.tensor_of([3], &[0i32, 1, 0]).unwrap();
    words(t.mul_mat_id(&t, &ids).unwrap_err(), &["mul_mat_id", "divide", "4 and 3"]);
    words(
        ctx.op("mul_mat_id", &[&t, &t, &ids], &[("exact", Attr::Text("1".into()))]).unwrap_err(),
        &["mul_mat_id", "exact"],
    );
    words(ctx.tensor([2], &[1., 2., 3.]).unwrap_err(), &["3 values", "[2]", "2 are valid"]);
    words(ctx.zeros(DType::F32, [1, 1, 1, 1, 1]).unwrap_err(), &["n_dims is 5"]);
    words(ctx.zeros(DType::F32, [] as [i64; 0]).unwrap_err(), &["n_dims is 0"]);
    words(ctx.zeros(DType::F32, [i64::MAX, i64::MAX]).unwrap_err(), &["more bytes"]);
    words(ctx.zeros(DType::F32, [-3]).unwrap_err(), &["ne[0] is -3"]);
    words(t.get(&[0, 9]).unwrap_err(), &["index"]);
    words(t.get(&[0; 5]).unwrap_err(), &["index of 5"]);
    words(t.view([2, 2], &[8, 8], 0).unwrap_err(), &["view", "one less"]);
    words(ctx.op("add", &[Some(&t), None], &[]).unwrap_err(), &["add", "b is left out", "no operand that may be"]);
    words(ctx.op("nonsense\0", &[&t], &[]).unwrap_err(), &["no operation"]);
    words(Backend::new("cuda:9").unwrap_err(), &["cuda:9", "cpu"]);
    words(Backend::new("c\0pu").unwrap_err(), &["no device"]);
    words(BackendOptions::new().threads(usize::MAX).open("cpu").unwrap_err(), &["n_threads", "1024"]);
    words("f99".parse::<DType>().unwrap_err(), &["f99", "nearest", "f32"]);
    words(Graph::new(&[]).unwrap_err(), &["output"]);
    words(
        ContextOptions::new().mem_limit(100).build().unwrap().zeros(DType::F32, [64]).unwrap_err(),
        &["limit", "100"],
    );
    words(ContextOptions::new().buffer(Box::leak(Box::new([]))).build().unwrap_err(), &["mem_buffer"]);
}

#[test]
fn borrowed_memory_and_contexts_without_data() {
    let buffer = vec![7u8; 1 << 16].leak();
    let ctx = ContextOptions::new().buffer(buffer).build().unwrap();
    let t = ctx.zeros(DType::F32, [100]).unwrap();
    assert!(t.to_vec::<f32>().unwrap().iter().all(|&x| x == 0.0));
    let ctx = ContextOptions::new().no_alloc().build().unwrap();
    let t = ctx.zeros(DType::I32, [3]).unwrap();
    assert!(matches!(t.write(&[1i32, 2, 3]), Err(Error::InvalidArgument(_))));
    ctx.allocate().unwrap();
    t.write(&[1i32, 2, 3]).unwrap();
    assert_eq!(t.to_f32_vec().unwrap(), [1., 2., 3.]);
}

#[test]
fn every_element_type_goes_in_and_comes_out() {
    fn check<T: tensorlib::Element + PartialEq>(values: &[T]) {
        let ctx = Context::new();
        let t = ctx.tensor_of([values.len() as i64], values).unwrap();
        assert_eq!(t.dtype(), T::DTYPE);
        assert_eq!(t.to_vec::<T>().unwrap(), values);
        assert_eq!(t.with_slice(|s: &[T]| s.to_vec()).unwrap(), values);
    }
    check(&[1.5f32, f32::MIN_POSITIVE, -0.0]);
    check(&[1.5f64, f64::MAX]);
    check(&[1i8, -128]);
    check(&[1i16, -32768]);
    check(&[1i32, i32::MIN]);
    check(&[1i64, i64::MIN]);
    check(&[1u8, 0, 255]);
    check(&[true, false, true]);
    #[cfg(feature = "half")]
    {
        check(&[tensorlib::f16::from_f32(1.5), tensorlib::f16::MAX]);
        check(&[tensorlib::bf16::from_f32(1.5), tensorlib::bf16::MAX]);
    }
}

#[test]
fn display_elides_and_says_what_cannot_be_read() {
    let ctx = Context::new();
    let t = ctx.tensor([2, 2], &[1., 2., 3., 4.5]).unwrap();
    assert_eq!(t.to_string(), "[2, 2] f32\n       1.0000      2.0000\n       3.0000      4.5000");
    assert!(t.add(&t).unwrap().to_string().contains("not computed"));
    let wide = ctx.zeros(DType::F32, [100, 100, 20]).unwrap().to_string();
    assert!(wide.contains("...") && wide.lines().count() < 100);
    assert_eq!(ctx.zeros(DType::F32, [0]).unwrap().to_string(), "[0] f32 (no elements)");
    // More digits than F32 has.
    let large = ctx.tensor_of([2, 2], &[123_456_789i64, -1, i64::MIN, 0]).unwrap();
    assert_eq!(large.to_string(), "[2, 2] i64\n    123456789          -1\n  -9223372036854775808           0");
    let turned = large.transpose().unwrap();
    assert_eq!(turned.to_string(), "[2, 2] i64\n    123456789 -9223372036854775808\n           -1           0");
    let double = ctx.tensor_of([1], &[0.123_456_789_012f64]).unwrap();
    assert_eq!(format!("{double:.12}"), "[1] f64\n       0.123456789012");
}

#[test]
fn plans_and_dot_describe_the_graph() {
    let (backend, ctx) = (cpu(), Context::new());
    let x = ctx.tensor([2], &[1., 2.]).unwrap();
    x.set_name("input").unwrap();
    let graph = Graph::new(&[&x.add(&x).unwrap()]).unwrap();
    assert!(graph.dot().contains("'input'"));
    assert!(graph.plan_text(&backend).unwrap().contains("tiles_flat"));
    assert_eq!((graph.n_nodes(), graph.n_leafs()), (1, 1));
}

#[test]
fn constants_are_packed_once_and_go_with_their_context() {
    let backend = cpu();
    let (model, token) = (Context::new(), Context::new());
    let weights = model.zeros(DType::Q4_0, [64, 40]).unwrap();
    weights.write_f32(&vec![0.5; 64 * 40]).unwrap();
    weights.set_constant().unwrap();
    let y = weights.mul_mat(&token.tensor([64], &[1.0; 64]).unwrap()).unwrap();
    backend.compute(&[&y]).unwrap();
    let packed = backend.packed_memory();
    assert_eq!(packed != 0, backend.isa() != "baseline");
    backend.compute(&[&y]).unwrap();
    assert_eq!(backend.packed_memory(), packed);
    assert!(y.to_vec::<f32>().unwrap().iter().all(|v| (v - 32.0).abs() < 0.5));
    drop((y, token, weights, model));
    assert_eq!(backend.packed_memory(), 0);
}

#[test]
fn a_constant_without_its_original_reads_as_before() {
    let (backend, ctx) = (cpu(), Context::new());
    let weights = ctx.zeros(DType::Q4_K, [256, 40]).unwrap();
    weights.write_f32(&(0..256 * 40).map(|i| (i % 37) as f32 - 18.0).collect::<Vec<_>>()).unwrap();
    let bytes = || {
        let mut all = vec![0; weights.nbytes()];
        weights.read_bytes(0, &mut all).unwrap();
        all
    };
    let before = bytes();
    weights.set_constant().unwrap();
    let y = ctx.within(|| weights.mul_mat(&ctx.tensor([256], &[1.0; 256])?)).unwrap();
    backend.compute(&[&y]).unwrap();
    let product = y.to_vec::<f32>().unwrap();
    if backend.isa() == "baseline" {
        assert!(matches!(weights.drop_original(), Err(Error::Unsupported(_))));
        return;
    }
    weights.drop_original().unwrap();
    weights.drop_original().unwrap();
    assert_eq!(backend.packed_memory(), 0);
    assert_eq!(bytes(), before);
    backend.compute(&[&y]).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), product);
    drop(backend);
    assert_eq!(bytes(), before);
}

/// Allocating `n_elements()` values would end the process.
#[test]
fn what_cannot_be_read_takes_no_memory() {
    let shapes = ContextOptions::new().no_alloc().build().unwrap();
    let absent = shapes.zeros(DType::F32, [1 << 50]).unwrap();
    assert!(matches!(absent.to_vec::<f32>(), Err(Error::InvalidArgument(e)) if e.message.contains("no data")));
    assert!(matches!(absent.to_f32_vec(), Err(Error::InvalidArgument(_))));
    assert!(absent.to_string().contains("no data"));
    let ctx = Context::new();
    let one = ctx.tensor([1], &[1.5]).unwrap();
    for n in [1 << 50, 1 << 60] {
        let repeated = one.view([1, n], &[0], 0).unwrap();
        assert!(matches!(repeated.to_vec::<f32>(), Err(Error::OutOfMemory(e)) if e.message.contains("no memory")));
        assert!(matches!(repeated.to_f32_vec(), Err(Error::OutOfMemory(_))));
        // Only the printed elements are read.
        let text = repeated.to_string();
        assert_eq!(text.matches("1.5000").count(), 8, "{text}");
    }
    assert_eq!(one.view([1, 3], &[0], 0).unwrap().to_vec::<f32>().unwrap(), [1.5; 3]);
}

#[test]
fn targets_that_overlap_themselves_are_refused() {
    let ctx = Context::new();
    let memory = ctx.zeros(DType::F32, [64]).unwrap();
    let values = ctx.zeros(DType::F32, [64, 4]).unwrap();
    let target = memory.view([64, 4], &[0], 0).unwrap();
    assert!(matches!(values.cpy(&target), Err(Error::InvalidArgument(e)) if e.message.contains("overlap in memory")));
}

#[test]
fn a_frozen_context_says_where_to_build() {
    let weights = Context::new();
    weights.set_name("weights").unwrap();
    assert_eq!(weights.name(), "weights");
    assert!(format!("{weights:?}").contains("'weights'"));
    let (w, b) = (weights.tensor([2], &[1., 2.]).unwrap(), weights.tensor([2], &[3., 4.]).unwrap());
    weights.freeze();
    let used = weights.used_memory();
    let refused = w.add(&b).unwrap_err().to_string();
    assert!(refused.contains("'weights' was frozen") && refused.contains("another context"), "{refused}");
    assert!(matches!(weights.zeros(DType::F32, [1]), Err(Error::InvalidArgument(_))));
    assert_eq!(weights.used_memory(), used);
    let (cpu, sums) = (cpu(), Context::new());
    let sum = sums.within(|| w.add(&b)).unwrap();
    cpu.compute(&[&sum]).unwrap();
    assert_eq!(sum.to_vec::<f32>().unwrap(), [4., 6.]);
}

#[test]
fn names_are_copied_whoever_sets_them_meanwhile() {
    let ctx = Context::new();
    let t = ctx.zeros(DType::F32, [1]).unwrap();
    thread::scope(|scope| {
        let setter = scope.spawn(|| (0..2000).for_each(|i| t.set_name(&"n".repeat(1 + i % 40)).unwrap()));
        while !setter.is_finished() {
            assert!(t.name().bytes().all(|b| b == b'n'));
        }
    });
    t.set_name("").unwrap();
    assert_eq!(t.name(), "");
}

#[test]
fn slices_count_in_elements() {
    let ctx = Context::new();
    let t = ctx.tensor([3, 2], &[1., 2., 3., 4., 5., 6.]).unwrap();
    assert_eq!(t.slice([1, 1], [2, 1]).unwrap().to_vec::<f32>().unwrap(), [5., 6.]);
    assert_eq!(t.transpose().unwrap().narrow(1, 1, 1).unwrap().to_vec::<f32>().unwrap(), [2., 5.]);
    assert_eq!(t.reshape([2, -1]).unwrap().shape(), [2, 3]);
    assert!(matches!(t.slice([1], [2, 1]), Err(Error::InvalidArgument(_))));
    assert!(matches!(t.narrow(usize::MAX, 0, 1), Err(Error::InvalidArgument(_))));
    assert!(matches!(t.narrow(0, 2, 2), Err(Error::InvalidArgument(e)) if e.message.contains("0 to 3")));
}

#[test]
fn calls_wait_as_long_as_their_context_says() {
    let (backend, ctx) = (cpu(), Context::new());
    assert_eq!(ctx.busy_timeout(), Duration::ZERO);
    let x = ctx.tensor([2], &[1., 2.]).unwrap();
    let y = x.add(&x).unwrap();
    let graph = Graph::new(&[&y]).unwrap();
    ctx.set_busy_timeout(Duration::from_millis(20));
    let waits_in_vain = |r: tensorlib::Result<()>| match r {
        Err(Error::Busy(f)) => assert!(f.message.contains("for longer than the busy timeout of 20"), "{}", f.message),
        other => panic!("{other:?}"),
    };
    let guard = x.read_guard::<f32>().unwrap();
    waits_in_vain(x.write(&[3f32, 4.]));
    waits_in_vain(graph.compute(&backend));
    drop(guard);
    // Two threads wait for each other's runs, and for a mapping to end.
    ctx.set_busy_timeout(Duration::from_secs(60));
    assert_eq!(ctx.busy_timeout(), Duration::from_secs(60));
    let guard = x.write_guard::<f32>().unwrap();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let (graph, backend, y) = (&graph, &backend, &y);
                scope.spawn(move || {
                    for _ in 0..200 {
                        if i % 2 == 0 {
                            graph.compute(backend).unwrap();
                        } else {
                            graph.compute_with(backend, |_, _| true).unwrap();
                        }
                        assert_eq!(y.to_vec::<f32>().unwrap(), [2., 4.]);
                    }
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(20));
        drop(guard);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    // Calls in a callback do not wait, because they would wait for themselves.
    let busy = |r: tensorlib::Result<()>| assert!(matches!(r, Err(Error::Busy(_))), "{r:?}");
    graph
        .compute_with(&backend, |_, _| {
            busy(graph.compute(&backend));
            busy(x.to_vec::<f32>().map(drop));
            true
        })
        .unwrap();
    ctx.set_busy_timeout(Duration::MAX); // no call waits for free data
    graph.compute(&backend).unwrap();
}

/// A tensor that C names gets the existing handle of its context, so that a reset knows about it, or a new one if the
/// last was dropped.
#[test]
fn handles_that_are_found_count_for_reset() {
    let mut weights = Context::new();
    let mut request = Context::new();
    let found = {
        let w = weights.tensor([2], &[1., 2.]).unwrap();
        w.set_name("w").unwrap();
        let x = request.tensor([2], &[3., 4.]).unwrap();
        let y = w.add(&x).unwrap();
        y.sources()[0].clone().unwrap()
    };
    assert_eq!((found.context().id(), found.name()), (weights.id(), "w".to_string()));
    request.reset().unwrap();
    assert!(matches!(weights.reset(), Err(Error::Busy(_))));
    drop(found);
    assert_eq!(weights.tensors().len(), 1);
    assert!(weights.find("w").is_some() && weights.find("x").is_none() && weights.find("").is_none());
    assert!(weights.find("w\0").is_none());
    weights.reset().unwrap();
    assert!(weights.tensors().is_empty());

    // The only handle of the weights' context is one that was looked up.
    let graph = {
        let weights = Context::new();
        let w = weights.tensor([2], &[1., 2.]).unwrap();
        let x = request.tensor([2], &[3., 4.]).unwrap();
        Graph::new(&[&request.within(|| w.add(&x)).unwrap()]).unwrap()
    };
    let leafs = graph.leafs();
    assert_eq!(leafs.iter().map(|t| t.to_vec::<f32>().unwrap()).collect::<Vec<_>>(), [[1., 2.], [3., 4.]]);
    drop(graph);
    assert!(matches!(request.reset(), Err(Error::Busy(_))));
    let w = leafs[0].clone();
    drop(leafs);
    request.reset().unwrap();
    assert_eq!(w.add(&w).unwrap().context().id(), w.context().id());
    assert_eq!(w.context().tensors().len(), 2);

    // Several threads create and drop handles while one looks them up.
    let ctx = Context::new();
    let y = ctx.tensor([1], &[1.]).unwrap().sqr().unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..1000).for_each(|_| drop(y.sources()[0].clone().unwrap().context().tensors())));
        }
    });
}

#[test]
fn an_observer_sees_each_result() {
    let (backend, ctx) = (cpu(), Context::new());
    let x = ctx.tensor([2], &[1., -2.]).unwrap();
    let (a, y) = (x.sqr().unwrap(), x.sqr().unwrap().log().unwrap().sum(..).unwrap());
    let graph = Graph::new(&[&y, &a]).unwrap();
    let mut seen = Vec::new();
    graph
        .compute_observed(&backend, |node, done, total| {
            assert!(done >= 1 && done <= total);
            seen.push((node.op(), node.to_vec::<f32>().unwrap()));
            assert!(matches!(x.to_vec::<f32>(), Err(Error::Busy(_))));
            assert!(matches!(node.read_guard::<f32>(), Err(Error::Busy(_))));
            true
        })
        .unwrap();
    assert_eq!(seen.len(), graph.n_nodes());
    assert_eq!(seen[0], ("sqr".to_string(), vec![1., 4.]));
    assert_eq!(graph.nodes().iter().map(|t| t.op()).collect::<Vec<_>>(), ["sqr", "log", "sum", "sqr"]);
    assert_eq!(graph.outputs()[1].op(), "sqr");
    let stopped = graph.compute_observed(&backend, |node, _, _| node.op() != "log");
    assert!(matches!(stopped, Err(Error::Aborted(_))));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = graph.compute_observed(&backend, |_, _, _| panic!("no"));
    }));
    assert!(panicked.is_err());
    graph.compute(&backend).unwrap();
}

#[test]
fn long_messages_are_whole() {
    let path = format!("/{}/no such file", "x".repeat(900));
    let error = tensorlib::Gguf::open(&path).map(drop).unwrap_err();
    assert!(error.to_string().contains(&path), "{error}");
}
