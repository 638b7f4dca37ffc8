//! Standard output, which may be closed when the program starts. Rust's runtime opens the null device instead, so
//! output would be lost without an error.

use super::rank;
use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_os = "linux")]
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Checks file descriptor 1 before the runtime does.
#[cfg(target_os = "linux")]
extern "C" fn look() {
    extern "C" {
        fn fcntl(descriptor: i32, command: i32, ...) -> i32;
    }
    const F_GETFD: i32 = 1;
    // SAFETY: fcntl is POSIX', with this signature; F_GETFD takes no argument and changes nothing.
    if unsafe { fcntl(1, F_GETFD) } == -1 {
        CLOSED.store(true, Ordering::Relaxed);
    }
}

// SAFETY: the loader calls the functions of this section, without arguments that matter, before main; `look` calls nothing that
// needs the runtime.
#[cfg(target_os = "linux")]
#[used]
#[link_section = ".init_array"]
static LOOK: extern "C" fn() = look;

/// Whether it was closed when the program started.
fn is_closed() -> bool {
    #[cfg(target_os = "linux")]
    return CLOSED.load(Ordering::Relaxed);
    #[cfg(not(target_os = "linux"))]
    false
}

/// Standard output, or errors if it is closed. Of several processes only the first one writes.
pub struct StandardOutput(io::StdoutLock<'static>);

impl StandardOutput {
    pub fn new() -> Self {
        StandardOutput(io::stdout().lock())
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if rank::is_silent() {
            return Ok(bytes.len());
        }
        if is_closed() && !bytes.is_empty() {
            return Err(io::Error::other("it is closed"));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
