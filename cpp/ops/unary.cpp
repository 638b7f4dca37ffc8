// Functions of one operand, described in unary.toml.
#include "ops/elementwise.hpp"

namespace tensorlib::core::ops {

constexpr OpDef abs{facts::abs, elementwise<TileOp::abs>};
constexpr OpDef neg{facts::neg, elementwise<TileOp::neg>};
constexpr OpDef sqr{facts::sqr, elementwise<TileOp::sqr>};
constexpr OpDef sqrt{facts::sqrt, elementwise<TileOp::sqrt>};
constexpr OpDef log{facts::log, elementwise<TileOp::log>};
constexpr OpDef exp{facts::exp, elementwise<TileOp::exp>};
constexpr OpDef expm1{facts::expm1, elementwise<TileOp::expm1>};
constexpr OpDef erf{facts::erf, elementwise<TileOp::erf>};
constexpr OpDef sin{facts::sin, elementwise<TileOp::sin>};
constexpr OpDef cos{facts::cos, elementwise<TileOp::cos>};
constexpr OpDef sgn{facts::sgn, elementwise<TileOp::sgn>};
constexpr OpDef step{facts::step, elementwise<TileOp::step>};
constexpr OpDef floor{facts::floor, elementwise<TileOp::floor>};
constexpr OpDef ceil{facts::ceil, elementwise<TileOp::ceil>};
constexpr OpDef round{facts::round, elementwise<TileOp::round>};
constexpr OpDef trunc{facts::trunc, elementwise<TileOp::trunc>};

}  // namespace tensorlib::core::ops
