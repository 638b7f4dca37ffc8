#include "graph/context_links.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "graph/context.hpp"

#include <algorithm>
#include <mutex>
#include <queue>
#include <utility>
#include <vector>

namespace tensorlib::core {

namespace {

// Never destroyed, because contexts may outlive static objects. fork() waits for it, so that a child finds it free.
std::mutex &all_links() {
    static std::mutex *lock = [] {
        auto *made = new std::mutex;
        platform::hold_during_fork(*made);
        return made;
    }();
    return *lock;
}

}  // namespace

// Ranks as they would be if a context's rank were moved, found context by context. up: contexts that refer to it are
// moved above it; otherwise contexts that it refers to are moved below it. When a context is taken, its rank is final,
// because everything that could move it further was taken before.
class RankWalk {
public:
    RankWalk(ContextLinks &start, std::int64_t rank, bool up) : up_(up) { move(start, rank); }

    bool done() const noexcept { return next_.empty(); }
    // Takes one context. Returns false if a link leads to `other_end`.
    bool step(const ContextLinks &other_end) {
        ContextLinks *context = next_.top().second;
        next_.pop();
        const std::int64_t rank = ranks_[context];
        const auto visit = [&](ContextLinks *neighbour) {
            if (neighbour == &other_end) return false;
            if (up_ ? neighbour->rank_ <= rank : neighbour->rank_ >= rank) move(*neighbour, up_ ? rank + 1 : rank - 1);
            return true;
        };
        if (up_) return std::ranges::all_of(context->referrers_, visit);
        return std::ranges::all_of(context->links_, [&](const ContextLinks::Link &link) { return visit(link.links); });
    }
    void commit() const noexcept {
        for (const auto &[context, rank] : ranks_) context->rank_ = rank;
    }

private:
    void move(ContextLinks &context, std::int64_t rank) {
        const auto [at, is_new] = ranks_.try_emplace(&context, rank);
        if (is_new) {
            next_.push({up_ ? -context.rank_ : context.rank_, &context});
        } else {
            at->second = up_ ? std::max(at->second, rank) : std::min(at->second, rank);
        }
    }

    const bool up_;
    std::unordered_map<ContextLinks *, std::int64_t> ranks_;
    std::priority_queue<std::pair<std::int64_t, ContextLinks *>> next_;  // lowest rank first on the way up, highest on the way down
};

ContextLinks::~ContextLinks() { release(clear()); }

bool ContextLinks::add(Context &other, ContextLinks &links) {
    if (&other == last_) {
        last_place_->uses++;
        return true;
    }
    auto place = places_.find(&other);
    if (place == places_.end()) {
        std::lock_guard lock(all_links());
        if (rank_ <= links.rank_) {
            RankWalk up(*this, links.rank_ + 1, true), down(links, rank_ - 1, false);
            while (!up.done() && !down.done()) {
                if (!up.step(links) || !down.step(*this)) return false;
            }
            (up.done() ? up : down).commit();
        }
        connect(other, links);
        place = places_.find(&other);
    }
    last_ = &other, last_place_ = place->second;
    last_place_->uses++;
    return true;
}

// Under both locks.
void ContextLinks::connect(Context &other, ContextLinks &links) {
    const auto at = links_.insert(links_.end(), {Ref<Context>(&other), &links, 0});
    try {
        places_.emplace(&other, at);
        links.referrers_.insert(this);
    } catch (...) {
        places_.erase(&other);
        links_.erase(at);  // not the last reference: the caller has one
        throw;
    }
}

ContextLinks::List ContextLinks::remove(const Context &other) noexcept {
    List removed;
    const auto place = places_.find(&other);
    if (place == places_.end() || --place->second->uses != 0) return removed;
    if (last_ == &other) last_ = nullptr;
    std::lock_guard lock(all_links());
    place->second->links->referrers_.erase(this);
    removed.splice(removed.end(), links_, place->second);
    places_.erase(place);
    return removed;
}

ContextLinks::List ContextLinks::clear() noexcept {
    last_ = nullptr;
    places_.clear();
    List all;
    if (links_.empty()) return all;
    std::lock_guard lock(all_links());
    for (const Link &link : links_) link.links->referrers_.erase(this);
    all.swap(links_);
    return all;
}

bool ContextLinks::reach(const ContextLinks &target) const {
    std::lock_guard lock(all_links());
    std::vector<const ContextLinks *> next{this};
    std::unordered_set<const ContextLinks *> seen{this};
    while (!next.empty()) {
        const ContextLinks *context = next.back();
        next.pop_back();
        if (context == &target) return true;
        for (const Link &link : context->links_) {
            // A context ranked below the target cannot reach it.
            if (link.links->rank_ >= target.rank_ && seen.insert(link.links).second) next.push_back(link.links);
        }
    }
    return false;
}

void ContextLinks::release(List &&links) noexcept {
    thread_local List *waiting = nullptr;
    if (waiting) {
        waiting->splice(waiting->end(), links);
        return;
    }
    List all = std::move(links);
    waiting = &all;
    while (!all.empty()) {
        // Dropping a reference may add to `all`.
        List first;
        first.splice(first.end(), all, all.begin());
    }
    waiting = nullptr;
}

// Under build_. Adds a link for each reference that the node holds to another context.
void Context::link_operands(const NodeSpec &spec) {
    std::size_t n = 0;
    try {
        for_each_reference(spec.src, spec.view_of, spec.written, [&](Context &other) {
            if (!links_.add(other, other.links_)) refuse_circle(op_name(spec.op), other);
            n++;
        });
    } catch (...) {
        for_each_reference(spec.src, spec.view_of, spec.written, [&](Context &other) {
            if (n == 0) return;
            n--;
            // The operand's owner holds a reference too, so this is never the last one.
            links_.remove(other);
        });
        throw;
    }
}

// Under build_. Returns the links that no node needs any more.
ContextLinks::List Context::unlink_operands(const Tensor &node) noexcept {
    ContextLinks::List removed;
    const Tensor *view_of = node.is_view ? node.root : nullptr;
    for_each_reference({node.src, node.n_src}, view_of, node.written,
                       [&](Context &other) { removed.splice(removed.end(), links_.remove(other)); });
    return removed;
}

void Context::refuse_circle(const char *op, const Context &other) const {
    fail(Status::context_mismatch, "%s: %s cannot refer to %s, which refers to it already: neither could ever be freed", op, text().c_str(),
         other.text().c_str());
}

void Context::check_reference(const char *op, const Context &other) const {
    if (&other != this && other.links_.reach(links_)) refuse_circle(op, other);
}

}  // namespace tensorlib::core
