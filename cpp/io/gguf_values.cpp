// Values of metadata as numbers and texts.
#include "base/fail.hpp"
#include "base/utf8.hpp"
#include "io/gguf.hpp"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace tensorlib::core {

namespace {

constexpr const char *type_names[gguf_type_count] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                     "bool", "string", "array", "u64", "i64", "f64"};
constexpr std::size_t type_sizes[gguf_type_count] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

using Element = std::optional<std::uint64_t>;

// One value: its type and address.
struct StoredValue {
    GgufType type;
    const std::byte *data;
};

std::string place_text(const GgufKey &key, Element element) {
    const std::string name = "'" + shown(key.name) + "'";
    return element ? "element " + std::to_string(*element) + " of " + name : name;
}

void check_element(const GgufKey &key, std::uint64_t element) {
    const GgufValue &value = key.value;
    if (value.type != GgufType::array)
        fail(Status::type_mismatch, "gguf: '%s' is %s, no array: its value has no elements", shown(key.name).c_str(),
             gguf_type_name(value.type));
    if (element >= value.count)
        fail(Status::invalid_argument, "gguf: element %llu of '%s', which has %llu", static_cast<unsigned long long>(element),
             shown(key.name).c_str(), static_cast<unsigned long long>(value.count));
}

StoredValue stored_value(const GgufKey &key, Element element) {
    const GgufValue &value = key.value;
    if (!element) return {value.type, value.encoded.data()};
    check_element(key, *element);
    return {value.element, value.elements().data() + *element * gguf_type_size(value.element)};
}

template <class T>
T load(const std::byte *data) noexcept {
    T value;
    std::memcpy(&value, data, sizeof value);
    return value;
}

// Calls f with the stored number; false if it is not a number.
template <class F>
bool with_number(const StoredValue &value, F f) {
    switch (value.type) {
        case GgufType::u8: f(load<std::uint8_t>(value.data)); return true;
        case GgufType::i8: f(load<std::int8_t>(value.data)); return true;
        case GgufType::u16: f(load<std::uint16_t>(value.data)); return true;
        case GgufType::i16: f(load<std::int16_t>(value.data)); return true;
        case GgufType::u32: f(load<std::uint32_t>(value.data)); return true;
        case GgufType::i32: f(load<std::int32_t>(value.data)); return true;
        case GgufType::u64: f(load<std::uint64_t>(value.data)); return true;
        case GgufType::i64: f(load<std::int64_t>(value.data)); return true;
        case GgufType::f32: f(load<float>(value.data)); return true;
        case GgufType::f64: f(load<double>(value.data)); return true;
        default: return false;
    }
}

[[noreturn]] void fail_type(const GgufKey &key, Element element, GgufType type, const char *wanted) {
    fail(Status::type_mismatch, "gguf: %s is %s: as %s", place_text(key, element).c_str(), gguf_type_name(type), wanted);
}

template <class T>
T integer(const GgufKey &key, Element element, const char *wanted) {
    const StoredValue value = stored_value(key, element);
    T result = 0;
    bool fits = false;
    with_number(value, [&](auto number) {
        if constexpr (std::is_integral_v<decltype(number)>) {
            result = static_cast<T>(number);
            fits = static_cast<decltype(number)>(result) == number && (result < 0) == (number < 0);
        }
    });
    if (!fits) fail_type(key, element, value.type, wanted);
    return result;
}

// 2^63: the first double that no int64 holds. Every smaller integral double is exact as an int64.
constexpr double two_to_63 = 9223372036854775808.0;

}  // namespace

const char *gguf_type_name(GgufType type) noexcept { return type_names[static_cast<std::size_t>(type)]; }
std::size_t gguf_type_size(GgufType type) noexcept { return type_sizes[static_cast<std::size_t>(type)]; }

std::uint64_t gguf_u64(const GgufKey &key, Element element) {
    return integer<std::uint64_t>(key, element, "u64 an integer of 0 or more is valid");
}

std::int64_t gguf_i64(const GgufKey &key, Element element) {
    return integer<std::int64_t>(key, element, "i64 an integer up to 2^63 - 1 is valid");
}

double gguf_f64(const GgufKey &key, Element element) {
    const StoredValue value = stored_value(key, element);
    double result = 0;
    bool fits = false;
    with_number(value, [&](auto number) {
        result = static_cast<double>(number);
        // If it were rounded up to 2^63 or 2^64, converting back would be undefined.
        if constexpr (std::is_floating_point_v<decltype(number)>) {
            fits = true;
        } else if constexpr (std::is_signed_v<decltype(number)>) {
            fits = result < two_to_63 && static_cast<decltype(number)>(result) == number;
        } else {
            fits = result < 2 * two_to_63 && static_cast<decltype(number)>(result) == number;
        }
    });
    if (!fits) fail_type(key, element, value.type, "f64 a float, or an integer that a double holds exactly, is valid");
    return result;
}

bool gguf_bool(const GgufKey &key, Element element) {
    const StoredValue value = stored_value(key, element);
    if (value.type != GgufType::boolean) fail_type(key, element, value.type, "bool a bool alone is valid");
    return load<std::uint8_t>(value.data) != 0;
}

std::string_view gguf_string(const GgufKey &key, Element element) {
    const GgufValue &value = key.value;
    if (!element) {
        if (value.type != GgufType::string) fail_type(key, element, value.type, "string a string alone is valid");
        return value.text;
    }
    check_element(key, *element);
    if (value.element != GgufType::string) fail_type(key, element, value.element, "string a string alone is valid");
    const auto bytes = value.elements();
    std::size_t at = static_cast<std::size_t>(value.marks[*element / GgufValue::string_step]);
    // This was checked when the file was opened, and is checked again, because a mapped file may have been written
    // since.
    for (std::uint64_t i = *element % GgufValue::string_step;; i--) {
        if (bytes.size() - at < 8) break;
        const auto length = load<std::uint64_t>(bytes.data() + at);
        at += 8;
        if (length > bytes.size() - at) break;
        if (i == 0) return {reinterpret_cast<const char *>(bytes.data()) + at, static_cast<std::size_t>(length)};
        at += static_cast<std::size_t>(length);
    }
    fail(Status::format, "gguf: the strings of '%s' have changed since the file was opened", shown(key.name).c_str());
}

void gguf_elements(const GgufKey &key, GgufType type, std::uint64_t first, std::uint64_t n, void *out) {
    const GgufValue &value = key.value;
    if (value.type != GgufType::array) {
        fail(Status::type_mismatch, "gguf: '%s' is %s: an array is valid", shown(key.name).c_str(), gguf_type_name(value.type));
    }
    const std::size_t size = gguf_type_size(type);
    if (value.element != type || size == 0) {
        fail(Status::type_mismatch, "gguf: '%s' is an array of %s: elements of that type are valid, and no strings or arrays; asked for %s",
             shown(key.name).c_str(), gguf_type_name(value.element), gguf_type_name(type));
    }
    if (first > value.count || n > value.count - first) {
        fail(Status::invalid_argument, "gguf: elements %llu to %llu + %llu of '%s', which has %llu", static_cast<unsigned long long>(first),
             static_cast<unsigned long long>(first), static_cast<unsigned long long>(n), shown(key.name).c_str(),
             static_cast<unsigned long long>(value.count));
    }
    if (n == 0) return;
    if (!out) fail(Status::invalid_argument, "gguf: out is NULL: memory for %llu elements is valid", static_cast<unsigned long long>(n));
    std::memcpy(out, value.elements().data() + first * size, static_cast<std::size_t>(n) * size);
}

}  // namespace tensorlib::core
