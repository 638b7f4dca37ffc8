//! The importance of columns, compared with the squares of what a pass in double precision multiplies.

use crate::common::architectures::all;
use crate::common::{backend, Folder};
use std::collections::BTreeSet;
use tensorlib::{DType, Gguf};
use tensorlib_models::{Decoder, DecoderOptions, Importance};

const WINDOW: usize = 12;

fn tokens() -> Vec<u32> {
    (0..WINDOW as u32 * 2 + 5).map(|i| (i * i * 7 + 3) % 61).collect()
}

/// Opens the GGUF file of a model.
fn opened(
    folder: &Folder,
    model: &crate::common::architectures::Model,
    seed: u64,
) -> (Decoder, crate::common::tiny::Tensors) {
    let tensors = model.spec.tensors(seed, DType::F32);
    let path = folder.path("model.gguf");
    tensors.write_gguf(&path, &model.metadata());
    (Decoder::open(&path, &backend(), &DecoderOptions::new().exact(true)).unwrap(), tensors)
}

#[test]
fn squares_are_those_of_double_precision() {
    let mut compared = 0;
    for (i, model) in all().iter().enumerate().filter(|(_, model)| model.gguf.is_some()) {
        let folder = Folder::new(&format!("importance-{i}"));
        let (decoder, tensors) = opened(&folder, model, i as u64);
        let found = Importance::measure(&decoder, &tokens(), WINDOW, |_, _| true)
            .unwrap_or_else(|e| panic!("{}: {e}", model.name));
        assert_eq!(found.windows(), 2);
        model.spec.inputs.borrow_mut().clear();
        for part in tokens().chunks_exact(WINDOW) {
            let mut part = part.to_vec();
            if let Some(bos) = decoder.tokenizer().begins() {
                part[0] = bos;
            }
            model.spec.logits(&tensors, &part);
        }
        let inputs = model.spec.inputs.borrow();
        // Latent attention multiplies parts of this matrix, whose inputs are not those of its columns.
        let in_layers = |name: &str| name.starts_with("blk.") && !name.contains(".attn_kv_b.");
        let names: BTreeSet<&str> =
            inputs.keys().map(|(name, _)| name.as_str()).filter(|name| in_layers(name)).collect();
        assert_eq!(found.names().collect::<BTreeSet<_>>(), names, "{}", model.name);
        for ((name, expert), (want, n)) in inputs.iter().filter(|((name, _), _)| in_layers(name)) {
            let (squares, counts) = found.get(name).unwrap();
            assert_eq!(counts[*expert], *n, "{} {name} {expert}", model.name);
            let row = &squares[expert * want.len()..(expert + 1) * want.len()];
            let largest = want.iter().copied().fold(0.0, f64::max);
            for (got, want) in row.iter().zip(want) {
                assert!((got - want).abs() <= 1e-4 * largest, "{} {name}: {got} {want}", model.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn files_are_those_of_other_tools() {
    let folder = Folder::new("importance-file");
    let model = all().into_iter().find(|model| model.name == "qwen3moe").unwrap();
    let (decoder, _) = opened(&folder, &model, 3);
    let found = Importance::measure(&decoder, &tokens(), WINDOW, |_, _| true).unwrap();
    let path = folder.path("imatrix.gguf");
    found.write(&path, "a text").unwrap();
    let file = Gguf::open(&path).unwrap();
    assert_eq!(file.string("general.type").unwrap(), "imatrix");
    assert_eq!((file.u64("imatrix.chunk_count").unwrap(), file.u64("imatrix.chunk_size").unwrap()), (2, 12));
    let name = "blk.0.ffn_down_exps.weight";
    let (squares, counts) = found.get(name).unwrap();
    let values = |ending: &str| {
        let info = file.tensor_info(&format!("{name}.{ending}")).unwrap();
        (info.shape, DType::F32.dequantize(info.data).unwrap())
    };
    let rows = counts.len() as i64;
    let as_f32: Vec<f32> = squares.iter().map(|x| *x as f32).collect();
    assert_eq!(values("in_sum2"), (vec![squares.len() as i64 / rows, rows], as_f32));
    assert_eq!(values("counts"), (vec![1, rows], counts.iter().map(|n| *n as f32).collect()));
    assert_eq!(file.tensors().count(), 2 * found.names().count());
}

#[test]
fn bad_arguments_and_stops_are_errors() {
    let folder = Folder::new("importance-bad");
    let model = all().into_iter().find(|model| model.name == "llama").unwrap();
    let (decoder, _) = opened(&folder, &model, 3);
    let measure = |n: usize, window: usize, most: usize| {
        let found = Importance::measure(&decoder, &tokens()[..n], window, |done, _| done < most);
        found.unwrap_err().to_string()
    };
    assert!(measure(5, 6, 9).contains("a text of 5 tokens"));
    assert!(measure(5, 0, 9).contains("windows of 0 tokens"));
    assert!(measure(5, 1 << 20, 9).contains("windows of 1048576 tokens"));
    assert!(measure(12, 6, 1).contains("stopped after 1 of 2 windows"));
}
