// What a constant's bytes are rebuilt from after its original was dropped (tl_tensor_drop_original): a complete copy
// that was packed for another purpose. This interface does not know how it is packed.
#pragma once

#include "base/ref.hpp"
#include "graph/tensor.hpp"

#include <cstddef>
#include <cstdint>

namespace tensorlib::core {

class StandIn : public RefCounted {
public:
    // Rebuilds n rows of the leaf as they were stored, starting with row `first`, into consecutive memory. A row's
    // number is i1 + ne1 * (i2 + ne2 * i3). `to` need not be aligned. Several threads may call this at once.
    virtual void rebuild(std::int64_t first, std::int64_t n, std::byte *to) const noexcept = 0;
    // The bytes of memory that it takes.
    virtual std::size_t bytes() const noexcept = 0;
    // Why rebuild() cannot be called, as a static text, or nullptr.
    virtual const char *refusal() const noexcept = 0;
};

// Whether the tensor's bytes must be rebuilt. The run lock of its context keeps the answer valid.
inline bool is_dropped(const Tensor &t) noexcept { return t.root->storage.stand_in.load(std::memory_order_acquire) != nullptr; }

// Reads the bytes of a leaf whose original was dropped, by offset. Rows that are read in part are rebuilt in `stage`,
// the caller's buffer of one row's bytes.
class RebuiltBytes {
public:
    RebuiltBytes(const Tensor &root, std::byte *stage) noexcept
        : stand_in_(root.storage.stand_in.load(std::memory_order_acquire)), row_bytes_(root.layout.row_bytes()), stage_(stage) {}
    void read(std::size_t place, std::size_t size, std::byte *to) noexcept;

private:
    const StandIn *stand_in_;
    std::size_t row_bytes_;
    std::byte *stage_;
    std::int64_t in_stage_ = -1;
};

}  // namespace tensorlib::core
