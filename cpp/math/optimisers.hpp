// Optimiser steps, an element at a time, with each operation rounded (math/rounded.hpp): CPUs and CUDA give identical
// bits.
#pragma once

#include "math/rounded.hpp"

namespace TL_MATH {

// A parameter after its decay.
TL_MATH_INLINE float decayed(float a, float rate, float decay) { return times(a, plus(1.0f, -times(rate, decay))); }

// part x + (1 - part) y
TL_MATH_INLINE float mixed(float part, float x, float y) { return plus(times(part, x), times(plus(1.0f, -part), y)); }

// settings: rate, decay
TL_MATH_INLINE void step_sgd(const float *settings, float g, float &a) {
    a = plus(decayed(a, settings[0], settings[1]), -times(settings[0], g));
}

// settings: rate, decay, momentum. The velocity is the sum of the gradients, in which each older one has another factor
// of momentum.
TL_MATH_INLINE void step_momentum(const float *settings, bool nesterov, float g, float &velocity, float &a) {
    velocity = plus(times(settings[2], velocity), g);
    const float step = nesterov ? plus(g, times(settings[2], velocity)) : velocity;
    a = plus(decayed(a, settings[0], settings[1]), -times(settings[0], step));
}

// settings: rate, beta1, beta2, eps, decay, 1 / (1 - beta1^t), 1 / (1 - beta2^t)
TL_MATH_INLINE void step_adamw(const float *settings, float g, float &m, float &v, float &a) {
    m = mixed(settings[1], m, g);
    v = mixed(settings[2], v, times(g, g));
    const float size = plus(root(times(v, settings[6])), settings[3]);
    a = plus(decayed(a, settings[0], settings[4]), -over(times(settings[0], times(m, settings[5])), size));
}

// settings: rate, beta1, beta2, decay. The sign of NaN is NaN.
TL_MATH_INLINE void step_lion(const float *settings, float g, float &m, float &a) {
    const float direction = mixed(settings[1], m, g), sign = direction > 0 ? 1.0f : direction < 0 ? -1.0f : direction;
    a = plus(decayed(a, settings[0], settings[3]), -times(settings[0], sign));
    m = mixed(settings[2], m, g);
}

}  // namespace TL_MATH
