// The states of groups that are reduced (math/reduced_kind.hpp): how they begin, are joined in order, and end. Kernels of
// the CPU and of CUDA use the same functions.
#pragma once

#include "dtype/host_device.hpp"
#include "math/reduced.hpp"
#include "math/reduced_kind.hpp"

#include <math.h>

namespace tensorlib::core::ops {

struct ReducedState {
    double numbers[most_reduced_numbers];
};

constexpr TL_HOST_DEVICE int reduced_numbers(Reduced kind) {
    switch (kind) {
        case Reduced::largest_at:
        case Reduced::smallest_at:
        case Reduced::exponentials: return 2;
        case Reduced::deviations: return 3;
        default: return 1;
    }
}

// The state of no elements.
constexpr TL_HOST_DEVICE ReducedState begun(Reduced kind) {
    constexpr double infinity = __builtin_inf();
    switch (kind) {
        case Reduced::product:
        case Reduced::all: return {{1, 0, 0}};
        case Reduced::largest:
        case Reduced::exponentials: return {{-infinity, 0, 0}};
        case Reduced::smallest: return {{infinity, 0, 0}};
        case Reduced::largest_at: return {{-infinity, -1, 0}};
        case Reduced::smallest_at: return {{infinity, -1, 0}};
        default: return {{0, 0, 0}};
    }
}

// Adds the elements of a later part of the group.
TL_HOST_DEVICE inline void join(Reduced kind, ReducedState &state, const ReducedState &later) {
    double *a = state.numbers;
    const double *b = later.numbers;
    switch (kind) {
        case Reduced::sum: a[0] += b[0]; break;
        case Reduced::product: a[0] *= b[0]; break;
        case Reduced::largest: a[0] = static_cast<double>(math::larger(static_cast<float>(a[0]), static_cast<float>(b[0]))); break;
        case Reduced::smallest: a[0] = -static_cast<double>(math::larger(static_cast<float>(-a[0]), static_cast<float>(-b[0]))); break;
        case Reduced::any: a[0] = b[0] > a[0] ? b[0] : a[0]; break;
        case Reduced::all: a[0] = b[0] < a[0] ? b[0] : a[0]; break;
        case Reduced::largest_at:
        case Reduced::smallest_at: {
            math::Placed placed{a[0], a[1]};
            placed.take({b[0], b[1]}, kind == Reduced::smallest_at);
            a[0] = placed.value, a[1] = placed.index;
            break;
        }
        case Reduced::deviations: {
            math::Deviations all{a[0], a[1], a[2]};
            all.join({b[0], b[1], b[2]});
            a[0] = all.n, a[1] = all.mean, a[2] = all.squares;
            break;
        }
        case Reduced::exponentials: {
            math::Exponentials all{a[0], a[1]};
            all.join({b[0], b[1]}, [](double x) { return ::exp(x); });
            a[0] = all.largest, a[1] = all.sum;
            break;
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
TL_HOST_DEVICE inline double result_of(const ReducedResult &result, const ReducedState &state) {
    const double *a = state.numbers;
    switch (result.kind) {
        case Reduced::sum: return result.mean ? a[0] / result.divisor : a[0];
        case Reduced::deviations: {
            const double variance = a[2] / result.divisor;
            return result.root ? ::sqrt(variance) : variance;
        }
        case Reduced::exponentials: return a[0] + ::log(a[1]);
        case Reduced::largest_at:
        case Reduced::smallest_at: return a[1] < 0 ? 0 : a[1];  // a group of NaN alone has no place
        default: return a[0];
    }
}

}  // namespace tensorlib::core::ops
