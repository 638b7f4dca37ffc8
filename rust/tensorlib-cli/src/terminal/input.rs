//! Reads lines of standard input on a thread, so that meanwhile signals are noticed and earlier lines are answered.

use crate::failure::{Exit, Failure, Outcome};
use crate::terminal::signals;
use std::io::{self, BufRead};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::time::Duration;

/// The most lines that may wait.
const WAITING: usize = 4096;
/// How often signals are checked.
const LOOK: Duration = Duration::from_millis(50);

/// Lines as they arrive.
pub struct Lines(Receiver<io::Result<Vec<u8>>>);

/// What is available.
pub enum Next {
    /// A line, without its end.
    Line(Vec<u8>),
    /// No line yet.
    Nothing,
    /// The input has ended.
    End,
}

impl Lines {
    /// Starts to read standard input.
    pub fn new() -> Outcome<Self> {
        let (sender, receiver) = sync_channel(WAITING);
        let read = move || {
            let mut input = io::stdin().lock();
            loop {
                let mut line = Vec::new();
                let read = input.read_until(b'\n', &mut line);
                let is_end = matches!(read, Ok(0));
                let failed = read.is_err();
                if is_end || sender.send(read.map(|_| without_end(line))).is_err() || failed {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("input".into()).spawn(read);
        thread.map_err(|e| Failure::new(Exit::Memory, format!("a thread cannot be started: {e}")))?;
        Ok(Lines(receiver))
    }

    /// The next line, if one arrives within this time.
    pub fn within(&self, time: Duration) -> Outcome<Next> {
        match self.0.recv_timeout(time) {
            Ok(Ok(line)) => Ok(Next::Line(line)),
            Ok(Err(e)) => Err(Failure::new(Exit::Io, format!("standard input: cannot be read: {e}"))),
            Err(RecvTimeoutError::Timeout) => Ok(Next::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(Next::End),
        }
    }

    /// The next line; `None` at the end of input, or after a signal.
    pub fn wait(&self) -> Outcome<Option<Vec<u8>>> {
        while !signals::came() {
            match self.within(LOOK)? {
                Next::Line(line) => return Ok(Some(line)),
                Next::End => return Ok(None),
                Next::Nothing => {}
            }
        }
        Ok(None)
    }
}

fn without_end(mut line: Vec<u8>) -> Vec<u8> {
    if line.ends_with(b"\n") {
        line.pop();
        if line.ends_with(b"\r") {
            line.pop();
        }
    }
    line
}
