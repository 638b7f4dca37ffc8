// What connects the ranks of a group. An engine starts exchanges of contiguous memory and never waits: whoever started one
// asks until it is done.
#pragma once

#include "groups/reduction.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tensorlib::core {

// What became of an attempt to give an exchange up.
enum class GivenUp {
    yes,
    not_yet,      // it can only be finished, soon: other ranks may be reading this one's memory
    but_running,  // the library goes on, and may use the memory, and the exchange object, until the process ends
};

// An exchange that was started. What it reads and writes must stay until it is done or given up.
class Exchange {
public:
    virtual ~Exchange() = default;
    // Goes on as far as it can without waiting. True: it is done. Throws Error(group) if it cannot be done any more; give_up()
    // comes next.
    virtual bool advance() = 0;
    virtual GivenUp give_up() noexcept = 0;
    // The ranks that have not arrived, as far as the engine finds out within half a second: "rank 2", or nothing.
    virtual std::string missing() = 0;

private:
    friend void keep_for_ever(std::unique_ptr<Exchange> exchange, std::shared_ptr<const void> memory) noexcept;
    std::shared_ptr<const void> memory_;
    std::unique_ptr<Exchange> next_kept_;
};

// For an exchange that was given up and still runs, and the owner of its memory.
void keep_for_ever(std::unique_ptr<Exchange> exchange, std::shared_ptr<const void> memory) noexcept;

// One rank's end of a group. Ranks start the same exchanges in the same order, except for sends and receives, which match
// in their own order for each pair of ranks. One thread at a time.
class GroupEngine {
public:
    GroupEngine() = default;
    GroupEngine(const GroupEngine &) = delete;
    GroupEngine &operator=(const GroupEngine &) = delete;
    // The others get an error for exchanges at which this rank has not arrived.
    virtual ~GroupEngine() = default;

    virtual int rank() const noexcept = 0;
    virtual int size() const noexcept = 0;
    // The library and its version, for people.
    virtual std::string text() const = 0;

    using Started = std::unique_ptr<Exchange>;
    // `all` gets `bytes` bytes of each rank, in the order of ranks.
    virtual Started gather(const std::byte *own, std::byte *all, std::size_t bytes) = 0;
    // `own` has `bytes` bytes for each rank, and `all` gets those of each rank for this one.
    virtual Started swap_parts(const std::byte *own, std::byte *all, std::size_t bytes) = 0;
    // `result` gets the root's bytes. Only the root's `own` is read.
    virtual Started broadcast(const std::byte *own, std::byte *result, std::size_t bytes, int root) = 0;
    // The reduction of n elements over all ranks, in an order of the engine's own.
    virtual Started all_reduce(Reduction reduction, DType type, const std::byte *own, std::byte *result, std::int64_t n) = 0;
    // Whether all_reduce() gives the bits of reduce_in_order().
    virtual bool reduces_in_order() const noexcept = 0;
    // Copies the bytes, and sends them to a rank that receives as many.
    virtual void send(const std::byte *own, std::size_t bytes, int to) = 0;
    virtual Started receive(std::byte *result, std::size_t bytes, int from) = 0;

    // Starts to divide the group: ranks of one colour form a group, in the order of their keys, and of their ranks for
    // equal keys. When the exchange is done, `end` is this rank's; null for a negative colour.
    virtual Started split(int colour, int key, std::unique_ptr<GroupEngine> &end) = 0;

    // This rank goes on no more: what others wait for fails, and says why.
    virtual void abandon(const std::string &why) noexcept = 0;
};

// For messages.
std::string left_text(int rank);
std::string ranks_text(const std::vector<int> &ranks);

}  // namespace tensorlib::core
