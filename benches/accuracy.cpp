// What rounding costs, by storage type: the error of a product by the size of the product (both root mean squares), where weights are as
// they are stored and activations are rounded as mul_mat does, or in 32s to Q8_0 as many libraries do; that of mul_mat_exact; and beside
// them the error that the weights have from being stored. Oracles in double.
#include "api/devices.hpp"
#include "dtype/dtype.hpp"
#include "graph/graph.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "sections.hpp"
#include "support.hpp"
#include "tensors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace tensorlib::bench {

namespace {

using core::DType;
using core::DTypeTraits;
using core::Ref;

constexpr std::int64_t k = 4096, m = 64, n = 32;

using Floats = std::vector<float>;

// Rows of k to a type's blocks and back.
Floats stored(const DTypeTraits &type, const Floats &values) {
    std::vector<std::byte> blocks(values.size() / static_cast<std::size_t>(type.block_size) * type.size);
    check(type.encode(values.data(), nullptr, blocks.data(), static_cast<std::int64_t>(values.size())) == -1, type.name);
    Floats back(values.size());
    type.decode(blocks.data(), back.data(), static_cast<std::int64_t>(values.size()));
    return back;
}

// [n][m] in double.
std::vector<double> product(const Floats &a, const Floats &b) {
    std::vector<double> c;
    for (std::int64_t j = 0; j < n; j++) {
        for (std::int64_t i = 0; i < m; i++) {
            double sum = 0;
            for (std::int64_t l = 0; l < k; l++)
                sum += double{a[static_cast<std::size_t>(i * k + l)]} * double{b[static_cast<std::size_t>(j * k + l)]};
            c.push_back(sum);
        }
    }
    return c;
}

template <class T>
double error(const std::vector<T> &got, const std::vector<double> &want) {
    double off = 0, size = 0;
    for (std::size_t i = 0; i < want.size(); i++) off += (double{got[i]} - want[i]) * (double{got[i]} - want[i]), size += want[i] * want[i];
    return std::sqrt(off / size);
}

// By the kernels of this level.
Floats computed(const DTypeTraits &type, const Floats &weights, const Floats &activations, bool exact) {
    const Ref<core::Context> context = core::Context::create({});
    std::array<core::Tensor *, 2> src{leaf(*context, type.type, std::array{k, m}), leaf(*context, DType::f32, std::array{k, n})};
    repeat_rows(*src[0], weights);
    repeat_rows(*src[1], activations);
    const std::array<std::int64_t, 1> one{1};
    const std::array<core::Attr, 1> attrs{core::Attr::of_ints("exact", one)};
    core::Tensor *c = core::build_node(*context, core::Op::mul_mat, src, std::span(attrs).first(exact ? 1 : 0));
    core::compute(*core::Graph::create(*context, {&c, 1}), *core::open_backend("cpu", {}));
    const auto *values = reinterpret_cast<const float *>(c->address());
    return {values, values + m * n};
}

}  // namespace

void report_accuracy(const Bench &bench) {
    std::printf(
        "\nerrors of products [%d, %d] x [%d, %d] by their size, per cent; weights normal, activations normal or with outliers\n"
        "(one in 128 is 20 times as large)\n  %-8s %8s  %8s %8s %8s  %8s %8s %8s\n",
        static_cast<int>(k), static_cast<int>(m), static_cast<int>(k), static_cast<int>(n), "type", "stored", "mul_mat", "as Q8_0", "exact",
        "outliers", "as Q8_0", "exact");
    Floats weights(static_cast<std::size_t>(k * m)), normal(static_cast<std::size_t>(k * n));
    fill_normal(weights, 1, 1e-4f);
    fill_normal(normal, 7, 1e-2f);
    Floats outliers = normal;
    // 131 is odd, so that outliers come to any place of a block.
    for (std::size_t i = 0; i < outliers.size(); i += 131) outliers[i] *= 20;
    const DTypeTraits &q8_0 = core::traits(DType::q8_0);
    const Floats columns[] = {normal, outliers}, in_32s[] = {stored(q8_0, normal), stored(q8_0, outliers)};
    for (std::size_t i = 0; i < core::dtype_count(); i++) {
        const DTypeTraits &type = core::dtype_at(i);
        const bool plain = type.type == DType::f32 || type.type == DType::f16 || type.type == DType::bf16;
        if (!plain && (type.kind != core::Kind::weight || type.block_size == 1)) continue;
        if (!bench.types.empty() && std::find(bench.types.begin(), bench.types.end(), type.name) == bench.types.end()) continue;
        const Floats kept = stored(type, weights);
        std::printf("  %-8s %8.3f ", type.name, 100 * error(product(kept, normal), product(weights, normal)));
        for (std::size_t c = 0; c < 2; c++) {
            const std::vector<double> want = product(kept, columns[c]);
            std::printf(" %8.3f %8.3f %8.5f ", 100 * error(computed(type, weights, columns[c], false), want),
                        100 * error(product(kept, in_32s[c]), want), 100 * error(computed(type, weights, columns[c], true), want));
        }
        std::printf("\n");
        std::fflush(stdout);
    }
}

}  // namespace tensorlib::bench
