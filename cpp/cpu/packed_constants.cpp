#include "cpu/packed_constants.hpp"

#include "base/checked.hpp"
#include "base/platform.hpp"

#include <algorithm>

namespace tensorlib::core {

PackedConstants::Pages::Pages(std::size_t n) noexcept : data(static_cast<std::byte *>(platform::allocate_pages(n))), size(n) {}

PackedConstants::Pages::~Pages() { platform::free_pages(data, size); }

namespace {

// The panels of a's slices.
struct Panels {
    const leaf::LeafTable::PanelFormat &format;
    std::int64_t per_slice, count;
    std::size_t bytes_each, bytes;  // bytes: 0 where they are too many to count

    Panels(const Layout &a, const leaf::LeafTable &leaf) noexcept
        : format(leaf.panels[dtype_index(a.type)]),
          per_slice(ceil_div(a.ne[1], format.rows)),
          count(per_slice * a.ne[2] * a.ne[3]),
          bytes_each(static_cast<std::size_t>(format.bytes(a.ne[0]))) {
        if (!checked_mul(bytes_each, static_cast<std::size_t>(count), bytes)) bytes = 0;
    }
};

void pack(const Tensor &a, const Panels &panels, ThreadPool &pool, std::byte *to) noexcept {
    const Layout &l = a.layout;
    const std::byte *from = a.address();
    auto one = [&](std::int64_t panel, int) noexcept {
        const std::int64_t slice = panel / panels.per_slice, row = panel % panels.per_slice * panels.format.rows;
        const std::byte *first = from + static_cast<std::size_t>(row) * l.nb[1] + static_cast<std::size_t>(slice % l.ne[2]) * l.nb[2] +
                                 static_cast<std::size_t>(slice / l.ne[2]) * l.nb[3];
        panels.format.pack(l.ne[0], reinterpret_cast<const char *>(first), static_cast<std::ptrdiff_t>(l.nb[1]),
                           static_cast<int>(std::min<std::int64_t>(panels.format.rows, l.ne[1] - row)),
                           reinterpret_cast<char *>(to + static_cast<std::size_t>(panel) * panels.bytes_each));
    };
    // Not more chunks than a pool takes: there is no memory for as many panels.
    pool.run(panels.count, one);
}

}  // namespace

PackedConstants::Copy PackedConstants::find(const Tensor &a) const noexcept {
    const std::lock_guard guard(lock_);
    for (const Entry &e : entries_) {
        if (e.root == a.root && e.root_offset == a.root_offset && e.layout.type == a.layout.type && e.layout.ne == a.layout.ne &&
            e.layout.nb == a.layout.nb) {
            return {e.pages->data, e.pages->size, "packed copy"};
        }
    }
    return {nullptr, 0, ""};
}

PackedConstants::Copy PackedConstants::find_or_make(const Tensor &a, const leaf::LeafTable &leaf, ThreadPool &pool) noexcept {
    const Tensor &root = *a.root;
    if (!root.is_leaf() || !root.constant.load(std::memory_order_acquire)) return {nullptr, 0, "not constant"};
    // Panels are whole: of fewer rows most of a copy would be padding.
    if (a.layout.ne[1] * 2 < leaf.panels[dtype_index(a.layout.type)].rows) return {nullptr, 0, "too few rows for a packed copy"};
    if (const Copy found = find(a); found.panels) return found;
    constexpr Copy no_memory{nullptr, 0, "no memory for a packed copy"};
    const Panels panels(a.layout, leaf);
    const std::uint64_t available = platform::available_memory();
    if (panels.bytes == 0 || (available != 0 && panels.bytes > available / 2)) return no_memory;
    try {
        auto pages = std::make_unique<Pages>(panels.bytes);
        if (!pages->data) return no_memory;
        pack(a, panels, pool, pages->data);
        root.context->watch(*this);
        const std::lock_guard guard(lock_);
        entries_.push_back({root.context, a.root, a.root_offset, a.layout, std::move(pages)});
        bytes_ += panels.bytes;
        return {entries_.back().pages->data, panels.bytes, "packed copy"};
    } catch (...) {
        return no_memory;
    }
}

std::size_t PackedConstants::bytes() const noexcept {
    const std::lock_guard guard(lock_);
    return bytes_;
}

void PackedConstants::clear() noexcept {
    const std::lock_guard guard(lock_);
    entries_.clear();
    bytes_ = 0;
}

void PackedConstants::tensors_gone(const Context &context) noexcept {
    const std::lock_guard guard(lock_);
    std::erase_if(entries_, [&](const Entry &e) {
        if (e.context != &context) return false;
        bytes_ -= e.pages->size;
        return true;
    });
}

}  // namespace tensorlib::core
