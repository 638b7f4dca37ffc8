#include "cpu/cpu_backend.hpp"

#include "base/cpu_features.hpp"
#include "base/fail.hpp"
#include "base/platform.hpp"
#include "cpu/cpu_kernel.hpp"
#include "runtime/trace.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <limits>
#include <string>

namespace tensorlib::core {

namespace {

class CpuDevice final : public Device {
public:
    CpuDevice(std::string name, DeviceMemory &memory) : name_(std::move(name)), memory_(memory) {}
    const char *name() const noexcept override { return name_.c_str(); }

    DeviceProps props() const override {
        const platform::MemoryInfo memory = platform::memory_info();
        DeviceProps props;
        props.description = cpu_name();
        if (props.description.empty()) props.description = "CPU";
        props.memory_total = memory.total;
        props.memory_free = memory.free;
        return props;
    }

    DeviceMemory &memory() const noexcept override { return memory_; }

    Ref<Backend> open(const BackendParams &params) const override { return Ref<Backend>::adopt(new CpuBackend(*this, params)); }

private:
    const std::string name_;
    DeviceMemory &memory_;
};

// Host memory that claims the host cannot access it.
class VirtualMemory final : public DeviceMemory {
public:
    explicit VirtualMemory(std::string device) : device_(std::move(device)) {}
    const char *device() const noexcept override { return device_.c_str(); }
    bool host_accessible() const noexcept override { return false; }
    std::size_t alignment() const noexcept override { return host_memory().alignment(); }
    void *acquire(std::size_t size) override { return host_memory().acquire(size); }
    void release(void *memory, std::size_t size) noexcept override { host_memory().release(memory, size); }
    void zero(void *memory, std::size_t size) override { host_memory().zero(memory, size); }
    void write(void *to, const void *from, std::size_t size) override { host_memory().write(to, from, size); }
    void read(void *to, const void *from, std::size_t size) override { host_memory().read(to, from, size); }
    void mark_used(void *memory, std::size_t size) noexcept override { host_memory().mark_used(memory, size); }
    void mark_unused(void *memory, std::size_t size) noexcept override { host_memory().mark_unused(memory, size); }

private:
    const std::string device_;
};

struct VirtualDevices {
    std::deque<VirtualMemory> memories;
    std::deque<CpuDevice> devices;
    std::vector<const Device *> list;

    VirtualDevices() {
        const int wanted = std::atoi(platform::environment("TENSORLIB_CPU_VIRTUAL_DEVICES").c_str());
        for (int i = 0; i < wanted && i < static_cast<int>(max_parts); i++) {
            const std::string name = "cpu:" + std::to_string(i);
            list.push_back(&devices.emplace_back(name, memories.emplace_back(name)));
        }
    }
};

}  // namespace

const Device &cpu_device() noexcept {
    static const CpuDevice device("cpu", host_memory());
    return device;
}

std::span<const Device *const> virtual_cpu_devices() noexcept {
    try {
        // Never destroyed, because contexts may live on these devices until the process ends.
        static const VirtualDevices *all = new VirtualDevices;
        return all->list;
    } catch (...) {
        return {};  // no memory for the list; the next call tries again
    }
}

CpuBackend::CpuBackend(const Device &device, const BackendParams &params)
    : Backend(device),
      isa_(choose_isa(platform::environment("TENSORLIB_ISA"))),
      pool_(params.n_threads == 0 ? platform::usable_cpus() : params.n_threads),
      scratch_(pool_.size()),
      packed_(new_packed_constants(device.memory())) {}

CpuBackend::Scratch::Scratch(int n_threads)
    : bytes_(static_cast<std::size_t>(n_threads) * sizeof(ThreadScratch)),
      threads_(static_cast<ThreadScratch *>(platform::allocate_pages(bytes_))) {
    if (!threads_)
        fail(Status::out_of_memory, "backend: %zu bytes to compute with, for %d threads, are more than there are", bytes_, n_threads);
}

CpuBackend::Scratch::~Scratch() { platform::free_pages(threads_, bytes_); }

std::size_t CpuBackend::most_packed_bytes() {
    const std::string text = platform::environment("TENSORLIB_PACK_LIMIT");
    if (text.empty()) return std::numeric_limits<std::size_t>::max();
    std::size_t bytes = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (error == std::errc() && end == text.data() + text.size()) return bytes;
    fail(Status::invalid_argument, "backend: TENSORLIB_PACK_LIMIT is '%.64s': a number of bytes is valid, as 0 or 1073741824",
         text.c_str());
}

// Reads the limit first: if it is no number, GCC 12 leaks what an initialiser of the member has allocated for the
// object.
Ref<PackedConstants> CpuBackend::new_packed_constants(DeviceMemory &memory) {
    const std::size_t most = most_packed_bytes();
    return Ref<PackedConstants>::adopt(new PackedConstants(memory, most));
}

namespace {

const KernelTable<CpuKernel> &table() noexcept {
    static const KernelTable<CpuKernel> all{
        kernels::tiles,      kernels::mul_mat,     kernels::mul_mat_id, kernels::outer_products, kernels::copies,     kernels::norms,
        kernels::optimisers, kernels::rope,        kernels::attention,  kernels::rows,           kernels::reductions, kernels::running_sums,
        kernels::ordering,   kernels::counts,      kernels::custom,     kernels::losses,         kernels::layout,     kernels::bands,
        kernels::windows,    kernels::numbers,     kernels::gather,     kernels::scatter,        kernels::solve,      kernels::recurrent,
        kernels::arange,     kernels::convolution, kernels::depthwise,  kernels::im2col,         kernels::pooling,    kernels::random,
        kernels::upscale,    kernels::sparse,      kernels::axpy,       kernels::sparse_blocks,  kernels::collectives};
    return all;
}

}  // namespace

Choice CpuBackend::choose_kernel(const Problem &problem) const noexcept { return table().choose(problem); }

std::string CpuBackend::kernels_refusals(const Problem &problem, const Kernel *chosen) const { return table().refusals(problem, chosen); }

unsigned CpuBackend::make_copies(const Tensor &node, KernelPlan &plan) noexcept {
    unsigned missing = 0;
    for (std::size_t i = 0; i < plan.copies.size(); i++) {
        ConstantCopy &copy = plan.copies[i];
        if (!copy.planned()) continue;
        copy.data = packed_->find_or_make(*node.src[copy.source], static_cast<PackedAs>(copy.form), isa_.kernels, pool_);
        if (!copy.data) missing |= 1u << i;
    }
    return missing;
}

void CpuBackend::check_usable(const char *what) const {
    if (pool_.usable()) return;
    fail(Status::unavailable, "%s: this backend was made before fork() and its threads are the parent's: make a new one here", what);
}

void CpuBackend::rebuild(const Rebuilt &leaf) {
    const StandIn &stand_in = *leaf.root->storage.stand_in.load(std::memory_order_acquire);
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
    if (kernel.run_alone) return kernel.run_alone(step, watch());
    std::atomic<bool> stopped{false};
    step.plan.for_each_stage([&](Stage stage, std::int64_t round) {
        auto run = [&](std::int64_t chunk, int thread) noexcept {
            if (stopped.load(std::memory_order_relaxed)) return;
            kernel.run(step, slice_of(stage, round, chunk, thread));
            // The calling thread is thread 0.
            if (thread == 0 && watch() && !watch()->goes_on()) stopped.store(true, std::memory_order_relaxed);
        };
        const std::int64_t n_chunks = stopped.load(std::memory_order_relaxed) ? 0 : step.plan.chunks(stage);
        if (!trace()) {
            pool_.run(n_chunks, run);
            return;
        }
        trace()->make_room(n_chunks);
        auto traced = [&](std::int64_t chunk, int thread) noexcept {
            const std::int64_t begin = Trace::now();
            run(chunk, thread);
            trace()->chunk(thread, step, stage, round, chunk, begin);
        };
        pool_.run(n_chunks, traced);
    });
}

void CpuBackend::execute_all(std::span<const Step> steps, std::unique_ptr<Recording> &recording) {
    // A trace records each step by itself.
    if (trace()) return Backend::execute_all(steps, recording);
    if (!recording) recording = std::make_unique<StepBatches>(steps);
    std::size_t next = 0;
    for (const StepBatches::Batch &batch : static_cast<const StepBatches &>(*recording).batches()) {
        for (; next < batch.begin; next++) execute(steps[next]);
        execute_batch(steps, batch);
        next = batch.end;
    }
    for (; next < steps.size(); next++) execute(steps[next]);
}

void CpuBackend::execute_batch(std::span<const Step> steps, const StepBatches::Batch &batch) {
    const std::int64_t n_chunks = chunks_for(batch.n_chunks(), static_cast<std::int64_t>(batch.bytes), n_threads());
    const auto &kernel = static_cast<const CpuKernel &>(*steps[batch.begin].kernel);
    auto run = [&](std::int64_t part, int thread) noexcept {
        const Range chunks = part_of(batch.n_chunks(), part, n_chunks);
        const auto above = std::ranges::upper_bound(batch.first_chunk, chunks.begin);
        auto s = static_cast<std::size_t>(above - batch.first_chunk.begin()) - 1;
        for (std::int64_t chunk = chunks.begin; chunk < chunks.end; chunk++) {
            while (chunk >= batch.first_chunk[s + 1]) s++;
            kernel.run(steps[batch.begin + s], slice_of(Stage::compute, 0, chunk - batch.first_chunk[s], thread));
        }
    };
    pool_.run(n_chunks, run);
}

}  // namespace tensorlib::core
