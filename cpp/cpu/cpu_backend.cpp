#include "cpu/cpu_backend.hpp"

#include "base/cpu_features.hpp"
#include "base/fail.hpp"
#include "base/platform.hpp"
#include "cpu/cpu_kernel.hpp"
#include "runtime/trace.hpp"

namespace tensorlib::core {

namespace {

class CpuDevice final : public Device {
public:
    const char *name() const noexcept override { return "cpu"; }

    DeviceProps props() const override {
        const platform::MemoryInfo memory = platform::memory_info();
        DeviceProps props;
        props.description = cpu_name();
        if (props.description.empty()) props.description = "CPU";
        props.memory_total = memory.total;
        props.memory_free = memory.free;
        return props;
    }

    DeviceMemory &memory() const noexcept override { return host_memory(); }

    Ref<Backend> open(const BackendParams &params) const override { return Ref<Backend>::adopt(new CpuBackend(*this, params)); }
};

}  // namespace

const Device &cpu_device() noexcept {
    static const CpuDevice device;
    return device;
}

CpuBackend::CpuBackend(const Device &device, const BackendParams &params)
    : Backend(device),
      isa_(choose_isa(platform::environment("TENSORLIB_ISA"))),
      pool_(params.n_threads == 0 ? platform::usable_cpus() : params.n_threads) {}

const Kernel *CpuBackend::find_kernel(const Problem &problem) const noexcept {
    for (const auto &family : {kernels::add, kernels::mul_mat, kernels::mul_mat_id, kernels::copies, kernels::rows}) {
        if (const Kernel *kernel = core::find_kernel(family, problem)) return kernel;
    }
    return nullptr;
}

std::string CpuBackend::explain(const Problem &problem) const {
    std::string text;
    for (const auto &family : {kernels::add, kernels::mul_mat, kernels::mul_mat_id, kernels::copies, kernels::rows})
        text += refusals(family, problem);
    return text;
}

void CpuBackend::check_usable(const char *what) const {
    if (pool_.usable()) return;
    fail(Status::unavailable, "%s: this backend was made before fork() and its threads are the parent's: make a new one here", what);
}

void CpuBackend::rebuild(const Rebuilt &leaf) {
    const StandIn &stand_in = *leaf.root->stand_in.load(std::memory_order_acquire);
    const Layout &layout = leaf.root->layout;
    const std::int64_t n_chunks = chunks_for(layout.n_rows(), static_cast<std::int64_t>(layout.nbytes()), n_threads());
    auto run = [&](std::int64_t chunk, int) noexcept {
        const Range rows = part_of(layout.n_rows(), chunk, n_chunks);
        stand_in.rebuild(rows.begin, rows.end - rows.begin, leaf.to + static_cast<std::size_t>(rows.begin) * layout.row_bytes());
    };
    pool_.run(n_chunks, run);
}

void CpuBackend::execute(const Step &step) {
    for (const Rebuilt &leaf : step.rebuilt) rebuild(leaf);
    const auto &kernel = static_cast<const CpuKernel &>(*step.kernel);
    for (std::int64_t phase = step.plan.setup_chunks > 0 ? -1 : 0; phase < step.plan.n_phases; phase++) {
        auto run = [&](std::int64_t chunk, int thread) noexcept { kernel.run(step, {phase, chunk, thread, isa_.kernels}); };
        const std::int64_t n_chunks = step.plan.chunks(phase);
        if (!trace()) {
            pool_.run(n_chunks, run);
            continue;
        }
        trace()->make_room(n_chunks);
        auto traced = [&](std::int64_t chunk, int thread) noexcept {
            const std::int64_t begin = Trace::now();
            run(chunk, thread);
            trace()->chunk(thread, step, phase, chunk, begin);
        };
        pool_.run(n_chunks, traced);
    }
}

}  // namespace tensorlib::core
