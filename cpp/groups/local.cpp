#include "groups/local.hpp"

#include "base/fail.hpp"
#include "groups/network.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace tensorlib::core {

namespace {

enum class Kind : std::uint8_t { gather, swap_parts, broadcast, all_reduce, split, transfer };

// What a rank contributes to a rendezvous.
struct Contribution {
    Kind kind{};
    const std::byte *own = nullptr;
    std::byte *result = nullptr;
    std::size_t bytes = 0;
    int root = 0;
    Reduction reduction{};
    DType type = DType::f32;
    int colour = 0, key = 0;
    std::vector<std::byte> copy{};  // of a transfer: what is sent

    bool agrees_with(const Contribution &other) const noexcept {
        return kind == other.kind && bytes == other.bytes && root == other.root && reduction == other.reduction && type == other.type;
    }
    std::string text() const {
        constexpr const char *names[] = {"gather", "swap_parts", "broadcast", "all_reduce", "split", "transfer"};
        return format_text("%s of %zu bytes", names[static_cast<std::size_t>(kind)], bytes);
    }
};

// How long an exchange takes.
Network::Time time_of(const Network &network, int ranks, const Contribution &each) noexcept {
    switch (each.kind) {
        case Kind::gather: return network.gather(ranks, each.bytes);
        case Kind::swap_parts: return network.swap_parts(ranks, each.bytes);
        case Kind::broadcast: return network.broadcast(ranks, each.bytes);
        case Kind::all_reduce: return network.all_reduce(ranks, each.bytes);
        case Kind::transfer: return network.transfer(each.bytes);
        case Kind::split: break;
    }
    return {};
}

struct SharedState;

// An exchange between several ranks. Once all have arrived, each copies what it needs from the others' memory, and is done when all have.
struct Rendezvous {
    explicit Rendezvous(std::vector<int> of) : ranks(std::move(of)), contributions(ranks.size()), has_arrived(ranks.size(), false) {}

    const std::vector<int> ranks;
    std::vector<Contribution> contributions;  // of each of these ranks
    std::atomic<int> n_done{0};
    // Under the shared lock.
    std::vector<bool> has_arrived;
    std::map<int, std::shared_ptr<SharedState>> parts;  // of a split, by colour
    std::chrono::steady_clock::time_point end{};        // on a simulated network; set before `is_complete`
    std::atomic<bool> is_complete{false};               // all have arrived

    int n_ranks() const noexcept { return static_cast<int>(contributions.size()); }
};

// What the ranks of a group share.
struct SharedState {
    SharedState(int n, std::optional<Network> between)
        : size(n), network(between), n_started(static_cast<std::size_t>(n), 0), has_left(static_cast<std::size_t>(n), false) {}

    const int size;
    const std::optional<Network> network;
    std::mutex lock;
    // Those at which some rank has not arrived, by their number among all, or among those of a pair of ranks.
    std::map<std::uint64_t, std::shared_ptr<Rendezvous>> open;
    std::map<std::tuple<int, int, std::uint64_t>, std::shared_ptr<Rendezvous>> transfers;
    std::map<std::pair<int, int>, std::uint64_t> n_sent, n_received;
    std::vector<std::uint64_t> n_started;
    // Ranks whose handles are gone. Exchanges at which they have arrived can still be completed.
    std::vector<bool> has_left;
    // Why no rank can continue, once one has failed.
    std::string failure;
    // Whether one of the above has happened.
    std::atomic<bool> is_disturbed{false};
};

class LocalExchange final : public Exchange {
public:
    LocalExchange(std::shared_ptr<SharedState> shared, std::shared_ptr<Rendezvous> rendezvous, int place, std::unique_ptr<GroupEngine> *end)
        : shared_(std::move(shared)), rendezvous_(std::move(rendezvous)), place_(place), end_(end) {}

    // If other ranks are copying from this rank's memory, waits until they are done.
    ~LocalExchange() override {
        while (give_up() == GivenUp::not_yet && !advance_quietly()) {
        }
    }

    bool advance() override {
        Rendezvous &all = *rendezvous_;
        if (is_over_) return true;
        if (!has_copied_) {
            if (!all.is_complete.load(std::memory_order_acquire)) {
                check_failure();
                return false;
            }
            check_agreement();
            copy_parts();
            has_copied_ = true;
            all.n_done.fetch_add(1, std::memory_order_acq_rel);
        }
        const bool is_done = all.n_done.load(std::memory_order_acquire) == all.n_ranks();
        is_over_ = is_done && (!shared_->network || std::chrono::steady_clock::now() >= all.end);
        return is_over_;
    }

    GivenUp give_up() noexcept override {
        if (is_over_) return GivenUp::yes;
        std::lock_guard lock(shared_->lock);
        // The others copy nothing before all have arrived.
        if (rendezvous_->is_complete.load(std::memory_order_acquire)) return GivenUp::not_yet;
        is_over_ = true;
        return GivenUp::yes;
    }

    std::string missing() override {
        std::lock_guard lock(shared_->lock);
        std::vector<int> ranks;
        for (std::size_t i = 0; i < rendezvous_->ranks.size(); i++) {
            if (!rendezvous_->has_arrived[i]) ranks.push_back(rendezvous_->ranks[i]);
        }
        return ranks_text(ranks);
    }

private:
    bool advance_quietly() noexcept {
        try {
            return advance();
        } catch (...) {
            return true;
        }
    }

    void check_failure() {
        if (!shared_->is_disturbed.load(std::memory_order_acquire)) return;
        std::lock_guard lock(shared_->lock);
        // The last rank may have arrived, and left, meanwhile.
        if (rendezvous_->is_complete.load(std::memory_order_acquire)) return;
        std::string why = shared_->failure;
        for (std::size_t i = 0; i < rendezvous_->ranks.size() && why.empty(); i++) {
            const int rank = rendezvous_->ranks[i];
            if (!rendezvous_->has_arrived[i] && shared_->has_left[static_cast<std::size_t>(rank)]) why = left_text(rank);
        }
        if (why.empty()) return;
        is_over_ = true;
        fail(Status::group, "%s", why.c_str());
    }

    // All ranks find the same difference.
    void check_agreement() {
        const auto &all = rendezvous_->contributions;
        for (std::size_t i = 1; i < all.size(); i++) {
            if (all[i].agrees_with(all[0])) continue;
            is_over_ = true;
            const bool is_transfer = all[0].kind == Kind::transfer;
            fail(Status::group, "%s: %s, %s: %s", is_transfer ? "sender" : "rank 0", all[0].text().c_str(),
                 is_transfer ? "receiver" : ("rank " + std::to_string(i)).c_str(), all[i].text().c_str());
        }
    }

    void copy_parts() {
        const auto &all = rendezvous_->contributions;
        const Contribution &own = all[static_cast<std::size_t>(place_)];
        const auto copy = [](std::byte *to, const std::byte *from, std::size_t bytes) {
            if (bytes != 0) std::memcpy(to, from, bytes);
        };
        switch (own.kind) {
            case Kind::gather:
                for (std::size_t rank = 0; rank < all.size(); rank++) copy(own.result + rank * own.bytes, all[rank].own, own.bytes);
                return;
            case Kind::swap_parts:
                for (std::size_t rank = 0; rank < all.size(); rank++) {
                    copy(own.result + rank * own.bytes, all[rank].own + static_cast<std::size_t>(place_) * own.bytes, own.bytes);
                }
                return;
            case Kind::broadcast: return copy(own.result, all[static_cast<std::size_t>(own.root)].own, own.bytes);
            case Kind::all_reduce: {
                std::vector<const std::byte *> parts;
                for (const Contribution &contribution : all) parts.push_back(contribution.own);
                const std::size_t size = traits(own.type).size;
                return reduce_in_order(own.reduction, own.type, parts, own.result, static_cast<std::int64_t>(own.bytes / size));
            }
            case Kind::split: return make_part();
            case Kind::transfer:
                if (place_ == 1) copy(own.result, all[0].copy.data(), own.bytes);
                return;
        }
    }

    void make_part();

    const std::shared_ptr<SharedState> shared_;
    const std::shared_ptr<Rendezvous> rendezvous_;
    const int place_;  // among the rendezvous's contributions: the rank, but for a transfer
    std::unique_ptr<GroupEngine> *const end_;
    bool has_copied_ = false, is_over_ = false;
};

class LocalEngine final : public GroupEngine {
public:
    LocalEngine(std::shared_ptr<SharedState> shared, int rank) : shared_(std::move(shared)), rank_(rank) {}
    ~LocalEngine() override {
        std::lock_guard lock(shared_->lock);
        shared_->has_left[static_cast<std::size_t>(rank_)] = true;
        shared_->is_disturbed.store(true, std::memory_order_release);
    }

    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return shared_->size; }
    std::string text() const override {
        if (shared_->size == 1) return "self: one rank";
        const std::string threads = format_text("local: %d threads of a process", size());
        if (!shared_->network) return threads;
        return threads + format_text(", on a simulated network of %g us and %g Gb/s",
                                     std::chrono::duration<double, std::micro>(shared_->network->latency).count(),
                                     shared_->network->bytes_per_second * 8 / 1e9);
    }

    Started gather(const std::byte *own, std::byte *all, std::size_t bytes) override {
        return join({.kind = Kind::gather, .own = own, .result = all, .bytes = bytes});
    }
    Started swap_parts(const std::byte *own, std::byte *all, std::size_t bytes) override {
        return join({.kind = Kind::swap_parts, .own = own, .result = all, .bytes = bytes});
    }
    Started broadcast(const std::byte *own, std::byte *result, std::size_t bytes, int root) override {
        return join({.kind = Kind::broadcast, .own = own, .result = result, .bytes = bytes, .root = root});
    }
    Started all_reduce(Reduction reduction, DType type, const std::byte *own, std::byte *result, std::int64_t n) override {
        return join({.kind = Kind::all_reduce,
                     .own = own,
                     .result = result,
                     .bytes = static_cast<std::size_t>(n) * traits(type).size,
                     .reduction = reduction,
                     .type = type});
    }
    // On a simulated network sums are exchanged as on a real one.
    bool reduces_in_order() const noexcept override { return !shared_->network; }

    void send(const std::byte *own, std::size_t bytes, int to) override {
        Contribution contribution{.kind = Kind::transfer, .bytes = bytes, .copy = std::vector<std::byte>(own, own + bytes)};
        std::lock_guard lock(shared_->lock);
        check_failure();
        if (shared_->has_left[static_cast<std::size_t>(to)]) fail(Status::group, "%s", left_text(to).c_str());
        const std::shared_ptr<Rendezvous> rendezvous = transfer(rank_, to, shared_->n_sent);
        arrive(*rendezvous, 0, std::move(contribution));
        // The bytes are the rendezvous's, so the sender is done.
        rendezvous->n_done.fetch_add(1, std::memory_order_acq_rel);
    }

    Started receive(std::byte *result, std::size_t bytes, int from) override {
        std::lock_guard lock(shared_->lock);
        check_failure();
        const std::shared_ptr<Rendezvous> rendezvous = transfer(from, rank_, shared_->n_received);
        arrive(*rendezvous, 1, {.kind = Kind::transfer, .result = result, .bytes = bytes});
        return std::make_unique<LocalExchange>(shared_, rendezvous, 1, nullptr);
    }

    Started split(int colour, int key, std::unique_ptr<GroupEngine> &end) override {
        return join({.kind = Kind::split, .colour = colour, .key = key}, &end);
    }

    void abandon(const std::string &why) noexcept override {
        std::lock_guard lock(shared_->lock);
        if (!shared_->failure.empty()) return;
        try {
            shared_->failure = why;
        } catch (...) {
            shared_->failure = "a rank failed";  // short enough to need no memory
        }
        shared_->is_disturbed.store(true, std::memory_order_release);
    }

private:
    // Both under the shared lock.
    void check_failure() const {
        if (!shared_->failure.empty()) fail(Status::group, "%s", shared_->failure.c_str());
    }
    std::shared_ptr<Rendezvous> transfer(int from, int to, std::map<std::pair<int, int>, std::uint64_t> &count) {
        const auto [at, is_new] = shared_->transfers.try_emplace({from, to, count[{from, to}]});
        if (is_new) at->second = std::make_shared<Rendezvous>(std::vector{from, to});
        count[{from, to}]++;
        const std::shared_ptr<Rendezvous> rendezvous = at->second;
        if (!is_new) shared_->transfers.erase(at);
        return rendezvous;
    }
    void arrive(Rendezvous &rendezvous, std::size_t place, Contribution contribution) noexcept {
        rendezvous.contributions[place] = std::move(contribution);
        rendezvous.has_arrived[place] = true;
        if (std::ranges::find(rendezvous.has_arrived, false) != rendezvous.has_arrived.end()) return;
        if (shared_->network) {
            const Network::Time time = time_of(*shared_->network, rendezvous.n_ranks(), rendezvous.contributions[0]);
            rendezvous.end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
        }
        rendezvous.is_complete.store(true, std::memory_order_release);
    }

    Started join(Contribution contribution, std::unique_ptr<GroupEngine> *end = nullptr) {
        std::lock_guard lock(shared_->lock);
        check_failure();
        const auto own = static_cast<std::size_t>(rank_);
        const auto [at, is_new] = shared_->open.try_emplace(shared_->n_started[own]);
        if (is_new) {
            std::vector<int> ranks(static_cast<std::size_t>(shared_->size));
            std::iota(ranks.begin(), ranks.end(), 0);
            at->second = std::make_shared<Rendezvous>(std::move(ranks));
        }
        const std::shared_ptr<Rendezvous> rendezvous = at->second;
        auto started = std::make_unique<LocalExchange>(shared_, rendezvous, rank_, end);
        shared_->n_started[own]++;
        arrive(*rendezvous, own, std::move(contribution));
        // All have arrived.
        if (rendezvous->is_complete.load(std::memory_order_relaxed)) shared_->open.erase(at);
        return started;
    }

    const std::shared_ptr<SharedState> shared_;
    const int rank_;
};

// Finds this rank's part of a split, and its rank there.
void LocalExchange::make_part() {
    const auto &all = rendezvous_->contributions;
    const Contribution &own = all[static_cast<std::size_t>(place_)];
    if (own.colour < 0) return;
    std::vector<int> ranks;
    for (int rank = 0; rank < rendezvous_->n_ranks(); rank++) {
        if (all[static_cast<std::size_t>(rank)].colour == own.colour) ranks.push_back(rank);
    }
    std::ranges::stable_sort(ranks, {}, [&](int rank) { return all[static_cast<std::size_t>(rank)].key; });
    const auto place = static_cast<int>(std::ranges::find(ranks, place_) - ranks.begin());
    std::lock_guard lock(shared_->lock);
    std::shared_ptr<SharedState> &part = rendezvous_->parts[own.colour];
    if (!part) part = std::make_shared<SharedState>(static_cast<int>(ranks.size()), shared_->network);
    *end_ = std::make_unique<LocalEngine>(part, place);
}

}  // namespace

std::vector<std::unique_ptr<GroupEngine>> local_engines(int size) {
    const auto shared = std::make_shared<SharedState>(size, size > 1 ? simulated_network() : std::nullopt);
    std::vector<std::unique_ptr<GroupEngine>> ends;
    for (int rank = 0; rank < size; rank++) ends.push_back(std::make_unique<LocalEngine>(shared, rank));
    return ends;
}

}  // namespace tensorlib::core
