// The formulas of cpp/math over contiguous floats, as links of chains, of which programs over tiles consist.
//
// A chain takes a few registers through all of its links before the next ones, so memory is accessed only where a value
// is loaded or stored. A link is a function that gets the registers as arguments, does its part, and calls the next
// link last. Compilers make this call a jump, so the registers stay where they are. If they do not, a block's calls
// stay on the stack until its end. The operations of a formula depend on each other, and each waits 4 cycles for the
// previous one. Several registers, and as many links as the processor looks ahead, fill the gaps.
//
// A float's result does not depend on its position: each goes through identical operations, in blocks of four registers
// or of one.
#include "cpu/simd/isa.hpp"
#include "cpu/simd/streams.hpp"

#include "math/formulas.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;
using Reg = Vec::Reg;
using Number = math::Real<Vec>;

// A block begins with nothing in its registers.
using Four = void (*)(const Link *link, const ChainSlot *slots, int64_t at, Reg a, Reg b, Reg c, Reg d);
using One = void (*)(const Link *link, const ChainSlot *slots, int64_t at, Reg a);

[[gnu::always_inline]] inline float *address(const ChainSlot *slots, uint8_t slot, int64_t at) {
    return slots[slot].at + (at & slots[slot].moves);
}

// What the kinds of links do with register j of a block.
//
// Prefetches 512 bytes ahead. A processor prefetches streams by itself, but this takes a tenth less time (Zen 4). 1 and
// 2 KiB ahead gain half of that or nothing, and so does prefetching the second operands, or past the L2 cache.
struct Load {
    static constexpr int ahead = 128;
    const float *from;

    [[gnu::always_inline]] Load(const Link &link, const ChainSlot *slots, int64_t at) : from(address(slots, link.from[0], at)) {}
    [[gnu::always_inline]] Reg operator()(int j, Reg) const {
        __builtin_prefetch(from + ahead + j * W);
        return Vec::load(from + j * W);
    }
};
template <bool stream>
struct Store {
    float *to;

    [[gnu::always_inline]] Store(const Link &link, const ChainSlot *slots, int64_t at) : to(address(slots, link.to, at)) {}
    [[gnu::always_inline]] Reg operator()(int j, Reg v) const {
        store<stream>(to + j * W, v);
        return v;
    }
};
// The register holds operand `own`; the others are read.
template <class Formula, int own>
struct Apply {
    static constexpr int operands = Formula::operands, parameters = Formula::parameters;
    const float *from[operands + 1];
    Number parameter[parameters + 1];

    [[gnu::always_inline]] Apply(const Link &link, const ChainSlot *slots, int64_t at) {
        for (int k = 0, read = 0; k < operands; k++) {
            if (k != own) from[k] = address(slots, link.from[read++], at);
        }
        for (int p = 0; p < parameters; p++) parameter[p] = link.parameters[p];
    }
    [[gnu::always_inline]] Reg operator()(int j, Reg v) const {
        Number operand[operands + 1];
        for (int k = 0; k < operands; k++) operand[k] = Number::of(k == own ? v : Vec::load(from[k] + j * W));
        return math::apply<operands, parameters>(Formula::apply, operand, parameter).reg;
    }
};

template <class Kind>
void four(const Link *link, const ChainSlot *slots, int64_t at, Reg a, Reg b, Reg c, Reg d) {
    const Kind kind(*link, slots, at);
    a = kind(0, a);
    b = kind(1, b);
    c = kind(2, c);
    d = kind(3, d);
    reinterpret_cast<Four>(link[1].step.four)(link + 1, slots, at, a, b, c, d);
}
template <class Kind>
void one(const Link *link, const ChainSlot *slots, int64_t at, Reg a) {
    a = Kind(*link, slots, at)(0, a);
    reinterpret_cast<One>(link[1].step.one)(link + 1, slots, at, a);
}
template <class Kind>
LinkStep step() {
    return {reinterpret_cast<void (*)()>(four<Kind>), reinterpret_cast<void (*)()>(one<Kind>)};
}

void end_four(const Link *, const ChainSlot *, int64_t, Reg, Reg, Reg, Reg) {}
void end_one(const Link *, const ChainSlot *, int64_t, Reg) {}
LinkStep end() { return {reinterpret_cast<void (*)()>(end_four), reinterpret_cast<void (*)()>(end_one)}; }

void run(const Link *chain, const ChainSlot *slots, int n_slots, int64_t n) {
    const Reg nothing = Vec::zero();
    const auto run_one = [&](const ChainSlot *where, int64_t at) { reinterpret_cast<One>(chain->step.one)(chain, where, at, nothing); };
    int64_t at = 0;
    for (; at + 4 * W <= n; at += 4 * W) reinterpret_cast<Four>(chain->step.four)(chain, slots, at, nothing, nothing, nothing, nothing);
    for (; at + W <= n; at += W) run_one(slots, at);
    const int left = static_cast<int>(n - at);
    if (left == 0) return;
    // The last floats, in copies of slots that fill a register and are aligned for streaming.
    alignas(Reg) float rest[max_slots][W];
    ChainSlot there[max_slots];
    for (int p = 0; p < n_slots; p++) {
        there[p] = slots[p];
        if (!slots[p].at || slots[p].moves == 0) continue;
        Vec::store(rest[p], Vec::load_part(slots[p].at + at, left));
        there[p] = {rest[p], 0, false};
    }
    run_one(there, 0);
    for (int p = 0; p < n_slots; p++) {
        if (slots[p].at && slots[p].moves != 0 && slots[p].written) Vec::store_part(slots[p].at + at, Vec::load(rest[p]), left);
    }
}

#define TL_TILE_OP(name, n_operands, n_parameters)                                                         \
    struct name##_formula {                                                                                \
        static constexpr int operands = n_operands, parameters = n_parameters;                             \
        static constexpr auto apply = [](auto... x) __attribute__((always_inline)) { return name(x...); }; \
    };
#include "math/tile_ops.inc"
#undef TL_TILE_OP

void run_formula(const LinkStep &formula, int operands, int parameters, const TileArgs &args) {
    Link chain[4] = {{step<Load>(), {0}, 0, {}}, {formula, {1, 2}, 0, {}}, {step<Store<false>>(), {}, 3, {}}, {end(), {}, 0, {}}};
    ChainSlot slots[4] = {{}, {}, {}, {args.dst, -1, true}};
    float repeated[max_tile_operands][4 * W];
    for (int k = 0; k < operands; k++) {
        if ((args.repeated >> k & 1) != 0 && args.n > 0) {
            for (int j = 0; j < 4; j++) Vec::store(repeated[k] + j * W, Vec::broadcast(*args.src[k]));
            slots[k] = {repeated[k], 0, false};
        } else {
            slots[k] = {const_cast<float *>(args.src[k]), -1, false};
        }
    }
    for (int p = 0; p < parameters; p++) chain[1].parameters[p] = args.params[p];
    run(operands > 0 ? chain : chain + 1, slots, 4, args.n);
}
template <class Formula>
void formula_loop(const TileArgs &args) {
    run_formula(step<Apply<Formula, 0>>(), Formula::operands, Formula::parameters, args);
}

}  // namespace

void fill_tiles(SimdTable::Tiles &table) {
    table = {.load = step<Load>(),
             .store = step<Store<false>>(),
             .stream = step<Store<true>>(),
             .end = end(),
             .first =
                 {
#define TL_TILE_OP(name, operands, parameters) step<Apply<name##_formula, 0>>(),
#include "math/tile_ops.inc"
#undef TL_TILE_OP
                 },
             .second = {},
             .run = run,
             .loops = {
#define TL_TILE_OP(name, operands, parameters) formula_loop<name##_formula>,
#include "math/tile_ops.inc"
#undef TL_TILE_OP
             }};
    // Formulas that cost less than storing the block and reading it again.
    const auto second = [&table](TileOp op) -> LinkStep & { return table.second[static_cast<int>(op)]; };
    second(TileOp::add) = step<Apply<add_formula, 1>>();
    second(TileOp::sub) = step<Apply<sub_formula, 1>>();
    second(TileOp::mul) = step<Apply<mul_formula, 1>>();
    second(TileOp::div) = step<Apply<div_formula, 1>>();
    second(TileOp::maximum) = step<Apply<maximum_formula, 1>>();
    second(TileOp::minimum) = step<Apply<minimum_formula, 1>>();
}

}  // namespace tensorlib::core::simd::TL_ISA
