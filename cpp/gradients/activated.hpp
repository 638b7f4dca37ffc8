// Activations that are gates, and their derivatives.
#pragma once

#include "gradients/value.hpp"

namespace tensorlib::core::gradients {

struct Activated {
    Value value, derivative;
};
// relu, silu or gelu of x.
Activated activated(Op activation, const Value &x);

}  // namespace tensorlib::core::gradients
