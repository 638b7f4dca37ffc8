#include "runtime/movement.hpp"

#include "ops/gen/op_facts.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

using Source = Movement::Source;

// The remainder from 0 to n - 1.
std::int64_t modulo(std::int64_t i, std::int64_t n) noexcept {
    const std::int64_t rest = i % n;
    return rest < 0 ? rest + n : rest;
}

class Builder {
public:
    explicit Builder(const Step &step) noexcept : movement_{}, block_(traits(step.dst.type).block_size) {
        movement_.unit = static_cast<std::int64_t>(traits(step.dst.type).size);
        for (std::size_t d = 0; d < max_dims; d++) movement_.ne[d] = units(d, step.dst.ne[d]);
    }

    // All of an operand, starting at the result's first unit.
    Source whole(const TensorRef &t) const noexcept {
        Source source{t.data, {}, {}, {}, {}};
        for (std::size_t d = 0; d < max_dims; d++) {
            source.extent[d] = units(d, t.ne[d]);
            source.period[d] = movement_.ne[d];
            source.nb[d] = static_cast<std::int64_t>(t.nb[d]);
        }
        return source;
    }
    // Shifts the source by this many elements in a dimension, cyclically.
    void shift(Source &source, std::size_t d, std::int64_t by) const noexcept {
        const std::int64_t period = source.period[d];
        source.start[d] = modulo(source.start[d] - modulo(units(d, by), period), period);
    }
    void repeat(Source &source) const noexcept { std::copy(source.extent, source.extent + max_dims, source.period); }
    void add(Source source) noexcept {
        if (std::ranges::count(source.extent, 0) > 0) return;
        for (std::size_t d = 0; d < max_dims; d++) {
            // A dimension of one unit may have any stride. This one allows dimensions to be joined.
            if (source.extent[d] == 1) source.nb[d] = d == 0 ? movement_.unit : source.nb[d - 1] * source.extent[d - 1];
        }
        movement_.sources[movement_.n_sources++] = source;
    }

    Movement finished() noexcept {
        for (int d = 1; d < max_dims && joins(); d++) join();
        return movement_;
    }

private:
    std::int64_t units(std::size_t d, std::int64_t n) const noexcept { return d == 0 ? n / block_ : n; }

    bool joins() const noexcept {
        return std::all_of(movement_.sources, movement_.sources + movement_.n_sources, [&](const Source &source) {
            return source.extent[0] == movement_.ne[0] && source.start[0] == 0 && source.nb[1] == source.nb[0] * source.extent[0];
        });
    }
    // Merges dimension 1 into dimension 0, and moves the following dimensions down by one.
    void join() noexcept {
        const std::int64_t n = movement_.ne[0];
        const auto one_down = [n](std::int64_t *of, std::int64_t last) {
            of[0] = of[1] * n;
            of[1] = of[2], of[2] = of[3], of[3] = last;
        };
        one_down(movement_.ne, 1);
        for (int p = 0; p < movement_.n_sources; p++) {
            Source &source = movement_.sources[p];
            one_down(source.start, 0), one_down(source.period, 1), one_down(source.extent, 1);
            source.nb[1] = source.nb[2], source.nb[2] = source.nb[3], source.nb[3] = 0;
        }
    }

    Movement movement_;
    std::int64_t block_;
};

// A row's mirror images run backwards from the elements next to its ends.
void reflect(Builder &builder, const TensorRef &a, std::int64_t before, std::int64_t behind) noexcept {
    const std::int64_t n = a.ne[0];
    Source middle = builder.whole(a), left = middle, right = middle;
    builder.shift(middle, 0, before);
    builder.add(middle);
    const auto image = [&](Source &source, std::int64_t first, std::int64_t extent) {
        if (extent == 0) return;
        source.data += first * source.nb[0];
        source.nb[0] = -source.nb[0];
        source.extent[0] = extent;
        builder.add(source);
    };
    builder.shift(right, 0, before + n);
    image(left, before, before);
    image(right, n - 2, behind);
}

}  // namespace

Movement movement_of(const Step &step) noexcept {
    Builder builder(step);
    const TensorRef &a = step.src[0];
    Source source = builder.whole(a);
    switch (step.node->op) {
        case Op::repeat:
            builder.repeat(source);
            builder.add(source);
            break;
        case Op::concat: {
            const auto dim = static_cast<std::size_t>(attrs_of<ops::ConcatAttrs>(*step.node).dim);
            std::int64_t first = 0;
            for (std::size_t i = 0; i < step.node->n_src; first += step.src[i++].ne[dim]) {
                Source part = builder.whole(step.src[i]);
                builder.shift(part, dim, first);
                builder.add(part);
            }
            break;
        }
        case Op::flip: {
            const auto dim = static_cast<std::size_t>(attrs_of<ops::FlipAttrs>(*step.node).dim);
            source.data += (a.ne[dim] - 1) * source.nb[dim];
            source.nb[dim] = -source.nb[dim];
            builder.add(source);
            break;
        }
        case Op::pad_reflect_1d: {
            const auto &attrs = attrs_of<ops::PadReflect1dAttrs>(*step.node);
            reflect(builder, a, attrs.p0, attrs.p1);
            break;
        }
        case Op::roll:
            for (std::size_t d = 0; d < max_dims; d++) builder.shift(source, d, attrs_of<ops::RollAttrs>(*step.node).shift.values[d]);
            builder.add(source);
            break;
        case Op::pad: {
            const auto &attrs = attrs_of<ops::PadAttrs>(*step.node);
            if (attrs.circular) builder.repeat(source);
            for (std::size_t d = 0; d < max_dims; d++) builder.shift(source, d, attrs.lp.values[d]);
            builder.add(source);
            break;
        }
        default:  // acc and set, for which nothing is added
            builder.add(source);
    }
    return builder.finished();
}

}  // namespace tensorlib::core
