// Operations that users define by functions: objects that nodes name by a number, and that the nodes' contexts keep alive.
#pragma once

#include "base/numbered.hpp"
#include "base/ref.hpp"
#include "graph/context.hpp"

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tensorlib::core {

// The memory of an operand, or of the result, while a custom operation is computed.
struct CustomView {
    std::byte *data;
    const Layout *layout;
};

// The part of the result that one call computes: elements [begin, end), counted along dimension 0 first.
struct CustomSlice {
    std::span<const CustomView> src;
    CustomView dst;
    std::int64_t begin, end;
    int thread;  // of the backend, from 0; calls that run at the same time have different ones
};

class CustomOp : public RefCounted, public Numbered<CustomOp> {
public:
    struct Properties {
        std::string name;
        // Slices begin at multiples of this many elements. 0: of a row; -1: there is one slice.
        std::int64_t unit = 0;
        // About how many operations an element takes.
        double cost = 0;
    };

    const std::string &name() const noexcept { return properties_.name; }
    std::int64_t unit() const noexcept { return properties_.unit; }
    double cost() const noexcept { return properties_.cost; }

    // The type and the shape of the result. Throws Error if there is none for these operands.
    virtual Layout result_of(std::span<Tensor *const> src) const = 0;
    // Throws Error if the slice cannot be computed. Any thread, several at once.
    virtual void compute(const CustomSlice &slice) const = 0;
    virtual bool has_gradient() const noexcept = 0;
    // The gradient of an operand of `node`, in the shape of the operand: made in the context, of F32, F16 or BF16.
    virtual Tensor *gradient(Context &context, Tensor &node, Tensor &gradient, std::size_t operand) const = 0;

    // Computes a slice. False if it failed, which is noted for the run whose fault word this is.
    bool run(const CustomSlice &slice, const std::uint64_t *fault) const noexcept;
    // Throws what was noted for the run: the failure of the first slice that failed.
    [[noreturn]] void fail_for(const std::uint64_t *fault, const Tensor &node) const;

    // That of a node.
    static const CustomOp &of(const Tensor &node) noexcept;

protected:
    // Throws Error(invalid_argument) for properties that are not valid.
    explicit CustomOp(Properties properties);
    ~CustomOp() override = default;

private:
    struct Failure {
        const std::uint64_t *fault;
        std::int64_t begin;
        Status code;
        std::string message;
    };
    const Properties properties_;
    mutable std::mutex failures_lock_;
    mutable std::vector<Failure> failures_;
};

// A node of the operation.
Tensor *build_custom(Context &context, const CustomOp &op, std::span<Tensor *const> src);

// "custom 'softclip'"; the name of any other operation.
std::string op_text(const Tensor &node);

}  // namespace tensorlib::core
