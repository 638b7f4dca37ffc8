#pragma once

#include "peer.hpp"

#include <array>

namespace tensorlib::bench {

// oneDNN 3 by its primitive of products, oneDNN 2 (whose descriptors are structs of the version's own) by dnnl_sgemm.
class OneDnn final : public Peer {
public:
    // Loads it, with no instructions beyond those of `isa`.
    explicit OneDnn(const std::string &isa);
    ~OneDnn() override;
    OneDnn(const OneDnn &) = delete;
    OneDnn &operator=(const OneDnn &) = delete;

    const char *name() const override { return "oneDNN"; }
    void set_threads(int n) override;
    void mul_mat(std::int64_t k, std::int64_t m, std::int64_t n, const float *a, const float *b, float *c) override;
    std::string kernel() const override { return kernel_; }

private:
    // As dnnl.h declares them; every dnnl_*_t is a pointer, dims are arrays of 12, a status of 0 is success.
    using Handle = void *;
    struct Argument {
        int which;
        Handle memory;
    };
    struct Functions {
        int (*sgemm)(char trans_a, char trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float *a,
                     std::int64_t lda, const float *b, std::int64_t ldb, float beta, float *c, std::int64_t ldc);
        int (*engine_create)(Handle *engine, int kind, std::size_t index);
        int (*stream_create)(Handle *stream, Handle engine, unsigned flags);
        int (*descriptor_create)(Handle *descriptor, int dims, const std::int64_t *sizes, int type, const std::int64_t *strides);
        int (*descriptor_destroy)(Handle descriptor);
        int (*memory_create)(Handle *memory, Handle descriptor, Handle engine, void *data);
        int (*memory_destroy)(Handle memory);
        int (*memory_set)(Handle memory, void *data);
        int (*product_create)(Handle *description, Handle engine, Handle src, Handle weights, Handle bias, Handle dst, Handle attributes);
        int (*description_query)(Handle description, int what, int index, void *result);
        int (*description_destroy)(Handle description);
        int (*primitive_create)(Handle *primitive, Handle description);
        int (*primitive_destroy)(Handle primitive);
        int (*execute)(Handle primitive, Handle stream, int n, const Argument *arguments);
        int (*wait)(Handle stream);
    };

    void prepare(std::int64_t k, std::int64_t m, std::int64_t n);
    void release();

    Functions f_{};
    void (*omp_set_threads_)(int) = nullptr;
    Handle engine_ = nullptr, stream_ = nullptr, primitive_ = nullptr;
    std::array<Handle, 3> memories_{};  // of b, a and c
    std::array<std::int64_t, 3> shape_{};
    int threads_ = 0, prepared_threads_ = 0;
    std::string kernel_;
};

}  // namespace tensorlib::bench
