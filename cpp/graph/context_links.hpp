// The contexts that a context keeps alive: those whose tensors its nodes refer to.
//
// Links never form a circle, because contexts in a circle could not be freed. Each context has a rank that is greater
// than the ranks of all contexts that it refers to. Ranks begin as the order of creation, so a link from a younger
// context to an older one costs a comparison. A link in the other direction moves ranks first: up from the context that
// refers, or down from the context that is referred to, whichever walk ends sooner. If either walk meets the other end,
// there is a circle, and nothing changes.
//
// One lock guards the links and ranks of all contexts. It is taken only when two contexts are linked for the first
// time, and for walks.
#pragma once

#include "base/ref.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <unordered_set>

namespace tensorlib::core {

class Context;

class ContextLinks {
public:
    // A link, and how many references of the owner's nodes need it.
    struct Link {
        Ref<Context> to;
        ContextLinks *links;
        std::size_t uses;
    };
    using List = std::list<Link>;

    // rank: the owner's position in the order of creation.
    explicit ContextLinks(std::uint64_t rank) : rank_(static_cast<std::int64_t>(rank)) {}
    ~ContextLinks();
    ContextLinks(const ContextLinks &) = delete;
    ContextLinks &operator=(const ContextLinks &) = delete;

    // Counts another reference to `other`, which owns `links`. Returns false and changes nothing if `other` reaches the
    // owner. The caller holds the owner's build lock, as for the next two functions.
    bool add(Context &other, ContextLinks &links);
    // Counts a reference less. Returns the link if it was the last reference; the caller releases it without locks.
    List remove(const Context &other) noexcept;
    // Removes all links and returns them; the caller releases them without locks.
    List clear() noexcept;

    // Whether following links leads to `target`. May be called from any thread.
    bool reach(const ContextLinks &target) const;

    // Drops the references. A chain of contexts that end with them is freed one by one, because recursion would
    // overflow the stack.
    static void release(List &&links) noexcept;

private:
    friend class RankWalk;
    void connect(Context &other, ContextLinks &links);

    std::int64_t rank_;                                           // under the lock of all links
    List links_;                                                  // changed under both locks, read under either
    std::unordered_map<const Context *, List::iterator> places_;  // under the build lock
    std::unordered_set<ContextLinks *> referrers_;                // under the lock of all links
    const Context *last_ = nullptr;                               // the link used last; under the build lock
    List::iterator last_place_{};
};

}  // namespace tensorlib::core
