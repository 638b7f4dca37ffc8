//! The thread of a model, and the jobs that it gets.

use crate::error::{ApiError, Result};
use std::io;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// A thread that works until nobody can send jobs any more.
pub struct Jobs<J> {
    sender: Mutex<Option<Sender<J>>>,
    thread: Option<JoinHandle<()>>,
}

impl<J: Send + 'static> Jobs<J> {
    /// Starts the thread.
    pub fn start(name: String, work: impl FnOnce(Receiver<J>) + Send + 'static) -> io::Result<Self> {
        let (sender, received) = channel();
        let thread = std::thread::Builder::new().name(name).spawn(move || work(received))?;
        Ok(Jobs { sender: Mutex::new(Some(sender)), thread: Some(thread) })
    }

    /// Gives the thread jobs.
    pub fn send(&self, jobs: impl IntoIterator<Item = J>) -> Result<()> {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sender = sender.ok_or_else(|| ApiError::unavailable("the server is stopping"))?;
        jobs.into_iter().try_for_each(|job| sender.send(job).map_err(|_| ended()))
    }
}

impl<J> Drop for Jobs<J> {
    /// Waits until the jobs that were sent are done.
    fn drop(&mut self) {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // its panics were caught and reported
        }
    }
}

/// The thread is gone, which no job should cause.
pub fn ended() -> ApiError {
    ApiError::internal("the model's thread has ended")
}
