#include "gradients/gradients.hpp"

#include "api/handles.hpp"
#include "graph/context.hpp"

#include <vector>

namespace tensorlib {

std::vector<Tensor> Context::gradients(std::span<const Tensor> ys, std::span<const Tensor> wrt,
                                       std::span<const std::optional<Tensor>> seeds) const {
    if (!seeds.empty() && seeds.size() != ys.size()) {
        core::fail(Status::invalid_argument, "gradients: %zu outputs and %zu seeds: as many, or none, are valid", ys.size(), seeds.size());
    }
    std::vector<core::Tensor *> outputs, tensors, given;
    for (const Tensor &y : ys) outputs.push_back(&y.get());
    for (const Tensor &t : wrt) tensors.push_back(&t.get());
    for (const auto &seed : seeds) given.push_back(seed ? &seed->get() : nullptr);
    std::vector<core::Tensor *> made(tensors.size());
    core::gradients::append(*impl_, outputs, given, tensors, made);
    std::vector<Tensor> gradients;
    for (core::Tensor *t : made) gradients.push_back(Tensor(impl_, t));
    return gradients;
}

std::vector<Tensor> Tensor::gradients(std::initializer_list<Tensor> wrt) const {
    return context().gradients({this, 1}, {wrt.begin(), wrt.size()});
}

std::vector<Tensor> Tensor::gradients(std::initializer_list<Tensor> wrt, const Tensor &seed) const {
    const std::optional<Tensor> given(seed);
    return Nodes::youngest_of({this, &seed}).gradients({this, 1}, {wrt.begin(), wrt.size()}, {&given, 1});
}

bool Tensor::gradients_reach(const Tensor &t) const { return core::gradients::reach(get(), t.get()); }

}  // namespace tensorlib
