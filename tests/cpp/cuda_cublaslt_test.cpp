// mul_mat by cuBLASLt: the real one on a GPU where it is installed; on the simulated GPU a fake that checks each call.
#include "cuda_support.hpp"

#include "cuda/cublaslt_calls.hpp"

#if !defined(TENSORLIB_SIMT) && __has_include(<cublasLt.h>)
#define HAS_CUBLASLT_HEADER
#include <cublasLt.h>
#endif

#if defined(TENSORLIB_SIMT)
#include "fake_cublaslt.hpp"

#include <dlfcn.h>

int fake_multiply(const FakeProduct &product);
#endif

using support::leaf;

namespace {

#if defined(TENSORLIB_SIMT)
void *fake() {
    static void *library = [] {
        void *opened = dlopen(TENSORLIB_FAKE_CUBLASLT, RTLD_NOW | RTLD_LOCAL);
        if (opened) reinterpret_cast<void (*)(FakeMultiply)>(dlsym(opened, "fake_cublaslt_connect"))(fake_multiply);
        setenv("TENSORLIB_CUBLASLT", TENSORLIB_FAKE_CUBLASLT, 1);
        return opened;
    }();
    return library;
}

FakeCounts counts() { return reinterpret_cast<FakeCounts (*)()>(dlsym(fake(), "fake_cublaslt_counts"))(); }
#endif

class Library : public support::CudaTest {
protected:
    void SetUp() override {
#if defined(TENSORLIB_SIMT)
        ASSERT_NE(fake(), nullptr) << dlerror();
#endif
        CudaTest::SetUp();
        if (IsSkipped()) return;
        const tl::Backend gpu("cuda:0");
        const tl::Context ctx(gpu);
        const std::string plan = tl::Graph({product(ctx)}).plan_text(gpu);
        if (plan.find("mul_mat_f32_cublaslt,") == std::string::npos) GTEST_SKIP() << plan;
    }

    static tl::Tensor product(const tl::Context &ctx) {
        return mul_mat(ctx.zeros(tl::Type::f32, {128, 128}), ctx.zeros(tl::Type::f32, {128, 128}));
    }

    static void expect_right(const tl::Tensor &a, const tl::Tensor &b, const tl::Backend &gpu) {
        const auto c = mul_mat(a, b);
        const tl::Graph graph({c});
        EXPECT_NE(graph.plan_text(gpu).find("mul_mat_f32_cublaslt,"), std::string::npos) << graph.plan_text(gpu);
        const auto expected = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape());
        for (int run = 0; run < 3; run++) {
            graph.compute(gpu);
            EXPECT_EQ(support::first_wrong(c.read_f32(), expected), "") << "run " << run;
        }
    }
};

TEST_F(Library, products_of_all_layouts) {
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu);
    const struct {
        tl::Shape a, b;
    } shapes[] = {
        {{130, 90}, {130, 100}},           // one matrix
        {{64, 64, 6}, {64, 64, 6}},        // a batch, slice for slice
        {{64, 64, 3, 2}, {64, 64, 3, 2}},  // steady over both dimensions
        {{64, 64, 2, 3}, {64, 64, 4, 3}},  // two slices of b share one of a
        {{64, 64, 1, 2}, {64, 64, 3, 4}},  // shared along both dimensions
        {{64, 64, 5, 1}, {64, 64, 5, 2}},  // shared along dimension 3 alone
        {{64, 64}, {64, 64, 2, 3}},        // all share one
        {{2000, 1}, {2000, 600}},          // one row
    };
    for (const auto &s : shapes) expect_right(leaf(ctx, s.a, 1), leaf(ctx, s.b, 2), gpu);
    // Rows with gaps, from an odd place on, and slices at no steady distance.
    const auto whole = leaf(ctx, {70, 70, 5, 3}, 3);
    const auto nb = whole.strides();
    const auto a = whole.view({65, 64, 2, 2}, std::vector<std::size_t>{nb[1], 2 * nb[2], nb[3]}, nb[0]);
    expect_right(a, leaf(ctx, {65, 66, 4, 2}, 4), gpu);
    expect_right(a, leaf(ctx, {65, 66, 2, 2}, 5), gpu);
}

TEST_F(Library, what_it_does_not_take_goes_to_the_built_in_kernels) {
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu);
    const auto picks = [&](const tl::Tensor &t, const char *kernel) {
        const std::string plan = tl::Graph({t}).plan_text(gpu);
        EXPECT_NE(plan.find(kernel), std::string::npos) << plan;
    };
    const auto big = leaf(ctx, {300, 300}, 1);
    picks(mul_mat(big, leaf(ctx, {300, 8}, 2)), "mul_mat_f32_vec,");
    picks(mul_mat(big.transpose(), big), "mul_mat_f32_tiled,");
    picks(mul_mat(leaf(ctx, {20, 20}, 1), leaf(ctx, {20, 20}, 2)), "too small");
    // Rows that overlap: each begins where the one before has its second element.
    picks(mul_mat(big.view({300, 200}, std::vector<std::size_t>{4}), big), "mul_mat_f32_tiled,");
}

TEST(Declarations, are_those_of_the_librarys_own_header) {
#if defined(HAS_CUBLASLT_HEADER)
    namespace lt = tl::core::lt;
    EXPECT_EQ(lt::success, CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(lt::data_r_32f, CUDA_R_32F);
    EXPECT_EQ(lt::op_t, CUBLAS_OP_T);
    EXPECT_EQ(lt::compute_32f, CUBLAS_COMPUTE_32F);
    EXPECT_EQ(lt::compute_32f_fast_tf32, CUBLAS_COMPUTE_32F_FAST_TF32);
    EXPECT_EQ(lt::desc_transa, CUBLASLT_MATMUL_DESC_TRANSA);
    EXPECT_EQ(lt::layout_batch_count, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
    EXPECT_EQ(lt::layout_strided_batch_offset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
    EXPECT_EQ(lt::pref_max_workspace_bytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
    EXPECT_EQ(lt::pref_min_alignment_a_bytes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
    EXPECT_EQ(lt::pref_min_alignment_a_bytes + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
    EXPECT_EQ(sizeof(lt::Heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
    EXPECT_EQ(offsetof(lt::Heuristic, workspace_size), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
    EXPECT_EQ(offsetof(lt::Heuristic, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
    EXPECT_EQ(sizeof(tl::core::CublasLt::Algorithm), sizeof(cublasLtMatmulAlgo_t));
    EXPECT_EQ(sizeof(int), sizeof(cublasLtMatmulDescAttributes_t));
    EXPECT_GE(CUBLAS_VERSION, static_cast<int>(lt::oldest_version));
#else
    GTEST_SKIP() << "cublasLt.h is not in this toolkit";
#endif
}

TEST_F(Library, each_backend_may_do_without) {
    const tl::Backend with("cuda:0");
    const tl::Backend without = [] {
        const support::Environment off("TENSORLIB_CUBLASLT", "off");
        return tl::Backend("cuda:0");
    }();
    const tl::Context ctx(with);
    const tl::Graph graph({product(ctx)});
    EXPECT_NE(graph.plan_text(with).find("mul_mat_f32_cublaslt,"), std::string::npos);
    EXPECT_NE(graph.plan_text(without).find("mul_mat_f32_tiled,"), std::string::npos);
}

#if defined(TENSORLIB_SIMT)
TEST_F(Library, tf32_only_where_it_was_asked_for) {
    // The fake takes TF32 for another product: an algorithm that was chosen for one is refused for the other.
    for (const bool tf32 : {false, true}) {
        const tl::Backend gpu("cuda:0", {0, tf32});
        const tl::Context ctx(gpu);
        expect_right(leaf(ctx, {130, 90}, 1), leaf(ctx, {130, 100}, 2), gpu);
    }
}

TEST_F(Library, nothing_of_it_is_left) {
    const FakeCounts before = counts();
    {
        const tl::Backend gpu("cuda:0");
        const tl::Context ctx(gpu);
        expect_right(leaf(ctx, {130, 90}, 1), leaf(ctx, {130, 100}, 2), gpu);
        EXPECT_EQ(counts().handles, before.handles + 1);
    }
    EXPECT_EQ(counts().handles, before.handles);
    EXPECT_EQ(counts().descriptions, before.descriptions);
    // A plan asks several times whether the library takes the product: it is asked once.
    EXPECT_EQ(counts().heuristics, before.heuristics + 1);
    // Once at the first run, once when it was recorded; the third run is the recording.
    EXPECT_EQ(counts().matmuls, before.matmuls + 2);
}

// In processes of their own, as the library is opened once.
std::string plan_with(const char *library, const char *version) {
    setenv("TENSORLIB_CUBLASLT", library, 1);
    if (version) setenv("FAKE_CUBLASLT_VERSION", version, 1);
    const tl::Backend gpu("cuda:0");
    const tl::Context ctx(gpu);
    const auto a = leaf(ctx, {128, 128}, 1);
    const tl::Graph graph({mul_mat(a, a)});
    graph.compute(gpu);
    return graph.plan_text(gpu);
}

TEST(LibraryThatIsNotUsable, leaves_the_built_in_kernels) {
    const struct {
        const char *library, *version, *reason;
    } cases[] = {
        {"off", nullptr, "switched off"},
        {"/nowhere/libcublasLt.so", nullptr, "not installed"},
        {TENSORLIB_FAKE_CUBLASLT, "110500", "neither of version 12 nor 13"},
        {TENSORLIB_FAKE_CUBLASLT, "140000", "neither of version 12 nor 13"},
        {"libm.so.6", nullptr, "lacks a function"},
    };
    for (const auto &c : cases) {
        const auto in_child = [&c] {
            std::fprintf(stderr, "%s", plan_with(c.library, c.version).c_str());
            std::_Exit(0);
        };
        EXPECT_EXIT(in_child(), testing::ExitedWithCode(0), std::string("mul_mat_f32_tiled, .*") + c.reason) << c.library;
    }
}
#endif

}  // namespace
