//! Adapters of encoders, and the choice of a task, which has one (Jina v3).

use super::options::EncoderOptions;
use super::shape::Shape;
use crate::files::{tensors_of, Source};
use crate::package::Package;
use crate::sentences::SentenceSettings;
use crate::weights::{Adapter, DeviceMap, HubNames};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Opens the adapters that the options name, and that of the task; the text that they put before each text becomes that
/// of the sentences.
pub fn adapters(
    package: &Package,
    (shape, names): (&Shape, &HubNames),
    options: &EncoderOptions,
    devices: &DeviceMap,
    sentences: &mut SentenceSettings,
) -> Result<Vec<Adapter>> {
    let open = |path: &Path, scale: f64| Adapter::open(path, scale, &package.settings, names, devices);
    let mut all = options.adapters.iter().map(|(path, scale)| open(path, *scale)).collect::<Result<Vec<_>>>()?;
    let asked = options.task.as_deref();
    match (package.folder(), asked.or(sentences.default_task.as_deref())) {
        (_, None) => {}
        (Some(folder), Some(name)) => {
            let adapter = of_folder(folder, name, (shape, names), devices)?;
            if asked.is_some() {
                all.push(adapter);
            } else {
                // The published code puts a task's text before texts only if the caller names the task.
                all.push(adapter.without_prefix());
            }
        }
        (None, Some(name)) => {
            let path = file_of(package.path(), name)?;
            let adapter = open(&path, 1.0)?;
            if let Some(other) = adapter.task().filter(|other| *other != name) {
                let what = format!("{}: adapter.lora.task_name is '{other}': '{name}' is expected", adapter.path());
                return Err(Error::format(what));
            }
            all.push(adapter);
        }
    }
    let mut prefixes: Vec<&str> = all.iter().filter_map(Adapter::prefix).collect();
    prefixes.dedup();
    match (options.prompt.is_some(), &prefixes[..]) {
        (true, _) | (_, []) => {}
        (false, [prefix]) => sentences.set_prompt(prefix)?,
        (false, [first, second, ..]) => {
            let what = format!("adapters with different texts before each text ('{first}', '{second}'): one is valid");
            return Err(Error::invalid(what));
        }
    }
    Ok(all)
}

/// The additions of a folder's task.
fn of_folder(folder: &Path, name: &str, (shape, names): (&Shape, &HubNames), devices: &DeviceMap) -> Result<Adapter> {
    let Some(tasks) = &shape.tasks else {
        let message = format!("task '{name}': the folder has no tasks (lora_adaptations in config.json)");
        return Err(Error::invalid(message).with_hint("Jina's encoder of version 3 has tasks"));
    };
    let Some(number) = tasks.number(name) else {
        return Err(Error::invalid(format!("task '{name}': {} are valid", tasks.names.join(", "))));
    };
    Adapter::of_task(Source::open(&tensors_of(folder)?)?, folder, (tasks, number), names, devices)
}

/// The adapter of a task, which converters write next to the model: `lora-TASK-MODEL.gguf`, where MODEL may be that of
/// another type.
fn file_of(model: &Path, task: &str) -> Result<PathBuf> {
    let folder = model.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let own = model.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let entries = std::fs::read_dir(folder).map_err(|e| Error::io(folder, "read", &e))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut all: Vec<String> = names.filter(|name| name.starts_with("lora-") && name.ends_with(".gguf")).collect();
    all.sort_unstable();
    let start = format!("lora-{task}-");
    let found: Vec<&String> = all.iter().filter(|name| name.starts_with(&start)).collect();
    let exact = format!("{start}{own}");
    match found[..] {
        _ if all.contains(&exact) => Ok(folder.join(exact)),
        [one] => Ok(folder.join(one)),
        [] => {
            let there = if all.is_empty() { "there is none".into() } else { format!("there are {}", all.join(", ")) };
            let message = format!("task '{task}': its adapter is a file {exact} next to the model: {there}");
            Err(Error::invalid(message).with_hint("--lora takes an adapter by its path"))
        }
        [first, second, ..] => {
            let message = format!("task '{task}': {first} and {second} may be its adapter: {exact} would be taken");
            Err(Error::invalid(message).with_hint("--lora takes an adapter by its path"))
        }
    }
}
