// The functions that compiled kernels call: the thread sanitizer's callbacks, one per access, and memcpy and its kin.
#include "shared_memory.hpp"
#include "tags.hpp"

#include <cstring>

namespace simt {

namespace {

template <int N>
inline bool all_written(const std::uint8_t *state) {
    if constexpr (N == 16) return all_written<8>(state) && all_written<8>(state + 8);
    std::uint64_t now = 0, wanted = 0;
    std::memcpy(&now, state, N == 16 ? 8 : N);
    std::memset(&wanted, written, N == 16 ? 8 : N);
    return now == wanted;
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

unsigned long long atomic_min(unsigned long long *p, unsigned long long value) {
    on_access<sizeof *p, Access::atomic>(p);
    const unsigned long long old = *p;
    if (value < old) *p = value;
    return old;
}

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

// What fails the compiler's check of alignment, and of null where the undefined-behaviour sanitizer is on. Only kernel
// files call this one, as they alone ask to go on after it; weak, for links with the sanitizer's own library inside.
struct AlignmentCheck {
    const char *file;
    std::uint32_t line, column;
    const void *type;
    unsigned char log_alignment, kind;
};
[[gnu::weak]] void __ubsan_handle_type_mismatch_v1(AlignmentCheck *check, void *p) {
    if (!simt::watched_lane) simt::die("%s:%u: the host uses the bad pointer %p", check->file, check->line, p);
    simt::in_runtime([&] {
        const unsigned alignment = 1u << check->log_alignment;
        if (reinterpret_cast<std::uintptr_t>(p) % alignment != 0) {
            simt::fault(cudaErrorMisalignedAddress,
                        simt::format("at %s:%u uses %p, which is not a multiple of %u", check->file, check->line, p, alignment));
        }
        simt::fault(cudaErrorIllegalAddress, simt::format("at %s:%u uses %p, which is a null pointer", check->file, check->line, p));
    });
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
