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

    // Memory that reads as zeros; nullptr where there is none left.
    virtual void *acquire(std::size_t size) noexcept = 0;
    virtual void release(void *memory, std::size_t size) noexcept = 0;

    // Complete when they return. Throw Error(device) where the device fails.
    virtual void zero(void *memory, std::size_t size) = 0;
    virtual void write(void *to, const void *host_from, std::size_t size) = 0;
    virtual void read(void *host_to, const void *from, std::size_t size) = 0;
    // Within the device; the two may overlap.
    virtual void copy(void *to, const void *from, std::size_t size) = 0;
};

DeviceMemory &host_memory() noexcept;

}  // namespace tensorlib::core
