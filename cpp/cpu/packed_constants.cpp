#include "cpu/packed_constants.hpp"

#include "base/checked.hpp"
#include "base/platform.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

bool same(const Layout &a, const Layout &b) noexcept { return a.type == b.type && a.ne == b.ne && a.nb == b.nb; }

using Format = simd::SimdTable::PanelFormat;

const Format &format_of(const Layout &a, PackedAs as, const simd::SimdTable &simd) noexcept {
    const std::size_t type = dtype_index(a.type);
    return as == PackedAs::panels ? simd.panels[type] : simd.packed_rows[type].copy;
}
const char *text_of(PackedAs as) noexcept { return as == PackedAs::panels ? "packed copy" : "packed rows"; }
std::size_t panel_bytes(const Layout &a, const Format &format) noexcept { return static_cast<std::size_t>(format.bytes(a.ne[0])); }
std::int64_t panels_per_slice(const Layout &a, const Format &format) noexcept { return ceil_div(a.ne[1], format.rows); }

// Rows of a tensor. If it is a view of a leaf without its original, a panel's rows are rebuilt at a time.
class Rows {
public:
    Rows(const Tensor &a, std::int64_t at_a_time, int n_threads)
        : a_(a), row_bytes_(a.layout.row_bytes()), stage_(is_dropped(a) ? a.root->layout.row_bytes() : 0) {
        if (!is_dropped(a)) return;
        of_thread_ = stage_ + static_cast<std::size_t>(at_a_time) * row_bytes_;
        buffer_.resize(of_thread_ * static_cast<std::size_t>(n_threads));
    }
    // n rows of a slice, starting with row i1, and the distance between them.
    struct Span {
        const char *first;
        std::ptrdiff_t stride;
    };
    Span at(std::int64_t slice, std::int64_t i1, std::int64_t n, int thread) noexcept {
        const Layout &l = a_.layout;
        const std::size_t place = row_place(l.nb, {i1, slice % l.ne[2], slice / l.ne[2]});
        if (buffer_.empty()) return {reinterpret_cast<const char *>(a_.address() + place), static_cast<std::ptrdiff_t>(l.nb[1])};
        std::byte *stage = buffer_.data() + static_cast<std::size_t>(thread) * of_thread_, *rows = stage + stage_;
        RebuiltBytes rebuilt(*a_.root, stage);
        for (std::int64_t i = 0; i < n; i++) {
            const auto row = static_cast<std::size_t>(i);
            rebuilt.read(a_.root_offset + place + row * l.nb[1], row_bytes_, rows + row * row_bytes_);
        }
        return {reinterpret_cast<const char *>(rows), static_cast<std::ptrdiff_t>(row_bytes_)};
    }

private:
    const Tensor &a_;
    const std::size_t row_bytes_, stage_;
    std::size_t of_thread_ = 0;
    std::vector<std::byte> buffer_;
};

}  // namespace

PackedPanels::PackedPanels(const Layout &a, PackedAs as, const simd::SimdTable &simd) noexcept
    : layout_(a),
      format_(format_of(a, as, simd)),
      per_slice_(panels_per_slice(a, format_)),
      bytes_each_(panel_bytes(a, format_)),
      bytes_(bytes(a, as, simd)),
      data_(static_cast<std::byte *>(platform::allocate_pages(bytes_))) {}

PackedPanels::~PackedPanels() { platform::free_pages(data_, bytes_); }

std::size_t PackedPanels::bytes(const Layout &a, PackedAs as, const simd::SimdTable &simd) noexcept {
    std::size_t all;
    const Format &format = format_of(a, as, simd);
    const std::int64_t count = panels_per_slice(a, format) * a.ne[2] * a.ne[3];
    return checked_mul(panel_bytes(a, format), static_cast<std::size_t>(count), all) ? all : 0;
}

bool PackedPanels::are_of(const Layout &a, PackedAs as, const simd::SimdTable &simd) const noexcept {
    return same(a, layout_) && &format_of(a, as, simd) == &format_;
}

void PackedPanels::pack(const Tensor &a, ThreadPool &pool) {
    Rows rows(a, format_.rows, pool.size());
    auto one = [&](std::int64_t panel, int thread) noexcept {
        const std::int64_t row = panel % per_slice_ * format_.rows, n = std::min<std::int64_t>(format_.rows, layout_.ne[1] - row);
        const Rows::Span from = rows.at(panel / per_slice_, row, n, thread);
        format_.pack(layout_.ne[0], from.first, from.stride, static_cast<int>(n),
                     reinterpret_cast<char *>(data_ + static_cast<std::size_t>(panel) * bytes_each_));
    };
    // No more chunks than a pool takes: there is no memory for as many panels.
    pool.run(per_slice_ * layout_.ne[2] * layout_.ne[3], one);
}

void PackedPanels::rebuild(std::int64_t first, std::int64_t n, std::byte *to) const noexcept {
    const std::size_t row_bytes = layout_.row_bytes();
    for (std::int64_t row = first, end = first + n; row < end;) {
        const std::int64_t i1 = row % layout_.ne[1], in_panel = i1 % format_.rows;
        const auto panel = static_cast<std::size_t>(row / layout_.ne[1] * per_slice_ + i1 / format_.rows);
        const std::int64_t rows = std::min({end - row, layout_.ne[1] - i1, format_.rows - in_panel});
        format_.rebuild(layout_.ne[0], reinterpret_cast<const char *>(data_ + panel * bytes_each_), static_cast<int>(in_panel),
                        static_cast<int>(rows), reinterpret_cast<char *>(to));
        row += rows, to += static_cast<std::size_t>(rows) * row_bytes;
    }
}

const char *PackedPanels::refusal() const noexcept {
    return format_.rebuild ? nullptr
                           : "blocks of this type cannot be made from its packed copy: a code does not say which entry it came from";
}

bool PackedConstants::Entry::is_of(const Tensor &a) const noexcept { return root_offset == a.root_offset && same(layout, a.layout); }

// Call under the lock; null if there is none.
template <class Accepted>
const PackedConstants::Entry *PackedConstants::find_entry(const Tensor &a, Accepted accepted) const noexcept {
    const auto of_root = entries_.find(a.root);
    if (of_root == entries_.end()) return nullptr;
    const auto at =
        std::find_if(of_root->second.begin(), of_root->second.end(), [&](const Entry &e) { return e.is_of(a) && accepted(*e.panels); });
    return at == of_root->second.end() ? nullptr : &*at;
}

const std::byte *PackedConstants::find(const Tensor &a, PackedAs as, const simd::SimdTable &simd) const noexcept {
    // A stand-in always has the whole leaf.
    const auto *kept = dynamic_cast<const PackedPanels *>(a.root->storage.stand_in.load(std::memory_order_acquire));
    if (kept && a.root_offset == 0 && kept->are_of(a.layout, as, simd)) return kept->data();
    const std::lock_guard guard(lock_);
    const Entry *e = find_entry(a, [&](const PackedPanels &panels) { return panels.are_of(a.layout, as, simd); });
    return e ? e->panels->data() : nullptr;
}

const char *PackedConstants::refuse(const Tensor &a, PackedAs as, const simd::SimdTable &simd, const DeviceMemory &memory) noexcept {
    if (!a.root->is_leaf() || !a.root->storage.constant.load(std::memory_order_acquire)) return "not constant";
    if (&a.root->context->memory() != &memory) return "a constant of another device";
    const Format &format = format_of(a.layout, as, simd);
    if (format.rows == 0) return "no packed copies of this type on this ISA";
    if (format.bytes(a.layout.ne[0]) == 0)
        return as == PackedAs::panels ? "rows of a are no whole pairs" : "rows too short to be packed alone";
    // Panels are whole, so with fewer rows most of a copy would be padding.
    if (a.layout.ne[1] * 2 < format.rows) return "too few rows for a packed copy";
    return PackedPanels::bytes(a.layout, as, simd) == 0 ? "nothing to pack, or more bytes than can be counted" : nullptr;
}

ConstantCopy PackedConstants::plan(const Tensor &a, PackedAs as, const simd::SimdTable &simd, const DeviceMemory &memory,
                                   bool missing) noexcept {
    ConstantCopy copy;
    copy.form = static_cast<std::uint8_t>(as);
    copy.text = refuse(a, as, simd, memory);
    if (copy.text) return copy;
    copy.state = missing ? ConstantCopy::State::missing : ConstantCopy::State::planned;
    copy.text = missing ? "no memory for a packed copy" : text_of(as);
    if (!missing) copy.bytes = PackedPanels::bytes(a.layout, as, simd);
    return copy;
}

const std::byte *PackedConstants::find_or_make(const Tensor &a, PackedAs as, const simd::SimdTable &simd, ThreadPool &pool) noexcept {
    if (const std::byte *found = find(a, as, simd)) return found;
    const std::size_t bytes = PackedPanels::bytes(a.layout, as, simd);
    const std::uint64_t available = platform::available_memory();
    const std::size_t kept = this->bytes();
    if ((available != 0 && bytes > available / 2) || kept > most_bytes_ || bytes > most_bytes_ - kept) return nullptr;
    try {
        auto panels = Ref<PackedPanels>::adopt(new PackedPanels(a.layout, as, simd));
        if (!panels->data()) return nullptr;
        panels->pack(a, pool);
        Context *context = a.root->context;
        context->watch(*this);
        const std::lock_guard guard(lock_);
        const std::byte *data = panels->data();
        entries_[a.root].push_back({a.root_offset, a.layout, std::move(panels)});
        bytes_ += bytes;
        return data;
    } catch (...) {
        return nullptr;
    }
}

std::size_t PackedConstants::bytes() const noexcept {
    const std::lock_guard guard(lock_);
    return bytes_;
}

void PackedConstants::end() noexcept {
    ended_.store(true, std::memory_order_release);
    const std::lock_guard guard(lock_);
    entries_.clear();
    bytes_ = 0;
}

void PackedConstants::tensors_gone(const Context &context) noexcept {
    const std::lock_guard guard(lock_);
    std::erase_if(entries_, [&](const auto &of_root) {
        if (of_root.first->context != &context) return false;
        for (const Entry &e : of_root.second) bytes_ -= e.panels->bytes();
        return true;
    });
}

Ref<const StandIn> PackedConstants::copy_of(const Tensor &leaf) noexcept {
    const std::lock_guard guard(lock_);
    const Entry *e = find_entry(leaf, [](const PackedPanels &panels) { return !panels.refusal(); });
    if (!e) e = find_entry(leaf, [](const PackedPanels &) { return true; });
    return e ? Ref<const StandIn>(e->panels.get()) : Ref<const StandIn>();
}

void PackedConstants::stands_in(const Tensor &leaf, const StandIn &stand_in) noexcept {
    const auto *kept = dynamic_cast<const PackedPanels *>(&stand_in);
    const std::lock_guard guard(lock_);
    const Entry *e = kept ? find_entry(leaf, [&](const PackedPanels &panels) { return panels.same_format(*kept); }) : nullptr;
    if (!e) return;
    bytes_ -= e->panels->bytes();
    auto &of_root = entries_.find(leaf.root)->second;
    of_root.erase(of_root.begin() + (e - of_root.data()));
}

}  // namespace tensorlib::core
