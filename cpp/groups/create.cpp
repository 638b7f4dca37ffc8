#include "groups/create.hpp"

#include "base/fail.hpp"
#include "base/utf8.hpp"
#include "groups/mpi.hpp"
#include "groups/mpi_library.hpp"

#include <charconv>
#include <string>

namespace tensorlib::core {

namespace {

constexpr std::string_view local = "local:";

// The ranks of a local group, from its name.
int n_local(std::string_view name) {
    int n = 0;
    const std::string_view digits = name.substr(local.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (error == std::errc() && end == digits.data() + digits.size() && n >= 1 && n <= most_local_ranks) return n;
    fail(Status::invalid_argument, "group_create: '%s': local:1 to local:%d are valid", shown(name).c_str(), most_local_ranks);
}

}  // namespace

Ref<Group> create_group(std::string_view name, const GroupParams &params) {
    if (name == "auto") {
        const Launch started = launch();
        if (started.size > 1) return create_group("mpi", params);
        Ref<Group> alone = create_group("self", params);
        alone->explain(started.variable.empty() ? ", because no launcher such as mpirun has started this process"
                                                : ", because " + started.variable + " says that there is one process");
        return alone;
    }
    if (name == "mpi") return Ref<Group>::adopt(new Group(mpi_engine(params.timeout), params));
    if (name == "self") return std::move(Group::local(1, params)[0]);
    if (!name.starts_with(local)) {
        fail(Status::invalid_argument,
             "group_create: '%s': self, local:N (N threads of this process), mpi (the processes that mpirun started) or auto is valid",
             shown(name).c_str());
    }
    std::vector<Ref<Group>> ranks = Group::local(n_local(name), params);
    Ref<Group> first = std::move(ranks[0]);
    ranks.erase(ranks.begin());
    first->keep_members(std::move(ranks));
    return first;
}

GroupParams group_params(std::uint64_t timeout_ms) {
    constexpr std::uint64_t year = std::uint64_t{365} * 24 * 3600 * 1000;
    if (timeout_ms > year) {
        fail(Status::invalid_argument, "group_create: timeout_ms is %llu: up to %llu, a year, are valid",
             static_cast<unsigned long long>(timeout_ms), static_cast<unsigned long long>(year));
    }
    GroupParams params;
    if (timeout_ms != 0) params.timeout = std::chrono::milliseconds(timeout_ms);
    return params;
}

}  // namespace tensorlib::core
