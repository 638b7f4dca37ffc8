#include "runtime/finite_check.hpp"

#include "base/fail.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/op_def.hpp"
#include "runtime/band.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tensorlib::core {

namespace {

// Elements that are copied to the host at a time: enough that a device's latency of some 10 us does not dominate the
// read.
constexpr std::int64_t stage_elements = std::int64_t{1} << 18;

TensorRef where(const Tensor &t) noexcept { return {t.layout.type, t.layout.ne, t.layout.nb, t.address()}; }

bool is_meant(const Tensor &node) noexcept {
    return masks_by_infinity(node) || (node.op == Op::fill && std::isinf(attrs_of<ops::FillAttrs>(node).value));
}

std::string place_text(const Extents &ne, std::int64_t position) {
    const RowIndex row = row_index(ne, position / ne[0]);
    return format_text("element %lld [%lld, %lld, %lld, %lld]", static_cast<long long>(position), static_cast<long long>(position % ne[0]),
                       static_cast<long long>(row.i1), static_cast<long long>(row.i2), static_cast<long long>(row.i3));
}

}  // namespace

FiniteCheck::FiniteCheck(const Graph &graph, const Backend &backend)
    : graph_(graph), backend_(backend), infinite_nodes_(graph.nodes().size()), infinite_leafs_(graph.leafs().size()) {
    bool added;
    for (std::size_t i = 0; i < graph.nodes().size(); i++) indices_.insert(graph.nodes()[i], static_cast<Graph::NodeIndex>(i), added);
    for (std::size_t i = 0; i < graph.leafs().size(); i++) {
        indices_.insert(graph.leafs()[i], static_cast<Graph::NodeIndex>(i) | Graph::leaf_bit, added);
    }
}

void FiniteCheck::check_leafs() {
    // Skips what is written before it is read: a target of cpy holds whatever it held. as_it_was[i]: node i is a view
    // of a leaf that nothing has written to so far.
    std::vector<bool> is_read(graph_.leafs().size()), as_it_was(graph_.nodes().size());
    for (std::size_t i = 0; i < graph_.nodes().size(); i++) {
        const Tensor &node = *graph_.nodes()[i];
        for (std::size_t s = 0; s < node.n_src; s++) {
            const Tensor *source = graph_.sources(i)[s];
            if (!source || !source->root->is_leaf() || (node.op == Op::cpy && node.writes(s))) continue;
            if (!source->is_leaf() && !as_it_was[*indices_.find(source)]) continue;
            if (node.is_pure_view()) {
                as_it_was[i] = true;
            } else {
                is_read[*indices_.find(source->root) & ~Graph::leaf_bit] = true;
            }
        }
    }
    for (std::size_t i = 0; i < is_read.size(); i++) {
        const Tensor &leaf = *graph_.leafs()[i];
        if (!is_read[i] || !leaf.address()) continue;
        const Looked looked = look(where(leaf), leaf.context->memory());
        infinite_leafs_[i] = looked.infinity.position >= 0;
        if (looked.nan.position < 0) continue;
        fail(Status::invalid_argument, "graph_compute: check_finite: leaf %s: %s is NaN", tensor_text(leaf).c_str(),
             place_text(leaf.layout.ne, looked.nan.position).c_str());
    }
}

void FiniteCheck::check(const Step &step) {
    const std::size_t index = *indices_.find(step.result);
    check_written(step, index, *step.result, step.dst);
    const auto sources = graph_.sources(index);
    for (std::size_t s = 0; s < sources.size(); s++) {
        if (step.node->writes(s) && sources[s]->root != step.result->root) check_written(step, index, *sources[s], step.src[s]);
    }
}

// t: the result, or an operand that was written.
void FiniteCheck::check_written(const Step &step, std::size_t index, const Tensor &t, const TensorRef &where) {
    const Tensor &node = *step.node;
    const Looked looked = look(where, backend_.parts()[step.part]->device().memory());
    const bool meant = may_be_infinite(node, index);
    const Found &found = looked.nan.position >= 0 ? looked.nan : looked.infinity;
    if (found.position >= 0 && !(meant && looked.nan.position < 0)) {
        const char *value = std::isnan(found.value) ? "NaN" : found.value > 0 ? "inf" : "-inf";
        fail(Status::invalid_argument, "graph_compute: check_finite: %s %s: %s is %s; it was made of %s, without %s", op_name(node.op),
             tensor_text(t).c_str(), place_text(where.ne, found.position).c_str(), value, sources_text(node).c_str(),
             meant ? "NaN" : "NaN or infinity");
    }
    const Graph::NodeIndex root = *indices_.find(t.root);
    const bool infinite = looked.infinity.position >= 0;
    auto &flags = root & Graph::leaf_bit ? infinite_leafs_ : infinite_nodes_;
    const std::size_t i = root & ~Graph::leaf_bit;
    // A node that writes into another tensor's memory may have written only a part of it.
    flags[i] = infinite || (node.writes() && flags[i]);
}

bool FiniteCheck::may_be_infinite(const Tensor &node, std::size_t index) const {
    if (is_meant(node)) return true;
    // Some standard libraries' constant vectors of bools have elements of another type than bool.
    return std::ranges::any_of(graph_.sources(index), [&](const Tensor *source) -> bool {
        if (!source) return false;
        const Graph::NodeIndex root = *indices_.find(source->root);
        return root & Graph::leaf_bit ? infinite_leafs_[root & ~Graph::leaf_bit] : infinite_nodes_[root];
    });
}

FiniteCheck::Looked FiniteCheck::look(const TensorRef &t, DeviceMemory &memory) {
    Looked looked;
    const Layout layout{t.type, max_dims, t.ne, t.nb};
    if (traits(t.type).kind != Kind::floating || layout.n_elements() == 0) return looked;
    if (layout.contiguous()) {
        // All of it as one row.
        TensorRef flat = t;
        flat.ne = {layout.n_elements(), 1, 1, 1};
        look_at_row(flat, t.data, 0, memory, looked);
        return looked;
    }
    for (std::int64_t row = 0; row < layout.n_rows() && looked.nan.position < 0; row++) {
        look_at_row(t, row_address(t, row_index(t.ne, row)), row * t.ne[0], memory, looked);
    }
    return looked;
}

// Stops at the first NaN.
void FiniteCheck::look_at_row(const TensorRef &t, const std::byte *row, std::int64_t first, DeviceMemory &memory, Looked &looked) {
    const DTypeTraits &type = traits(t.type);
    // Elements that are not contiguous are copied together with the bytes between them, fewer at a time.
    const std::size_t stride = std::max(t.nb[0], type.size);
    const std::int64_t most = std::max<std::int64_t>(1, stage_elements / static_cast<std::int64_t>(stride / type.size));
    for (std::int64_t begin = 0; begin < t.ne[0]; begin += most) {
        const std::int64_t n = std::min(most, t.ne[0] - begin);
        const auto count = static_cast<std::size_t>(n);
        const std::size_t span = (count - 1) * t.nb[0] + type.size;
        stage_.resize(span);
        values_.resize(count);
        memory.read(stage_.data(), row + static_cast<std::size_t>(begin) * t.nb[0], span);
        const auto value_at = [&](std::size_t i) -> double {
            if (t.type != DType::f64) return double{values_[i]};
            double value;
            std::memcpy(&value, stage_.data() + i * t.nb[0], sizeof value);
            return value;
        };
        for (std::size_t i = 0; i < count && t.nb[0] != type.size; i++) type.decode(stage_.data() + i * t.nb[0], &values_[i], 1);
        if (t.nb[0] == type.size) type.decode(stage_.data(), values_.data(), n);
        for (std::size_t i = 0; i < count; i++) {
            const double value = value_at(i);
            if (std::isfinite(value)) continue;
            Found &found = std::isnan(value) ? looked.nan : looked.infinity;
            if (found.position < 0) found = {first + begin + static_cast<std::int64_t>(i), value};
            if (std::isnan(value)) return;
        }
    }
}

}  // namespace tensorlib::core
