#include "rows.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace tensorlib::bench {
namespace {

std::vector<float> filled(std::int64_t n, std::uint64_t seed) {
    std::vector<float> values(static_cast<std::size_t>(n));
    fill(values, seed);
    return values;
}

// The kernel that a plan gives its first step: "...: NAME, 1 phases, ...".
std::string kernel_of(const std::string &plan) {
    const std::size_t phases = plan.find(" phases");
    const std::size_t comma = phases == std::string::npos ? phases : plan.rfind(", ", phases);
    const std::size_t colon = comma == std::string::npos ? comma : plan.rfind(": ", comma);
    return colon == std::string::npos ? "?" : plan.substr(colon + 2, comma - colon - 2);
}

// A line of the table. `work` in bytes or operations per repetition; the limit in the same unit per second.
void print_row(const std::string &operation, const std::string &kernel, const Times &times, int repetitions, double work, const char *unit,
               const std::string &limit_name, double limit) {
    const double best = times.best / repetitions, median = times.median / repetitions, rate = work / best;
    std::printf("| %s | `%s` | %.4f | %.4f | %.1f %s | %s %.1f | %.0f %% |\n", operation.c_str(), kernel.c_str(), best * 1e3, median * 1e3,
                rate, unit, limit_name.c_str(), limit, 100 * rate / limit);
    std::fflush(stdout);
}

constexpr double giga = 1e-9, tera = 1e-12;

// Operations bound by memory: the graph and the copy in turn.
void memory_row(Gpu &gpu, const std::string &operation, const Graph &graph, int repetitions, double bytes) {
    std::array<Contender, 2> both{Contender{operation, [&] { graph.compute(gpu.built_in); }}, Contender{"copy", [&] { gpu.copy.run(); }}};
    in_turn(both, gpu.budget, 0);
    print_row(operation, kernel_of(graph.plan_text(gpu.built_in)), both[0].times(), repetitions, bytes * giga, "GB/s", "copy",
              gpu.copy.traffic() * giga / both[1].times().best);
}

// Some elements of a product against sums of integers, which are exact in whatever order.
void check_product(const std::vector<float> &a, const std::vector<float> &b, const Tensor &product, std::int64_t k, std::int64_t m,
                   std::int64_t n) {
    const std::vector<float> got = product.read<float>();
    for (std::int64_t sample = 0; sample < 256; sample++) {
        // Strides without a common divisor with the sizes reach all rows and columns.
        const std::int64_t row = sample * 131 % m, column = sample * 37 % n;
        double sum = 0;
        for (std::int64_t i = 0; i < k; i++) {
            sum += static_cast<double>(a[static_cast<std::size_t>(i + k * row)]) *
                   static_cast<double>(b[static_cast<std::size_t>(i + k * column)]);
        }
        check(static_cast<double>(got[static_cast<std::size_t>(row + m * column)]) == sum, "mul_mat, an element differs from its sum");
    }
}

}  // namespace

void print_head() {
    std::puts("| operation | kernel | best ms | median ms | rate | limit, same run | of the limit |");
    std::puts("|---|---|---|---|---|---|---|");
}

void mul_mat_row(Gpu &gpu, std::int64_t k, std::int64_t m, std::int64_t n, int n_weights, int n_products) {
    const Context ctx(gpu.as_is);
    const std::vector<float> b = filled(k * n, 1);
    const Tensor right = ctx.tensor<float>({k, n}, b);
    const std::vector<float> a = filled(k * m, 2);
    std::vector<Tensor> weights{ctx.tensor<float>({k, m}, a)}, products;
    for (int i = 1; i < n_weights; i++) weights.push_back(ctx.tensor<float>({k, m}, filled(k * m, 2 + static_cast<std::uint64_t>(i))));
    for (int i = 0; i < n_products; i++) products.push_back(mul_mat(weights[static_cast<std::size_t>(i % n_weights)], right));
    const Graph graph(products);
    const std::string operation = "mul_mat F32 " + std::to_string(k) + " x " + std::to_string(m) + ", n = " + std::to_string(n);

    graph.compute(gpu.built_in);
    check_product(a, b, products.front(), k, m, n);
    if (n <= matvec_columns) {
        // Weights are read once; the right-hand side and the result are small in comparison.
        const double elements = static_cast<double>(k * m + (k + m) * n);
        memory_row(gpu, operation, graph, n_products, 4 * elements);
        return;
    }
    const std::string built_in = kernel_of(graph.plan_text(gpu.built_in)), chosen = kernel_of(graph.plan_text(gpu.as_is));
    graph.compute(gpu.as_is);
    check_product(a, b, products.front(), k, m, n);
    std::array<Contender, 2> both{Contender{built_in, [&] { graph.compute(gpu.built_in); }},
                                  Contender{chosen, [&] { graph.compute(gpu.as_is); }}};
    in_turn(both, gpu.budget, 0);
    const double flops = 2.0 * static_cast<double>(k * m * n) * tera;
    const Times ours = both[0].times(), theirs = both[1].times();
    const double limit = flops * n_products / theirs.best;
    if (built_in == chosen) {
        std::printf("| %s | `%s` | %.4f | %.4f | %.1f TFLOP/s | no cuBLASLt on this machine | |\n", operation.c_str(), built_in.c_str(),
                    ours.best * 1e3 / n_products, ours.median * 1e3 / n_products, flops * n_products / ours.best);
        return;
    }
    print_row(operation, built_in, ours, n_products, flops, "TFLOP/s", "cuBLASLt", limit);
    print_row(operation, chosen, theirs, n_products, flops, "TFLOP/s", "cuBLASLt", limit);
}

void add_row(Gpu &gpu, std::int64_t n) {
    const Context ctx(gpu.as_is);
    const std::vector<float> a = filled(n, 1), b = filled(n, 2);
    const Tensor sum = add(ctx.tensor<float>({n}, a), ctx.tensor<float>({n}, b));
    const Graph graph({sum});
    graph.compute(gpu.built_in);
    const std::vector<float> got = sum.read<float>();
    for (std::size_t i = 0; i < got.size(); i++) check(got[i] == a[i] + b[i], "add");
    memory_row(gpu, "add F32, " + std::to_string(n) + " elements", graph, 1, 12.0 * static_cast<double>(n));
}

void cpy_row(Gpu &gpu, std::int64_t n, Type to) {
    const Context ctx(gpu.as_is);
    const std::vector<float> a = filled(n, 1);
    const Tensor copied = cpy(ctx.tensor<float>({n}, a), ctx.zeros(to, {n}));
    const Graph graph({copied});
    graph.compute(gpu.built_in);
    check(copied.read_f32() == a, "cpy");  // small integers are exact in every type
    const double bytes = static_cast<double>(4 * n) + static_cast<double>(copied.nbytes());
    memory_row(gpu, "cpy F32 to " + std::string(type_name(to)) + ", " + std::to_string(n) + " elements", graph, 1, bytes);
}

}  // namespace tensorlib::bench
