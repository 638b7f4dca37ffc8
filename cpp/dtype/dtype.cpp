#include "dtype/dtype.hpp"

#include "base/fail.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"

#include <cstdlib>
#include <iterator>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tensorlib::core {

namespace {

template <class Format>
void decode(const void *blocks, float *values, std::int64_t n) noexcept {
    decode_blocks<Format>(blocks, values, n);
}

template <class Format>
std::int64_t encode(const float *values, const float *weights, void *blocks, std::int64_t n) noexcept {
    return encoding::encode_blocks<Format>(values, weights, blocks, n);
}

template <class Format>
std::int64_t encode_by_rule(const float *values, void *blocks, std::int64_t n) noexcept {
    return encoding::encode_blocks_by_rule<Format>(values, blocks, n, encode<Format>);
}

template <class Format>
constexpr DTypeTraits make_traits() {
    DTypeTraits t{dtype_of<Format>, Format::name,   Format::block_size, sizeof(typename Format::Block), Format::kind,
                  dtype_of<Format>, decode<Format>, encode<Format>,     encode_by_rule<Format>};
    if constexpr (requires { typename Format::Partner; }) t.partner = dtype_of<typename Format::Partner>;
    return t;
}

template <class Format>
constexpr bool fits = sizeof(typename Format::Block) <= largest_block && Format::block_size <= longest_block;
#define TL_DTYPE(name, id, format) static_assert(fits<format>);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE

// A type's index in the list.
enum class ListIndex : std::size_t {
#define TL_DTYPE(name, id, format) name,
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
};

constexpr DTypeTraits table[] = {
#define TL_DTYPE(name, id, format) make_traits<format>(),
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
};

}  // namespace

const DTypeTraits *find_traits(std::int32_t id) noexcept {
    for (const DTypeTraits &t : table) {
        if (static_cast<std::int32_t>(t.type) == id) return &t;
    }
    return nullptr;
}

// A switch, not a search, because making any tensor calls it.
const DTypeTraits &traits(DType type) noexcept {
    switch (type) {
#define TL_DTYPE(name, id, format)                              \
    case DType::name: {                                         \
        static constexpr DTypeTraits t = make_traits<format>(); \
        return t;                                               \
    }
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    }
    return table[0];  // not reached: a DType is one of the list
}

const DTypeTraits *find_traits(std::string_view name) noexcept {
    for (const DTypeTraits &t : table) {
        if (equal_ignoring_case(t.name, name)) return &t;
    }
    return nullptr;
}

const DTypeTraits &traits_named(const char *what, std::string_view name) {
    if (const DTypeTraits *found = find_traits(name)) return *found;
    std::vector<std::string_view> names;
    for (const DTypeTraits &t : table) names.push_back(t.name);
    fail(Status::invalid_argument, "%s: no type '%s': the nearest of %zu are %s", what, shown(name).c_str(), names.size(),
         nearest_names(name, names).c_str());
}

const DTypeTraits &traits_numbered(const char *what, std::int32_t id) {
    if (const DTypeTraits *found = find_traits(id)) return *found;
    const DTypeTraits *nearest = &table[0];
    const auto distance = [&](const DTypeTraits &t) { return std::llabs(static_cast<long long>(t.type) - id); };
    for (const DTypeTraits &t : table) {
        if (distance(t) < distance(*nearest)) nearest = &t;
    }
    fail(Status::invalid_argument, "%s: no type %d: there are %zu, of which %s, %d, has the nearest number", what, id, std::size(table),
         nearest->name, static_cast<int>(nearest->type));
}

IntegerRange integer_range(DType type) noexcept {
    return visit(type, [](auto format) -> IntegerRange {
        using Format = decltype(format);
        if constexpr (std::is_same_v<Format, Bool>) {
            return {0, 1};
        } else if constexpr (Format::kind == Kind::integer) {
            using Limits = std::numeric_limits<typename Format::Block>;
            return {Limits::min(), Limits::max()};
        } else {
            return {0, 0};
        }
    });
}

std::int64_t integer_value(DType type, const void *element) noexcept {
    return visit(type, [&](auto format) -> std::int64_t {
        using Format = decltype(format);
        if constexpr (Format::kind == Kind::integer) {
            typename Format::Block value;
            std::memcpy(&value, element, sizeof value);
            return whole<Format>(value);
        } else {
            return 0;
        }
    });
}

std::size_t dtype_count() noexcept { return sizeof table / sizeof table[0]; }
const DTypeTraits &dtype_at(std::size_t index) noexcept { return table[index]; }

std::size_t dtype_index(DType type) noexcept {
    switch (type) {
#define TL_DTYPE(name, id, format) \
    case DType::name: return static_cast<std::size_t>(ListIndex::name);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    }
    return 0;  // not reached: a DType is one of the list
}

}  // namespace tensorlib::core
