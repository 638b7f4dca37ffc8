// paged_attention against its formula in double, over random pools, pages, sequences and options, on every ISA and at several
// thread counts; against flash_attn_ext bit for bit; and numbers that do not exist.
#include "attended.hpp"
#include "blocks.hpp"

namespace {

using namespace tensorlib;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;
using support::below;
using support::Builder;
using support::inf;
using support::one_of;
using support::Random;
using support::Values;
using support::Wanted;

struct Options {
    std::int64_t page = 64, window = 0;
    double scale = 0, cap = 0;

    std::vector<Attr> attrs() const {
        return {Attr::of_int("page", page), Attr::of_int("window", window), Attr::of_number("scale", scale),
                Attr::of_number("logit_softcap", cap)};
    }
};

// The operands in their order; sinks may be null.
struct Operands {
    Tensor *q, *k, *v, *pages, *positions, *sequences, *sinks = nullptr;
};

Tensor *node(Builder &build, const Operands &o, const Options &options) {
    return build.node(Op::paged_attention, {o.q, o.k, o.v, o.pages, o.positions, o.sequences, o.sinks ? o.sinks : core::left_out()},
                      options.attrs());
}

std::vector<Wanted> wanted(const Operands &o, const Options &options) {
    const Values q(o.q), k(o.k), v(o.v), pages(o.pages), positions(o.positions), sequences(o.sequences);
    const std::optional<Values> sinks = o.sinks ? std::optional<Values>(o.sinks) : std::nullopt;
    const std::int64_t n = q.ne[0], heads = q.ne[2];
    const double scale =
        static_cast<double>(static_cast<float>(options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(n))));
    std::vector<Wanted> all;
    for (std::int64_t token = 0; token < q.ne[1]; token++) {
        const auto position = static_cast<std::int64_t>(positions.all[static_cast<std::size_t>(token)]);
        const float *table = pages.row(static_cast<std::int64_t>(sequences.all[static_cast<std::size_t>(token)]), 0, 0);
        std::vector<std::int64_t> rows;
        for (std::int64_t j = options.window > 0 ? std::max<std::int64_t>(position + 1 - options.window, 0) : 0; j <= position; j++)
            rows.push_back(static_cast<std::int64_t>(table[j / options.page]) * options.page + j % options.page);
        for (std::int64_t head = 0; head < heads; head++) {
            const std::int64_t shared = head / (heads / k.ne[1]);
            const float *query = q.row(token, head, 0);
            std::vector<double> x, off;
            for (const std::int64_t row : rows) {
                const float *key = k.row(shared, row, 0);
                double sum = 0, size = 0;
                for (std::int64_t i = 0; i < n; i++)
                    sum += double{query[i]} * double{key[i]}, size += std::fabs(double{query[i]} * double{key[i]});
                double value = scale * sum, error = (static_cast<double>(n) + 3) * support::rounding * std::fabs(scale) * size;
                if (options.cap > 0)
                    value = options.cap * std::tanh(value / options.cap), error += 5 * support::rounding * std::fabs(value);
                x.push_back(value), off.push_back(std::isfinite(value) ? error : 0);
            }
            support::answer(
                x, off, sinks ? std::optional(double{sinks->all[static_cast<std::size_t>(head)]}) : std::nullopt, v.ne[0],
                [&](std::size_t j) { return v.row(shared, rows[j], 0); }, all);
        }
    }
    return all;
}

Tensor *numbers(Builder &build, const support::Ne &ne, DType type, const std::vector<std::int64_t> &values) {
    return build.leaf(ne, type, std::vector<float>(values.begin(), values.end()));
}

// Rows of a pool: floats of any strides, or blocks.
Tensor *drawn_pool(Builder &build, const support::Ne &ne, Random &random) {
    if (ne[0] % 32 == 0 && random() % 2) {
        Tensor *from = build.leaf(ne, DType::f32, random);
        Tensor *rows = build.leaf(ne, random() % 2 ? DType::q8_0 : DType::q4_0);
        const std::vector<float> values = support::values_of(from);
        core::write_f32(*rows, values.data(), values.size());
        return rows;
    }
    return build.operand(ne, one_of(random, support::float_types), random);
}

// Tables of pages in any order, some shared by sequences, and tokens of sequences in any order, in texts that are short or long.
void draw_places(Builder &build, Operands &o, std::int64_t tokens, std::int64_t most, std::int64_t n_pages, std::int64_t page,
                 Random &random) {
    const std::int64_t sequences = 1 + below(random, 4), length = random() % 2 ? 4 : 100;
    std::vector<std::int64_t> table, positions, numbered;
    for (std::int64_t i = 0; i < most * sequences; i++) table.push_back(below(random, n_pages));
    std::int64_t sequence = below(random, sequences), position = below(random, most * page);
    for (std::int64_t t = 0; t < tokens; t++) {
        if (t > 0) position++;
        if (below(random, length) == 0 || position >= most * page)
            sequence = below(random, sequences), position = below(random, most * page);
        positions.push_back(position), numbered.push_back(sequence);
    }
    // Pages that no token needs may have any number.
    for (std::int64_t s = 0; s < sequences; s++) {
        std::int64_t last = -1;
        for (std::size_t t = 0; t < positions.size(); t++) {
            if (numbered[t] == s) last = std::max(last, positions[t]);
        }
        for (std::int64_t i = (last + page) / page; i < most; i++)
            table[static_cast<std::size_t>(i + most * s)] = random() % 2 ? -1 : 1 << 20;
    }
    const auto type = [&] { return random() % 2 ? DType::i32 : DType::i64; };
    o.pages = numbers(build, {most, sequences, 1, 1}, type(), table);
    o.positions = numbers(build, {tokens, 1, 1, 1}, type(), positions);
    o.sequences = numbers(build, {tokens, 1, 1, 1}, type(), numbered);
}

TEST(PagedAttention, agrees_with_double_at_any_number_of_threads) {
    constexpr std::int64_t sizes[] = {1, 2, 5, 8, 17, 32, 40, 64}, many[] = {1, 1, 2, 3, 7, 17, 40, 150}, few[] = {1, 1, 2, 3, 5},
                           pages[] = {1, 3, 16, 64, 256, 300}, windows[] = {0, 0, 1, 4, 70, 600};
    Random random(47);
    for (int draw = 0; draw < support::repeats(120, 2000); draw++) {
        Builder build;
        build.draw = support::any_value;
        Options options;
        options.page = one_of(random, pages), options.window = one_of(random, windows);
        const std::int64_t n = one_of(random, sizes), m = one_of(random, sizes), tokens = one_of(random, many),
                           shared = one_of(random, few), heads = shared * one_of(random, few),
                           n_pages = 1 + below(random, 600 / options.page + 2), most = 1 + below(random, 900 / options.page + 1);
        Operands o{build.operand({n, tokens, heads, 1}, one_of(random, support::float_types), random),
                   drawn_pool(build, {n, shared, n_pages * options.page, 1}, random),
                   drawn_pool(build, {m, shared, n_pages * options.page, 1}, random),
                   nullptr,
                   nullptr,
                   nullptr};
        draw_places(build, o, tokens, most, n_pages, options.page, random);
        if (random() % 3 == 0) o.sinks = build.leaf({heads, 1, 1, 1}, DType::f32, random);
        if (random() % 3 == 0) options.cap = 3;
        if (random() % 2) options.scale = 0.3;
        const std::string what = core::tensor_text(*o.q) + ", " + core::tensor_text(*o.k) + ", " + core::tensor_text(*o.v) + ", pages " +
                                 core::tensor_text(*o.pages) + " of " + std::to_string(options.page) + ", window " +
                                 std::to_string(options.window);
        Tensor *result = node(build, o, options);
        ASSERT_TRUE(result->layout.ne == (support::Ne{m, heads, tokens, 1}) && result->layout.type == DType::f32) << what;
        const auto want = wanted(o, options);
        const auto of_isas = support::computed_on_isas(build, result, what);
        for (std::size_t isa = 0; isa < of_isas.size(); isa++)
            support::expect_right(of_isas[isa], want, DType::f32, what + " on " + support::all_backends()[isa].isa);
        ASSERT_FALSE(HasFailure()) << "draw " << draw;
    }
}

// Many queries of one text have a kernel of their own, which other tokens do not change.
TEST(PagedAttention, packs_the_keys_of_long_texts) {
    struct Size {
        std::int64_t tokens, heads, kv_heads;
        const char *kernel;
    };
    for (const Size &s : {Size{16, 1, 1, "attention_paged"}, Size{17, 1, 1, "attention_paged_packed"},
                          Size{5, 8, 2, "attention_paged_packed"}, Size{4, 8, 2, "attention_paged"}, Size{1, 129, 1, "attention_paged"}}) {
        tl::Context ctx;
        const auto q = support::leaf(ctx, {8, s.tokens, s.heads}, 1), k = support::leaf(ctx, {8, s.kv_heads, 32}, 2);
        std::vector<std::int32_t> positions;
        for (std::int32_t t = 0; t < s.tokens; t++) positions.push_back(t);
        const auto c = paged_attention(q, k, k, ctx.tensor<std::int32_t>({1, 1}, {0}), ctx.tensor<std::int32_t>({s.tokens}, positions),
                                       ctx.tensor<std::int32_t>({s.tokens}, std::vector<std::int32_t>(positions.size(), 0)), std::nullopt,
                                       {.page = 32});
        const tl::Graph graph({c});
        for (const std::string &isa : support::isas()) {
            const std::string plan = graph.plan_text(support::backend(isa, 1));
            EXPECT_NE(plan.find(": " + std::string(s.kernel) + ","), std::string::npos) << s.tokens << " tokens: " << plan;
        }
    }
}

// What a token does not see does not matter, even if others of its unit or panel see it: here no later key or value is
// finite.
TEST(PagedAttention, leaves_out_what_is_not_finite_and_not_seen) {
    constexpr std::int64_t n = 8, rows = 64;
    for (const std::int64_t tokens : {7, 40}) {
        for (const std::int64_t heads : {1, 3}) {
            for (const double cap : {0, 3}) {
                tl::Context ctx;
                std::vector<float> k(n * rows, 1), v(n * rows, 1);
                for (std::size_t i = 0; i < v.size(); i++) {
                    const auto row = static_cast<std::int64_t>(i) / n;
                    if (row == 0 || row >= 5) k[i] = NAN, v[i] = row % 2 ? inf : NAN;
                }
                std::vector<std::int32_t> positions;
                for (std::int32_t t = 1; t <= tokens; t++) positions.push_back(t);
                const auto q = support::leaf(ctx, {n, tokens, heads}, 1), keys = ctx.tensor<float>({n, 1, rows}, k),
                           values = ctx.tensor<float>({n, 1, rows}, v), finite = support::leaf(ctx, {n, 1, rows}, 2),
                           ones = ctx.tensor<float>({n, 1, rows}, std::vector<float>(n * rows, 1));
                std::vector<std::int32_t> order(16);
                for (std::size_t i = 0; i < order.size(); i++) order[i] = static_cast<std::int32_t>(i);
                const auto pages = ctx.tensor<std::int32_t>({16, 1}, order), at = ctx.tensor<std::int32_t>({tokens}, positions),
                           sequences = ctx.tensor<std::int32_t>({tokens}, std::vector<std::int32_t>(positions.size(), 0));
                // Windows of two: tokens 1, 2 and 3 see rows 1 to 4 alone.
                const auto attended = [&](const tl::Tensor &some_keys, const tl::Tensor &some_values) {
                    return paged_attention(q, some_keys, some_values, pages, at, sequences, std::nullopt,
                                           {.page = 4, .window = 2, .logit_softcap = cap});
                };
                for (const tl::Tensor &c : {attended(keys, values), attended(finite, values), attended(keys, ones)}) {
                    for (const std::string &isa : support::isas()) {
                        support::backend(isa, 2).compute({c});
                        const auto got = c.read<float>();
                        for (std::size_t i = 0; i < got.size(); i++) {
                            const auto token = static_cast<std::int64_t>(i) / (n * heads);
                            EXPECT_TRUE(token >= 1 && token <= 3 ? std::fabs(got[i] - 1) < 1e-6f : !std::isfinite(got[i]))
                                << isa << ", token " << token << " of " << tokens << ": " << got[i];
                        }
                    }
                }
            }
        }
    }
}

// Batch-invariant graphs: a token has the bits that flash_attn_ext gives it alone, wherever its pages are.
TEST(PagedAttention, has_the_bits_of_flash_attn_ext) {
    struct Type {
        DType type;
        std::int64_t n, m, heads, kv_heads;
        double cap;
    };
    for (const Type &s : {Type{DType::f32, 64, 64, 4, 4, 0}, Type{DType::f16, 64, 40, 4, 1, 30}, Type{DType::bf16, 80, 80, 6, 2, 0},
                          Type{DType::q8_0, 64, 32, 2, 1, 0}}) {
        for (const std::int64_t window : {0, 90}) {
            tl::Context ctx;
            constexpr std::int64_t keys = 576, page = 64, n_pages = keys / page;
            const auto type = static_cast<tl::Type>(s.type);
            // The pool has the pages of one sequence in another order.
            const auto k = support::leaf(ctx, {s.n, s.kv_heads, keys}, 1, type), v = support::leaf(ctx, {s.m, s.kv_heads, keys}, 2, type);
            std::vector<std::int32_t> order;
            for (std::int32_t i = 0; i < n_pages; i++) order.push_back(i * 4 % 9);
            const auto in_order = [&](const tl::Tensor &pool) {
                const auto bytes = pool.strides()[2] * static_cast<std::size_t>(page);
                const auto ne = pool.shape();
                const auto t = ctx.zeros(type, {ne[0], ne[1], ne[2]});
                std::vector<std::byte> rows(bytes);
                for (std::size_t i = 0; i < order.size(); i++) {
                    pool.read_bytes(rows.data(), static_cast<std::size_t>(order[i]) * bytes, bytes);
                    t.write_bytes(rows.data(), i * bytes, bytes);
                }
                return t.permute({0, 2, 1, 3});
            };
            const auto k_in_order = in_order(k), v_in_order = in_order(v);
            constexpr std::int64_t tokens = 11;
            const std::vector<std::int32_t> at{0, 1, 2, 63, 64, 65, 300, 301, 302, 303, 575};
            const auto q = support::leaf(ctx, {s.n, tokens, s.heads}, 3);
            const auto all = paged_attention(q, k, v, ctx.tensor<std::int32_t>({n_pages, 1}, order), ctx.tensor<std::int32_t>({tokens}, at),
                                             ctx.tensor<std::int32_t>({tokens}, std::vector<std::int32_t>(tokens, 0)), std::nullopt,
                                             {.window = window, .logit_softcap = s.cap});
            tl::Graph graph({all});
            graph.set_batch_invariant(true);
            for (const std::string &isa : support::isas()) {
                graph.compute(support::backend(isa, 3));
                const auto got = all.read<float>();
                for (std::int64_t t = 0; t < tokens; t++) {
                    const std::int64_t seen = at[static_cast<std::size_t>(t)] + 1;
                    std::vector<float> mask(static_cast<std::size_t>(seen), 0);
                    for (std::int64_t j = 0; window > 0 && j < seen - window; j++) mask[static_cast<std::size_t>(j)] = -inf;
                    const auto one = flash_attn_ext(q.narrow(1, t, 1), k_in_order.narrow(1, 0, seen), v_in_order.narrow(1, 0, seen),
                                                    ctx.tensor<float>({seen, 1}, mask), std::nullopt, {.logit_softcap = s.cap});
                    tl::Graph alone({one});
                    alone.set_batch_invariant(true);
                    alone.compute(support::backend(isa, 1));
                    const auto want = one.read<float>();
                    const auto first = got.begin() + static_cast<std::ptrdiff_t>(t) * static_cast<std::ptrdiff_t>(want.size());
                    EXPECT_TRUE(std::equal(want.begin(), want.end(), first))
                        << isa << ", " << core::traits(s.type).name << ", window " << window << ", position " << seen - 1;
                }
            }
        }
    }
}

TEST(PagedAttention, refuses_numbers_that_do_not_exist) {
    tl::Context ctx;
    // The heads of a token are few, or enough for the kernel of many queries.
    std::int64_t heads = 2;
    const auto k = support::leaf(ctx, {4, 1, 8}, 2), v = support::leaf(ctx, {4, 1, 8}, 3);
    const auto run = [&](std::vector<std::int32_t> pages, std::vector<std::int32_t> positions, std::vector<std::int32_t> sequences) {
        const auto q = support::leaf(ctx, {4, 3, heads}, 1);
        const auto c = paged_attention(q, k, v, ctx.tensor<std::int32_t>({3, 2}, pages), ctx.tensor<std::int32_t>({3}, positions),
                                       ctx.tensor<std::int32_t>({3}, sequences), std::nullopt, {.page = 4});
        for (const int threads : {1, 4}) support::backend(support::isas().front(), threads).compute({c});
    };
    const auto refused = [&](std::vector<std::int32_t> pages, std::vector<std::int32_t> positions, std::vector<std::int32_t> sequences,
                             const std::string &words) {
        support::expect_error(tl::Status::invalid_argument, {"paged_attention", words}, [&] { run(pages, positions, sequences); });
    };
    for (const std::int64_t many : {2, 20}) {
        heads = many;
        run({0, 1, -1, 1, 7, 7}, {7, 0, 3}, {0, 1, 1});
        refused({0, 1, -1, 1, 7, 7}, {7, 8, 3}, {0, 0, 1}, "element 2 of pages is -1: pages 0 to 1 are there");
        refused({0, 2, -1, 1, 7, 7}, {7, 0, 3}, {0, 0, 1}, "element 1 of pages is 2");
        refused({0, 1, 1, 1, 7, 7}, {7, 12, 3}, {0, 0, 1}, "element 1 of positions is 12: positions 0 to 11 are there");
        refused({0, 1, 1, 1, 7, 7}, {-1, 1, 3}, {0, 0, 1}, "element 0 of positions is -1");
        refused({0, 1, 1, 1, 7, 7}, {1, 1, 3}, {0, 0, 2}, "element 2 of sequences is 2: sequences 0 to 1 are there");
        refused({0, 1, 1, 1, 7, 7}, {1, 1, 3}, {0, -1, 0}, "element 1 of sequences is -1");
    }
}

}  // namespace
