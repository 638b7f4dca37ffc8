// The names that messages show, and the names that they suggest in place of an unknown one.
#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include "support.hpp"

#include <algorithm>

using namespace tl::core;

namespace {

// By the definition, without a table.
std::size_t defined_distance(std::string_view a, std::string_view b) {
    if (a.empty() || b.empty()) return a.size() + b.size();
    const std::size_t same = defined_distance(a.substr(1), b.substr(1));
    if (a[0] == b[0]) return same;
    return 1 + std::min({same, defined_distance(a.substr(1), b), defined_distance(a, b.substr(1))});
}

TEST(Shown, is_utf8_of_a_bounded_length) {
    const std::string e = "\u00e9", smile = "\U0001f600", a(60, 'a');
    const std::pair<std::string, std::string> names[] = {
        {"", ""},
        {"rows", "rows"},
        {e + smile, e + smile},
        {a + "bcde", a + "bcde"},
        {a + "bcdef", a + "bcde..."},
        {a + smile, a + smile},
        {a + "b" + smile, a + "b..."},
        {a + "bc" + e + "d", a + "bc" + e + "..."},
        {a + "bcd" + e, a + "bcd..."},
        {"\xff\xfe", "??"},
        {"a\xc3z" + e, "a?z" + e},
        {"a" + smile.substr(0, 3), "a???"},
        {std::string(64, '\xff'), std::string(64, '?')},
        {std::string(65, '\xff'), std::string(64, '?') + "..."},
        {std::string(1000, '\x80') + "z", std::string(64, '?') + "..."},
        {"\xff" + a + "bc" + e + "d", "?" + a + "bc..."},
        {"\xff" + a + "b" + e, "?" + a + "b" + e},
    };
    for (const auto &[name, wanted] : names) EXPECT_EQ(shown(name), wanted) << name;
}

TEST(Nearest, distances_are_those_of_the_definition) {
    const std::string_view words[] = {"", "a", "ab", "ba", "abc", "cab", "abcab", "q4_k", "q4k", "f16", "bf16", "mulmat", "matmul"};
    for (const auto a : words) {
        for (const auto b : words) EXPECT_EQ(edit_distance(a, b), defined_distance(a, b)) << a << ' ' << b;
    }
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, the_best_is_first) {
    const std::string_view types[] = {"f32", "f16", "q4_0", "q4_K", "i8", "bf16", "iq4_xs"};
    EXPECT_EQ(nearest_names("Q4K", types), "q4_K, q4_0, f32, f16");
    EXPECT_EQ(nearest_names("q4_k_m", types).substr(0, 4), "q4_K");
    EXPECT_EQ(nearest_names("fp16", types), "f16, bf16, f32, q4_0");
    EXPECT_EQ(nearest_names("int8", types).substr(0, 2), "i8");
    // As near as each other: in their own order.
    EXPECT_EQ(nearest_names("f0", types).substr(0, 8), "f32, f16");
}

TEST(Nearest, words_may_be_in_any_order) {
    const std::string_view ops[] = {"add", "mul_mat_id", "mul_mat", "cast", "get_rows", "set_rows"};
    for (const char *name : {"matmul", "MatMul", "mat_mul", "mulmat", "mul-mat"}) {
        EXPECT_EQ(nearest_names(name, ops).substr(0, 8), "mul_mat,") << name;
    }
    EXPECT_EQ(nearest_names("rows_get", ops).substr(0, 9), "get_rows,");
    EXPECT_EQ(nearest_names("mul_mat_ids", ops).substr(0, 11), "mul_mat_id,");
}

TEST(Nearest, few_valid_names_and_hostile_ones) {
    const std::string_view two[] = {"ne", "nb"};
    EXPECT_EQ(nearest_names("nbb", two), "nb, ne");
    EXPECT_EQ(nearest_names("", two), "ne, nb");
    EXPECT_EQ(nearest_names("x", {}), "");
    EXPECT_EQ(nearest_names(std::string(std::size_t{1} << 20, 'x'), two), "ne, nb");
}

}  // namespace
