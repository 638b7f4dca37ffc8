#include "graph/strided_bytes.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

// Calls move(offset in the tensor, packed, n) for runs of n bytes that are contiguous both in the tensor and in packed
// order. Together the runs cover the packed bytes [offset, offset + size).
template <class Move>
void for_each_run(const Layout &l, std::size_t offset, std::size_t size, Move move) {
    if (size == 0) return;
    if (l.contiguous()) {
        move(offset, std::size_t{0}, size);
        return;
    }
    const std::size_t row = l.row_bytes(), unit = l.rows_contiguous() ? row : traits(l.type).size;
    const std::size_t end = offset + size;
    // at: the packed position. Units are cut where the range begins or ends inside one.
    for (std::size_t at = offset; at < end;) {
        const std::size_t in_row = at % row, in_unit = in_row % unit, n = std::min(unit - in_unit, end - at);
        const RowIndex index = row_index(l.ne, static_cast<std::int64_t>(at / row));
        const std::size_t place = row_place(l.nb, index) + in_row / unit * l.nb[0] + in_unit;
        move(place, at - offset, n);
        at += n;
    }
}

// Calls move(address, packed, rows) for the same runs. Runs at a constant distance are passed as rows of one call,
// because a device takes a few microseconds per call.
template <class Move>
void for_each_rows(const Layout &l, std::byte *base, std::size_t offset, std::size_t size, Move move) {
    std::size_t first = 0, first_packed = 0;
    DeviceMemory::Rows rows{};
    for_each_run(l, offset, size, [&](std::size_t place, std::size_t packed, std::size_t n) {
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

// Whether to transfer one block that covers all elements of a view. If the gaps are no larger than the elements, one
// transfer of both beats one per row.
bool worth_covering(const Layout &l, const DeviceMemory &memory, std::size_t size) {
    return !memory.host_accessible() && !l.contiguous() && size == l.nbytes() && l.span_bytes() <= 2 * size;
}

}  // namespace

void write_strided(Tensor &t, const void *data, std::size_t offset, std::size_t size) {
    const auto *from = static_cast<const std::byte *>(data);
    DeviceMemory &memory = t.root->context->memory();
    if (worth_covering(t.layout, memory, size)) {
        std::vector<std::byte> cover(t.layout.span_bytes());
        // The bytes between the elements keep their values; the run lock guards them too.
        if (cover.size() != size) memory.read(cover.data(), t.address(), cover.size());
        for_each_run(t.layout, offset, size,
                     [&](std::size_t place, std::size_t packed, std::size_t n) { std::memcpy(cover.data() + place, from + packed, n); });
        memory.write(t.address(), cover.data(), cover.size());
        return;
    }
    for_each_rows(t.layout, t.address(), offset, size, [&](std::byte *address, std::size_t packed, const DeviceMemory::Rows &rows) {
        memory.write_rows(address, from + packed, rows);
    });
}

StridedReader::StridedReader(const Tensor &t)
    : layout_(t.layout), address_(t.address()), memory_(t.root->context->memory()), root_offset_(t.root_offset) {
    if (!is_dropped(t)) return;
    stage_.resize(t.root->layout.row_bytes());
    rebuilt_.emplace(*t.root, stage_.data());
}

void StridedReader::read(void *data, std::size_t offset, std::size_t size) {
    auto *to = static_cast<std::byte *>(data);
    if (!rebuilt_) {
        read_in_place(to, offset, size);
        return;
    }
    // Elements of one row that are not contiguous each lie in a row of the leaf. To read several of them, read once
    // everything that they span.
    const std::size_t unit = traits(layout_.type).size;
    if (layout_.nb[0] != unit && size > unit) {
        if (cover_.empty()) {
            cover_.resize(layout_.span_bytes());
            rebuilt_->read(root_offset_, cover_.size(), cover_.data());
        }
        take_from(cover_, to, offset, size);
        return;
    }
    for_each_run(layout_, offset, size,
                 [&](std::size_t place, std::size_t packed, std::size_t n) { rebuilt_->read(root_offset_ + place, n, to + packed); });
}

void StridedReader::read_in_place(std::byte *to, std::size_t offset, std::size_t size) const {
    if (worth_covering(layout_, memory_, size)) {
        std::vector<std::byte> cover(layout_.span_bytes());
        memory_.read(cover.data(), address_, cover.size());
        take_from(cover, to, offset, size);
        return;
    }
    for_each_rows(layout_, address_, offset, size, [&](std::byte *address, std::size_t packed, const DeviceMemory::Rows &rows) {
        memory_.read_rows(to + packed, address, rows);
    });
}

void StridedReader::take_from(const std::vector<std::byte> &cover, std::byte *to, std::size_t offset, std::size_t size) const {
    for_each_run(layout_, offset, size,
                 [&](std::size_t place, std::size_t packed, std::size_t n) { std::memcpy(to + packed, cover.data() + place, n); });
}

}  // namespace tensorlib::core
