#include "rows.hpp"

#include <algorithm>
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

// The kernel that a plan gives its first step: "...: NAME, 123 flops, ...".
std::string kernel_of(const std::string &plan) {
    const std::size_t flops = plan.find(" flops, ");
    const std::size_t colon = flops == std::string::npos ? flops : plan.rfind(": ", flops);
    check(colon != std::string::npos, "a plan has no step: " + plan);
    return plan.substr(colon + 2, plan.find(',', colon) - colon - 2);
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

// Operations bound by arithmetic, of which the library has one kernel.
void rate_row(Gpu &gpu, const std::string &operation, const Graph &graph, int repetitions, double flops) {
    std::array<Contender, 1> one{Contender{operation, [&] { graph.compute(gpu.built_in); }}};
    in_turn(one, gpu.budget, 0);
    const Times &times = one[0].times();
    std::printf("| %s | `%s` | %.4f | %.4f | %.1f TFLOP/s | | |\n", operation.c_str(), kernel_of(graph.plan_text(gpu.built_in)).c_str(),
                times.best * 1e3 / repetitions, times.median * 1e3 / repetitions, flops * tera * repetitions / times.best);
    std::fflush(stdout);
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

void weights_row(Gpu &gpu, Type type, std::int64_t k, std::int64_t m, std::int64_t n) {
    const Context ctx(gpu.as_is);
    // Few rows, repeated: encoding all of them would take longer than the measurement.
    const std::int64_t different = std::min<std::int64_t>(m, 64);
    const Tensor right = ctx.tensor<float>({k, n}, filled(k * n, 1)), first = ctx.zeros(type, {k, different});
    first.write_f32(filled(k * different, 2));
    std::vector<std::byte> bytes(first.nbytes());
    first.read_bytes(bytes.data(), 0, bytes.size());
    std::vector<Tensor> products;
    std::size_t of_weight = 0;
    for (int i = 0; i < 8; i++) {
        const Tensor weight = ctx.zeros(type, {k, m});
        of_weight = weight.nbytes();
        for (std::size_t at = 0; at < of_weight; at += bytes.size())
            weight.write_bytes(bytes.data(), at, std::min(bytes.size(), of_weight - at));
        products.push_back(mul_mat(weight, right));
    }
    const Graph graph(products);
    const std::string operation =
        "mul_mat " + std::string(type_name(type)) + " " + std::to_string(k) + " x " + std::to_string(m) + ", n = " + std::to_string(n);
    graph.compute(gpu.built_in);
    if (n <= matvec_columns) {
        memory_row(gpu, operation, graph, 8, static_cast<double>(of_weight) + 4.0 * static_cast<double>((k + m) * n));
        return;
    }
    rate_row(gpu, operation, graph, 8, 2.0 * static_cast<double>(k * m * n));
}

void attention_row(Gpu &gpu, std::int64_t n, std::int64_t keys) {
    constexpr std::int64_t head = 128, heads = 32, kv_heads = 8;
    const Context ctx(gpu.as_is);
    const auto halves = [&](std::uint64_t seed) {
        const Tensor t = ctx.zeros(Type::f16, {head, keys, kv_heads});
        t.write_f32(filled(head * keys * kv_heads, seed));
        return t;
    };
    const Tensor q = ctx.tensor<float>({head, n, heads}, filled(head * n * heads, 3));
    std::vector<Tensor> results;
    // Keys and values of several layers, more than the L2.
    const int layers = n == 1 ? 8 : 1;
    for (int i = 0; i < layers; i++) {
        const auto seed = static_cast<std::uint64_t>(2 * i);
        results.push_back(flash_attn_ext(q, halves(seed), halves(seed + 1), std::nullopt, std::nullopt, {.scale = 0.01}));
    }
    const Graph graph(results);
    graph.compute(gpu.built_in);
    const std::string operation = "attention of " + std::to_string(n) + " queries to " + std::to_string(keys) + " keys";
    if (n == 1) {
        memory_row(gpu, operation, graph, layers, 2.0 * 2.0 * static_cast<double>(head * keys * kv_heads));
        return;
    }
    rate_row(gpu, operation, graph, layers, 4.0 * static_cast<double>(head * heads * n * keys));
}

void delta_row(Gpu &gpu, std::int64_t tokens, std::int64_t size) {
    constexpr std::int64_t heads = 32;
    const Context ctx(gpu.as_is);
    std::uint64_t seed = 0;
    // Small numbers, so that states stay finite over thousands of tokens.
    const auto tensor = [&](std::initializer_list<std::int64_t> shape, std::int64_t n) {
        std::vector<float> values = filled(n, seed++);
        for (float &value : values) value *= 0.01f;
        return ctx.tensor<float>(shape, values);
    };
    const Tensor q = tensor({size, heads, tokens}, size * heads * tokens), k = tensor({size, heads, tokens}, size * heads * tokens),
                 v = tensor({size, heads, tokens}, size * heads * tokens), g = tensor({1, heads, tokens}, heads * tokens),
                 beta = tensor({1, heads, tokens}, heads * tokens);
    std::vector<Tensor> results;
    // States of several layers, more than the L2.
    const int layers = tokens == 1 ? 64 : 1;
    for (int i = 0; i < layers; i++) results.push_back(gated_delta_net(q, k, v, g, beta, tensor({size, size, heads}, size * size * heads)));
    const Graph graph(results);
    graph.compute(gpu.built_in);
    const std::string operation =
        "gated_delta_net, " + std::to_string(heads) + " heads of " + std::to_string(size) + ", tokens: " + std::to_string(tokens);
    const auto elements = static_cast<double>(size * size * heads);
    if (tokens == 1) {
        memory_row(gpu, operation, graph, layers, 2 * 4 * elements);
        return;
    }
    rate_row(gpu, operation, graph, layers, 7 * elements * static_cast<double>(tokens));
}

void row_rows(Gpu &gpu, std::int64_t row, std::int64_t elements) {
    const Context ctx(gpu.as_is);
    const Tensor a = ctx.tensor<float>({row, elements / row}, filled(elements, 1));
    const std::string of = " F32, rows of " + std::to_string(row);
    const double read = 4.0 * static_cast<double>(elements);
    memory_row(gpu, "rms_norm" + of, Graph({rms_norm(a, 1e-6)}), 1, 2 * read);
    memory_row(gpu, "soft_max" + of, Graph({soft_max(a)}), 1, 2 * read);
    memory_row(gpu, "sum" + of, Graph({sum(a, {.dims = {0}})}), 1, read);
}

void program_row(Gpu &gpu, std::int64_t n) {
    const Context ctx(gpu.as_is);
    const Tensor product = mul(silu(ctx.tensor<float>({n}, filled(n, 1))), ctx.tensor<float>({n}, filled(n, 2)));
    memory_row(gpu, "silu(a) * b F32, " + std::to_string(n) + " elements", Graph({product}), 1, 12.0 * static_cast<double>(n));
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
