// Elementwise operations, one or several fused: a program (runtime/program.hpp) that each thread interprets over its
// elements.
//
// Limited by memory: each input is read once and the result written once, for any number of operations. All lanes take
// one path through the program, so its branches cost little. A thread moves 16 bytes of each operand if the inputs are
// contiguous floats of the result's shape, otherwise one element. No shared memory. Results have the bits of CPU ISAs
// with fused multiply-adds.
//
//   tiles_flat   floats of one shape, all contiguous: a thread owns four elements. The operands of a program of one
//                operation are in registers. Those of longer programs are in local memory: their numbers are not known
//                when the kernel is compiled
//   tiles_rows   any float types and strides, repeating inputs: an element a thread
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/lane.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/kernels/alignment.hpp"
#include "cuda/launch.hpp"
#include "math/formulas.hpp"
#include "runtime/program.hpp"

namespace tensorlib::core {

namespace {

using device::View;
using Number = math::Real<device::Lane>;

// A program as a kernel's argument.
struct DeviceInstruction {
    TileOp op;
    DType type;
    std::uint8_t to, from[max_tile_operands];
    float parameters[4];
};
struct DeviceProgram {
    DeviceInstruction instructions[max_program_instructions];
    View inputs[max_program_inputs];
    DType types[max_program_inputs];
    int n_instructions, n_inputs;
};
static_assert(sizeof(DeviceProgram) <= 2048, "all of a launch's arguments have 4 KiB");

// n elements at a time: reads inputs[i][.], returns the program's result.
template <int n>
struct Lanes {
    float at[n];
};

// operand_of(k): the instruction's operand k.
template <int n, int operands, int parameters, class F, class OperandOf>
__device__ void evaluate(const DeviceInstruction &instruction, OperandOf operand_of, Lanes<n> &to, F formula) {
    Number parameter[parameters + 1], operand[operands + 1];
    for (int p = 0; p < parameters; p++) parameter[p] = instruction.parameters[p];
#pragma unroll
    for (int i = 0; i < n; i++) {
#pragma unroll
        for (int k = 0; k < operands; k++) operand[k] = operand_of(k).at[i];
        to.at[i] = math::apply<operands, parameters>(formula, operand, parameter).reg;
    }
}

template <int n, class OperandOf>
__device__ Lanes<n> run_instruction(const DeviceInstruction &instruction, OperandOf operand_of) {
    Lanes<n> result{};
    switch (instruction.op) {
#define TL_TILE_OP(name, operands, parameters) \
    case TileOp::name: evaluate<n, operands, parameters>(instruction, operand_of, result, [](auto... x) { return name(x...); }); break;
#include "math/tile_ops.inc"
#undef TL_TILE_OP
    }
    // Rounds as the node's own memory would.
    if (instruction.type != DType::f32) {
        for (int j = 0; j < n; j++) {
            alignas(8) char rounded[8];
            device::store_element(instruction.type, rounded, result.at[j]);
            result.at[j] = device::load_element(instruction.type, rounded);
        }
    }
    return result;
}

// Inputs, followed by registers.
template <int n>
__device__ Lanes<n> run(const DeviceProgram &program, Lanes<n> *values) {
    Lanes<n> result{};
    for (int i = 0; i < program.n_instructions; i++) {
        const DeviceInstruction &instruction = program.instructions[i];
        result = run_instruction<n>(instruction, [&](int k) -> const Lanes<n> & { return values[instruction.from[k]]; });
        values[max_program_inputs + instruction.to] = result;
    }
    return result;
}

// A program of one operation on contiguous floats.
struct FlatInstruction {
    DeviceInstruction instruction;
    const float *operands[max_tile_operands];  // null past the last one
};

constexpr int n_values = max_program_inputs + max_program_registers;

// n_vectors of four floats, followed by n_rest floats for the first threads.
__global__ void tiles_flat(DeviceProgram program, float *c, std::int64_t n_vectors, int n_rest) {
    Lanes<4> values[n_values];
    device::for_each_unit(n_vectors, [&](std::int64_t i) {
        for (int k = 0; k < program.n_inputs; k++) {
            const auto v = device::load_vector<float4>(reinterpret_cast<const float *>(program.inputs[k].data) + i * 4);
            values[k] = {{v.x, v.y, v.z, v.w}};
        }
        const Lanes<4> r = run<4>(program, values);
        device::store_vector(c + i * 4, make_float4(r.at[0], r.at[1], r.at[2], r.at[3]));
    });
    const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (thread < n_rest) {
        const std::int64_t i = n_vectors * 4 + thread;
        Lanes<1> one[n_values];
        for (int k = 0; k < program.n_inputs; k++) one[k].at[0] = reinterpret_cast<const float *>(program.inputs[k].data)[i];
        c[i] = run<1>(program, one).at[0];
    }
}

// As tiles_flat().
__global__ void tiles_flat_one(FlatInstruction flat, float *c, std::int64_t n_vectors, int n_rest) {
    device::for_each_unit(n_vectors, [&](std::int64_t i) {
        Lanes<4> values[max_tile_operands]{};
#pragma unroll
        for (int k = 0; k < max_tile_operands; k++) {
            if (flat.operands[k] == nullptr) continue;
            const auto v = device::load_vector<float4>(flat.operands[k] + i * 4);
            values[k] = {{v.x, v.y, v.z, v.w}};
        }
        const Lanes<4> r = run_instruction<4>(flat.instruction, [&](int k) { return values[k]; });
        device::store_vector(c + i * 4, make_float4(r.at[0], r.at[1], r.at[2], r.at[3]));
    });
    const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (thread < n_rest) {
        const std::int64_t i = n_vectors * 4 + thread;
        c[i] = run_instruction<1>(flat.instruction, [&](int k) { return Lanes<1>{{flat.operands[k][i]}}; }).at[0];
    }
}

__global__ void tiles_rows(DeviceProgram program, View c, DType c_type, std::int64_t n_rows) {
    Lanes<1> values[n_values];
    const char *from[max_program_inputs];
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = c.index(row);
        for (int k = 0; k < program.n_inputs; k++) from[k] = program.inputs[k].repeated_at(index);
        char *to = c.at(index);
        device::for_each_unit(c.ne[0], [&](std::int64_t i) {
            for (int k = 0; k < program.n_inputs; k++) {
                const View &input = program.inputs[k];
                values[k].at[0] = device::load_element(program.types[k], from[k] + i % input.ne[0] * input.nb[0]);
            }
            device::store_element(c_type, to + i * c.nb[0], run<1>(program, values).at[0]);
        });
    });
}

const char *refuse_unless_flat(const Problem &p) noexcept {
    if (p.node.layout.type != DType::f32) return "not f32";
    for (const TensorRef &input : p.program.inputs) {
        if (input.type != DType::f32) return "not f32";
    }
    return refuse_unless_one_row(p);
}

const char *refuse_formats(const Problem &p) noexcept {
    for (const TensorRef &input : p.program.inputs) {
        if (!device::is_element(input.type)) return "not f32, f16 or bf16";
    }
    return nullptr;
}

DeviceProgram program_of(const Step &step) noexcept {
    DeviceProgram program{};
    program.n_instructions = static_cast<int>(step.program.instructions.size());
    program.n_inputs = static_cast<int>(step.program.inputs.size());
    for (int i = 0; i < program.n_instructions; i++) {
        const Instruction &from = step.program.instructions[static_cast<std::size_t>(i)];
        DeviceInstruction &to = program.instructions[i];
        to.op = from.op, to.type = from.type, to.to = from.to;
        std::ranges::copy(from.from, to.from);
        std::ranges::copy(from.parameters, to.parameters);
    }
    for (int k = 0; k < program.n_inputs; k++) {
        const TensorRef &input = step.program.inputs[static_cast<std::size_t>(k)];
        program.inputs[k] = device::view_of(input);
        program.types[k] = input.type;
    }
    return program;
}

cudaError_t launch_rows(const Step &step, const CudaStream &stream) noexcept {
    const TensorRef &c = step.dst;
    const std::int64_t n_rows = step.result->layout.n_rows();
    if (n_rows == 0 || c.ne[0] == 0) return cudaSuccess;
    const device::RowGrid grid = device::row_grid(c.ne[0], n_rows);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, tiles_rows, program_of(step), device::view_of(c), c.type, n_rows);
}

cudaError_t launch_flat(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n = step.result->layout.n_elements();
    if (n == 0) return cudaSuccess;
    const auto aligned = [](const TensorRef &t) { return is_aligned(t.data, 16); };
    if (!aligned(step.dst) || !std::ranges::all_of(step.program.inputs, aligned)) return launch_rows(step, stream);
    // At least one block, for the rest.
    const device::RowGrid grid = device::row_grid(std::max<std::int64_t>(n / 4, 4), 1);
    if (step.program.instructions.size() == 1) {
        const DeviceProgram program = program_of(step);
        FlatInstruction flat{program.instructions[0], {}};
        for (int k = 0; k < traits(flat.instruction.op).operands; k++) {
            flat.operands[k] = reinterpret_cast<const float *>(program.inputs[flat.instruction.from[k]].data);
        }
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, tiles_flat_one, flat, reinterpret_cast<float *>(step.dst.data),
                      n / 4, static_cast<int>(n % 4));
    }
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, tiles_flat, program_of(step),
                  reinterpret_cast<float *>(step.dst.data), n / 4, static_cast<int>(n % 4));
}

constexpr CudaKernel table[] = {
    {{.op = Op::leaf, .name = "tiles_flat", .plan = plan_unless<refuse_unless_flat>}, launch_flat},
    {{.op = Op::leaf, .name = "tiles_rows", .plan = plan_unless<refuse_formats>}, launch_rows},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::tiles = table;

}  // namespace tensorlib::core
