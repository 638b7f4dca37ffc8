//! The share of products in a model's time, from the engine's own timeline (`TENSORLIB_TRACE`).

use crate::args::Bench;
use crate::failure::{Exit, Failure, Outcome};
use crate::model;
use crate::model::neurons::LoadOptions;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// The environment variable with the timeline's file name.
const VARIABLE: &str = "TENSORLIB_TRACE";
/// The number of tokens generated for the timeline.
const TOKENS: usize = 8;

/// Shares of the time of graphs; `None` for a phase that was not run.
#[derive(Debug, Default, PartialEq)]
pub struct Shares {
    /// The share in the prompt.
    pub prompt: Option<f64>,
    /// The share in generating tokens one by one.
    pub generation: Option<f64>,
}

/// A temporary file, removed at the end.
struct Timeline(PathBuf);

impl Drop for Timeline {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // the system cleans its temporary folder anyway
    }
}

/// Runs a prompt and some tokens once more, with a timeline. Products include the operations fused into them.
pub fn measure(options: &Bench, model: &Path, load: &LoadOptions) -> Outcome<Shares> {
    let name = format!("tensorlib-bench-{}.json", std::process::id());
    let timeline = Timeline(std::env::temp_dir().join(name));
    let before = std::env::var_os(VARIABLE);
    std::env::set_var(VARIABLE, &timeline.0);
    let backend = model::backend(&options.devices);
    match before {
        Some(before) => std::env::set_var(VARIABLE, before),
        None => std::env::remove_var(VARIABLE),
    }
    let backend = backend?;
    let decoder = model::decoder_again(&options.devices, &backend, model, load, options.cache)?;
    let mut session = decoder.session(options.cache)?;
    let (prompt, depth) = (options.prompt as usize, options.depth as usize);
    // The number of graphs for a longer prompt is unknown here; a prompt that fits one graph is enough.
    let prompt = prompt.min(512);
    let mut groups = Vec::new();
    for _ in 0..2 * usize::from(prompt > 0) {
        session.rewind(0);
        session.feed(&model::some_tokens(&decoder, prompt))?;
        groups.push(Group::Prompt);
    }
    session.rewind(0);
    for part in model::some_tokens(&decoder, depth).chunks(512) {
        session.feed(part)?;
        groups.push(Group::Other);
    }
    let n = TOKENS.min(options.tokens as usize);
    for token in model::some_tokens(&decoder, n) {
        session.feed(&[token])?;
        groups.push(Group::Generation);
    }
    drop(session);
    drop(decoder);
    drop(backend); // writes the rest of the timeline
    let text = std::fs::read_to_string(&timeline.0).map_err(|e| Failure::io(&timeline.0, "read", &e))?;
    shares(&text, &groups).ok_or_else(|| {
        Failure::new(Exit::Internal, "bench: the timeline is not what was run").hint("please report this")
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Group {
    Prompt,
    Generation,
    Other,
}

/// Computes shares from a timeline's lines: a graph's line follows its steps, and each of `groups` has one graph. The
/// first of a group makes plans and copies, and does not count.
fn shares(text: &str, groups: &[Group]) -> Option<Shares> {
    let (mut products, mut graphs) = (0.0, Vec::new());
    let events = text.lines().filter_map(|line| serde_json::from_str::<Json>(line.trim_end_matches(',')).ok());
    for event in events.filter(|event| event["tid"] == 0) {
        let (name, took) = (event["name"].as_str().unwrap_or(""), event["dur"].as_f64().unwrap_or(0.0));
        if name == "graph" {
            graphs.push((std::mem::take(&mut products), took));
        } else if name.starts_with("mul_mat") && event["args"]["kernel"].is_string() {
            products += took;
        }
    }
    if graphs.len() != groups.len() {
        return None;
    }
    let of = |group: Group| {
        let all = graphs.iter().zip(groups).filter(|(_, g)| **g == group).skip(1);
        let (products, whole) = all.fold((0.0, 0.0), |sum, ((p, w), _)| (sum.0 + p, sum.1 + w));
        (whole > 0.0).then(|| products / whole)
    };
    Some(Shares { prompt: of(Group::Prompt), generation: of(Group::Generation) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_timeline() {
        let step = |name: &str, dur: f64| {
            format!(r#"{{"ph":"X","tid":0,"dur":{dur},"name":"{name}","args":{{"kernel":"k"}}}},"#)
        };
        let graph = |dur: f64| format!(r#"{{"ph":"X","tid":0,"dur":{dur},"name":"graph","args":{{}}}},"#);
        let lines = [
            "[".into(),
            step("mul_mat", 9.0),
            graph(10.0),
            step("mul_mat", 3.0),
            step("add", 2.0),
            step("mul_mat_id", 3.0),
            graph(8.0),
            graph(1.0),
        ];
        let groups = [Group::Prompt, Group::Prompt, Group::Generation];
        let found = shares(&lines.join("\n"), &groups).unwrap();
        assert_eq!(found, Shares { prompt: Some(0.75), generation: None });
        assert_eq!(shares(&lines.join("\n"), &groups[..2]), None);
    }
}
