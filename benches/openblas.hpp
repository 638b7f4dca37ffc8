#pragma once

#include "peer.hpp"

namespace tensorlib::bench {

class OpenBlas final : public Peer {
public:
    // Loads it with OPENBLAS_CORETYPE set to `core`; where that is empty, to the kernels of the same instruction set
    // as `isa`: its own choice on processors younger than itself is Haswell's, and some environments set that too,
    // which would flatter us. "default" leaves the choice to it.
    OpenBlas(const std::string &isa, const std::string &core);

    const char *name() const override { return "OpenBLAS"; }
    void set_threads(int n) override;
    void mul_mat(std::int64_t k, std::int64_t m, std::int64_t n, const float *a, const float *b, float *c) override;
    std::string kernel() const override { return core_; }

private:
    // As cblas.h of the 32-bit-integer build declares them.
    using Gemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                          int ldb, float beta, float *c, int ldc);
    using Gemv = void (*)(int order, int trans, int rows, int columns, float alpha, const float *a, int lda, const float *x, int incx,
                          float beta, float *y, int incy);
    Gemm gemm_ = nullptr;
    Gemv gemv_ = nullptr;
    void (*set_threads_)(int) = nullptr;
    std::string core_;
};

}  // namespace tensorlib::bench
