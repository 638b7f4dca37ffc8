// Attention of one query in double, for the tests of attention.
#pragma once

#include "random_tensors.hpp"
#include "wanted.hpp"

#include <functional>
#include <optional>

namespace support {

constexpr double rounding = 0x1p-24;

// A tensor's values, by index.
struct Values {
    core::Extents ne;
    std::vector<float> all;

    explicit Values(const core::Tensor *t) : ne(t->layout.ne), all(values_of(t)) {}
    const float *row(std::int64_t i1, std::int64_t i2, std::int64_t i3) const {
        return all.data() + ne[0] * (i1 + ne[1] * (i2 + ne[2] * i3));
    }
};

// One query's answer: the soft_max of logits x, each off by off, over the values; with bounds as in tests/cases/generator/attended.py.
inline void answer(const std::vector<double> &x, const std::vector<double> &off, std::optional<double> sink, std::int64_t m,
                   const std::function<const float *(std::size_t)> &value, std::vector<Wanted> &all) {
    double most = sink ? *sink : -HUGE_VAL, off_most = 0;
    bool spoilt = false;
    for (std::size_t j = 0; j < x.size(); j++) {
        spoilt |= std::isnan(x[j]) || x[j] == HUGE_VAL;
        most = std::max(most, x[j]);
        off_most = std::max(off_most, off[j]);
    }
    if (spoilt || most == -HUGE_VAL) {
        all.insert(all.end(), static_cast<std::size_t>(m), {NAN, 0});
        return;
    }
    const auto count = static_cast<double>(x.size()), blocks = std::floor(count / 144) + 1;
    std::vector<double> w, e;
    double total = sink ? std::exp(*sink - most) : 0, of_total = total * (2 + 6 * blocks) * rounding;
    for (std::size_t j = 0; j < x.size(); j++) {
        w.push_back(std::exp(x[j] - most));
        e.push_back(w[j] == 0 ? 0 : (2 + 6 * blocks) * rounding + 2 * rounding * (most - x[j]) + off[j] + off_most);
        total += w[j];
        of_total += w[j] * e[j];
    }
    const double relative = of_total / total + (std::min(count, 256.0) + std::min(count, 36.0) + 6 * blocks + 4) * rounding;
    std::vector<Wanted> row(static_cast<std::size_t>(m), {0, 0x1p-147});
    for (std::size_t j = 0; j < x.size(); j++) {
        if (w[j] == 0) continue;
        const float *v = value(j);
        for (std::size_t d = 0; d < row.size(); d++) {
            row[d].value += w[j] * double{v[d]} / total;
            row[d].bound += 1.01 * w[j] * std::fabs(double{v[d]}) * (e[j] + relative) / total;
        }
    }
    all.insert(all.end(), row.begin(), row.end());
}

}  // namespace support
