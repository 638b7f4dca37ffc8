// A cursor over a file's bytes that never leaves them. A read that does not fit throws Error(format), naming what was
// read, the offset and the bytes there.
#pragma once

#include "base/fail.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace tensorlib::core {

class ByteReader {
public:
    // `what` heads the messages, `file` ends them.
    ByteReader(const char *what, std::string_view file, std::span<const std::byte> bytes) noexcept
        : what_(what), file_(file), bytes_(bytes) {}

    std::size_t at() const noexcept { return at_; }
    std::size_t left() const noexcept { return bytes_.size() - at_; }
    std::span<const std::byte> since(std::size_t begin) const noexcept { return bytes_.subspan(begin, at_ - begin); }

    // Numbers are stored in the file as in memory: little-endian, without alignment.
    template <class T>
    T read(const char *name) {
        static_assert(std::is_arithmetic_v<T>);
        T value;
        std::memcpy(&value, take(sizeof value, name).data(), sizeof value);
        return value;
    }

    std::span<const std::byte> take(std::size_t size, const char *name) {
        if (size > left()) fail_at(at_, format_text("%s needs %zu bytes, and %zu are left", name, size, left()));
        at_ += size;
        return bytes_.subspan(at_ - size, size);
    }

    // A count of things that take at least `least` bytes each. It is checked before memory is allocated for them.
    std::uint64_t count(const char *name, std::size_t least) {
        const std::size_t begin = at_;
        const auto n = read<std::uint64_t>(name);
        if (n > left() / least) {
            fail_at(begin, format_text("%s is %llu, of %zu bytes each or more, and %zu are left", name, static_cast<unsigned long long>(n),
                                       least, left()));
        }
        return n;
    }

    // A length and that many characters.
    std::string_view text(const char *name) {
        const auto length = count(name, 1);
        const auto characters = take(static_cast<std::size_t>(length), name);
        return {reinterpret_cast<const char *>(characters.data()), characters.size()};
    }

    [[noreturn]] void fail_at(std::size_t offset, const std::string &problem) const {
        std::string there;
        for (std::size_t i = offset; i < std::min(bytes_.size(), offset + 8); i++) {
            there += format_text("%s%02x", there.empty() ? "" : " ", std::to_integer<unsigned>(bytes_[i]));
        }
        fail(Status::format, "%s: at byte %zu: %s (there: %s) in %.*s", what_, offset, problem.c_str(),
             there.empty() ? "the end" : there.c_str(), static_cast<int>(file_.size()), file_.data());
    }

private:
    const char *what_;
    std::string_view file_;
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

}  // namespace tensorlib::core
