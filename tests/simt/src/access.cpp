#include "access.hpp"

#include "kernel.hpp"
#include "shared_memory.hpp"
#include "state.hpp"

#include <link.h>

#include <algorithm>
#include <cstring>

namespace simt {

Running running;

void begin_run(Device &device, const Work &work, Point point, const Clock &clock, int stream_serial) {
    Timeline &timeline = state().timeline;
    const std::uint32_t n = work.n_blocks + tag_first_block;
    if (n > n_tags - 2 - timeline.next_tag) {
        // Out of tags: all accesses so far are forgotten, and races with them missed.
        for (auto &each : state().devices) each->memory.forget_all_accesses();
        timeline.records.clear();
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
    running.first = running.mine = running.floor = timeline.next_tag;
    for (const RunRecord &record : timeline.records) {
        if (clock.includes(record.point.slot, record.point.number)) continue;
        running.floor = record.first_tag;
        break;
    }
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
    if (this_lane()) abandon_kernel(code, report);
    throw WorkFault{code, report};
}

namespace {

using Tag = std::uint32_t;

const char *verb(Access access) { return access == Access::read ? "reads" : access == Access::write ? "writes" : "updates atomically"; }

std::string place(const DeviceMemory &memory, std::size_t offset, std::size_t n, Access access) {
    return format("%s %zu bytes at device address 0x%zx, %s", verb(access), n, memory.base_address() + offset,
                  memory.describe(memory.base_address() + offset).c_str());
}

// What is wrong with the first bad byte of an access whose bytes are not all written.
[[gnu::noinline]] void check_states(DeviceMemory &memory, std::size_t offset, std::size_t n, Access access, bool must_be_written) {
    const RuntimeCode unwatched;
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
}

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

// Another tag has accessed the same bytes: fine if that work happened before.
[[gnu::noinline]] void check_order(DeviceMemory &memory, std::size_t word, Tag other, bool other_wrote, Access access) {
    const RuntimeCode unwatched;
    const char *did = other_wrote ? "wrote" : "read";
    if (other >= running.first) {
        if (access == Access::atomic && other_wrote && other == running.first + 1) return;
        if (other == running.mine) return;
        fault(cudaErrorLaunchFailure, place(memory, word * 4, 4, access) + format(", which %s of the same kernel %s: a race between blocks",
                                                                                  block_name(other).c_str(), did));
    }
    const RunRecord *record = record_of(other);
    if (!record || running.clock->includes(record->point.slot, record->point.number)) return;
    fault(cudaErrorLaunchFailure,
          place(memory, word * 4, 4, access) +
              format(", which %s (stream #%d) %s: neither stream order nor an event nor the host orders this (stream #%d) after it",
                     record->name.c_str(), record->stream_serial, did, running.stream_serial));
}

DeviceMemory &device_memory(DeviceMemory &memory) { return memory; }
DeviceMemory &device_memory(Running &now) { return now.device->memory; }

bool in_question(Tag tag, unsigned mask) { return (tag >> 4) != running.mine && (tag >> 4) >= running.floor && (tag & mask) != 0; }

template <class Memory>  // DeviceMemory, or Running for that of the kernel's device
inline void note_read(Memory &memory, std::size_t word, unsigned mask) {
    const Tag writer = memory.writer[word];
    if (in_question(writer, mask)) [[unlikely]]
        check_order(device_memory(memory), word, writer >> 4, true, Access::read);
    Tag &reader = memory.reader[word];
    const Tag id = reader >> 4;
    if (id == running.mine) {
        reader |= mask;
    } else if (id == running.first) {
        // Several blocks already: it stays so for the bytes that they share.
        if ((reader & mask) == 0) reader = running.mine << 4 | mask;
    } else if (id > running.first && (reader & mask) != 0) {
        reader = running.first << 4 | (reader & mask);
    } else {
        reader = running.mine << 4 | mask;
    }
}

template <class Memory>
inline void note_write(Memory &memory, std::size_t word, unsigned mask, Access access) {
    Tag &writer = memory.writer[word];
    if (in_question(writer, mask)) [[unlikely]]
        check_order(device_memory(memory), word, writer >> 4, true, access);
    const Tag reader = memory.reader[word];
    if (in_question(reader, mask)) [[unlikely]]
        check_order(device_memory(memory), word, reader >> 4, false, access);
    if ((writer >> 4) == running.mine) {
        writer |= mask;  // also by an atomic operation: other blocks' must then not meet it
    } else {
        writer = (access == Access::atomic ? running.first + 1 : running.mine) << 4 | mask;
    }
}

template <class F>
inline void for_words(std::size_t offset, std::size_t n, F f) {
    for (std::size_t word = offset / 4; word <= (offset + n - 1) / 4; word++) {
        unsigned mask = 15;
        if (word * 4 < offset) mask &= 15u << (offset - word * 4);
        if (word * 4 + 4 > offset + n) mask &= 15u >> (word * 4 + 4 - offset - n);
        f(word, mask);
    }
}

template <int N>
inline bool all_written(const std::uint8_t *state) {
    if constexpr (N == 16) return all_written<8>(state) && all_written<8>(state + 8);
    std::uint64_t now = 0, wanted = 0;
    std::memcpy(&now, state, N == 16 ? 8 : N);
    std::memset(&wanted, written, N == 16 ? 8 : N);
    return now == wanted;
}

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

[[gnu::noinline]] void check_elsewhere(std::uintptr_t p, std::size_t n, Access access) {
    const RuntimeCode unwatched;
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
}

[[gnu::noinline]] void misaligned(std::uintptr_t p, std::size_t n, Access access) {
    const RuntimeCode unwatched;
    fault(cudaErrorMisalignedAddress, format("%s %zu bytes at 0x%zx, which is not a multiple of %zu", verb(access), n, p, n));
}

template <int N, Access access>
inline void check_device(std::size_t offset) {
    if (!all_written<N>(running.state + offset)) [[unlikely]]
        check_states(running.device->memory, offset, N, access, true);
    const std::size_t word = offset / 4;
    constexpr unsigned bytes = N >= 4 ? 15 : (1u << N) - 1;
    const unsigned mask = N >= 4 ? bytes : bytes << (offset % 4);
    for (int i = 0; i < (N + 3) / 4; i++) {
        if constexpr (access == Access::read) {
            note_read(running, word + static_cast<std::size_t>(i), mask);
        } else {
            note_write(running, word + static_cast<std::size_t>(i), mask, access);
        }
    }
}

template <int N, Access access>
inline void on_access(const void *pointer) {
    if (!watched_lane) return;  // host code of a kernel file
    const auto p = reinterpret_cast<std::uintptr_t>(pointer);
    if (p % N != 0) [[unlikely]]
        misaligned(p, N, access);
    if (p - running.base < running.size) {
        check_device<N, access>(p - running.base);
    } else if (p - running.stack < fiber_stack_size) {
    } else if (SharedMemory::near(p)) {
        check_shared(p, N, access);
    } else {
        check_elsewhere(p, N, access);
    }
}

void on_range(const void *pointer, std::size_t n, Access access) {
    if (!watched_lane || n == 0) return;
    const auto p = reinterpret_cast<std::uintptr_t>(pointer);
    if (p - running.base < running.size) {
        check_device_range(running.device->memory, pointer, n, access);
    } else if (p - running.stack < fiber_stack_size && n <= fiber_stack_size - (p - running.stack)) {
    } else if (SharedMemory::near(p)) {
        check_shared(p, n, access);
    } else {
        check_elsewhere(p, n, access);
    }
}

}  // namespace

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

void check_aligned(const void *p, std::size_t size) {
    if (watched_lane && reinterpret_cast<std::uintptr_t>(p) % size != 0)
        misaligned(reinterpret_cast<std::uintptr_t>(p), size, Access::read);
}

namespace {

template <class T>
T add_atomically(T *p, T value) {
    on_access<sizeof(T), Access::atomic>(p);
    const T old = *p;
    *p = old + value;
    return old;
}

}  // namespace

int atomic_add(int *p, int value) {
    return static_cast<int>(add_atomically(reinterpret_cast<unsigned *>(p), static_cast<unsigned>(value)));
}
unsigned atomic_add(unsigned *p, unsigned value) { return add_atomically(p, value); }
unsigned long long atomic_add(unsigned long long *p, unsigned long long value) { return add_atomically(p, value); }
float atomic_add(float *p, float value) { return add_atomically(p, value); }

}  // namespace simt

// What g++ calls in code compiled with -fsanitize=thread, and in kernel files for memcpy and its kin.
using simt::Access;

#define SIMT_CALLBACKS(N)                                                                   \
    void __tsan_read##N(void *p) { simt::on_access<N, Access::read>(p); }                   \
    void __tsan_write##N(void *p) { simt::on_access<N, Access::write>(p); }                 \
    void __tsan_read##N##_pc(void *p, void *) { simt::on_access<N, Access::read>(p); }      \
    void __tsan_write##N##_pc(void *p, void *) { simt::on_access<N, Access::write>(p); }    \
    void __tsan_volatile_read##N(void *p) { simt::on_access<N, Access::read>(p); }          \
    void __tsan_volatile_write##N(void *p) { simt::on_access<N, Access::write>(p); }        \
    void __tsan_unaligned_read##N(void *p) { simt::on_range(p, N, Access::read); }          \
    void __tsan_unaligned_write##N(void *p) { simt::on_range(p, N, Access::write); }        \
    void __tsan_unaligned_volatile_read##N(void *p) { simt::on_range(p, N, Access::read); } \
    void __tsan_unaligned_volatile_write##N(void *p) { simt::on_range(p, N, Access::write); }

// The operations of the __atomic built-ins: everything runs in one thread, so plain ones do.
#define SIMT_ATOMIC_FETCH(bits, T, name, expression)                    \
    T __tsan_atomic##bits##_fetch_##name(volatile T *p, T value, int) { \
        auto *q = const_cast<T *>(p);                                   \
        simt::on_access<sizeof(T), Access::atomic>(q);                  \
        const T old = *q;                                               \
        *q = static_cast<T>(expression);                                \
        return old;                                                     \
    }
#define SIMT_ATOMICS(bits, T)                                                                            \
    T __tsan_atomic##bits##_load(const volatile T *p, int) {                                             \
        auto *q = const_cast<T *>(p);                                                                    \
        simt::on_access<sizeof(T), Access::atomic>(q);                                                   \
        return *q;                                                                                       \
    }                                                                                                    \
    void __tsan_atomic##bits##_store(volatile T *p, T value, int) {                                      \
        auto *q = const_cast<T *>(p);                                                                    \
        simt::on_access<sizeof(T), Access::atomic>(q);                                                   \
        *q = value;                                                                                      \
    }                                                                                                    \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *expected, T value, int, int) {   \
        auto *q = const_cast<T *>(p);                                                                    \
        simt::on_access<sizeof(T), Access::atomic>(q);                                                   \
        if (*q == *expected) {                                                                           \
            *q = value;                                                                                  \
            return 1;                                                                                    \
        }                                                                                                \
        *expected = *q;                                                                                  \
        return 0;                                                                                        \
    }                                                                                                    \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *expected, T value, int a, int b) { \
        return __tsan_atomic##bits##_compare_exchange_strong(p, expected, value, a, b);                  \
    }                                                                                                    \
    SIMT_ATOMIC_FETCH(bits, T, add, old + value)                                                         \
    SIMT_ATOMIC_FETCH(bits, T, sub, old - value)                                                         \
    SIMT_ATOMIC_FETCH(bits, T, and, old &value)                                                          \
    SIMT_ATOMIC_FETCH(bits, T, or, old | value)                                                          \
    SIMT_ATOMIC_FETCH(bits, T, xor, old ^ value)                                                         \
    T __tsan_atomic##bits##_exchange(volatile T *p, T value, int) {                                      \
        auto *q = const_cast<T *>(p);                                                                    \
        simt::on_access<sizeof(T), Access::atomic>(q);                                                   \
        const T old = *q;                                                                                \
        *q = value;                                                                                      \
        return old;                                                                                      \
    }

extern "C" {

SIMT_CALLBACKS(1)
SIMT_CALLBACKS(2)
SIMT_CALLBACKS(4)
SIMT_CALLBACKS(8)
SIMT_CALLBACKS(16)
SIMT_ATOMICS(8, std::uint8_t)
SIMT_ATOMICS(16, std::uint16_t)
SIMT_ATOMICS(32, std::uint32_t)
SIMT_ATOMICS(64, std::uint64_t)

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **p, void *) { simt::on_access<8, Access::write>(p); }
void __tsan_vptr_read(void **p) { simt::on_access<8, Access::read>(p); }
void __tsan_read_range(void *p, std::size_t n) { simt::on_range(p, n, Access::read); }
void __tsan_write_range(void *p, std::size_t n) { simt::on_range(p, n, Access::write); }
void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}

// The compiler's check of alignment where the undefined-behaviour sanitizer's library is not linked.
struct AlignmentCheck {
    const char *file;
    std::uint32_t line, column;
    const void *type;
    unsigned char log_alignment, kind;
};
[[gnu::weak]] void __ubsan_handle_type_mismatch_v1(AlignmentCheck *check, void *p) {
    if (!simt::watched_lane)
        simt::die("%s:%u: the host uses %p, which is not a multiple of %u", check->file, check->line, p, 1u << check->log_alignment);
    const simt::RuntimeCode unwatched;
    simt::fault(cudaErrorMisalignedAddress,
                simt::format("at %s:%u uses %p, which is not a multiple of %u", check->file, check->line, p, 1u << check->log_alignment));
}

// kernel_prelude.h gives memcpy, memmove and memset these names in kernel files.
void *simt_memcpy(void *to, const void *from, std::size_t n) {
    simt::on_range(from, n, Access::read);
    simt::on_range(to, n, Access::write);
    return std::memcpy(to, from, n);
}
void *simt_memmove(void *to, const void *from, std::size_t n) {
    simt::on_range(from, n, Access::read);
    simt::on_range(to, n, Access::write);
    return std::memmove(to, from, n);
}
void *simt_memset(void *p, int value, std::size_t n) {
    simt::on_range(p, n, Access::write);
    return std::memset(p, value, n);
}

}  // extern "C"
