#include "base/platform.hpp"

#include "base/cgroup.hpp"
#include "base/checked.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <thread>

// TL_PORTABLE (the build's TENSORLIB_PORTABLE) keeps only the fallbacks, so that they are tested on this system too.
#if defined(__linux__) && !defined(TL_PORTABLE)
#define TL_LINUX 1
#endif

#if defined(TL_LINUX)
#include <sched.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <unistd.h>
#endif

namespace tensorlib::core::platform {

// calloc rather than mmap: it too returns untouched zero pages for large sizes, and valgrind and LeakSanitizer detect
// when they are lost. The word before the aligned block holds its pointer.
void *allocate_pages(std::size_t size) noexcept {
    // Uses large pages: a 4096 x 4096 F32 matrix takes 16,384 small ones, so panels that walk down its columns miss the
    // TLB on every row, and prefetchers stop at the end of each page. One column of a Q4_0 constant reads 30 GB/s, in
    // small pages 22. Memory therefore begins at a multiple of their size (the bytes before it are never touched), and
    // the last page is filled up if that adds no more than an eighth.
    constexpr std::size_t huge = std::size_t{2} << 20;
    const bool large = size >= 2 * huge;
    const std::size_t alignment = large ? huge : page_size, behind = (huge - size % huge) % huge;
    const std::size_t filled = large && behind <= size / 8 ? behind : 0;
    std::size_t padded;
    if (!checked_add(size, alignment + sizeof(void *) + filled, padded)) return nullptr;
    void *raw = std::calloc(1, padded);
    if (!raw) return nullptr;
    const auto first = reinterpret_cast<std::uintptr_t>(raw) + sizeof(void *);
    void *pages = reinterpret_cast<void *>((first + alignment - 1) & ~(alignment - 1));
    std::memcpy(static_cast<char *>(pages) - sizeof(void *), &raw, sizeof raw);
#if defined(TL_LINUX) && defined(MADV_HUGEPAGE)
    // Only advice: if the kernel declines, small pages are used.
    if (large) (void)madvise(pages, (size + filled) & ~(huge - 1), MADV_HUGEPAGE);
#endif
    return pages;
}

void free_pages(void *pages, std::size_t) noexcept {
    if (!pages) return;
    void *raw;
    std::memcpy(&raw, static_cast<char *>(pages) - sizeof(void *), sizeof raw);
    std::free(raw);
}

void discard_pages([[maybe_unused]] void *begin, [[maybe_unused]] std::size_t size) noexcept {
#if defined(TL_LINUX)
    // Uses the system's own page size, which may be larger: the system would round the end up, and discard the bytes
    // after it.
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) & ~(page - 1);
    const auto end = (reinterpret_cast<std::uintptr_t>(begin) + size) & ~(page - 1);
    if (first < end) (void)madvise(reinterpret_cast<void *>(first), end - first, MADV_DONTNEED);
#endif
}

#if defined(TL_LINUX)
namespace {

int affinity_cpus() {
    // The mask's size is not known in advance: the call fails until it is large enough.
    for (int bits = 1024; bits <= (1 << 18); bits *= 4) {
        cpu_set_t *set = CPU_ALLOC(static_cast<std::size_t>(bits));
        if (!set) return 0;
        const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(bits));
        CPU_ZERO_S(size, set);
        const int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (n > 0) return n;
    }
    return 0;
}

}  // namespace

int usable_cpus() noexcept {
    int n = affinity_cpus();
    if (n <= 0) n = static_cast<int>(std::thread::hardware_concurrency());
    try {
        if (const int quota = cgroup_cpus(); quota > 0) n = std::min(n, quota);
    } catch (...) {  // no memory to read the file: uses the affinity mask alone
    }
    return std::max(n, 1);
}

MemoryInfo memory_info() noexcept {
    struct sysinfo s {};
    if (sysinfo(&s) != 0) return {};
    return {std::uint64_t{s.totalram} * s.mem_unit, (std::uint64_t{s.freeram} + s.bufferram) * s.mem_unit};
}

std::uint64_t available_memory() noexcept {
    try {
        const std::uint64_t system = number_in("/proc/meminfo", "MemAvailable:") << 10;
        if (system == 0) return 0;
        return std::min(system, cgroup_memory());
    } catch (...) {  // no memory to read the files
        return 1;
    }
}
#else
std::uint64_t available_memory() noexcept { return 0; }
int usable_cpus() noexcept { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }
MemoryInfo memory_info() noexcept { return {}; }
#endif

#if defined(__unix__) || defined(__APPLE__)
std::int64_t process_id() noexcept { return getpid(); }

void hold_during_fork(std::mutex &lock) noexcept {
    static std::mutex *held = nullptr;
    assert(!held && "one lock is all that is needed so far");
    held = &lock;
    pthread_atfork([] { held->lock(); }, [] { held->unlock(); }, [] { held->unlock(); });
}
#else
std::int64_t process_id() noexcept { return 0; }
void hold_during_fork(std::mutex &) noexcept {}
#endif

std::string environment(const char *name) {
    const char *value = std::getenv(name);
    return value ? value : "";
}

}  // namespace tensorlib::core::platform
