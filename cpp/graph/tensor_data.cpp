#include "graph/tensor_data.hpp"

#include "base/fail.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace tensorlib::core {

namespace {

void check_readable(const char *what, const Tensor &t) {
    const Tensor &root = *t.root;
    if (root.is_leaf()) {
        if (!root.data.load(std::memory_order_acquire) && !is_dropped(root)) {
            fail(Status::invalid_argument, "%s: leaf %s has no data yet: call context_allocate first", what, tensor_text(t).c_str());
        }
    } else if (!root.computed.load(std::memory_order_acquire)) {
        fail(Status::invalid_argument, "%s: %s, the result of %s, is not computed: make it an output of a graph and compute that", what,
             tensor_text(t).c_str(), op_name(root.op));
    }
}

void check_writable(const char *what, const Tensor &t) {
    const Tensor &root = *t.root;
    if (!root.is_leaf()) {
        fail(Status::invalid_argument, "%s: %s is the result of %s: only leafs and views of leafs can be written", what,
             tensor_text(t).c_str(), op_name(root.op));
    }
    if (root.constant.load(std::memory_order_acquire)) {
        fail(Status::invalid_argument, "%s: %s %s: it cannot be written", what, tensor_text(t).c_str(), constant_text(root));
    }
    check_readable(what, t);
}

void check_count(const char *what, const Tensor &t, std::size_t n) {
    if (n != static_cast<std::size_t>(t.layout.n_elements())) {
        fail(Status::invalid_argument, "%s: %zu values for %s: exactly %lld are valid", what, n, tensor_text(t).c_str(),
             static_cast<long long>(t.layout.n_elements()));
    }
}

void check_pointer(const char *what, const void *data, std::size_t size) {
    if (!data && size != 0) fail(Status::invalid_argument, "%s: data is NULL: memory for %zu values is valid", what, size);
}

// Calls move(place, packed, n) for runs of n bytes that lie side by side both in the tensor, `place` bytes behind its first element, and in
// the packed order, so that together they cover the packed bytes [offset, offset + size).
template <class Move>
void for_each_run(const Tensor &t, std::size_t offset, std::size_t size, Move move) {
    const Layout &l = t.layout;
    if (size == 0) return;
    if (l.contiguous()) {
        move(offset, std::size_t{0}, size);
        return;
    }
    const std::size_t row = l.row_bytes(), unit = l.rows_contiguous() ? row : traits(l.type).size;
    const std::size_t end = offset + size;
    // at: the packed position; each unit is cut where the asked range begins or ends inside it.
    for (std::size_t at = offset; at < end;) {
        const std::size_t row_index = at / row, in_row = at % row, in_unit = in_row % unit;
        const std::size_t n = std::min(unit - in_unit, end - at);
        const auto ne1 = static_cast<std::size_t>(l.ne[1]), ne2 = static_cast<std::size_t>(l.ne[2]);
        const std::size_t i1 = row_index % ne1, i2 = row_index / ne1 % ne2, i3 = row_index / ne1 / ne2;
        const std::size_t place = in_row / unit * l.nb[0] + i1 * l.nb[1] + i2 * l.nb[2] + i3 * l.nb[3] + in_unit;
        move(place, at - offset, n);
        at += n;
    }
}

void check_range(const char *what, const Tensor &t, std::size_t offset, std::size_t size) {
    const std::size_t nbytes = t.layout.nbytes();
    if (offset > nbytes || size > nbytes - offset) {
        fail(Status::invalid_argument, "%s: bytes %zu to %zu + %zu of %s, which has %zu", what, offset, offset, size,
             tensor_text(t).c_str(), nbytes);
    }
}

// Calls move(address, packed, rows) for the same runs, those that follow each other at a steady distance as rows of one
// call: a device takes a few microseconds for each.
template <class Move>
void for_each_rows(const Tensor &t, std::size_t offset, std::size_t size, Move move) {
    std::byte *base = t.address();
    std::size_t first = 0, first_packed = 0;
    DeviceMemory::Rows rows{};
    for_each_run(t, offset, size, [&](std::size_t place, std::size_t packed, std::size_t n) {
        if (rows.count != 0 && n == rows.width) {
            const std::size_t distance = place - first;
            if (rows.count == 1 && place >= first + n) rows.pitch = distance;
            if (rows.pitch >= n && place > first && distance == rows.count * rows.pitch) {
                rows.count++;
                return;
            }
        }
        if (rows.count != 0) move(base + first, first_packed, rows);
        first = place;
        first_packed = packed;
        rows = {n, n, 1};
    });
    if (rows.count != 0) move(base + first, first_packed, rows);
}

// Whether to take a view's elements out of one block that covers them all: where those between them are no more than
// they are, one transfer of both beats one for each row.
bool worth_covering(const Tensor &t, std::size_t size) {
    const DeviceMemory &memory = t.context->memory();
    return !memory.host_accessible() && !t.layout.contiguous() && size == t.layout.nbytes() && t.layout.span_bytes() <= 2 * size;
}

void write_unlocked(Tensor &t, const void *data, std::size_t offset, std::size_t size) {
    const auto *from = static_cast<const std::byte *>(data);
    DeviceMemory &memory = t.context->memory();
    if (worth_covering(t, size)) {
        std::vector<std::byte> cover(t.layout.span_bytes());
        // What lies between the elements stays as it is; the run lock guards it with them.
        if (cover.size() != size) memory.read(cover.data(), t.address(), cover.size());
        for_each_run(t, offset, size,
                     [&](std::size_t place, std::size_t packed, std::size_t n) { std::memcpy(cover.data() + place, from + packed, n); });
        memory.write(t.address(), cover.data(), cover.size());
        return;
    }
    for_each_rows(t, offset, size, [&](std::byte *address, std::size_t packed, const DeviceMemory::Rows &rows) {
        memory.write_rows(address, from + packed, rows);
    });
}

// The way of bytes out of a tensor: from where they lie, or, of a leaf whose original was dropped, rebuilt by rows.
class Reader {
public:
    explicit Reader(const Tensor &t) : t_(t) {
        if (!is_dropped(t)) return;
        stage_.resize(t.root->layout.row_bytes());
        rebuilt_.emplace(*t.root, stage_.data());
    }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    void read(void *data, std::size_t offset, std::size_t size) {
        auto *to = static_cast<std::byte *>(data);
        if (!rebuilt_) {
            read_in_place(to, offset, size);
            return;
        }
        // Elements of one row that lie apart are in a row of the leaf each: of more than one, all that they span, once.
        const std::size_t unit = traits(t_.layout.type).size;
        if (t_.layout.nb[0] != unit && size > unit) {
            if (cover_.empty()) {
                cover_.resize(t_.layout.span_bytes());
                rebuilt_->read(t_.root_offset, cover_.size(), cover_.data());
            }
            take_from(cover_, to, offset, size);
            return;
        }
        for_each_run(t_, offset, size,
                     [&](std::size_t place, std::size_t packed, std::size_t n) { rebuilt_->read(t_.root_offset + place, n, to + packed); });
    }

private:
    void read_in_place(std::byte *to, std::size_t offset, std::size_t size) const;
    // Out of all bytes that the tensor spans.
    void take_from(const std::vector<std::byte> &cover, std::byte *to, std::size_t offset, std::size_t size) const {
        for_each_run(t_, offset, size,
                     [&](std::size_t place, std::size_t packed, std::size_t n) { std::memcpy(to + packed, cover.data() + place, n); });
    }

    const Tensor &t_;
    std::vector<std::byte> stage_, cover_;
    std::optional<RebuiltBytes> rebuilt_;
};

void Reader::read_in_place(std::byte *to, std::size_t offset, std::size_t size) const {
    const Tensor &t = t_;
    DeviceMemory &memory = t.context->memory();
    if (worth_covering(t, size)) {
        std::vector<std::byte> cover(t.layout.span_bytes());
        memory.read(cover.data(), t.address(), cover.size());
        take_from(cover, to, offset, size);
        return;
    }
    for_each_rows(t, offset, size, [&](std::byte *address, std::size_t packed, const DeviceMemory::Rows &rows) {
        memory.read_rows(to + packed, address, rows);
    });
}

// Data lives in the root's context, so that one's run lock guards it.
Context &lock_context(const Tensor &t) noexcept { return *t.root->context; }

// What a call holds that uses a tensor's data.
struct DataLock {
    DataLock(const Tensor &t, bool exclusive, const char *what) : use(t), run(lock_context(t), exclusive, what) {}
    // Leaves all taken, until unmap().
    void keep() noexcept {
        use.keep();
        run.keep();
    }
    TensorUse use;
    RunGuard run;
};

// Elements converted at a time: a buffer that stays in the first-level cache. A multiple of every block size.
constexpr std::int64_t stage_elements = 2048;

// The first of n values that the type cannot hold, or -1: all are held by floats, finite ones by blocks.
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

}  // namespace

void write_bytes(Tensor &t, const void *data, std::size_t offset, std::size_t size) {
    constexpr const char *what = "tensor_write";
    check_pointer(what, data, size);
    check_range(what, t, offset, size);
    const DataLock lock(t, true, what);
    check_writable(what, t);
    write_unlocked(t, data, offset, size);
}

void read_bytes(const Tensor &t, void *data, std::size_t offset, std::size_t size) {
    constexpr const char *what = "tensor_read";
    check_pointer(what, data, size);
    check_range(what, t, offset, size);
    const DataLock lock(t, false, what);
    check_readable(what, t);
    Reader(t).read(data, offset, size);
}

void write_f32(Tensor &t, const float *data, std::size_t n) {
    constexpr const char *what = "tensor_write_f32";
    check_pointer(what, data, n);
    check_count(what, t, n);
    const DataLock lock(t, true, what);
    check_writable(what, t);
    if (t.layout.type == DType::f32) {
        write_unlocked(t, data, 0, t.layout.nbytes());
        return;
    }
    const DTypeTraits &type = traits(t.layout.type);
    const auto total = static_cast<std::int64_t>(n);
    alignas(8) std::byte stage[stage_elements * sizeof(double)];
    // Looked at first, so that nothing is written where one value does not fit.
    const std::int64_t bad = first_unrepresentable(type, data, total);
    if (bad >= 0) fail_unrepresentable(what, t, bad, data[bad]);
    for (std::int64_t i = 0; i < total; i += stage_elements) {
        const std::int64_t count = std::min(stage_elements, total - i);
        type.encode(data + i, nullptr, stage, count);
        const auto blocks = static_cast<std::size_t>(count / type.block_size);
        const auto first = static_cast<std::size_t>(i / type.block_size);
        write_unlocked(t, stage, first * type.size, blocks * type.size);
    }
}

void read_f32(const Tensor &t, float *data, std::size_t n) {
    constexpr const char *what = "tensor_read_f32";
    check_pointer(what, data, n);
    check_count(what, t, n);
    const DataLock lock(t, false, what);
    check_readable(what, t);
    Reader reader(t);
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

namespace {

// The bytes of the block that holds the element, as an offset in packed order.
std::size_t block_offset(const char *what, const Tensor &t, const Extents &index) {
    const Layout &l = t.layout;
    for (int d = 0; d < max_dims; d++) {
        if (index[d] < 0 || index[d] >= l.ne[d]) {
            fail(Status::invalid_argument, "%s: index [%lld, %lld, %lld, %lld] is outside of %s", what, static_cast<long long>(index[0]),
                 static_cast<long long>(index[1]), static_cast<long long>(index[2]), static_cast<long long>(index[3]),
                 tensor_text(t).c_str());
        }
    }
    const std::int64_t row = index[1] + l.ne[1] * (index[2] + l.ne[2] * index[3]);
    const DTypeTraits &type = traits(l.type);
    return static_cast<std::size_t>(row) * l.row_bytes() + static_cast<std::size_t>(index[0] / type.block_size) * type.size;
}

}  // namespace

float get_f32(const Tensor &t, const Extents &index) {
    constexpr const char *what = "tensor_get_f32";
    const std::size_t offset = block_offset(what, t, index);
    const DataLock lock(t, false, what);
    check_readable(what, t);
    const DTypeTraits &type = traits(t.layout.type);
    alignas(8) std::byte block[largest_block];
    float values[longest_block];
    Reader(t).read(block, offset, type.size);
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
    Reader(t).read(block, offset, type.size);
    type.decode(block, values, type.block_size);
    values[index[0] % type.block_size] = value;
    if (type.encode(values, nullptr, block, type.block_size) >= 0) fail_unrepresentable(what, t, index[0], value);
    write_unlocked(t, block, offset, type.size);
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
    RunLock &lock = lock_context(t).run_lock();
    if (write) {
        lock.unlock_exclusive();
    } else {
        lock.unlock_shared();
    }
    TensorUse::end_of(t);
}

void set_constant(Tensor &t) {
    constexpr const char *what = "tensor_set_constant";
    if (!t.is_leaf()) {
        fail(Status::invalid_argument, "%s: %s is the result of %s: only leafs can be constant", what, tensor_text(t).c_str(),
             op_name(t.op));
    }
    const DataLock lock(t, true, what);
    check_readable(what, t);
    if (!t.constant.exchange(true, std::memory_order_acq_rel)) lock_context(t).count_promised();
}

namespace {

// Throws where a row does not come back as it is. What is read and made at a time stays in the second-level cache.
void check_rebuilds(const char *what, const Tensor &leaf, const StandIn &stand_in) {
    constexpr std::size_t stage_bytes = 256 << 10;
    const std::size_t row_bytes = leaf.layout.row_bytes();
    const auto rows_at_a_time = static_cast<std::int64_t>(std::max<std::size_t>(stage_bytes / row_bytes, 1));
    const std::int64_t n_rows = leaf.layout.n_rows();
    std::vector<std::byte> stage(static_cast<std::size_t>(std::min(rows_at_a_time, n_rows)) * row_bytes);
    const std::byte *original = leaf.address();
    for (std::int64_t row = 0; row < n_rows; row += rows_at_a_time) {
        const auto n = static_cast<std::size_t>(std::min(rows_at_a_time, n_rows - row)) * row_bytes;
        stand_in.rebuild(row, std::min(rows_at_a_time, n_rows - row), stage.data());
        if (std::memcmp(stage.data(), original, n) == 0) {
            original += n;
            continue;
        }
        const auto at = static_cast<std::size_t>(std::mismatch(original, original + n, stage.data()).first - leaf.address());
        fail(Status::unsupported, "%s: the packed copy of %s does not have all of its bits: byte %zu would change", what,
             tensor_text(leaf).c_str(), at);
    }
}

}  // namespace

void drop_original(Tensor &t) {
    constexpr const char *what = "tensor_drop_original";
    Context &context = lock_context(t);
    const DataLock lock(t, true, what);
    if (!t.is_leaf() || !t.constant.load(std::memory_order_acquire)) {
        fail(Status::invalid_argument, "%s: %s is no constant: call tensor_set_constant first", what, tensor_text(t).c_str());
    }
    if (is_dropped(t)) return;
    if (!context.memory().host_accessible()) {
        fail(Status::unsupported, "%s: %s lives on %s: only CPU backends keep packed copies", what, tensor_text(t).c_str(),
             context.memory().device());
    }
    const Ref<const StandIn> copy = context.copy_of(t);
    if (!copy) {
        fail(Status::unsupported,
             "%s: no packed copy holds the contents of %s: first compute a product of all of it whose plan's text says 'packed copy'", what,
             tensor_text(t).c_str());
    }
    if (t.home == Home::mapped_file) {
        context.memory().discard(t.address(), t.layout.nbytes());
        return;
    }
    if (t.home == Home::file_in_memory) {
        fail(Status::unsupported, "%s: %s lies in a file that was read into memory as a whole: map it instead", what,
             tensor_text(t).c_str());
    }
    if (const char *reason = copy->refusal()) fail(Status::unsupported, "%s: %s: %s", what, tensor_text(t).c_str(), reason);
    check_rebuilds(what, t, *copy);
    context.replace_data(t, copy);
    context.count_promised();
}

}  // namespace tensorlib::core
