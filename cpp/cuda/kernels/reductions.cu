// Reductions over any dimensions, in the CPU's order (cpp/cpu/kernels/reductions.cpp), so the bits are the CPU's, except
// for exponentials. Limited by memory.
//
//   along    a warp owns a segment of a group: lane l combines elements l, l + 32, .. of a block of 1024 in F32, the
//            lanes are combined pairwise, and blocks are joined in F64
//   across   a lane owns a segment of a group, and its warp 32 consecutive groups: 32 rows in F32, which are joined in F64
//   joined   a second launch joins the segments of a group, a thread a group; only if there are several
//
// Deviations and exponentials read a block twice or three times, from the L1 cache but once.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/device/warp_units.cuh"
#include "cuda/launch.hpp"

#include "base/checked.hpp"
#include "math/exponential.hpp"
#include "ops/reduction.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

using Number = math::Real<device::Lane>;
using ops::ReducedResult;
using State = ops::ReducedState;

constexpr std::int64_t block_elements = 1024;

// The operand's groups, cut into segments.
struct Groups {
    ops::Reduction reduction;
    const char *data;
    DType type;
    std::int64_t segment, segments;

    __device__ const char *group(std::int64_t number) const { return data + reduction.kept.offset(number); }
    __device__ float at(const char *group, std::int64_t i) const { return device::load_element(type, group + reduction.reduced.offset(i)); }
    __device__ std::int64_t begin(std::int64_t part) const { return part * segment; }
    __device__ std::int64_t end(std::int64_t part) const { return min(begin(part) + segment, reduction.length); }
};

Groups groups_of(const Step &step) noexcept {
    const ops::Reduction reduction = ops::reduction_of(*step.node);
    return {reduction, reinterpret_cast<const char *>(step.src[0].data), step.src[0].type, reduction.segment(), reduction.segments()};
}

void plan_states(const Problem &p, KernelPlan &plan) noexcept {
    const ops::Reduction reduction = ops::reduction_of(p.node);
    const std::int64_t segments = reduction.segments();
    if (segments > 1)
        plan.workspace =
            static_cast<std::size_t>(segments * reduction.count * ops::reduced_numbers(ops::reduced_result(p.node).kind)) * sizeof(double);
}

// Where states and results go. Number i of part p of group g is at [(p numbers + i) groups + g].
struct Results {
    void *c;
    double *states;  // null if groups have one part
    std::int64_t groups;
    ReducedResult result;
    bool indices;

    __device__ void store(std::int64_t group, const State &state) const {
        const double value = ops::result_of(result, state);
        if (indices) {
            static_cast<std::int32_t *>(c)[group] = static_cast<std::int32_t>(value);
        } else {
            static_cast<float *>(c)[group] = static_cast<float>(value);
        }
    }
    __device__ double &number(std::int64_t part, int i, std::int64_t group) const {
        return states[(part * ops::reduced_numbers(result.kind) + i) * groups + group];
    }
    __device__ void put(std::int64_t part, std::int64_t group, const State &state) const {
        if (!states) {
            store(group, state);
            return;
        }
        for (int i = 0; i < ops::reduced_numbers(result.kind); i++) number(part, i, group) = state.numbers[i];
    }
};

// ---- What the elements of a block become. Each thread has elements of its own: those for which `each(f)` calls
// f(index, x), in order. `all(value, join)` combines a value with those of the threads that share the block.

// The largest element, or the smallest one negated.
template <bool negated, class Each, class All>
__device__ float extreme(Each each, All all) {
    float most = -math::infinity;
    each([&](std::int64_t, float x) { most = math::larger(most, negated ? -x : x); });
    return all(most, [](float a, float b) { return math::larger(a, b); });
}

template <Reduced kind, class Each, class All>
__device__ State block_state(std::int64_t count, Each each, All all) {
    const auto plus = [](float a, float b) { return a + b; };
    if constexpr (kind == Reduced::sum) {
        float sum = 0;
        each([&](std::int64_t, float x) { sum += x; });
        return {{static_cast<double>(all(sum, plus)), 0, 0}};
    } else if constexpr (kind == Reduced::product) {
        double product = 1;
        each([&](std::int64_t, float x) { product *= static_cast<double>(x); });
        return {{all(product, [](double a, double b) { return a * b; }), 0, 0}};
    } else if constexpr (kind == Reduced::largest || kind == Reduced::smallest) {
        constexpr bool negated = kind == Reduced::smallest;
        const float most = extreme<negated>(each, all);
        return {{static_cast<double>(negated ? -most : most), 0, 0}};
    } else if constexpr (kind == Reduced::largest_at || kind == Reduced::smallest_at) {
        constexpr bool least = kind == Reduced::smallest_at;
        math::Placed best{least ? math::infinity : -math::infinity, -1};
        each([&](std::int64_t i, float x) {
            if (x == x) best.take({static_cast<double>(x), static_cast<double>(i)}, least);
        });
        best = all(best, [](math::Placed a, math::Placed b) {
            const bool swapped = a.index < 0 || (b.index >= 0 && b.index < a.index);
            math::Placed first = swapped ? b : a;
            first.take(swapped ? a : b, least);
            return first;
        });
        return {{best.value, best.index, 0}};
    } else if constexpr (kind == Reduced::any || kind == Reduced::all) {
        constexpr bool any = kind == Reduced::any;
        float found = 0;
        each([&](std::int64_t, float x) { found = (x != 0) == any ? 1.0f : found; });
        found = all(found, [](float a, float b) { return a > b ? a : b; });
        return {{(found > 0) == any ? 1.0 : 0.0, 0, 0}};
    } else if constexpr (kind == Reduced::deviations) {
        float sum = 0, distances = 0, squares = 0;
        each([&](std::int64_t, float x) { sum += x; });
        const float mean = all(sum, plus) / static_cast<float>(count);
        each([&](std::int64_t, float x) {
            const float d = x - mean;
            distances += d;
            squares += d * d;
        });
        distances = all(distances, plus);
        squares = all(squares, plus);
        const auto around =
            math::Deviations::around(static_cast<double>(count), mean, static_cast<double>(distances), static_cast<double>(squares));
        return {{around.n, around.mean, around.squares}};
    } else {
        const float largest = extreme<false>(each, all), base = math::Exponentials::base(largest);
        float sum = 0;
        each([&](std::int64_t, float x) { sum += exp(Number(x - base)).reg; });
        const auto around = math::Exponentials::around(largest, static_cast<double>(all(sum, plus)));
        return {{around.largest, around.sum, 0}};
    }
}

// Joins a value with those of the other lanes: the upper half of them to the lower half, then half as many.
template <class T, class Join>
__device__ T joined_lanes(T value, Join join) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value = join(value, __shfl_xor_sync(device::all_lanes, value, distance));
    return value;
}
template <class Join>
__device__ math::Placed joined_lanes(math::Placed value, Join join) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        const math::Placed other{__shfl_xor_sync(device::all_lanes, value.value, distance),
                                 __shfl_xor_sync(device::all_lanes, value.index, distance)};
        value = join(value, other);
    }
    return value;
}

template <Reduced kind>
__global__ void reduce_along(Groups groups, Results results) {
    const int lane = static_cast<int>(threadIdx.x);
    device::for_each_unit_of_warp(groups.reduction.count * groups.segments, [&](std::int64_t unit) {
        const std::int64_t number = unit / groups.segments, part = unit % groups.segments, end = groups.end(part);
        const char *group = groups.group(number);
        State state = ops::begun(kind);
        for (std::int64_t from = groups.begin(part); from < end; from += block_elements) {
            const std::int64_t block_end = min(from + block_elements, end);
            const auto each = [&](auto f) {
                for (std::int64_t i = from + lane; i < block_end; i += device::warp_size) f(i, groups.at(group, i));
            };
            const auto all = [](auto value, auto join) { return joined_lanes(value, join); };
            ops::join(kind, state, block_state<kind>(block_end - from, each, all));
        }
        if (lane == 0) results.put(part, number, state);
    });
}

template <Reduced kind>
__global__ void reduce_across(Groups groups, Results results) {
    const std::int64_t width = groups.reduction.kept.ne[0], tiles = (width + device::warp_size - 1) / device::warp_size;
    const std::int64_t outer = groups.reduction.count / width;
    device::for_each_unit_of_warp(outer * tiles * groups.segments, [&](std::int64_t unit) {
        const std::int64_t tile = unit % tiles, part = unit / tiles % groups.segments, column = tile * device::warp_size + threadIdx.x;
        if (column >= width) return;
        const std::int64_t number = unit / tiles / groups.segments * width + column, end = groups.end(part);
        const char *group = groups.group(number);
        State state = ops::begun(kind);
        for (std::int64_t from = groups.begin(part); from < end; from += reduced_rows) {
            const std::int64_t block_end = min(from + reduced_rows, end);
            if constexpr (kind == Reduced::product) {
                for (std::int64_t i = from; i < block_end; i++) state.numbers[0] *= static_cast<double>(groups.at(group, i));
            } else {
                const auto each = [&](auto f) {
                    for (std::int64_t i = from; i < block_end; i++) f(i, groups.at(group, i));
                };
                const auto all = [](auto value, auto) { return value; };
                ops::join(kind, state, block_state<kind>(block_end - from, each, all));
            }
        }
        results.put(part, number, state);
    });
}

__global__ void join_parts(Results results, std::int64_t parts) {
    const Reduced kind = results.result.kind;
    device::for_each_unit(results.groups, [&](std::int64_t group) {
        State state = ops::begun(kind);
        for (std::int64_t part = 0; part < parts; part++) {
            State later{};
            for (int i = 0; i < ops::reduced_numbers(kind); i++) later.numbers[i] = results.number(part, i, group);
            ops::join(kind, state, later);
        }
        results.store(group, state);
    });
}

template <bool along>
auto kernel_of(Reduced kind) noexcept -> void (*)(Groups, Results) {
    const auto chosen = [](auto a, auto b) { return along ? a : b; };
    switch (kind) {
#define TL_KIND(kind_) \
    case Reduced::kind_: return chosen(reduce_along<Reduced::kind_>, reduce_across<Reduced::kind_>);
        TL_KIND(sum)
        TL_KIND(product)
        TL_KIND(largest)
        TL_KIND(smallest)
        TL_KIND(largest_at)
        TL_KIND(smallest_at)
        TL_KIND(any)
        TL_KIND(all)
        TL_KIND(deviations)
        TL_KIND(exponentials)
#undef TL_KIND
    }
    return nullptr;
}

cudaError_t launch_reduction(const Step &step, const CudaStream &stream) noexcept {
    const Groups groups = groups_of(step);
    const ops::Reduction &reduction = groups.reduction;
    if (reduction.count == 0) return cudaSuccess;
    const bool along = reduction.along(), cut = groups.segments > 1;
    const Results results{step.dst.data, cut ? reinterpret_cast<double *>(step.workspace) : nullptr, reduction.count,
                          ops::reduced_result(*step.node), step.dst.type == DType::i32};
    const std::int64_t width = reduction.kept.ne[0];
    const std::int64_t warps =
        (along ? reduction.count : reduction.count / width * ceil_div(width, std::int64_t{device::warp_size})) * groups.segments;
    const auto kernel = along ? kernel_of<true>(results.result.kind) : kernel_of<false>(results.result.kind);
    const cudaError_t error = launch(stream, {step.kernel->name, device::warp_grid(warps), device::warp_block()}, kernel, groups, results);
    if (error != cudaSuccess || !cut) return error;
    const device::RowGrid rows = device::row_grid(reduction.count, 1);
    return launch(stream, {step.kernel->name, rows.grid, rows.block}, join_parts, results, groups.segments);
}

constexpr CudaKernel reduction(Op op) { return {{.op = op, .name = "reduce", .plan = plan_always<plan_states>}, launch_reduction}; }

constexpr CudaKernel table[] = {
    reduction(Op::sum),    reduction(Op::sum_rows), reduction(Op::mean),        reduction(Op::max), reduction(Op::min),
    reduction(Op::argmax), reduction(Op::argmin),   reduction(Op::var),         reduction(Op::std), reduction(Op::prod),
    reduction(Op::any),    reduction(Op::all),      reduction(Op::log_sum_exp),
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::reductions = table;

}  // namespace tensorlib::core
