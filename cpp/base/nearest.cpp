#include "base/nearest.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tensorlib::core {

namespace {

constexpr std::size_t most_names = 4;
// Longer than any valid name: further letters cannot make one name nearer than another.
constexpr std::size_t most_letters = 64;

// The letters that count.
std::string letters(std::string_view text) {
    std::string kept;
    for (const char c : text.substr(0, most_letters)) {
        if (c != '_' && c != '-' && c != ' ') kept += lower(c);
    }
    return kept;
}

// The distance from `given`, which has only letters, to the nearest rotation of the valid name by words: mul_mat,
// mat_mul.
std::size_t distance(const std::string &given, std::string_view valid) {
    std::size_t least = edit_distance(given, letters(valid));
    for (std::size_t at = valid.find('_'); at != valid.npos; at = valid.find('_', at + 1))
        least = std::min(least, edit_distance(given, letters(valid.substr(at)) + letters(valid.substr(0, at))));
    return least;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // One row of the table of distances between prefixes: row[j] is the distance from the letters of a so far to the
    // first j of b.
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); i++) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); j++) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

std::string nearest_names(std::string_view name, std::span<const std::string_view> valid) {
    const std::string given = letters(name);
    std::vector<std::pair<std::size_t, std::size_t>> order;  // distance, position
    for (std::size_t i = 0; i < valid.size(); i++) order.emplace_back(distance(given, valid[i]), i);
    std::sort(order.begin(), order.end());
    std::string text;
    for (std::size_t i = 0; i < std::min(most_names, order.size()); i++) {
        if (i > 0) text += ", ";
        text += valid[order[i].second];
    }
    return text;
}

}  // namespace tensorlib::core
