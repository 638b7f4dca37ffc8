// How partial results of reductions are joined. Each ISA and CUDA compile these functions, so all devices join in the
// same way.
#pragma once

#include "math/lanes.hpp"

namespace TL_MATH {

// NaN if one of the two is NaN; 0 is larger than -0.
TL_MATH_INLINE float larger(float a, float b) {
    if (a != a || b != b) return a != a ? a : b;
    if (a == b) return a == 0 && 1 / a < 0 ? b : a;
    return a > b ? a : b;
}

// An element and its index, which is -1 if there is none.
template <class V>
struct Placed {
    V value, index;

    // A later element is taken only if it is better, and NaN never is.
    TL_MATH_INLINE void take(Placed later, bool least) {
        if (later.index < 0) return;
        if (index < 0 || (least ? later.value < value : later.value > value)) *this = later;
    }
};

// The number of elements, their mean, and the sum of the squares of their distances from it.
struct Deviations {
    double n, mean, squares;

    // Elements whose distances from c have the sum d and the squares q.
    TL_MATH_INLINE static Deviations around(double n, double c, double d, double q) {
        const double squares = q - d * d / n;
        return {n, c + d / n, squares < 0 ? 0 : squares};
    }
    // T. F. Chan, G. H. Golub and R. J. LeVeque, Updating formulae and a pairwise algorithm for computing sample
    // variances, 1979.
    TL_MATH_INLINE void join(Deviations later) {
        if (later.n == 0) return;
        if (n == 0) {
            *this = later;
            return;
        }
        const double all = n + later.n, distance = later.mean - mean;
        mean += distance * (later.n / all);
        squares += later.squares + distance * distance * (n * later.n / all);
        n = all;
    }
};

// The largest element e, NaN if there is one, and the sum of e^(x - e). The sum is 1 for e = infinity, and 0 for
// e = -infinity.
struct Exponentials {
    double largest, sum;

    // What exponentials are relative to, so that a block has no NaN but those of its elements.
    template <class T>
    TL_MATH_INLINE static T base(T largest) {
        return largest - largest == 0 ? largest : T{0};
    }
    TL_MATH_INLINE static Exponentials around(double largest, double sum) {
        if (largest - largest == 0) return {largest, sum};
        return {largest, largest > 0 ? 1.0 : largest < 0 ? 0.0 : largest};
    }
    // exp computes e^x in F64.
    template <class Exp>
    TL_MATH_INLINE void join(Exponentials later, Exp exp) {
        if (largest != largest || later.sum == 0) return;
        if (sum == 0 || later.largest != later.largest) {
            *this = later;
        } else if (later.largest - largest == 0) {
            sum += later.sum;
        } else if (later.largest > largest) {
            sum = sum * exp(largest - later.largest) + later.sum;
            largest = later.largest;
        } else if (later.largest < largest) {
            sum += later.sum * exp(later.largest - largest);
        }
    }
};

}  // namespace TL_MATH
