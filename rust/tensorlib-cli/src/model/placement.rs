//! Places a model on several devices within their budgets.

use crate::args::DeviceArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::files::pattern::fits;
use crate::model::neurons::LoadOptions;
use std::path::Path;
use tensorlib::{Backend, DType};
use tensorlib_models::{fit, fit_neurons, fit_split, Decoder, Encoder, EncoderOptions, HotNeurons, Outline, Placement};

/// The devices to compute on: those that --device names, or those with budgets, and the CPU.
pub fn devices(options: &DeviceArgs) -> Vec<String> {
    if let Some(named) = &options.device {
        return named.split(',').map(String::from).collect();
    }
    let mut all: Vec<String> = Vec::new();
    for name in options.budget.iter().map(|b| b.device.as_str()).chain(["cpu"]) {
        if !all.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            all.push(name.into());
        }
    }
    all
}

/// Checks that the backend has all devices that budgets and patterns name.
pub fn check(options: &DeviceArgs, backend: &Backend) -> Outcome<()> {
    let named = options.budget.iter().map(|b| ("--budget", &b.device));
    for (option, name) in named.chain(options.put.iter().map(|p| ("--put", &p.device))) {
        number(backend, name).ok_or_else(|| {
            let message = format!("{option} {name}: is none of the devices {}", backend.devices().join(", "));
            Failure::new(Exit::Usage, message).hint("name all of them with --device, as --device cuda:0,cpu")
        })?;
    }
    Ok(())
}

fn number(backend: &Backend, device: &str) -> Option<usize> {
    backend.devices().iter().position(|name| name.eq_ignore_ascii_case(device))
}

/// The budget of each device: the option's, or nine tenths of a GPU's free memory, or no limit for the CPU.
pub fn budgets(options: &DeviceArgs, backend: &Backend) -> Vec<Option<u64>> {
    let said = |name: &str| options.budget.iter().find(|b| b.device.eq_ignore_ascii_case(name)).map(|b| b.bytes);
    let free = |name: &str| {
        let device = tensorlib::devices().into_iter().find(|d| d.name == name && d.capability > 0)?;
        Some(device.memory_free / 10 * 9)
    };
    backend.devices().iter().map(|name| said(name).or_else(|| free(name))).collect()
}

/// A placement and its properties.
pub struct Fitted {
    /// The devices of the tensors.
    pub placement: Placement,
    /// The memory taken on each device.
    pub outline: Outline,
    /// The neurons on the first device, if they were chosen for a budget.
    pub hot: Option<HotNeurons>,
}

/// A placement in which a language model fits the budgets.
pub fn fit_decoder(
    options: &DeviceArgs,
    backend: &Backend,
    model: &Path,
    load: &LoadOptions,
    cache: DType,
) -> Outcome<Fitted> {
    let outline = |placement: &Placement| {
        let load = load.options.clone().expert_slots(options.expert_slots.into()).placement(placement.clone());
        // SAFETY: that nobody changes a file while it is read is a promise that the tool passes on to its user.
        unsafe { Decoder::outline(model, backend, &load, cache) }
    };
    let (budgets, chosen) = (budgets(options, backend), |tensor: &str| chosen(options, backend, tensor));
    let fitted = |fitted: Fitted| check_patterns(options, &fitted.outline).map(|()| fitted);
    if let Some(split) = &load.split {
        let (placement, outline) = fit_split(backend, &budgets, chosen, split, outline)?;
        return fitted(Fitted { placement, outline, hot: None });
    }
    let Some(activity) = load.options.activity() else {
        let (placement, outline) = fit(backend, &budgets, chosen, outline)?;
        return fitted(Fitted { placement, outline, hot: None });
    };
    let frequencies: Vec<&[f32]> = activity.layers().iter().map(|layer| &layer.frequencies[..]).collect();
    let (placement, outline, hot) = fit_neurons(backend, &budgets, chosen, &frequencies, outline)?;
    fitted(Fitted { placement, outline, hot })
}

/// A placement in which an encoder fits the budgets.
pub fn fit_encoder(
    options: &DeviceArgs,
    backend: &Backend,
    model: &Path,
    load: &EncoderOptions,
) -> Outcome<(Placement, Outline)> {
    let outline = |placement: &Placement| {
        let load = load.clone().placement(placement.clone());
        // SAFETY: as above.
        unsafe { Encoder::outline(model, backend, &load) }
    };
    let found = fit(backend, &budgets(options, backend), |tensor| chosen(options, backend, tensor), outline)?;
    check_patterns(options, &found.1)?;
    Ok(found)
}

/// Refuses patterns of --put that match no tensor.
fn check_patterns(options: &DeviceArgs, outline: &Outline) -> Outcome<()> {
    let unused =
        options.put.iter().filter(|put| !outline.tensors.iter().any(|tensor| fits(&put.pattern, &tensor.name)));
    let unused: Vec<String> = unused.map(|put| format!("'{}'", put.pattern)).collect();
    if unused.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Exit::Refused, format!("--put: no tensor fits {}", unused.join(", ")))
        .hint("`tensorlib place MODEL --json` lists the names; * is any text, ? any character, all else itself"))
}

/// The device on which a tensor is placed by hand.
fn chosen(options: &DeviceArgs, backend: &Backend, tensor: &str) -> Option<usize> {
    let put = options.put.iter().find(|put| fits(&put.pattern, tensor))?;
    number(backend, &put.device)
}
