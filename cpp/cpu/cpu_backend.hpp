// The CPU as a device and as a backend.
#pragma once

#include "base/thread_pool.hpp"
#include "cpu/cpu_kernel.hpp"
#include "cpu/dispatch.hpp"
#include "cpu/packed_constants.hpp"
#include "cpu/step_batch.hpp"
#include "runtime/backend.hpp"

namespace tensorlib::core {

const Device &cpu_device() noexcept;
// For tests of several devices: TENSORLIB_CPU_VIRTUAL_DEVICES=N adds "cpu:0" to "cpu:N-1", which compute as the CPU
// does, in memory that the host must not access. The variable is read once per process.
std::span<const Device *const> virtual_cpu_devices() noexcept;

class CpuBackend : public Backend {
public:
    // Throws Error(invalid_argument) or Error(unavailable): see tl_backend_create().
    CpuBackend(const Device &device, const BackendParams &params);

    int n_threads() const noexcept override { return pool_.size(); }
    const char *isa() const noexcept override { return isa_.name; }
    const simd::SimdTable &simd() const noexcept { return isa_.kernels; }
    bool has_batch_invariant_kernels() const noexcept override { return true; }
    // Call with the backend's turn held.
    ThreadPool &pool() noexcept { return pool_; }
    unsigned make_copies(const Tensor &node, KernelPlan &plan) noexcept override;

    std::size_t packed_bytes() const noexcept override { return packed_->bytes(); }
    void check_usable(const char *what) const override;
    void execute(const Step &step) override;
    void execute_all(std::span<const Step> steps, std::unique_ptr<Recording> &recording) override;
    void finish() override {}

protected:
    // Contexts may keep the object for longer, but not the copies.
    ~CpuBackend() override { packed_->end(); }

private:
    Choice choose_kernel(const Problem &problem) const noexcept override;
    std::string kernels_refusals(const Problem &problem, const Kernel *chosen) const override;
    static std::size_t most_packed_bytes();
    static Ref<PackedConstants> new_packed_constants(DeviceMemory &memory);
    void rebuild(const Rebuilt &leaf);
    void execute_batch(std::span<const Step> steps, const StepBatches::Batch &batch);

    // Scratch memory of all threads. Untouched pages take no memory.
    class Scratch {
    public:
        explicit Scratch(int n_threads);
        ~Scratch();
        Scratch(const Scratch &) = delete;
        Scratch &operator=(const Scratch &) = delete;
        ThreadScratch &of(int thread) const noexcept { return threads_[thread]; }

    private:
        const std::size_t bytes_;
        ThreadScratch *threads_;
    };
    Slice slice_of(Stage stage, std::int64_t round, std::int64_t chunk, int thread) const noexcept {
        return {stage, round, chunk, thread, isa_.kernels, scratch_.of(thread)};
    }

    const Isa &isa_;
    ThreadPool pool_;
    const Scratch scratch_;
    const Ref<PackedConstants> packed_;
};

}  // namespace tensorlib::core
