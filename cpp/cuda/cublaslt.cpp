#include "cuda/cublaslt.hpp"

#include "base/platform.hpp"
#include "base/shared_library.hpp"
#include "cuda/cublaslt_calls.hpp"
#include "cuda/cuda_device.hpp"

#include <algorithm>
#include <string>

namespace tensorlib::core {

namespace {

constexpr const char *switched_off = "off";

// The library, opened once per process and never closed, because its threads and the driver's hooks stay.
struct Library {
    lt::Calls calls{};
    const char *refusal = nullptr;

    Library() {
        const std::string wanted = platform::environment("TENSORLIB_CUBLASLT");
        void *library = nullptr;
        if (!wanted.empty() && wanted != switched_off) {
            library = open_library(wanted.c_str());
        } else {
            for (const char *name : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
                if (!library) library = open_library(name);
            }
        }
        if (!library) {
            refusal = "cuBLASLt is not installed";
            return;
        }
        bool complete = true;
        const auto find = [&](auto &call, const char *name) {
            call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(find_symbol(library, name));
            complete = complete && call;
        };
#define TL_FIND(name) find(calls.name, "cublasLt" #name)
        TL_FIND(GetVersion);
        TL_FIND(Create);
        TL_FIND(Destroy);
        TL_FIND(MatmulDescCreate);
        TL_FIND(MatmulDescDestroy);
        TL_FIND(MatmulDescSetAttribute);
        TL_FIND(MatrixLayoutCreate);
        TL_FIND(MatrixLayoutDestroy);
        TL_FIND(MatrixLayoutSetAttribute);
        TL_FIND(MatmulPreferenceCreate);
        TL_FIND(MatmulPreferenceDestroy);
        TL_FIND(MatmulPreferenceSetAttribute);
        TL_FIND(MatmulAlgoGetHeuristic);
        TL_FIND(Matmul);
#undef TL_FIND
        if (!complete) {
            refusal = "cuBLASLt lacks a function that is needed";
        } else if (const std::size_t version = calls.GetVersion(); version < lt::oldest_version || version >= lt::first_unknown_version) {
            refusal = "cuBLASLt is neither of version 12 nor 13";
        }
    }
};

const Library &library() {
    static const Library *opened = new Library;
    return *opened;
}

// Describes one product to the library; complete() says whether all parts could be made.
class Description {
public:
    explicit Description(const GemmF32 &g) : calls_(library().calls) {
        const auto K = static_cast<std::uint64_t>(g.K), M = static_cast<std::uint64_t>(g.M), N = static_cast<std::uint64_t>(g.N);
        made(calls_.MatmulDescCreate(&desc, g.tf32 ? lt::compute_32f_fast_tf32 : lt::compute_32f, lt::data_r_32f));
        made(calls_.MatrixLayoutCreate(&a, lt::data_r_32f, K, M, g.a_stride));
        made(calls_.MatrixLayoutCreate(&b, lt::data_r_32f, K, N, g.b_stride));
        made(calls_.MatrixLayoutCreate(&c, lt::data_r_32f, M, N, g.M));
        if (complete_) made(calls_.MatmulDescSetAttribute(desc, lt::desc_transa, &lt::op_t, sizeof lt::op_t));
        set_batch(a, g.batch, g.a_batch_stride);
        set_batch(b, g.batch, g.b_batch_stride);
        set_batch(c, g.batch, g.M * g.N);
    }
    ~Description() {
        for (void *layout : {a, b, c}) {
            if (layout) calls_.MatrixLayoutDestroy(layout);
        }
        if (desc) calls_.MatmulDescDestroy(desc);
    }
    Description(const Description &) = delete;
    Description &operator=(const Description &) = delete;

    bool complete() const { return complete_; }

    void *desc = nullptr, *a = nullptr, *b = nullptr, *c = nullptr;

private:
    void made(int status) { complete_ = complete_ && status == lt::success; }
    void set_batch(void *layout, std::int64_t batch, std::int64_t stride) {
        if (!complete_ || batch == 1) return;
        const auto count = static_cast<std::int32_t>(batch);
        made(calls_.MatrixLayoutSetAttribute(layout, lt::layout_batch_count, &count, sizeof count));
        made(calls_.MatrixLayoutSetAttribute(layout, lt::layout_strided_batch_offset, &stride, sizeof stride));
    }

    const lt::Calls &calls_;
    bool complete_ = true;
};

}  // namespace

CublasLt::CublasLt(const CudaDevice &device) : device_(device) {
    if (platform::environment("TENSORLIB_CUBLASLT") != switched_off) return;
    asked_ = true;
    refusal_ = "cuBLASLt is switched off (TENSORLIB_CUBLASLT)";
}

CublasLt::~CublasLt() {
    if (!handle_ || !device_.reachable()) return;
    const CudaDevice::Scope scope(device_);
    library().calls.Destroy(handle_);
}

const char *CublasLt::refuse() const noexcept {
    if (asked_) return refusal_;
    asked_ = true;
    try {
        refusal_ = library().refusal;
    } catch (...) {
        refusal_ = "no memory to open cuBLASLt";
    }
    if (refusal_) return refusal_;
    const CudaDevice::Scope scope(device_);
    if (library().calls.Create(&handle_) != lt::success) {
        handle_ = nullptr;
        refusal_ = "cuBLASLt does not start on this device";
    }
    return refusal_;
}

bool CublasLt::choose(const GemmF32 &gemm, Algorithm &algorithm, std::size_t &workspace) const noexcept {
    if (!last_.there || !(last_.gemm == gemm)) {
        last_ = {gemm, {}, 0, true, false};
        last_.found = ask(gemm, last_.algorithm, last_.workspace);
    }
    algorithm = last_.algorithm;
    workspace = last_.workspace;
    return last_.found;
}

bool CublasLt::ask(const GemmF32 &gemm, Algorithm &algorithm, std::size_t &workspace) const noexcept {
    const lt::Calls &calls = library().calls;
    const Description d(gemm);
    void *preference = nullptr;
    if (!d.complete() || calls.MatmulPreferenceCreate(&preference) != lt::success) return false;
    bool set = calls.MatmulPreferenceSetAttribute(preference, lt::pref_max_workspace_bytes, &largest_workspace, sizeof largest_workspace) ==
               lt::success;
    // Results and the workspace are aligned like tensors, to 256 bytes. Later matrices of a batch are aligned to their
    // own size, which the library knows.
    const std::uint32_t alignment[] = {gemm.a_alignment, gemm.b_alignment, 256, 256};
    for (int i = 0; i < 4; i++) {
        set = set && calls.MatmulPreferenceSetAttribute(preference, lt::pref_min_alignment_a_bytes + i, &alignment[i],
                                                        sizeof alignment[i]) == lt::success;
    }
    lt::Heuristic best{};
    int found = 0;
    const CudaDevice::Scope scope(device_);
    set = set && calls.MatmulAlgoGetHeuristic(handle_, d.desc, d.a, d.b, d.c, d.c, preference, 1, &best, &found) == lt::success;
    calls.MatmulPreferenceDestroy(preference);
    if (!set || found < 1 || best.state != lt::success || best.workspace_size > largest_workspace) return false;
    algorithm = best.algorithm;
    workspace = best.workspace_size;
    return true;
}

cudaError_t CublasLt::run(const GemmF32 &gemm, const Algorithm &algorithm, const float *a, const float *b, float *c, void *workspace,
                          std::size_t workspace_size, cudaStream_t stream) const noexcept {
    const Description d(gemm);
    if (!d.complete()) return cudaErrorMemoryAllocation;
    const float one = 1, zero = 0;
    const int status =
        library().calls.Matmul(handle_, d.desc, &one, a, d.a, b, d.b, &zero, c, d.c, c, d.c, &algorithm, workspace, workspace_size, stream);
    return status == lt::success ? cudaSuccess : cudaErrorUnknown;
}

}  // namespace tensorlib::core
