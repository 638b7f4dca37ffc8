// Pooling, upscaling and convolutions against double, over random views and types, on every level, and with the same bits at 1 to 8
// threads; and what is refused.
#include "convolutions.hpp"

#include "api/devices.hpp"

using namespace convolutions;

namespace {

// Of each level, by threads.
const std::vector<std::vector<core::Ref<core::Backend>>> &all_levels() {
    static const auto levels = [] {
        std::vector<std::vector<core::Ref<core::Backend>>> all;
        for (const std::string &isa : support::isa_levels()) {
            const support::Environment level("TENSORLIB_ISA", isa.c_str());
            all.emplace_back();
            for (const int threads : {1, 2, 3, 8}) all.back().push_back(core::open_backend("cpu", {.n_threads = threads}));
        }
        return all;
    }();
    return levels;
}

class Convolutions : public testing::TestWithParam<Operation> {};
INSTANTIATE_TEST_SUITE_P(operations, Convolutions, testing::ValuesIn(all_operations),
                         [](const auto &info) { return core::op_name(info.param.op); });

TEST_P(Convolutions, are_within_their_bounds) { expect_values(GetParam(), all_levels(), support::repeats(60, 10000)); }

TEST_P(Convolutions, share_the_work_among_threads) { expect_values(GetParam(), all_levels(), support::repeats(3, 60), true); }

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
    refused(S::invalid_argument, {"dimension 0", "window of 2 and padding 2", "less padding"}, Op::pool_1d, {f({4, 3})},
            {w("op", "max"), n("k", 2), n("p", 2)});
    refused(S::invalid_argument, {"0 elements"}, Op::pool_1d, {f({0, 3})}, {w("op", "max"), n("k", 2), n("p", 1)});
    refused(S::invalid_argument, {"2^63 - 1"}, Op::pool_1d, {f({4, 3})}, {w("op", "max"), n("k", far + 1), n("p", far)});
    refused(S::invalid_argument, {"'mean'", "max, avg"}, Op::pool_1d, {f({4})}, {w("op", "mean"), n("k", 2)});
    refused(S::type_mismatch, {"i32", "f32, f16 or bf16"}, Op::pool_1d, {f({4}, DType::i32)}, {w("op", "max"), n("k", 2)});
}

TEST_F(ConvolutionShapes, images_that_become_too_large_are_refused) {
    using S = tl::Status;
    refused(S::invalid_argument, {"factor is -1", "at least 1"}, Op::upscale, {f({4, 3})}, {n("factor", -1)});
    refused(S::invalid_argument, {"[4, 3] f32", "2^63 - 1"}, Op::upscale, {f({4, 3})}, {n("factor", far)});
    refused(S::invalid_argument, {"more bytes"}, Op::upscale, {f({4, 3})}, {n("factor", std::int64_t{1} << 30)});
    refused(S::type_mismatch, {"q8_0"}, Op::upscale, {f({32, 3}, DType::q8_0)}, {n("factor", 2)});
}

// Windows without stride are side by side.
TEST_F(ConvolutionShapes, the_stride_of_a_pool_is_its_window) {
    EXPECT_EQ(build.node(Op::pool_1d, {f({10, 3})}, {w("op", "max"), n("k", 3)})->layout.ne[0], 3);
    EXPECT_EQ(build.node(Op::pool_2d, {f({10, 9})}, {w("op", "max"), n("k0", 3), n("k1", 2), n("s0", 1)})->layout.ne, (Ne{8, 4, 1, 1}));
}

}  // namespace
