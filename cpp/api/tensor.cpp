#include "api/devices.hpp"
#include "api/dlpack.hpp"
#include "api/handles.hpp"
#include "graph/constants.hpp"
#include "graph/tensor_data.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "runtime/memory_budget.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tensorlib {

core::Tensor &Tensor::get() const {
    if (!context_)
        core::fail(Status::invalid_argument,
                   "tensor: the handle is null: it was made without arguments or moved from, and nothing was assigned to it");
    return *tensor_;
}

Type Tensor::type() const { return static_cast<Type>(get().layout.type); }
int Tensor::n_dims() const { return get().layout.n_dims; }
std::array<std::int64_t, 4> Tensor::shape() const { return get().layout.ne; }
std::array<std::size_t, 4> Tensor::strides() const { return get().layout.nb; }
std::int64_t Tensor::n_elements() const { return get().layout.n_elements(); }
std::size_t Tensor::nbytes() const { return get().layout.nbytes(); }
std::string Tensor::op() const { return core::op_name(get().op); }
std::string Tensor::name() const {
    const core::Tensor &t = get();
    return context_->name_of(t);
}
void Tensor::set_name(std::string_view name) const {
    core::Tensor &t = get();
    context_->set_name(t, std::string(name).c_str());
}

void Tensor::write_bytes(const void *data, std::size_t offset, std::size_t size) const { core::write_bytes(get(), data, offset, size); }
void Tensor::read_bytes(void *data, std::size_t offset, std::size_t size) const { core::read_bytes(get(), data, offset, size); }
void Tensor::write_f32(std::span<const float> values) const { core::write_f32(get(), values.data(), values.size()); }

void Tensor::check_readable() const { core::read_bytes(get(), nullptr, 0, 0); }

void Tensor::fail_no_memory(std::size_t size) const {
    core::fail(Status::out_of_memory, "tensor_read: %lld values of %zu bytes of %s: the machine has no memory for them",
               static_cast<long long>(n_elements()), size, core::tensor_text(get()).c_str());
}

std::vector<float> Tensor::read_f32() const {
    std::vector<float> values = room<float>();
    core::read_f32(get(), values.data(), values.size());
    return values;
}

std::size_t Tensor::offset_of(std::int64_t first, std::size_t size) const {
    if (first >= 0 && first <= n_elements()) return static_cast<std::size_t>(first) * size;
    core::fail(Status::invalid_argument, "tensor %s: element %lld: 0 to %lld is valid", core::tensor_text(get()).c_str(),
               static_cast<long long>(first), static_cast<long long>(n_elements()));
}

namespace {

core::Extents extents_of(const char *what, const Shape &index) {
    if (index.size() > core::max_dims) core::fail(Status::invalid_argument, "%s: %zu indices: 0 to 4 are valid", what, index.size());
    core::Extents all{};
    std::ranges::copy(index, all.begin());
    return all;
}

}  // namespace

std::int64_t Tensor::position_of(const char *what, const Shape &index) const {
    const core::Extents at = extents_of(what, index);
    const core::Tensor &t = get();
    core::check_index(what, t, at);
    const core::Extents &ne = t.layout.ne;
    return at[0] + ne[0] * (at[1] + ne[1] * (at[2] + ne[2] * at[3]));
}

float Tensor::get_f32(const Shape &index) const { return core::get_f32(get(), extents_of("tensor_get_f32", index)); }
void Tensor::set_f32(const Shape &index, float value) const { core::set_f32(get(), extents_of("tensor_set_f32", index), value); }

void Tensor::fail_inexact(const std::string &value) const {
    core::fail(Status::invalid_argument, "set: a float on the way to %s %s cannot hold %s", core::tensor_text(get()).c_str(),
               type_name(type()), value.c_str());
}

std::vector<std::optional<Tensor>> Tensor::sources() const {
    const core::Tensor &t = get();
    std::vector<std::optional<Tensor>> sources;
    for (std::size_t s = 0; s < t.n_src; s++) {
        sources.push_back(t.src[s] ? std::optional(Nodes::handle(*t.src[s])) : std::nullopt);
    }
    return sources;
}

DLManagedTensorVersioned *Tensor::to_dlpack() const { return core::to_dlpack(get()); }

void Tensor::set_constant() const { core::set_constant(get()); }
void Tensor::drop_original() const { core::drop_original(get()); }
void Tensor::place(std::string_view device) const {
    core::place(get(), device.empty() ? nullptr : &core::device_named("tensor_place", std::string(device).c_str()).memory());
}
void Tensor::set_recompute(bool recompute) const { core::set_recompute(get(), recompute); }

void Tensor::check_type(Type wanted) const {
    if (type() == wanted) return;
    core::fail(Status::type_mismatch, "tensor %s: its elements are %s, not %s: use read_f32 and write_f32 to convert",
               core::tensor_text(get()).c_str(), type_name(type()), type_name(wanted));
}

namespace {

// Checks the handle first: a null one has no context either.
core::Tensor *unary(const std::shared_ptr<core::Context> &context, core::Op op, core::Tensor *a, std::span<const core::Attr> attrs) {
    core::Tensor *src[] = {a};
    return core::build_node(*context, op, src, attrs);
}

}  // namespace

Tensor Tensor::view(const Shape &shape, std::span<const std::size_t> strides, std::size_t offset) const {
    std::vector<std::int64_t> nb;
    for (const std::size_t stride : strides) nb.push_back(static_cast<std::int64_t>(stride));
    std::vector<core::Attr> attrs{shape_attr("view", shape), core::Attr::of_int("offset", static_cast<std::int64_t>(offset))};
    if (!nb.empty()) attrs.push_back(core::Attr::of_ints("nb", nb));
    return Tensor(context_, unary(context_, core::Op::view, &get(), attrs));
}

Tensor Tensor::slice(const Shape &start, const Shape &shape) const {
    if (start.size() > core::max_dims) core::fail(Status::invalid_argument, "slice: start has %zu values: 1 to 4 are valid", start.size());
    const core::Attr attrs[] = {shape_attr("slice", shape), core::Attr::of_ints("start", start)};
    return Tensor(context_, unary(context_, core::Op::view, &get(), attrs));
}

Tensor Tensor::narrow(int dim, std::int64_t start, std::int64_t length) const {
    core::Tensor &a = get();
    return Tensor(context_, core::build_narrow(*context_, &a, dim, start, length));
}

Tensor Tensor::reshape(const Shape &shape) const {
    const core::Attr attr = shape_attr("reshape", shape);
    return Tensor(context_, unary(context_, core::Op::reshape, &get(), {&attr, 1}));
}

Tensor Tensor::permute(const std::array<int, 4> &axes) const {
    const std::array<std::int64_t, 4> wide{axes[0], axes[1], axes[2], axes[3]};
    const core::Attr attr = core::Attr::of_ints("axes", wide);
    return Tensor(context_, unary(context_, core::Op::permute, &get(), {&attr, 1}));
}

Tensor Tensor::cast(Type type) const {
    const core::Attr attr = core::Attr::of_text("to", type_name(type));
    return Tensor(context_, unary(context_, core::Op::cast, &get(), {&attr, 1}));
}

}  // namespace tensorlib
