// What a constant's bytes are made from once its original was given back (tl_tensor_drop_original): a copy that somebody packed for
// another purpose, and that has all of them. Nothing here knows how it is packed.
#pragma once

#include "base/ref.hpp"
#include "graph/tensor.hpp"

#include <cstddef>
#include <cstdint>

namespace tensorlib::core {

class StandIn : public RefCounted {
public:
    // n rows of the leaf from row `first` on as they were stored, one after the other; a row's number is i1 + ne1 * (i2 + ne2 * i3). `to`
    // need not be aligned. Any thread, several at a time.
    virtual void rebuild(std::int64_t first, std::int64_t n, std::byte *to) const noexcept = 0;
    // Of memory, its own.
    virtual std::size_t bytes() const noexcept = 0;
    // Why rebuild() cannot be called, or nullptr; a static text.
    virtual const char *refusal() const noexcept = 0;
};

// Whether the tensor's bytes have to be rebuilt. Its context's run lock keeps the answer as it is.
inline bool is_dropped(const Tensor &t) noexcept { return t.root->stand_in.load(std::memory_order_acquire) != nullptr; }

// The bytes of a leaf whose original was dropped, by their place in it. Rows of which only a part is asked for are rebuilt on `stage`, one
// row's bytes that the caller has.
class RebuiltBytes {
public:
    RebuiltBytes(const Tensor &root, std::byte *stage) noexcept
        : stand_in_(root.stand_in.load(std::memory_order_acquire)), row_bytes_(root.layout.row_bytes()), stage_(stage) {}
    void read(std::size_t place, std::size_t size, std::byte *to) noexcept;

private:
    const StandIn *stand_in_;
    std::size_t row_bytes_;
    std::byte *stage_;
    std::int64_t in_stage_ = -1;
};

}  // namespace tensorlib::core
