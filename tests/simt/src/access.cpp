#include "access.hpp"

#include "kernel.hpp"
#include "state.hpp"
#include "tags.hpp"

#include <link.h>

#include <algorithm>
#include <cstring>

namespace simt {

Running running;

namespace {

// Clocks of a slot only grow, so the search goes on where it ended for the slot's last work.
Tag find_floor(int slot, const Clock &clock) {
    Timeline &timeline = state().timeline;
    const auto &records = timeline.records;
    Tag &floor = timeline.floors[static_cast<std::size_t>(slot)];
    auto record = std::lower_bound(records.begin(), records.end(), floor, [](const RunRecord &r, Tag tag) { return r.first_tag < tag; });
    while (record != records.end() && clock.includes(record->point.slot, record->point.number)) ++record;
    floor = record == records.end() ? timeline.next_tag : record->first_tag;
    return floor;
}

}  // namespace

void begin_run(Device &device, const Work &work, Point point, const Clock &clock, int stream_serial) {
    Timeline &timeline = state().timeline;
    const std::uint32_t n = work.n_blocks + tag_first_block;
    if (n > n_tags - 2 - timeline.next_tag) {
        // Out of tags: all accesses so far are forgotten, and races with them missed.
        for (auto &each : state().devices) each->memory.forget_all_accesses();
        timeline.records.clear();
        timeline.floors.assign(timeline.floors.size(), 0);
        timeline.next_tag = 2;
    }
    running.device = &device;
    running.work = &work;
    running.clock = &clock;
    running.stream_serial = stream_serial;
    running.base = device.memory.base_address();
    running.size = device.memory.size;
    running.state = device.memory.state;
    running.writer = device.memory.writer;
    running.reader = device.memory.reader;
    running.first = running.mine = timeline.next_tag;
    running.floor = find_floor(point.slot, clock);
    timeline.next_tag += n;
    timeline.records.push_back({running.first, point, work.name, stream_serial});
}

void end_run() { running = Running{}; }

std::string subject() {
    if (this_lane()) return name_in_kernel(*this_lane());
    return format("%s, stream #%d", running.work ? running.work->name.c_str() : "work", running.stream_serial);
}

std::string report_of(const std::string &who, const std::string &what) {
    return format("simulated GPU: %s: %s (seed %llu)", who.c_str(), what.c_str(), static_cast<unsigned long long>(state().config.seed));
}

void fault(cudaError_t code, const std::string &text) {
    const std::string report = report_of(subject(), text);
    throw WorkFault{code, report};
}

const char *verb(Access access) { return access == Access::read ? "reads" : access == Access::write ? "writes" : "updates atomically"; }

namespace {

std::string place(const DeviceMemory &memory, std::size_t offset, std::size_t n, Access access) {
    return format("%s %zu bytes at device address 0x%zx, %s", verb(access), n, memory.base_address() + offset,
                  memory.describe(memory.base_address() + offset).c_str());
}

}  // namespace

void check_states(DeviceMemory &memory, std::size_t offset, std::size_t n, Access access, bool must_be_written) {
    in_runtime([&] {
        if (offset > memory.size || n > memory.size - offset) {
            fault(cudaErrorIllegalAddress,
                  format("%s %zu bytes at 0x%zx, which run past the device's memory", verb(access), n, memory.base_address() + offset));
        }
        for (std::size_t i = 0; i < n;) {
            const std::uint8_t state = memory.state[offset + i];
            const std::uint8_t *byte = memory.state + offset;
            if (state == no_access || !memory.holding(reinterpret_cast<const void *>(memory.base_address() + offset + i), 1)) {
                std::string text = place(memory, offset + i, n, access);
                if (memory.holding(reinterpret_cast<const void *>(memory.base_address() + offset + i), 1))
                    text += ", which is marked as not accessible";
                if (i > 0) text += format(" (byte %zu of the access)", i);
                fault(cudaErrorIllegalAddress, text);
            }
            if (state == unwritten && must_be_written && access != Access::write) {
                std::string text = place(memory, offset + i, n, access) + ", which was never written";
                if (i > 0) text += format(" (byte %zu of the access)", i);
                fault(cudaErrorIllegalAddress, text);
            }
            // The rest of the page has the same owner; only its states are left to look at.
            const std::size_t page_end = std::min(n, i + 4096 - (offset + i) % 4096);
            std::uint64_t eight;
            std::memset(&eight, state, 8);
            while (i + 8 <= page_end && std::memcmp(byte + i, &eight, 8) == 0) i += 8;
            while (i < page_end && byte[i] == state) i++;
        }
        if (access == Access::write) std::memset(memory.state + offset, written, n);
    });
}

namespace {

const RunRecord *record_of(Tag tag) {
    const auto &records = state().timeline.records;
    const auto after = std::upper_bound(records.begin(), records.end(), tag, [](Tag t, const RunRecord &r) { return t < r.first_tag; });
    return after == records.begin() ? nullptr : &*std::prev(after);
}

std::string block_name(Tag tag) {
    if (tag == running.first) return "several blocks";
    if (tag == running.first + 1) return "an atomic operation";
    return "block " + block_coordinates(tag - running.first - tag_first_block);
}

}  // namespace

void check_order(DeviceMemory &memory, std::size_t word, Tag other, bool other_wrote, Access access) {
    in_runtime([&] {
        const char *did = other_wrote ? "wrote" : "read";
        if (other >= running.first) {
            if (access == Access::atomic && other_wrote && other == running.first + 1) return;
            if (other == running.mine) return;
            fault(cudaErrorLaunchFailure,
                  place(memory, word * 4, 4, access) +
                      format(", which %s of the same kernel %s: a race between blocks", block_name(other).c_str(), did));
        }
        const RunRecord *record = record_of(other);
        if (!record || running.clock->includes(record->point.slot, record->point.number)) return;
        fault(cudaErrorLaunchFailure,
              place(memory, word * 4, 4, access) +
                  format(", which %s (stream #%d) %s: neither stream order nor an event nor the host orders this (stream #%d) after it",
                         record->name.c_str(), record->stream_serial, did, running.stream_serial));
    });
}

namespace {

// Memory that is no device's, no stack of its own and not shared: constants may be read, nothing else.
bool is_constant(std::uintptr_t p, std::size_t n) {
    struct Segment {
        std::uintptr_t begin, end;
    };
    static std::vector<Segment> segments;
    const auto known = [&] {
        return std::any_of(segments.begin(), segments.end(),
                           [&](Segment s) { return p >= s.begin && n <= s.end - s.begin && p - s.begin <= s.end - s.begin - n; });
    };
    if (known()) return true;
    segments.clear();
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *) {
            for (int i = 0; i < info->dlpi_phnum; i++) {
                const auto &header = info->dlpi_phdr[i];
                // What is read-only from the start, or after relocation.
                if ((header.p_type == PT_LOAD && (header.p_flags & PF_W) == 0) || header.p_type == PT_GNU_RELRO) {
                    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
                    segments.push_back({begin, begin + header.p_memsz});
                }
            }
            return 0;
        },
        nullptr);
    return known();
}

}  // namespace

void check_elsewhere(std::uintptr_t p, std::size_t n, Access access) {
    in_runtime([&] {
        if (access == Access::read && (is_kernel_argument(p, n) || is_constant(p, n))) return;
        const char *where = "host memory";
        if (p < 4096) where = "a null pointer";
        if (FiberPool::contains(p)) where = "the stack of another thread";
        for (const auto &device : state().devices) {
            if (device->memory.contains(reinterpret_cast<const void *>(p)) && device.get() != running.device)
                where = "memory of another device";
        }
        const auto after = state().pinned.upper_bound(p);
        if (after != state().pinned.begin() && p - std::prev(after)->first < std::prev(after)->second.size) where = "pinned host memory";
        fault(cudaErrorIllegalAddress, format("%s %zu bytes at 0x%zx, which is %s", verb(access), n, p, where));
    });
}

void misaligned(std::uintptr_t p, std::size_t n, Access access) {
    in_runtime(
        [&] { fault(cudaErrorMisalignedAddress, format("%s %zu bytes at 0x%zx, which is not a multiple of %zu", verb(access), n, p, n)); });
}

void check_device_range(DeviceMemory &memory, const void *p, std::size_t n, Access access, bool must_be_written) {
    if (n == 0) return;
    const std::size_t offset = memory.offset_of(p);
    check_states(memory, offset, n, access, must_be_written);
    for_words(offset, n, [&](std::size_t word, unsigned mask) {
        if (access == Access::read) {
            note_read(memory, word, mask);
        } else {
            note_write(memory, word, mask, access);
        }
    });
}

}  // namespace simt
