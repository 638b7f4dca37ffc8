// cpy between types and get_rows, from and to memory, compared with a loop that only reads and stores (past the caches) as many bytes:
// GB/s of all bytes that are read and written.
#include "api/devices.hpp"
#include "graph/graph.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "sections.hpp"
#include "support.hpp"
#include "tensors.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace tensorlib::bench {

namespace {

using core::DType;
using core::Ref;

// 256 MiB of floats, past every cache, in rows as of an embedding.
constexpr std::int64_t row = 4096, n_rows = 16384;

// Small integers, which F16 and BF16 hold, of a type with floats or blocks.
core::Tensor *matrix(core::Context &context, DType type) {
    core::Tensor *t = leaf(context, type, std::array{row, n_rows});
    std::vector<float> rows(static_cast<std::size_t>(row * different_rows));
    fill(rows, 1);
    repeat_rows(*t, rows);
    return t;
}

std::vector<float> row_of(const core::Tensor *t, std::int64_t r) {
    std::vector<float> values(static_cast<std::size_t>(row));
    core::traits(t->layout.type).decode(t->address() + r * static_cast<std::int64_t>(t->layout.row_bytes()), values.data(), row);
    return values;
}

#if defined(__SSE2__)
// Pages of `to`, for each of which its share of `from` is read.
void read_and_stream(std::int64_t from_bytes, const std::byte *from, std::int64_t to_bytes, std::byte *to) {
    constexpr std::int64_t page = 4096;
    const std::int64_t share = from_bytes * page / to_bytes / 64 * 64;
    __m128i all = _mm_setzero_si128();
    for (std::int64_t at = 0; at + page <= to_bytes; at += page, from += share) {
        for (std::int64_t i = 0; i < share; i += 16) all = _mm_xor_si128(all, _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i)));
        for (std::int64_t i = 0; i < page; i += 16) _mm_stream_si128(reinterpret_cast<__m128i *>(to + at + i), all);
    }
    _mm_sfence();
}
#endif

struct Copy {
    std::string name;
    core::Tensor *node;
};

void report_copy(const Bench &bench, core::Context &context, const Copy &copy) {
    core::Tensor *node = copy.node;
    const auto from_bytes = static_cast<std::int64_t>(node->src[0]->layout.nbytes()),
               to_bytes = static_cast<std::int64_t>(node->layout.nbytes());
    const auto bytes = static_cast<double>(from_bytes + to_bytes);
    const auto graph = core::Graph::create(context, {&node, 1});
    for (const int threads : bench.threads) {
        core::BackendParams params;
        params.n_threads = threads;
        const Ref<core::Backend> cpu = core::open_backend("cpu", params);
        core::ThreadPool pool(threads);
        core::compute(*graph, *cpu);
        for (std::int64_t r = 0; r < n_rows; r += 997) {
            const core::Tensor *from = node->src[0];
            const bool by_number = node->op == core::Op::get_rows;
            const std::int64_t number = by_number ? reinterpret_cast<const std::int32_t *>(node->src[1]->address())[r] : r;
            check(row_of(node, r) == row_of(from, number), copy.name);
        }
        std::vector<Contender> contenders{{copy.name, [&] { core::compute(*graph, *cpu); }}};
#if defined(__SSE2__)
        const std::int64_t chunks = 4 * std::int64_t{threads}, from_part = from_bytes / chunks, to_part = to_bytes / chunks;
        contenders.push_back({"reading and storing", [&] {
                                  auto task = [&](std::int64_t i, int) noexcept {
                                      read_and_stream(from_part, node->src[0]->address() + i * from_part, to_part,
                                                      node->address() + i * to_part);
                                  };
                                  pool.run(chunks, task);
                              }});
#endif
        const Others others;
        in_turn(contenders, bench.budget, 0);
        const Times ours = contenders[0].times();
        std::printf("%c %-28s %3d  %8.1f %8.1f %5.1f %%", others.cores() > 0.05 ? '*' : ' ', copy.name.c_str(), threads,
                    bytes / ours.best * 1e-9, bytes / ours.median * 1e-9, 100 * ours.spread);
#if defined(__SSE2__)
        const double limit = contenders[1].times().best;
        std::printf("  %8.1f %6.1f %%", bytes / limit * 1e-9, 100 * limit / ours.best);
#endif
        std::printf("\n");
        std::fflush(stdout);
    }
}

}  // namespace

void report_copies(const Bench &bench) {
    std::printf("\ncpy and get_rows, from and to memory; GB/s read and written%51s\n  %-28s %3s  %8s %8s %7s  %8s %8s\n", "", "", "thr",
                "best", "median", "spread", "limit", "of it");
    const Ref<core::Context> context = core::Context::create({});
    core::Tensor *floats = matrix(*context, DType::f32), *to = leaf(*context, DType::f32, std::array{row, n_rows});
    // Every row once, in an order without order: 9973 is coprime to 16384.
    core::Tensor *numbers = leaf(*context, DType::i32, std::array{n_rows});
    for (std::int64_t r = 0; r < n_rows; r++)
        reinterpret_cast<std::int32_t *>(numbers->address())[r] = static_cast<std::int32_t>(r * 9973 % n_rows);
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0}) {
        const std::string name = core::traits(type).name;
        core::Tensor *from = type == DType::f32 ? floats : matrix(*context, type);
        std::array<core::Tensor *, 2> src{from, to}, rows{from, numbers};
        core::Tensor *copy = core::build_node(*context, core::Op::cpy, src), *got = core::build_node(*context, core::Op::get_rows, rows);
        report_copy(bench, *context, {"cpy " + name + " to f32", copy});
        report_copy(bench, *context, {"get_rows of " + name, got});
        if (type != DType::f16 && type != DType::bf16) continue;
        src = {floats, leaf(*context, type, std::array{row, n_rows})};
        core::Tensor *back = core::build_node(*context, core::Op::cpy, src);
        report_copy(bench, *context, {"cpy f32 to " + name, back});
    }
}

}  // namespace tensorlib::bench
