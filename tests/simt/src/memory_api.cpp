// Calls on memory: allocation, copies, memsets, marks.
#include "access.hpp"
#include "state.hpp"

#include <cstdlib>
#include <cstring>

using namespace simt;

namespace {

Device *device_of(const void *p) {
    for (const auto &device : state().devices) {
        if (device->memory.contains(p)) return device.get();
    }
    return nullptr;
}

// The pinned allocation that p lies in, as its start and size; null for other memory.
const std::pair<const std::uintptr_t, Pinned> *pinned_at(const void *p) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const auto after = state().pinned.upper_bound(address);
    if (after == state().pinned.begin()) return nullptr;
    const auto &candidate = *std::prev(after);
    return address - candidate.first < candidate.second.size ? &candidate : nullptr;
}

cudaError_t check_device_memory(const char *what, const void *p, std::size_t n) {
    const Device *device = device_of(p);
    if (!device) return refuse(cudaErrorInvalidValue, "%s: %p is not device memory", what, p);
    if (!device->memory.holding(p, n)) {
        return refuse(cudaErrorInvalidValue, "%s: %zu bytes at %p, %s, are not inside one live allocation", what, n, p,
                      device->memory.describe(reinterpret_cast<std::uintptr_t>(p)).c_str());
    }
    return cudaSuccess;
}

cudaError_t check_host_memory(const char *what, const void *p, std::size_t n) {
    if (!p) return refuse(cudaErrorInvalidValue, "%s: a null pointer", what);
    if (const Device *device = device_of(p)) {
        return refuse(cudaErrorInvalidValue, "%s: %p is device memory, %s, where host memory is wanted", what, p,
                      device->memory.describe(reinterpret_cast<std::uintptr_t>(p)).c_str());
    }
    const auto *pinned = pinned_at(p);
    const std::size_t before = pinned ? reinterpret_cast<std::uintptr_t>(p) - pinned->first : 0;
    if (pinned && n > pinned->second.size - before) {
        return refuse(cudaErrorInvalidValue, "%s: %zu bytes at byte %zu of a pinned allocation of %zu bytes", what, n, before,
                      pinned->second.size);
    }
    return cudaSuccess;
}

// Rows of equal length; a plain copy is one row.
struct Copy {
    std::byte *to;
    const std::byte *from;
    std::size_t to_pitch, from_pitch, width, height;
    Device *to_device, *from_device;
    std::shared_ptr<std::vector<std::byte>> staging;
};

std::size_t span(std::size_t pitch, std::size_t width, std::size_t height) { return pitch * (height - 1) + width; }

void run_copy(const Copy &copy) {
    if (copy.to_device) copy.to_device->memory.open();
    if (copy.from_device) copy.from_device->memory.open();
    for (std::size_t row = 0; row < copy.height; row++) {
        std::byte *to = copy.to + row * copy.to_pitch;
        const std::byte *from = copy.staging ? copy.staging->data() + row * copy.width : copy.from + row * copy.from_pitch;
        // Within the device unwritten bytes may travel, and stay unwritten.
        if (copy.from_device) check_device_range(copy.from_device->memory, from, copy.width, Access::read, !copy.to_device);
        if (copy.to_device) check_device_range(copy.to_device->memory, to, copy.width, Access::write);
        if (copy.from_device && copy.to_device) {
            const auto &source = copy.from_device->memory;
            auto &target = copy.to_device->memory;
            std::memmove(target.state + target.offset_of(to), source.state + source.offset_of(from), copy.width);
        }
        std::memmove(to, from, copy.width);
    }
}

// Takes the copy apart by where its ends lie, and queues it. Returns when the host may go on as on a GPU: at once, or
// for pageable memory once its bytes are staged or have arrived.
cudaError_t queue_copy(const char *what, Copy copy, cudaMemcpyKind kind, cudaStream_t handle, bool may_wait) {
    const auto stream = find_stream(handle);
    if (!stream) return refuse(cudaErrorInvalidResourceHandle, "%s: the stream is not a live handle", what);
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (stream == stream->device->legacy && forbidding_capture()) {
        invalidate(*forbidding_capture());
        return refuse(cudaErrorStreamCaptureImplicit, "%s on the legacy stream while a stream is capturing", what);
    }
    if (copy.width == 0 || copy.height == 0) return cudaSuccess;
    if (kind == cudaMemcpyDefault) {
        const bool to = device_of(copy.to), from = device_of(copy.from);
        kind = to ? (from ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice) : from ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
    }
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const std::size_t to_span = span(copy.to_pitch, copy.width, copy.height), from_span = span(copy.from_pitch, copy.width, copy.height);
    if (const cudaError_t e = to_device ? check_device_memory(what, copy.to, to_span) : check_host_memory(what, copy.to, to_span)) return e;
    if (const cudaError_t e = from_device ? check_device_memory(what, copy.from, from_span) : check_host_memory(what, copy.from, from_span))
        return e;
    copy.to_device = to_device ? device_of(copy.to) : nullptr;
    copy.from_device = from_device ? device_of(copy.from) : nullptr;

    const bool pageable_source = !from_device && !pinned_at(copy.from), pageable_target = !to_device && !pinned_at(copy.to);
    if (stream->capture && (pageable_source || pageable_target)) {
        invalidate(*stream->capture);
        return refuse(cudaErrorStreamCaptureUnsupported, "%s: pageable memory in a capture", what);
    }
    if (pageable_source && to_device) {
        copy.staging = std::make_shared<std::vector<std::byte>>(copy.width * copy.height);
        for (std::size_t row = 0; row < copy.height; row++)
            std::memcpy(copy.staging->data() + row * copy.width, copy.from + row * copy.from_pitch, copy.width);
    }
    Work work;
    work.name = format("copy of %zu bytes %s", copy.width * copy.height,
                       kind == cudaMemcpyDeviceToDevice ? "within the device"
                       : to_device                      ? "to the device"
                       : from_device                    ? "to the host"
                                                        : "within the host");
    if (!to_device && !pageable_target) work.pinned = copy.to;
    if (!from_device && !pageable_source) work.pinned = copy.from;
    work.run = [copy] { run_copy(copy); };
    if (const cudaError_t e = enqueue(*stream, std::move(work))) return e;
    const bool wait = pageable_target || (may_wait && kind != cudaMemcpyDeviceToDevice);
    if (wait && !stream->capture) {
        synchronise(*stream);
        return health(*stream->device);
    }
    return cudaSuccess;
}

Copy one_row(void *to, const void *from, std::size_t size) {
    return {static_cast<std::byte *>(to), static_cast<const std::byte *>(from), size, size, size, 1, nullptr, nullptr, nullptr};
}

cudaError_t queue_on_range(const char *what, void *p, std::size_t size, cudaStream_t handle, std::string name,
                           std::function<void(Device &)> run) {
    const auto stream = find_stream(handle);
    if (!stream) return refuse(cudaErrorInvalidResourceHandle, "%s: the stream is not a live handle", what);
    if (stream == stream->device->legacy && forbidding_capture()) {
        invalidate(*forbidding_capture());
        return refuse(cudaErrorStreamCaptureImplicit, "%s on the legacy stream while a stream is capturing", what);
    }
    if (size == 0) return cudaSuccess;
    if (const cudaError_t e = check_device_memory(what, p, size)) return e;
    Work work;
    work.name = std::move(name);
    work.run = [device = device_of(p), run = std::move(run)] {
        device->memory.open();
        run(*device);
    };
    return enqueue(*stream, std::move(work));
}

cudaError_t queue_memset(const char *what, void *p, int value, std::size_t size, cudaStream_t stream) {
    return queue_on_range(what, p, size, stream, format("memset of %zu bytes", size), [=](Device &device) {
        check_device_range(device.memory, p, size, Access::write);
        std::memset(p, value, size);
    });
}

cudaError_t allocate_pinned(void **p, std::size_t size) {
    if (!p) return cudaErrorInvalidValue;
    *p = nullptr;
    if (size == 0) return cudaSuccess;
    if (size > ~std::size_t{0} - 4096) return cudaErrorMemoryAllocation;
    // Pages of its own, as the real one.
    void *memory = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    if (!memory) return cudaErrorMemoryAllocation;
    state().pinned[reinterpret_cast<std::uintptr_t>(memory)] = {size};
    *p = memory;
    return cudaSuccess;
}

// The queued work that still uses a pinned allocation, if any.
const Work *pending_user(std::uintptr_t begin, std::size_t size) {
    for (const auto &stream : state().timeline.streams) {
        for (const Task &task : stream->queue) {
            if (task.work && task.work->pinned && reinterpret_cast<std::uintptr_t>(task.work->pinned) - begin < size)
                return task.work.get();
            if (!task.exec) continue;
            for (const GraphNode &node : task.exec->graph.nodes) {
                if (node.work->pinned && reinterpret_cast<std::uintptr_t>(node.work->pinned) - begin < size) return node.work.get();
            }
        }
    }
    return nullptr;
}

}  // namespace

cudaError_t cudaMalloc(void **p, std::size_t size) {
    return call("cudaMalloc", unsafe_during_capture, [&]() -> cudaError_t {
        if (!p) return cudaErrorInvalidValue;
        *p = nullptr;
        if (size == 0) return cudaSuccess;
        *p = current_device().memory.allocate(size);
        return *p ? cudaSuccess : cudaErrorMemoryAllocation;
    });
}

cudaError_t cudaFree(void *p) {
    return call("cudaFree", unsafe_during_capture, [&]() -> cudaError_t {
        if (!p) return cudaSuccess;
        Device *device = device_of(p);
        if (!device) return refuse(cudaErrorInvalidValue, "cudaFree: %p is not device memory", p);
        if (!device->memory.starting_at(p)) {
            return refuse(cudaErrorInvalidValue, "cudaFree: %p is not the start of a live allocation but %s", p,
                          device->memory.describe(reinterpret_cast<std::uintptr_t>(p)).c_str());
        }
        synchronise(*device);
        if (device->dead) return health(*device);
        device->memory.open();
        device->memory.free(p);
        return cudaSuccess;
    });
}

cudaError_t cudaMallocHost(void **p, std::size_t size) {
    return call("cudaMallocHost", unsafe_during_capture, [&] { return allocate_pinned(p, size); });
}

cudaError_t cudaHostAlloc(void **p, std::size_t size, unsigned flags) {
    return call("cudaHostAlloc", unsafe_during_capture, [&]() -> cudaError_t {
        if (flags & ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) return cudaErrorInvalidValue;
        return allocate_pinned(p, size);
    });
}

// Stricter than a GPU, whose call may wait for such work or not.
cudaError_t cudaFreeHost(void *p) {
    return call("cudaFreeHost", works_when_dead | unsafe_during_capture, [&]() -> cudaError_t {
        if (!p) return cudaSuccess;
        const auto it = state().pinned.find(reinterpret_cast<std::uintptr_t>(p));
        if (it == state().pinned.end()) return refuse(cudaErrorInvalidValue, "cudaFreeHost: %p is not the start of pinned memory", p);
        if (const Work *user = pending_user(it->first, it->second.size)) {
            return refuse(cudaErrorInvalidValue, "cudaFreeHost: %s is still queued and uses the memory at %p", user->name.c_str(), p);
        }
        state().pinned.erase(it);
        std::free(p);
        return cudaSuccess;
    });
}

cudaError_t cudaMemcpy(void *to, const void *from, std::size_t size, cudaMemcpyKind kind) {
    return call("cudaMemcpy", implicit_during_capture,
                [&] { return queue_copy("cudaMemcpy", one_row(to, from, size), kind, nullptr, true); });
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, std::size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
    return call("cudaMemcpyAsync", plain, [&] { return queue_copy("cudaMemcpyAsync", one_row(to, from, size), kind, stream, false); });
}

cudaError_t cudaMemcpy2DAsync(void *to, std::size_t to_pitch, const void *from, std::size_t from_pitch, std::size_t width,
                              std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return call("cudaMemcpy2DAsync", plain, [&]() -> cudaError_t {
        if (width > to_pitch || width > from_pitch)
            return refuse(cudaErrorInvalidPitchValue, "cudaMemcpy2DAsync: a pitch is less than the width %zu", width);
        return queue_copy("cudaMemcpy2DAsync",
                          {static_cast<std::byte *>(to), static_cast<const std::byte *>(from), to_pitch, from_pitch, width, height, nullptr,
                           nullptr, nullptr},
                          kind, stream, false);
    });
}

cudaError_t cudaMemset(void *p, int value, std::size_t size) {
    return call("cudaMemset", implicit_during_capture, [&] { return queue_memset("cudaMemset", p, value, size, nullptr); });
}

cudaError_t cudaMemsetAsync(void *p, int value, std::size_t size, cudaStream_t stream) {
    return call("cudaMemsetAsync", plain, [&] { return queue_memset("cudaMemsetAsync", p, value, size, stream); });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *p) {
    return call("cudaPointerGetAttributes", plain, [&]() -> cudaError_t {
        if (!attributes) return cudaErrorInvalidValue;
        auto *pointer = const_cast<void *>(p);
        const Device *device = device_of(p);
        if (device && device->memory.holding(p, 1)) {
            *attributes = {cudaMemoryTypeDevice, device->index, pointer, nullptr};
        } else if (pinned_at(p)) {
            *attributes = {cudaMemoryTypeHost, current_device().index, pointer, pointer};
        } else {
            *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, pointer};
        }
        return cudaSuccess;
    });
}

cudaError_t simt_mark_unwritten(void *p, std::size_t size, cudaStream_t stream) {
    return call("simt_mark_unwritten", plain, [&] {
        return queue_on_range("simt_mark_unwritten", p, size, stream, format("mark of %zu bytes as unwritten", size), [=](Device &device) {
            // As a write, for the order among the streams; of memory that was inaccessible until now.
            device.memory.set_state(p, size, unwritten);
            check_device_range(device.memory, p, size, Access::write);
            device.memory.set_state(p, size, unwritten);
        });
    });
}

namespace {

cudaError_t mark_now(const char *what, void *p, std::size_t size, ByteState value) {
    return call(what, plain, [&]() -> cudaError_t {
        if (size == 0) return cudaSuccess;
        if (const cudaError_t e = check_device_memory(what, p, size)) return e;
        Device *device = device_of(p);
        device->memory.set_state(p, size, value);
        device->memory.forget_accesses(p, size);
        return cudaSuccess;
    });
}

}  // namespace

cudaError_t simt_mark_no_access(void *p, std::size_t size) { return mark_now("simt_mark_no_access", p, size, no_access); }
cudaError_t simt_mark_unwritten_now(void *p, std::size_t size) { return mark_now("simt_mark_unwritten_now", p, size, unwritten); }
