// Optimiser steps are the end of the backward pass, and have no gradient.
#include "gradients/rule.hpp"

namespace tensorlib::core::gradients::rules {

constexpr GradientRule opt_step_sgd = no_gradient, opt_step_momentum = no_gradient, opt_step_adamw = no_gradient,
                       opt_step_lion = no_gradient;

}  // namespace tensorlib::core::gradients::rules
