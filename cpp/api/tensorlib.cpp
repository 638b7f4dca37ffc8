// The C++ API over the engine: handles share ownership of engine objects, nothing else.
#include <tensorlib/tensorlib.hpp>

#include "api/devices.hpp"
#include "base/fail.hpp"
#include "graph/tensor_data.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"

#include <algorithm>
#include <exception>

namespace tensorlib {

namespace {

// A shared_ptr that holds the engine's reference and points at the object itself.
template <class T>
std::shared_ptr<T> share(core::Ref<T> ref) {
    T *object = ref.get();
    return std::shared_ptr<T>(std::make_shared<core::Ref<T>>(std::move(ref)), object);
}

core::DType dtype_of(Type type) {
    const auto *traits = core::find_traits(static_cast<std::int32_t>(type));
    if (!traits) core::fail(Status::invalid_argument, "tensor: no type %d", static_cast<int>(type));
    return traits->type;
}

}  // namespace

const char *type_name(Type type) { return core::traits(dtype_of(type)).name; }

Type type_from_name(std::string_view name) {
    if (const auto *traits = core::find_traits(name)) return static_cast<Type>(traits->type);
    std::string known;
    for (std::size_t i = 0; i < core::dtype_count(); i++) known += (i ? ", " : "") + std::string(core::dtype_at(i).name);
    core::fail(Status::invalid_argument, "type_from_name: no type '%.*s': there are: %s", static_cast<int>(name.size()), name.data(),
               known.c_str());
}

// ---- Backend

Backend::Backend(std::string_view device, BackendOptions options) {
    core::BackendParams params;
    params.n_threads = options.n_threads;
    impl_ = share(core::open_backend(std::string(device).c_str(), params));
}

void Backend::compute(std::initializer_list<Tensor> outputs) const { Graph(outputs).compute(*this); }
std::string Backend::device() const { return impl_->device().name(); }
std::string Backend::isa() const { return impl_->isa(); }
int Backend::n_threads() const { return impl_->n_threads(); }

// ---- Context

namespace {

core::ContextParams params_of(const ContextOptions &options) {
    core::ContextParams params;
    params.mem_limit = options.mem_limit;
    params.mem_buffer = options.mem_buffer.data();
    params.mem_buffer_size = options.mem_buffer.size();
    params.no_alloc = options.no_alloc;
    return params;
}

}  // namespace

Context::Context(const ContextOptions &options) : impl_(share(core::Context::create(params_of(options)))) {}

Context::Context(const Backend &backend, const ContextOptions &options) {
    core::ContextParams params = params_of(options);
    params.memory = &backend.impl_->device().memory();
    params.keep_alive = backend.impl_.get();
    impl_ = share(core::Context::create(params));
}

Tensor Context::zeros(Type type, const Shape &shape) const {
    return Tensor(impl_, impl_->new_leaf(core::contiguous_layout("tensor", dtype_of(type), shape)));
}

Tensor Context::op(std::string_view name, std::initializer_list<Tensor> sources, std::initializer_list<Attribute> attributes) const {
    const core::OpDef *def = core::find_op(name);
    if (!def) core::fail(Status::invalid_argument, "op: no operation '%.*s'", static_cast<int>(name.size()), name.data());
    std::vector<core::Tensor *> src;
    for (const Tensor &source : sources) src.push_back(source.tensor_);
    std::vector<core::Attr> attrs;
    for (const Attribute &given : attributes) {
        if (given.ints.size() > core::Attr::max_ints)
            core::fail(Status::invalid_argument, "op: attribute %s has %zu values", given.name.c_str(), given.ints.size());
        attrs.push_back(given.ints.empty() ? core::Attr::of_text(given.name, given.text) : core::Attr::of_ints(given.name, given.ints));
    }
    return Tensor(impl_, core::build_node(*impl_, def->op, src, attrs));
}

void Context::allocate() const {
    core::RunGuard run(*impl_, true, "context_allocate");
    impl_->allocate();
}

void Context::reset() {
    if (impl_.use_count() > 1) core::fail(Status::busy, "context_reset: tensors or copies of the context's handle still exist");
    impl_->reset();
}

std::size_t Context::used_memory() const { return impl_->used_memory(); }
std::size_t Context::peak_memory() const { return impl_->peak_memory(); }

// ---- Tensor

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

core::Tensor *binary(core::Context &context, core::Op op, core::Tensor *a, core::Tensor *b) {
    core::Tensor *src[] = {a, b};
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

Tensor cpy(const Tensor &src, const Tensor &dst) {
    const auto &context = younger(src.context_, dst.context_);
    return Tensor(context, binary(*context, core::Op::cpy, src.tensor_, dst.tensor_));
}

// ---- Graph

struct Graph::Impl {
    core::Ref<core::Graph> graph;
    Progress progress;
    std::exception_ptr thrown;  // by the callback, on its way out of compute()

    static bool call(void *self, std::size_t done, std::size_t total) noexcept {
        auto &impl = *static_cast<Impl *>(self);
        try {
            return impl.progress(done, total);
        } catch (...) {
            impl.thrown = std::current_exception();
            return false;
        }
    }
};

Graph::Graph(std::span<const Tensor> outputs) : impl_(std::make_shared<Impl>()) {
    if (outputs.empty()) core::fail(Status::invalid_argument, "graph_create: no outputs: at least one is valid");
    std::vector<core::Tensor *> unwrapped;
    for (const Tensor &output : outputs) unwrapped.push_back(output.tensor_);
    impl_->graph = core::Graph::create(*outputs.front().context_, unwrapped);
}

void Graph::compute(const Backend &backend) const {
    try {
        core::compute(*impl_->graph, *backend.impl_);
    } catch (const Error &error) {
        if (error.code() == Status::aborted && impl_->thrown) std::rethrow_exception(std::exchange(impl_->thrown, nullptr));
        throw;
    }
}

void Graph::set_progress(Progress progress) const {
    // The engine refuses while the graph runs, so the callback is not replaced under its own feet.
    core::set_progress(*impl_->graph, progress ? Impl::call : nullptr, impl_.get());
    impl_->progress = std::move(progress);
}

std::size_t Graph::n_nodes() const { return impl_->graph->nodes().size(); }
std::size_t Graph::n_leafs() const { return impl_->graph->leafs().size(); }
std::string Graph::dot() const { return impl_->graph->dot(); }
std::string Graph::plan_text(const Backend &backend) const { return core::plan_text(*impl_->graph, *backend.impl_); }

}  // namespace tensorlib
