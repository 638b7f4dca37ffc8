#include "graph/device_memory.hpp"

#include "base/platform.hpp"

#include <cstring>

namespace tensorlib::core {

namespace {

class HostMemory final : public DeviceMemory {
public:
    const char *device() const noexcept override { return "cpu"; }
    bool host_accessible() const noexcept override { return true; }
    // A cache line, and the widest vector register.
    std::size_t alignment() const noexcept override { return 64; }
    void *acquire(std::size_t size) noexcept override { return platform::allocate_pages(size); }
    void release(void *memory, std::size_t size) noexcept override { platform::free_pages(memory, size); }
    void zero(void *memory, std::size_t size) override { std::memset(memory, 0, size); }
    void write(void *to, const void *from, std::size_t size) override { std::memcpy(to, from, size); }
    void read(void *to, const void *from, std::size_t size) override { std::memcpy(to, from, size); }
    void copy(void *to, const void *from, std::size_t size) override { std::memmove(to, from, size); }
};

}  // namespace

DeviceMemory &host_memory() noexcept {
    static HostMemory memory;
    return memory;
}

}  // namespace tensorlib::core
