// Where tensor data live. A device implements this once; contexts, plans and transfers need nothing else of it.
#pragma once

#include <cstddef>

namespace tensorlib::core {

class DeviceMemory {
public:
    virtual ~DeviceMemory() = default;

    // The device's name, "cpu"; static storage.
    virtual const char *device() const noexcept = 0;

    // Whether the host may follow its pointers.
    virtual bool host_accessible() const noexcept = 0;

    // What kernels want every tensor to be aligned to.
    virtual std::size_t alignment() const noexcept = 0;

    // Whether acquire() gives memory that reads as zeros; else it may hold anything.
    virtual bool acquires_zeros() const noexcept { return true; }

    // nullptr where there is none left; throws Error(device) where the device fails.
    virtual void *acquire(std::size_t size) = 0;
    virtual void release(void *memory, std::size_t size) noexcept = 0;

    // Gives pages back to the system that lie in this range, whose contents are open from then on; of a mapped file they are the file's
    // again. Where that is not to be had nothing happens.
    virtual void discard(void *, std::size_t) noexcept {}

    // The host's memory may be used again when they return, and what comes later on the device comes after them. Throw
    // Error(device) where the device fails.
    virtual void zero(void *memory, std::size_t size) = 0;
    virtual void write(void *to, const void *host_from, std::size_t size) = 0;
    virtual void read(void *host_to, const void *from, std::size_t size) = 0;

    // Rows of `width` bytes that lie `pitch` >= width bytes apart here and side by side on the host.
    struct Rows {
        std::size_t width, pitch, count;
    };
    virtual void write_rows(void *to, const void *host_from, const Rows &rows);
    virtual void read_rows(void *host_to, const void *from, const Rows &rows);

    // Returns when writes that were begun are done: before memory is handed out anew.
    virtual void settle() noexcept {}

    // For those who check accesses (AddressSanitizer, the simulated GPU): what an arena has handed out, with contents
    // that are open, and what it has not.
    virtual void mark_used(void *, std::size_t) noexcept {}
    virtual void mark_unused(void *, std::size_t) noexcept {}
};

DeviceMemory &host_memory() noexcept;

}  // namespace tensorlib::core
