//! Agreement with the field's reference implementation on its own inputs and outputs (ops.json and ops.safetensors in
//! `../shared/vectors` next to the checkout). Cases of operations that do not exist here yet count as skipped; without
//! the folder the whole test is skipped.

use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use tensorlib::{op_names, Attr, Backend, Context, DType, Tensor};

struct Vectors {
    cases: Vec<Value>,
    header: HashMap<String, Value>,
    data: Vec<u8>,
}

fn load() -> Option<Vectors> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let cases = std::fs::read(folder.join("ops.json")).ok()?;
    let file = std::fs::read(folder.join("ops.safetensors")).ok()?;
    // The format of safetensors: the header's length in 8 bytes, the header as JSON, the data.
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    Some(Vectors {
        cases: serde_json::from_slice(&cases).unwrap(),
        header: serde_json::from_slice(&file[8..8 + length]).unwrap(),
        data: file[8 + length..].to_vec(),
    })
}

impl Vectors {
    fn bytes(&self, name: &str) -> &[u8] {
        let offsets = &self.header[name]["data_offsets"];
        &self.data[offsets[0].as_u64().unwrap() as usize..offsets[1].as_u64().unwrap() as usize]
    }
}

fn shape(operand: &Value) -> Vec<i64> {
    operand["ne"].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect()
}

/// A leaf with these bytes.
fn leaf(ctx: &Context, operand: &Value, bytes: &[u8]) -> Tensor {
    let dtype: DType = operand["type"].as_str().unwrap().parse().unwrap();
    let tensor = ctx.zeros(dtype, shape(operand)).unwrap();
    tensor.write_bytes(0, bytes).unwrap();
    tensor
}

/// The sum of squared differences over the sum of squared reference values. Infinities must be equal.
fn nmse(got: &[f32], want: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let different = got.iter().zip(want).filter(|(g, w)| g != w);
    let error: f64 = different.map(|(&g, &w)| square(f64::from(g) - f64::from(w))).sum();
    let size = want.iter().filter(|w| w.is_finite()).map(|&w| square(f64::from(w))).sum::<f64>();
    error / size.max(f64::MIN_POSITIVE)
}

/// A parameter of a case as an attribute of the operation; None for its remarks.
fn attr(op: &str, name: &str, value: &Value) -> Option<Attr> {
    // Cases of optimiser steps also describe their settings.
    let of_settings = op.starts_with("opt_step_") && ["order", "t"].contains(&name);
    if of_settings || ["note", "freq_factors", "src0_permute"].contains(&name) {
        return None;
    }
    Some(match value {
        Value::String(text) => Attr::Text(text.clone()),
        Value::Bool(truth) => Attr::Ints(vec![i64::from(*truth)]),
        Value::Array(values) => Attr::Ints(values.iter().map(|v| v.as_i64().unwrap()).collect()),
        // A whole number stands for an integer.
        number => Attr::Number(number.as_f64().unwrap()),
    })
}

/// The reference's result and ours; None if the operation does not exist here yet.
fn run(vectors: &Vectors, case: &Value, backend: &Backend) -> Option<(Vec<f32>, Vec<f32>)> {
    let (id, op) = (case["id"].as_str().unwrap(), case["op"].as_str().unwrap());
    if !op_names().iter().any(|name| name == op) {
        return None;
    }
    let ctx = Context::new();
    let mut sources = Vec::new();
    for (i, operand) in case["src"].as_array().unwrap().iter().enumerate() {
        sources.push(leaf(&ctx, operand, vectors.bytes(&format!("{id}/src{i}"))));
    }
    let expected = leaf(&ctx, &case["dst"], vectors.bytes(&format!("{id}/dst")));
    let params = &case["params"];
    if let Some(axes) = params["src0_permute"].as_array() {
        let axes: Vec<i32> = axes.iter().map(|a| a.as_i64().unwrap() as i32).collect();
        sources[0] = sources[0].permute(axes.try_into().unwrap()).unwrap();
    }
    let mut attrs: Vec<(&str, Attr)> =
        params.as_object().unwrap().iter().filter_map(|(k, v)| Some((&**k, attr(op, k, v)?))).collect();
    // The reference's are over rows.
    if ["mean", "argmax"].contains(&op) {
        attrs.extend([("dims", Attr::Ints(vec![0])), ("keep", Attr::Ints(vec![i64::from(op == "mean")]))]);
    }
    let result = ctx.op(op, &sources.iter().collect::<Vec<_>>(), &attrs).unwrap();
    let trimmed = |mut s: Vec<i64>| {
        while s.len() > 1 && s.last() == Some(&1) {
            s.pop();
        }
        s
    };
    assert_eq!(result.dtype(), expected.dtype(), "{id}");
    // The reference puts the states of recurrent layers after the outputs, as more rows.
    let states = result.result(1).ok();
    match &states {
        Some(states) => backend.compute(&[&result, states]).unwrap(),
        None => {
            assert_eq!(trimmed(result.shape()), trimmed(expected.shape()), "{id}");
            backend.compute(&[&result]).unwrap();
        }
    }
    let (mut got, mut want) = (result.to_f32_vec().unwrap(), expected.to_f32_vec().unwrap());
    got.extend(states.iter().flat_map(|states| states.to_f32_vec().unwrap()));
    assert_eq!(got.len(), want.len(), "{id}");
    if op == "top_k" {
        // Only the set of values counts, not its order.
        for values in [&mut got, &mut want] {
            values.chunks_mut(expected.shape()[0] as usize).for_each(|row| row.sort_by(f32::total_cmp));
        }
    }
    Some((got, want))
}

#[test]
fn agrees_with_the_reference_implementation() {
    let Some(vectors) = load() else {
        println!("skipped: ../shared/vectors is not there");
        return;
    };
    let backend = Backend::cpu().unwrap();
    let (mut ran, mut skipped) = (0, 0);
    for case in &vectors.cases {
        let id = case["id"].as_str().unwrap();
        let Some((got, want)) = run(&vectors, case, &backend) else {
            skipped += 1;
            continue;
        };
        // The limits of the vectors' README: copies exact, F32 arithmetic 1e-7, products and half-precision operands
        // 5e-4, as the reference rounds activations to 8 bits. So do we, for 32 to 256 elements at a time: largest /
        // 127 / sqrt(12) is 0.7 % of normal values whose largest is 3 deviations, 5e-5 when squared. Encoders may
        // choose different codes of a quantised type: the result only has to be close to the reference.
        let limit = match case["op"].as_str().unwrap() {
            "cast" if case["dst"]["type"] == "q8_0" => 5e-4,
            "cast" | "get_rows" => 0.0,
            "mul_mat" | "mul_mat_id" | "im2col" | "flash_attn_ext" => 5e-4,
            op if op.contains("conv") => 5e-4,
            // The reference uses a table of F16.
            "gelu" | "gelu_quick" => 1e-6,
            "glu" if id.contains("geglu") => 1e-6,
            _ => 1e-7,
        };
        let error = nmse(&got, &want);
        assert!(error <= limit, "{id}: normalised mean square error {error:e}, at most {limit:e} is right");
        ran += 1;
    }
    println!("vectors: {ran} ran, {skipped} skipped: their operation does not exist here yet");
    assert!(ran >= 145);
}
