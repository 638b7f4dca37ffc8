// Reductions over any dimensions, in the CPU's order (cpp/cpu/kernels/reductions.cpp), so the bits are the CPU's, except
// for exponentials. Limited by memory.
//
//   along    a warp owns a segment of a group: lane l combines elements l, l + 32, .. of a block of 1024 in F32, the
//            lanes are combined pairwise, and blocks are joined in F64
//   across   a lane owns a segment of a group, and its warp 32 consecutive groups: 32 rows in F32, which are joined in F64
//   joined   a second launch joins the segments of a group, a thread a group; only if there are several
//
// I32, I64 and F64 are computed in themselves, sums and products of integers in I64 (ops/reduction.hpp).
//
// Deviations and exponentials read a block twice or three times, from the L1 cache but once.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/device/warp_units.cuh"
#include "cuda/launch.hpp"

#include "base/checked.hpp"
#include "math/exponential.hpp"
#include "math/numbers.hpp"
#include "ops/numbers.hpp"
#include "ops/reduction.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

using Number = math::Real<device::Lane>;
using ops::ReducedResult;
using ops::StateNumber, ops::StateOf;

constexpr std::int64_t block_elements = 1024;

// The operand's groups, cut into segments.
struct Groups {
    ops::Reduction reduction;
    const char *data;
    DType type;
    std::int64_t segment, segments;

    __device__ const char *group(std::int64_t number) const { return data + reduction.kept.offset(number); }
    // An element as E: float, or a number that holds it.
    template <class E>
    __device__ E at(const char *group, std::int64_t i) const {
        const char *from = group + reduction.reduced.offset(i);
        return device::load_as_number<E>(type, from);
    }
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

// Where states, of numbers V, and results go. Number i of part p of group g is at [(p numbers + i) groups + g].
template <class V>
struct Results {
    using State = ops::ReducedState<V>;

    void *c;
    V *states;  // null if groups have one part
    std::int64_t groups;
    ReducedResult result;
    DType type;

    template <class T>
    __device__ void put_as(std::int64_t group, V value) const {
        static_cast<T *>(c)[group] = static_cast<T>(value);
    }
    __device__ void store(std::int64_t group, const State &state) const {
        const V value = ops::result_of(result, state);
        switch (type) {
            case DType::i32: return put_as<std::int32_t>(group, value);
            case DType::i64: return put_as<std::int64_t>(group, value);
            case DType::f64: return put_as<double>(group, value);
            case DType::i16: return put_as<std::int16_t>(group, value);
            case DType::i8: return put_as<std::int8_t>(group, value);
            case DType::u8:
            case DType::boolean: return put_as<std::uint8_t>(group, value);
            default: return put_as<float>(group, value);
        }
    }
    __device__ V &number(std::int64_t part, int i, std::int64_t group) const {
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

// The better one; NaN if one of the two is NaN.
template <class E, bool least>
__device__ E better(E a, E b) {
    return least ? math::Numbers<E>::minimum(a, b) : math::Numbers<E>::maximum(a, b);
}
template <>
__device__ float better<float, false>(float a, float b) {
    return math::larger(a, b);
}
template <>
__device__ float better<float, true>(float a, float b) {
    return -math::larger(-a, -b);
}

template <class E, bool least, class Each, class All>
__device__ E extreme(Each each, All all) {
    E best = static_cast<E>(least ? ops::most_of<E>() : ops::least_of<E>());
    each([&](std::int64_t, E x) { best = better<E, least>(best, x); });
    return all(best, [](E a, E b) { return better<E, least>(a, b); });
}

__device__ inline float exponential(float x) { return exp(Number(x)).reg; }
__device__ inline double exponential(double x) { return ::exp(x); }

template <Reduced kind, class E, class Each, class All>
__device__ StateOf<E> block_state(std::int64_t count, Each each, All all) {
    using V = StateNumber<E>;
    // What a block is summed in.
    using Sum = std::conditional_t<std::is_same_v<E, float>, float, V>;
    const auto plus = [](Sum a, Sum b) { return math::Numbers<Sum>::add(a, b); };
    if constexpr (kind == Reduced::sum) {
        Sum sum = 0;
        each([&](std::int64_t, E x) { sum = plus(sum, static_cast<Sum>(x)); });
        return {{static_cast<V>(all(sum, plus)), 0, 0}};
    } else if constexpr (kind == Reduced::product) {
        const auto times = [](V a, V b) { return math::Numbers<V>::mul(a, b); };
        V product = 1;
        each([&](std::int64_t, E x) { product = times(product, static_cast<V>(x)); });
        return {{all(product, times), 0, 0}};
    } else if constexpr (kind == Reduced::largest || kind == Reduced::smallest) {
        return {{static_cast<V>(extreme<E, kind == Reduced::smallest>(each, all)), 0, 0}};
    } else if constexpr (kind == Reduced::largest_at || kind == Reduced::smallest_at) {
        constexpr bool least = kind == Reduced::smallest_at;
        math::Placed<V> best{least ? ops::most_of<E>() : ops::least_of<E>(), -1};
        each([&](std::int64_t i, E x) {
            if (x == x) best.take({static_cast<V>(x), static_cast<V>(i)}, least);
        });
        best = all(best, [](math::Placed<V> a, math::Placed<V> b) {
            const bool swapped = a.index < 0 || (b.index >= 0 && b.index < a.index);
            math::Placed<V> first = swapped ? b : a;
            first.take(swapped ? a : b, least);
            return first;
        });
        return {{best.value, best.index, 0}};
    } else if constexpr (kind == Reduced::any || kind == Reduced::all) {
        constexpr bool any = kind == Reduced::any;
        float found = 0;
        each([&](std::int64_t, E x) { found = (x != 0) == any ? 1.0f : found; });
        found = all(found, [](float a, float b) { return a > b ? a : b; });
        return {{static_cast<V>((found > 0) == any ? 1 : 0), 0, 0}};
    } else if constexpr (kind == Reduced::deviations) {
        E sum = 0, distances = 0, squares = 0;
        each([&](std::int64_t, E x) { sum += x; });
        const E mean = all(sum, plus) / static_cast<E>(count);
        each([&](std::int64_t, E x) {
            const E d = x - mean;
            distances += d;
            squares += d * d;
        });
        distances = all(distances, plus);
        squares = all(squares, plus);
        const auto around = math::Deviations::around(static_cast<double>(count), static_cast<double>(mean), static_cast<double>(distances),
                                                     static_cast<double>(squares));
        return {{around.n, around.mean, around.squares}};
    } else {
        const E largest = extreme<E, false>(each, all), base = math::Exponentials::base(largest);
        E sum = 0;
        each([&](std::int64_t, E x) { sum += exponential(x - base); });
        const auto around = math::Exponentials::around(static_cast<double>(largest), static_cast<double>(all(sum, plus)));
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
template <class V, class Join>
__device__ math::Placed<V> joined_lanes(math::Placed<V> value, Join join) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        const math::Placed<V> other{__shfl_xor_sync(device::all_lanes, value.value, distance),
                                    __shfl_xor_sync(device::all_lanes, value.index, distance)};
        value = join(value, other);
    }
    return value;
}

template <Reduced kind, class E>
__global__ void reduce_along(Groups groups, Results<StateNumber<E>> results) {
    const int lane = static_cast<int>(threadIdx.x);
    device::for_each_unit_of_warp(groups.reduction.count * groups.segments, [&](std::int64_t unit) {
        const std::int64_t number = unit / groups.segments, part = unit % groups.segments, end = groups.end(part);
        const char *group = groups.group(number);
        StateOf<E> state = ops::begun<E>(kind);
        for (std::int64_t from = groups.begin(part); from < end; from += block_elements) {
            const std::int64_t block_end = min(from + block_elements, end);
            const auto each = [&](auto f) {
                for (std::int64_t i = from + lane; i < block_end; i += device::warp_size) f(i, groups.at<E>(group, i));
            };
            const auto all = [](auto value, auto join) { return joined_lanes(value, join); };
            ops::join(kind, state, block_state<kind, E>(block_end - from, each, all));
        }
        if (lane == 0) results.put(part, number, state);
    });
}

// Sums of floats are joined by blocks of rows, as extremes and deviations are. Other sums, and products, take row after row.
template <Reduced kind, class E>
constexpr bool row_by_row = kind == Reduced::product || (kind == Reduced::sum && !std::is_same_v<E, float>);

template <Reduced kind, class E>
__global__ void reduce_across(Groups groups, Results<StateNumber<E>> results) {
    using V = StateNumber<E>;
    const std::int64_t width = groups.reduction.kept.ne[0], tiles = (width + device::warp_size - 1) / device::warp_size;
    const std::int64_t outer = groups.reduction.count / width;
    device::for_each_unit_of_warp(outer * tiles * groups.segments, [&](std::int64_t unit) {
        const std::int64_t tile = unit % tiles, part = unit / tiles % groups.segments, column = tile * device::warp_size + threadIdx.x;
        if (column >= width) return;
        const std::int64_t number = unit / tiles / groups.segments * width + column, end = groups.end(part);
        const char *group = groups.group(number);
        StateOf<E> state = ops::begun<E>(kind);
        for (std::int64_t from = groups.begin(part); from < end; from += reduced_rows) {
            const std::int64_t block_end = min(from + reduced_rows, end);
            if constexpr (row_by_row<kind, E>) {
                for (std::int64_t i = from; i < block_end; i++)
                    ops::join(kind, state, StateOf<E>{{static_cast<V>(groups.at<E>(group, i)), 0, 0}});
            } else {
                const auto each = [&](auto f) {
                    for (std::int64_t i = from; i < block_end; i++) f(i, groups.at<E>(group, i));
                };
                const auto all = [](auto value, auto) { return value; };
                ops::join(kind, state, block_state<kind, E>(block_end - from, each, all));
            }
        }
        results.put(part, number, state);
    });
}

template <class E>
__global__ void join_parts(Results<StateNumber<E>> results, std::int64_t parts) {
    const Reduced kind = results.result.kind;
    device::for_each_unit(results.groups, [&](std::int64_t group) {
        StateOf<E> state = ops::begun<E>(kind);
        for (std::int64_t part = 0; part < parts; part++) {
            StateOf<E> later{};
            for (int i = 0; i < ops::reduced_numbers(kind); i++) later.numbers[i] = results.number(part, i, group);
            ops::join(kind, state, later);
        }
        results.store(group, state);
    });
}

template <class E, bool along>
auto kernel_of(Reduced kind) noexcept -> void (*)(Groups, Results<StateNumber<E>>) {
    const auto chosen = [](auto a, auto b) { return along ? a : b; };
    switch (kind) {
#define TL_KIND(kind_) \
    case Reduced::kind_: return chosen(reduce_along<Reduced::kind_, E>, reduce_across<Reduced::kind_, E>);
        TL_KIND(sum)
        TL_KIND(product)
        TL_KIND(largest)
        TL_KIND(smallest)
        TL_KIND(largest_at)
        TL_KIND(smallest_at)
        TL_KIND(any)
        TL_KIND(all)
        default: break;
    }
    if constexpr (!std::is_integral_v<E>) {
        switch (kind) {
            TL_KIND(deviations)
            TL_KIND(exponentials)
#undef TL_KIND
            default: break;
        }
    }
    return nullptr;
}

template <class E>
cudaError_t launch_as(const Step &step, const CudaStream &stream, const ReducedResult &result) noexcept {
    const Groups groups = groups_of(step);
    const ops::Reduction &reduction = groups.reduction;
    if (reduction.count == 0) return cudaSuccess;
    const bool along = reduction.along(), cut = groups.segments > 1;
    auto *states = reinterpret_cast<StateNumber<E> *>(step.workspace);
    const Results<StateNumber<E>> results{step.dst.data, cut ? states : nullptr, reduction.count, result, step.dst.type};
    const std::int64_t width = reduction.kept.ne[0];
    const std::int64_t warps =
        (along ? reduction.count : reduction.count / width * ceil_div(width, std::int64_t{device::warp_size})) * groups.segments;
    const auto kernel = along ? kernel_of<E, true>(result.kind) : kernel_of<E, false>(result.kind);
    const cudaError_t error = launch(stream, {step.kernel->name, device::warp_grid(warps), device::warp_block()}, kernel, groups, results);
    if (error != cudaSuccess || !cut) return error;
    const device::RowGrid rows = device::row_grid(reduction.count, 1);
    return launch(stream, {step.kernel->name, rows.grid, rows.block}, join_parts<E>, results, groups.segments);
}

cudaError_t launch_reduction(const Step &step, const CudaStream &stream) noexcept {
    const ReducedResult result = ops::reduced_result(*step.node);
    return ops::visit_number(ops::computed_type(result, step.src[0].type), [&]<class E>(E) { return launch_as<E>(step, stream, result); });
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
