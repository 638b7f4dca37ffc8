// Groups of ranks that compute together.
#pragma once

#include <tensorlib/tensorlib.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorlib {

namespace core {
class Group;
}

struct GroupOptions {
    // How long a rank waits for another one before the group fails; 0 = five minutes.
    std::chrono::milliseconds timeout{0};
};

// A rank's handle of a group. all_sum() and its relatives make nodes that exchange tensors between the ranks. Each rank computes a graph
// of its own with the same nodes of the group, in the order in which they were built. Before a graph's first run the ranks compare these
// nodes, and a difference is an Error(group) on all of them. A rank that fails, leaves, or misses the deadline is one on the
// others, and the group fails with it. A rank leaves when its last handle is gone, and the last context with nodes of it.
//
// Copies share the handle. One graph that uses it is computed at a time; a second one gets Error(busy).
class Group {
public:
    // "self": one rank. "mpi": all processes that a launcher such as mpirun has started, each a rank; they make their groups in the
    // same order. "auto": "mpi" if a launcher has started the process as one of several, otherwise "self". Throws
    // Error(invalid_argument) for other names, Error(unavailable) if there is no usable MPI library, and Error(group) if the other
    // processes have not made the group in time.
    explicit Group(std::string_view name = "auto", GroupOptions options = {});
    // The handles of n ranks, 1 to 1024, that are threads of this process, in the order of ranks. Throws Error(invalid_argument) for
    // another n.
    static std::vector<Group> local(int n, GroupOptions options = {});

    // Divides the group: ranks of one colour form a new one, in the order of their keys, and of their ranks where keys are equal. All
    // ranks call it, and it waits for them. Nothing for a negative colour. Throws Error(group) and Error(busy).
    std::optional<Group> split(int colour, int key = 0) const;

    int rank() const;
    int size() const;
    // What connects the ranks, for display: the library and its version, and why "auto" chose one rank.
    std::string text() const;

private:
    friend struct Nodes;
    explicit Group(std::shared_ptr<core::Group> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<core::Group> impl_;
};

// Some elements of a tensor that is divided over ranks.
struct Shard {
    std::int64_t first = 0, count = 0;
};

// Which elements rank `rank` of `size` ranks has of n elements, in whole blocks, such as those of a quantised type. The shares follow
// each other in the order of ranks. They differ by at most one block, and the first ranks have more. If there are fewer blocks than
// ranks, some have none. The last block may be partial. Throws Error(invalid_argument) for a negative n, a block or size of less than 1,
// and a rank that is not 0 to size - 1.
Shard shard_range(std::int64_t n, std::int64_t block, int rank, int size);

}  // namespace tensorlib
