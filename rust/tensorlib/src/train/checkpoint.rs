//! Checkpoint files: parameters, optimiser state and the position in the data.

use super::state::{bytes_of, Best, State};
use super::{Epoch, Optimiser, Scores, Stopped};
use crate::{safetensors, Context, Error, Result, Tensor};
use std::collections::HashMap;
use std::path::Path;
use tensorlib_sys as sys;

const FORMAT: &str = "tensorlib training 1";

/// Writes a temporary file and renames it over the old checkpoint. The parameters' names hold the model that training
/// would return now: that of the best epoch if there is one. The values that training continues from have names of
/// their own.
pub(super) fn write(path: &Path, optimiser: &Optimiser, run: &str, state: &State) -> Result<()> {
    let mut tensors = optimiser.state();
    let host = Context::new();
    let mut add = |name: &str, like: &Tensor, bytes: &[u8]| -> Result<()> {
        let copy = host.zeros(like.dtype(), like.shape())?;
        copy.write_bytes(0, bytes)?;
        copy.set_name(name)?;
        tensors.push(copy);
        Ok(())
    };
    match &state.best {
        Some(best) => {
            for (parameter, bytes) in optimiser.model().iter().zip(&best.parameters) {
                add(&parameter.name(), parameter, bytes)?;
                add(&last_name(parameter), parameter, &bytes_of(parameter)?)?;
            }
        }
        None => tensors.extend(optimiser.model()),
    }
    let mut metadata = vec![("format", FORMAT.to_string()), ("optimiser", optimiser.text()), ("run", run.to_string())];
    metadata.extend(texts_of(state, optimiser.step()));
    let metadata: Vec<(&str, &str)> = metadata.iter().map(|(key, value)| (*key, value.as_str())).collect();
    safetensors::write(path, &tensors.iter().collect::<Vec<_>>(), &metadata)
}

/// The texts from which [`parse`] makes the state.
fn texts_of(state: &State, step: u64) -> [(&'static str, String); 5] {
    let epochs: Vec<String> = state.history.iter().map(line_of).collect();
    let best = state.best.as_ref().map(|best| format!("{} {}", best.epoch, best.loss)).unwrap_or_default();
    [
        ("step", step.to_string()),
        ("place", format!("{} {} {} {}", state.batches, state.loss, state.counted, state.rate)),
        ("epochs", epochs.join("\n")),
        ("best", best),
        ("stopped", state.stopped.map_or("", name_of).to_string()),
    ]
}

/// The state without the best parameters, and the step, as one text for other ranks.
pub(super) fn state_text(state: &State, step: u64) -> String {
    texts_of(state, step).map(|(key, value)| format!("{key}={value}")).join("\0")
}

/// What [`state_text`] was made of.
pub(super) fn state_of(text: &str) -> Option<(State, u64)> {
    let texts = text.split('\0').filter_map(|line| line.split_once('='));
    parse(&Texts(&texts.map(|(key, value)| (key.to_string(), value.to_string())).collect()))
}

/// Reads a checkpoint into the optimiser and its parameters. All checks come first: a failed call changes nothing.
pub(super) fn read(path: &Path, optimiser: &mut Optimiser, run: &str) -> Result<State> {
    let host = Context::new();
    let file = safetensors::read(&host, path).map_err(|error| match error {
        Error::Format(failure) => refuse(path, format!("it is damaged or cut short: {}", failure.message)),
        other => other,
    })?;
    let texts = Texts(&file.metadata);
    check_run(path, &texts, optimiser, run)?;
    let (mut state, step) = parse(&texts).ok_or_else(|| refuse(path, "its metadata are damaged".into()))?;
    let wanted = wanted(optimiser, state.best.is_some());
    let pairs = paired(path, &file.tensors, &wanted)?;
    let split = pairs.len() - state.best.as_ref().map_or(0, |_| optimiser.model().len());
    if let Some(best) = &mut state.best {
        best.parameters = pairs[split..].iter().map(|(kept, _)| bytes_of(kept)).collect::<Result<_>>()?;
    }
    for (kept, tensor) in &pairs[..split] {
        tensor.write_bytes(0, &bytes_of(kept)?)?;
    }
    optimiser.resume(step);
    Ok(state)
}

fn refuse(path: &Path, what: String) -> Error {
    let message = format!("Trainer: checkpoint {}: {what}", path.display());
    Error::new(sys::TL_STATUS_FORMAT.0, message, Vec::new())
}

/// Checks whether a file with these texts continues this run.
fn check_run(path: &Path, texts: &Texts<'_>, optimiser: &Optimiser, run: &str) -> Result<()> {
    if texts.get("format") != FORMAT {
        return Err(refuse(path, format!("it is none: a file whose metadata say '{FORMAT}' is valid")));
    }
    let same = [("run", run.to_string()), ("optimiser", optimiser.text())];
    for (what, wanted) in same {
        let found = texts.get(what);
        if found != wanted {
            return Err(refuse(path, format!("its {what} is '{found}', the trainer's '{wanted}': the same is valid")));
        }
    }
    Ok(())
}

/// The tensors of a checkpoint with their names in it: those that training continues from, then the parameters again,
/// whose names hold the best epoch's values if there is one.
fn wanted(optimiser: &Optimiser, has_best: bool) -> Vec<(String, Tensor)> {
    let current = |parameter: &Tensor| if has_best { last_name(parameter) } else { parameter.name() };
    let mut wanted: Vec<(String, Tensor)> =
        optimiser.model().into_iter().map(|parameter| (current(&parameter), parameter)).collect();
    wanted.extend(optimiser.state().into_iter().map(|tensor| (tensor.name(), tensor)));
    if has_best {
        wanted.extend(optimiser.model().into_iter().map(|parameter| (parameter.name(), parameter)));
    }
    wanted
}

/// Pairs a file's tensors with the wanted ones of their names. Each must have one of its form.
fn paired<'a>(
    path: &Path,
    tensors: &'a [Tensor],
    wanted: &'a [(String, Tensor)],
) -> Result<Vec<(&'a Tensor, &'a Tensor)>> {
    let mut found: HashMap<String, &Tensor> = tensors.iter().map(|t| (t.name(), t)).collect();
    let mut pairs = Vec::new();
    for (name, tensor) in wanted {
        let of = |t: &Tensor| format!("{:?} {}", t.shape(), t.dtype());
        let Some(kept) = found.remove(name) else {
            return Err(refuse(path, format!("it is of another model: '{name}' {} is not in it", of(tensor))));
        };
        if trimmed(kept) != trimmed(tensor) || kept.dtype() != tensor.dtype() {
            let (theirs, ours) = (of(kept), of(tensor));
            return Err(refuse(path, format!("it is of another model: '{name}' is {theirs}, the model's {ours}")));
        }
        pairs.push((kept, tensor));
    }
    if let Some(name) = found.keys().min() {
        return Err(refuse(path, format!("it is of another model, which has '{name}'")));
    }
    Ok(pairs)
}

/// A file's shape and a tensor's may differ in trailing dimensions of 1, which this leaves out.
fn trimmed(tensor: &Tensor) -> Vec<i64> {
    let mut shape = tensor.shape();
    while shape.last() == Some(&1) {
        shape.pop();
    }
    shape
}

struct Texts<'a>(&'a HashMap<String, String>);

impl Texts<'_> {
    fn get(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }
}

fn parse(texts: &Texts<'_>) -> Option<(State, u64)> {
    let step = texts.get("step").parse().ok()?;
    let mut place = texts.get("place").split(' ');
    let state = State {
        history: texts.get("epochs").lines().map(epoch_of).collect::<Option<_>>()?,
        batches: place.next()?.parse().ok()?,
        loss: place.next()?.parse().ok()?,
        counted: place.next()?.parse().ok()?,
        rate: place.next()?.parse().ok()?,
        best: match texts.get("best") {
            "" => None,
            text => {
                let (epoch, loss) = text.split_once(' ')?;
                Some(Best { epoch: epoch.parse().ok()?, loss: loss.parse().ok()?, parameters: Vec::new() })
            }
        },
        stopped: match texts.get("stopped") {
            "" => None,
            text => Some(*[Stopped::Done, Stopped::Early, Stopped::ByCallback].iter().find(|s| name_of(**s) == text)?),
        },
    };
    Some((state, step))
}

/// Numbers are printed so that parsing them gives the same bits.
fn line_of(epoch: &Epoch) -> String {
    let accuracy = epoch.test.and_then(|test| test.accuracy);
    let number = |x: Option<f64>| x.map_or_else(|| "-".to_string(), |x| x.to_string());
    let (loss, accuracy) = (number(epoch.test.map(|test| test.loss)), number(accuracy));
    format!("{} {} {} {loss} {accuracy}", epoch.number, epoch.loss, epoch.rate)
}

fn epoch_of(line: &str) -> Option<Epoch> {
    let fields: Vec<&str> = line.split(' ').collect();
    let [number, loss, rate, test_loss, accuracy] = fields[..] else { return None };
    let optional = |field: &str| match field {
        "-" => Some(None),
        text => text.parse().ok().map(Some),
    };
    let (test_loss, accuracy): (Option<f64>, Option<f64>) = (optional(test_loss)?, optional(accuracy)?);
    let test = test_loss.map(|loss| Scores { loss, accuracy });
    Some(Epoch { number: number.parse().ok()?, loss: loss.parse().ok()?, test, rate: rate.parse().ok()? })
}

fn name_of(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Done => "done",
        Stopped::Early => "early",
        Stopped::ByCallback => "by callback",
    }
}

fn last_name(parameter: &Tensor) -> String {
    format!("last.{}", parameter.name())
}
