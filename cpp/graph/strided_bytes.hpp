// Moves the bytes of a tensor's elements, packed in ne order, to and from where they are stored: strided views,
// devices, leafs whose original was dropped. The caller holds the run lock and has checked the arguments.
#pragma once

#include "graph/context.hpp"
#include "graph/observed.hpp"

#include <optional>
#include <vector>

namespace tensorlib::core {

// Writes the packed bytes [offset, offset + size).
void write_strided(Tensor &t, const void *data, std::size_t offset, std::size_t size);

// Reads bytes from where they are stored, or rebuilds them by rows if the leaf's original was dropped.
class StridedReader {
public:
    explicit StridedReader(const Tensor &t);
    explicit StridedReader(const Observed &node) : StridedReader(node.layout(), node.address(), node.memory()) {}
    // Elements at an address of a device's memory. The layout must live as long as the reader.
    StridedReader(const Layout &layout, std::byte *address, DeviceMemory &memory) : layout_(layout), address_(address), memory_(memory) {}
    StridedReader(const StridedReader &) = delete;
    StridedReader &operator=(const StridedReader &) = delete;

    // Reads the packed bytes [offset, offset + size).
    void read(void *data, std::size_t offset, std::size_t size);

private:
    void read_in_place(std::byte *to, std::size_t offset, std::size_t size) const;
    // Packs elements out of `cover`, which has all bytes that the tensor spans.
    void take_from(const std::vector<std::byte> &cover, std::byte *to, std::size_t offset, std::size_t size) const;

    const Layout &layout_;
    std::byte *const address_;
    DeviceMemory &memory_;
    const std::size_t root_offset_ = 0;
    std::vector<std::byte> stage_, cover_;
    std::optional<RebuiltBytes> rebuilt_;
};

}  // namespace tensorlib::core
