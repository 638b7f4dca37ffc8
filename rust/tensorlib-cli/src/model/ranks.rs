//! The processes that compute a model together. Each runs the whole command, and only the first one prints.

use crate::args::RankArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::model;
use crate::terminal::rank;
use std::path::Path;
use tensorlib::{Backend, Context, Group};

/// The processes of this command.
pub struct Ranks(Option<Group>);

impl Ranks {
    /// Finds the other processes.
    pub fn open(options: &RankArgs) -> Outcome<Self> {
        let group = Group::create(&options.group)?;
        if group.size() == 1 {
            return Ok(Ranks(None));
        }
        rank::set(group.rank());
        Ok(Ranks(Some(group)))
    }

    /// The group, if there are several processes.
    pub fn group(&self) -> Option<&Group> {
        self.0.as_ref()
    }

    /// Refuses what one process alone can do.
    pub fn refuse(&self, is_wanted: bool, what: &str) -> Outcome<()> {
        match &self.0 {
            Some(group) if is_wanted => {
                let message = format!("{what}: {} processes compute the model, each a part of it", group.size());
                Err(Failure::new(Exit::Usage, message).hint("leave it out, or start one process"))
            }
            _ => Ok(()),
        }
    }

    /// [`model::text_of`], where only the first process has standard input.
    pub fn text_of(&self, path: &Path) -> Outcome<String> {
        let is_input = path == Path::new("-");
        let Some(group) = self.0.as_ref().filter(|_| is_input) else { return model::text_of(path) };
        let text = if group.rank() == 0 { model::text_of(path)? } else { String::new() };
        let bytes = self.of_first(text.as_bytes(), group)?;
        String::from_utf8(bytes).map_err(|_| Failure::new(Exit::Internal, "a text that changed on the way"))
    }

    /// The first process's number.
    pub fn number_of_first(&self, number: u64) -> Outcome<u64> {
        let Some(group) = &self.0 else { return Ok(number) };
        let bytes = self.of_first(&number.to_le_bytes(), group)?;
        Ok(bytes.try_into().map_or(number, u64::from_le_bytes))
    }

    fn of_first(&self, own: &[u8], group: &Group) -> Outcome<Vec<u8>> {
        let (ctx, cpu) = (Context::new(), Backend::cpu()?);
        let length = ctx.tensor_of([1], &[own.len() as i64])?.broadcast(0, group)?.eval(&cpu)?.to_vec::<i64>()?;
        let mut bytes = own.to_vec();
        bytes.resize(length.first().map_or(0, |n| usize::try_from(*n).unwrap_or(0)), 0);
        if bytes.is_empty() {
            return Ok(bytes);
        }
        Ok(ctx.tensor_of([bytes.len() as i64], &bytes)?.broadcast(0, group)?.eval(&cpu)?.to_vec::<u8>()?)
    }
}

/// The threads for a process of several: its share of the machine's processors, as far as the launcher tells how many
/// processes it has started here. 0: all that the process may use.
pub fn threads() -> usize {
    /// What launchers call the number of processes on a machine: Open MPI, MPICH, MVAPICH.
    const LOCAL: [&str; 3] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"];
    let local = LOCAL.iter().find_map(|name| std::env::var(name).ok()?.parse::<usize>().ok());
    let (Some(local), Some(_)) = (local.filter(|n| *n > 1), rank::rank()) else { return 0 };
    let own = std::thread::available_parallelism().map_or(1, usize::from);
    // A launcher may have bound the process to its share already.
    let all = std::fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|list| listed(&list));
    (all.unwrap_or(own) / local).clamp(1, own)
}

/// How many numbers a list such as `0-3,8` has.
fn listed(list: &str) -> Option<usize> {
    let of_range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        (last + 1).checked_sub(first)
    };
    list.trim().split(',').map(of_range).sum()
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn processors_are_counted() {
        assert_eq!([listed("0\n"), listed("0-3,8"), listed("2-1"), listed("x")], [Some(1), Some(5), Some(0), None]);
    }
}
