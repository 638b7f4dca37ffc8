//! `tensorlib completions` and `tensorlib man`: both are generated from the definition of the command line.

use crate::args::Arguments;
use crate::failure::{Exit, Failure, Outcome};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::path::Path;

/// Prints a completion script.
pub fn completions(shell: Shell, out: &mut dyn Write) -> Outcome<Exit> {
    let mut script = Vec::new(); // the generator panics if it cannot write
    clap_complete::generate(shell, &mut Arguments::command(), "tensorlib", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Success)
}

/// Prints the man page, or writes it and those of the subcommands into a folder.
pub fn man(dir: Option<&Path>, out: &mut dyn Write) -> Outcome<Exit> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let Some(dir) = dir else {
        out.write_all(&page(command)?)?;
        return Ok(Exit::Success);
    };
    std::fs::create_dir_all(dir).map_err(|e| Failure::io(dir, "made", &e))?;
    let mut pages = vec![("tensorlib".to_string(), command.clone())];
    for sub in command.get_subcommands() {
        let name = format!("tensorlib-{}", sub.get_name());
        pages.push((name.clone(), sub.clone().name(name)));
    }
    for (name, command) in pages {
        let path = dir.join(format!("{name}.1"));
        std::fs::write(&path, page(command)?).map_err(|e| Failure::io(&path, "written", &e))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(Exit::Success)
}

fn page(command: clap::Command) -> Outcome<Vec<u8>> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(text)
}
