// All formulas of tile_ops.inc: functions of these names, which take operands and then parameters.
//
// A NaN operand gives a NaN, except in comparisons, as the condition of where (it is not 0), and where the standard of
// pow says otherwise.
#pragma once

#include "math/activations.hpp"
#include "math/power.hpp"
#include "math/trigonometric.hpp"

namespace TL_MATH {

template <class V>
TL_MATH_INLINE Real<V> fill(Real<V> value) {
    return value;
}

template <class V>
TL_MATH_INLINE Real<V> copy(Real<V> x) {
    return x;
}

template <class V>
TL_MATH_INLINE Real<V> abs(Real<V> x) {
    return x.magnitude();
}

// NaN included.
template <class V>
TL_MATH_INLINE Real<V> neg(Real<V> x) {
    return x.negated();
}

template <class V>
TL_MATH_INLINE Real<V> sqr(Real<V> x) {
    return x * x;
}

// 1 or -1; zeros are unchanged.
template <class V>
TL_MATH_INLINE Real<V> sgn(Real<V> x) {
    return Real<V>::select(Real<V>(0.0f) < x.magnitude(), with_sign(Real<V>(1.0f), x), x);
}

// 1 for x > 0, otherwise 0.
template <class V>
TL_MATH_INLINE Real<V> step(Real<V> x) {
    return Real<V>::select(Real<V>(0.0f) < x, 1.0f, Real<V>::select(x <= 0.0f, 0.0f, x));
}

template <class V>
TL_MATH_INLINE Real<V> floor(Real<V> x) {
    const Real<V> y = nearest(x);
    return Real<V>::select(x < y, y - 1.0f, y);
}

// -floor(-x), which is -0 for -1 < x < 0.
template <class V>
TL_MATH_INLINE Real<V> ceil(Real<V> x) {
    return floor(x.negated()).negated();
}

template <class V>
TL_MATH_INLINE Real<V> trunc(Real<V> x) {
    return with_sign(floor(x.magnitude()), x);
}

// Rounds halves away from 0. From 2^23, all floats are integers; below, differences from the nearest one are exact.
template <class V>
TL_MATH_INLINE Real<V> round(Real<V> x) {
    const Real<V> a = x.magnitude(), y = nearest(a);
    return with_sign(Real<V>::select(a - y == 0.5f, y + 1.0f, y), x);
}

// If the bounds contradict each other, the upper one holds.
template <class V>
TL_MATH_INLINE Real<V> clamp(Real<V> x, Real<V> least, Real<V> most) {
    return min(most, max(least, x));
}

// Rounds twice.
template <class V>
TL_MATH_INLINE Real<V> scale(Real<V> x, Real<V> s, Real<V> b) {
    return s * x + b;
}

template <class V>
TL_MATH_INLINE Real<V> add(Real<V> a, Real<V> b) {
    return a + b;
}

template <class V>
TL_MATH_INLINE Real<V> sub(Real<V> a, Real<V> b) {
    return a - b;
}

template <class V>
TL_MATH_INLINE Real<V> mul(Real<V> a, Real<V> b) {
    return a * b;
}

template <class V>
TL_MATH_INLINE Real<V> div(Real<V> a, Real<V> b) {
    return a / b;
}

// NaN if one of the two is NaN; 0 is larger than -0.
template <class V>
TL_MATH_INLINE Real<V> maximum(Real<V> a, Real<V> b) {
    const Real<V> most = Real<V>::select(a == b, a & b, max(a, b));
    return Real<V>::select(a == a, most, a);
}

template <class V>
TL_MATH_INLINE Real<V> minimum(Real<V> a, Real<V> b) {
    const Real<V> least = Real<V>::select(a == b, a | b, min(a, b));
    return Real<V>::select(a == a, least, a);
}

template <class V>
TL_MATH_INLINE Real<V> truth(typename V::Mask m) {
    return Real<V>::select(m, 1.0f, 0.0f);
}

template <class V>
TL_MATH_INLINE Real<V> eq(Real<V> a, Real<V> b) {
    return truth<V>(a == b);
}

template <class V>
TL_MATH_INLINE Real<V> ne(Real<V> a, Real<V> b) {
    return Real<V>::select(a == b, 0.0f, 1.0f);
}

template <class V>
TL_MATH_INLINE Real<V> lt(Real<V> a, Real<V> b) {
    return truth<V>(a < b);
}

template <class V>
TL_MATH_INLINE Real<V> le(Real<V> a, Real<V> b) {
    return truth<V>(a <= b);
}

template <class V>
TL_MATH_INLINE Real<V> gt(Real<V> a, Real<V> b) {
    return truth<V>(b < a);
}

template <class V>
TL_MATH_INLINE Real<V> ge(Real<V> a, Real<V> b) {
    return truth<V>(b <= a);
}

template <class V>
TL_MATH_INLINE Real<V> reglu(Real<V> a, Real<V> b) {
    return relu(a) * b;
}

template <class V>
TL_MATH_INLINE Real<V> geglu(Real<V> a, Real<V> b) {
    return gelu(a) * b;
}

template <class V>
TL_MATH_INLINE Real<V> swiglu(Real<V> a, Real<V> b) {
    return silu(a) * b;
}

template <class V>
TL_MATH_INLINE Real<V> geglu_erf(Real<V> a, Real<V> b) {
    return gelu_erf(a) * b;
}

template <class V>
TL_MATH_INLINE Real<V> geglu_quick(Real<V> a, Real<V> b) {
    return gelu_quick(a) * b;
}

template <class V>
TL_MATH_INLINE Real<V> where(Real<V> condition, Real<V> a, Real<V> b) {
    return Real<V>::select(condition == 0.0f, b, a);
}

// Calls a formula with arrays: f(operand[0], ..., parameter[0], ...), for code that uses the list of formulas
// (math/tile_ops.inc).
template <int operands, int parameters, class F, class V, class... Given>
TL_MATH_INLINE Real<V> apply(F f, const Real<V> *operand, const Real<V> *parameter, Given... given) {
    if constexpr (operands > 0) {
        return apply<operands - 1, parameters>(f, operand + 1, parameter, given..., *operand);
    } else if constexpr (parameters > 0) {
        return apply<operands, parameters - 1>(f, operand, parameter + 1, given..., *parameter);
    } else {
        return f(given...);
    }
}

}  // namespace TL_MATH
