// Graphs of one output each, measured in turn, and operands for them.
#pragma once

#include "graph/context.hpp"
#include "graph/graph.hpp"
#include "graph/tensor_data.hpp"
#include "ops/op_def.hpp"
#include "sections.hpp"
#include "support.hpp"
#include "tensors.hpp"

#include <array>
#include <string>
#include <vector>

namespace tensorlib::bench {

// A graph of one output, in turn with others.
struct Work {
    std::string name;
    double bytes;  // read and written, or 0
    core::Tensor *output;
};

// A context with a matrix of activations and a row.
class Activations {
public:
    Activations(std::int64_t n0, std::int64_t n1) : x(random({n0, n1}, 1)), row(random({n0, 1}, 2)) {}

    core::Tensor *node(core::Op op, std::vector<core::Tensor *> src, std::vector<core::Attr> attrs = {}) {
        return core::build_node(*context, op, src, attrs);
    }
    core::Tensor *random(std::array<std::int64_t, 2> ne, std::uint32_t seed);
    // Halves a tensor: the scale in a chain of elementwise operations.
    core::Tensor *scaled(core::Tensor *t) { return node(core::Op::scale, {t}, {core::Attr::of_number("scale", 0.5)}); }

    core::Ref<core::Context> context = core::Context::create({});
    core::Tensor *x, *row;
};

// A leaf of small numbers, T and `type` being one type.
template <class T>
core::Tensor *numbers(core::Context &context, core::DType type, std::array<std::int64_t, 2> ne) {
    core::Tensor *t = context.new_leaf(core::contiguous_layout("leaf", type, ne));
    std::vector<T> values(static_cast<std::size_t>(ne[0] * ne[1]));
    for (std::size_t i = 0; i < values.size(); i++) values[i] = static_cast<T>(i % 97 + 1);
    core::write_bytes(*t, values.data(), 0, values.size() * sizeof(T));
    return t;
}

// Graphs in turn with the peak of multiply-adds, on the same number of threads.
struct BesidePeak {
    double peak;  // operations a second
    std::vector<Times> times;
    char mark;  // '*' if others used the machine
};
BesidePeak in_turn_with_peak(const Bench &bench, int threads, const std::vector<core::Ref<core::Graph>> &graphs);

// The heading of a table: what is measured, and what its last column is relative to.
void head(const std::string &what, const char *beside);

// A row for each, on one thread and on all; the last column is the time by the first one's. With `read` that one is a plain read of this
// tensor's bytes.
void report_in_turn(const Bench &bench, const Activations &of, const std::vector<Work> &all, const core::Tensor *read = nullptr);

}  // namespace tensorlib::bench
