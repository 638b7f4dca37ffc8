// The valid names that an invalid one may have meant, for messages, which have room for a few names only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tensorlib::core {

// The number of letters to insert, remove or replace to turn one text into the other (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of the valid names, best first, as "mul_mat, mul_mat_id, cast". Case, underscores, and which of a name's
// words comes first do not count: "MatMul" is mul_mat. Equally near names keep their order.
std::string nearest_names(std::string_view name, std::span<const std::string_view> valid);

}  // namespace tensorlib::core
