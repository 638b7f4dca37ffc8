// UTF-8, for names that come from files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tensorlib::core {

// The number of bytes before the first one that does not belong to well-formed UTF-8 (RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF).
inline std::size_t valid_utf8(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    std::size_t i = 0;
    while (i < text.size()) {
        const unsigned first = byte(i);
        const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
        if (length == 0 || length > text.size() - i) return i;
        for (std::size_t k = 1; k < length; k++) {
            // The second byte's range is narrower for first bytes that would otherwise allow what is excluded above.
            const unsigned low = k > 1 ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
            const unsigned high = k > 1 ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
            if (byte(i + k) < low || byte(i + k) > high) return i;
        }
        i += length;
    }
    return i;
}

// A name for a message, which is UTF-8: a byte that belongs to no character becomes a question mark. Long names are cut
// between characters.
inline std::string shown(std::string_view name) {
    constexpr std::size_t most = 64;
    std::string text;
    while (!name.empty()) {
        // A character has up to 4 bytes: the window ends inside one only if that one is cut anyway.
        const std::string_view window = name.substr(0, most + 3);
        const std::size_t whole = valid_utf8(window), room = most - text.size();
        if (whole > room || (whole == room && name.size() > whole))
            return text + std::string(window.substr(0, valid_utf8(window.substr(0, std::min(whole, room))))) + "...";
        text += window.substr(0, whole);
        name.remove_prefix(whole);
        if (name.empty()) break;
        text += '?';
        name.remove_prefix(1);
    }
    return text;
}

}  // namespace tensorlib::core
