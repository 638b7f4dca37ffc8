// Operations of C++ functions.
#include "ops/custom.hpp"

#include "api/handles.hpp"
#include "base/utf8.hpp"

#include <tensorlib/custom.hpp>
#include <vector>

namespace tensorlib {

namespace {

template <class Byte>
CustomView<Byte> view_of(const core::CustomView &of) {
    CustomView<Byte> view{of.data, static_cast<Type>(of.layout->type), {}, {}};
    std::copy(of.layout->ne.begin(), of.layout->ne.end(), view.shape.begin());
    std::copy(of.layout->nb.begin(), of.layout->nb.end(), view.strides.begin());
    return view;
}

CustomOp::Operand operand_of(const core::Layout &layout) {
    return {static_cast<Type>(layout.type), Shape(layout.ne.begin(), layout.ne.begin() + layout.n_dims)};
}

class FunctionOp final : public core::CustomOp {
public:
    FunctionOp(Properties properties, std::function<void(const CustomSlice &)> compute, tensorlib::CustomOp::Options options)
        : CustomOp(std::move(properties)), compute_(std::move(compute)), options_(std::move(options)) {}

    core::Layout result_of(std::span<core::Tensor *const> src) const override {
        tensorlib::CustomOp::Operand result = operand_of(src[0]->layout);
        if (options_.shape) {
            std::vector<tensorlib::CustomOp::Operand> operands;
            for (const core::Tensor *source : src) operands.push_back(operand_of(source->layout));
            result = options_.shape(operands);
        }
        const std::string what = "custom '" + name() + "'";
        return core::contiguous_layout(what.c_str(), dtype_of(result.type), result.shape);
    }

    void compute(const core::CustomSlice &slice) const override {
        std::vector<CustomView<const std::byte>> operands;
        for (const core::CustomView &source : slice.src) operands.push_back(view_of<const std::byte>(source));
        compute_({operands, view_of<std::byte>(slice.dst), slice.begin, slice.end, slice.thread});
    }

    bool has_gradient() const noexcept override { return options_.gradient != nullptr; }

    core::Tensor *gradient(core::Context &, core::Tensor &node, core::Tensor &gradient, std::size_t operand) const override {
        const Tensor made = options_.gradient(Nodes::handle(node), Nodes::handle(gradient), operand);
        return made ? &Nodes::of(made) : nullptr;
    }

private:
    const std::function<void(const CustomSlice &)> compute_;
    const tensorlib::CustomOp::Options options_;
};

}  // namespace

template <class Byte>
bool CustomView<Byte>::contiguous() const {
    std::size_t stride = core::traits(dtype_of(type)).size;
    for (std::size_t d = 0; d < shape.size() && n_elements() != 0; d++) {
        if (shape[d] != 1 && strides[d] != stride) return false;
        stride *= static_cast<std::size_t>(shape[d]);
    }
    return true;
}

template <class Byte>
void CustomView<Byte>::check(Type wanted) const {
    if (type != wanted) core::fail(Status::type_mismatch, "the elements are %s, not %s", type_name(type), type_name(wanted));
    if (!contiguous()) core::fail(Status::invalid_argument, "the elements are not contiguous: pass cont() of the operand");
}

template struct CustomView<std::byte>;
template struct CustomView<const std::byte>;

CustomOp::CustomOp(std::string_view name, std::function<void(const CustomSlice &)> compute, Options options) {
    if (!compute) core::fail(Status::invalid_argument, "CustomOp: '%s' has no function", core::shown(name).c_str());
    core::CustomOp::Properties properties{std::string(name), options.slice_unit, options.cost};
    impl_ = share(core::Ref<core::CustomOp>::adopt(new FunctionOp(std::move(properties), std::move(compute), std::move(options))));
}

std::uint64_t CustomOp::number() const { return impl_->id(); }

Tensor CustomOp::operator()(std::span<const Tensor> operands) const {
    const core::Attr function = core::Attr::of_int("function", static_cast<std::int64_t>(impl_->id()));
    return Nodes::make_of_list(Nodes::youngest_of("custom", operands), core::Op::custom, operands, function);
}

}  // namespace tensorlib
