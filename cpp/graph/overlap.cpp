#include "graph/overlap.hpp"

#include <algorithm>
#include <cstdint>

namespace tensorlib::core {

namespace {

using Int = std::int64_t;

// An index, 0 to `most`, and what one step of it adds to the address.
struct Index {
    Int stride, most;
};

// Up to 8 indices, by falling stride.
class Indices {
public:
    void insert(const Index &index) noexcept {
        int at = count_++;
        for (; at > 0 && indices_[at - 1].stride < index.stride; at--) indices_[at] = indices_[at - 1];
        indices_[at] = index;
    }
    void remove_last() noexcept { count_--; }
    int count() const noexcept { return count_; }
    const Index &operator[](int i) const noexcept { return indices_[i]; }
    Index &operator[](int i) noexcept { return indices_[i]; }

private:
    Index indices_[2 * max_dims];
    int count_ = 0;
};

// Is there a choice of indices whose sum of stride * index lies in [low, high]?
//
// The search takes indices by falling stride. Once the indices of large strides are chosen, the rest can add anything
// from 0 to the sum of their stride * most. Only values of the next index that bring the sum within that reach need to
// be tried. Where strides nest, as those of views of one array do, that is one or two values, and 8 indices take at
// most 2^8 steps. Strides that do not nest can take exponentially many steps; the search stops after `most_steps` and
// reports that it does not know.
class Search {
public:
    explicit Search(const Indices &indices) : indices_(indices) {
        for (int i = indices_.count(); i-- > 0;) reach_[i] = reach_[i + 1] + indices_[i].stride * indices_[i].most;
    }

    Overlap find(Int low, Int high) {
        steps_ = 0;
        const bool found = find_from(0, low, high);
        return found ? Overlap::yes : steps_ > most_steps ? Overlap::unknown : Overlap::no;
    }

private:
    static constexpr int most_steps = 1 << 12;

    bool find_from(int i, Int low, Int high) {
        if (high < 0 || low > reach_[i]) return false;
        if (i == indices_.count() || low <= 0) return true;  // with 0 for all remaining indices
        if (++steps_ > most_steps) return false;
        const auto [stride, most] = indices_[i];
        const Int behind = low - reach_[i + 1];
        const Int first = behind <= 0 ? 0 : (behind - 1) / stride + 1, last = std::min(most, high / stride);
        for (Int x = first; x <= last && steps_ <= most_steps; x++) {
            if (find_from(i + 1, low - x * stride, high - x * stride)) return true;
        }
        return false;
    }

    const Indices &indices_;
    Int reach_[2 * max_dims + 1] = {};
    int steps_ = 0;
};

// A tensor as runs of bytes. Dimensions that are contiguous form one run; the others determine where runs begin.
struct Runs {
    Int bytes;  // of a run
    Indices indices;

    explicit Runs(const Layout &l) : bytes(static_cast<Int>(traits(l.type).size)) {
        for (int d = 0; d < max_dims; d++) {
            const Int n = d == 0 ? l.ne[0] / traits(l.type).block_size : l.ne[d];
            if (n > 1) indices.insert({static_cast<Int>(l.nb[static_cast<std::size_t>(d)]), n - 1});
        }
        for (int last = indices.count() - 1; last >= 0 && indices[last].stride == bytes; last--) {
            bytes *= indices[last].most + 1;
            indices.remove_last();
        }
    }
};

// Ensures that no sum of two spans wraps.
bool too_long(const Layout &l) { return l.span_bytes() > static_cast<std::size_t>(INT64_MAX) / 4; }

}  // namespace

// Two elements share a byte if their addresses differ by less than a run. Among the indices that differ, take the one
// with the largest stride. It differs by at least 1; those with smaller strides may differ by anything, up or down.
Overlap overlaps_itself(const Layout &l) {
    if (l.n_elements() == 0) return Overlap::no;
    if (too_long(l)) return Overlap::unknown;
    const Runs runs(l);
    Overlap result = Overlap::no;
    for (int i = 0; i < runs.indices.count(); i++) {
        const auto [stride, most] = runs.indices[i];
        if (stride == 0) return Overlap::yes;
        // Shifted so that all differences begin at 0: this one by 1, those after it by their most.
        Indices differences;
        differences.insert({stride, most - 1});
        Int below = 0;
        for (int j = i + 1; j < runs.indices.count(); j++) {
            const Index &other = runs.indices[j];
            differences.insert({other.stride, 2 * other.most});
            below += other.stride * other.most;
        }
        const Overlap found = Search(differences).find(below - stride - (runs.bytes - 1), below - stride + (runs.bytes - 1));
        if (found == Overlap::yes) return found;
        if (found == Overlap::unknown) result = found;
    }
    return result;
}

// a's run at `x` and b's at `y` share a byte if -b.bytes < y - x < a.bytes. b's indices are counted down from the last,
// so that all strides add to x - y.
Overlap overlap(const Tensor &a, const Tensor &b) {
    if (a.root != b.root || a.layout.n_elements() == 0 || b.layout.n_elements() == 0) return Overlap::no;
    const std::size_t a_end = a.root_offset + a.layout.span_bytes(), b_end = b.root_offset + b.layout.span_bytes();
    if (a_end <= b.root_offset || b_end <= a.root_offset) return Overlap::no;
    if (too_long(a.layout) || too_long(b.layout)) return Overlap::unknown;
    const Runs of_a(a.layout), of_b(b.layout);
    // Indices of equal stride merge, because their sum takes every value. Indices of stride 0 change nothing.
    Indices together;
    const auto add = [&](const Index &index) {
        for (int i = 0; i < together.count(); i++) {
            if (together[i].stride != index.stride) continue;
            together[i].most += index.most;
            return;
        }
        if (index.stride != 0) together.insert(index);
    };
    Int b_reach = 0;
    for (int i = 0; i < of_a.indices.count(); i++) add(of_a.indices[i]);
    for (int i = 0; i < of_b.indices.count(); i++) {
        add(of_b.indices[i]);
        b_reach += of_b.indices[i].stride * of_b.indices[i].most;
    }
    // Spans that meet begin less than one span apart, so the difference is no larger than a span.
    const Int between = static_cast<Int>(a.root_offset) - static_cast<Int>(b.root_offset) - b_reach;
    return Search(together).find(-between - (of_a.bytes - 1), -between + (of_b.bytes - 1));
}

}  // namespace tensorlib::core
