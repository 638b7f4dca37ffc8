// Where tensor data live. A device implements this once; contexts, plans and transfers need nothing else from it.
#pragma once

#include <cstddef>

namespace tensorlib::core {

class DeviceMemory {
public:
    virtual ~DeviceMemory() = default;

    // The device's name, such as "cpu"; static storage.
    virtual const char *device() const noexcept = 0;

    // Whether the host may dereference its pointers.
    virtual bool host_accessible() const noexcept = 0;

    // The alignment that kernels require of every tensor.
    virtual std::size_t alignment() const noexcept = 0;

    // Whether memory from acquire() reads as zeros; otherwise it may hold anything.
    virtual bool acquires_zeros() const noexcept { return true; }

    // Returns nullptr if no memory is left; throws Error(device) if the device fails.
    virtual void *acquire(std::size_t size) = 0;
    virtual void release(void *memory, std::size_t size) noexcept = 0;

    // Returns the pages in this range to the system. Their contents are undefined from then on; pages of a mapped file
    // have the file's contents again. Does nothing if the system does not support it.
    virtual void discard(void *, std::size_t) noexcept {}

    // When these return, the host's memory may be reused, and later work on the device comes after them. Throw
    // Error(device) if the device fails.
    virtual void zero(void *memory, std::size_t size) = 0;
    virtual void write(void *to, const void *host_from, std::size_t size) = 0;
    virtual void read(void *host_to, const void *from, std::size_t size) = 0;

    // Rows of `width` bytes, `pitch` >= width bytes apart on the device and packed on the host.
    struct Rows {
        std::size_t width, pitch, count;
    };
    virtual void write_rows(void *to, const void *host_from, const Rows &rows);
    virtual void read_rows(void *host_to, const void *from, const Rows &rows);

    // Returns when pending writes are done. Called before memory is handed out again.
    virtual void settle() noexcept {}

    // For tools that check accesses (AddressSanitizer, the simulated GPU). mark_used: an arena has handed this out,
    // with undefined contents. mark_unused: it has not, or no longer.
    virtual void mark_used(void *, std::size_t) noexcept {}
    virtual void mark_unused(void *, std::size_t) noexcept {}
};

DeviceMemory &host_memory() noexcept;

}  // namespace tensorlib::core
