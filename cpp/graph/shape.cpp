#include "graph/shape.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"

#include <limits>

namespace tensorlib::core {

std::size_t Layout::row_bytes() const noexcept {
    const DTypeTraits &t = traits(type);
    return static_cast<std::size_t>(ne[0] / t.block_size) * t.size;
}

std::size_t Layout::nbytes() const noexcept { return row_bytes() * static_cast<std::size_t>(n_rows()); }

std::size_t Layout::span_bytes() const noexcept {
    if (n_elements() == 0) return 0;
    const DTypeTraits &t = traits(type);
    std::size_t span = t.size + static_cast<std::size_t>(ne[0] / t.block_size - 1) * nb[0];
    for (int d = 1; d < max_dims; d++) span += static_cast<std::size_t>(ne[d] - 1) * nb[d];
    return span;
}

bool Layout::end_from(std::size_t offset, std::size_t &end) const noexcept {
    end = offset;
    if (n_elements() == 0) return true;
    const DTypeTraits &t = traits(type);
    std::size_t step;
    if (!checked_add(end, t.size, end)) return false;
    if (!checked_mul(static_cast<std::size_t>(ne[0] / t.block_size - 1), nb[0], step) || !checked_add(end, step, end)) return false;
    for (int d = 1; d < max_dims; d++) {
        if (!checked_mul(static_cast<std::size_t>(ne[d] - 1), nb[d], step) || !checked_add(end, step, end)) return false;
    }
    return true;
}

bool Layout::rows_contiguous() const noexcept {
    const DTypeTraits &t = traits(type);
    return nb[0] == t.size || ne[0] == t.block_size;
}

bool Layout::contiguous() const noexcept {
    if (n_elements() == 0) return true;
    if (!rows_contiguous()) return false;
    std::size_t expected = row_bytes();
    for (int d = 1; d < max_dims; d++) {
        if (ne[d] != 1 && nb[d] != expected) return false;
        expected *= static_cast<std::size_t>(ne[d]);
    }
    return true;
}

Layout contiguous_layout(const char *op, DType type, std::span<const std::int64_t> ne) {
    const DTypeTraits &t = traits(type);
    if (ne.empty() || ne.size() > max_dims) fail(Status::invalid_argument, "%s: %zu dimensions: 1 to 4 are valid", op, ne.size());
    Layout layout;
    layout.type = type;
    layout.n_dims = static_cast<std::int32_t>(ne.size());
    for (std::size_t d = 0; d < ne.size(); d++) {
        if (ne[d] < 0) fail(Status::invalid_argument, "%s: ne[%zu] is %lld: 0 or more is valid", op, d, static_cast<long long>(ne[d]));
        layout.ne[d] = ne[d];
    }
    if (layout.ne[0] % t.block_size != 0) {
        fail(Status::invalid_argument, "%s: ne[0] is %lld: a multiple of %s's block size %lld is valid", op,
             static_cast<long long>(layout.ne[0]), t.name, static_cast<long long>(t.block_size));
    }
    // Strides are products of the preceding extents. The check counts an extent of zero as one: loops also multiply the
    // other extents (rows, batches), and an empty tensor must not let those products overflow.
    layout.nb[0] = t.size;
    std::size_t bytes = t.size, elements = 1;
    bool fits = true;
    for (int d = 0; d < max_dims; d++) {
        const auto blocks = static_cast<std::size_t>(d == 0 ? layout.ne[0] / t.block_size : layout.ne[d]);
        if (d + 1 < max_dims) layout.nb[d + 1] = layout.nb[d] * blocks;
        fits = fits && checked_mul(bytes, blocks == 0 ? 1 : blocks, bytes);
        fits = fits && checked_mul(elements, static_cast<std::size_t>(layout.ne[d] == 0 ? 1 : layout.ne[d]), elements);
    }
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    if (!fits || bytes > most || elements > most) {
        fail(Status::invalid_argument, "%s: a %s tensor of shape %s has more bytes than an address can count (%zu)", op, t.name,
             shape_text(layout.ne).c_str(), most);
    }
    return layout;
}

std::string shape_text(const Extents &ne) {
    int shown = max_dims;
    while (shown > 1 && ne[shown - 1] == 1) shown--;
    std::string text = "[";
    for (int d = 0; d < shown; d++) {
        if (d > 0) text += ", ";
        text += std::to_string(ne[d]);
    }
    return text + "]";
}

std::string layout_text(const Layout &layout) { return shape_text(layout.ne) + " " + traits(layout.type).name; }

}  // namespace tensorlib::core
