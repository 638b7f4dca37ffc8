// The names that one which is not valid may have meant, for messages: a message has room for a few, not for all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tensorlib::core {

// How many letters have to be inserted, removed or replaced to make one text of the other (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of the valid names, best first, as "mul_mat, mul_mat_id, cast". Neither case nor underscores count, nor
// which of a name's words is first: "MatMul" is mul_mat. Of names as near the one that stands first comes first.
std::string nearest_names(std::string_view name, std::span<const std::string_view> valid);

}  // namespace tensorlib::core
