// Data in and out: packed bytes of strided views, conversions, ranges.
#include "graph/tensor_data.hpp"

#include "support.hpp"

#include <atomic>
#include <thread>

#include <limits>

using support::leaf;

namespace {

// Element (i0, i1, i2, i3) by the strides, from the root's packed floats.
TEST(Data, any_range_of_a_strided_view) {
    tl::Context ctx;
    const auto t = leaf(ctx, {5, 4, 3, 2}, 1);
    const auto root = t.read<float>();
    const std::vector<std::size_t> nb{20, 80};
    for (const auto &view : {t, t.transpose(), t.permute({2, 3, 0, 1}), t.view({3, 2, 2}, nb, 28)}) {
        const auto ne = view.shape();
        const auto strides = view.strides();
        const std::size_t offset = view.op() == "view" ? 28 : 0;
        std::vector<float> packed;
        for (std::int64_t i3 = 0; i3 < ne[3]; i3++)
            for (std::int64_t i2 = 0; i2 < ne[2]; i2++)
                for (std::int64_t i1 = 0; i1 < ne[1]; i1++)
                    for (std::int64_t i0 = 0; i0 < ne[0]; i0++) {
                        const std::size_t at = offset + static_cast<std::size_t>(i0) * strides[0] +
                                               static_cast<std::size_t>(i1) * strides[1] + static_cast<std::size_t>(i2) * strides[2] +
                                               static_cast<std::size_t>(i3) * strides[3];
                        packed.push_back(root[at / 4]);
                    }
        EXPECT_EQ(view.read<float>(), packed);
        const auto *bytes = reinterpret_cast<const unsigned char *>(packed.data());
        // Ranges that begin and end inside elements.
        for (std::size_t from = 0; from <= view.nbytes(); from += 3) {
            for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{31}}) {
                if (from + size > view.nbytes()) continue;
                std::vector<unsigned char> got(size + 1, 0xee);
                view.read_bytes(got.data(), from, size);
                for (std::size_t i = 0; i < size; i++) ASSERT_EQ(got[i], bytes[from + i]);
                ASSERT_EQ(got[size], 0xee);
                view.write_bytes(got.data(), from, size);
            }
        }
        EXPECT_EQ(t.read<float>(), root) << "writing back what was read changes nothing";
    }
}

TEST(Data, writes_through_a_view_change_its_elements_only) {
    tl::Context ctx;
    const auto t = ctx.zeros(tl::Type::f32, {6, 4});
    const std::vector<std::size_t> nb{48};
    t.view({2, 2}, nb, 8).write<float>(std::vector<float>{1, 2, 3, 4});
    const auto all = t.read<float>();
    for (std::size_t i = 0; i < 24; i++) EXPECT_EQ(all[i], i == 2 ? 1.f : i == 3 ? 2.f : i == 14 ? 3.f : i == 15 ? 4.f : 0.f);
}

TEST(Data, out_of_range_and_wrong_counts) {
    using S = tl::Status;
    tl::Context ctx;
    const auto t = leaf(ctx, {4}, 1);
    char buffer[64];
    for (const auto &[offset, size] :
         std::vector<std::pair<std::size_t, std::size_t>>{{0, 17}, {17, 0}, {16, 1}, {~std::size_t{0}, 1}, {1, ~std::size_t{0}}}) {
        support::expect_error(S::invalid_argument, {"tensor_read", "16"}, [&, o = offset, s = size] { t.read_bytes(buffer, o, s); });
        support::expect_error(S::invalid_argument, {"tensor_write", "16"}, [&, o = offset, s = size] { t.write_bytes(buffer, o, s); });
    }
    EXPECT_NO_THROW(t.read_bytes(nullptr, 16, 0));
    support::expect_error(S::invalid_argument, {"NULL"}, [&] { t.read_bytes(nullptr, 0, 1); });
    support::expect_error(S::invalid_argument, {"3 values", "4"}, [&] { t.write_f32(std::vector<float>(3)); });
    support::expect_error(S::type_mismatch, {"f32", "f64"}, [&] { t.read<double>(); });
}

TEST(Data, integers_refuse_and_then_nothing_is_written) {
    tl::Context ctx;
    const auto t = ctx.tensor<std::int8_t>({3000}, std::span<const std::int8_t>(std::vector<std::int8_t>(3000, 7)));
    std::vector<float> values(3000, 1.0f);
    values[2999] = 200.0f;
    support::expect_error(tl::Status::invalid_argument, {"value 2999", "200", "i8"}, [&] { t.write_f32(values); });
    values[2999] = std::numeric_limits<float>::quiet_NaN();
    support::expect_error(tl::Status::invalid_argument, {"value 2999", "nan"}, [&] { t.write_f32(values); });
    for (const float x : t.read_f32()) ASSERT_EQ(x, 7.0f);
    values[2999] = -128.4f;
    t.write_f32(values);
    EXPECT_EQ(t.read<std::int8_t>()[2999], -128);
}

TEST(Data, bools_are_0_and_1) {
    tl::Context ctx;
    const tl::Tensor t = ctx.tensor({4}, std::vector<bool>{true, false, true, true});
    EXPECT_EQ(t.type(), tl::Type::boolean);
    EXPECT_EQ(t.read<bool>(), (std::vector<bool>{true, false, true, true}));
    EXPECT_EQ(t.read_f32(), (std::vector<float>{1, 0, 1, 1}));
    // Another byte is refused, and nothing is written.
    const std::uint8_t bytes[] = {0, 1, 2};
    support::expect_error(tl::Status::invalid_argument, {"byte 3 is 2", "0 and 1"}, [&] { t.write_bytes(bytes, 1, 3); });
    EXPECT_EQ(t.read<bool>(), (std::vector<bool>{true, false, true, true}));
    t.write_f32(std::vector<float>{0, 0.25f, std::numeric_limits<float>::quiet_NaN(), -0.0f});
    EXPECT_EQ(t.read<bool>(), (std::vector<bool>{false, true, true, false}));
    t.set({0}, true);
    EXPECT_TRUE(t.get<bool>({0}));
    EXPECT_EQ(t.get<float>({0}), 1.0f);
    // Whoever maps it may write anything; it is read as bools all the same.
    const auto context = tl::core::Context::create({});
    auto *mapped = context->new_leaf(tl::core::contiguous_layout("test", tl::core::DType::boolean, std::vector<std::int64_t>{2}));
    *static_cast<std::uint8_t *>(tl::core::map(*mapped, true)) = 7;
    tl::core::unmap(*mapped, true);
    std::uint8_t read[2];
    tl::core::read_bytes(*mapped, read, 0, 2);
    EXPECT_EQ(read[0], 1);
    EXPECT_EQ(read[1], 0);
    support::expect_error(tl::Status::invalid_argument, {"2 values", "4 elements"},
                          [&] { ctx.tensor({4}, std::vector<bool>{true, false}); });
}

TEST(Data, u8_holds_0_to_255) {
    tl::Context ctx;
    const tl::Tensor t = ctx.tensor({3}, std::vector<std::uint8_t>{0, 128, 255});
    EXPECT_EQ(t.read_f32(), (std::vector<float>{0, 128, 255}));
    support::expect_error(tl::Status::invalid_argument, {"value 1", "256", "u8"}, [&] { t.write_f32(std::vector<float>{0, 256, 0}); });
    support::expect_error(tl::Status::invalid_argument, {"value 2", "-1", "u8"}, [&] { t.write_f32(std::vector<float>{0, 2, -1}); });
    EXPECT_EQ(t.read<std::uint8_t>(), (std::vector<std::uint8_t>{0, 128, 255}));
}

TEST(Data, one_element_at_a_time) {
    const auto context = tl::core::Context::create({});
    auto *t = context->new_leaf(tl::core::contiguous_layout("test", tl::core::DType::f16, std::vector<std::int64_t>{3, 2}));
    tl::core::set_f32(*t, {2, 1, 0, 0}, 1.5f);
    EXPECT_EQ(tl::core::get_f32(*t, {2, 1, 0, 0}), 1.5f);
    EXPECT_EQ(tl::core::get_f32(*t, {1, 1, 0, 0}), 0.0f);
    for (const tl::core::Extents bad : {tl::core::Extents{3, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 1, 0}, {-1, 0, 0, 0}}) {
        support::expect_error(tl::Status::invalid_argument, {"index"}, [&] { tl::core::get_f32(*t, bad); });
        support::expect_error(tl::Status::invalid_argument, {"index"}, [&] { tl::core::set_f32(*t, bad, 1); });
    }
}

TEST(Data, mappings_exclude_each_other_as_they_must) {
    using S = tl::Status;
    const auto context = tl::core::Context::create({});
    auto *t = context->new_leaf(tl::core::contiguous_layout("test", tl::core::DType::f32, std::vector<std::int64_t>{4}));
    const auto busy = [&](const std::function<void()> &f) { support::expect_error(S::busy, {"context"}, f); };
    float x[4] = {};
    auto *p = static_cast<float *>(tl::core::map(*t, false));
    EXPECT_EQ(tl::core::map(*t, false), p);  // readers share
    busy([&] { tl::core::map(*t, true); });
    busy([&] { tl::core::write_f32(*t, x, 4); });
    tl::core::read_f32(*t, x, 4);
    tl::core::unmap(*t, false);
    tl::core::unmap(*t, false);
    p = static_cast<float *>(tl::core::map(*t, true));
    p[2] = 9;
    busy([&] { tl::core::read_f32(*t, x, 4); });
    busy([&] { tl::core::map(*t, false); });
    busy([&] { context->reset(); });
    tl::core::unmap(*t, true);
    EXPECT_EQ(tl::core::get_f32(*t, {2, 0, 0, 0}), 9.0f);
}

// A reset succeeds as soon as the mapping has ended, and the tensor is gone: ending a mapping may not look at it afterwards.
// AddressSanitizer sees a read of what the reset has given back.
TEST(Data, a_context_may_be_reset_while_a_mapping_ends) {
    for (int i = 0; i < support::repeats(300, 20'000); i++) {
        const auto context = tl::core::Context::create({});
        auto *t = context->new_leaf(tl::core::contiguous_layout("test", tl::core::DType::f32, std::vector<std::int64_t>{4}));
        tl::core::map(*t, i % 2 == 0);
        std::atomic<bool> started{false};
        std::thread resets([&] {
            for (;;) {
                started = true;
                try {
                    return context->reset();
                } catch (const tl::Error &error) {
                    if (error.code() != tl::Status::busy) throw;
                }
            }
        });
        while (!started) std::this_thread::yield();
        tl::core::unmap(*t, i % 2 == 0);
        resets.join();
    }
}

// As many values as n_elements() says would end the process.
TEST(Data, what_cannot_be_read_takes_no_memory) {
    tl::ContextOptions options;
    options.no_alloc = true;
    const tl::Context shapes(options), ctx;
    const auto absent = shapes.zeros(tl::Type::f32, {std::int64_t{1} << 50});
    support::expect_error(tl::Status::invalid_argument, {"no data"}, [&] { absent.read<float>(); });
    support::expect_error(tl::Status::invalid_argument, {"no data"}, [&] { absent.read_f32(); });
    const std::vector<std::size_t> none{0};
    EXPECT_EQ(leaf(ctx, {1}, 1).view({1, 3}, none).read<float>().size(), 3u);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's allocator ends the process where there is no memory";
#endif
    for (const std::int64_t n : {std::int64_t{1} << 50, std::int64_t{1} << 60}) {
        const auto repeated = leaf(ctx, {1}, 1).view({1, n}, none);
        support::expect_error(tl::Status::out_of_memory, {"tensor_read", std::to_string(n), "no memory"}, [&] { repeated.read<float>(); });
        support::expect_error(tl::Status::out_of_memory, {"tensor_read", std::to_string(n), "no memory"}, [&] { repeated.read_f32(); });
    }
}

TEST(Data, null_handles_are_errors) {
    const tl::Tensor null;
    EXPECT_FALSE(null);
    tl::Context ctx;
    const auto t = leaf(ctx, {4}, 1);
    EXPECT_TRUE(t);
    const tl::Backend cpu("cpu", {1});
    for (const auto &use : std::vector<std::function<void()>>{[&] { (void)null.shape(); },
                                                              [&] { (void)null.type(); },
                                                              [&] { (void)null.name(); },
                                                              [&] { null.set_name("x"); },
                                                              [&] { null.read<float>(); },
                                                              [&] { null.read_f32(); },
                                                              [&] { null.write_f32({}); },
                                                              [&] { null.set_constant(); },
                                                              [&] { null.drop_original(); },
                                                              [&] { (void)null.context(); },
                                                              [&] { null.view({1}); },
                                                              [&] { null.narrow(0, 0, 1); },
                                                              [&] { null.slice({0}, {1}); },
                                                              [&] { null.reshape({1}); },
                                                              [&] { null.transpose(); },
                                                              [&] { null.cast(tl::Type::f16); },
                                                              [&] { null + t; },
                                                              [&] { t + null; },
                                                              [&] { mul_mat(null, null); },
                                                              [&] { ctx.add(t, null); },
                                                              [&] { ctx.op("add", {t, null}); },
                                                              [&] { cpu.compute({null}); },
                                                              [&] { tl::Graph graph({t, null}); }}) {
        support::expect_error(tl::Status::invalid_argument, {"handle is null"}, use);
    }
    tl::Tensor moved = t, target = std::move(moved);
    EXPECT_TRUE(target);
    support::expect_error(tl::Status::invalid_argument, {"handle is null"}, [&] { (void)moved.shape(); });
    const std::vector<tl::Tensor> outputs{t + t, t};
    cpu.compute(outputs);
    EXPECT_EQ(outputs[0].read<float>()[3], 2 * t.read<float>()[3]);
}

}  // namespace
