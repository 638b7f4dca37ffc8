// pool_1d, pool_2d, upscale: a thread owns an element of the result, and reads its operands in a fixed order: a pool's
// window column by column, from the top and from left to right, as on the CPU. Neighbours write neighbours. Limited by
// memory, with caches serving what windows share; averages by F64 on devices with few F64 units.
#include "ops/pooling.hpp"

#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/resampling.hpp"

namespace tensorlib::core {

namespace {

using device::View;
using ops::Between;
using ops::Pool;

// flat: for a pool_1d, whose rows are a's.
__global__ void pool_windows(View a, Pool pool, bool flat, View c, DType type, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = c.index(row);
        const Sliding::Range ys = flat ? Sliding::Range{0, 1} : pool.y.taps_at(index.i1);
        const std::int64_t first_row = flat ? index.i1 : pool.y.element(index.i1, ys.begin);
        const char *from = a.at(first_row, index.i2, index.i3);
        char *to = c.at(index);
        device::for_each_unit(c.ne[0], [&](std::int64_t i) {
            const Sliding::Range xs = pool.x.taps_at(i);
            float most = -__builtin_huge_valf();
            double total = 0;
            for (std::int64_t x = xs.begin; x < xs.end; x++) {
                const char *column = from + pool.x.element(i, x) * a.nb[0];
                double sum = 0;
                for (std::int64_t y = 0; y < ys.size(); y++) {
                    const float value = device::load_element(type, column + y * a.nb[1]);
                    if (pool.average) {
                        sum += static_cast<double>(value);
                    } else {
                        most = ops::larger(most, value);
                    }
                }
                total += sum;
            }
            if (xs.size() == 0 || ys.size() == 0) {
                most = pool.average ? 0 : ops::largest_of_none;
            } else if (pool.average) {
                const std::int64_t width = pool.count_padding ? pool.x.taps : xs.size();
                const std::int64_t height = pool.count_padding ? pool.y.taps : ys.size();
                most = static_cast<float>(total / (static_cast<double>(width) * static_cast<double>(height)));
            }
            device::store_element(type, to + i * c.nb[0], most);
        });
    });
}

__device__ float mixed(float a, float b, float part) {
    using device::Lane;
    return Lane::add(Lane::mul(a, Lane::sub(1, part)), Lane::mul(b, part));
}

__global__ void upscale_image(View a, std::int64_t factor, bool nearest, View c, DType type, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = c.index(row);
        const Between y = nearest ? Between{index.i1 / factor, 0, 0} : ops::between(index.i1, factor, a.ne[1]);
        const char *above = a.at(y.first, index.i2, index.i3), *below = a.at(y.second, index.i2, index.i3);
        char *to = c.at(index);
        device::for_each_unit(c.ne[0], [&](std::int64_t i) {
            const Between x = nearest ? Between{i / factor, 0, 0} : ops::between(i, factor, a.ne[0]);
            const auto column = [&](std::int64_t j) {
                const float value = device::load_element(type, above + j * a.nb[0]);
                return y.part == 0 ? value : mixed(value, device::load_element(type, below + j * a.nb[0]), y.part);
            };
            const float value = column(x.first);
            device::store_element(type, to + i * c.nb[0], x.part == 0 ? value : mixed(value, column(x.second), x.part));
        });
    });
}

// Any size and weights: rows first, then columns, as on the CPU.
__global__ void resample_image(View a, ops::Resized all, View c, DType type, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = c.index(row);
        const ops::Resampling &x = all.dims[0], &y = all.dims[1];
        const ops::Resampling::Taps ys = y.taps_of(index.i1);
        const std::int64_t i2 = all.dims[2].taps_of(index.i2).first, i3 = all.dims[3].taps_of(index.i3).first;
        const double all_rows = y.total_of(ys);
        char *to = c.at(index);
        device::for_each_unit(c.ne[0], [&](std::int64_t i) {
            const ops::Resampling::Taps xs = x.taps_of(i);
            const double all_columns = x.total_of(xs);
            float sum = 0;
            for (std::int64_t k = 0; k < xs.n; k++) {
                const auto weight = static_cast<float>(x.weight(xs, k) / all_columns);
                if (weight == 0) continue;
                float column = 0;
                for (std::int64_t j = 0; j < ys.n; j++) {
                    const auto part = static_cast<float>(y.weight(ys, j) / all_rows);
                    if (part == 0) continue;
                    column += part * device::load_element(type, a.at(y.pixel_of(ys, j), i2, i3) + x.pixel_of(xs, k) * a.nb[0]);
                }
                sum += weight * column;
            }
            device::store_element(type, to + i * c.nb[0], sum);
        });
    });
}

cudaError_t launch_pool(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (n_rows == 0 || step.dst.ne[0] == 0) return cudaSuccess;
    const device::RowGrid grid = device::row_grid(step.dst.ne[0], n_rows);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, pool_windows, device::view_of(step.src[0]), ops::pool_of(*step.node),
                  step.node->op == Op::pool_1d, device::view_of(step.dst), step.dst.type, n_rows);
}

cudaError_t launch_upscale(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (n_rows == 0 || step.dst.ne[0] == 0) return cudaSuccess;
    const auto &attrs = attrs_of<ops::UpscaleAttrs>(*step.node);
    const std::int64_t factor = ops::upscale_factor(*step.node);
    const device::RowGrid grid = device::row_grid(step.dst.ne[0], n_rows);
    if (factor == 0) {
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, resample_image, device::view_of(step.src[0]),
                      ops::resized(*step.node), device::view_of(step.dst), step.dst.type, n_rows);
    }
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, upscale_image, device::view_of(step.src[0]), factor,
                  attrs.mode == ops::UpscaleMode::nearest, device::view_of(step.dst), step.dst.type, n_rows);
}

constexpr CudaKernel table[] = {
    {{.op = Op::pool_1d, .name = "pool", .plan = plan_always<>}, launch_pool},
    {{.op = Op::pool_2d, .name = "pool", .plan = plan_always<>}, launch_pool},
    {{.op = Op::upscale, .name = "upscale", .plan = plan_always<>}, launch_upscale},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::pooling = table;

}  // namespace tensorlib::core
