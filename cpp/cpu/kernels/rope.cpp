// rope: rotates pairs of each row by the angles of its position. A chunk is some tokens. A token's angles are computed
// once, for all of its heads.
#include "cpu/float_rows.hpp"
#include "ops/rotation.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

using ops::Rotation;
using ops::rotation_of;

// A thread's part of the workspace, after that of FloatRows: rates, and two cosines and sines of each pair.
std::size_t angle_bytes(std::int64_t pairs) noexcept {
    return round_up(static_cast<std::size_t>(pairs) * (sizeof(double) + 4 * sizeof(float)), 64);
}

// What plan_rope() keeps: where the threads' parts begin.
struct AnglesAt {
    std::size_t offset;
};

void plan_rope(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    plan.may_overwrite = FloatRows::may_overwrite(p.node);
    const std::size_t rows = FloatRows::workspace(p.node, p.n_threads);
    plan.keep(AnglesAt{rows});
    plan.workspace = rows + static_cast<std::size_t>(p.n_threads) * angle_bytes(rotation_of(p.node).pairs);
    plan.chunks(Stage::compute) = chunks_for(c.ne[2] * c.ne[3], 2 * static_cast<std::int64_t>(c.nbytes()), p.n_threads);
}

// One thread's angles.
class Angles {
public:
    Angles(const Step &step, const Slice &slice, const Rotation &rotation) noexcept
        : simd_(slice.simd.rotations), rotation_(rotation), positions_(step.src[1]), n_tokens_(step.dst.ne[2]) {
        std::byte *own =
            step.workspace + step.plan.kept<AnglesAt>().offset + static_cast<std::size_t>(slice.thread) * angle_bytes(rotation.pairs);
        const std::int64_t n = rotation.pairs;
        rates_ = reinterpret_cast<double *>(own);
        cos_ = reinterpret_cast<float *>(rates_ + n);
        sin_ = cos_ + 2 * n;
        const TensorRef &factors = step.src[2];
        double frequency = 1;
        for (std::int64_t k = 0; k < n; k++) {
            frequency = rotation.use_of(k).exponent == 0 ? 1 : frequency * rotation.step;
            float factor = 1;
            if (factors.data) std::memcpy(&factor, factors.data + static_cast<std::size_t>(k) * factors.nb[0], sizeof factor);
            rates_[k] = rotation.rate(k, frequency, static_cast<double>(factor));
        }
    }

    // Computes the angles of a token.
    void at(std::int64_t i2, std::int64_t i3) noexcept {
        const std::int64_t n = rotation_.pairs;
        if (rotation_.period() == 0) {
            simd_.angles(n, position(i2, i3), rates_, rotation_.size, cos_, sin_);
        } else {
            angles_of_sections(i2, i3);
        }
        if (!rotation_.neighbours) return;
        for (std::int64_t k = n; k-- > 0;) {
            cos_[2 * k + 1] = cos_[2 * k] = cos_[k];
            sin_[2 * k + 1] = sin_[k];
            sin_[2 * k] = -sin_[2 * k + 1];
        }
    }
    void turn(const float *x, float *y) const noexcept {
        (rotation_.neighbours ? simd_.neighbours : simd_.halves)(rotation_.pairs, x, cos_, sin_, y);
    }

private:
    // Pairs with equal positions are computed together: all of them, for text.
    void angles_of_sections(std::int64_t i2, std::int64_t i3) noexcept {
        double positions[4];
        for (int s = 0; s < 4; s++) positions[s] = position(i2 + n_tokens_ * s, i3);
        const auto own = [&](std::int64_t k) { return positions[rotation_.use_of(k).position]; };
        for (std::int64_t k = 0, end; k < rotation_.pairs; k = end) {
            end = k + 1;
            while (end < rotation_.pairs && own(end) == own(k)) end++;
            simd_.angles(end - k, own(k), rates_ + k, rotation_.size, cos_ + k, sin_ + k);
        }
    }
    double position(std::int64_t i, std::int64_t i3) const noexcept {
        const std::size_t batch = positions_.ne[1] == 1 ? 0 : static_cast<std::size_t>(i3) * positions_.nb[1];
        return static_cast<double>(
            integer_value(positions_.type, positions_.data + static_cast<std::size_t>(i) * positions_.nb[0] + batch));
    }

    const simd::SimdTable::Rotations &simd_;
    const Rotation &rotation_;
    const TensorRef &positions_;
    const std::int64_t n_tokens_;
    double *rates_;
    float *cos_, *sin_;
};

void run_rope(const Step &step, const Slice &slice) noexcept {
    const TensorRef &c = step.dst;
    if (step.node->layout.n_elements() == 0) return;
    const Rotation rotation = rotation_of(*step.node);
    Angles angles(step, slice, rotation);
    FloatRows rows(step, slice);
    const std::int64_t turned = 2 * rotation.pairs, first = rotation.first, behind = first + turned;
    const auto bytes = [](std::int64_t n) { return static_cast<std::size_t>(n) * sizeof(float); };
    const Range part = part_of(c.ne[2] * c.ne[3], slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t token = part.begin; token < part.end; token++) {
        const std::int64_t i2 = token % c.ne[2], i3 = token / c.ne[2];
        angles.at(i2, i3);
        for (std::int64_t i1 = 0; i1 < c.ne[1]; i1++) {
            const RowIndex at{i1, i2, i3};
            const float *x = rows.read(at);
            float *y = rows.to(at);
            angles.turn(x + first, y + first);
            if (x != y && first > 0) std::memcpy(y, x, bytes(first));
            if (x != y && behind < c.ne[0]) std::memcpy(y + behind, x + behind, bytes(c.ne[0] - behind));
            rows.done(at);
        }
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::rope, .name = "rope", .plan = plan_always<plan_rope>, .fuses = true, .takes_prologue = true}, run_rope},
};

}  // namespace

const std::span<const CpuKernel> kernels::rope = table;

}  // namespace tensorlib::core
