// Loops of arithmetic in I32, I64 and F64, and of operations on bits of integers, over contiguous elements, which compilers turn into
// vectors. Memory is the limit, except for division, powers and square roots.
#include "cpu/simd/isa.hpp"

#include "math/numbers.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

template <class T>
using N = math::Numbers<T>;

template <class T, T (*f)(T)>
void unary(int64_t n, const void *const *src, const void *, void *dst) {
    const auto *a = static_cast<const T *>(src[0]);
    auto *c = static_cast<T *>(dst);
    for (int64_t i = 0; i < n; i++) c[i] = f(a[i]);
}

template <class T, T (*f)(T, T)>
void binary(int64_t n, const void *const *src, const void *, void *dst) {
    const auto *a = static_cast<const T *>(src[0]), *b = static_cast<const T *>(src[1]);
    auto *c = static_cast<T *>(dst);
    for (int64_t i = 0; i < n; i++) c[i] = f(a[i], b[i]);
}

template <class T, class F>
void compared(int64_t n, const void *const *src, const void *, void *dst) {
    const auto *a = static_cast<const T *>(src[0]), *b = static_cast<const T *>(src[1]);
    auto *c = static_cast<float *>(dst);
    for (int64_t i = 0; i < n; i++) c[i] = F()(a[i], b[i]) ? 1.0f : 0.0f;
}

#define TL_COMPARISON(name, op)           \
    struct name {                         \
        template <class T>                \
        bool operator()(T a, T b) const { \
            return a op b;                \
        }                                 \
    }
TL_COMPARISON(Eq, ==);
TL_COMPARISON(Ne, !=);
TL_COMPARISON(Lt, <);
TL_COMPARISON(Le, <=);
TL_COMPARISON(Gt, >);
TL_COMPARISON(Ge, >=);
#undef TL_COMPARISON

// src: the operands, then the condition, a byte for each element.
template <class T>
void selected(int64_t n, const void *const *src, const void *, void *dst) {
    const auto *a = static_cast<const T *>(src[0]), *b = static_cast<const T *>(src[1]);
    const auto *condition = static_cast<const uint8_t *>(src[2]);
    auto *c = static_cast<T *>(dst);
    for (int64_t i = 0; i < n; i++) c[i] = condition[i] ? a[i] : b[i];
}

template <class T>
void clamped(int64_t n, const void *const *src, const void *params, void *dst) {
    const auto *a = static_cast<const T *>(src[0]), *bounds = static_cast<const T *>(params);
    auto *c = static_cast<T *>(dst);
    const T least = bounds[0], most = bounds[1];
    for (int64_t i = 0; i < n; i++) c[i] = N<T>::clamp(a[i], least, most);
}

template <class T>
void filled(int64_t n, const void *const *, const void *params, void *dst) {
    auto *c = static_cast<T *>(dst);
    const T value = *static_cast<const T *>(params);
    for (int64_t i = 0; i < n; i++) c[i] = value;
}

template <class T>
void inverted(int64_t n, const void *const *src, const void *params, void *dst) {
    const auto *a = static_cast<const T *>(src[0]);
    auto *c = static_cast<T *>(dst);
    const T bits = *static_cast<const T *>(params);
    for (int64_t i = 0; i < n; i++) c[i] = N<T>::bits_not(a[i], bits);
}

template <class T>
void scaled(int64_t n, const void *const *src, const void *params, void *dst) {
    const auto *a = static_cast<const T *>(src[0]), *given = static_cast<const T *>(params);
    auto *c = static_cast<T *>(dst);
    const T factor = given[0], added = given[1];
    for (int64_t i = 0; i < n; i++) c[i] = N<T>::scale(a[i], factor, added);
}

double root(double x) { return __builtin_sqrt(x); }
double floor_of(double x) { return __builtin_floor(x); }
double ceil_of(double x) { return __builtin_ceil(x); }
double trunc_of(double x) { return __builtin_trunc(x); }
double round_of(double x) { return math::round_f64(x); }

// Sets the loops of some operations of a type.
auto setter(SimdTable::NumberLoop *loops) {
    return [loops](NumberOp op, SimdTable::NumberLoop loop) { loops[static_cast<int>(op)] = loop; };
}

template <class T>
void fill_type(SimdTable::NumberLoop *loops) {
    const auto set = setter(loops);
    set(NumberOp::add, binary<T, N<T>::add>);
    set(NumberOp::sub, binary<T, N<T>::sub>);
    set(NumberOp::mul, binary<T, N<T>::mul>);
    set(NumberOp::div, binary<T, N<T>::div>);
    set(NumberOp::maximum, binary<T, N<T>::maximum>);
    set(NumberOp::minimum, binary<T, N<T>::minimum>);
    set(NumberOp::pow, binary<T, N<T>::pow>);
    set(NumberOp::eq, compared<T, Eq>);
    set(NumberOp::ne, compared<T, Ne>);
    set(NumberOp::lt, compared<T, Lt>);
    set(NumberOp::le, compared<T, Le>);
    set(NumberOp::gt, compared<T, Gt>);
    set(NumberOp::ge, compared<T, Ge>);
    set(NumberOp::abs, unary<T, N<T>::abs>);
    set(NumberOp::neg, unary<T, N<T>::neg>);
    set(NumberOp::sqr, unary<T, N<T>::sqr>);
    set(NumberOp::sgn, unary<T, N<T>::sgn>);
    set(NumberOp::clamp, clamped<T>);
    set(NumberOp::fill, filled<T>);
    set(NumberOp::scale, scaled<T>);
}

// Bits of any type of the size can be selected.
template <class T>
void fill_bits(SimdTable::NumberLoop *loops) {
    const auto set = setter(loops);
    set(NumberOp::where, selected<T>);
    set(NumberOp::bitwise_and, binary<T, N<T>::bits_and>);
    set(NumberOp::bitwise_or, binary<T, N<T>::bits_or>);
    set(NumberOp::bitwise_xor, binary<T, N<T>::bits_xor>);
    set(NumberOp::bitwise_not, inverted<T>);
    set(NumberOp::shift_left, binary<T, N<T>::shift_left>);
    set(NumberOp::shift_right, binary<T, N<T>::shift_right>);
}

}  // namespace

void fill_numbers(SimdTable::Numbers &table) {
    fill_type<int32_t>(table.i32);
    fill_type<int64_t>(table.i64);
    fill_type<double>(table.f64);
    fill_bits<int8_t>(table.i8);
    fill_bits<int16_t>(table.i16);
    fill_bits<int32_t>(table.i32);
    fill_bits<int64_t>(table.i64);
    fill_bits<uint8_t>(table.u8);
    const auto set = setter(table.f64);
    set(NumberOp::sqrt, unary<double, root>);
    set(NumberOp::floor, unary<double, floor_of>);
    set(NumberOp::ceil, unary<double, ceil_of>);
    set(NumberOp::round, unary<double, round_of>);
    set(NumberOp::trunc, unary<double, trunc_of>);
}

}  // namespace tensorlib::core::simd::TL_ISA
