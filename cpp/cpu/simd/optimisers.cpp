// Optimiser steps: those of cpp/math/optimisers.hpp in loops that the compiler vectorises. Every ISA gives identical
// bits.
//
// Limited by memory: a step of AdamW reads 16 bytes per element and writes 12.
#include "cpu/simd/isa.hpp"

#include "math/optimisers.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

void sgd(int64_t n, const float *settings, const float *__restrict g, float *__restrict a) {
    const float given[] = {settings[0], settings[1]};
    for (int64_t i = 0; i < n; i++) math::step_sgd(given, g[i], a[i]);
}

template <bool nesterov>
void momentum_of(int64_t n, const float *settings, const float *__restrict g, float *__restrict velocity, float *__restrict a) {
    const float given[] = {settings[0], settings[1], settings[2]};
    for (int64_t i = 0; i < n; i++) math::step_momentum(given, nesterov, g[i], velocity[i], a[i]);
}

void momentum(int64_t n, const float *settings, bool nesterov, const float *g, float *velocity, float *a) {
    (nesterov ? momentum_of<true> : momentum_of<false>)(n, settings, g, velocity, a);
}

void adamw(int64_t n, const float *settings, const float *__restrict g, float *__restrict m, float *__restrict v, float *__restrict a) {
    const float given[] = {settings[0], settings[1], settings[2], settings[3], settings[4], settings[5], settings[6]};
    for (int64_t i = 0; i < n; i++) math::step_adamw(given, g[i], m[i], v[i], a[i]);
}

void lion(int64_t n, const float *settings, const float *__restrict g, float *__restrict m, float *__restrict a) {
    const float given[] = {settings[0], settings[1], settings[2], settings[3]};
    for (int64_t i = 0; i < n; i++) math::step_lion(given, g[i], m[i], a[i]);
}

}  // namespace

void fill_optimisers(SimdTable::Optimisers &table) { table = {.sgd = sgd, .momentum = momentum, .adamw = adamw, .lion = lion}; }

}  // namespace tensorlib::core::simd::TL_ISA
