// The states of groups that are reduced (math/reduced_kind.hpp): how they begin, are joined in order, and end. Kernels of
// the CPU and of CUDA use the same functions.
#pragma once

#include "dtype/host_device.hpp"
#include "math/numbers.hpp"
#include "math/reduced.hpp"
#include "math/reduced_kind.hpp"

#include <math.h>
#include <limits>
#include <type_traits>

namespace tensorlib::core::ops {

// The type of a state's numbers, for elements that are computed with as E: float, double, int32_t or int64_t.
template <class E>
using StateNumber = std::conditional_t<std::is_integral_v<E>, int64_t, double>;

template <class V>
struct ReducedState {
    V numbers[most_reduced_numbers];
};
template <class E>
using StateOf = ReducedState<StateNumber<E>>;

constexpr TL_HOST_DEVICE int reduced_numbers(Reduced kind) {
    switch (kind) {
        case Reduced::largest_at:
        case Reduced::smallest_at:
        case Reduced::exponentials: return 2;
        case Reduced::deviations: return 3;
        default: return 1;
    }
}

// Integers have neither deviations nor exponentials.
template <class E>
constexpr bool has_reduction(Reduced kind) {
    return !std::is_integral_v<E> || (kind != Reduced::deviations && kind != Reduced::exponentials);
}

// What every element is at most, and at least.
template <class E>
constexpr TL_HOST_DEVICE StateNumber<E> most_of() {
    if constexpr (std::is_integral_v<E>) {
        return sizeof(E) == sizeof(int32_t) ? INT32_MAX : INT64_MAX;
    } else {
        return __builtin_inf();
    }
}
template <class E>
constexpr TL_HOST_DEVICE StateNumber<E> least_of() {
    if constexpr (std::is_integral_v<E>) {
        return -most_of<E>() - 1;
    } else {
        return -__builtin_inf();
    }
}

// The state of no elements.
template <class E>
constexpr TL_HOST_DEVICE StateOf<E> begun(Reduced kind) {
    switch (kind) {
        case Reduced::product:
        case Reduced::all: return {{1, 0, 0}};
        case Reduced::largest:
        case Reduced::exponentials: return {{least_of<E>(), 0, 0}};
        case Reduced::smallest: return {{most_of<E>(), 0, 0}};
        case Reduced::largest_at: return {{least_of<E>(), -1, 0}};
        case Reduced::smallest_at: return {{most_of<E>(), -1, 0}};
        default: return {{0, 0, 0}};
    }
}

// Adds the elements of a later part of the group.
template <class V>
TL_HOST_DEVICE inline void join(Reduced kind, ReducedState<V> &state, const ReducedState<V> &later) {
    using N = math::Numbers<V>;
    V *a = state.numbers;
    const V *b = later.numbers;
    switch (kind) {
        case Reduced::sum: a[0] = N::add(a[0], b[0]); return;
        case Reduced::product: a[0] = N::mul(a[0], b[0]); return;
        case Reduced::largest: a[0] = N::maximum(a[0], b[0]); return;
        case Reduced::smallest: a[0] = N::minimum(a[0], b[0]); return;
        case Reduced::any: a[0] = b[0] > a[0] ? b[0] : a[0]; return;
        case Reduced::all: a[0] = b[0] < a[0] ? b[0] : a[0]; return;
        case Reduced::largest_at:
        case Reduced::smallest_at: {
            math::Placed<V> placed{a[0], a[1]};
            placed.take({b[0], b[1]}, kind == Reduced::smallest_at);
            a[0] = placed.value, a[1] = placed.index;
            return;
        }
        default: break;
    }
    if constexpr (std::is_same_v<V, double>) {
        if (kind == Reduced::deviations) {
            math::Deviations all{a[0], a[1], a[2]};
            all.join({b[0], b[1], b[2]});
            a[0] = all.n, a[1] = all.mean, a[2] = all.squares;
        } else {
            math::Exponentials all{a[0], a[1]};
            all.join({b[0], b[1]}, [](double x) { return ::exp(x); });
            a[0] = all.largest, a[1] = all.sum;
        }
    }
}

// What an operation makes of a state.
struct ReducedResult {
    Reduced kind;
    double divisor;   // the elements of a group, less the correction
    bool mean, root;  // whether a sum is divided, and whether the variance's root is taken
};

// The element of the result; for an index, the index.
template <class V>
TL_HOST_DEVICE inline V result_of(const ReducedResult &result, const ReducedState<V> &state) {
    const V *a = state.numbers;
    // A group of NaN alone has no place.
    if (result.kind == Reduced::largest_at || result.kind == Reduced::smallest_at) return a[1] < 0 ? V{0} : a[1];
    if constexpr (std::is_same_v<V, double>) {
        switch (result.kind) {
            case Reduced::sum: return result.mean ? a[0] / result.divisor : a[0];
            case Reduced::deviations: {
                const double variance = a[2] / result.divisor;
                return result.root ? ::sqrt(variance) : variance;
            }
            case Reduced::exponentials: return a[0] + ::log(a[1]);
            default: break;
        }
    }
    return a[0];
}

}  // namespace tensorlib::core::ops
