// Operations on lists of tensors, and functions that return lists or parts.
#include "api/handles.hpp"
#include "graph/context.hpp"
#include "ops/op_def.hpp"

#include <algorithm>
#include <vector>

namespace tensorlib {

Tensor Nodes::make_of_list(const ContextOps &context, core::Op op, std::span<const Tensor> operands, const core::Attr &attr) {
    const std::shared_ptr<core::Context> &impl = static_cast<const Context &>(context).impl_;
    std::vector<core::Tensor *> src;
    for (const Tensor &operand : operands) src.push_back(&operand.get());
    return Tensor(impl, core::build_node(*impl, op, src, {&attr, 1}));
}

Context Nodes::youngest_of(const char *op, std::span<const Tensor> operands) {
    if (operands.empty()) core::fail(Status::invalid_argument, "%s: no tensors: at least one is valid", op);
    const Tensor *youngest = nullptr;
    for (const Tensor &operand : operands) {
        operand.get();
        if (!youngest || operand.context_->id() > youngest->context_->id()) youngest = &operand;
    }
    return Context(youngest->context_);
}

Tensor Context::cat(std::span<const Tensor> tensors, int dim) const {
    return Nodes::make_of_list(*this, core::Op::cat, tensors, core::Attr::of_int("dim", dim));
}
Tensor Context::stack(std::span<const Tensor> tensors, int dim) const {
    return Nodes::make_of_list(*this, core::Op::stack, tensors, core::Attr::of_int("dim", dim));
}
Tensor Context::einsum(std::string_view equation, std::span<const Tensor> tensors) const {
    return Nodes::make_of_list(*this, core::Op::einsum, tensors, core::Attr::of_text("equation", equation));
}

Tensor cat(std::span<const Tensor> tensors, int dim) { return Nodes::youngest_of("cat", tensors).cat(tensors, dim); }
Tensor cat(std::initializer_list<Tensor> tensors, int dim) { return cat(std::span(tensors.begin(), tensors.size()), dim); }
Tensor stack(std::span<const Tensor> tensors, int dim) { return Nodes::youngest_of("stack", tensors).stack(tensors, dim); }
Tensor stack(std::initializer_list<Tensor> tensors, int dim) { return stack(std::span(tensors.begin(), tensors.size()), dim); }
Tensor einsum(std::string_view equation, std::span<const Tensor> tensors) {
    return Nodes::youngest_of("einsum", tensors).einsum(equation, tensors);
}
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> tensors) {
    return einsum(equation, std::span(tensors.begin(), tensors.size()));
}

namespace {

// The extent of a dimension that exists.
std::int64_t extent_of(const char *function, const Tensor &t, int dim) {
    const auto shape = t.shape();
    if (dim < 0 || dim >= core::max_dims) core::fail(Status::invalid_argument, "%s: dim is %d: 0 to 3 are valid", function, dim);
    return shape[static_cast<std::size_t>(dim)];
}

std::string text_of(const Tensor &t) { return core::shape_text(t.shape()) + " " + type_name(t.type()); }

}  // namespace

Tensor Tensor::operator[](std::initializer_list<Index> indices) const {
    std::vector<core::IndexRange> ranges;
    for (const Index &index : indices) ranges.push_back({index.begin_, index.end_, !index.is_range_});
    return Tensor(context_, core::build_index(*context_, &get(), ranges));
}

std::vector<Tensor> Tensor::split(std::int64_t size, int dim) const {
    const std::int64_t n = extent_of("split", *this, dim);
    if (size < 1) core::fail(Status::invalid_argument, "split: size is %lld: at least 1 is valid", static_cast<long long>(size));
    std::vector<Tensor> parts;
    for (std::int64_t first = 0; first < n; first += std::min(size, n - first))
        parts.push_back(narrow(dim, first, std::min(size, n - first)));
    return parts;
}

std::vector<Tensor> Tensor::split(std::span<const std::int64_t> sizes, int dim) const {
    std::int64_t left = extent_of("split", *this, dim);
    const std::int64_t n = left;
    bool fits = true;
    for (const std::int64_t size : sizes) {
        fits = fits && size >= 0 && size <= left;
        left -= fits ? size : 0;
    }
    if (!fits || left != 0) {
        core::fail(Status::invalid_argument, "split: a tensor is %s: sizes whose sum is %lld, the extent of dimension %d, are valid",
                   text_of(*this).c_str(), static_cast<long long>(n), dim);
    }
    std::vector<Tensor> parts;
    std::int64_t first = 0;
    for (const std::int64_t size : sizes) {
        parts.push_back(narrow(dim, first, size));
        first += size;
    }
    return parts;
}

std::vector<Tensor> Tensor::chunk(std::int64_t n, int dim) const {
    if (n < 1) core::fail(Status::invalid_argument, "chunk: n is %lld: at least 1 is valid", static_cast<long long>(n));
    const std::int64_t all = extent_of("chunk", *this, dim);
    return split(std::max<std::int64_t>(all / n + (all % n != 0 ? 1 : 0), 1), dim);
}

std::vector<Tensor> Tensor::unbind(int dim) const {
    const std::int64_t n = extent_of("unbind", *this, dim);
    std::vector<Tensor> parts;
    for (std::int64_t i = 0; i < n; i++) parts.push_back(select(dim, i));
    return parts;
}

std::vector<Tensor> meshgrid(std::span<const Tensor> vectors) {
    if (vectors.empty() || vectors.size() > core::max_dims)
        core::fail(Status::invalid_argument, "meshgrid: %zu vectors: 1 to 4 are valid", vectors.size());
    Shape ne;
    for (std::size_t d = 0; d < vectors.size(); d++) {
        if (vectors[d].n_dims() != 1)
            core::fail(Status::shape_mismatch, "meshgrid: vector %zu is %s: one dimension is valid", d + 1, text_of(vectors[d]).c_str());
        ne.push_back(vectors[d].n_elements());
    }
    std::vector<Tensor> grid;
    for (std::size_t d = 0; d < vectors.size(); d++) {
        Shape shape(vectors.size(), 1);
        shape[d] = ne[d];
        grid.push_back(expand(vectors[d].reshape(shape), ne));
    }
    return grid;
}

std::vector<Tensor> meshgrid(std::initializer_list<Tensor> vectors) { return meshgrid(std::span(vectors.begin(), vectors.size())); }

}  // namespace tensorlib
