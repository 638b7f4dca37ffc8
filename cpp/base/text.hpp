// Compares names ignoring the case of ASCII letters, in any locale.
#pragma once

#include <string>
#include <string_view>

namespace tensorlib::core {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); i++) {
        if (lower(a[i]) != lower(b[i])) return false;
    }
    return true;
}

constexpr bool starts_with_ignoring_case(std::string_view text, std::string_view start) noexcept {
    return text.size() >= start.size() && equal_ignoring_case(text.substr(0, start.size()), start);
}

}  // namespace tensorlib::core
