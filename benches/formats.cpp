// The storage types on one thread: encoding and decoding, in GB of floats a second, compared with a copy of the same floats;
// and a large matrix quantised with all threads.
#include "sections.hpp"
#include "support.hpp"

#include "cpu/cpu_backend.hpp"
#include "cpu/quantize.hpp"
#include "dtype/dtype.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace tensorlib::bench {

namespace {

using core::DType;
using core::DTypeTraits;

// 256 KiB: a second-level cache, so that neither side waits for memory.
constexpr std::int64_t n_values = 65536;
// The matrix: 1 GiB, more than caches hold.
constexpr std::int64_t n_rows = 65536, n_per_row = 4096;

std::vector<float> weights(std::int64_t n) {
    std::vector<float> values(static_cast<std::size_t>(n));
    fill_normal(values, 1, 1e-4f);
    return values;
}

// All ISAs write the same bytes; checked before anything is timed.
std::vector<unsigned char> encoded(const Bench &bench, const DTypeTraits &type, const std::vector<float> &values) {
    const std::size_t index = core::dtype_index(type.type);
    std::vector<unsigned char> blocks(values.size() / static_cast<std::size_t>(type.block_size) * type.size), other(blocks.size());
    bench.isa.kernels.formats[index].encode(values.data(), nullptr, blocks.data(), n_values);
    type.encode(values.data(), nullptr, other.data(), n_values);
    check(blocks == other, std::string("encoding of ") + type.name);
    return blocks;
}

void report_format(const Bench &bench, const DTypeTraits &type, const std::vector<float> &values) {
    const auto &own = bench.isa.kernels.formats[core::dtype_index(type.type)];
    const auto &plain = core::isa_at(core::isa_count() - 1).kernels.formats[core::dtype_index(type.type)];
    std::vector<unsigned char> blocks = encoded(bench, type, values);
    std::vector<float> back(values.size());
    const Others others;
    // The slowest types take a second for the whole; a part is enough for them.
    const std::int64_t part = type.block_size == 256 ? n_values / 8 : n_values;
    std::vector<Contender> contenders = {
        {"encode", [&] { own.encode(values.data(), nullptr, blocks.data(), part); }},
        {"decode", [&] { own.decode(blocks.data(), back.data(), n_values); }},
        {"copy", [&] { std::memcpy(back.data(), values.data(), n_values * sizeof(float)); }},
        {"encode, baseline", [&] { plain.encode(values.data(), nullptr, blocks.data(), part); }},
    };
    in_turn(contenders, bench.budget, 0);
    const auto rate = [&](std::size_t i, std::int64_t n) {
        return static_cast<double>(n) * sizeof(float) / contenders[i].times().best * 1e-9;
    };
    const double encode = rate(0, part), baseline = rate(3, part);
    std::printf("%c %-8s %10.4f %10.2f %10.2f %12.4f %8.2f\n", others.cores() > 0.05 ? '*' : ' ', type.name, encode, rate(1, n_values),
                rate(2, n_values), baseline, encode / baseline);
    std::fflush(stdout);
}

void report_matrix(const Bench &bench, DType dtype, const std::vector<float> &matrix, int threads) {
    const DTypeTraits &type = core::traits(dtype);
    core::BackendParams params;
    params.n_threads = threads;
    const core::Ref<core::Backend> backend = core::cpu_device().open(params);
    std::vector<unsigned char> blocks(matrix.size() / static_cast<std::size_t>(type.block_size) * type.size);
    const core::Quantization job{dtype, matrix.data(), blocks.data(), n_rows, n_per_row};
    std::vector<Contender> contenders = {{"quantize", [&] { core::quantize("quantize", *backend, job); }}};
    in_turn(contenders, bench.budget, 0);
    const double seconds = contenders[0].times().best;
    std::printf("  %lld x %lld floats to %s, threads: %d: %.2f s, %.2f GB/s\n", static_cast<long long>(n_rows),
                static_cast<long long>(n_per_row), type.name, threads, seconds,
                static_cast<double>(matrix.size()) * sizeof(float) / seconds * 1e-9);
}

}  // namespace

void report_formats(const Bench &bench) {
    std::printf("\nFormats on one thread, GB of floats a second\n  %-8s %10s %10s %10s %12s %8s\n", "format", "encode", "decode", "copy",
                "encode on", "times");
    std::printf("  %-8s %10s %10s %10s %12s %8s\n", "", "", "", "", "baseline", "that");
    const std::vector<float> values = weights(n_values);
    for (std::size_t i = 0; i < core::dtype_count(); i++) {
        if (core::dtype_at(i).kind != core::Kind::integer) report_format(bench, core::dtype_at(i), values);
    }
    // Minutes on slower ISAs, and nothing new there.
    if (bench.isa.name != core::isa_at(0).name) return;
    std::printf("\nA file's worth of floats\n");
    const std::vector<float> matrix = weights(n_rows * n_per_row);
    for (const int threads : bench.threads) {
        for (const DType type : {DType::q4_K, DType::q8_0}) report_matrix(bench, type, matrix, threads);
    }
}

}  // namespace tensorlib::bench
