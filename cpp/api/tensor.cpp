#include "api/handles.hpp"
#include "graph/tensor_data.hpp"
#include "ops/op_def.hpp"

#include <string>
#include <vector>

namespace tensorlib {

Type Tensor::type() const { return static_cast<Type>(tensor_->layout.type); }
int Tensor::n_dims() const { return tensor_->layout.n_dims; }
std::array<std::int64_t, 4> Tensor::shape() const { return tensor_->layout.ne; }
std::array<std::size_t, 4> Tensor::strides() const { return tensor_->layout.nb; }
std::int64_t Tensor::n_elements() const { return tensor_->layout.n_elements(); }
std::size_t Tensor::nbytes() const { return tensor_->layout.nbytes(); }
std::string Tensor::op() const { return core::op_name(tensor_->op); }
std::string Tensor::name() const { return tensor_->name.load(std::memory_order_acquire); }
void Tensor::set_name(std::string_view name) const { context_->set_name(*tensor_, std::string(name).c_str()); }

void Tensor::write_bytes(const void *data, std::size_t offset, std::size_t size) const { core::write_bytes(*tensor_, data, offset, size); }
void Tensor::read_bytes(void *data, std::size_t offset, std::size_t size) const { core::read_bytes(*tensor_, data, offset, size); }
void Tensor::write_f32(std::span<const float> values) const { core::write_f32(*tensor_, values.data(), values.size()); }

std::vector<float> Tensor::read_f32() const {
    std::vector<float> values(static_cast<std::size_t>(n_elements()));
    core::read_f32(*tensor_, values.data(), values.size());
    return values;
}

void Tensor::set_constant() const { core::set_constant(*tensor_); }
void Tensor::drop_original() const { core::drop_original(*tensor_); }

void Tensor::check_type(Type wanted) const {
    if (type() == wanted) return;
    core::fail(Status::type_mismatch, "tensor %s: its elements are %s, not %s: use read_f32 and write_f32 to convert",
               core::tensor_text(*tensor_).c_str(), type_name(type()), type_name(wanted));
}

namespace {

// The context that was made last: links then always lead from young to old and never in a circle.
const std::shared_ptr<core::Context> &younger(const std::shared_ptr<core::Context> &a, const std::shared_ptr<core::Context> &b) {
    return a->id() >= b->id() ? a : b;
}

core::Tensor *unary(core::Context &context, core::Op op, core::Tensor *a, std::span<const core::Attr> attrs = {}) {
    core::Tensor *src[] = {a};
    return core::build_node(context, op, src, attrs);
}

core::Tensor *binary(core::Context &context, core::Op op, core::Tensor *a, core::Tensor *b, std::span<const core::Attr> attrs = {}) {
    core::Tensor *src[] = {a, b};
    return core::build_node(context, op, src, attrs);
}

core::Tensor *ternary(core::Context &context, core::Op op, core::Tensor *a, core::Tensor *b, core::Tensor *c) {
    core::Tensor *src[] = {a, b, c};
    return core::build_node(context, op, src);
}

core::Attr shape_attr(const char *op, const Shape &shape) {
    if (shape.size() > core::max_dims) core::fail(Status::invalid_argument, "%s: %zu dimensions: 1 to 4 are valid", op, shape.size());
    return core::Attr::of_ints("ne", shape);
}

}  // namespace

Tensor Tensor::view(const Shape &shape, std::span<const std::size_t> strides, std::size_t offset) const {
    std::vector<std::int64_t> nb;
    for (const std::size_t stride : strides) nb.push_back(static_cast<std::int64_t>(stride));
    std::vector<core::Attr> attrs{shape_attr("view", shape), core::Attr::of_int("offset", static_cast<std::int64_t>(offset))};
    if (!nb.empty()) attrs.push_back(core::Attr::of_ints("nb", nb));
    return Tensor(context_, unary(*context_, core::Op::view, tensor_, attrs));
}

Tensor Tensor::reshape(const Shape &shape) const {
    const core::Attr attr = shape_attr("reshape", shape);
    return Tensor(context_, unary(*context_, core::Op::reshape, tensor_, {&attr, 1}));
}

Tensor Tensor::permute(const std::array<int, 4> &axes) const {
    const std::array<std::int64_t, 4> wide{axes[0], axes[1], axes[2], axes[3]};
    const core::Attr attr = core::Attr::of_ints("axes", wide);
    return Tensor(context_, unary(*context_, core::Op::permute, tensor_, {&attr, 1}));
}

Tensor Tensor::transpose() const { return Tensor(context_, unary(*context_, core::Op::transpose, tensor_)); }
Tensor Tensor::cont() const { return Tensor(context_, unary(*context_, core::Op::cont, tensor_)); }
Tensor Tensor::dup() const { return Tensor(context_, unary(*context_, core::Op::dup, tensor_)); }

Tensor Tensor::cast(Type type) const {
    const core::Attr attr = core::Attr::of_text("to", type_name(type));
    return Tensor(context_, unary(*context_, core::Op::cast, tensor_, {&attr, 1}));
}

Tensor add(const Tensor &a, const Tensor &b) {
    const auto &context = younger(a.context_, b.context_);
    return Tensor(context, binary(*context, core::Op::add, a.tensor_, b.tensor_));
}

Tensor mul_mat(const Tensor &a, const Tensor &b) {
    const auto &context = younger(a.context_, b.context_);
    return Tensor(context, binary(*context, core::Op::mul_mat, a.tensor_, b.tensor_));
}

Tensor mul_mat_exact(const Tensor &a, const Tensor &b) {
    const auto &context = younger(a.context_, b.context_);
    const core::Attr exact = core::Attr::of_int("exact", 1);
    return Tensor(context, binary(*context, core::Op::mul_mat, a.tensor_, b.tensor_, {&exact, 1}));
}

Tensor mul_mat_id(const Tensor &a, const Tensor &b, const Tensor &ids) {
    const auto &context = younger(younger(a.context_, b.context_), ids.context_);
    return Tensor(context, ternary(*context, core::Op::mul_mat_id, a.tensor_, b.tensor_, ids.tensor_));
}

Tensor cpy(const Tensor &src, const Tensor &dst) {
    const auto &context = younger(src.context_, dst.context_);
    return Tensor(context, binary(*context, core::Op::cpy, src.tensor_, dst.tensor_));
}

Tensor get_rows(const Tensor &a, const Tensor &rows) {
    const auto &context = younger(a.context_, rows.context_);
    return Tensor(context, binary(*context, core::Op::get_rows, a.tensor_, rows.tensor_));
}

Tensor set_rows(const Tensor &a, const Tensor &b, const Tensor &rows) {
    const auto &context = younger(younger(a.context_, b.context_), rows.context_);
    return Tensor(context, ternary(*context, core::Op::set_rows, a.tensor_, b.tensor_, rows.tensor_));
}

}  // namespace tensorlib
