//! `tensorlib devices`: lists the devices of this machine.

use crate::args::Devices;
use crate::failure::{Exit, Outcome};
use crate::terminal::text::bytes;
use serde_json::{json, Value as Json};
use std::io::Write;
use tensorlib::{Backend, DeviceInfo};

/// Runs the command.
pub fn run(options: &Devices, out: &mut dyn Write) -> Outcome<Exit> {
    let (devices, isas) = (tensorlib::devices(), tensorlib::isas());
    let cpu = Backend::cpu()?; // fails if TENSORLIB_ISA names an instruction set that this CPU lacks
    if options.json {
        let all: Vec<Json> = devices.iter().map(as_json).collect();
        let cpu = json!({ "isa": cpu.isa(), "isas": isas, "threads": cpu.n_threads() });
        writeln!(out, "{:#}", json!({ "devices": all, "cpu": cpu }))?;
        return Ok(Exit::Success);
    }
    for d in &devices {
        writeln!(out, "{}: {}", d.name, d.description)?;
        if d.memory_total > 0 {
            writeln!(out, "  memory: {}, {} free", bytes(d.memory_total), bytes(d.memory_free))?;
        }
        if d.capability > 0 {
            writeln!(out, "  compute capability: {}.{}", d.capability / 10, d.capability % 10)?;
        }
        if d.simulated {
            writeln!(out, "  simulated, for tests")?;
        }
        if d.name == "cpu" {
            writeln!(out, "  threads: {}", cpu.n_threads())?;
            writeln!(out, "  instruction set: {} (of {})", cpu.isa(), isas.join(", "))?;
        }
    }
    Ok(Exit::Success)
}

fn as_json(d: &DeviceInfo) -> Json {
    json!({ "name": d.name, "description": d.description, "memory_total": d.memory_total,
            "memory_free": d.memory_free, "capability": d.capability, "simulated": d.simulated })
}
