// Gradients of convolutions and of upscaling against sums in double: random windows, and images so large that their windows are taken in
// bands; on every ISA, with equal bits at several thread counts; and the memory that they take.
#include "support.hpp"

#include <array>
#include <cmath>
#include <random>

namespace {

using Shape = std::array<std::int64_t, 4>;

// Values and indices in double.
struct Grid {
    Shape ne;
    std::vector<double> values;

    explicit Grid(const Shape &shape) : ne(shape), values(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3])) {}
    explicit Grid(const tl::Tensor &t) : Grid(t.shape()) {
        const auto read = t.read_f32();
        values.assign(read.begin(), read.end());
    }
    double &at(std::int64_t i0, std::int64_t i1, std::int64_t i2, std::int64_t i3) {
        return values[static_cast<std::size_t>(i0 + ne[0] * (i1 + ne[1] * (i2 + ne[2] * i3)))];
    }
};

// A sum of products, with the sum of their magnitudes, and of how many.
struct Sums {
    Grid value, magnitude, count;
    explicit Sums(const Shape &ne) : value(ne), magnitude(ne), count(ne) {}
    void add(std::int64_t i0, std::int64_t i1, std::int64_t i2, std::int64_t i3, double product) {
        value.at(i0, i1, i2, i3) += product;
        magnitude.at(i0, i1, i2, i3) += std::fabs(product);
        count.at(i0, i1, i2, i3) += 1;
    }
};

// Any order of sums in F32: gamma_n of the magnitudes, and a rounding for each of the few sums that come together in the end.
void expect_sums(const std::vector<float> &got, const Sums &want, const std::string &what) {
    ASSERT_EQ(got.size(), want.value.values.size()) << what;
    for (std::size_t i = 0; i < got.size(); i++) {
        const double bound = (want.count.values[i] + 8) * 0x1p-24 * 1.01 * want.magnitude.values[i];
        ASSERT_LE(std::fabs(got[i] - want.value.values[i]), bound) << what << ", element " << i << ": " << got[i];
    }
}

// The gradients on every ISA, which must have the same bits at any number of threads.
template <class Check>
void on_all_backends(const std::vector<tl::Tensor> &gradients, Check check) {
    for (const std::string &isa : support::isas()) {
        std::vector<std::vector<float>> first;
        for (const int threads : {1, 2, 3}) {
            support::backend(isa, threads).compute(gradients);
            std::vector<std::vector<float>> got;
            for (const auto &t : gradients) got.push_back(t.read_f32());
            if (threads == 1) check(got, isa);
            if (threads == 1) first = got;
            EXPECT_EQ(got, first) << "the bits depend on the number of threads: " << isa << ", " << threads;
        }
    }
}

// ---- Convolutions

enum class Form { plain, by_channel, transposed };

struct Call {
    Form form;
    std::int64_t w, h, channels, outputs, images, kw, kh;  // of what the windows move over: of a transposed one the result
    std::int64_t s0 = 1, s1 = 1, p0 = 0, p1 = 0, d0 = 1, d1 = 1;

    std::int64_t x() const { return (w + 2 * p0 - (kw - 1) * d0 - 1) / s0 + 1; }
    std::int64_t y() const { return (h + 2 * p1 - (kh - 1) * d1 - 1) / s1 + 1; }
    std::string text() const {
        std::string all;
        for (const std::int64_t n : {static_cast<std::int64_t>(form), w, h, channels, outputs, images, kw, kh, s0, s1, p0, p1, d0, d1})
            all += std::to_string(n) + " ";
        return all;
    }
};

// Both gradients. k(tap, o, c), the element of the image (e, c), and the position (x, o) belong together: of the result is the position, of
// a transposed convolution the element.
void expect_gradients(const Call &call) {
    const tl::Context ctx;
    const bool turned = call.form == Form::transposed, by_channel = call.form == Form::by_channel;
    const Shape image{call.w, call.h, call.channels, call.images}, made{call.x(), call.y(), call.outputs, call.images};
    const auto k = support::leaf(ctx, {call.kw, call.kh, by_channel ? 1 : call.channels, call.outputs}, 1);
    const Shape &of_b = turned ? made : image, &of_c = turned ? image : made;
    const auto b = support::leaf(ctx, {of_b[0], of_b[1], of_b[2], of_b[3]}, 2),
               seed = support::leaf(ctx, {of_c[0], of_c[1], of_c[2], of_c[3]}, 3);
    const auto c = turned ? conv_transpose_2d(k, b, {.stride = call.s0, .p0 = call.p0, .p1 = call.p1, .d0 = call.d0, .d1 = call.d1})
                   : by_channel
                       ? conv_2d_dw(k, b, {.s0 = call.s0, .s1 = call.s1, .p0 = call.p0, .p1 = call.p1, .d0 = call.d0, .d1 = call.d1})
                       : conv_2d(k, b, {.s0 = call.s0, .s1 = call.s1, .p0 = call.p0, .p1 = call.p1, .d0 = call.d0, .d1 = call.d1});
    ASSERT_EQ(c.shape(), of_c) << call.text();
    const auto gradients = c.gradients({k, b}, seed);
    Sums dk(k.shape()), db(of_b);
    Grid kv(k), bv(b), gv(seed);
    for (std::int64_t n = 0; n < call.images; n++) {
        for (std::int64_t o = 0; o < call.outputs; o++) {
            for (std::int64_t y = 0; y < made[1]; y++) {
                for (std::int64_t x = 0; x < made[0]; x++) {
                    for (std::int64_t ty = 0; ty < call.kh; ty++) {
                        for (std::int64_t tx = 0; tx < call.kw; tx++) {
                            const std::int64_t ex = x * call.s0 + tx * call.d0 - call.p0, ey = y * call.s1 + ty * call.d1 - call.p1;
                            if (ex < 0 || ex >= call.w || ey < 0 || ey >= call.h) continue;
                            for (std::int64_t i = 0; i < (by_channel ? 1 : call.channels); i++) {
                                const std::int64_t channel = by_channel ? o : i;
                                const double g = turned ? gv.at(ex, ey, channel, n) : gv.at(x, y, o, n);
                                const double v = turned ? bv.at(x, y, o, n) : bv.at(ex, ey, channel, n);
                                dk.add(tx, ty, i, o, g * v);
                                if (turned) {
                                    db.add(x, y, o, n, g * kv.at(tx, ty, i, o));
                                } else {
                                    db.add(ex, ey, channel, n, g * kv.at(tx, ty, i, o));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    on_all_backends(gradients, [&](const std::vector<std::vector<float>> &got, const std::string &isa) {
        expect_sums(got[0], dk, "kernel, " + call.text() + isa);
        expect_sums(got[1], db, "image, " + call.text() + isa);
    });
}

TEST(Convolutions, have_gradients_for_all_windows) {
    std::mt19937 random(5);
    const auto any = [&](std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(random()) % (most - least + 1);
    };
    for (int draw = 0; draw < support::repeats(60, 1000) && !testing::Test::HasFailure(); draw++) {
        Call call{static_cast<Form>(draw % 3), any(1, 9), any(1, 9), any(1, 3), any(1, 3), any(1, 3), any(1, 4), any(1, 4)};
        call.s0 = any(1, 3), call.s1 = call.form == Form::transposed ? call.s0 : any(1, 3);
        call.p0 = any(0, 3), call.p1 = any(0, 3), call.d0 = any(1, 3), call.d1 = any(1, 3);
        if (call.form == Form::by_channel) call.channels = call.outputs;
        // A transposed convolution makes what its windows span, so that none of the elements is left over.
        if (call.form == Form::transposed) {
            call.w = (any(1, 5) - 1) * call.s0 + (call.kw - 1) * call.d0 + 1 - 2 * call.p0;
            call.h = (any(1, 5) - 1) * call.s1 + (call.kh - 1) * call.d1 + 1 - 2 * call.p1;
        }
        if (call.w < 1 || call.h < 1 || call.w + 2 * call.p0 <= (call.kw - 1) * call.d0 || call.h + 2 * call.p1 <= (call.kh - 1) * call.d1)
            continue;
        expect_gradients(call);
    }
}

// What windows meet is 4 Mi numbers at a time: whole images, rows of positions, and columns of a signal; with padding, strides and
// dilation.
TEST(Convolutions, have_gradients_of_large_images) {
    expect_gradients({Form::plain, 24, 24, 64, 2, 16, 3, 3, 1, 1, 1, 1});
    expect_gradients({Form::plain, 101, 97, 64, 2, 2, 3, 3, 1, 1, 1, 1});
    expect_gradients({Form::plain, 150, 141, 64, 1, 1, 3, 4, 2, 1, 2, 3, 2, 2});
    expect_gradients({Form::plain, 5600, 1, 256, 2, 2, 3, 1, 1, 1, 1, 0});
    expect_gradients({Form::plain, 12001, 1, 256, 1, 1, 3, 1, 2, 1, 2, 0, 2, 1});
    // The first bands of rows, and the last ones, lie in the padding.
    expect_gradients({Form::plain, 100, 4, 128, 1, 1, 3, 3, 1, 1, 1, 60});
    expect_gradients({Form::transposed, 182, 182, 64, 2, 1, 4, 4, 2, 2, 1, 1});
    expect_gradients({Form::by_channel, 230, 220, 16, 16, 1, 3, 3, 2, 1, 1, 2});
    expect_gradients({Form::by_channel, 120, 110, 4, 4, 3, 9, 9, 1, 1, 4, 4});
}

std::size_t planned(const tl::Tensor &t) { return tl::Graph({t}).plan_bytes(support::backend(support::isas().front(), 2))[0]; }

TEST(Convolutions, have_gradients_that_take_little_memory) {
    const tl::Context ctx;
    const auto b = ctx.zeros(tl::Type::f32, {112, 112, 32, 4}), k = ctx.zeros(tl::Type::f32, {3, 3, 32, 32});
    const auto by_channel = ctx.zeros(tl::Type::f32, {3, 3, 1, 32}), seed = ctx.zeros(tl::Type::f32, {112, 112, 32, 4});
    const std::size_t image = 112 * 112 * 32 * 4 * 4, band = std::size_t{16} << 20;
    const auto c = conv_2d(k, b, {.p0 = 1, .p1 = 1}), d = conv_2d_dw(by_channel, b, {.p0 = 1, .p1 = 1});
    // What windows meet of all images would be 9 of them.
    EXPECT_LT(planned(c.gradients({k}, seed).at(0)), image + 2 * band);
    EXPECT_LT(planned(d.gradients({by_channel}, seed).at(0)), image + band);
    EXPECT_LT(planned(d.gradients({b}, seed).at(0)), 4 * image);
}

// ---- Upscaling

void expect_upscale(const Shape &ne, std::int64_t factor, tl::UpscaleMode mode) {
    const tl::Context ctx;
    const auto a = support::leaf(ctx, {ne[0], ne[1], ne[2], ne[3]}, 1);
    const auto seed = support::leaf(ctx, {ne[0] * factor, ne[1] * factor, ne[2], ne[3]}, 2);
    const auto gradients = upscale(a, {.factor = factor, .mode = mode}).gradients({a}, seed);
    // Which pixels a larger one lies between, and its part of each.
    const auto between = [&](std::int64_t i, std::int64_t n) {
        const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(factor) - 0.5;
        if (mode == tl::UpscaleMode::nearest) return std::array<std::pair<std::int64_t, double>, 2>{{{i / factor, 1}, {0, 0}}};
        const double held = std::clamp(at, 0.0, static_cast<double>(n - 1)), first = std::floor(held);
        const auto pixel = static_cast<std::int64_t>(first);
        return std::array<std::pair<std::int64_t, double>, 2>{{{pixel, 1 - (held - first)}, {std::min(pixel + 1, n - 1), held - first}}};
    };
    Sums want(ne);
    Grid g(seed);
    for (std::int64_t i3 = 0; i3 < ne[3]; i3++) {
        for (std::int64_t i2 = 0; i2 < ne[2]; i2++) {
            for (std::int64_t i1 = 0; i1 < ne[1] * factor; i1++) {
                for (std::int64_t i0 = 0; i0 < ne[0] * factor; i0++) {
                    for (const auto &[y, of_y] : between(i1, ne[1])) {
                        for (const auto &[x, of_x] : between(i0, ne[0])) {
                            if (of_x * of_y > 0) want.add(x, y, i2, i3, of_x * of_y * g.at(i0, i1, i2, i3));
                        }
                    }
                }
            }
        }
    }
    // Each weight adds a rounding or two.
    for (double &count : want.count.values) count += 8;
    on_all_backends(gradients, [&](const std::vector<std::vector<float>> &got, const std::string &isa) {
        expect_sums(got[0], want, std::to_string(ne[0]) + " x " + std::to_string(ne[1]) + " by " + std::to_string(factor) + ", " + isa);
    });
}

TEST(Upscaling, has_gradients_of_all_sizes) {
    for (const auto mode : {tl::UpscaleMode::nearest, tl::UpscaleMode::bilinear}) {
        for (const std::int64_t factor : {1, 2, 3, 4, 7, 70}) {
            for (const Shape &ne : {Shape{1, 1, 1, 1}, {1, 5, 2, 1}, {4, 1, 1, 2}, {2, 2, 1, 1}, {5, 3, 2, 2}})
                expect_upscale(ne, factor, mode);
        }
        expect_upscale({70, 33, 2, 1}, 2, mode);
    }
}

TEST(Upscaling, has_gradients_that_take_little_memory) {
    const tl::Context ctx;
    const auto a = ctx.zeros(tl::Type::f32, {4096, 16}), seed = ctx.zeros(tl::Type::f32, {8192, 32});
    for (const auto mode : {tl::UpscaleMode::nearest, tl::UpscaleMode::bilinear})
        EXPECT_LT(planned(upscale(a, {.factor = 2, .mode = mode}).gradients({a}, seed).at(0)), std::size_t{4} << 20);
}

}  // namespace
