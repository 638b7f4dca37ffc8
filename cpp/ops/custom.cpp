// The operation of users' operations, described in custom.toml.
#include "ops/custom.hpp"

#include "base/callback_scope.hpp"
#include "base/fail.hpp"
#include "base/utf8.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/op_def.hpp"

#include <algorithm>
#include <cmath>
#include <new>

namespace tensorlib::core {

namespace {

constexpr std::size_t longest_name = 64;

}  // namespace

CustomOp::CustomOp(Properties properties) : properties_(std::move(properties)) {
    const auto &[name, unit, cost] = properties_;
    if (name.empty() || name.size() > longest_name || valid_utf8(name) != name.size()) {
        fail(Status::invalid_argument, "custom: the name '%s' has %zu bytes: 1 to 64 bytes of UTF-8 are valid", shown(name).c_str(),
             name.size());
    }
    if (unit < -1) {
        fail(Status::invalid_argument, "custom '%s': slice_unit is %lld: -1 (one slice), 0 (rows) or more elements are valid", name.c_str(),
             static_cast<long long>(unit));
    }
    if (!(cost >= 0) || std::isinf(cost)) {
        fail(Status::invalid_argument, "custom '%s': cost is %g: 0 or more operations for each element are valid", name.c_str(), cost);
    }
}

const CustomOp &CustomOp::of(const Tensor &node) noexcept {
    return at(static_cast<std::uint64_t>(attrs_of<ops::CustomAttrs>(node).function));
}

bool CustomOp::run(const CustomSlice &slice, const std::uint64_t *fault) const noexcept {
    const auto failed = [&](Status code, const char *message) {
        std::lock_guard lock(failures_lock_);
        try {
            // One of an earlier run, which ended otherwise, would be said to be this run's.
            std::erase_if(failures_, [&](const Failure &one) { return one.fault == fault && one.begin == slice.begin; });
            failures_.push_back({fault, slice.begin, code, message});
        } catch (const std::bad_alloc &) {
            // fail_for() says so.
        }
        return false;
    };
    try {
        const CallbackScope scope(name().c_str());
        compute(slice);
        return true;
    } catch (const Error &error) {
        return failed(error.code(), error.what());
    } catch (const std::bad_alloc &) {
        return failed(Status::out_of_memory, "no memory");
    } catch (const std::exception &error) {
        return failed(Status::internal, error.what());
    } catch (...) {
        return failed(Status::internal, "it threw something that is no exception");
    }
}

void CustomOp::fail_for(const std::uint64_t *fault, const Tensor &node) const {
    Failure first{fault, INT64_MAX, Status::out_of_memory, "no memory for its message"};
    {
        std::lock_guard lock(failures_lock_);
        for (Failure &one : failures_) {
            if (one.fault == fault && one.begin < first.begin) first = std::move(one);
        }
        std::erase_if(failures_, [&](const Failure &one) { return one.fault == fault; });
    }
    fail(first.code, "graph_compute: %s of %s: %s", op_text(node).c_str(), sources_text(node).c_str(), first.message.c_str());
}

Tensor *build_custom(Context &context, const CustomOp &op, std::span<Tensor *const> src) {
    const Attr function = Attr::of_int("function", static_cast<std::int64_t>(op.id()));
    return build_node(context, Op::custom, src, {&function, 1});
}

std::string op_text(const Tensor &node) {
    if (node.op != Op::custom) return op_name(node.op);
    return "custom '" + CustomOp::of(node).name() + "'";
}

namespace ops {

namespace {

void custom_infer(std::span<Tensor *const> src, const CustomAttrs &attrs, NodeSpec &result) {
    Ref<const CustomOp> op = CustomOp::find(static_cast<std::uint64_t>(attrs.function));
    if (!op) {
        fail(Status::invalid_argument, "custom: there is no operation %lld: make one with custom_new",
             static_cast<long long>(attrs.function));
    }
    result.layout = op->result_of(src);
    if (traits(result.layout.type).block_size != 1) {
        fail(Status::type_mismatch, "custom '%s': %s: the result is %s: a type that is not quantised is valid", op->name().c_str(),
             operands_text(facts::custom, src).c_str(), traits(result.layout.type).name);
    }
    result.kept = Ref<const RefCounted>::adopt(op.release());
}

Cost custom_cost(const Tensor &node) {
    Cost cost = copy_cost(node);
    cost.flops = CustomOp::of(node).cost() * static_cast<double>(node.layout.n_elements());
    return cost;
}

// Whether its function has failed is noted as a fault of the first operand.
unsigned custom_failures(const Tensor &) noexcept { return 1; }
std::string custom_values(const Tensor &, int) { return "its function failed"; }

}  // namespace

constexpr OpDef custom{facts::custom,
                       {.infer = with_attrs<CustomAttrs, custom_infer>,
                        .cost = custom_cost,
                        .checked_operands = custom_failures,
                        .valid_values = custom_values}};

}  // namespace ops

}  // namespace tensorlib::core
