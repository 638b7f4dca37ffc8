// The one-time cost of a constant's packed copy: making its panels from its blocks or floats, in fresh memory from the system, compared
// with a plain copy of the same bytes into such memory. GB/s of all bytes that are read and written.
#include "base/platform.hpp"
#include "cpu/packed_constants.hpp"
#include "dtype/dtype.hpp"
#include "sections.hpp"
#include "support.hpp"
#include "tensors.hpp"

#include <array>
#include <cstdio>
#include <cstring>

namespace tensorlib::bench {

namespace {

using core::DType;
using core::PackedPanels;
using core::Ref;

constexpr std::int64_t k = 4096;

Ref<PackedPanels> pack(const core::Tensor &a, const Bench &bench, core::ThreadPool &pool) {
    auto panels = Ref<PackedPanels>::adopt(new PackedPanels(a.layout, core::PackedAs::panels, bench.isa.kernels));
    check(panels->data(), "memory for a packed copy");
    panels->pack(a, pool);
    return panels;
}

// Into pages of its own, which are given back.
void copy(const core::Tensor &a, core::ThreadPool &pool) {
    const std::size_t all = a.layout.nbytes();
    auto *to = static_cast<std::byte *>(core::platform::allocate_pages(all));
    check(to, "memory for a copy");
    const std::int64_t chunks = 64;
    const std::size_t part = all / static_cast<std::size_t>(chunks);
    auto task = [&](std::int64_t chunk, int) noexcept {
        const std::size_t at = static_cast<std::size_t>(chunk) * part;
        std::memcpy(to + at, a.address() + at, chunk == chunks - 1 ? all - at : part);
    };
    pool.run(chunks, task);
    core::platform::free_pages(to, all);
}

void check_panels(const core::Tensor &a, const PackedPanels &panels) {
    const std::size_t row_bytes = a.layout.row_bytes();
    std::vector<std::byte> row(row_bytes);
    for (std::int64_t r = 0; r < a.layout.ne[1]; r += 97) {
        panels.rebuild(r, 1, row.data());
        check(std::memcmp(row.data(), a.address() + static_cast<std::size_t>(r) * row_bytes, row_bytes) == 0,
              std::string("packed copy of ") + core::traits(a.layout.type).name);
    }
}

void report_row(const Bench &bench, const core::Tensor &a, int threads) {
    core::ThreadPool pool(threads);
    const Ref<PackedPanels> panels = pack(a, bench, pool);
    check_panels(a, *panels);
    std::array<Contender, 2> contenders{Contender{"packing", [&] { pack(a, bench, pool); }}, Contender{"copying", [&] { copy(a, pool); }}};
    const Others others;
    in_turn(contenders, bench.budget, 0);
    const Times ours = contenders[0].times(), copying = contenders[1].times();
    const auto read = static_cast<double>(a.layout.nbytes()), bytes = read + static_cast<double>(panels->bytes());
    std::printf("%c %-8s %3d  %8.1f %8.1f %5.1f %%  %8.1f %6.1f %%  %8.2f\n", others.cores() > 0.05 ? '*' : ' ',
                core::traits(a.layout.type).name, threads, bytes / ours.best * 1e-9, bytes / ours.median * 1e-9, 100 * ours.spread,
                2 * read / copying.best * 1e-9, 100 * (bytes / ours.best) / (2 * read / copying.best),
                static_cast<double>(a.layout.n_elements()) / ours.best * 1e-9);
    std::fflush(stdout);
}

}  // namespace

void report_packing(const Bench &bench) {
    std::printf(
        "\npacked copies of constants of 257 MB, rows of %d; GB/s read and written, of a plain copy's, and weights a nanosecond\n"
        "  %-8s %3s  %8s %8s %7s  %8s %8s  %8s\n",
        static_cast<int>(k), "type", "thr", "best", "median", "spread", "copying", "of it", "weights");
    std::vector<float> rows(static_cast<std::size_t>(k * different_rows));
    fill_normal(rows, 1, 1e-2f);
    for (std::size_t i = 0; i < core::dtype_count(); i++) {
        const core::DTypeTraits &type = core::dtype_at(i);
        const core::simd::SimdTable::PanelFormat &format = bench.isa.kernels.panels[i];
        // Without a way back there is nothing to check a copy by.
        if (format.rows == 0 || !format.rebuild || !bench.wants(type)) continue;
        const Ref<core::Context> context = core::Context::create({});
        const auto row_bytes = static_cast<std::int64_t>(type.size) * k / type.block_size;
        core::Tensor *a = leaf(*context, type.type, std::array{k, cold_bytes / row_bytes});
        repeat_rows(*a, rows);
        for (const int threads : bench.threads) report_row(bench, *a, threads);
    }
}

}  // namespace tensorlib::bench
