// Norms and soft_max: against double, over random views and types, on every ISA; equal bits at any number of threads; and fused with the
// operations before and after them against one by one, bit for bit. Calls that must be refused are in the cases.
#include "random_tensors.hpp"
#include "wanted.hpp"

#include <numeric>
#include <optional>

namespace core = tensorlib::core;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;
using support::Builder;
using support::Ne;
using support::one_of;
using support::Random;

namespace {

constexpr double u = 0x1p-24;  // a rounding of F32

// ---- What is to come out, of a row or a group

using support::Wanted;
using Row = std::vector<double>;
using WantedRow = std::vector<Wanted>;

// 36 additions in F32 of 1,024 elements, the rest in double, and one for what that leaves out.
double sum_bound(std::size_t n) { return u * static_cast<double>(std::min<std::size_t>(n, 36) + 1); }

double sum_of(const Row &row) { return std::accumulate(row.begin(), row.end(), 0.0); }
double largest_of(const Row &row) { return row.empty() ? -HUGE_VAL : *std::ranges::max_element(row); }
bool all_finite(const Row &row) {
    return std::ranges::all_of(row, [](double x) { return std::isfinite(x); });
}
Wanted nothing() { return {std::nan(""), 0}; }

// (x - mean) / sqrt(variance + eps). The mean is off by its sum's error and a rounding, by which the mean square about it grows by no more
// than the square of that; then a rounding of each difference, square and result, of the root and of its inverse.
WantedRow standard(const Row &row, double eps) {
    const auto n = static_cast<double>(row.size());
    if (!all_finite(row)) return WantedRow(row.size(), nothing());
    double magnitude = 0, squares = 0;
    for (const double x : row) magnitude += std::fabs(x);
    const double mean = sum_of(row) / n, off = sum_bound(row.size()) * magnitude / n + u * std::fabs(mean);
    for (const double x : row) squares += (x - mean) * (x - mean) / n;
    const double factor = 1 / std::sqrt(squares + eps);
    const double relative = ((sum_bound(row.size()) + 3 * u) * squares + off * off) / (squares + eps) / 2 + 4 * u;
    WantedRow all;
    for (const double x : row) {
        const double value = (x - mean) * factor;
        all.push_back({value, 1.01 * (off * factor + std::fabs(value) * relative) + 0x1p-149});
    }
    return all;
}

// x times a factor that is made of the sum of squares.
template <class Factor>
WantedRow scaled(const Row &row, Factor factor_of) {
    double squares = 0;
    for (const double x : row) squares += x * x;
    const double factor = factor_of(squares), relative = (sum_bound(row.size()) + u) / 2 + 3 * u;
    WantedRow all;
    for (const double x : row) all.push_back({x * factor, 1.01 * std::fabs(x * factor) * relative + 0x1p-149});
    return all;
}

// offs: by how much each may be off. e^x is within an ulp, of a difference that is rounded and as far off as its two sides.
WantedRow soft_max(const Row &row, const Row &offs, std::optional<double> sink) {
    const double most = std::max(largest_of(row), sink.value_or(-HUGE_VAL)), off_most = offs.empty() ? 0 : largest_of(offs);
    const bool spoilt = std::ranges::any_of(row, [](double x) { return std::isnan(x) || x == HUGE_VAL; });
    if (spoilt || most == -HUGE_VAL) return WantedRow(row.size(), nothing());
    const auto power = [&](double x, double off) {
        if (x == -HUGE_VAL) return Wanted{0, 0};
        const double e = std::exp(x - most);
        return Wanted{e, e * (2 * u + u * (most - x) + off + off_most)};
    };
    WantedRow all;
    for (std::size_t i = 0; i < row.size(); i++) all.push_back(power(row[i], offs[i]));
    Wanted total = sink ? power(*sink, 0) : Wanted{0, 0};
    for (const Wanted &e : all) total.value += e.value, total.bound += e.bound;
    const double relative = total.bound / total.value + sum_bound(row.size()) + 3 * u;
    for (Wanted &e : all) {
        e.bound = e.value > 0 ? 1.01 * (e.bound + e.value * relative) / total.value + 0x1p-148 : 0;
        e.value /= total.value;
    }
    return all;
}

// The sum is off by its additions and by each power, within an ulp of a difference that is rounded; its logarithm by as much as the sum
// relative to itself. Then a rounding each of the logarithm, the difference and the result, which has the magnitudes of both.
WantedRow log_soft_max(const Row &row) {
    const double most = largest_of(row);
    const bool spoilt = std::ranges::any_of(row, [](double x) { return std::isnan(x) || x == HUGE_VAL; });
    if (spoilt || most == -HUGE_VAL) return WantedRow(row.size(), nothing());
    double total = 0, off = 0;
    for (const double x : row) {
        if (x == -HUGE_VAL) continue;
        const double e = std::exp(x - most);
        total += e;
        off += e * (2 * u + u * (most - x));
    }
    const double log_sum = std::log(total), relative = off / total + sum_bound(row.size());
    WantedRow all;
    for (const double x : row) {
        const double value = x - most - log_sum;
        all.push_back({value, x == -HUGE_VAL ? 0 : 1.01 * (relative + 2 * u * std::fabs(value))});
    }
    return all;
}

// ---- Calls

struct Call {
    Op op;
    std::vector<Attr> attrs{};
    bool masked = false, with_sinks = false;
};

constexpr float eps = 1e-3f, scale = 0.3f, max_bias = 4;
constexpr std::int64_t groups = 3;

const std::vector<Call> &all_calls() {
    const Attr of_eps = Attr::of_number("eps", eps), of_scale = Attr::of_number("scale", scale);
    static const std::vector<Call> calls{
        {Op::norm, {of_eps}},
        {Op::rms_norm, {of_eps}},
        {Op::l2_norm, {of_eps}},
        {Op::group_norm, {Attr::of_int("groups", groups), of_eps}},
        {Op::soft_max},
        {Op::log_soft_max},
        {Op::soft_max_ext, {of_scale}},
        {Op::soft_max_ext, {of_scale, Attr::of_number("max_bias", max_bias)}, true},
        {Op::soft_max_ext, {of_scale}, true, true},
    };
    return calls;
}

// The operands for an `a`: masks of rows, of heads and of batches, with rows that are not read.
std::vector<Tensor *> operands(Builder &build, const Call &call, Tensor *a, Random &random) {
    if (call.op != Op::soft_max_ext) return {a};
    const core::Extents &n = a->layout.ne;
    Ne mask = {n[0], n[1] + support::below(random, 3), n[2], n[3]};
    for (const std::size_t d : {2u, 3u}) {
        if (random() % 2 == 0 && mask[d] > 0) mask[d] = 1;
    }
    Tensor *sinks = build.leaf({n[2], 1, 1, 1});
    std::vector<float> values(static_cast<std::size_t>(n[2]));
    for (float &value : values) value = support::any_value(random);
    core::write_f32(*sinks, values.data(), values.size());
    return {a, call.masked ? build.operand(mask, one_of(random, support::float_types), random) : core::left_out(),
            call.with_sinks ? sinks : core::left_out()};
}

Tensor *node(Builder &build, const Call &call, const std::vector<Tensor *> &src) { return build.node(call.op, src, call.attrs); }

double slope_of(std::int64_t head, std::int64_t heads) {
    const double n = std::exp2(std::floor(std::log2(static_cast<double>(heads)))), h = static_cast<double>(head);
    const double bias = double{max_bias};
    return h < n ? std::pow(2.0, -bias * (h + 1) / n) : std::pow(2.0, -bias * (2 * (h - n) + 1) / (2 * n));
}

// All of a result, as the operands are now.
WantedRow wanted(const Call &call, const std::vector<Tensor *> &src) {
    const std::vector<float> a = support::values_of(src[0]);
    const core::Extents &n = src[0]->layout.ne;
    WantedRow all;
    const auto append = [&](const WantedRow &part) { all.insert(all.end(), part.begin(), part.end()); };
    if (call.op == Op::group_norm) {
        const std::int64_t size = (n[2] + groups - 1) / groups, plane = n[0] * n[1];
        for (std::int64_t i3 = 0; i3 < n[3]; i3++) {
            for (std::int64_t first = 0; first < n[2]; first += size) {
                const auto begin = a.begin() + plane * (i3 * n[2] + first);
                append(standard(Row(begin, begin + plane * std::min(size, n[2] - first)), double{eps}));
            }
        }
        return all;
    }
    const auto mask = call.masked ? support::values_of(src[1]) : std::vector<float>();
    const auto sinks = call.with_sinks ? support::values_of(src[2]) : std::vector<float>();
    for (std::int64_t r = 0; r < n[1] * n[2] * n[3]; r++) {
        Row row(a.begin() + r * n[0], a.begin() + (r + 1) * n[0]), offs(row.size());
        const auto count = static_cast<double>(row.size());
        if (call.op == Op::norm) append(standard(row, double{eps}));
        if (call.op == Op::rms_norm) append(scaled(row, [&](double squares) { return 1 / std::sqrt(squares / count + double{eps}); }));
        if (call.op == Op::l2_norm)
            append(scaled(row, [&](double squares) { return 1 / (std::sqrt(squares) < double{eps} ? double{eps} : std::sqrt(squares)); }));
        if (call.op == Op::soft_max) append(soft_max(row, offs, {}));
        if (call.op == Op::log_soft_max) append(log_soft_max(row));
        if (call.op != Op::soft_max_ext) continue;
        const std::int64_t i1 = r % n[1], head = r / n[1] % n[2], i3 = r / n[1] / n[2];
        for (std::size_t i = 0; i < row.size(); i++) {
            const double product = row[i] * double{scale};
            row[i] = product;
            double size = std::fabs(product);
            if (call.masked) {
                const core::Extents &m = src[1]->layout.ne;
                const std::int64_t at = static_cast<std::int64_t>(i) + m[0] * (i1 + m[1] * (head % m[2] + m[2] * (i3 % m[3])));
                const double of_mask = double{mask[static_cast<std::size_t>(at)]} * (call.attrs.size() > 1 ? slope_of(head, n[2]) : 1);
                row[i] += of_mask;
                size += 2 * std::fabs(of_mask) + std::fabs(row[i]);
            }
            offs[i] = std::isfinite(row[i]) ? u * size : 0;
        }
        append(soft_max(row, offs, call.with_sinks ? std::optional(double{sinks[static_cast<std::size_t>(head)]}) : std::nullopt));
    }
    return all;
}

// ---- Computing

// One of 32 is one that spoils a row or vanishes in it.
float mostly_numbers(Random &random) {
    constexpr float special[] = {0, -0.0f, -support::inf, -support::inf, support::inf, NAN, 1e-30f, 0x1p-149f};
    return random() % 256 == 0 ? one_of(random, special) : support::any_value(random);
}

TEST(Norms, agree_with_double_at_any_number_of_threads) {
    Random random(17);
    for (int draw = 0; draw < support::repeats(150, 2000); draw++) {
        for (const Call &call : all_calls()) {
            Builder build;
            build.draw = mostly_numbers;
            Ne ne = support::some_shape(random);
            if (call.op == Op::group_norm) ne[2] = std::max(ne[2], groups);
            const std::vector<Tensor *> src =
                operands(build, call, build.operand(ne, one_of(random, support::float_types), random), random);
            Tensor *result = node(build, call, src);
            ASSERT_TRUE(result->layout.ne == ne && result->layout.contiguous() && result->layout.type == src[0]->layout.type);
            const std::string what = op_name(call.op) + std::string(" of ") + core::tensor_text(*src[0]);
            const auto of_isas = support::computed_on_isas(build, result, what);
            for (std::size_t isa = 0; isa < of_isas.size(); isa++)
                support::expect_right(of_isas[isa], wanted(call, src), result->layout.type,
                                      what + " on " + support::all_backends()[isa].isa);
            ASSERT_FALSE(HasFailure());
        }
    }
}

// Rows enough for several chunks a thread, and few long ones.
TEST(Norms, of_many_rows_have_the_same_bits_at_any_number_of_threads) {
    Random random(5);
    for (const Ne &ne : {Ne{300, 1200, 3, 1}, Ne{70001, 3, 3, 1}}) {
        for (const Call &call : all_calls()) {
            Builder build;
            build.draw = support::any_value;
            const std::vector<Tensor *> src = operands(build, call, build.leaf(ne, DType::f32, random), random);
            Tensor *result = node(build, call, src);
            for (const auto &of_isa : support::computed_on_isas(build, result, op_name(call.op)))
                support::expect_right(of_isa, wanted(call, src), DType::f32, op_name(call.op));
            ASSERT_FALSE(HasFailure());
        }
    }
}

// Results that go past the caches, of rows that lie on whole lines or not, with and without what is joined, as those that do not.
TEST(Norms, of_large_results_have_the_bits_of_small_ones) {
    constexpr std::int64_t n = 4100, all = 4096, some = 8;  // 64 MiB and a little
    Random random(37);
    Builder build;
    build.draw = support::any_value;
    Tensor *few = build.leaf({n, some, 1, 1}, DType::f32, random), *row = build.leaf({n, 1, 1, 1}, DType::f32, random);
    const std::vector<float> rows = support::values_of(few);
    std::vector<float> values;
    while (values.size() < static_cast<std::size_t>(n * all)) values.insert(values.end(), rows.begin(), rows.end());
    Tensor *many = build.leaf({n, all, 1, 1}, DType::f32, values);
    const auto ends = [&](Tensor *a) {
        const Attr of_eps = Attr::of_number("eps", eps);
        const std::int64_t blocks = a->layout.ne[1] / some, ne[] = {n, some, blocks};
        Tensor *planes = build.node(Op::reshape, {a}, {Attr::of_ints("ne", ne)});
        return std::vector<Tensor *>{build.node(Op::norm, {a}, {of_eps}), build.node(Op::soft_max, {a}),
                                     build.node(Op::mul, {build.node(Op::l2_norm, {a}, {of_eps}), row}),
                                     build.node(Op::rms_norm, {build.node(Op::add, {a, row})}, {of_eps}),
                                     build.node(Op::group_norm, {planes}, {Attr::of_int("groups", blocks), of_eps})};
    };
    const std::vector<Tensor *> of_many = ends(many), of_few = ends(few);
    for (const auto &isa : support::all_backends()) {
        core::Backend &cpu = *isa.all[1];
        for (std::size_t i = 0; i < of_many.size(); i++) {
            Tensor *large = of_many[i], *small = of_few[i];
            core::compute(*build.graph({large}), cpu);
            core::compute(*build.graph({small}), cpu);
            const std::vector<float> got = support::values_of(large), want = support::values_of(small);
            for (std::size_t at = 0; at < got.size(); at += want.size()) {
                ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin() + static_cast<std::ptrdiff_t>(at))) << i << " at " << at;
            }
        }
    }
}

// ---- What follows: weight and bias, an activation, a residual, a scale.

// Whether the plan fuses a program that runs after the operation.
bool joins(Op op, core::Graph &graph, core::Backend &backend) {
    return core::plan_text(graph, backend).find(core::op_name(op) + std::string(" + ")) != std::string::npos;
}

TEST(Norms, and_what_follows_have_the_bits_of_one_by_one) {
    const auto &joined = support::all_backends();
    const auto apart = support::make_backends(false);
    Random random(23);
    for (int draw = 0; draw < support::repeats(100, 2000); draw++) {
        for (const Call &call : all_calls()) {
            Builder build;
            build.draw = mostly_numbers;
            Ne ne = support::some_shape(random);
            if (call.op == Op::group_norm) ne[2] = std::max(ne[2], groups);
            const DType type = one_of(random, support::float_types);
            const auto a = [&] { return build.operand(ne, type, random); };
            const auto row = [&] { return build.leaf({ne[0], 1, 1, 1}, one_of(random, support::float_types), random); };
            const auto norm = [&](Tensor *of) { return node(build, call, operands(build, call, of, random)); };
            Tensor *residual = build.operand(ne, DType::f32, random);
            Tensor *c = norm(a());
            const std::vector<Tensor *> ends{
                build.node(Op::add, {build.node(Op::mul, {norm(a()), row()}), row()}),
                build.node(Op::silu, {norm(a())}),
                // The result's type is another one than the norm's, where a is F16 or BF16.
                build.node(Op::add, {residual, norm(a())}),
                // In a program twice, and of the same operand that it was made of.
                build.node(Op::mul, {build.node(Op::sigmoid, {c}), build.node(Op::add, {c, residual})}),
                build.node(Op::mul, {residual, build.node(Op::relu, {norm(residual)})}),
            };
            const std::size_t isa = random() % joined.size(), threads = random() % joined[0].all.size();
            for (std::size_t i = 0; i < ends.size(); i++) {
                const auto graph = build.graph({ends[i]});
                core::Backend &one_by_one = *apart[isa].all[threads], &together = *joined[isa].all[threads];
                core::compute(*graph, one_by_one);
                const std::vector<float> want = support::values_of(ends[i]);
                core::compute(*graph, together);
                ASSERT_TRUE(support::same_values(support::values_of(ends[i]), want)) << core::plan_text(*graph, together);
                if (i > 2) continue;
                EXPECT_EQ(joins(call.op, *graph, together), type == DType::f32) << core::plan_text(*graph, together);
            }
        }
    }
}

// ---- What comes before: a residual, a weight and a bias, an activation. Groups have no prologue.

// Whether a program runs before the operation.
bool has_prologue(Op op, core::Graph &graph, core::Backend &backend) {
    return core::plan_text(graph, backend).find(" + " + std::string(core::op_name(op))) != std::string::npos;
}

TEST(Norms, and_what_comes_before_have_the_bits_of_one_by_one) {
    const auto &joined = support::all_backends();
    const auto apart = support::make_backends(false);
    Random random(29);
    for (int draw = 0; draw < support::repeats(60, 2000); draw++) {
        for (const Call &call : all_calls()) {
            Builder build;
            build.draw = mostly_numbers;
            Ne ne = support::some_shape(random);
            if (call.op == Op::group_norm) ne[2] = std::max(ne[2], groups);
            const auto type = [&] { return one_of(random, support::float_types); };
            const auto a = [&] { return build.operand(ne, type(), random); };
            const auto row = [&] { return build.leaf({ne[0], 1, 1, 1}, type(), random); };
            const auto copy = [&] { return build.node(Op::cont, {build.leaf(ne, DType::f32, random)}); };
            const auto norm = [&](Tensor *of) { return node(build, call, operands(build, call, of, random)); };
            Tensor *residual = build.operand(ne, DType::f32, random), *sum = build.node(Op::add, {copy(), residual});
            const struct {
                Tensor *end;
                bool has_prologue;
            } ends[] = {
                {norm(build.node(Op::add, {a(), residual})), true},
                {norm(build.node(Op::silu, {a()})), true},
                // With what follows; each result is rounded to its type.
                {build.node(Op::mul, {norm(build.node(Op::add, {build.node(Op::mul, {a(), row()}), row()})), row()}), true},
                // The result may lie on an operand of the prologue, which no other node reads.
                {build.node(Op::cont, {norm(build.node(Op::add, {copy(), row()}))}), true},
                {build.node(Op::cont, {norm(build.node(Op::mul, {copy(), copy()}))}), true},
                // Read by two.
                {build.node(Op::add, {norm(sum), sum}), false},
            };
            const std::size_t isa = random() % joined.size(), threads = random() % joined[0].all.size();
            for (const auto &end : ends) {
                const auto graph = build.graph({end.end});
                core::Backend &one_by_one = *apart[isa].all[threads], &together = *joined[isa].all[threads];
                core::compute(*graph, one_by_one);
                const std::vector<float> want = support::values_of(end.end);
                core::compute(*graph, together);
                ASSERT_TRUE(support::same_values(support::values_of(end.end), want)) << core::plan_text(*graph, together);
                EXPECT_EQ(has_prologue(call.op, *graph, together), end.has_prologue && call.op != Op::group_norm)
                    << core::plan_text(*graph, together);
            }
        }
    }
}

class Heads : public testing::Test {
protected:
    Heads() {
        build.draw = [](Random &random) { return static_cast<float>(random() % 1000) / 256 - 2; };
        for (Tensor **t : {&a, &b}) *t = build.leaf(ne, DType::f32, random);
        row = build.leaf({ne[0], 1, 1, 1}, DType::f32, random);
    }

    Random random{31};
    Builder build;
    const Ne ne{37, 6, 2, 1};
    Tensor *a, *b, *row;
    core::Backend &cpu = *support::all_backends()[0].all[1];

    Tensor *sum() { return build.node(Op::add, {a, b}); }
    Tensor *rms_norm(Tensor *of) { return build.node(Op::rms_norm, {of}, {Attr::of_number("eps", eps)}); }
    Tensor *soft_max_ext(Tensor *of, Tensor *mask) { return build.node(Op::soft_max_ext, {of, mask, core::left_out()}); }
    std::string plan(Tensor *end) {
        const auto graph = build.graph({end});
        core::compute(*graph, cpu);
        return core::plan_text(*graph, cpu);
    }
};

TEST_F(Heads, are_in_the_plans_text_and_take_no_memory) {
    const std::string text = plan(build.node(Op::mul, {rms_norm(sum()), row}));
    EXPECT_NE(text.find("add + rms_norm + mul"), std::string::npos) << text;
    EXPECT_NE(text.find("intermediates 0 bytes"), std::string::npos) << text;
}

TEST_F(Heads, are_chains_that_the_operation_alone_reads_as_its_first_operand) {
    const auto joins = [&](Tensor *end) { return plan(end).find("add + ") != std::string::npos; };
    EXPECT_TRUE(joins(rms_norm(build.node(Op::mul, {sum(), row}))));
    EXPECT_TRUE(joins(soft_max_ext(sum(), b)));
    EXPECT_FALSE(joins(soft_max_ext(a, sum())));
    Tensor *twice = sum();
    EXPECT_FALSE(joins(soft_max_ext(twice, twice)));
    EXPECT_FALSE(joins(rms_norm(build.node(Op::view, {sum()}, {Attr::of_ints("ne", ne)}))));
    Tensor *output = sum(), *normed = rms_norm(output);
    const auto graph = build.graph({output, normed});
    EXPECT_EQ(core::plan_text(*graph, cpu).find("add + "), std::string::npos);
}

// The sum may lie where x does, but not while x is still a mask.
TEST_F(Heads, do_not_write_what_the_operation_reads_after_them) {
    Tensor *x = build.node(Op::cont, {a}), *end = build.node(Op::cont, {soft_max_ext(build.node(Op::add, {x, b}), x)});
    const std::string text = plan(end);
    EXPECT_NE(text.find("add + "), std::string::npos) << text;
    const std::vector<float> got = support::values_of(end);
    const auto apart = support::make_backends(false);
    core::compute(*build.graph({end}), *apart[0].all[1]);
    EXPECT_EQ(got, support::values_of(end));
}

// Between the addition and soft_max its operand is written.
TEST_F(Heads, do_not_read_what_is_written_behind_them) {
    const std::vector<float> before = support::values_of(a);
    Tensor *written = build.node(Op::cpy, {b, a}), *end = soft_max_ext(sum(), written);
    const std::string text = plan(end);
    EXPECT_EQ(text.find("add + "), std::string::npos) << text;
    const std::vector<float> got = support::values_of(end);
    core::write_f32(*a, before.data(), before.size());
    const auto apart = support::make_backends(false);
    const auto graph = build.graph({end});
    core::compute(*graph, *apart[0].all[1]);
    EXPECT_EQ(got, support::values_of(end));
    EXPECT_NE(before, support::values_of(a));
}

}  // namespace
