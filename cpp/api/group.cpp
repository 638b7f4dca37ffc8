#include "groups/group.hpp"

#include "api/handles.hpp"
#include "groups/create.hpp"
#include "groups/shard.hpp"

#include <tensorlib/group.hpp>

namespace tensorlib {

namespace {

core::GroupParams params_of(const GroupOptions &options) {
    if (options.timeout.count() < 0) {
        core::fail(Status::invalid_argument, "Group: a timeout of %lld ms: 0 (the default) or more is valid",
                   static_cast<long long>(options.timeout.count()));
    }
    return core::group_params(static_cast<std::uint64_t>(options.timeout.count()));
}

}  // namespace

Group::Group(std::string_view name, GroupOptions options) : impl_(share(core::create_group(name, params_of(options)))) {}

std::vector<Group> Group::local(int n, GroupOptions options) {
    std::vector<Group> ranks;
    for (core::Ref<core::Group> &rank : core::Group::local(n, params_of(options))) ranks.push_back(Group(share(std::move(rank))));
    return ranks;
}

std::optional<Group> Group::split(int colour, int key) const {
    core::Ref<core::Group> part = impl_->split(colour, key);
    if (!part) return std::nullopt;
    return Group(share(std::move(part)));
}

int Group::rank() const { return impl_->rank(); }
int Group::size() const { return impl_->size(); }
std::string Group::text() const { return impl_->text(); }

Shard shard_range(std::int64_t n, std::int64_t block, int rank, int size) {
    const core::Shard shard = core::shard_range(n, block, rank, size);
    return {.first = shard.first, .count = shard.count};
}

std::int64_t Nodes::number_of(const Group &group) { return static_cast<std::int64_t>(group.impl_->id()); }

}  // namespace tensorlib
