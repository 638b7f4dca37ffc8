// Operations on groups: the host exchanges the elements, so the stream is waited for (CudaBackend::exchange).
#include "cuda/cuda_kernel.hpp"

namespace tensorlib::core {

namespace {

constexpr CudaKernel of(Op op) noexcept { return {{.op = op, .name = "exchange", .plan = plan_always<>}, nullptr}; }

constexpr CudaKernel table[] = {of(Op::all_sum),   of(Op::all_max),    of(Op::all_gather), of(Op::sum_scatter),
                                of(Op::broadcast), of(Op::all_to_all), of(Op::send),       of(Op::receive)};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::collectives = table;

}  // namespace tensorlib::core
