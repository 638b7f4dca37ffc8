// Converts single elements between types without blocks, on the host and on devices.
#pragma once

#include "dtype/integers.hpp"

namespace TL_FORMATS {

// False if To cannot hold the value; `to` then keeps its value. Integers convert to integers exactly. F64 converts to
// integers, and integers to floats, with one rounding to nearest even. Everything else goes by way of F32.
template <class From, class To>
TL_HOST_DEVICE inline bool convert_element(const typename From::Block &from, typename To::Block &to) {
    constexpr bool from_wide = From::kind == Kind::integer || sizeof(typename From::Block) == sizeof(double);
    if constexpr (From::kind == Kind::integer && To::kind == Kind::integer) {
        const auto value = static_cast<typename To::Block>(from);
        if (static_cast<std::int64_t>(value) != static_cast<std::int64_t>(from)) return false;
        to = value;
        return true;
    } else if constexpr (from_wide && To::kind == Kind::floating && sizeof(typename To::Block) == sizeof(double)) {
        to = static_cast<double>(from);
        return true;
    } else if constexpr (from_wide && To::kind == Kind::integer) {
        // As Integer::encode(), in F64.
        const double rounded = rint(from);
        constexpr double end = To::end;
        if (!(rounded >= -end && rounded < end)) return false;
        to = static_cast<typename To::Block>(rounded);
        return true;
    } else {
        float value;
        From::decode(from, &value);
        return To::encode(&value, to);
    }
}

}  // namespace TL_FORMATS
