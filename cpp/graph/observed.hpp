// A node whose result a graph's observer is shown. While the callback runs, its thread may read the result, although
// the run holds the locks and the memory of an intermediate may go to the next node.
#pragma once

#include "graph/device_memory.hpp"
#include "graph/tensor.hpp"

namespace tensorlib::core {

class Observed {
public:
    // The result of `node` lies at `address`, as `layout` says, until this object ends.
    Observed(const Tensor &node, const Layout &layout, std::byte *address, DeviceMemory &memory) noexcept;
    ~Observed();
    Observed(const Observed &) = delete;
    Observed &operator=(const Observed &) = delete;

    // The result that this thread is shown for t, or null.
    static const Observed *find(const Tensor &t) noexcept;

    const Layout &layout() const noexcept { return layout_; }
    std::byte *address() const noexcept { return address_; }
    DeviceMemory &memory() const noexcept { return memory_; }

private:
    const Tensor &node_;
    Layout layout_;
    std::byte *address_;
    DeviceMemory &memory_;
    // A callback may run another graph with its own observer.
    const Observed *outer_;
};

}  // namespace tensorlib::core
