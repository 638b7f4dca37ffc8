// The integer micro-kernels alone, on one thread, compared with the peak of byte dots: what a product could reach if nothing else
// cost anything, and the cost of getting there (unpacking, expanding, quantising columns). Checked in tests/cpp, on every ISA.
#include "dtype/dtype.hpp"
#include "sections.hpp"
#include "support.hpp"

#include <cstddef>
#include <cstdio>

namespace tensorlib::bench {

namespace {

namespace simd = core::simd;

// A panel of the second-level cache with a group of columns of the first, as in a product of many columns; and both in the first.
constexpr std::int64_t depth = 4096, near_depth = 512;

// Aligned as workspaces are.
template <class T>
struct Lines {
    std::vector<std::byte> bytes;
    T *data;
    explicit Lines(std::int64_t n) : bytes(static_cast<std::size_t>(n) * sizeof(T) + 64) {
        const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
        data = reinterpret_cast<T *>((at + 63) / 64 * 64);
    }
};

// A panel of weights of one type, stored, packed and unpacked, and a group of columns.
struct Operands {
    const simd::SimdTable &simd;
    const simd::SimdTable::IntegerFormat &format;
    const simd::SimdTable::PanelFormat &panels;
    const int rows, columns;
    Lines<char> stored, packed;
    std::ptrdiff_t row_bytes;
    Lines<std::uint8_t> codes;
    Lines<float> scales, offsets, values, sums, column_scales, c;
    Lines<std::int8_t> bytes;
    Lines<std::int32_t> starts;
    Lines<std::int16_t> sum_pairs;

    Operands(const simd::SimdTable &l, const core::DTypeTraits &type, std::size_t index)
        : simd(l),
          format(l.integer.formats[index]),
          panels(l.panels[index]),
          rows(l.integer.rows),
          columns(l.integer.columns),
          stored(rows * depth / type.block_size * static_cast<std::int64_t>(type.size)),
          packed(panels.bytes(depth)),
          row_bytes(depth / type.block_size * static_cast<std::ptrdiff_t>(type.size)),
          codes(rows * depth),
          scales(rows * depth / format.scale_group),
          offsets(rows * depth / format.scale_group),
          values(depth),
          sums(depth / format.scale_group * columns),
          column_scales(depth / simd::scaled_bytes * columns),
          c(rows * columns),
          bytes(depth * columns * format.column_bytes),
          starts(2 * depth / format.scale_group * columns),
          sum_pairs(depth / format.scale_group * columns) {
        std::vector<float> weights(static_cast<std::size_t>(rows * depth));
        fill_normal(weights, 1, 1e-2f);
        check(type.encode(weights.data(), nullptr, stored.data, rows * depth) == -1, type.name);
        fill_normal({values.data, static_cast<std::size_t>(depth)}, 7, 1e-2f);
        panels.pack(depth, stored.data, row_bytes, rows, packed.data);
        unpack();
        quantize();
    }
    simd::ByteColumns group() const { return {bytes.data, column_scales.data, starts.data, sums.data, sum_pairs.data}; }
    simd::PackedPanel panel() const { return {packed.data, format.codebook, simd.integer.prefetch_distance[columns - 1]}; }
    void unpack() { format.unpack(depth, stored.data, row_bytes, rows, codes.data, scales.data, offsets.data); }
    void expand() { format.expand(0, depth, panel(), codes.data, scales.data, offsets.data); }
    void quantize() {
        for (int j = 0; j < columns; j++) simd.integer.quantize_column(depth, values.data, format, group(), columns, j);
    }
    void multiply_packed(std::int64_t k) { format.gemm_packed[columns - 1](k, panel(), group(), c.data, rows, rows); }
    void multiply(std::int64_t k) {
        format.gemm[columns - 1](k, {codes.data, scales.data, offsets.data}, group(), c.data, rows, rows, false);
    }
};

void report_row(const Bench &bench, const core::DTypeTraits &type, std::size_t index) {
    Operands o(bench.isa.kernels, type, index);
    core::ThreadPool pool(1);
    constexpr int near_runs = 64, runs = 8;
    const auto several = [](int n, auto &&what) {
        return [n, what] {
            for (int i = 0; i < n; i++) what();
        };
    };
    std::vector<Contender> contenders{
        {"peak", [&] { run_chains(bench.limits.byte_dots, bench.limits.byte_ops_per_round, pool); }},
        {"packed, first-level cache", several(near_runs, [&] { o.multiply_packed(near_depth); })},
        {"packed", several(runs, [&] { o.multiply_packed(depth); })},
        {"unpacked, first-level cache", several(near_runs, [&] { o.multiply(near_depth); })},
        {"unpacked", several(runs, [&] { o.multiply(depth); })},
        {"unpack", several(runs, [&] { o.unpack(); })},
        {"expand", several(runs, [&] { o.expand(); })},
        {"quantize", several(runs, [&] { o.quantize(); })},
    };
    const Others others;
    in_turn(contenders, bench.budget, 0);
    const auto rate = [&](std::size_t i, double work) { return work / contenders[i].times().best * 1e-9; };
    const double peak = rate(0, static_cast<double>(run_chains(bench.limits.byte_dots, bench.limits.byte_ops_per_round, pool)));
    std::printf("%c %-8s %8.1f ", others.cores() > 0.05 ? '*' : ' ', type.name, peak);
    for (std::size_t i = 1; i <= 4; i++) {
        const double ops =
            2.0 * o.rows * o.columns * (i % 2 ? static_cast<double>(near_depth * near_runs) : static_cast<double>(depth * runs));
        std::printf(" %7.1f (%2.0f %%)", rate(i, ops), 100 * rate(i, ops) / peak);
    }
    const double codes = static_cast<double>(o.rows * depth) * runs;
    std::printf("  %7.1f %7.1f %8.1f\n", rate(5, codes), rate(6, codes), rate(7, static_cast<double>(o.columns * depth) * runs));
    std::fflush(stdout);
}

}  // namespace

void report_codes(const Bench &bench) {
    if (!bench.limits.byte_dots) return;
    const simd::SimdTable &simd = bench.isa.kernels;
    std::printf("\ninteger micro-kernels %d x %d, one thread, best; GOP/s%32s codes or elements a ns\n", simd.integer.rows,
                simd.integer.columns, "");
    std::printf("  %-8s %8s  %15s %15s %15s %15s %7s %7s %8s\n", "type", "peak", "packed, near", "packed", "unpacked, near", "unpacked",
                "unpack", "expand", "quantise");
    for (std::size_t i = 0; i < core::dtype_count(); i++) {
        const core::DTypeTraits &type = core::dtype_at(i);
        if (bench.wants(type) && simd.integer.formats[i].unpack) report_row(bench, type, i);
    }
}

}  // namespace tensorlib::bench
