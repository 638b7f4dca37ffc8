#include "api/handles.hpp"
#include "runtime/executor.hpp"
#include "runtime/memory_budget.hpp"

#include <exception>
#include <vector>

namespace tensorlib {

struct Graph::Impl {
    core::Ref<core::Graph> graph;
    Progress progress;
    Observe observe;
    std::exception_ptr thrown;  // by the callback; leaves through compute()

    static bool call(void *self, std::size_t done, std::size_t total) noexcept {
        auto &impl = *static_cast<Impl *>(self);
        return impl.guarded([&] { return impl.progress(done, total); });
    }
    static bool show(void *self, tl_tensor *node, std::size_t done, std::size_t total) noexcept {
        auto &impl = *static_cast<Impl *>(self);
        return impl.guarded([&] { return impl.observe(Tensor::from(node), done, total); });
    }
    template <class F>
    bool guarded(F f) noexcept {
        try {
            return f();
        } catch (...) {
            thrown = std::current_exception();
            return false;
        }
    }
    static std::vector<Tensor> tensors(std::span<core::Tensor *const> all) {
        std::vector<Tensor> tensors;
        tensors.reserve(all.size());
        for (const core::Tensor *t : all) tensors.push_back(Nodes::handle(*t));
        return tensors;
    }
};

Graph::Graph(std::span<const Tensor> outputs, std::optional<std::size_t> memory, const char *what) : impl_(std::make_shared<Impl>()) {
    if (outputs.empty()) core::fail(Status::invalid_argument, "%s: no outputs: at least one is valid", what);
    std::vector<core::Tensor *> unwrapped;
    for (const Tensor &output : outputs) unwrapped.push_back(&output.get());
    impl_->graph = core::create_graph(*outputs.front().context_, unwrapped, memory);
}

Graph::Graph(std::span<const Tensor> outputs) : Graph(outputs, {}, "graph_create") {}
Graph Graph::within(std::span<const Tensor> outputs, std::size_t memory) { return {outputs, memory, "graph_create_within"}; }

void Graph::compute(const Backend &backend) const {
    const auto impl = impl_;  // the callback may assign to this handle
    try {
        core::compute(*impl->graph, *backend.impl_);
    } catch (const Error &error) {
        if (error.code() == Status::aborted && impl->thrown) std::rethrow_exception(std::exchange(impl->thrown, nullptr));
        throw;
    }
    // For an exception after the last node, when nothing could be stopped any more.
    if (impl->thrown) std::rethrow_exception(std::exchange(impl->thrown, nullptr));
}

void Graph::set_progress(Progress progress) const {
    // Held until both are replaced, so that no run sees one without the other.
    const core::GraphGuard guard(*impl_->graph, "graph_set_progress");
    impl_->graph->progress = progress ? Impl::call : nullptr;
    impl_->graph->progress_data = impl_.get();
    impl_->progress.swap(progress);
}

void Graph::set_observer(Observe observe) const {
    const core::GraphGuard guard(*impl_->graph, "graph_set_observer");
    impl_->graph->observe = observe ? Impl::show : nullptr;
    impl_->graph->observe_data = impl_.get();
    impl_->observe.swap(observe);
}

void Graph::set_check_finite(bool check) const { core::set_check_finite(*impl_->graph, check); }
void Graph::set_batch_invariant(bool on) const { core::set_batch_invariant(*impl_->graph, on); }

std::size_t Graph::n_nodes() const { return impl_->graph->nodes().size(); }
std::size_t Graph::n_leafs() const { return impl_->graph->leafs().size(); }
std::vector<Tensor> Graph::nodes() const { return Impl::tensors(impl_->graph->nodes()); }
std::vector<Tensor> Graph::leafs() const { return Impl::tensors(impl_->graph->leafs()); }
std::vector<Tensor> Graph::outputs() const { return Impl::tensors(impl_->graph->outputs()); }
std::string Graph::dot() const { return impl_->graph->dot(); }
std::vector<std::size_t> Graph::plan_bytes(const Backend &backend) const { return core::plan_bytes(*impl_->graph, *backend.impl_); }
std::string Graph::plan_text(const Backend &backend) const { return core::plan_text(*impl_->graph, *backend.impl_); }

}  // namespace tensorlib
