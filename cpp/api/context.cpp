#include "graph/context.hpp"
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
