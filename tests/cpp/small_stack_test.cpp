// A host's threads may have stacks of 128 KiB, musl's default. Building, planning and computing use less than half of that, and never write
// below the guard page.
#include "support.hpp"

#if defined(__linux__)

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <functional>

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t stack_bytes = 1 << 20;  // instrumented frames are larger
#else
constexpr std::size_t stack_bytes = 64 << 10;
#endif
constexpr std::size_t below_bytes = 256 << 10, guard_bytes = 64 << 10;
constexpr unsigned char pattern = 0x5a;

// Calls a function on a thread with a small stack, over a guard and memory with a pattern. How many bytes of it were changed.
std::size_t changed_below_stack(std::function<void()> call) {
    void *memory = mmap(nullptr, below_bytes + guard_bytes + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    auto *below = static_cast<unsigned char *>(memory);
    std::fill_n(below, below_bytes, pattern);
    EXPECT_EQ(mprotect(below + below_bytes, guard_bytes, PROT_NONE), 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT_EQ(pthread_attr_setstack(&attributes, below + below_bytes + guard_bytes, stack_bytes), 0);
    pthread_t thread;
    const auto run = [](void *argument) -> void * {
        (*static_cast<std::function<void()> *>(argument))();
        return nullptr;
    };
    if (pthread_create(&thread, &attributes, run, &call) == 0) {
        pthread_join(thread, nullptr);
    } else {
        ADD_FAILURE() << "no thread";
    }
    pthread_attr_destroy(&attributes);
    const auto changed = std::count_if(below, below + below_bytes, [](unsigned char byte) { return byte != pattern; });
    munmap(memory, below_bytes + guard_bytes + stack_bytes);
    return static_cast<std::size_t>(changed);
}

using Made = std::function<tl::Tensor(const tl::Context &)>;

// Operations whose frames once exceeded 16 KiB, and the largest users of memory.
std::vector<std::pair<std::string, Made>> cases() {
    const auto square = [](const tl::Context &ctx, tl::Type type = tl::Type::f32) { return ctx.zeros(type, {256, 256}); };
    std::vector<std::pair<std::string, Made>> all = {
        {"soft_max", [=](const tl::Context &ctx) { return soft_max(square(ctx)); }},
        {"a chain", [=](const tl::Context &ctx) { return sqr(add(relu(mul_mat(square(ctx), square(ctx))), square(ctx))); }},
        {"flash_attn_ext",
         [](const tl::Context &ctx) {
             const auto x = ctx.zeros(tl::Type::f32, {64, 256, 4, 1});
             return flash_attn_ext(x, x, x, {}, {});
         }},
        {"conv_2d",
         [](const tl::Context &ctx) {
             return conv_2d(ctx.zeros(tl::Type::f32, {3, 3, 16, 16}), ctx.zeros(tl::Type::f32, {32, 32, 16, 1}));
         }},
        {"conv_2d_dw",
         [](const tl::Context &ctx) {
             return conv_2d_dw(ctx.zeros(tl::Type::f32, {3, 3, 1, 16}), ctx.zeros(tl::Type::f32, {64, 64, 16, 1}));
         }},
        {"argsort", [=](const tl::Context &ctx) { return argsort(square(ctx)); }},
        {"gradients",
         [=](const tl::Context &ctx) {
             const auto a = square(ctx);
             return sum(soft_max(mul_mat(a, a))).gradients({a}).at(0);
         }},
    };
    for (const auto type :
         {tl::Type::f16, tl::Type::q4_0, tl::Type::q8_0, tl::Type::q4_K, tl::Type::iq2_xxs, tl::Type::iq3_s, tl::Type::mxfp4}) {
        all.emplace_back("mul_mat", [=](const tl::Context &ctx) { return mul_mat(square(ctx, type), square(ctx)); });
        all.emplace_back("mul_mat of a constant", [=](const tl::Context &ctx) {
            const auto weights = square(ctx, type);
            weights.set_constant();
            return mul_mat(weights, square(ctx));
        });
        all.emplace_back("cast", [=](const tl::Context &ctx) { return ctx.zeros(tl::Type::f32, {256, 2}).cast(type); });
    }
    return all;
}

TEST(SmallStack, suffices_to_build_plan_and_compute) {
    for (const auto &isa : support::isas()) {
        for (const auto &[name, made] : cases()) {
            SCOPED_TRACE(name + " at " + isa);
            std::string error;
            const auto changed = changed_below_stack([&, &made = made] {
                try {
                    const auto backend = support::backend(isa, 1);
                    const tl::Context ctx;
                    const auto result = made(ctx);
                    backend.compute({result});
                    (void)tl::Graph({result}).plan_text(backend);
                } catch (const std::exception &e) {
                    error = e.what();
                }
            });
            EXPECT_EQ(error, "");
            EXPECT_EQ(changed, 0u);
        }
    }
}

}  // namespace

#endif
