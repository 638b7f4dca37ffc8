// The contexts that a context keeps alive: those whose tensors its nodes read. Links never go round in a circle, which could not be freed.
#include "graph/context.hpp"

#include "base/fail.hpp"

#include <algorithm>
#include <utility>

namespace tensorlib::core {

// Under build_.
void Context::link_operands(const NodeSpec &spec) {
    const auto keep = [&](Context &other) {
        if (&other != this && &other != last_link_) link(other, op_name(spec.op));
    };
    for (const Tensor *source : spec.src) {
        if (source) keep(*source->context);
    }
    // A view of a view may reach a root in a third context, which this one must keep alive as well; so may one that is written into.
    if (spec.view_of) keep(*spec.view_of->root->context);
    for (std::size_t s = 0; s < spec.src.size(); s++) {
        if (spec.written >> s & 1) keep(*spec.src[s]->root->context);
    }
}

// Adds other to the contexts that this one keeps alive. The link is in place before the search for a way back, so
// of two threads that link two contexts to each other at the same time at least one sees the circle. Where it throws, the link is the
// caller's to remove.
void Context::link(Context &other, const char *op) {
    {
        std::lock_guard lock(links_lock_);
        for (const auto &known : links_) {
            if (known.get() == &other) {
                last_link_ = &other;
                return;
            }
        }
        links_.emplace_back(&other);
    }
    if (other.refers_to(*this)) refuse_circle(op, other);
    last_link_ = &other;
}

void Context::refuse_circle(const char *op, const Context &other) const {
    fail(Status::context_mismatch, "%s: %s cannot refer to %s, which refers to it already: neither could ever be freed", op, text().c_str(),
         other.text().c_str());
}

void Context::check_reference(const char *op, const Context &other) const {
    if (&other != this && other.refers_to(*this)) refuse_circle(op, other);
}

// Under build_, so that nobody else adds links. The operands' owners hold references, so none goes with these.
void Context::unlink_behind(std::size_t n) noexcept {
    last_link_ = nullptr;
    std::lock_guard lock(links_lock_);
    links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(n), links_.end());
}

std::vector<Ref<Context>> Context::linked() const {
    std::lock_guard lock(links_lock_);
    return links_;
}

bool Context::refers_to(const Context &target) const {
    std::vector<Ref<Context>> to_visit = linked();
    std::vector<const Context *> seen;
    while (!to_visit.empty()) {
        const Ref<Context> next = std::move(to_visit.back());
        to_visit.pop_back();
        if (next.get() == &target) return true;
        if (std::find(seen.begin(), seen.end(), next.get()) != seen.end()) continue;
        seen.push_back(next.get());
        for (auto &further : next->linked()) to_visit.push_back(std::move(further));
    }
    return false;
}

}  // namespace tensorlib::core
