// cont, cast and cpy between matrices and their transposes: every element is where its indices say, for all sizes of elements, around the
// squares that registers transpose, with gaps between rows and in both directions.
#include "support.hpp"

#include <tensorlib/tensorlib.hpp>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace {

namespace tl = tensorlib;
using Shape = std::array<std::int64_t, 4>;

// Bytes that differ from those of elements nearby.
std::vector<std::byte> numbered(std::size_t n) {
    std::vector<std::byte> bytes(n);
    for (std::size_t i = 0; i < n; i++) bytes[i] = static_cast<std::byte>(i * 167 + i / 251);
    return bytes;
}

std::vector<std::byte> bytes_of(const tl::Tensor &t) {
    std::vector<std::byte> bytes(t.nbytes());
    t.read_bytes(bytes.data(), 0, bytes.size());
    return bytes;
}

// The elements of a contiguous tensor in the order that permute(axes) gives them: dimension d becomes axes[d].
std::vector<std::byte> permuted(const std::vector<std::byte> &from, const Shape &ne, const std::array<int, 4> &axes, std::size_t size) {
    Shape to{};
    for (std::size_t d = 0; d < 4; d++) to[static_cast<std::size_t>(axes[d])] = ne[d];
    std::vector<std::byte> result(from.size());
    std::size_t at = 0;
    Shape i{};
    for (i[3] = 0; i[3] < ne[3]; i[3]++) {
        for (i[2] = 0; i[2] < ne[2]; i[2]++) {
            for (i[1] = 0; i[1] < ne[1]; i[1]++) {
                for (i[0] = 0; i[0] < ne[0]; i[0]++, at++) {
                    Shape j{};
                    for (std::size_t d = 0; d < 4; d++) j[static_cast<std::size_t>(axes[d])] = i[d];
                    const std::int64_t place = j[0] + to[0] * (j[1] + to[1] * (j[2] + to[2] * j[3]));
                    std::memcpy(&result[static_cast<std::size_t>(place) * size], &from[at * size], size);
                }
            }
        }
    }
    return result;
}

tl::Shape shape_of(const Shape &ne) { return {ne.begin(), ne.end()}; }

void check(tl::Type type, std::size_t size, const Shape &ne, const std::array<int, 4> &axes, const std::string &isa, int threads) {
    const tl::Backend cpu = support::backend(isa, threads);
    const std::string what = std::string(tl::type_name(type)) + " of " + std::to_string(ne[0]) + " x " + std::to_string(ne[1]) + " x " +
                             std::to_string(ne[2]) + " on " + isa + ", " + std::to_string(threads) + " threads";
    const tl::Context ctx;
    const tl::Tensor source = ctx.zeros(type, shape_of(ne));
    const std::vector<std::byte> elements = numbered(source.nbytes());
    source.write_bytes(elements.data(), 0, elements.size());
    const tl::Tensor there = cont(source.permute(axes));
    EXPECT_NE(tl::Graph({there}).plan_text(cpu).find("copy_transposed"), std::string::npos) << what;
    cpu.compute({there});
    ASSERT_TRUE(bytes_of(there) == permuted(elements, ne, axes, size)) << what;

    // Into a transposed target, and back.
    const tl::Tensor target = ctx.zeros(type, shape_of(there.shape()));
    std::array<int, 4> inverse{};
    for (int d = 0; d < 4; d++) inverse[static_cast<std::size_t>(axes[static_cast<std::size_t>(d)])] = d;
    cpu.compute({cpy(source, target.permute(inverse))});
    ASSERT_TRUE(bytes_of(target) == bytes_of(there)) << what;
    const tl::Tensor back = cont(there.permute(inverse));
    cpu.compute({back});
    ASSERT_TRUE(bytes_of(back) == elements) << what;
}

TEST(TransposedCopies, of_all_sizes) {
    constexpr struct {
        tl::Type type;
        std::size_t size;
    } types[] = {{tl::Type::u8, 1}, {tl::Type::f16, 2}, {tl::Type::bf16, 2}, {tl::Type::f32, 4}, {tl::Type::i64, 8}};
    for (const std::string &isa : support::isas()) {
        for (const auto &[type, size] : types) {
            for (const Shape &ne : {Shape{2, 2, 1, 1}, Shape{3, 70, 2, 1}, Shape{64, 64, 1, 1}, Shape{33, 17, 3, 2}, Shape{65, 129, 1, 1},
                                    Shape{5, 1030, 1, 1}, Shape{530, 260, 2, 1}})
                check(type, size, ne, {1, 0, 2, 3}, isa, 1);
            for (const int threads : {2, 8}) check(type, size, {300, 600, 2, 2}, {1, 0, 2, 3}, isa, threads);
            // Other dimensions in the place of the rows.
            check(type, size, {40, 3, 50, 2}, {2, 1, 0, 3}, isa, 2);
            check(type, size, {40, 3, 5, 50}, {3, 1, 2, 0}, isa, 2);
            check(type, size, {3, 40, 50, 2}, {2, 0, 1, 3}, isa, 2);
        }
    }
}

TEST(TransposedCopies, of_windows_leave_the_rest_alone) {
    for (const std::string &isa : support::isas()) {
        const tl::Backend cpu = support::backend(isa, 2);
        const tl::Context ctx;
        std::vector<float> values(100 * 90);
        for (std::size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i);
        const tl::Tensor whole = ctx.tensor<float>({100, 90}, values), target = ctx.zeros(tl::Type::f32, {80, 99});
        const tl::Tensor window = whole.narrow(0, 3, 70).narrow(1, 5, 60);
        cpu.compute({cpy(window.permute({1, 0, 2, 3}), target.narrow(0, 7, 60).narrow(1, 11, 70))});
        const std::vector<float> got = target.read_f32();
        for (std::int64_t row = 0; row < 99; row++) {
            for (std::int64_t column = 0; column < 80; column++) {
                const std::int64_t r = column - 7, c = row - 11;  // in the window
                const bool inside = r >= 0 && r < 60 && c >= 0 && c < 70;
                ASSERT_EQ(got[static_cast<std::size_t>(row * 80 + column)], inside ? static_cast<float>((r + 5) * 100 + c + 3) : 0.0f)
                    << isa << ", row " << row << ", column " << column;
            }
        }
    }
}

}  // namespace
