// Steps of optimisers end what gradients were for.
#include "gradients/rule.hpp"

namespace tensorlib::core::gradients::rules {

constexpr GradientRule opt_step_sgd = never, opt_step_momentum = never, opt_step_adamw = never, opt_step_lion = never;

}  // namespace tensorlib::core::gradients::rules
