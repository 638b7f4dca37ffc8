// The formulas of cpp/math over contiguous floats, a loop each: what programs over tiles are made of.
//
// A tile lies in the first-level cache, so the formulas' own operations are the bound: some 20 for exp, as long as a load or store of 8
// bytes takes from memory. They hang on each other, each waiting 4 cycles for the one before; two registers at a time, and as many loop
// turns ahead as the processor looks, fill the gaps. The last floats go through the same registers, partly filled: what a float's result is
// does not depend on where it lies.
#include "cpu/leaf/level.hpp"

#include "math/formulas.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

namespace {

constexpr int W = Vec::width;
using Number = math::Real<Vec>;

template <int operands, int parameters, class F>
[[gnu::always_inline]] inline void run(const TileArgs &args, F formula) {
    Number parameter[parameters + 1], operand[operands + 1];
    for (int p = 0; p < parameters; p++) parameter[p] = args.params[p];
    // An operand that is repeated is read from a register's worth of it, always from its start.
    float repeated[operands + 1][W];
    const float *from[operands + 1];
    int64_t moves[operands + 1];
    for (int k = 0; k < operands; k++) {
        const bool one = (args.repeated >> k & 1) != 0 && args.n > 0;
        if (one) Vec::store(repeated[k], Vec::broadcast(*args.src[k]));
        from[k] = one ? repeated[k] : args.src[k];
        moves[k] = one ? 0 : -1;
    }
    const auto at = [&](int64_t i) __attribute__((always_inline)) {
        for (int k = 0; k < operands; k++) operand[k] = Number::of(Vec::load(from[k] + (i & moves[k])));
        return math::apply<operands, parameters>(formula, operand, parameter).reg;
    };
    int64_t i = 0;
    for (; i + 2 * W <= args.n; i += 2 * W) {
        const Vec::Reg first = at(i), second = at(i + W);
        Vec::store(args.dst + i, first);
        Vec::store(args.dst + i + W, second);
    }
    for (; i + W <= args.n; i += W) Vec::store(args.dst + i, at(i));
    if (const int left = static_cast<int>(args.n - i)) {
        for (int k = 0; k < operands; k++) operand[k] = Number::of(Vec::load_part(from[k] + (i & moves[k]), left));
        Vec::store_part(args.dst + i, math::apply<operands, parameters>(formula, operand, parameter).reg, left);
    }
}

#define TL_TILE_OP(name, operands, parameters)                                                                \
    void name##_tile(const TileArgs &args) {                                                                  \
        run<operands, parameters>(args, [](auto... x) __attribute__((always_inline)) { return name(x...); }); \
    }
#include "math/tile_ops.inc"
#undef TL_TILE_OP

}  // namespace

void fill_tiles(LeafTable::Tiles &table) {
    table = {{
#define TL_TILE_OP(name, operands, parameters) name##_tile,
#include "math/tile_ops.inc"
#undef TL_TILE_OP
    }};
}

}  // namespace tensorlib::core::leaf::TL_LEVEL
