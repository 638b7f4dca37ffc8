#include "cuda/cuda_backend.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "cuda/checker.hpp"
#include "runtime/collectives.hpp"
#include "runtime/trace.hpp"

#include <algorithm>
#include <memory>

namespace tensorlib::core {

namespace {

constexpr const char *what = "graph_compute";

// A plan's steps as a CUDA graph. It is recorded at the second run, because many graphs run only once. The steps'
// addresses never change, and leafs' values are read when it runs.
struct CudaRecording final : Backend::Recording {
    explicit CudaRecording(const CudaDevice &d) : device(d) {}
    ~CudaRecording() override {
        if (!graph || !device.reachable()) return;
        const CudaDevice::Scope scope(device);
        if (cudaGraphExecDestroy(graph) != cudaSuccess) cudaGetLastError();
    }

    const CudaDevice &device;
    cudaGraphExec_t graph = nullptr;
    bool refused = false;  // CUDA refused to record these steps, so they are launched one by one
};

// "mul_mat of 'weights' [2, 4] f32, [2, 3] f32 to [4, 3] f32 by mul_mat_f32_vec"
std::string step_text(const Step &step) {
    const Tensor &node = *step.node;
    return format_text("%s of %s to %s by %s", op_name(node.op), sources_text(node).c_str(), tensor_text(node).c_str(), step.kernel->name);
}

cudaError_t launch(const Step &step, const CudaStream &to) noexcept {
    // A node that writes into another tensor leaves the rest of it unchanged.
    if (!step.node->writes()) checker::mark_unwritten(step.dst.data, step.node->layout.nbytes(), to.stream);
    checker::mark_unwritten(step.workspace, step.plan.workspace, to.stream);
    return static_cast<const CudaKernel &>(*step.kernel).launch(step, to);
}

}  // namespace

CudaBackend::CudaBackend(const CudaDevice &device, const BackendParams &params)
    : Backend(device),
      device_(device),
      allow_tf32_(params.allow_tf32),
      debug_(platform::environment("TENSORLIB_CUDA_DEBUG") == "1"),
      cublaslt_(device) {
    constexpr const char *create = "backend_create";
    if (params.n_threads < 0) {
        fail(Status::invalid_argument, "%s: n_threads is %d: 0 or more are valid, and no more than one is used with %s", create,
             params.n_threads, device.name());
    }
    device_.check_usable(create);
    const CudaDevice::Scope scope(device_);
    device_.check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), create);
}

CudaBackend::~CudaBackend() {
    if (!device_.reachable()) return;
    const CudaDevice::Scope scope(device_);
    if (stream_ && cudaStreamDestroy(stream_) != cudaSuccess) cudaGetLastError();
}

namespace {

const KernelTable<CudaKernel> &table() noexcept {
    static const KernelTable<CudaKernel> all{cuda_kernels::tiles,
                                             cuda_kernels::mul_mat,
                                             cuda_kernels::mul_mat_id,
                                             cuda_kernels::outer_products,
                                             cuda_kernels::outer_products_by_expert,
                                             cuda_kernels::copies,
                                             cuda_kernels::norms,
                                             cuda_kernels::optimisers,
                                             cuda_kernels::rope,
                                             cuda_kernels::attention,
                                             cuda_kernels::rows,
                                             cuda_kernels::reductions,
                                             cuda_kernels::running_sums,
                                             cuda_kernels::ordering,
                                             cuda_kernels::counts,
                                             cuda_kernels::losses,
                                             cuda_kernels::layout,
                                             cuda_kernels::windows,
                                             cuda_kernels::numbers,
                                             cuda_kernels::gather,
                                             cuda_kernels::scatter,
                                             cuda_kernels::solve,
                                             cuda_kernels::recurrent,
                                             cuda_kernels::arange,
                                             cuda_kernels::convolution,
                                             cuda_kernels::pooling,
                                             cuda_kernels::random,
                                             cuda_kernels::sparse,
                                             cuda_kernels::axpy,
                                             cuda_kernels::sparse_blocks,
                                             cuda_kernels::collectives};
    return all;
}

}  // namespace

Choice CudaBackend::choose_kernel(const Problem &problem) const noexcept { return table().choose(problem); }

std::string CudaBackend::kernels_refusals(const Problem &problem, const Kernel *chosen) const { return table().refusals(problem, chosen); }

void CudaBackend::check_usable(const char *caller) const { device_.check_usable(caller); }

void CudaBackend::begin() {
    const CudaDevice::Scope scope(device_);
    device_.cuda_memory().order(stream_);
}

void CudaBackend::execute(const Step &step) {
    const CudaDevice::Scope scope(device_);
    if (step.node->is_collective) return exchange(step);
    cudaError_t status = launch(step, {stream_, *this});
    if (status == cudaSuccess && debug_) status = cudaStreamSynchronize(stream_);
    if (status == cudaSuccess) return;
    device_.check(status, (std::string(what) + ": " + step_text(step)).c_str());
}

// Through the host's memory: what precedes the step is waited for, and what follows it waits for the copy back.
void CudaBackend::exchange(const Step &step) {
    finish();
    const std::size_t operand = step.node->src[0]->layout.nbytes(), result = step.node->layout.nbytes();
    // Shared: an exchange that is given up may go on.
    const std::shared_ptr<std::byte[]> host(new std::byte[operand + result + collective_workspace(*step.node)]);
    std::byte *own = host.get(), *to = own + operand;
    CudaMemory &memory = device_.cuda_memory();
    if (operand != 0) read_operand(step.src[0], memory, own);
    run_collective(*step.node, own, to, to + result, watch(), host);
    if (result == 0) return;
    memory.write(step.dst.data, to, result);
    memory.order(stream_);
}

void CudaBackend::execute_all(std::span<const Step> steps, std::unique_ptr<Recording> &recording) {
    if (debug_ || steps.empty()) {
        Backend::execute_all(steps, recording);
        return;
    }
    if (!recording) {
        auto made = std::make_unique<CudaRecording>(device_);
        // The host takes part in these.
        made->refused = std::ranges::any_of(steps, [](const Step &step) { return step.node->is_collective; });
        recording = std::move(made);
        Backend::execute_all(steps, recording);
        return;
    }
    auto &own = static_cast<CudaRecording &>(*recording);
    const CudaDevice::Scope scope(device_);
    if (!own.graph && !own.refused) {
        const Trace::Span span(trace(), "record CUDA graph");
        const cudaError_t status = record(steps, own.graph);
        if (status == cudaErrorMemoryAllocation) device_.check(status, what);
        if (status != cudaSuccess) {
            // Nothing has run. An error that a launch reports for its arguments comes up again below, with the launch's
            // name.
            cudaGetLastError();
            own.refused = true;
        }
    }
    if (own.refused) {
        Backend::execute_all(steps, recording);
    } else {
        const Trace::Span span(trace(), "launch CUDA graph");
        device_.check(cudaGraphLaunch(own.graph, stream_), what);
    }
}

cudaError_t CudaBackend::record(std::span<const Step> steps, cudaGraphExec_t &graph) {
    // Thread-local, so that other threads may use CUDA meanwhile.
    cudaError_t status = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    if (status != cudaSuccess) return status;
    for (std::size_t i = 0; i < steps.size() && status == cudaSuccess; i++) status = launch(steps[i], {stream_, *this});
    cudaGraph_t recorded = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream_, &recorded);
    if (status == cudaSuccess) status = ended;
    if (status == cudaSuccess) status = cudaGraphInstantiate(&graph, recorded, 0);
    if (status != cudaSuccess) graph = nullptr;
    if (recorded && cudaGraphDestroy(recorded) != cudaSuccess) cudaGetLastError();
    return status;
}

void CudaBackend::finish() {
    const Trace::Span span(trace(), "wait for the device");
    const CudaDevice::Scope scope(device_);
    device_.check(cudaStreamSynchronize(stream_), debug_ ? what : "graph_compute (TENSORLIB_CUDA_DEBUG=1 tells the operation)");
}

void CudaBackend::drain() noexcept {
    if (!device_.reachable()) return;
    const CudaDevice::Scope scope(device_);
    if (cudaStreamSynchronize(stream_) != cudaSuccess) cudaGetLastError();
}

}  // namespace tensorlib::core
