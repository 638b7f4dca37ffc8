//! Models of a hub on the command line: `--hf OWNER/NAME[:FILE]`, and `hf:OWNER/NAME[:FILE]` wherever a model's path is
//! valid.
//!
//! `--hf NAME` stands for a first MODEL `hf:NAME`. The arguments are rewritten before they are parsed, because MODEL is
//! a positional argument: without it, the next one (a prompt, a query) would take its place.

use super::Arguments;
use clap::{Args, CommandFactory};
use std::ffi::OsString;

/// What begins the name of a hub's model where a path is valid too.
pub const SCHEME: &str = "hf:";
const OPTION: &str = "--hf";

/// The model of a hub.
#[derive(Args)]
pub struct Hub {
    /// Take the model from the hub's cache on this machine instead of a path: OWNER/NAME, OWNER/NAME:Q8_0 for a GGUF
    /// file of that type, OWNER/NAME@REVISION:FILE. MODEL is left out then. hf:OWNER/NAME is a MODEL with the same
    /// meaning
    #[arg(long, value_name = "OWNER/NAME[:FILE]")]
    pub hf: Option<String>,
}

/// The arguments with `hf:NAME` as the first positional ones in place of `--hf NAME`.
pub fn rewritten(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let all: Vec<OsString> = arguments.collect();
    let command = Arguments::command();
    let command = all.get(1).and_then(|name| command.find_subcommand(name));
    // Commands without the option refuse it, and help and completions of the others show it.
    let Some(command) = command.filter(|command| command.get_arguments().any(|argument| argument.get_id() == "hf"))
    else {
        return all;
    };
    let takes_many =
        command.get_positionals().next().is_some_and(|first| first.get_num_args().is_some_and(|n| n.max_values() > 1));
    let Some((names, rest)) = taken_out(&all[2..]).filter(|(names, _)| takes_many || names.len() < 2) else {
        return all;
    };
    let model = |name: OsString| [OsString::from(SCHEME), name].into_iter().collect::<OsString>();
    all[..2].iter().cloned().chain(names.into_iter().map(model)).chain(rest).collect()
}

/// The values of `--hf`, and the other arguments. `None` if the last one lacks its value.
fn taken_out(arguments: &[OsString]) -> Option<(Vec<OsString>, Vec<OsString>)> {
    let (mut names, mut rest) = (Vec::new(), Vec::new());
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        if argument == "--" {
            rest.push(argument.clone());
            rest.extend(left.cloned());
            break;
        }
        match argument.to_str().and_then(|text| text.strip_prefix(OPTION)) {
            Some("") => names.push(left.next()?.clone()),
            Some(value) if value.starts_with('=') => names.push(value[1..].into()),
            _ => rest.push(argument.clone()),
        }
    }
    Some((names, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_the_first_model() {
        let line = |text: &str| {
            let all = rewritten(text.split(' ').map(OsString::from));
            all.iter().map(|word| word.to_str().unwrap().to_string()).collect::<Vec<_>>().join(" ")
        };
        for (before, after) in [
            ("t generate -n 5 --hf o/n hello", "t generate hf:o/n -n 5 hello"),
            ("t generate hello --hf=o/n:Q8_0", "t generate hf:o/n:Q8_0 hello"),
            ("t inspect a --hf o/n --hf o/m", "t inspect hf:o/n hf:o/m a"),
            // Left to the parser, which refuses them.
            ("t generate --hf", "t generate --hf"),
            ("t generate --hf a/b --hf c/d", "t generate --hf a/b --hf c/d"),
            ("t devices --hf o/n", "t devices --hf o/n"),
            ("t generate m -- --hf", "t generate m -- --hf"),
            ("t generate m --hfx", "t generate m --hfx"),
            ("t", "t"),
        ] {
            assert_eq!(line(before), after);
        }
    }
}
