// The floats that a result may be: a value in double, and its largest error before it is rounded to its type.
#pragma once

#include "dtype/bf16.hpp"
#include "dtype/f16.hpp"
#include "random_tensors.hpp"

namespace support {

struct Wanted {
    double value, bound;
};

// The bound of a float's k roundings one after the other, relative to the sum of the magnitudes.
inline double gamma(int k) {
    const double u = 0x1p-24 * k;
    return u / (1 - u);
}

// A float as an element of a type has it.
template <class Format>
float stored_in(float x) {
    typename Format::Block block;
    Format::encode(&x, block);
    Format::decode(block, &x);
    return x;
}
inline float stored(core::DType type, float x) {
    return type == core::DType::f16 ? stored_in<core::F16>(x) : type == core::DType::bf16 ? stored_in<core::BF16>(x) : x;
}

// Rounding keeps order: a result lies between what the two ends of its interval are stored as.
inline void expect_right(const std::vector<float> &got, const std::vector<Wanted> &want, core::DType type, const std::string &what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (std::size_t i = 0; i < got.size(); i++) {
        const auto [value, bound] = want[i];
        const auto off = [&](double x) { return stored(type, static_cast<float>(x)); };
        const bool right = std::isnan(value)
                               ? std::isnan(got[i])
                               : got[i] >= std::nextafter(off(value - bound), -inf) && got[i] <= std::nextafter(off(value + bound), inf);
        ASSERT_TRUE(right) << what << ": element " << i << " is " << got[i] << ", expected " << value << " to within " << bound;
    }
}

}  // namespace support
