// The error that rounding costs, by storage type: the error of a product relative to the size of the product (both root mean squares).
// Weights are as stored, and activations are rounded as mul_mat does, or in 32s to Q8_0 as many libraries do. Two more columns show the
// error of mul_mat_exact, and the error that storing gives the weights. Oracles in double.
#include "api/devices.hpp"
#include "dtype/dtype.hpp"
#include "graph/graph.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "sections.hpp"
#include "support.hpp"
#include "tensors.hpp"

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

// A tensor of these rows of k, as its type holds them.
core::Tensor *stored(core::Context &context, DType type, const Floats &rows) {
    core::Tensor *t = leaf(context, type, std::array{k, static_cast<std::int64_t>(rows.size()) / k});
    repeat_rows(*t, rows);
    return t;
}

Floats values_of(const core::Tensor &t) {
    Floats values(static_cast<std::size_t>(t.layout.n_elements()));
    core::traits(t.layout.type).decode(t.address(), values.data(), t.layout.n_elements());
    return values;
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

// By the kernels of this ISA.
Floats computed(core::Context &context, core::Tensor *a, core::Tensor *b, bool exact) {
    std::array<core::Tensor *, 2> src{a, b};
    const std::array<std::int64_t, 1> one{1};
    const std::array<core::Attr, 1> attrs{core::Attr::of_ints("exact", one)};
    core::Tensor *c = core::build_node(context, core::Op::mul_mat, src, std::span(attrs).first(exact ? 1 : 0));
    core::compute(*core::Graph::create(context, {&c, 1}), *core::open_backend("cpu", {}));
    return values_of(*c);
}

// Columns of activations: as they are, and rounded to Q8_0.
struct Columns {
    Floats values, in_32s;

    explicit Columns(const Floats &x) : values(x) {
        const Ref<core::Context> context = core::Context::create({});
        in_32s = values_of(*stored(*context, DType::q8_0, x));
    }
};

}  // namespace

void report_accuracy(const Bench &bench) {
    std::printf(
        "\nerrors of products [%d, %d] x [%d, %d] by their size, per cent; weights normal, activations normal or with outliers\n"
        "(one in 131 is 20 times as large)\n  %-8s %8s  %8s %8s %8s  %8s %8s %8s\n",
        static_cast<int>(k), static_cast<int>(m), static_cast<int>(k), static_cast<int>(n), "type", "stored", "mul_mat", "as Q8_0", "exact",
        "outliers", "as Q8_0", "exact");
    Floats weights(static_cast<std::size_t>(k * m)), normal(static_cast<std::size_t>(k * n));
    fill_normal(weights, 1, 1e-4f);
    fill_normal(normal, 7, 1e-2f);
    Floats outliers = normal;
    // An odd distance, so that they come to any place of a block.
    for (std::size_t i = 0; i < outliers.size(); i += 131) outliers[i] *= 20;
    const Columns columns[] = {Columns(normal), Columns(outliers)};
    const std::vector<double> not_stored = product(weights, normal);
    for (std::size_t i = 0; i < core::dtype_count(); i++) {
        const DTypeTraits &type = core::dtype_at(i);
        if (!bench.wants(type) || !may_be_weights(type)) continue;
        const Ref<core::Context> context = core::Context::create({});
        core::Tensor *a = stored(*context, type.type, weights);
        const Floats kept = values_of(*a);
        const std::vector<double> wanted[] = {product(kept, columns[0].values), product(kept, columns[1].values)};
        std::printf("  %-8s %8.3f ", type.name, 100 * error(wanted[0], not_stored));
        for (std::size_t c = 0; c < 2; c++) {
            core::Tensor *b = stored(*context, DType::f32, columns[c].values);
            std::printf(" %8.3f %8.3f %8.5f ", 100 * error(computed(*context, a, b, false), wanted[c]),
                        100 * error(product(kept, columns[c].in_32s), wanted[c]), 100 * error(computed(*context, a, b, true), wanted[c]));
        }
        std::printf("\n");
        std::fflush(stdout);
    }
}

}  // namespace tensorlib::bench
