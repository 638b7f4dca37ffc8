#include "cuda/cuda_memory.hpp"

#include "cuda/checker.hpp"
#include "cuda/cuda_device.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

// 2 MiB: copying it over a 55 GB/s bus takes 40 us, ten times what starting a copy takes; four of them are pinned.
constexpr std::size_t slot_size = std::size_t{2} << 20;

// cudaMemcpy2D supports no longer strides.
constexpr std::size_t longest_pitch = (std::size_t{1} << 31) - 1;

DeviceMemory::Rows one_row(std::size_t size) { return {size, size, 1}; }

}  // namespace

const char *CudaMemory::device() const noexcept { return device_.name(); }

void *CudaMemory::acquire(std::size_t size) {
    constexpr const char *what = "context";
    device_.check_usable(what);
    const CudaDevice::Scope scope(device_);
    void *memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, size);
    if (status == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return nullptr;
    }
    device_.check(status, what);
    return memory;
}

void CudaMemory::release(void *memory, std::size_t) noexcept {
    if (!device_.reachable()) return;
    const CudaDevice::Scope scope(device_);
    // After a failure of the device, nothing is left to free.
    if (cudaFree(memory) != cudaSuccess) cudaGetLastError();
}

void CudaMemory::prepare() {
    if (ready_) return;
    constexpr const char *what = "transfer";
    if (!stream_) device_.check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), what);
    if (!written_) device_.check(cudaEventCreateWithFlags(&written_, cudaEventDisableTiming), what);
    for (Slot &slot : slots_) {
        if (!slot.done) device_.check(cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming), what);
        if (slot.memory) continue;
        void *pinned = nullptr;
        if (cudaMallocHost(&pinned, slot_size) == cudaSuccess) {
            slot.memory = static_cast<std::byte *>(pinned);
        } else {
            // The system allows no more pinned memory. Ordinary memory works too: the driver then stages it itself.
            cudaGetLastError();
            slot.memory = new std::byte[slot_size];
        }
    }
    ready_ = true;
}

void CudaMemory::enqueue(bool to_device, std::byte *address, std::byte *host, const Rows &rows) {
    const cudaMemcpyKind kind = to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    void *to = to_device ? address : host;
    const void *from = to_device ? host : address;
    if (rows.count == 1) {
        device_.check(cudaMemcpyAsync(to, from, rows.width, kind, stream_), "transfer");
        return;
    }
    const std::size_t to_pitch = to_device ? rows.pitch : rows.width, from_pitch = to_device ? rows.width : rows.pitch;
    device_.check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, rows.width, rows.count, kind, stream_), "transfer");
}

void CudaMemory::mark_written() { device_.check(cudaEventRecord(written_, stream_), "transfer"); }

void CudaMemory::zero(void *memory, std::size_t size) {
    if (size == 0) return;
    device_.check_usable("context");
    const CudaDevice::Scope scope(device_);
    std::lock_guard lock(lock_);
    prepare();
    device_.check(cudaMemsetAsync(memory, 0, size, stream_), "transfer");
    mark_written();
}

void CudaMemory::write(void *to, const void *host_from, std::size_t size) { write_rows(to, host_from, one_row(size)); }
void CudaMemory::read(void *host_to, const void *from, std::size_t size) { read_rows(host_to, from, one_row(size)); }

namespace {

// Divides rows into parts that fit in a slot: whole rows, or pieces of one. Rows without gaps count as one row.
class SlotPieces {
public:
    explicit SlotPieces(const DeviceMemory::Rows &rows)
        : rows_(rows.pitch == rows.width ? one_row(rows.width * rows.count) : rows),
          split_(rows_.count == 1 || rows_.width > slot_size || rows_.pitch > longest_pitch) {}

    bool done() const { return row_ == rows_.count || rows_.width == 0; }
    // Where the next part begins on either side, and what it is.
    std::size_t device_offset() const { return row_ * rows_.pitch + in_row_; }
    std::size_t host_offset() const { return row_ * rows_.width + in_row_; }
    DeviceMemory::Rows take() {
        if (split_) {
            const std::size_t n = std::min(slot_size, rows_.width - in_row_), at = in_row_ + n;
            row_ += at / rows_.width;
            in_row_ = at % rows_.width;
            return one_row(n);
        }
        const std::size_t n = std::min(slot_size / rows_.width, rows_.count - row_);
        row_ += n;
        return {rows_.width, rows_.pitch, n};
    }

private:
    const DeviceMemory::Rows rows_;
    const bool split_;
    std::size_t row_ = 0, in_row_ = 0;
};

}  // namespace

void CudaMemory::write_rows(void *to, const void *host_from, const Rows &rows) {
    device_.check_usable("tensor_write");
    const CudaDevice::Scope scope(device_);
    std::lock_guard lock(lock_);
    prepare();
    for (SlotPieces parts(rows); !parts.done();) {
        auto *address = static_cast<std::byte *>(to) + parts.device_offset();
        const auto *from = static_cast<const std::byte *>(host_from) + parts.host_offset();
        const Rows part = parts.take();
        Slot &slot = slots_[next_++ % slots_.size()];
        device_.check(cudaEventSynchronize(slot.done), "transfer");
        std::memcpy(slot.memory, from, part.width * part.count);
        enqueue(true, address, slot.memory, part);
        device_.check(cudaEventRecord(slot.done, stream_), "transfer");
    }
    mark_written();
}

void CudaMemory::read_rows(void *host_to, const void *from, const Rows &rows) {
    device_.check_usable("tensor_read");
    const CudaDevice::Scope scope(device_);
    std::lock_guard lock(lock_);
    prepare();
    struct Flight {
        Slot *slot;
        std::byte *to;
        std::size_t size;
    };
    std::array<Flight, std::tuple_size_v<decltype(slots_)>> flights;
    std::size_t begun = 0, ended = 0;
    for (SlotPieces parts(rows); !parts.done() || ended < begun;) {
        if (!parts.done() && begun - ended < flights.size()) {
            auto *address = const_cast<std::byte *>(static_cast<const std::byte *>(from)) + parts.device_offset();
            auto *to = static_cast<std::byte *>(host_to) + parts.host_offset();
            const Rows part = parts.take();
            // The slot's previous use has ended: a read waits for its own copy, and a write's copy precedes this one in
            // the stream.
            Slot &slot = slots_[next_++ % slots_.size()];
            enqueue(false, address, slot.memory, part);
            device_.check(cudaEventRecord(slot.done, stream_), "transfer");
            flights[begun++ % flights.size()] = {&slot, to, part.width * part.count};
        } else {
            const Flight &first = flights[ended++ % flights.size()];
            device_.check(cudaEventSynchronize(first.slot->done), "tensor_read");
            std::memcpy(first.to, first.slot->memory, first.size);
        }
    }
}

void CudaMemory::settle() noexcept {
    if (!device_.reachable()) return;
    const CudaDevice::Scope scope(device_);
    std::lock_guard lock(lock_);
    // A failed device writes nothing any more; the next call reports it.
    if (written_ && cudaEventSynchronize(written_) != cudaSuccess) cudaGetLastError();
}

void CudaMemory::mark_used(void *memory, std::size_t size) noexcept { checker::mark_unwritten_now(memory, size); }
void CudaMemory::mark_unused(void *memory, std::size_t size) noexcept { checker::mark_no_access(memory, size); }

void CudaMemory::order(cudaStream_t stream) {
    std::lock_guard lock(lock_);
    if (written_) device_.check(cudaStreamWaitEvent(stream, written_, 0), "graph_compute");
}

}  // namespace tensorlib::core
