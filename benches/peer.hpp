// Another library as a contender, where the system has it: loaded at run time, so that nothing here depends on it.
#pragma once

#include <cstdint>
#include <string>

namespace tensorlib::bench {

class Peer {
public:
    virtual ~Peer() = default;
    virtual const char *name() const = 0;
    // Version and kernels, or why it is absent.
    const std::string &description() const { return description_; }
    bool there() const { return there_; }

    virtual void set_threads(int n) = 0;
    // c [m, n] = a [k, m] x b [k, n], F32, all contiguous, in ggml's order of dimensions: c = A^T B in columns.
    virtual void mul_mat(std::int64_t k, std::int64_t m, std::int64_t n, const float *a, const float *b, float *c) = 0;
    // What it has taken for the last product's shape, as it calls that; empty where it does not say.
    virtual std::string kernel() const { return {}; }

protected:
    bool there_ = false;
    std::string description_;
};

}  // namespace tensorlib::bench
