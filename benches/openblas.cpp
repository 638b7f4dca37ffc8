#include "openblas.hpp"

#include <cstdlib>

#if __has_include(<dlfcn.h>)
#include <dlfcn.h>
#endif

namespace tensorlib::bench {

namespace {

constexpr int column_major = 102, no_trans = 111, trans = 112;

const char *core_type(const std::string &isa) {
    if (isa == "avx512") return "SkylakeX";
    if (isa == "avx2") return "Haswell";
    return "Nehalem";  // SSE4.2, the oldest that the usual packages have, apart from Prescott
}

}  // namespace

#if __has_include(<dlfcn.h>)
OpenBlas::OpenBlas(const std::string &isa, const std::string &core) {
    const std::string asked = core.empty() ? core_type(isa) : core;
    if (asked == "default") {
        unsetenv("OPENBLAS_CORETYPE");
    } else {
        setenv("OPENBLAS_CORETYPE", asked.c_str(), 1);
    }
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        description_ = "absent (apt-get install libopenblas0-pthread would give it)";
        return;
    }
    const auto find = [&]<class F>(F &function, const char *name) { function = reinterpret_cast<F>(dlsym(library, name)); };
    const char *(*config)() = nullptr, *(*core_name)() = nullptr;
    find(gemm_, "cblas_sgemm");
    find(gemv_, "cblas_sgemv");
    find(set_threads_, "openblas_set_num_threads");
    find(config, "openblas_get_config");
    find(core_name, "openblas_get_corename");
    there_ = gemm_ && gemv_ && set_threads_;
    if (!there_) {
        description_ = "absent (libopenblas.so.0 is there but lacks cblas)";
        return;
    }
    core_ = core_name ? core_name() : "unknown";
    description_ = std::string(config ? config() : "") + "; asked for: " + asked + ", kernels: " + core_;
}
#else
OpenBlas::OpenBlas(const std::string &, const std::string &) { description_ = "absent (this system cannot load libraries by name)"; }
#endif

void OpenBlas::set_threads(int n) { set_threads_(n); }

void OpenBlas::mul_mat(std::int64_t k, std::int64_t m, std::int64_t n, const float *a, const float *b, float *c) {
    const auto K = static_cast<int>(k), M = static_cast<int>(m), N = static_cast<int>(n);
    // Its matrix-vector product is the faster of the two for one column.
    if (n == 1) {
        gemv_(column_major, trans, K, M, 1, a, K, b, 1, 0, c, 1);
    } else {
        gemm_(column_major, trans, no_trans, M, N, K, 1, a, K, b, K, 0, c, M);
    }
}

}  // namespace tensorlib::bench
