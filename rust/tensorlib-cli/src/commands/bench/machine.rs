//! Measures the limits of this machine: bytes read and multiplications in registers per second, on all threads at once.

use crate::failure::Outcome;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;
use tensorlib::{Context, DType};

/// The number of bytes that a reading test covers, on all threads together: more than any cache holds.
const READ: usize = 512 << 20;

/// The limits of a number of threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    /// Reading from memory, in GB per second.
    pub read: f64,
    /// Multiplications and additions of F32 in registers, in billions per second; 0 if unknown for this processor.
    pub f32: f64,
    /// Multiplications and additions of bytes in registers, in billions per second; 0 if unknown for this processor.
    pub i8: f64,
}

impl Machine {
    /// Measures for a second or two. `isa` is the instruction set of the kernels to judge.
    pub fn measure(threads: usize, isa: &str) -> Outcome<Self> {
        // Uses the engine's memory, which has large pages if the system provides any, as weights do.
        let ctx = Context::new();
        let data = ctx.zeros(DType::I32, [(READ / 4) as i64])?;
        data.write(&vec![1i32; READ / 4])?;
        let read = data.with_slice(|data: &[i32]| {
            let parts: Vec<&[i32]> = data.chunks(data.len().div_ceil(threads)).collect();
            let way = |sum: fn(&[i32]) -> i32| {
                best(parts.len(), |thread| {
                    black_box(sum(parts[thread]));
                })
            };
            way(one_stream).min(way(four_streams))
        })?;
        Ok(Machine {
            read: READ as f64 / read / 1e9,
            f32: peak(threads, registers::f32_loop(isa)),
            i8: peak(threads, registers::i8_loop(isa)),
        })
    }

    /// The better of both for each limit, as other processes may disturb one of two measurements.
    pub fn best_of(self, other: Self) -> Self {
        Machine { read: self.read.max(other.read), f32: self.f32.max(other.f32), i8: self.i8.max(other.i8) }
    }
}

/// Integers per cache line.
const LINE: usize = 16;

/// Reads from the beginning to the end. Some processors fetch one stream faster than several, others the reverse.
fn one_stream(part: &[i32]) -> i32 {
    let mut sums = [[0i32; LINE]; 4];
    for lines in part.chunks_exact(4 * LINE) {
        for (sums, line) in sums.iter_mut().zip(lines.chunks_exact(LINE)) {
            for i in 0..LINE {
                sums[i] = sums[i].wrapping_add(line[i]);
            }
        }
    }
    sums.iter().flatten().fold(0, |all, sum| all.wrapping_add(*sum))
}

/// Reads a line of each quarter in turn.
fn four_streams(part: &[i32]) -> i32 {
    let quarter = part.len() / 4 / LINE * LINE;
    let stream = |i: usize| part[i * quarter..(i + 1) * quarter].chunks_exact(LINE);
    let mut sums = [0i32; LINE];
    for (((a, b), c), d) in stream(0).zip(stream(1)).zip(stream(2)).zip(stream(3)) {
        for i in 0..LINE {
            sums[i] = sums[i].wrapping_add(a[i] ^ b[i]).wrapping_add(c[i] ^ d[i]);
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

/// Billions of operations per second, if there is a loop for this processor.
fn peak(threads: usize, one: Option<registers::Loop>) -> f64 {
    const ROUNDS: u64 = 4_000_000;
    let Some(one) = one else { return 0.0 };
    let seconds = best(threads, |_| (one.run)(ROUNDS));
    one.operations * ROUNDS as f64 * threads as f64 / seconds / 1e9
}

/// The shortest of five runs in which all threads work at once: from the beginning of the first to the end of the last.
fn best(threads: usize, work: impl Fn(usize) + Sync) -> f64 {
    let (work, mut best) = (&work, f64::INFINITY);
    for _ in 0..5 {
        let barrier = Barrier::new(threads);
        let times: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
            let run = |thread| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let begin = Instant::now();
                    work(thread);
                    (begin, Instant::now())
                })
            };
            let all: Vec<_> = (0..threads).map(run).collect();
            // A panic in a thread is a defect, and reports itself.
            all.into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let (begin, end) = (times.iter().map(|t| t.0).min(), times.iter().map(|t| t.1).max());
        if let (Some(begin), Some(end)) = (begin, end) {
            best = best.min((end - begin).as_secs_f64());
        }
    }
    best.max(1e-9)
}

/// Loops of independent chains that never leave the registers.
mod registers {
    /// A loop, and the multiplications and additions of an iteration.
    pub struct Loop {
        pub run: fn(u64),
        pub operations: f64,
    }

    #[cfg(target_arch = "x86_64")]
    const CHAINS: f64 = 12.0;

    /// Twelve chains of instructions that read and write the register of this number (`\\i`): at two per cycle and a
    /// latency of four or five cycles, ten are in flight. All registers are zero, as subnormal numbers might take
    /// longer.
    #[cfg(target_arch = "x86_64")]
    macro_rules! chains {
        ($name:ident, $($step:literal),+) => {
            fn $name(rounds: u64) {
                if rounds == 0 {
                    return;
                }
                // SAFETY: registers are all that is written, and the list has them; the engine computes with an instruction set that has
                // these instructions.
                unsafe {
                    std::arch::asm!(
                        "vzeroall",
                        "2:",
                        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11",
                        $($step,)+
                        ".endr",
                        "dec {rounds}",
                        "jnz 2b",
                        "vzeroupper",
                        rounds = inout(reg) rounds => _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                        out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                        out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                        options(nomem, nostack)
                    );
                }
            }
        };
    }
    #[cfg(target_arch = "x86_64")]
    chains!(f32_avx512, "vfmadd231ps zmm\\i, zmm12, zmm13");
    #[cfg(target_arch = "x86_64")]
    chains!(i8_avx512, "vpdpbusd zmm\\i, zmm12, zmm13");
    #[cfg(target_arch = "x86_64")]
    chains!(f32_avx2, "vfmadd231ps ymm\\i, ymm12, ymm13");
    // Products of bytes, summed in 16 bits. Kernels widen the sums from time to time, which is not counted.
    #[cfg(target_arch = "x86_64")]
    chains!(i8_avx2, "vpmaddubsw ymm14, ymm12, ymm13", "vpaddw ymm\\i, ymm\\i, ymm14");

    /// The F32 loop for the kernels' instruction set; `None` if unknown.
    pub fn f32_loop(isa: &str) -> Option<Loop> {
        match isa {
            #[cfg(target_arch = "x86_64")]
            "avx512" => Some(Loop { run: f32_avx512, operations: CHAINS * 32.0 }),
            #[cfg(target_arch = "x86_64")]
            "avx2" => Some(Loop { run: f32_avx2, operations: CHAINS * 16.0 }),
            _ => None,
        }
    }

    /// The loop of bytes by bytes for the kernels' instruction set; `None` if unknown.
    pub fn i8_loop(isa: &str) -> Option<Loop> {
        match isa {
            #[cfg(target_arch = "x86_64")]
            "avx512" => Some(Loop { run: i8_avx512, operations: CHAINS * 128.0 }),
            #[cfg(target_arch = "x86_64")]
            "avx2" => Some(Loop { run: i8_avx2, operations: CHAINS * 64.0 }),
            _ => None,
        }
    }
}
