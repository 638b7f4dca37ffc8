// Bytes of a tensor's elements, packed in ne order, into and out of wherever they lie: strided views, devices, leafs without their
// originals. Whoever calls holds the run lock and has checked.
#pragma once

#include "graph/context.hpp"
#include "graph/observed.hpp"

#include <optional>
#include <vector>

namespace tensorlib::core {

// The packed bytes [offset, offset + size).
void write_strided(Tensor &t, const void *data, std::size_t offset, std::size_t size);

// The way of bytes out of a tensor: from where they lie, or, of a leaf whose original was dropped, rebuilt by rows.
class StridedReader {
public:
    explicit StridedReader(const Tensor &t);
    explicit StridedReader(const Observed &node) : layout_(node.layout()), address_(node.address()), memory_(node.memory()) {}
    StridedReader(const StridedReader &) = delete;
    StridedReader &operator=(const StridedReader &) = delete;

    // The packed bytes [offset, offset + size).
    void read(void *data, std::size_t offset, std::size_t size);

private:
    void read_in_place(std::byte *to, std::size_t offset, std::size_t size) const;
    // Out of all bytes that the tensor spans.
    void take_from(const std::vector<std::byte> &cover, std::byte *to, std::size_t offset, std::size_t size) const;

    const Layout &layout_;
    std::byte *const address_;
    DeviceMemory &memory_;
    const std::size_t root_offset_ = 0;
    std::vector<std::byte> stage_, cover_;
    std::optional<RebuiltBytes> rebuilt_;
};

}  // namespace tensorlib::core
