// Pooling, upscaling and convolutions against double, over random views and types, on every ISA, with equal bits at 1 to 8 threads; and
// the calls that must be refused.
#include "convolutions.hpp"

#include "api/devices.hpp"

using namespace convolutions;

namespace {

// Backends of each ISA, by thread count.
const std::vector<std::vector<core::Ref<core::Backend>>> &all_isas() {
    static const auto isas = [] {
        std::vector<std::vector<core::Ref<core::Backend>>> all;
        for (const std::string &isa : support::isas()) {
            const support::Environment chosen("TENSORLIB_ISA", isa.c_str());
            all.emplace_back();
            for (const int threads : {1, 2, 3, 8}) all.back().push_back(core::open_backend("cpu", {.n_threads = threads}));
        }
        return all;
    }();
    return isas;
}

class Convolutions : public testing::TestWithParam<Operation> {};
INSTANTIATE_TEST_SUITE_P(operations, Convolutions, testing::ValuesIn(all_operations), [](const auto &info) { return info.param.name(); });

TEST_P(Convolutions, are_within_their_bounds) { expect_values(GetParam(), all_isas(), support::repeats(60, 10000)); }

TEST_P(Convolutions, share_the_work_among_threads) { expect_values(GetParam(), all_isas(), support::repeats(3, 60), true); }

Attr n(const char *name, std::int64_t value) { return Attr::of_int(name, value); }
Attr w(const char *name, const char *word) { return Attr::of_text(name, word); }

class ConvolutionShapes : public testing::Test {
protected:
    core::Ref<core::Backend> cpu = core::open_backend("cpu", {.n_threads = 1});
    Builder build{*cpu};

    Tensor *f(std::initializer_list<std::int64_t> ne, DType type = DType::f32) {
        return build.context->new_leaf(core::contiguous_layout("leaf", type, {ne.begin(), ne.size()}));
    }
    void refused(tl::Status status, std::vector<std::string> words, Op op, std::vector<Tensor *> src, std::vector<Attr> attrs) {
        words.push_back(core::op_name(op));
        support::expect_error(status, words, [&] { build.node(op, std::move(src), std::move(attrs)); });
    }
};

constexpr std::int64_t far = std::int64_t{1} << 62;

TEST_F(ConvolutionShapes, windows_that_do_not_fit_are_refused) {
    using S = tl::Status;
    refused(S::invalid_argument,
            {"[4, 3] f32", "dimension 0", "4 elements", "windows of 7", "stride 1", "padding 1", "dilation 1", "as many"}, Op::pool_1d,
            {f({4, 3})}, {w("op", "max"), n("k", 7), n("s", 1), n("p", 1)});
    refused(S::invalid_argument, {"dimension 1", "3 elements", "windows of 4"}, Op::pool_2d, {f({4, 3})},
            {w("op", "avg"), n("k0", 2), n("k1", 4)});
    refused(S::invalid_argument, {"0 elements"}, Op::pool_1d, {f({0, 3})}, {w("op", "max"), n("k", 2), n("p", 1)});
    refused(S::invalid_argument, {"2^63 - 1"}, Op::pool_1d, {f({4, 3})}, {w("op", "max"), n("k", far + 1), n("p", far)});
    refused(S::invalid_argument, {"'mean'", "max, avg"}, Op::pool_1d, {f({4})}, {w("op", "mean"), n("k", 2)});
    refused(S::type_mismatch, {"i32", "f32, f16 or bf16"}, Op::pool_1d, {f({4}, DType::i32)}, {w("op", "max"), n("k", 2)});
}

TEST_F(ConvolutionShapes, images_that_become_too_large_are_refused) {
    using S = tl::Status;
    refused(S::invalid_argument, {"factor is -1", "at least 0"}, Op::upscale, {f({4, 3})}, {n("factor", -1)});
    refused(S::invalid_argument, {"[4, 3] f32", "2^63 - 1"}, Op::upscale, {f({4, 3})}, {n("factor", far)});
    refused(S::invalid_argument, {"more bytes"}, Op::upscale, {f({4, 3})}, {n("factor", std::int64_t{1} << 30)});
    refused(S::invalid_argument, {"factor is 0", "either a factor or ne"}, Op::upscale, {f({4, 3})}, {});
    refused(S::invalid_argument, {"factor is 2", "either a factor or ne"}, Op::upscale, {f({4, 3})},
            {n("factor", 2), core::Attr::of_ints("ne", Ne{8, 6, 1, 1})});
    refused(S::invalid_argument, {"a is [0, 3] f32", "an image without pixels"}, Op::upscale, {f({0, 3})},
            {core::Attr::of_ints("ne", Ne{8, 6, 1, 1})});
    refused(S::invalid_argument, {"2^63 - 1"}, Op::upscale, {f({4, 3})}, {core::Attr::of_ints("ne", Ne{far, 1, 1, 1})});
    refused(S::invalid_argument, {"bicubic", "antialias"}, Op::upscale, {f({4, 3})},
            {core::Attr::of_ints("ne", Ne{2, 2, 1, 1}), w("mode", "bicubic"), n("antialias", 1)});
    refused(S::type_mismatch, {"q8_0"}, Op::upscale, {f({32, 3}, DType::q8_0)}, {n("factor", 2)});
}

// Windows without stride are side by side.
TEST_F(ConvolutionShapes, the_stride_of_a_pool_is_its_window) {
    EXPECT_EQ(build.node(Op::pool_1d, {f({10, 3})}, {w("op", "max"), n("k", 3)})->layout.ne[0], 3);
    EXPECT_EQ(build.node(Op::pool_2d, {f({10, 9})}, {w("op", "max"), n("k0", 3), n("k1", 2), n("s0", 1)})->layout.ne, (Ne{8, 4, 1, 1}));
}

TEST_F(ConvolutionShapes, kernels_that_do_not_fit_are_refused) {
    using S = tl::Status;
    refused(S::invalid_argument,
            {"a is [3, 3, 2, 4] f32, b is [9, 2, 2] f32", "dimension 1", "2 elements, windows of 3", "dilation 2", "5 elements"},
            Op::conv_2d, {f({3, 3, 2, 4}), f({9, 2, 2})}, {n("d1", 2), n("p1", 1)});
    refused(S::invalid_argument, {"dimension 0", "0 elements"}, Op::conv_1d, {f({3, 2, 4}), f({0, 2})}, {n("p", 2)});
    refused(S::invalid_argument, {"dimension 0", "a window must have an element"}, Op::conv_1d, {f({0, 2, 4}), f({5, 2})}, {});
    // Whose taps would span fewer than none.
    refused(S::invalid_argument, {"dimension 0", "a window must have an element"}, Op::conv_1d, {f({0, 2, 4}), f({32, 2})},
            {n("d", std::numeric_limits<std::int64_t>::max())});
    refused(S::shape_mismatch, {"a {kw, kh, channels, outputs} and b {w, h, channels, images}"}, Op::conv_2d,
            {f({3, 3, 2, 4}), f({9, 9, 3})}, {});
    refused(S::shape_mismatch, {"a {k, channels, outputs} and b {n, channels, signals}"}, Op::conv_1d, {f({3, 2, 4, 2}), f({9, 2})}, {});
    refused(S::shape_mismatch, {"a {k, channels, outputs}"}, Op::im2col, {f({3, 2, 4}), f({9, 3})}, {});
    refused(S::shape_mismatch, {"a {kw, kh, 1, channels}"}, Op::conv_2d_dw, {f({3, 3, 2, 2}), f({9, 9, 2})}, {});
    refused(S::shape_mismatch, {"a {k, 1, channels}"}, Op::conv_1d_dw, {f({3, 1, 3}), f({9, 2})}, {});
    refused(S::type_mismatch, {"q8_0", "f32, f16 or bf16"}, Op::conv_1d, {f({32, 2, 4}, DType::q8_0), f({64, 2})}, {});
    refused(S::invalid_argument, {"attribute s is -1"}, Op::conv_1d, {f({3, 2, 4}), f({9, 2})}, {n("s", -1)});
    refused(S::invalid_argument, {"2^63 - 1"}, Op::conv_1d, {f({3, 2, 4}), f({9, 2})}, {n("d", far)});
    refused(S::invalid_argument, {"2^63 - 1"}, Op::conv_1d, {f({3, 2, 4}), f({9, 2})}, {n("p", far)});
    refused(S::invalid_argument, {"more bytes"}, Op::conv_1d, {f({3, 2, 4}), f({9, 2})}, {n("p", far / 8)});
}

TEST_F(ConvolutionShapes, transposed_convolutions_without_a_result_are_refused) {
    using S = tl::Status;
    refused(S::invalid_argument, {"dimension 0", "3 positions, windows of 2 with stride 1, padding 2", "twice the padding"},
            Op::conv_transpose_1d, {f({2, 4, 3}), f({3, 3})}, {n("p", 2)});
    refused(S::invalid_argument, {"dimension 1", "0 positions"}, Op::conv_transpose_2d, {f({2, 2, 4, 3}), f({3, 0, 3})}, {});
    refused(S::invalid_argument, {"2^63 - 1"}, Op::conv_transpose_1d, {f({2, 4, 3}), f({3, 3})}, {n("s", far)});
    refused(S::shape_mismatch, {"a {kw, kh, outputs, channels}"}, Op::conv_transpose_2d, {f({2, 2, 4, 3}), f({3, 3, 4})}, {});
    refused(S::shape_mismatch, {"a {k, outputs, channels}"}, Op::conv_transpose_1d, {f({2, 4, 3}), f({3, 4})}, {});
}

// Strides far beyond the operands, which no index of an element reaches.
TEST_F(ConvolutionShapes, strides_may_be_large) {
    EXPECT_EQ(build.node(Op::conv_1d, {f({3, 2, 4}), f({9, 2})}, {n("s", far)})->layout.ne, (Ne{1, 4, 1, 1}));
    Tensor *spread = build.node(Op::conv_transpose_2d, {f({3, 2, 4, 2}), f({1, 1, 2})}, {n("stride", far)});
    EXPECT_EQ(spread->layout.ne, (Ne{3, 2, 4, 1}));
    Tensor *one = build.node(Op::conv_1d, {f({1, 2, 4}), f({9, 2})}, {n("d", far), n("s", far)});
    // Five windows, of which one meets elements.
    const std::vector<Attr> apart{n("p", far / 2), n("s", far / 4)};
    std::vector<Attr> image{n("p0", far / 2), n("s0", far / 4)};
    Tensor *signal = f({9, 2}), *columns = build.node(Op::im2col, {f({2, 2, 1}), signal}, image);
    Tensor *five = build.node(Op::conv_1d, {f({2, 2, 4}), signal}, apart),
           *by_channel = build.node(Op::conv_1d_dw, {f({2, 1, 2}), signal}, apart);
    EXPECT_EQ(five->layout.ne, (Ne{5, 4, 1, 1}));
    Tensor *pooled = build.node(Op::pool_1d, {f({9})}, {w("op", "max"), n("k", 2), n("s", far)});
    Tensor *outputs[] = {spread, one, columns, five, by_channel, pooled};
    core::compute(*core::Graph::create(*build.context, outputs), *cpu);
}

// A transposed convolution has as much work as its kernel has taps and its result elements, whatever the stride: a result of four million
// elements from one tap, kernels as wide as their stride, phases beyond the last element. Against a sum over positions and taps.
TEST_F(ConvolutionShapes, transposed_by_strides_beyond_the_kernel) {
    struct Sizes {
        std::int64_t taps, positions, stride, dilation, padding;
    };
    for (const Sizes &s : {Sizes{1, 2, 4'000'000, 1, 0},
                           {3, 4, 1000, 1, 0},
                           {3, 4, 1000, 333, 5},
                           {3, 4, 6, 4, 1},
                           {4, 3, 6, 3, 7},
                           {5000, 3, 5000, 1, 2},
                           {4000, 2, 20'000, 4, 0},
                           {2, 1, 10, 1, 0},
                           {3, 2, 9, 9, 4}}) {
        Tensor *a = f({s.taps, 2, 3}), *b = f({s.positions, 3});
        for (Tensor *t : {a, b}) {
            auto *values = reinterpret_cast<float *>(t->address());
            for (std::int64_t i = 0; i < t->layout.n_elements(); i++)
                values[i] = support::value(t == a ? 1 : 2, static_cast<std::uint32_t>(i));
        }
        Tensor *c = build.node(Op::conv_transpose_1d, {a, b}, {n("s", s.stride), n("d", s.dilation), n("p", s.padding)});
        const std::int64_t elements = c->layout.ne[0];
        std::vector<double> wanted(static_cast<std::size_t>(elements * 2)), bound(wanted.size());
        const auto *kernel = reinterpret_cast<const float *>(a->address()), *signal = reinterpret_cast<const float *>(b->address());
        for (std::int64_t channel = 0; channel < 3; channel++) {
            for (std::int64_t output = 0; output < 2; output++) {
                for (std::int64_t i = 0; i < s.positions; i++) {
                    for (std::int64_t tap = 0; tap < s.taps; tap++) {
                        const std::int64_t e = i * s.stride + tap * s.dilation - s.padding;
                        if (e < 0 || e >= elements) continue;
                        const double product =
                            double{kernel[tap + s.taps * (output + 2 * channel)]} * double{signal[i + s.positions * channel]};
                        wanted[static_cast<std::size_t>(e + elements * output)] += product;
                        bound[static_cast<std::size_t>(e + elements * output)] += std::fabs(product);
                    }
                }
            }
        }
        core::compute(*core::Graph::create(*build.context, std::span(&c, 1)), *cpu);
        const auto *got = reinterpret_cast<const float *>(c->address());
        for (std::size_t i = 0; i < wanted.size(); i++) {
            // Sums of few products: at most 3 channels by taps that meet, each rounded once.
            ASSERT_NEAR(got[i], wanted[i], bound[i] * 0x1p-20) << "taps " << s.taps << ", stride " << s.stride << ", element " << i;
        }
    }
}

// The image matters where a kernel's taps reach, and there alone: a convolution with one tap of 1 is a copy.
TEST_F(ConvolutionShapes, a_tap_of_one_copies) {
    Random random(5);
    Tensor *a = f({3, 3, 1, 1}), *b = build.leaf(DType::f32, {7, 6, 1, 1}, random);
    std::vector<float> kernel(9), values(42);
    kernel[5] = 1;
    for (std::size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i + 1);
    core::write_f32(*a, kernel.data(), kernel.size()), core::write_f32(*b, values.data(), values.size());
    Tensor *c = build.node(Op::conv_2d, {a, b}, {n("p0", 1), n("p1", 1)});
    core::compute(*core::Graph::create(*build.context, {&c, 1}), *cpu);
    const std::vector<float> got = values_of(c);
    for (std::size_t i = 0; i < got.size(); i++) EXPECT_EQ(got[i], i % 7 == 6 ? 0 : values[i + 1]) << i;
}

}  // namespace
