// The arena: growth, reuse, limits, zeros, and memory that runs out at any point.
#include "graph/arena.hpp"

#include "support.hpp"

#include <cstring>

using tl::core::Arena;
using tl::core::MemoryBudget;

namespace {

// Host memory that can be told to fail and to come dirty, and counts.
class CountingMemory : public tl::core::DeviceMemory {
public:
    const char *device() const noexcept override { return "test"; }
    bool host_accessible() const noexcept override { return true; }
    std::size_t alignment() const noexcept override { return 64; }
    bool acquires_zeros() const noexcept override { return fill == 0; }
    void *acquire(std::size_t size) override {
        if (fail_after == 0) return nullptr;
        if (fail_after > 0) fail_after--;
        live++;
        chunks++;
        void *p = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
        std::memset(p, fill, size);
        return p;
    }
    void release(void *p, std::size_t) noexcept override {
        live--;
        std::free(p);
    }
    void zero(void *p, std::size_t size) override { std::memset(p, 0, size); }
    void write(void *to, const void *from, std::size_t size) override { std::memcpy(to, from, size); }
    void read(void *to, const void *from, std::size_t size) override { std::memcpy(to, from, size); }

    int fail_after = -1, fill = 0;
    int live = 0, chunks = 0;
};

TEST(Arena, blocks_of_memory_that_comes_dirty_are_zeroed_where_asked) {
    CountingMemory memory;
    memory.fill = 0xaa;
    MemoryBudget budget;
    Arena arena(memory, budget);
    for (int round = 0; round < 2; round++) {
        for (std::size_t size : {1, 100, 70000, 2000000}) {
            const auto *p = static_cast<const unsigned char *>(arena.allocate(size, true));
            for (std::size_t i = 0; i < size; i++) ASSERT_EQ(p[i], 0) << size;
            arena.allocate(size);
        }
        arena.reset();
    }
}

TEST(Arena, blocks_are_aligned_apart_and_zeroed) {
    CountingMemory memory;
    {
        MemoryBudget budget;
        Arena arena(memory, budget);
        std::vector<std::pair<unsigned char *, std::size_t>> blocks;
        for (std::size_t size : {1, 63, 64, 65, 1000, 70000, 2000000, 0, 5}) {
            auto *p = static_cast<unsigned char *>(arena.allocate(size, true));
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
            for (std::size_t i = 0; i < size; i++) ASSERT_EQ(p[i], 0);
            std::memset(p, static_cast<int>(blocks.size() + 1), size);
            blocks.emplace_back(p, size);
        }
        for (std::size_t b = 0; b < blocks.size(); b++) {
            for (std::size_t i = 0; i < blocks[b].second; i++) ASSERT_EQ(blocks[b].first[i], b + 1);
        }
        EXPECT_EQ(budget.used, budget.peak);
    }
    EXPECT_EQ(memory.live, 0);
}

TEST(Arena, the_same_blocks_again_after_release) {
    CountingMemory memory;
    MemoryBudget budget;
    Arena arena(memory, budget);
    arena.allocate(100);
    std::size_t used = 0;
    for (int round = 0; round < 100; round++) {
        void *a = arena.allocate(1000), *b = arena.allocate(5000), *c = arena.allocate(3000000);
        arena.release(b, 5000);
        arena.release(c, 3000000);
        arena.release(a, 1000);
        if (round == 0) used = budget.used;
        EXPECT_EQ(budget.used, used);
    }
    EXPECT_EQ(memory.chunks, 2);
}

TEST(Arena, neighbours_merge) {
    CountingMemory memory;
    MemoryBudget budget;
    Arena arena(memory, budget);
    void *a = arena.allocate(640), *b = arena.allocate(640), *c = arena.allocate(640);
    arena.allocate(64);  // keeps c from the top
    arena.release(a, 640);
    arena.release(c, 640);
    arena.release(b, 640);
    EXPECT_EQ(arena.allocate(1920), a);
}

TEST(Arena, reset_keeps_memory_and_zeroes_what_is_reused) {
    CountingMemory memory;
    MemoryBudget budget;
    Arena arena(memory, budget);
    for (int round = 0; round < 5; round++) {
        for (std::size_t size : {100, 40000, 50000, 1500000}) {
            auto *p = static_cast<unsigned char *>(arena.allocate(size, true));
            for (std::size_t i = 0; i < size; i++) ASSERT_EQ(p[i], 0);
            std::memset(p, 7, size);
        }
        arena.reset();
        EXPECT_EQ(budget.used, 0u);
    }
    EXPECT_EQ(memory.chunks, 3);
}

TEST(Arena, the_limit_holds_and_failing_changes_nothing) {
    CountingMemory memory;
    MemoryBudget budget{1024, 0, 0};
    Arena arena(memory, budget);
    arena.allocate(512);
    support::expect_error(tl::Status::out_of_memory, {"576", "512", "1024"}, [&] { arena.allocate(520); });
    EXPECT_EQ(budget.used, 512u);
    arena.allocate(512);
    support::expect_error(tl::Status::out_of_memory, {"1024"}, [&] { arena.allocate(1); });
    support::expect_error(tl::Status::out_of_memory, {}, [&] { arena.allocate(~std::size_t{0}); });
}

TEST(Arena, a_callers_buffer_is_never_outgrown) {
    CountingMemory memory;
    alignas(64) unsigned char buffer[4096 + 1];
    std::memset(buffer, 9, sizeof buffer);
    {
        MemoryBudget budget;
        Arena arena(memory, budget, buffer + 1, 4096);
        auto *p = static_cast<unsigned char *>(arena.allocate(2000, true));
        EXPECT_GE(p, buffer + 1);
        for (int i = 0; i < 2000; i++) ASSERT_EQ(p[i], 0);
        support::expect_error(tl::Status::out_of_memory, {"buffer"}, [&] { arena.allocate(2500); });
        arena.release(p, 2000);
        arena.allocate(4000, true);
    }
    EXPECT_EQ(memory.chunks, 0);
    EXPECT_EQ(buffer[0], 9);
    EXPECT_EQ(buffer[4096], 9);
    alignas(64) unsigned char tiny[10];
    MemoryBudget budget;
    Arena arena(memory, budget, tiny, sizeof tiny);
    support::expect_error(tl::Status::out_of_memory, {"buffer"}, [&] { arena.allocate(1); });
}

// The n-th request for memory fails, for n = 0, 1, ... until the scenario succeeds; nothing is lost on the way.
TEST(Arena, survives_a_failure_at_any_point) {
    for (int n = 0;; n++) {
        CountingMemory memory;
        memory.fail_after = n;
        int failures = 0;
        {
            MemoryBudget budget;
            Arena arena(memory, budget);
            for (std::size_t size : {50000, 50000, 2000000, 300000, 64}) {
                const std::size_t before = budget.used;
                try {
                    std::memset(arena.allocate(size, true), 1, size);
                } catch (const tl::Error &error) {
                    EXPECT_EQ(error.code(), tl::Status::out_of_memory);
                    EXPECT_EQ(budget.used, before);
                    failures++;
                    memory.fail_after = -1;
                }
            }
        }
        EXPECT_EQ(memory.live, 0);
        if (failures == 0) break;
        ASSERT_LT(n, 100);
    }
}

// A plan that is a little larger each time, as a growing cache makes it: chunks that became too small go back.
TEST(Arena, blocks_that_grow_hold_a_chunk_or_two) {
    CountingMemory memory;
    MemoryBudget budget;
    Arena arena(memory, budget);
    arena.allocate(100);
    for (std::size_t size = 2 << 20; size < std::size_t{8} << 20; size += 64 << 10) {
        void *block = arena.allocate(size);
        EXPECT_LE(memory.live, 2);
        arena.release(block, size);
    }
    EXPECT_LE(memory.chunks, 10) << "chunks are not asked for each time";
    // The next one made before the last one goes: one more.
    void *last = arena.allocate(std::size_t{8} << 20);
    for (std::size_t size = 9 << 20; size < std::size_t{16} << 20; size += 1 << 20) {
        void *block = arena.allocate(size);
        arena.release(last, size - (1 << 20));
        EXPECT_LE(memory.live, 3);
        last = block;
    }
}

TEST(Arena, what_cannot_be_zeroed_is_given_back) {
    class Failing final : public CountingMemory {
    public:
        void zero(void *, std::size_t) override { throw tl::Error(tl::Status::device, "it failed"); }
    } memory;
    memory.fill = 1;
    MemoryBudget budget;
    Arena arena(memory, budget);
    support::expect_error(tl::Status::device, {"it failed"}, [&] { arena.allocate(1000, true); });
    EXPECT_EQ(budget.used, 0u);
    void *first = arena.allocate(1000);
    arena.release(first, 1000);
    EXPECT_EQ(arena.allocate(1000), first);
}

}  // namespace
