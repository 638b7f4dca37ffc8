// A rank's handle of a group: what it exchanges with the other ranks, and how long it waits for them.
#pragma once

#include "base/fail.hpp"
#include "base/numbered.hpp"
#include "base/ref.hpp"
#include "base/step_watch.hpp"
#include "groups/engine.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tensorlib::core {

struct GroupParams {
    // How long a call waits for another rank. After that the group fails.
    std::chrono::milliseconds timeout{300'000};
};

// The most ranks of a local group.
constexpr int most_local_ranks = 1024;

// Exchanges wait for the other ranks. They throw Error(group) at the deadline, if another rank has failed, left or made another
// call, and ever after. One thread at a time exchanges with a handle (Hold). Different handles are independent.
class Group final : public RefCounted, public Numbered<Group> {
public:
    // The handles of a group whose ranks are threads of this process, in the order of ranks.
    static std::vector<Ref<Group>> local(int size, const GroupParams &params);
    Group(std::unique_ptr<GroupEngine> engine, const GroupParams &params);

    int rank() const noexcept { return engine_->rank(); }
    int size() const noexcept { return engine_->size(); }
    std::string text() const { return engine_->text() + why_; }
    // Adds to text() why the group is this one. Call it before anyone else has the handle.
    void explain(std::string why) { why_ = std::move(why); }

    // Who waits, for messages, and what may stop it. The memory's owner is kept for ever if an exchange can only be given up
    // while it runs. Without one, the memory belongs to the run of a graph, which asks uses_memory_of_run() when it has failed.
    struct Call {
        std::function<std::string()> what;
        StepWatch *watch = nullptr;
        std::shared_ptr<const void> memory{};
    };
    bool uses_memory_of_run() const noexcept { return uses_memory_of_run_.load(std::memory_order_acquire); }

    // The handle is in use by a run, or by split(): another one would mix up the exchanges. Throws Error(busy) if it is in use.
    class Hold {
    public:
        Hold(const Group &group, const char *what);
        Hold(Hold &&other) noexcept : group_(std::exchange(other.group_, nullptr)) {}
        ~Hold();

    private:
        const Group *group_;
    };

    // See GroupEngine. Memory is contiguous, and `own` and the result do not overlap. `workspace` is memory to work with.
    void gather(const Call &call, const std::byte *own, std::byte *all, std::size_t bytes) const;
    void swap_parts(const Call &call, const std::byte *own, std::byte *all, std::size_t bytes) const;
    void broadcast(const Call &call, const std::byte *own, std::byte *result, std::size_t bytes, int root) const;
    // reduce_in_order() of what the ranks have; with F32 in more than 64 KiB, the sum in the engine's own order.
    void all_reduce(const Call &call, Reduction reduction, DType type, const std::byte *own, std::byte *result, std::int64_t n,
                    std::byte *workspace) const;
    std::size_t all_reduce_workspace(Reduction reduction, DType type, std::int64_t n) const noexcept;
    // This rank's share of the sums: `own` has n elements for each rank, in the order of ranks.
    void reduce_parts(const Call &call, DType type, const std::byte *own, std::byte *result, std::int64_t n, std::byte *workspace) const;
    std::size_t reduce_parts_workspace(DType type, std::int64_t n) const noexcept;
    void send(const Call &call, const std::byte *own, std::size_t bytes, int to) const;
    void receive(const Call &call, std::byte *result, std::size_t bytes, int from) const;

    // This rank cannot go on: fails the group, unless it has failed already.
    void fail_because(const std::string &why) const;

    // Null for a negative colour.
    Ref<Group> split(int colour, int key) const;

    // The handles of a local group's other ranks, which rank 0 keeps until they are taken. Throws Error(invalid_argument) if
    // there is no such rank, or if it was taken.
    void keep_members(std::vector<Ref<Group>> members) { members_ = std::move(members); }
    Ref<Group> take_member(int rank);

private:
    ~Group() override = default;

    void check_failure(const Call &call) const;
    // Starts an exchange and waits until it is done.
    void exchange(const Call &call, const std::function<GroupEngine::Started()> &start) const;
    // Fails the group, for all ranks and later calls, unless it has failed already.
    void note_failure(const std::string &why) const;
    // Also throws.
    [[noreturn]] void fail_group(const Call &call, const std::string &why, Status code = Status::group) const;
    // Elements that are gathered at once, so that the workspace is bounded.
    std::int64_t at_once(DType type) const noexcept;
    bool gathers(Reduction reduction, DType type, std::int64_t n) const noexcept;

    const std::unique_ptr<GroupEngine> engine_;
    const GroupParams params_;
    std::string why_;
    std::mutex members_lock_;
    std::vector<Ref<Group>> members_;  // from rank 1 on
    mutable std::atomic<bool> in_use_{false}, uses_memory_of_run_{false};
    mutable std::mutex failure_lock_;
    mutable std::string failure_;  // why the group has failed; empty if it has not
};

}  // namespace tensorlib::core
