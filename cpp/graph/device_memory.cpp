#include "graph/device_memory.hpp"

#include "base/platform.hpp"

#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TL_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(TL_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace tensorlib::core {

namespace {

class HostMemory final : public DeviceMemory {
public:
    const char *device() const noexcept override { return "cpu"; }
    bool host_accessible() const noexcept override { return true; }
    // The size of a cache line, and of the widest vector register.
    std::size_t alignment() const noexcept override { return 64; }
    void *acquire(std::size_t size) override { return platform::allocate_pages(size); }
    void release(void *memory, std::size_t size) noexcept override {
        mark_used(memory, size);
        platform::free_pages(memory, size);
    }
    void discard(void *memory, std::size_t size) noexcept override { platform::discard_pages(memory, size); }
    void zero(void *memory, std::size_t size) override { std::memset(memory, 0, size); }
    void write(void *to, const void *from, std::size_t size) override { std::memcpy(to, from, size); }
    void read(void *to, const void *from, std::size_t size) override { std::memcpy(to, from, size); }
#if defined(__SANITIZE_ADDRESS__) || defined(TL_ASAN)
    void mark_used(void *memory, std::size_t size) noexcept override { __asan_unpoison_memory_region(memory, size); }
    void mark_unused(void *memory, std::size_t size) noexcept override { __asan_poison_memory_region(memory, size); }
#endif
};

}  // namespace

void DeviceMemory::write_rows(void *to, const void *host_from, const Rows &rows) {
    for (std::size_t i = 0; i < rows.count; i++) {
        write(static_cast<std::byte *>(to) + i * rows.pitch, static_cast<const std::byte *>(host_from) + i * rows.width, rows.width);
    }
}

void DeviceMemory::read_rows(void *host_to, const void *from, const Rows &rows) {
    for (std::size_t i = 0; i < rows.count; i++) {
        read(static_cast<std::byte *>(host_to) + i * rows.width, static_cast<const std::byte *>(from) + i * rows.pitch, rows.width);
    }
}

DeviceMemory &host_memory() noexcept {
    static HostMemory memory;
    return memory;
}

}  // namespace tensorlib::core
