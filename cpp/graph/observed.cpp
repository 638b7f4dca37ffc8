#include "graph/observed.hpp"

namespace tensorlib::core {

namespace {

thread_local const Observed *innermost = nullptr;

}  // namespace

Observed::Observed(const Tensor &node, const Layout &layout, std::byte *address, DeviceMemory &memory) noexcept
    : node_(node), layout_(layout), address_(address), memory_(memory), outer_(innermost) {
    innermost = this;
}

Observed::~Observed() { innermost = outer_; }

const Observed *Observed::find(const Tensor &t) noexcept {
    const Observed *shown = innermost;
    while (shown && &shown->node_ != &t) shown = shown->outer_;
    return shown;
}

}  // namespace tensorlib::core
