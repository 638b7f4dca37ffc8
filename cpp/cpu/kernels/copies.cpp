// cont, dup, cast, cpy: src's elements into dst's, in the order of ne, with any strides and shapes on both sides.
//
// Both sides are walked as runs of elements that lie side by side; a run ends where either side's row does, or after
// each element (or block) of a row with gaps.
#include "cpu/cpu_kernel.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

const char *refuse_conversion(const Problem &p) noexcept {
    return p.node.src[0]->layout.type == p.node.layout.type ? nullptr : "types differ";
}

const char *take_all(const Problem &) noexcept { return nullptr; }

// Blocks of the node's type, the smallest unit that is copied.
std::int64_t units(const Layout &l) noexcept { return l.n_elements() / traits(l.type).block_size; }

void plan_copy(const Problem &p, KernelPlan &plan) noexcept {
    const Tensor &node = p.node, &source = *node.src[0];
    const auto bytes = static_cast<std::int64_t>(node.layout.nbytes() + source.layout.nbytes());
    plan.n_chunks[0] = chunks_for(units(node.layout), bytes, p.n_threads);
}

// Where a walk in ne order stands: element i0 of a row, and the rest of that row.
class Cursor {
public:
    Cursor(const TensorRef &t, std::int64_t element) noexcept
        : t_(t), block_(traits(t.type).block_size), flat_(t.nb[0] == traits(t.type).size || t.ne[0] == block_) {
        const std::int64_t row = element / t.ne[0];
        i0_ = element % t.ne[0];
        index_ = row_index(t.ne, row);
        row_ = row_address(t, index_);
    }
    // Elements from here on that lie side by side.
    std::int64_t run() const noexcept { return flat_ ? t_.ne[0] - i0_ : block_; }
    std::byte *address() const noexcept { return row_ + static_cast<std::size_t>(i0_ / block_) * t_.nb[0]; }
    void advance(std::int64_t n) noexcept {
        i0_ += n;
        if (i0_ < t_.ne[0]) return;
        i0_ = 0;
        if (++index_.i1 == t_.ne[1]) {
            index_.i1 = 0;
            if (++index_.i2 == t_.ne[2]) {
                index_.i2 = 0;
                index_.i3++;
            }
        }
        row_ = row_address(t_, index_);
    }

private:
    const TensorRef &t_;
    std::int64_t block_, i0_;
    bool flat_;
    RowIndex index_;
    std::byte *row_;
};

// Calls move(to, from, n) for every run of the chunk.
template <class Move>
void for_each_run(const Step &step, const Slice &slice, std::int64_t longest, Move move) noexcept {
    const std::int64_t block = traits(step.dst.type).block_size;
    const Range part = part_of(units(step.node->layout), slice.chunk, step.plan.n_chunks[0]);
    std::int64_t left = (part.end - part.begin) * block;
    if (left == 0) return;
    Cursor from(step.src[0], part.begin * block), to(step.dst, part.begin * block);
    while (left > 0) {
        const std::int64_t n = std::min({left, longest, from.run(), to.run()});
        move(to.address(), from.address(), n);
        from.advance(n);
        to.advance(n);
        left -= n;
    }
}

void run_same_type(const Step &step, const Slice &slice) noexcept {
    const DTypeTraits &type = traits(step.dst.type);
    constexpr std::int64_t whole = INT64_MAX;
    if (type.block_size == 1 && type.size == 4) {
        // Four bytes at a time are worth a path of their own: transposed matrices come as runs of one element.
        for_each_run(step, slice, whole, [](std::byte *to, const std::byte *from, std::int64_t n) {
            if (n == 1) {
                std::memcpy(to, from, 4);
            } else {
                std::memmove(to, from, static_cast<std::size_t>(n) * 4);
            }
        });
        return;
    }
    for_each_run(step, slice, whole, [&](std::byte *to, const std::byte *from, std::int64_t n) {
        std::memmove(to, from, static_cast<std::size_t>(n / type.block_size) * type.size);
    });
}

void run_convert(const Step &step, const Slice &slice) noexcept {
    constexpr std::int64_t stage = 512;
    const DTypeTraits &from_type = traits(step.src[0].type), &to_type = traits(step.dst.type);
    float values[stage];
    for_each_run(step, slice, stage, [&](std::byte *to, const std::byte *from, std::int64_t n) {
        from_type.decode(from, values, n);
        to_type.encode(values, nullptr, to, n);
    });
}

constexpr CpuKernel table[] = {
    {{Op::cont, "copy_same_type", refuse_conversion, plan_copy}, run_same_type},
    {{Op::dup, "copy_same_type", refuse_conversion, plan_copy}, run_same_type},
    {{Op::cpy, "copy_same_type", refuse_conversion, plan_copy}, run_same_type},
    {{Op::cpy, "copy_convert", take_all, plan_copy}, run_convert},
    {{Op::cast, "copy_same_type", refuse_conversion, plan_copy}, run_same_type},
    {{Op::cast, "copy_convert", take_all, plan_copy}, run_convert},
};

}  // namespace

const std::span<const CpuKernel> kernels::copies = table;

}  // namespace tensorlib::core
