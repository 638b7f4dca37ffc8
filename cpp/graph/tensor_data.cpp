#include "graph/tensor_data.hpp"

#include "base/fail.hpp"
#include "graph/data_lock.hpp"
#include "graph/strided_bytes.hpp"

#include <algorithm>
#include <cstdint>

namespace tensorlib::core {

namespace {

void check_count(const char *what, const Tensor &t, std::size_t n) {
    if (n != static_cast<std::size_t>(t.layout.n_elements())) {
        fail(Status::invalid_argument, "%s: %zu values for %s: exactly %lld are valid", what, n, tensor_text(t).c_str(),
             static_cast<long long>(t.layout.n_elements()));
    }
}

void check_pointer(const char *what, const void *data, std::size_t size) {
    if (!data && size != 0) fail(Status::invalid_argument, "%s: data is NULL: memory for %zu values is valid", what, size);
}

void check_range(const char *what, const Tensor &t, std::size_t offset, std::size_t size) {
    const std::size_t nbytes = t.layout.nbytes();
    if (offset > nbytes || size > nbytes - offset) {
        fail(Status::invalid_argument, "%s: bytes %zu to %zu + %zu of %s, which has %zu", what, offset, offset, size,
             tensor_text(t).c_str(), nbytes);
    }
}

void check_bools(const char *what, const void *data, std::size_t offset, std::size_t size) {
    const auto *bytes = static_cast<const std::uint8_t *>(data), *bad = std::find_if(bytes, bytes + size, [](auto b) { return b > 1; });
    if (bad == bytes + size) return;
    fail(Status::invalid_argument, "%s: byte %zu is %d: 0 and 1 are valid for bool", what, offset + static_cast<std::size_t>(bad - bytes),
         *bad);
}

// Elements that are converted at a time. The buffer stays in the L1 cache. A multiple of every block size.
constexpr std::int64_t stage_elements = 1024;

// The position of the first of n values that the type cannot hold, or -1. Floats hold all values, quantised types all
// finite ones.
std::int64_t first_unrepresentable(const DTypeTraits &type, const float *values, std::int64_t n) {
    if (type.kind == Kind::floating) return -1;
    if (type.kind == Kind::integer) {
        std::int64_t stage[stage_elements];
        for (std::int64_t i = 0; i < n; i += stage_elements) {
            const std::int64_t bad = type.encode(values + i, nullptr, stage, std::min(stage_elements, n - i));
            if (bad >= 0) return i + bad;
        }
        return -1;
    }
    return encoding::first_not_finite(values, n);
}

void fail_unrepresentable(const char *what, const Tensor &t, std::int64_t position, float value) {
    fail(Status::invalid_argument, "%s: value %lld is %g, which %s cannot hold", what, static_cast<long long>(position),
         static_cast<double>(value), traits(t.layout.type).name);
}

// What a call that reads a tensor holds: the lock, unless an observer shows this thread the tensor.
class ReadAccess {
public:
    ReadAccess(const Tensor &t, const char *what) {
        if (const Observed *shown = Observed::find(t)) {
            reader_.emplace(*shown);
            return;
        }
        lock_.emplace(t, false, what);
        check_readable(what, t);
        reader_.emplace(t);
    }
    StridedReader &reader() noexcept { return *reader_; }

private:
    std::optional<DataLock> lock_;
    std::optional<StridedReader> reader_;
};

}  // namespace

void write_bytes(Tensor &t, const void *data, std::size_t offset, std::size_t size) {
    constexpr const char *what = "tensor_write";
    check_pointer(what, data, size);
    check_range(what, t, offset, size);
    const DataLock lock(t, true, what);
    check_writable(what, t);
    if (t.layout.type == DType::boolean) check_bools(what, data, offset, size);
    write_strided(t, data, offset, size);
}

void read_bytes(const Tensor &t, void *data, std::size_t offset, std::size_t size) {
    constexpr const char *what = "tensor_read";
    check_pointer(what, data, size);
    check_range(what, t, offset, size);
    ReadAccess(t, what).reader().read(data, offset, size);
    // Mapped memory may hold any bytes, and callers read these as their language's bool.
    if (t.layout.type == DType::boolean)
        std::ranges::transform(std::span(static_cast<std::uint8_t *>(data), size), static_cast<std::uint8_t *>(data),
                               [](auto b) -> std::uint8_t { return b != 0; });
}

void write_f32(Tensor &t, const float *data, std::size_t n) {
    constexpr const char *what = "tensor_write_f32";
    check_pointer(what, data, n);
    check_count(what, t, n);
    const DataLock lock(t, true, what);
    check_writable(what, t);
    if (t.layout.type == DType::f32) {
        write_strided(t, data, 0, t.layout.nbytes());
        return;
    }
    const DTypeTraits &type = traits(t.layout.type);
    const auto total = static_cast<std::int64_t>(n);
    alignas(8) std::byte stage[stage_elements * sizeof(double)];
    // Checks all values first, so that nothing is written if one does not fit.
    const std::int64_t bad = first_unrepresentable(type, data, total);
    if (bad >= 0) fail_unrepresentable(what, t, bad, data[bad]);
    for (std::int64_t i = 0; i < total; i += stage_elements) {
        const std::int64_t count = std::min(stage_elements, total - i);
        type.encode(data + i, nullptr, stage, count);
        const auto blocks = static_cast<std::size_t>(count / type.block_size);
        const auto first = static_cast<std::size_t>(i / type.block_size);
        write_strided(t, stage, first * type.size, blocks * type.size);
    }
}

void read_f32(const Tensor &t, float *data, std::size_t n) {
    constexpr const char *what = "tensor_read_f32";
    check_pointer(what, data, n);
    check_count(what, t, n);
    ReadAccess access(t, what);
    StridedReader &reader = access.reader();
    if (t.layout.type == DType::f32) {
        reader.read(data, 0, t.layout.nbytes());
        return;
    }
    const DTypeTraits &type = traits(t.layout.type);
    const auto total = static_cast<std::int64_t>(n);
    alignas(8) std::byte stage[stage_elements * sizeof(double)];
    for (std::int64_t i = 0; i < total; i += stage_elements) {
        const std::int64_t count = std::min(stage_elements, total - i);
        const auto blocks = static_cast<std::size_t>(count / type.block_size);
        reader.read(stage, static_cast<std::size_t>(i / type.block_size) * type.size, blocks * type.size);
        type.decode(stage, data + i, count);
    }
}

void check_index(const char *what, const Tensor &t, const Extents &index) {
    const Layout &l = t.layout;
    for (int d = 0; d < max_dims; d++) {
        if (index[d] < 0 || index[d] >= l.ne[d]) {
            fail(Status::invalid_argument, "%s: index [%lld, %lld, %lld, %lld] is outside of %s", what, static_cast<long long>(index[0]),
                 static_cast<long long>(index[1]), static_cast<long long>(index[2]), static_cast<long long>(index[3]),
                 tensor_text(t).c_str());
        }
    }
}

namespace {

// The offset, in packed order, of the block that holds the element.
std::size_t block_offset(const char *what, const Tensor &t, const Extents &index) {
    check_index(what, t, index);
    const Layout &l = t.layout;
    const std::int64_t row = index[1] + l.ne[1] * (index[2] + l.ne[2] * index[3]);
    const DTypeTraits &type = traits(l.type);
    return static_cast<std::size_t>(row) * l.row_bytes() + static_cast<std::size_t>(index[0] / type.block_size) * type.size;
}

}  // namespace

float get_f32(const Tensor &t, const Extents &index) {
    constexpr const char *what = "tensor_get_f32";
    const std::size_t offset = block_offset(what, t, index);
    ReadAccess access(t, what);
    const DTypeTraits &type = traits(t.layout.type);
    alignas(8) std::byte block[largest_block];
    float values[longest_block];
    access.reader().read(block, offset, type.size);
    type.decode(block, values, type.block_size);
    return values[index[0] % type.block_size];
}

void set_f32(Tensor &t, const Extents &index, float value) {
    constexpr const char *what = "tensor_set_f32";
    const std::size_t offset = block_offset(what, t, index);
    const DataLock lock(t, true, what);
    check_writable(what, t);
    const DTypeTraits &type = traits(t.layout.type);
    alignas(8) std::byte block[largest_block];
    float values[longest_block];
    StridedReader(t).read(block, offset, type.size);
    type.decode(block, values, type.block_size);
    values[index[0] % type.block_size] = value;
    if (type.encode(values, nullptr, block, type.block_size) >= 0) fail_unrepresentable(what, t, index[0], value);
    write_strided(t, block, offset, type.size);
}

void *map(Tensor &t, bool write) {
    constexpr const char *what = "tensor_map";
    Context &context = lock_context(t);
    if (!context.memory().host_accessible()) {
        fail(Status::unavailable, "%s: %s lives on %s: only data in host memory can be mapped; use tensor_read and tensor_write", what,
             tensor_text(t).c_str(), context.memory().device());
    }
    DataLock lock(t, write, what);
    if (write) {
        check_writable(what, t);
    } else {
        check_readable(what, t);
    }
    if (is_dropped(t)) {
        fail(Status::unavailable, "%s: the original of %s was dropped: use tensor_read", what, tensor_text(*t.root).c_str());
    }
    lock.keep();
    return t.address();
}

void unmap(Tensor &t, bool write) noexcept {
    // As soon as the lock is free, another thread may reset the context and free t.
    RunLock &lock = lock_context(t).run_lock();
    Context *used = TensorUse::context_of(t);
    if (write) {
        lock.unlock_exclusive();
    } else {
        lock.unlock_shared();
    }
    TensorUse::end(used);
}

}  // namespace tensorlib::core
