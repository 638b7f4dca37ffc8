// The CPU as a device and as a backend.
#pragma once

#include "base/thread_pool.hpp"
#include "cpu/dispatch.hpp"
#include "runtime/backend.hpp"

namespace tensorlib::core {

const Device &cpu_device() noexcept;

class CpuBackend final : public Backend {
public:
    // Throws Error(invalid_argument) or Error(unavailable): see tl_backend_create().
    CpuBackend(const Device &device, const BackendParams &params);

    int n_threads() const noexcept override { return pool_.size(); }
    const char *isa() const noexcept override { return isa_.name; }
    const leaf::LeafTable &leaf() const noexcept { return isa_.kernels; }
    // For the holder of the backend's turn.
    ThreadPool &pool() noexcept { return pool_; }

    const Kernel *find_kernel(const Problem &problem) const noexcept override;
    std::string explain(const Problem &problem) const override;
    void check_usable(const char *what) const override;
    void execute(const Step &step) override;
    void finish() override {}

private:
    ~CpuBackend() override = default;

    const IsaLevel &isa_;
    ThreadPool pool_;
};

}  // namespace tensorlib::core
