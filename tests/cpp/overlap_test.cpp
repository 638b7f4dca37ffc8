// Overlap by arithmetic, compared with looking at every byte.
#include "support.hpp"

#include "graph/overlap.hpp"

#include <random>
#include <set>

namespace {

using namespace tensorlib::core;

// A tensor in no context.
struct Window : Tensor {
    Window(const Layout &window, std::size_t offset, Tensor &memory) {
        layout = window;
        root = &memory;
        root_offset = offset;
    }
};

// Where each element begins.
std::vector<std::size_t> places(const Tensor &t) {
    std::vector<std::size_t> all;
    const Layout &l = t.layout;
    for (std::int64_t i3 = 0; i3 < l.ne[3]; i3++)
        for (std::int64_t i2 = 0; i2 < l.ne[2]; i2++)
            for (std::int64_t i1 = 0; i1 < l.ne[1]; i1++)
                for (std::int64_t i0 = 0; i0 < l.ne[0] / traits(l.type).block_size; i0++)
                    all.push_back(t.root_offset + static_cast<std::size_t>(i0) * l.nb[0] + static_cast<std::size_t>(i1) * l.nb[1] +
                                  static_cast<std::size_t>(i2) * l.nb[2] + static_cast<std::size_t>(i3) * l.nb[3]);
    return all;
}

bool shares_with_itself(const Tensor &t) {
    // Strides and offsets are multiples of the size: elements are the same bytes or none.
    const std::vector<std::size_t> all = places(t);
    return std::set<std::size_t>(all.begin(), all.end()).size() != all.size();
}

bool shares(const Tensor &a, const Tensor &b) {
    const std::vector<std::size_t> of_a = places(a), of_b = places(b);
    const std::set<std::size_t> first(of_a.begin(), of_a.end());
    return std::any_of(of_b.begin(), of_b.end(), [&](std::size_t place) { return first.count(place) != 0; });
}

Layout random_layout(std::mt19937 &random) {
    Layout l;
    l.type = random() % 2 ? DType::f32 : DType::q4_0;
    const DTypeTraits &type = traits(l.type);
    l.n_dims = max_dims;
    std::size_t nested = type.size;
    for (std::size_t d = 0; d < max_dims; d++) {
        l.ne[d] = static_cast<std::int64_t>(random() % 5);
        // Mostly strides that nest, with gaps; some of any kind.
        l.nb[d] = random() % 4 ? nested * (1 + random() % 2) : type.size * (random() % 40);
        nested = std::max(l.nb[d], type.size) * static_cast<std::size_t>(std::max<std::int64_t>(l.ne[d], 1));
    }
    std::swap(l.nb[random() % max_dims], l.nb[random() % max_dims]);
    l.ne[0] *= type.block_size;
    return l;
}

const char *text(Overlap overlap) { return overlap == Overlap::no ? "no" : overlap == Overlap::yes ? "yes" : "unknown"; }

TEST(Overlaps, of_one_tensor_agree_with_looking) {
    std::mt19937 random(1);
    int counts[2] = {};
    for (int i = 0; i < support::repeats(20000, 400000); i++) {
        Tensor root;
        const Window t(random_layout(random), 0, root);
        const bool expected = shares_with_itself(t);
        counts[expected]++;
        ASSERT_STREQ(text(overlaps_itself(t)), text(expected ? Overlap::yes : Overlap::no))
            << layout_text(t.layout) << " strides " << t.layout.nb[0] << ", " << t.layout.nb[1] << ", " << t.layout.nb[2] << ", "
            << t.layout.nb[3];
    }
    EXPECT_GT(counts[0], 1000);
    EXPECT_GT(counts[1], 1000);
}

TEST(Overlaps, of_two_agree_with_looking) {
    std::mt19937 random(2);
    int counts[2] = {};
    for (int i = 0; i < support::repeats(20000, 400000); i++) {
        Tensor root;
        const Layout first = random_layout(random);
        Layout second = random() % 2 ? first : random_layout(random);
        if (second.type != first.type) continue;
        const std::size_t unit = traits(first.type).size;
        const Window a(first, unit * (random() % 20), root), b(second, unit * (random() % 20), root);
        const bool expected = shares(a, b);
        counts[expected]++;
        ASSERT_STREQ(text(overlap(a, b)), text(expected ? Overlap::yes : Overlap::no)) << layout_text(a.layout) << layout_text(b.layout);
        ASSERT_EQ(overlap(a, b), overlap(b, a));
    }
    EXPECT_GT(counts[0], 1000);
    EXPECT_GT(counts[1], 1000);
}

TEST(Overlaps, of_different_roots_are_none) {
    Tensor one, two;
    const Layout l = contiguous_layout("test", DType::f32, std::vector<std::int64_t>{4});
    EXPECT_EQ(overlap(Window(l, 0, one), Window(l, 0, two)), Overlap::no);
    EXPECT_EQ(overlap(Window(l, 0, one), Window(l, 16, one)), Overlap::no);
    EXPECT_EQ(overlap(Window(l, 0, one), Window(l, 12, one)), Overlap::yes);
}

// What took 16 s and 3 GB to be refused; all shapes of this size are decided in the same few steps.
TEST(Overlaps, cost_the_same_whatever_the_size) {
    Tensor root;
    Layout zero_strides = contiguous_layout("test", DType::f32, std::vector<std::int64_t>{1, 1});
    zero_strides.ne[1] = std::int64_t{1} << 50;
    zero_strides.nb[1] = 0;
    const Window repeated(zero_strides, 0, root);
    EXPECT_EQ(overlaps_itself(repeated), Overlap::yes);
    EXPECT_EQ(overlap(repeated, Window(zero_strides, 0, root)), Overlap::yes);
    EXPECT_EQ(overlap(repeated, Window(zero_strides, 4, root)), Overlap::no);
    Layout every_second = contiguous_layout("test", DType::f32, std::vector<std::int64_t>{1, std::int64_t{1} << 40, 1 << 10});
    every_second.nb = {4, 8, std::size_t{8} << 40, std::size_t{8} << 50};
    EXPECT_EQ(overlaps_itself(Window(every_second, 0, root)), Overlap::no);
    EXPECT_EQ(overlap(Window(every_second, 0, root), Window(every_second, 4, root)), Overlap::no);
    EXPECT_EQ(overlap(Window(every_second, 0, root), Window(every_second, 16, root)), Overlap::yes);
    // Strides near the largest that there are: not decided, and nothing wraps.
    Layout far = contiguous_layout("test", DType::f32, std::vector<std::int64_t>{1, 2});
    far.nb[1] = std::size_t{1} << 62;
    EXPECT_EQ(overlaps_itself(Window(far, 0, root)), Overlap::unknown);
}

// Strides so large and irregular that trying all sums would take forever: the search gives up.
TEST(Overlaps, that_take_too_long_are_unknown) {
    Tensor root;
    Layout l = contiguous_layout("test", DType::f32, std::vector<std::int64_t>{1 << 12, 1 << 12, 1 << 12, 1 << 12});
    l.nb = {4 * 1000003, 4 * 1000033, 4 * 1000037, 4 * 1000039};
    const Window t(l, 0, root);
    EXPECT_NE(overlaps_itself(t), Overlap::no);
    Layout even = l;
    for (std::size_t &nb : even.nb) nb *= 2;
    EXPECT_NE(overlap(Window(even, 0, root), Window(even, 4, root)), Overlap::yes);
}

}  // namespace
