// Converts single elements between types without blocks, on the host and on devices.
#pragma once

#include "dtype/integers.hpp"

#include <type_traits>

namespace TL_FORMATS {

// False if To cannot hold the value; `to` then keeps its value. Integers convert to integers exactly. F64 converts to
// integers, and integers to floats, with one rounding to nearest even. Whatever is not 0 converts to 1 as a BOOL. Everything
// else goes by way of F32.
template <class From, class To>
TL_HOST_DEVICE inline bool convert_element(const typename From::Block &from, typename To::Block &to) {
    constexpr bool to_bool = std::is_same_v<To, Bool>, is_f64 = sizeof(typename From::Block) == sizeof(double);
    if constexpr (From::kind == Kind::integer) {
        const std::int64_t value = whole<From>(from);
        if constexpr (to_bool) {
            to = value != 0;
            return true;
        } else if constexpr (To::kind == Kind::integer) {
            const auto narrow = static_cast<typename To::Block>(value);
            if (static_cast<std::int64_t>(narrow) != value) return false;
            to = narrow;
            return true;
        } else if constexpr (sizeof(typename To::Block) == sizeof(double)) {
            to = static_cast<double>(value);
            return true;
        }
    } else if constexpr (is_f64) {
        if constexpr (to_bool) {
            to = from != 0;
            return true;
        } else if constexpr (To::kind == Kind::integer) {
            // As Integer::encode(), in F64.
            const double rounded = rint(from);
            constexpr double least = To::least, end = To::end;
            if (!(rounded >= least && rounded < end)) return false;
            to = static_cast<typename To::Block>(rounded);
            return true;
        } else if constexpr (sizeof(typename To::Block) == sizeof(double)) {
            to = from;
            return true;
        }
    }
    float value;
    From::decode(from, &value);
    return To::encode(&value, to);
}

}  // namespace TL_FORMATS
