// Attributes of operations: named integers, numbers and text. tl_op() and the typed constructors pass them in the same
// form. Nodes keep them in structs (ops/gen/op_facts.hpp).
#pragma once

#include "dtype/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace tensorlib::core {

enum class AttrKind : std::int32_t { ints = 0, number = 1, text = 2 };

struct Attr {
    static constexpr int max_ints = 6;

    std::string_view name;
    AttrKind kind = AttrKind::ints;
    std::int32_t n_ints = 0;
    std::array<std::int64_t, max_ints> ints{};
    double number = 0;
    std::string_view text;

    static Attr of_ints(std::string_view name, std::span<const std::int64_t> values) noexcept {
        Attr attr;
        attr.name = name;
        attr.n_ints = static_cast<std::int32_t>(values.size() < max_ints ? values.size() : max_ints);
        for (std::int32_t i = 0; i < attr.n_ints; i++) attr.ints[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>(i)];
        return attr;
    }
    static Attr of_int(std::string_view name, std::int64_t value) noexcept { return of_ints(name, {&value, 1}); }
    // The positions of the bits of a set, as far as they fit: more than an operation accepts.
    static Attr of_dims(std::string_view name, std::uint32_t set) noexcept {
        std::array<std::int64_t, max_ints> dims{};
        std::size_t n = 0;
        for (; set != 0 && n < max_ints; set &= set - 1) dims[n++] = std::countr_zero(set);
        return of_ints(name, {dims.data(), n});
    }
    static Attr of_number(std::string_view name, double value) noexcept {
        Attr attr;
        attr.name = name;
        attr.kind = AttrKind::number;
        attr.number = value;
        return attr;
    }
    static Attr of_text(std::string_view name, std::string_view value) noexcept {
        Attr attr;
        attr.name = name;
        attr.kind = AttrKind::text;
        attr.text = value;
        return attr;
    }
};

// What an operation accepts for one of its attributes. An optional attribute that is left out or 0 has its default, and
// the operation never sees it. For a list of fixed length, 0 means all zeros; for a word, it means the first one.
struct AttrDef {
    const char *name;
    AttrKind kind;
    bool required;
    std::int32_t min_ints = 1, max_ints = 1;
    // The range of integers and of a number, up to 2^53, where doubles represent every integer.
    double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
    // The words that a text may be. After the check, the attribute is an integer: the word's position.
    std::span<const char *const> values{};
    bool nan = false;  // whether a number may be NaN
};

// Up to four integers. n has 64 bits to leave no padding between the members: see NodeSpec::make_attrs().
struct IntList {
    std::int64_t n = 0;  // 0: the attribute was not given
    std::array<std::int64_t, 4> values{};

    constexpr IntList() = default;
    explicit IntList(std::span<const std::int64_t> all) noexcept : n(static_cast<std::int64_t>(all.size())) {
        std::copy(all.begin(), all.end(), values.begin());
    }
    std::span<const std::int64_t> span() const noexcept { return {values.data(), static_cast<std::size_t>(n)}; }
    // As a shape: the dimensions that it lacks are 1.
    std::array<std::int64_t, 4> extents() const noexcept {
        std::array<std::int64_t, 4> all = values;
        std::fill(all.begin() + n, all.end(), 1);
        return all;
    }
};

// The attributes of one call, already checked against the operation's AttrDefs.
class Attrs {
public:
    // No operation has more attributes.
    static constexpr std::size_t most = 16;

    explicit Attrs(std::span<const Attr> attrs) noexcept : attrs_(attrs) {}

    const Attr *find(std::string_view name) const noexcept {
        for (const Attr &attr : attrs_) {
            if (attr.name == name) return &attr;
        }
        return nullptr;
    }
    // All integers of an attribute; empty if it is absent.
    std::span<const std::int64_t> ints(std::string_view name) const noexcept {
        const Attr *attr = find(name);
        return attr ? std::span<const std::int64_t>(attr->ints.data(), static_cast<std::size_t>(attr->n_ints))
                    : std::span<const std::int64_t>();
    }
    std::int64_t integer(std::string_view name, std::int64_t otherwise) const noexcept {
        const auto values = ints(name);
        return values.empty() ? otherwise : values[0];
    }
    double number(std::string_view name, double otherwise) const noexcept {
        const Attr *attr = find(name);
        return attr ? attr->number : otherwise;
    }
    std::string_view text(std::string_view name) const noexcept {
        const Attr *attr = find(name);
        return attr ? attr->text : std::string_view();
    }
    IntList list(std::string_view name) const noexcept { return IntList(ints(name)); }
    // flag() is 0 or 1, and 0 if absent. type() looks a type up by its name, and throws Error(invalid_argument), headed
    // by the operation, for anything else.
    bool flag(const char *op, std::string_view name) const;
    DType type(const char *op, std::string_view name) const;

private:
    std::span<const Attr> attrs_;
};

}  // namespace tensorlib::core
