// flash_attn_ext against its formula in double, over random shapes, strides, types, masks and options, on every ISA and at several
// thread counts; and with a cache of keys and values that rows are written into.
#include "attended.hpp"

namespace {

using namespace tensorlib;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;
using support::answer;
using support::below;
using support::Builder;
using support::inf;
using support::Ne;
using support::one_of;
using support::Random;
using support::Values;
using support::Wanted;

struct Options {
    double scale = 0, max_bias = 0, cap = 0;

    std::vector<Attr> attrs() const {
        return {Attr::of_number("scale", scale), Attr::of_number("max_bias", max_bias), Attr::of_number("logit_softcap", cap)};
    }
};

// The operands in their order; null where one is left out.
struct Operands {
    Tensor *q, *k, *v, *mask = nullptr, *sinks = nullptr;
};

Tensor *node(Builder &build, const Operands &o, const Options &options) {
    const auto given = [](Tensor *t) { return t ? t : core::left_out(); };
    return build.node(Op::flash_attn_ext, {o.q, o.k, o.v, given(o.mask), given(o.sinks)}, options.attrs());
}

double slope_of(std::int64_t head, std::int64_t heads, double bias) {
    if (bias == 0) return 1;
    const double n = std::exp2(std::floor(std::log2(static_cast<double>(heads)))), h = static_cast<double>(head);
    return h < n ? std::pow(2.0, -bias * (h + 1) / n) : std::pow(2.0, -bias * (2 * (h - n) + 1) / (2 * n));
}

std::vector<Wanted> wanted(const Operands &o, const Options &options) {
    const Values q(o.q), k(o.k), v(o.v);
    const std::optional<Values> mask = o.mask ? std::optional<Values>(o.mask) : std::nullopt;
    const std::optional<Values> sinks = o.sinks ? std::optional<Values>(o.sinks) : std::nullopt;
    const std::int64_t n = q.ne[0], keys = k.ne[1], heads = q.ne[2];
    const double scale = options.scale != 0 ? static_cast<double>(static_cast<float>(options.scale))
                                            : static_cast<double>(static_cast<float>(1 / std::sqrt(static_cast<double>(n))));
    std::vector<Wanted> all;
    for (std::int64_t batch = 0; batch < q.ne[3]; batch++) {
        for (std::int64_t token = 0; token < q.ne[1]; token++) {
            for (std::int64_t head = 0; head < heads; head++) {
                const std::int64_t shared = head / (heads / k.ne[2]), of_batch = batch / (q.ne[3] / k.ne[3]);
                const float *query = q.row(token, head, batch);
                const float *masked = mask ? mask->row(token, head % mask->ne[2], batch % mask->ne[3]) : nullptr;
                const double slope = slope_of(head, heads, options.max_bias);
                std::vector<double> x(static_cast<std::size_t>(keys)), off(static_cast<std::size_t>(keys));
                for (std::int64_t j = 0; j < keys; j++) {
                    const float *key = k.row(j, shared, of_batch);
                    double sum = 0, size = 0;
                    for (std::int64_t i = 0; i < n; i++)
                        sum += double{query[i]} * double{key[i]}, size += std::fabs(double{query[i]} * double{key[i]});
                    double value = scale * sum, error = (static_cast<double>(n) + 3) * support::rounding * std::fabs(scale) * size;
                    if (options.cap > 0)
                        value = options.cap * std::tanh(value / options.cap), error += 5 * support::rounding * std::fabs(value);
                    if (masked) {
                        const double added = double{masked[j]} * slope;
                        value += added;
                        error += support::rounding * (2 * std::fabs(added) + std::fabs(value));
                    }
                    x[static_cast<std::size_t>(j)] = value;
                    off[static_cast<std::size_t>(j)] = std::isfinite(value) ? error : 0;
                }
                answer(
                    x, off, sinks ? std::optional(double{sinks->all[static_cast<std::size_t>(head)]}) : std::nullopt, v.ne[0],
                    [&](std::size_t j) { return v.row(static_cast<std::int64_t>(j), shared, of_batch); }, all);
            }
        }
    }
    return all;
}

// Rows of -infinity, rows that see what is before them, windows, biases, and where there is nothing to add.
Tensor *drawn_mask(Builder &build, const Ne &ne, Random &random) {
    std::vector<float> values(static_cast<std::size_t>(support::count_of(ne)));
    const auto kind = below(random, 5);
    const std::int64_t past = below(random, ne[0] + 1), window = 1 + below(random, ne[0] + 1);
    for (std::size_t i = 0; i < values.size(); i++) {
        const std::int64_t j = static_cast<std::int64_t>(i) % ne[0], row = static_cast<std::int64_t>(i) / ne[0] % ne[1];
        const bool later = j > row + past, earlier = j + window <= row + past;
        if (kind == 0) values[i] = support::any_value(random);
        if (kind == 1) values[i] = later ? -inf : 0;
        if (kind == 2) values[i] = later || earlier ? -inf : 0;
        if (kind == 3) values[i] = random() % 3 ? -inf : support::any_value(random);
        if (kind == 4) values[i] = 0;
    }
    return build.leaf(ne, one_of(random, support::float_types), values);
}

void expect_agreement(Builder &build, const Operands &o, const Options &options, const std::string &what) {
    Tensor *result = node(build, o, options);
    const Ne ne{o.v->layout.ne[0], o.q->layout.ne[2], o.q->layout.ne[1], o.q->layout.ne[3]};
    ASSERT_TRUE(result->layout.ne == ne && result->layout.contiguous() && result->layout.type == DType::f32) << what;
    const auto want = wanted(o, options);
    const auto of_isas = support::computed_on_isas(build, result, what);
    for (std::size_t isa = 0; isa < of_isas.size(); isa++)
        support::expect_right(of_isas[isa], want, DType::f32, what + " on " + support::all_backends()[isa].isa);
}

// Keys and values: floats of any strides, or a format with blocks.
Tensor *drawn_rows(Builder &build, const Ne &ne, Random &random) {
    if (ne[0] % 32 == 0 && ne[0] > 0 && random() % 2) {
        Tensor *from = build.leaf(ne, DType::f32, random);
        Tensor *rows = build.leaf(ne, random() % 2 ? DType::q8_0 : DType::q4_0);
        const std::vector<float> values = support::values_of(from);
        core::write_f32(*rows, values.data(), values.size());
        return rows;
    }
    return build.operand(ne, one_of(random, support::float_types), random);
}

TEST(Attention, agrees_with_double_at_any_number_of_threads) {
    constexpr std::int64_t sizes[] = {1, 2, 5, 8, 17, 32, 40, 64}, tokens[] = {1, 1, 2, 3, 7, 16, 17, 33, 65},
                           keys[] = {1, 2, 12, 13, 31, 64, 145, 290}, few[] = {1, 1, 2, 3};
    Random random(41);
    for (int draw = 0; draw < support::repeats(120, 2000); draw++) {
        Builder build;
        build.draw = support::any_value;
        const std::int64_t n = one_of(random, sizes), m = one_of(random, sizes), t = one_of(random, tokens), shared = one_of(random, few),
                           batches = one_of(random, few);
        std::int64_t j = one_of(random, keys);
        if (draw % 40 == 39) j = 0;
        const std::int64_t heads = shared * one_of(random, few), kv_batches = random() % 2 ? batches : 1;
        Operands o{build.operand({n, t, heads, batches}, one_of(random, support::float_types), random),
                   drawn_rows(build, {n, j, shared, kv_batches}, random), drawn_rows(build, {m, j, shared, kv_batches}, random)};
        Options options;
        if (random() % 2 && j > 0) {
            o.mask = drawn_mask(build, {j, t + below(random, 3), random() % 2 ? 1 : heads, random() % 2 ? 1 : batches}, random);
            if (random() % 2) options.max_bias = 8;
        }
        if (random() % 3 == 0) o.sinks = build.leaf({heads, 1, 1, 1}, DType::f32, random);
        if (random() % 3 == 0) options.cap = 3;
        if (random() % 2) options.scale = 0.3;
        const std::string what = core::tensor_text(*o.q) + ", " + core::tensor_text(*o.k) + ", " + core::tensor_text(*o.v) +
                                 (o.mask ? ", mask " + core::tensor_text(*o.mask) : "");
        expect_agreement(build, o, options, what);
        ASSERT_FALSE(HasFailure()) << "draw " << draw;
    }
}

// A model's size: several rounds, blocks and segments.
TEST(Attention, of_many_heads_and_keys_has_the_same_bits_at_any_number_of_threads) {
    Random random(43);
    for (const std::int64_t tokens : {1, 130}) {
        Builder build;
        build.draw = support::any_value;
        const std::int64_t keys = tokens == 1 ? 1100 : 700;
        Operands o{build.leaf({64, tokens, 8, 1}, DType::f32, random), build.leaf({64, keys, 4, 1}, DType::f16, random),
                   build.leaf({64, keys, 4, 1}, DType::f16, random)};
        expect_agreement(build, o, {}, "no mask");
        std::vector<float> mask(static_cast<std::size_t>(keys * tokens));
        for (std::size_t i = 0; i < mask.size(); i++)
            mask[i] = static_cast<std::int64_t>(i) % keys > static_cast<std::int64_t>(i) / keys + keys - tokens ? -inf : 0;
        o.mask = build.leaf({keys, tokens, 1, 1}, DType::f16, mask);
        expect_agreement(build, o, {}, "causal");
    }
}

// What is masked for all queries of a block is not read; NaN in keys, queries and masks reaches the queries that meet it, and no other.
TEST(Attention, carries_nan_to_the_queries_that_meet_it) {
    for (const std::int64_t tokens : {4, 20}) {
        Random random(5);
        Builder build;
        build.draw = support::any_value;
        std::vector<float> q(static_cast<std::size_t>(8 * tokens), 0.5f);
        q[8] = NAN, q[16] = inf, q[24] = -inf;  // of tokens 1 to 3
        Operands o{build.leaf({8, tokens, 1, 1}, DType::f32, q), build.leaf({8, 9, 1, 1}, DType::f32, random),
                   build.leaf({4, 9, 1, 1}, DType::f32, random)};
        Tensor *result = node(build, o, {});
        for (const auto &values : support::computed_on_isas(build, result, "special queries")) {
            for (std::size_t i = 0; i < values.size(); i++) EXPECT_EQ(std::isnan(values[i]), i / 4 >= 1 && i / 4 <= 3) << i;
        }
    }
}

// A cache of 48 places, of which each step fills one and reads all, the rest masked: as a model generates.
TEST(Attention, reads_a_cache_that_rows_are_set_into) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::q8_0}) {
        Random random(29);
        Builder build;
        build.draw = support::any_value;
        constexpr std::int64_t n = 32, heads = 2, places = 48, steps = 20;
        Tensor *cached_keys = build.leaf({n, places, heads, 1}, type), *cached_values = build.leaf({n, places, heads, 1}, type);
        Tensor *key = build.leaf({n, 1, heads, 1}), *value = build.leaf({n, 1, heads, 1}), *query = build.leaf({n, 1, 2 * heads, 1});
        Tensor *place = build.leaf({1, 1, 1, 1}, DType::i32), *mask = build.leaf({places, 1, 1, 1}, DType::f16);
        const std::vector<float> nothing(static_cast<std::size_t>(n * places * heads), 0.0f);
        for (Tensor *cache : {cached_keys, cached_values}) core::write_f32(*cache, nothing.data(), nothing.size());
        Operands o{query, build.node(Op::set_rows, {cached_keys, key, place}), build.node(Op::set_rows, {cached_values, value, place}),
                   mask};
        Tensor *result = node(build, o, {});
        const auto graph = build.graph({result});
        core::Backend &backend = *support::all_backends()[0].all[1];
        std::vector<float> seen(places, -inf);
        for (std::int64_t step = 0; step < steps; step++) {
            for (Tensor *t : {key, value, query}) {
                std::vector<float> values(static_cast<std::size_t>(t->layout.n_elements()));
                for (float &x : values) x = support::any_value(random);
                core::write_f32(*t, values.data(), values.size());
            }
            const auto at = static_cast<float>(step * 7 % places);
            core::write_f32(*place, &at, 1);
            seen[static_cast<std::size_t>(at)] = 0;
            core::write_f32(*mask, seen.data(), seen.size());
            core::compute(*graph, backend);
            support::expect_right(support::values_of(result), wanted({query, cached_keys, cached_values, mask}, {}), DType::f32,
                                  std::string(core::traits(type).name) + ", step " + std::to_string(step));
            ASSERT_FALSE(HasFailure());
        }
    }
}

}  // namespace
