// Packed copies of constant weights. Each constant that products of this backend read has one, whatever graph it is in:
// panels for products of all rows, packed rows for products of some (cpu/simd/packed_rows_i8.hpp). A constant that both
// kinds read has both.
//
// All threads make a copy when a plan that uses it is about to run. It exists until the backend or the constant's
// context ends. Plans keep only its address: they run only on the backend that they were made for, and their graph
// keeps the constant's context. When a constant's original is dropped, its copy becomes the context's and serves all
// backends of the ISA.
#pragma once

#include "base/thread_pool.hpp"
#include "cpu/simd/simd_table.hpp"
#include "graph/context.hpp"
#include "runtime/kernel.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tensorlib::core {

enum class PackedAs : std::uint8_t { panels, rows };

// The panels of all slices of a constant, or of a view of one, from which rows can be rebuilt. A packed row counts as a
// panel of one row.
class PackedPanels final : public StandIn {
public:
    // data() is null if there is no memory for them.
    PackedPanels(const Layout &a, PackedAs as, const simd::SimdTable &simd) noexcept;

    std::byte *data() const noexcept { return data_; }
    // Whether these are the panels of such a tensor on that ISA.
    bool are_of(const Layout &a, PackedAs as, const simd::SimdTable &simd) const noexcept;
    // Whether both have the same ISA and layout.
    bool same_format(const PackedPanels &other) const noexcept { return &format_ == &other.format_; }
    void pack(const Tensor &a, ThreadPool &pool);

    void rebuild(std::int64_t first, std::int64_t n, std::byte *to) const noexcept override;
    std::size_t bytes() const noexcept override { return bytes_; }
    const char *refusal() const noexcept override;

    // 0 if they are too many to count.
    static std::size_t bytes(const Layout &a, PackedAs as, const simd::SimdTable &simd) noexcept;

private:
    ~PackedPanels() override;

    const Layout layout_;
    const simd::SimdTable::PanelFormat &format_;  // the ISA's own
    const std::int64_t per_slice_;
    const std::size_t bytes_each_, bytes_;
    std::byte *data_;
};

class PackedConstants final : public TensorWatcher {
public:
    // Why there is never a copy of a product's first operand, whose rows are contiguous, or nullptr; a static text.
    static const char *refuse(const Tensor &a, PackedAs as, const simd::SimdTable &simd, const DeviceMemory &memory) noexcept;

    // The copy that a kernel plans for such an operand, or why it plans none. Makes nothing. missing: there is no
    // memory for it.
    static ConstantCopy plan(const Tensor &a, PackedAs as, const simd::SimdTable &simd, const DeviceMemory &memory, bool missing) noexcept;

    // most_bytes: the limit for all copies together.
    PackedConstants(const DeviceMemory &memory, std::size_t most_bytes) noexcept : memory_(memory), most_bytes_(most_bytes) {}

    // The panels of a planned copy, slice after slice; null if there is no memory. A copy may take half of what the
    // machine has left, and no more than is left of most_bytes. The pool belongs to the backend, whose turn must be
    // held.
    const std::byte *find_or_make(const Tensor &a, PackedAs as, const simd::SimdTable &simd, ThreadPool &pool) noexcept;

    // The bytes of all copies that the backend owns.
    std::size_t bytes() const noexcept;

    // Frees all copies, and makes no more.
    void end() noexcept;
    bool ended() const noexcept override { return ended_.load(std::memory_order_acquire); }
    void tensors_gone(const Context &context) noexcept override;
    Ref<const StandIn> copy_of(const Tensor &leaf) noexcept override;
    void stands_in(const Tensor &leaf, const StandIn &stand_in) noexcept override;

private:
    // A view of a constant has its own copy. Copies are found by root, because a plan looks up the constant of each
    // product.
    struct Entry {
        std::size_t root_offset;
        Layout layout;
        Ref<PackedPanels> panels;
        bool is_of(const Tensor &a) const noexcept;
    };

    const std::byte *find(const Tensor &a, PackedAs as, const simd::SimdTable &simd) const noexcept;
    // The first entry for which accepted(its panels) is true.
    template <class Accepted>
    const Entry *find_entry(const Tensor &a, Accepted accepted) const noexcept;
    ~PackedConstants() override = default;

    const DeviceMemory &memory_;  // of the constants
    const std::size_t most_bytes_;
    mutable std::mutex lock_;  // contexts may end at any time
    std::unordered_map<const Tensor *, std::vector<Entry>> entries_;
    std::size_t bytes_ = 0;
    std::atomic<bool> ended_{false};
};

}  // namespace tensorlib::core
