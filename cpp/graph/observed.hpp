// A node whose result a graph's observer is shown: while the callback runs, this thread may read it although the run has the locks, and
// although it is an intermediate whose memory the next node may be given.
#pragma once

#include "graph/device_memory.hpp"
#include "graph/tensor.hpp"

namespace tensorlib::core {

class Observed {
public:
    // The result of `node` lies there, as `layout` says, until this ends.
    Observed(const Tensor &node, const Layout &layout, std::byte *address, DeviceMemory &memory) noexcept;
    ~Observed();
    Observed(const Observed &) = delete;
    Observed &operator=(const Observed &) = delete;

    // Where this thread is shown t; else null.
    static const Observed *find(const Tensor &t) noexcept;

    const Layout &layout() const noexcept { return layout_; }
    std::byte *address() const noexcept { return address_; }
    DeviceMemory &memory() const noexcept { return memory_; }

private:
    const Tensor &node_;
    Layout layout_;
    std::byte *address_;
    DeviceMemory &memory_;
    // A callback may run another graph, with an observer of its own.
    const Observed *outer_;
};

}  // namespace tensorlib::core
