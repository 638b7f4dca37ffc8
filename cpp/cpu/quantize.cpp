#include "cpu/quantize.hpp"

#include "base/atomic_min.hpp"
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/platform.hpp"
#include "cpu/cpu_backend.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

namespace tensorlib::core {

namespace {

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

// 64 KiB of floats: long enough compared with the 0.1 microseconds that a chunk costs (the fastest type takes 5), short
// enough that threads end together (the slowest takes 16 ms).
constexpr std::int64_t elements_per_chunk = 16384;

void check_sizes(const char *what, const Quantization &job) {
    const DTypeTraits &type = traits(job.type);
    if (job.n_rows < 0) fail(Status::invalid_argument, "%s: n_rows is %lld: at least 0 is valid", what, static_cast<long long>(job.n_rows));
    if (job.n_per_row < 0) {
        fail(Status::invalid_argument, "%s: n_per_row is %lld: at least 0 is valid", what, static_cast<long long>(job.n_per_row));
    }
    if (job.n_per_row % type.block_size != 0) {
        fail(Status::invalid_argument, "%s: rows of %lld elements: a multiple of %lld is valid for %s", what,
             static_cast<long long>(job.n_per_row), static_cast<long long>(type.block_size), type.name);
    }
    // Neither side may take more bytes than a pointer counts; no element takes more than 8.
    if (job.n_per_row > 0 && job.n_rows > std::numeric_limits<std::int64_t>::max() / 8 / job.n_per_row) {
        fail(Status::invalid_argument, "%s: %lld rows of %lld elements are more than any memory holds", what,
             static_cast<long long>(job.n_rows), static_cast<long long>(job.n_per_row));
    }
    if (job.n_rows == 0 || job.n_per_row == 0) return;
    if (!job.src) fail(Status::invalid_argument, "%s: src is NULL", what);
    if (!job.dst) fail(Status::invalid_argument, "%s: dst is NULL", what);
    for (std::int64_t i = 0; job.importance && i < job.n_per_row; i++) {
        const float weight = job.importance[i];
        if (std::isfinite(weight) && weight >= 0) continue;
        fail(Status::invalid_argument, "%s: importance %lld is %g: finite numbers from 0 on are valid", what, static_cast<long long>(i),
             static_cast<double>(weight));
    }
}

[[noreturn]] void fail_unrepresentable(const char *what, const Quantization &job, std::int64_t bad) {
    const DTypeTraits &type = traits(job.type);
    fail(Status::invalid_argument, "%s: value %lld of row %lld is %g: %s holds %s only", what, static_cast<long long>(bad % job.n_per_row),
         static_cast<long long>(bad / job.n_per_row), static_cast<double>(job.src[bad]), type.name,
         type.kind == Kind::integer ? "integers within its range" : "finite numbers");
}

// Encodes blocks begin .. end of the matrix. Returns the first position that the type cannot hold, or `none`.
std::int64_t run_blocks(const simd::SimdTable &simd, const Quantization &job, std::int64_t begin, std::int64_t end) noexcept {
    const DTypeTraits &type = traits(job.type);
    const auto encode = simd.formats[dtype_index(job.type)].encode;
    const std::int64_t blocks_per_row = job.n_per_row / type.block_size;
    auto *dst = static_cast<unsigned char *>(job.dst);
    // Without importance, rows do not matter: a type's blocks are contiguous.
    while (begin < end) {
        const std::int64_t column = begin % blocks_per_row,
                           count = job.importance ? std::min(blocks_per_row - column, end - begin) : end - begin;
        const float *importance = job.importance ? job.importance + column * type.block_size : nullptr;
        const std::int64_t first = begin * type.block_size;
        const std::int64_t bad =
            encode(job.src + first, importance, dst + static_cast<std::size_t>(begin) * type.size, count * type.block_size);
        if (bad >= 0) return first + bad;
        begin += count;
    }
    return none;
}

const simd::SimdTable &wanted_isa(const char *what) { return choose_isa(platform::environment("TENSORLIB_ISA"), what).kernels; }

}  // namespace

void quantize(const char *what, const Quantization &job) {
    check_sizes(what, job);
    const simd::SimdTable &simd = wanted_isa(what);
    if (job.n_rows == 0 || job.n_per_row == 0) return;
    const std::int64_t bad = run_blocks(simd, job, 0, job.n_rows * (job.n_per_row / traits(job.type).block_size));
    if (bad != none) fail_unrepresentable(what, job, bad);
}

void quantize(const char *what, Backend &backend, const Quantization &job) {
    auto *cpu = dynamic_cast<CpuBackend *>(&backend);
    if (!cpu) {
        fail(Status::unsupported, "%s: %s does not quantise: a backend on \"cpu\" does", what, backend.device().name());
    }
    check_sizes(what, job);
    if (job.n_rows == 0 || job.n_per_row == 0) return;
    const Backend::Turn turn(backend, what);
    const std::int64_t block_size = traits(job.type).block_size, n_blocks = job.n_rows * (job.n_per_row / block_size);
    // More elements per chunk if the pool could not count the chunks otherwise.
    const std::int64_t per_chunk = std::max(elements_per_chunk / block_size, n_blocks / (ThreadPool::max_chunks / 2) + 1);
    std::atomic<std::int64_t> bad{none};
    auto task = [&](std::int64_t chunk, int) noexcept {
        const std::int64_t begin = chunk * per_chunk;
        // Chunks after a bad value are skipped. Those before it are not, because they may hold an earlier one.
        if (begin * block_size > bad.load(std::memory_order_relaxed)) return;
        atomic_min(bad, run_blocks(cpu->simd(), job, begin, std::min(n_blocks, begin + per_chunk)));
    };
    cpu->pool().run(ceil_div(n_blocks, per_chunk), task);
    if (bad.load() != none) fail_unrepresentable(what, job, bad.load());
}

void dequantize(const char *what, DType type, const void *src, float *dst, std::int64_t n) {
    const DTypeTraits &t = traits(type);
    if (n < 0 || n % t.block_size != 0) {
        fail(Status::invalid_argument, "%s: %lld elements: a multiple of %lld is valid for %s", what, static_cast<long long>(n),
             static_cast<long long>(t.block_size), t.name);
    }
    const simd::SimdTable &simd = wanted_isa(what);
    if (n == 0) return;
    if (!src) fail(Status::invalid_argument, "%s: src is NULL", what);
    if (!dst) fail(Status::invalid_argument, "%s: dst is NULL", what);
    const auto decode = simd.formats[dtype_index(type)].decode;
    if (reinterpret_cast<std::uintptr_t>(src) % alignof(double) == 0) {
        decode(src, dst, n);
        return;
    }
    // Blocks hold numbers of two and four bytes, so each is copied to aligned memory.
    const auto *from = static_cast<const unsigned char *>(src);
    alignas(double) unsigned char block[largest_block];
    for (std::int64_t i = 0; i < n; i += t.block_size, from += t.size) {
        std::memcpy(block, from, t.size);
        decode(block, dst + i, t.block_size);
    }
}

}  // namespace tensorlib::core
