//! The system's allocator, with exit code 5 on failure instead of an abort: Rust's collections cannot report it
//! otherwise. The engine's own allocations fail with a status.

use crate::failure::Exit;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

struct OrExit;

#[global_allocator]
static ALLOCATOR: OrExit = OrExit;

// SAFETY: the system's allocator with the caller's own arguments; what it gives is passed on, unless it is nothing.
unsafe impl GlobalAlloc for OrExit {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        or_exit(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        or_exit(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        or_exit(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn or_exit(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        // Numbers are formatted on the stack, and standard error is unbuffered.
        let _ = writeln!(std::io::stderr(), "tensorlib: no memory for {size} bytes more");
        std::process::exit(Exit::Memory as i32);
    }
    memory
}
