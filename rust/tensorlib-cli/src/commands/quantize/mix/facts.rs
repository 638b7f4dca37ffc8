//! The rules, compared with llama.cpp's own choice.
//!
//! `facts.txt` is what `llama_tensor_get_type_impl` and `tensor_type_fallback` of llama.cpp chose when they were run
//! outside of this repository: a line for each shape of a model and each mix, `weighted` where weights of columns change
//! something. Roles whose tensors all have the mix's main type are left out; others have runs of layers, `TYPE*N`.

use super::tensor::{is_mixed, order, Role};
use super::{fallback, Chooser, Mix, Model};
use std::collections::HashMap;

const FACTS: &str = include_str!("facts.txt");

/// The shapes: name, layers, heads a key head, experts, whether tied, whether it has about 70 billion weights, whether
/// queries, keys and values are one matrix, and the rows of the model and of its feed-forward blocks.
type Shape = (&'static str, usize, u64, u64, bool, bool, bool, usize, usize);
const SHAPES: [Shape; 8] = [
    ("gqa", 20, 4, 0, false, false, false, 2048, 5632),
    ("tied", 12, 1, 0, true, false, false, 768, 2048),
    ("experts", 32, 4, 8, false, false, false, 4096, 14336),
    ("many-experts", 16, 8, 64, true, false, false, 2048, 768),
    ("70b", 80, 8, 0, false, true, false, 8192, 28672),
    ("fused", 24, 1, 0, false, false, true, 3072, 8192),
    ("odd", 8, 2, 0, false, false, false, 896, 4864),
    ("odder", 6, 3, 0, true, false, false, 72, 100),
];

/// The tensors of a shape, with the lengths of their rows, in no order that rules could rely on.
fn tensors(shape: &Shape) -> Vec<(String, usize)> {
    let (_, layers, _, experts, tied, _, fused, width, ffn) = *shape;
    let ending = if experts > 0 { "_exps" } else { "" };
    let mut all = vec![("token_embd.weight".to_string(), width)];
    if !tied {
        all.push(("output.weight".into(), width));
    }
    for layer in (0..layers).rev() {
        let attention: &[&str] = if fused { &["attn_qkv"] } else { &["attn_v", "attn_q", "attn_k"] };
        let mut roles: Vec<(String, usize)> = attention.iter().map(|role| (role.to_string(), width)).collect();
        roles.push(("attn_output".into(), width));
        roles.push((format!("ffn_up{ending}"), width));
        roles.push((format!("ffn_down{ending}"), ffn));
        if !fused {
            roles.push((format!("ffn_gate{ending}"), width));
        }
        all.extend(roles.into_iter().map(|(role, row)| (format!("blk.{layer}.{role}.weight"), row)));
    }
    all
}

/// `TYPE*N` for each role whose tensors are not all of the main type.
fn chosen(shape: &Shape, mix: Mix, weighted: bool) -> HashMap<String, String> {
    let mut tensors = tensors(shape);
    assert!(tensors.iter().all(|(name, _)| is_mixed(name)));
    tensors.sort_by(|a, b| order(&a.0).cmp(&order(&b.0)));
    let (_, layers, sharing, experts, is_tied, is_70b, ..) = *shape;
    let values = tensors.iter().filter(|(name, _)| Role::of(name) == Role::Value).count();
    let model = Model { layers, sharing, experts, is_70b, is_tied, values };
    let mut chooser = Chooser::new(mix, &model, weighted);
    let mut runs: HashMap<String, Vec<(String, usize)>> = HashMap::new();
    for (name, row) in tensors {
        let dtype = fallback(chooser.next(&name, row), row).name().to_uppercase();
        let role = name.trim_end_matches(".weight").rsplit('.').next().unwrap().to_string();
        let runs = runs.entry(role).or_default();
        match runs.last_mut().filter(|run| run.0 == dtype) {
            Some(run) => run.1 += 1,
            None => runs.push((dtype, 1)),
        }
    }
    let usual = mix.dtype().name().to_uppercase();
    runs.retain(|_, runs| runs.len() > 1 || runs[0].0 != usual);
    let text = |runs: Vec<(String, usize)>| runs.iter().map(|(t, n)| format!("{t}*{n}")).collect::<Vec<_>>().join(",");
    runs.into_iter().map(|(role, runs)| (role, text(runs))).collect()
}

#[test]
fn types_are_those_of_the_reference() {
    let facts: HashMap<String, HashMap<String, String>> = FACTS
        .lines()
        .map(|line| {
            let (head, cells): (Vec<&str>, Vec<&str>) = line.split(' ').partition(|word| !word.contains('='));
            let cells = cells.into_iter().filter_map(|cell| cell.split_once('='));
            (head.join(" "), cells.map(|(role, runs)| (role.to_string(), runs.to_string())).collect())
        })
        .collect();
    let mut compared = 0;
    for shape in &SHAPES {
        for name in Mix::names().filter(|name| !["F32", "F16", "BF16"].contains(name)) {
            let plain = format!("{} {name}", shape.0);
            for (head, weighted) in [(plain.clone(), false), (format!("{plain} weighted"), true)] {
                let want = facts.get(&head).unwrap_or(&facts[&plain]);
                assert_eq!(&chosen(shape, name.parse().unwrap(), weighted), want, "{head}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, SHAPES.len() * 29 * 2);
}
