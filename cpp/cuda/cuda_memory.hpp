// A CUDA device's memory, and transfers to and from it: a separate copy stream, and pinned memory through which data
// are staged.
//
//   write:  caller's memory --memcpy--> slot (pinned) --copy stream--> device     returns after the memcpy
//   read:   device --copy stream--> slot (pinned) --memcpy--> caller's memory     several slots in flight
//
// Slots are pinned because only pinned memory is copied without the processor and at the bus's speed. Data are staged
// because callers' memory is not pinned. Writes are not waited for: `written` marks the last one, and backends make
// their streams wait for it. Reads come after computations, because a run has ended when it returns.
#pragma once

#include "graph/device_memory.hpp"

#include <cuda_runtime_api.h>
#include <array>
#include <cstddef>
#include <mutex>

namespace tensorlib::core {

class CudaDevice;

class CudaMemory final : public DeviceMemory {
public:
    explicit CudaMemory(const CudaDevice &device) noexcept : device_(device) {}

    const char *device() const noexcept override;
    bool host_accessible() const noexcept override { return false; }
    // The alignment of cudaMalloc. A warp reads 128 bytes of floats at a time, or 512 as vectors.
    std::size_t alignment() const noexcept override { return 256; }
    bool acquires_zeros() const noexcept override { return false; }
    void *acquire(std::size_t size) override;
    // Waits for all work on the device first (cudaFree does), so queued work keeps its memory.
    void release(void *memory, std::size_t size) noexcept override;

    void zero(void *memory, std::size_t size) override;
    void write(void *to, const void *host_from, std::size_t size) override;
    void read(void *host_to, const void *from, std::size_t size) override;
    void write_rows(void *to, const void *host_from, const Rows &rows) override;
    void read_rows(void *host_to, const void *from, const Rows &rows) override;

    void settle() noexcept override;
    void mark_used(void *memory, std::size_t size) noexcept override;
    void mark_unused(void *memory, std::size_t size) noexcept override;

    // Orders work that is enqueued in `stream` from now on after all writes so far.
    void order(cudaStream_t stream);

private:
    struct Slot {
        std::byte *memory = nullptr;
        cudaEvent_t done = nullptr;  // the last copy from or to the slot
    };

    // Allocates what transfers need, at the first one.
    void prepare();
    // Enqueues a copy between `host` and the device's `address` in the copy stream.
    void enqueue(bool to_device, std::byte *address, std::byte *host, const Rows &rows);
    void mark_written();

    const CudaDevice &device_;
    std::mutex lock_;  // guards everything below
    cudaStream_t stream_ = nullptr;
    cudaEvent_t written_ = nullptr;
    std::array<Slot, 4> slots_;
    std::size_t next_ = 0;
    bool ready_ = false;
};

}  // namespace tensorlib::core
