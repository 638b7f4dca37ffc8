#include "graph/context.hpp"
#include "api/dlpack.hpp"
#include "api/handles.hpp"
#include "base/utf8.hpp"
#include "ops/op_def.hpp"
#include "runtime/backend.hpp"

#include <string>
#include <vector>

namespace tensorlib {

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

Tensor Context::from_dlpack(DLManagedTensorVersioned *managed) const { return Tensor(impl_, core::from_dlpack(*impl_, managed)); }

Tensor Context::op(std::string_view name, std::initializer_list<std::optional<Tensor>> sources,
                   std::initializer_list<Attribute> attributes) const {
    const core::OpDef &def = core::op_named(name);
    std::vector<core::Tensor *> src;
    for (const std::optional<Tensor> &source : sources) src.push_back(source ? &source->get() : core::left_out());
    std::vector<core::Attr> attrs;
    for (const Attribute &given : attributes) {
        if (given.ints.size() > core::Attr::max_ints)
            core::fail(Status::invalid_argument, "%s: attribute %s has %zu values: up to %d are valid", def.name,
                       core::shown(given.name).c_str(), given.ints.size(), core::Attr::max_ints);
        if (!given.ints.empty())
            attrs.push_back(core::Attr::of_ints(given.name, given.ints));
        else if (given.text.empty() && given.number != 0)
            attrs.push_back(core::Attr::of_number(given.name, given.number));
        else
            attrs.push_back(core::Attr::of_text(given.name, given.text));
    }
    return Tensor(impl_, core::build_node(*impl_, def.op, src, attrs));
}

void Context::set_name(std::string_view name) const { impl_->set_name(std::string(name).c_str()); }
std::string Context::name() const { return impl_->name(); }
void Context::freeze() const { impl_->freeze(); }

void Context::set_busy_timeout(std::chrono::nanoseconds timeout) const {
    if (timeout.count() < 0) {
        core::fail(Status::invalid_argument, "context_set_busy_timeout: %lld ns: 0 and more is valid",
                   static_cast<long long>(timeout.count()));
    }
    impl_->set_busy_timeout(static_cast<std::uint64_t>(timeout.count()));
}
std::chrono::nanoseconds Context::busy_timeout() const {
    constexpr auto most = std::chrono::nanoseconds::max();
    const std::uint64_t ns = impl_->busy_timeout();  // a timeout set through the C ABI may be larger
    return ns < static_cast<std::uint64_t>(most.count()) ? std::chrono::nanoseconds(ns) : most;
}

std::vector<Tensor> Context::tensors() const {
    std::vector<core::Tensor *> all;
    std::size_t n;
    // Another thread may be making tensors meanwhile.
    while ((n = impl_->list(all)) > all.size()) all.resize(n);
    std::vector<Tensor> tensors;
    tensors.reserve(n);
    for (core::Tensor *t : all) tensors.push_back(Tensor(impl_, t));
    return tensors;
}

std::optional<Tensor> Context::find(std::string_view name) const {
    core::Tensor *found = name.empty() ? nullptr : impl_->find(std::string(name).c_str());
    return found ? std::optional(Tensor(impl_, found)) : std::nullopt;
}

std::uint64_t Context::id() const { return impl_->id(); }

namespace {

void check_library(const char *what, const core::Context &context) {
    if (context.is_of_this_library()) return;
    core::fail(Status::invalid_argument,
               "%s: another copy of the library in this process has made it: one that the C functions of tensorlib::cpp made is valid",
               what);
}

}  // namespace

Context Context::from(tl_context *context) {
    if (!context) core::fail(Status::invalid_argument, "context: the handle is NULL");
    auto *impl = reinterpret_cast<core::Context *>(context);
    check_library("context", *impl);
    return Context(share(core::Ref<core::Context>(impl)));
}

Tensor Tensor::from(tl_tensor *tensor) {
    auto *t = reinterpret_cast<core::Tensor *>(tensor);
    if (!t) core::fail(Status::invalid_argument, "tensor: the handle is NULL");
    if (t == core::left_out()) core::fail(Status::invalid_argument, "tensor: tl_none() is no tensor");
    check_library("tensor", *t->context);
    return Nodes::handle(*t);
}

Tensor Nodes::handle(const core::Tensor &t) {
    core::Tensor *known = t.known();
    return Tensor(share(core::Ref<core::Context>(known->context)), known);
}

tl_tensor *Tensor::handle() const { return reinterpret_cast<tl_tensor *>(&get()); }

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

}  // namespace tensorlib
