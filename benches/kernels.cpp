// SIMD kernels alone, on one thread, compared with their limits.
#include "sections.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstdio>

namespace tensorlib::bench {

namespace {

namespace simd = core::simd;

// In floats. Streams are longer than 256 MB, caches are not that large.
constexpr std::int64_t stream_floats = std::int64_t{72} << 20;
// A panel pair of this depth fits a first-level cache of 32 KiB: (32 + 12) x 160 x 4 bytes = 28 KB.
constexpr std::int64_t l1_depth = 160;
// Rows of the dot tile, for the same cache: (4 + 4) x 768 x 4 bytes = 24 KB.
constexpr std::int64_t dot_depth = 768;
// As the packed product blocks by default: 192 rows of A, 512 deep, in the second-level cache.
constexpr std::int64_t block_rows = 192, block_depth = 512;
constexpr std::int64_t row_floats = 4096, stream_rows = stream_floats / row_floats;
constexpr std::ptrdiff_t row_stride = row_floats * sizeof(float);
constexpr double block_bytes = 4.0 * block_rows * block_depth;
// Runs of a kernel on data in the first-level cache, and of one on a block in the second-level cache, per timed run.
constexpr std::int64_t repeats = 2000, block_repeats = 20;

enum class Unit { gflops, gbytes };

// What a row's rate means: the most that others with its unit can reach, a share of that, or neither.
enum class Role { limit, limited, unlimited };

struct Row {
    Contender contender;
    double work;  // floating-point operations or bytes of one run
    Unit unit;
    Role role = Role::limited;

    double rate() const { return work / contender.times().best * 1e-9; }
};

void print(const Row &row, double limit, bool disturbed) {
    const Times t = row.contender.times();
    const double best = row.work / t.best * 1e-9, median = row.work / t.median * 1e-9;
    std::printf("%c %-58s %8.1f %8.1f %5.1f %% %s", disturbed ? '*' : ' ', row.contender.name.c_str(), best, median, 100 * t.spread,
                row.unit == Unit::gflops ? "GFLOP/s" : "GB/s   ");
    if (limit > 0) std::printf("  %5.1f %%", 100 * best / limit);
    std::printf("\n");
}

// A micro-kernel gives the right sums: checked once, before it is timed.
void check_gemm(const simd::SimdTable &simd, const float *a, const float *b) {
    const int rows = simd.gemm.rows, columns = simd.gemm.columns;
    std::vector<float> c(static_cast<std::size_t>(rows * columns));
    simd.gemm.f32.from_cache[columns - 1](l1_depth, a, b, c.data(), rows, rows, false);
    for (int j = 0; j < columns; j++) {
        for (int i = 0; i < rows; i++) {
            float sum = 0;
            for (std::int64_t k = 0; k < l1_depth; k++) sum += a[k * rows + i] * b[k * columns + j];
            check(c[static_cast<std::size_t>(j * rows + i)] == sum, "gemm_f32");
        }
    }
}

void check_dot(const simd::SimdTable &simd, const float *a, const float *b) {
    const int rows = simd.dot.rows, columns = simd.dot.columns;
    float c[simd::max_dot_rows * simd::max_dot_columns];
    constexpr std::ptrdiff_t stride = dot_depth * sizeof(float);
    simd.dot.f32[rows - 1][columns - 1](dot_depth, reinterpret_cast<const char *>(a), stride, reinterpret_cast<const char *>(b), stride, c,
                                        rows);
    for (int j = 0; j < columns; j++) {
        for (int i = 0; i < rows; i++) {
            float sum = 0;
            for (std::int64_t k = 0; k < dot_depth; k++) sum += a[i * dot_depth + k] * b[j * dot_depth + k];
            check(c[j * rows + i] == sum, "dot_f32");
        }
    }
}

void check_pack(const simd::SimdTable &simd, const float *rows, float *panel) {
    const int width = simd.gemm.rows;
    simd.pack.f32(l1_depth, reinterpret_cast<const char *>(rows), sizeof(float), row_floats * sizeof(float), width, width, panel);
    for (std::int64_t k = 0; k < l1_depth; k++) {
        for (int i = 0; i < width; i++) check(panel[k * width + i] == rows[i * row_floats + k], "pack_f32");
    }
}

// The kernels, and the data that they are measured on.
struct Kernels {
    const simd::SimdTable &simd;
    const int MR = simd.gemm.rows, NR = simd.gemm.columns, DR = simd.dot.rows, DC = simd.dot.columns;
    std::vector<float> stream, panels, c;
    const float *a, *b;
    float sink = 0;

    explicit Kernels(const simd::SimdTable &table)
        : simd(table),
          stream(stream_floats),
          panels(block_rows * block_depth),
          c(block_rows * static_cast<std::size_t>(NR)),
          a(stream.data()),
          b(stream.data() + (std::int64_t{1} << 20)) {
        fill(stream, 1);
        fill(panels, 2);
        check_gemm(simd, a, b);
        check_dot(simd, a, b);
        check_pack(simd, a, panels.data());
    }

    // Packs a block of A out of a [4096, m] matrix, as one chunk of the product does for one block of k.
    void pack_block(std::int64_t first_row, std::int64_t k) {
        for (std::int64_t m = 0; m + MR <= block_rows; m += MR) {
            simd.pack.f32(block_depth, reinterpret_cast<const char *>(a + (first_row + m) * row_floats + k), sizeof(float), row_stride, MR,
                          MR, panels.data() + m * block_depth);
        }
    }

    Row gemm_of_panels() {
        const auto run = [this] {
            for (std::int64_t i = 0; i < repeats; i++) simd.gemm.f32.from_cache[NR - 1](l1_depth, a, b, c.data(), MR, MR, false);
        };
        return {{"gemm_f32 " + std::to_string(MR) + "x" + std::to_string(NR) + ", panels in the first-level cache", run},
                static_cast<double>(2 * MR * NR * l1_depth * repeats),
                Unit::gflops};
    }

    Row gemm_of_block() {
        const auto run = [this] {
            for (int i = 0; i < block_repeats; i++) {
                for (std::int64_t m = 0; m + MR <= block_rows; m += MR) {
                    simd.gemm.f32.from_cache[NR - 1](block_depth, panels.data() + m * block_depth, b, c.data() + m, block_rows, MR, true);
                }
            }
        };
        return {
            {"gemm_f32, A 192 x 512 from the second-level cache", run}, 2.0 * block_rows * block_depth * NR * block_repeats, Unit::gflops};
    }

    Row dot_of_rows() {
        const auto run = [this] {
            constexpr std::ptrdiff_t stride = dot_depth * sizeof(float);
            for (std::int64_t i = 0; i < repeats; i++) {
                simd.dot.f32[DR - 1][DC - 1](dot_depth, reinterpret_cast<const char *>(a), stride, reinterpret_cast<const char *>(b),
                                             stride, c.data(), DR);
            }
        };
        return {{"dot_f32 " + std::to_string(DR) + "x" + std::to_string(DC) + ", rows in the first-level cache", run},
                static_cast<double>(2 * DR * DC * dot_depth * repeats),
                Unit::gflops};
    }

    Row dot_of_stream() {
        const auto run = [this] {
            for (std::int64_t m = 0; m + DR <= stream_rows; m += DR) {
                simd.dot.f32[DR - 1][0](row_floats, reinterpret_cast<const char *>(a + m * row_floats), row_stride,
                                        reinterpret_cast<const char *>(panels.data()), row_stride, c.data(), DR);
            }
        };
        return {{"dot_f32 " + std::to_string(DR) + "x1 over 288 MiB", run}, 4.0 * stream_floats, Unit::gbytes};
    }

    Row pack_of_stream() {
        constexpr std::int64_t blocks = stream_rows / block_rows;
        const auto run = [this] {
            for (std::int64_t i = 0; i < blocks; i++) {
                for (std::int64_t k = 0; k < row_floats; k += block_depth) pack_block(i * block_rows, k);
            }
        };
        return {{"pack_f32 192 x 512 from memory, all blocks of 288 MiB", run},
                block_bytes * static_cast<double>(blocks * (row_floats / block_depth)),
                Unit::gbytes};
    }

    // The block is in the caches: what memory gives is no limit for it.
    Row pack_of_block() {
        const auto run = [this] {
            for (int i = 0; i < block_repeats; i++) pack_block(0, 0);
        };
        return {{"pack_f32 192 x 512, the same block again", run}, block_bytes * block_repeats, Unit::gbytes, Role::unlimited};
    }
};

// The best rate of those rows that are limits of this unit.
double limit_of(std::span<const Row> rows, Unit unit) {
    double limit = 0;
    for (const Row &row : rows) {
        if (row.unit == unit && row.role == Role::limit) limit = std::max(limit, row.rate());
    }
    return limit;
}

}  // namespace

void report_kernels(const Bench &bench) {
    core::ThreadPool pool(1);
    Kernels k(bench.isa.kernels);
    Row rows[] = {
        {{"multiply-add chains in registers", [&] { run_multiply_add(bench.limits, pool); }},
         static_cast<double>(run_multiply_add(bench.limits, pool)),
         Unit::gflops,
         Role::limit},
        k.gemm_of_panels(),
        k.gemm_of_block(),
        k.dot_of_rows(),
        {{"reading 288 MiB, one stream", [&] { bench.limits.read_1(stream_floats, k.a, &k.sink); }},
         4.0 * stream_floats,
         Unit::gbytes,
         Role::limit},
        {{"reading 288 MiB, four streams", [&] { bench.limits.read_4(stream_floats, k.a, &k.sink); }},
         4.0 * stream_floats,
         Unit::gbytes,
         Role::limit},
        k.dot_of_stream(),
        k.pack_of_stream(),
        k.pack_of_block(),
    };

    std::vector<Contender> contenders;
    for (const Row &row : rows) contenders.push_back(row.contender);
    const Others others;
    in_turn(contenders, bench.budget * 4, 0);
    const bool disturbed = others.cores() > 0.05;
    for (std::size_t i = 0; i < contenders.size(); i++) rows[i].contender = contenders[i];
    const double peak = limit_of(rows, Unit::gflops), bandwidth = limit_of(rows, Unit::gbytes);
    std::printf("\nkernels, one thread%41s %8s %8s %7s         %8s\n", "", "best", "median", "spread", "of limit");
    for (const Row &row : rows) {
        print(row, row.role == Role::unlimited ? 0 : row.unit == Unit::gflops ? peak : bandwidth, disturbed);
    }
}

}  // namespace tensorlib::bench
