// Barriers and the collective operations of a warp's lanes.
#include "access.hpp"
#include "kernel.hpp"
#include "shared_memory.hpp"
#include "state.hpp"

#include <bit>
#include <cstring>
#include <string_view>

namespace simt {

void update_lane_tag(const Lane &lane) {
    running.lane_tag = SharedMemory::tag(kernel.interval, kernel.warps[lane.index / 32].epoch, lane.index);
}

namespace {

// CUDA lets threads that have exited count as arrived. Here that is an error, as on other architectures it hangs and
// in our kernels it would be an early return by mistake.
void arrive_at_barrier(Lane &lane, std::source_location where) {
    if (kernel.n_exited > 0) {
        fault(cudaErrorLaunchFailure, format("reaches __syncthreads at %s:%u, but %s has exited: a divergent barrier", where.file_name(),
                                             where.line(), name_of(kernel.lanes[kernel.first_exited]).c_str()));
    }
    if (kernel.n_at_barrier == 0) {
        kernel.barrier = where;
        kernel.first_at_barrier = lane.index;
    } else if (where.line() != kernel.barrier.line() || where.column() != kernel.barrier.column() ||
               std::string_view(where.file_name()) != kernel.barrier.file_name()) {
        fault(cudaErrorLaunchFailure, format("reaches __syncthreads at %s:%u, but %s waits at the one at %s:%u: a divergent barrier",
                                             where.file_name(), where.line(), name_of(kernel.lanes[kernel.first_at_barrier]).c_str(),
                                             kernel.barrier.file_name(), kernel.barrier.line()));
    }
    if (++kernel.n_at_barrier < kernel.n_lanes) {
        wait_here(lane);
        return;
    }
    kernel.n_at_barrier = 0;
    kernel.interval++;
    for (std::uint32_t w = 0; w < kernel.warps.size(); w++) {
        kernel.warps[w].epoch = 0;
        make_ready(w, kernel.warps[w].exists);
    }
    update_lane_tag(lane);
}

}  // namespace

void block_barrier(std::source_location where) {
    Lane &lane = lane_in("__syncthreads");
    in_runtime([&] { arrive_at_barrier(lane, where); });
}

void WarpExchange::fail(int lane, const char *text) const {
    const Lane &guilty = kernel.lanes[this_lane()->index / 32 * 32 + static_cast<std::uint32_t>(lane)];
    throw WorkFault{cudaErrorLaunchFailure, report_of(name_in_kernel(guilty), text)};
}

namespace {

// Lanes that the mask names but that can never come.
void check_mask(const Lane &lane, const Warp &warp, const char *name, unsigned mask) {
    const unsigned bit = 1u << (lane.index % 32);
    if ((mask & bit) == 0)
        fault(cudaErrorLaunchFailure,
              format("calls %s with mask 0x%08x, in which its own lane %u is missing", name, mask, lane.index % 32));
    if (mask & ~warp.exists) {
        fault(cudaErrorLaunchFailure, format("calls %s with mask 0x%08x, but its warp has only lanes 0x%08x", name, mask, warp.exists));
    }
    if (mask & warp.exited) {
        fault(cudaErrorLaunchFailure, format("calls %s with mask 0x%08x, but lanes 0x%08x have exited", name, mask, mask & warp.exited));
    }
}

Gathering &gathering_for(Warp &warp, WarpFunction function, const char *name, unsigned mask) {
    for (Gathering &g : warp.gatherings) {
        if ((g.mask & mask) == 0) continue;
        if (g.mask != mask || g.function != function) {
            fault(cudaErrorLaunchFailure, format("calls %s with mask 0x%08x while lanes 0x%08x of its warp wait in %s with mask 0x%08x",
                                                 name, mask, g.arrived, g.name, g.mask));
        }
        return g;
    }
    return warp.gatherings.emplace_back(Gathering{function, name, mask, 0});
}

void arrive_at_collective(Lane &lane, WarpFunction function, const char *name, unsigned mask, const void *in, void *out) {
    const std::uint32_t w = lane.index / 32;
    Warp &warp = kernel.warps[w];
    check_mask(lane, warp, name, mask);
    Gathering &g = gathering_for(warp, function, name, mask);
    lane.in = in;
    lane.out = out;
    g.arrived |= 1u << (lane.index % 32);
    if (g.arrived != mask) {
        wait_here(lane);
        return;
    }
    warp.gatherings.erase(warp.gatherings.begin() + (&g - warp.gatherings.data()));
    WarpExchange exchange{mask, {}, {}};
    for (unsigned left = mask; left != 0; left &= left - 1) {
        const auto i = static_cast<std::uint32_t>(std::countr_zero(left));
        exchange.in[i] = kernel.lanes[w * 32 + i].in;
        exchange.out[i] = kernel.lanes[w * 32 + i].out;
    }
    function(exchange);
    make_ready(w, mask);
    update_lane_tag(lane);
}

}  // namespace

void warp_collective(WarpFunction function, const char *name, unsigned mask, const void *in, void *out) {
    Lane &lane = lane_in(name);
    in_runtime([&] { arrive_at_collective(lane, function, name, mask, in, out); });
}

namespace {

// A partial mask orders only its lanes. Here it counts for the whole warp, so races with the other lanes are missed,
// but none is invented.
void synchronise_warp(const WarpExchange &) { kernel.warps[this_lane()->index / 32].epoch++; }

struct ShuffleIn {
    Shuffle kind;
    std::uint64_t value;
    int operand, width;
};

// The lane that lane i reads from; i itself where CUDA leaves the value unchanged.
int source_lane(const ShuffleIn &in, int i) {
    const int first = i / in.width * in.width, end = first + in.width;
    int from = i;
    switch (in.kind) {
        case Shuffle::index: from = first + (in.operand & (in.width - 1)); break;
        case Shuffle::up: from = i - in.operand >= first ? i - in.operand : i; break;
        case Shuffle::down: from = i + in.operand < end ? i + in.operand : i; break;
        case Shuffle::exclusive_or: from = (i ^ in.operand) < end ? i ^ in.operand : i; break;
    }
    return from;
}

void exchange_values(const WarpExchange &exchange) {
    for (int i = 0; i < 32; i++) {
        if ((exchange.mask >> i & 1) == 0) continue;
        const auto &in = *static_cast<const ShuffleIn *>(exchange.in[i]);
        if (in.kind != static_cast<const ShuffleIn *>(exchange.in[std::countr_zero(exchange.mask)])->kind) {
            exchange.fail(i, "calls another shuffle than the other lanes of its mask");
        }
        if (in.width < 1 || in.width > 32 || !std::has_single_bit(static_cast<unsigned>(in.width))) {
            exchange.fail(i, format("shuffles with width %d: 1, 2, 4, 8, 16 and 32 are valid", in.width).c_str());
        }
        if (in.kind != Shuffle::index && (in.operand < 0 || in.operand > 31))
            exchange.fail(i, format("shuffles by %d: 0 to 31 are valid", in.operand).c_str());
        const int from = source_lane(in, i);
        if ((exchange.mask >> from & 1) == 0) {
            exchange.fail(i, format("shuffles from lane %d, which mask 0x%08x does not name", from, exchange.mask).c_str());
        }
        *static_cast<std::uint64_t *>(exchange.out[i]) = static_cast<const ShuffleIn *>(exchange.in[from])->value;
    }
}

void collect_votes(const WarpExchange &exchange) {
    unsigned votes = 0;
    for (int i = 0; i < 32; i++) {
        if ((exchange.mask >> i & 1) && *static_cast<const bool *>(exchange.in[i])) votes |= 1u << i;
    }
    for (int i = 0; i < 32; i++) {
        if (exchange.mask >> i & 1) *static_cast<unsigned *>(exchange.out[i]) = votes;
    }
}

}  // namespace

void warp_barrier(unsigned mask) { warp_collective(synchronise_warp, "__syncwarp", mask, nullptr, nullptr); }

std::uint64_t shuffle(Shuffle kind, unsigned mask, std::uint64_t value, int operand, int width) {
    constexpr const char *names[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"};
    const ShuffleIn in{kind, value, operand, width};
    std::uint64_t out = 0;
    warp_collective(exchange_values, names[static_cast<int>(kind)], mask, &in, &out);
    return out;
}

unsigned ballot(unsigned mask, bool predicate) {
    unsigned out = 0;
    warp_collective(collect_votes, "a vote", mask, &predicate, &out);
    return out;
}

}  // namespace simt
