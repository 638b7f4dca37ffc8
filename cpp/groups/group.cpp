#include "groups/group.hpp"

#include "base/callback_scope.hpp"
#include "base/fail.hpp"
#include "base/wait.hpp"
#include "groups/local.hpp"

#include <algorithm>
#include <utility>

namespace tensorlib::core {

namespace {

// Up to this size the bits of a sum of F32 do not depend on the engine, and latency matters more than bytes.
constexpr std::size_t most_gathered = std::size_t{64} << 10;
// What is gathered at once, of all ranks together.
constexpr std::size_t most_gathered_at_once = std::size_t{4} << 20;

// What fail_group() throws.
class GroupFailure : public Error {
    using Error::Error;
};

}  // namespace

Group::Hold::Hold(const Group &group, const char *what) : group_(&group) {
    if (group.in_use_.exchange(true, std::memory_order_acquire))
        fail(Status::busy, "%s: another call uses this handle of the group, that of rank %d", what, group.rank());
}

Group::Hold::~Hold() {
    if (group_) group_->in_use_.store(false, std::memory_order_release);
}

void Group::check_failure(const Call &call) const {
    std::lock_guard lock(failure_lock_);
    if (!failure_.empty()) fail(Status::group, "%s: the group has failed: %s", call.what().c_str(), failure_.c_str());
}

std::vector<Ref<Group>> Group::local(int size, const GroupParams &params) {
    if (size < 1 || size > most_local_ranks)
        fail(Status::invalid_argument, "group_create: a local group of %d ranks: 1 to %d are valid", size, most_local_ranks);
    std::vector<Ref<Group>> all;
    for (std::unique_ptr<GroupEngine> &engine : local_engines(size)) all.push_back(Ref<Group>::adopt(new Group(std::move(engine), params)));
    return all;
}

Group::Group(std::unique_ptr<GroupEngine> engine, const GroupParams &params) : engine_(std::move(engine)), params_(params) {}

void Group::note_failure(const std::string &why) const {
    {
        std::lock_guard lock(failure_lock_);
        if (!failure_.empty()) return;
        failure_ = why;
    }
    engine_->abandon(why);
}

void Group::fail_group(const Call &call, const std::string &why, Status code) const {
    note_failure(why);
    throw GroupFailure(code, call.what() + ": " + why);
}

void Group::fail_because(const std::string &why) const { note_failure("rank " + std::to_string(rank()) + " has failed: " + why); }

void Group::exchange(const Call &call, const std::function<GroupEngine::Started()> &start) const {
    check_failure(call);
    using Clock = std::chrono::steady_clock;
    const Clock::time_point deadline = Clock::now() + params_.timeout;
    const auto own = [&] { return "rank " + std::to_string(rank()); };
    GroupEngine::Started exchange;
    // False if it can only be finished.
    const auto give_up = [&] {
        const GivenUp given_up = exchange->give_up();
        if (given_up == GivenUp::but_running) {
            if (!call.memory) uses_memory_of_run_.store(true, std::memory_order_release);
            keep_for_ever(std::move(exchange), call.memory);
        }
        return given_up != GivenUp::not_yet;
    };
    try {
        exchange = start();
        for (int round = 0; !exchange->advance(); round++) {
            back_off(round);
            if (round % 64 != 63) continue;
            if (call.watch && !call.watch->goes_on() && give_up())
                fail_group(call, own() + " was stopped by its progress callback", Status::aborted);
            if (Clock::now() < deadline) continue;
            const std::string missing = exchange->missing();
            if (!give_up()) continue;
            fail_group(call, own() + format_text(" has waited %lld ms for %s", static_cast<long long>(params_.timeout.count()),
                                                 missing.empty() ? "another rank" : missing.c_str()));
        }
    } catch (const GroupFailure &) {
        throw;
    } catch (const Error &error) {
        if (exchange) give_up();
        if (error.code() == Status::group) fail_group(call, error.what());
        fail(error.code(), "%s: %s", call.what().c_str(), error.what());
    } catch (...) {
        // Memory has run out. The exchange is lost, and with it the order of those that follow.
        if (exchange) give_up();
        note_failure(own() + " has no memory left");
        throw;
    }
}

void Group::gather(const Call &call, const std::byte *own, std::byte *all, std::size_t bytes) const {
    exchange(call, [&] { return engine_->gather(own, all, bytes); });
}

void Group::swap_parts(const Call &call, const std::byte *own, std::byte *all, std::size_t bytes) const {
    exchange(call, [&] { return engine_->swap_parts(own, all, bytes); });
}

void Group::broadcast(const Call &call, const std::byte *own, std::byte *result, std::size_t bytes, int root) const {
    exchange(call, [&] { return engine_->broadcast(own, result, bytes, root); });
}

std::int64_t Group::at_once(DType type) const noexcept {
    const std::size_t each = traits(type).size * static_cast<std::size_t>(size());
    return static_cast<std::int64_t>(std::max<std::size_t>(most_gathered_at_once / each, 1));
}

bool Group::gathers(Reduction reduction, DType type, std::int64_t n) const noexcept {
    if (engine_->reduces_in_order() || type == DType::i32 || type == DType::i64) return false;
    // No engine knows the largest of NaN and other numbers, and engines round each sum of F16 and BF16.
    const bool is_wide = type == DType::f32 || type == DType::f64;
    return reduction == Reduction::max || !is_wide || static_cast<std::size_t>(n) * traits(type).size <= most_gathered;
}

std::size_t Group::all_reduce_workspace(Reduction reduction, DType type, std::int64_t n) const noexcept {
    if (!gathers(reduction, type, n)) return 0;
    return static_cast<std::size_t>(std::min(n, at_once(type))) * traits(type).size * static_cast<std::size_t>(size());
}

void Group::all_reduce(const Call &call, Reduction reduction, DType type, const std::byte *own, std::byte *result, std::int64_t n,
                       std::byte *workspace) const {
    if (!gathers(reduction, type, n)) return exchange(call, [&] { return engine_->all_reduce(reduction, type, own, result, n); });
    const std::size_t each = traits(type).size;
    std::vector<const std::byte *> parts(static_cast<std::size_t>(size()));
    for (std::int64_t i = 0; i < n; i += at_once(type)) {
        const std::int64_t some = std::min(at_once(type), n - i);
        const std::size_t first = static_cast<std::size_t>(i) * each, bytes = static_cast<std::size_t>(some) * each;
        exchange(call, [&] { return engine_->gather(own + first, workspace, bytes); });
        for (std::size_t rank = 0; rank < parts.size(); rank++) parts[rank] = workspace + rank * bytes;
        reduce_in_order(reduction, type, parts, result + first, some);
    }
}

std::size_t Group::reduce_parts_workspace(DType type, std::int64_t n) const noexcept {
    return static_cast<std::size_t>(n) * traits(type).size * static_cast<std::size_t>(size());
}

void Group::reduce_parts(const Call &call, DType type, const std::byte *own, std::byte *result, std::int64_t n,
                         std::byte *workspace) const {
    const std::size_t bytes = static_cast<std::size_t>(n) * traits(type).size;
    exchange(call, [&] { return engine_->swap_parts(own, workspace, bytes); });
    std::vector<const std::byte *> parts;
    for (int rank = 0; rank < size(); rank++) parts.push_back(workspace + static_cast<std::size_t>(rank) * bytes);
    reduce_in_order(Reduction::sum, type, parts, result, n);
}

void Group::send(const Call &call, const std::byte *own, std::size_t bytes, int to) const {
    check_failure(call);
    try {
        engine_->send(own, bytes, to);
    } catch (const Error &error) {
        fail_group(call, error.what());
    }
}

void Group::receive(const Call &call, std::byte *result, std::size_t bytes, int from) const {
    exchange(call, [&] { return engine_->receive(result, bytes, from); });
}

Ref<Group> Group::split(int colour, int key) const {
    // The run that calls the function may be what the other ranks wait for.
    refuse_in_callback("group_split");
    const Call call{.what = [] { return std::string("group_split"); }};
    const Hold hold(*this, "group_split");
    std::unique_ptr<GroupEngine> end;
    exchange(call, [&] { return engine_->split(colour, key, end); });
    return end ? Ref<Group>::adopt(new Group(std::move(end), params_)) : Ref<Group>();
}

Ref<Group> Group::take_member(int rank) {
    std::lock_guard lock(members_lock_);
    if (members_.empty()) fail(Status::invalid_argument, "group_member: this is not rank 0 of a local group of several ranks");
    if (rank < 1 || static_cast<std::size_t>(rank) > members_.size())
        fail(Status::invalid_argument, "group_member: rank %d: 1 to %zu are valid", rank, members_.size());
    Ref<Group> &member = members_[static_cast<std::size_t>(rank) - 1];
    if (!member) fail(Status::invalid_argument, "group_member: rank %d was taken already", rank);
    return std::move(member);
}

}  // namespace tensorlib::core
