#include "groups/mpi.hpp"

#include "base/fail.hpp"
#include "base/wait.hpp"
#include "groups/mpi_library.hpp"
#include "groups/mpi_world.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tensorlib::core {

namespace {

using Clock = std::chrono::steady_clock;

// What an exchange needs of the other ranks: that all of them come to collective `number`, or that one of them sends message
// `number`.
struct Need {
    int from;  // -1 for a collective
    std::uint64_t number;
};
constexpr std::uint64_t never = ~std::uint64_t{0};

template <class Handle>
class MpiEngine;

template <class Handle>
class MpiExchange final : public Exchange {
public:
    using Calls = MpiInterface<Handle>;

    MpiExchange(MpiEngine<Handle> &engine, Need need) : engine_(engine), need_(need) {}

    // f(calls, request) starts a part. If that fails, advance() throws the reason, because other parts may be running.
    template <class F>
    void start(const char *name, F f) {
        if (!failure_.empty()) return;
        Handle request{};
        try {
            make_room(requests_);
            engine_.world().call(name, [&](const Calls &mpi) { return f(mpi, &request); });
        } catch (const Error &error) {
            failure_ = error.what();
            return;
        }
        requests_.push_back(request);
    }

    bool advance() override {
        if (!failure_.empty()) fail(Status::group, "%s", failure_.c_str());
        while (!requests_.empty() && engine_.world().test(requests_.back())) requests_.pop_back();
        if (!requests_.empty()) {
            if (++n_polls_ % 16 == 0) engine_.check_others(need_);
            return false;
        }
        if (!std::exchange(is_done_, true)) {
            if (finish) finish();
            engine_.complete(need_);
        }
        return true;
    }

    // MPI cannot cancel collectives.
    GivenUp give_up() noexcept override {
        if (requests_.empty()) return GivenUp::yes;
        engine_.world().note_given_up();
        return GivenUp::but_running;
    }

    std::string missing() override { return engine_.missing(need_); }

    std::function<void()> finish;        // called when all parts are done
    std::vector<std::byte> own, result;  // memory of its own, if it needs some

private:
    MpiEngine<Handle> &engine_;
    const Need need_;
    std::vector<Handle> requests_;
    std::string failure_;
    unsigned n_polls_ = 0;
    bool is_done_ = false;
};

template <class Handle>
class MpiEngine final : public GroupEngine {
public:
    using Calls = MpiInterface<Handle>;

    // Takes over the communicator.
    MpiEngine(World<Handle> &world, std::string text, std::size_t most_bytes, Handle communicator)
        : world_(world),
          text_(std::move(text)),
          most_bytes_(most_bytes),
          line_(std::make_unique<Line<Handle>>(world, communicator)),
          communicator_(communicator),
          rank_(line_->rank()),
          size_(line_->size()),
          n_sent_(ranks()),
          n_received_(ranks()),
          gone_(ranks()) {}

    ~MpiEngine() override {
        try {
            if (!world_.is_usable()) return;
            tell_last(Notice::Kind::left, n_started_, "");
            line_->keeps_communicator = has_failed_;
            world_.add(line_);
        } catch (...) {
            world_.note_given_up();
            static_cast<void>(line_.release());  // MPI still uses its messages
        }
    }

    World<Handle> &world() noexcept { return world_; }
    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return size_; }
    std::string text() const override { return "mpi: " + std::to_string(size_) + (size_ == 1 ? " process, " : " processes, ") + text_; }

    Started gather(const std::byte *own, std::byte *all, std::size_t bytes) override {
        auto exchange = collective();
        start_gather(*exchange, own, all, bytes);
        return exchange;
    }

    Started swap_parts(const std::byte *own, std::byte *all, std::size_t bytes) override {
        auto exchange = collective();
        if (bytes <= most_bytes_) {
            const int n = static_cast<int>(bytes);
            exchange->start("MPI_Ialltoall", [&](const Calls &mpi, Handle *request) {
                return mpi.ialltoall(own, n, mpi.byte, all, n, mpi.byte, communicator_, request);
            });
        } else {
            swap_in_parts(*exchange, [=](std::size_t rank) { return own + rank * bytes; }, all, bytes);
        }
        return exchange;
    }

    Started broadcast(const std::byte *own, std::byte *result, std::size_t bytes, int root) override {
        auto exchange = collective();
        // The root's memory is only read.
        std::byte *memory = root == rank_ ? const_cast<std::byte *>(own) : result;
        for_each_part(bytes, most_bytes_, [&](std::size_t first, int n) {
            exchange->start("MPI_Ibcast", [&](const Calls &mpi, Handle *request) {
                return mpi.ibcast(memory + first, n, mpi.byte, root, communicator_, request);
            });
        });
        if (root == rank_ && bytes != 0) std::memcpy(result, own, bytes);
        return exchange;
    }

    Started all_reduce(Reduction reduction, DType type, const std::byte *own, std::byte *result, std::int64_t n) override {
        auto exchange = collective();
        const std::size_t each = traits(type).size;
        if (size_ == 1) {
            // MPI knows only four of the types.
            if (n != 0) std::memcpy(result, own, static_cast<std::size_t>(n) * each);
            return exchange;
        }
        for_each_part(static_cast<std::size_t>(n), most_bytes_ / each, [&](std::size_t first, int some) {
            exchange->start("MPI_Iallreduce", [&](const Calls &mpi, Handle *request) {
                const Handle as = type == DType::f32 ? mpi.f32 : type == DType::f64 ? mpi.f64 : type == DType::i32 ? mpi.i32 : mpi.i64;
                const Handle by = reduction == Reduction::sum ? mpi.sum : mpi.max;
                return mpi.iallreduce(own + first * each, result + first * each, some, as, by, communicator_, request);
            });
        });
        return exchange;
    }

    bool reduces_in_order() const noexcept override { return size_ == 1; }

    void send(const std::byte *own, std::size_t bytes, int to) override {
        begin();
        // A rank that has left receives nothing.
        check_others({to, never});
        for_each_part(bytes, most_bytes_,
                      [&](std::size_t first, int n) { line_->send_copy(own + first, static_cast<std::size_t>(n), to, Tag::transfer); });
        n_sent_[static_cast<std::size_t>(to)]++;
    }

    Started receive(std::byte *result, std::size_t bytes, int from) override {
        begin();
        auto exchange = std::make_unique<MpiExchange<Handle>>(*this, Need{from, n_received_[static_cast<std::size_t>(from)]++});
        for_each_part(bytes, most_bytes_, [&](std::size_t first, int n) {
            exchange->start("MPI_Irecv", [&](const Calls &mpi, Handle *request) {
                return mpi.irecv(result + first, n, mpi.byte, from, static_cast<int>(Tag::transfer), communicator_, request);
            });
        });
        return exchange;
    }

    // MPI_Comm_split waits, so all ranks come to it at one time: they have gathered what they want.
    Started split(int colour, int key, std::unique_ptr<GroupEngine> &end) override {
        auto exchange = collective();
        exchange->own.resize(1);
        exchange->result.resize(ranks());
        exchange->finish = [this, colour, key, &end] {
            constexpr int undefined = -32766;  // in all interfaces
            Handle part{};
            world_.call("MPI_Comm_split",
                        [&](const Calls &mpi) { return mpi.comm_split(communicator_, colour < 0 ? undefined : colour, key, &part); });
            if (colour >= 0) end = std::make_unique<MpiEngine>(world_, text_, most_bytes_, part);
        };
        start_gather(*exchange, exchange->own.data(), exchange->result.data(), 1);
        return exchange;
    }

    void abandon(const std::string &why) noexcept override {
        try {
            has_failed_ = true;
            if (world_.is_usable()) tell_last(Notice::Kind::failed, n_completed_, why);
        } catch (...) {
            // They find out at the deadline.
        }
        world_.note_given_up();
    }

    // Throws Error(group) if another rank has gone before what this one needs of it.
    void check_others(Need need) {
        take_notices();
        for (const Gone &gone : gone_) {
            if (gone.why.empty() || !lacks(gone, need)) continue;
            fail(Status::group, "%s", gone.why.c_str());
        }
    }

    void complete(Need need) noexcept {
        if (need.from < 0) n_completed_++;
    }

    // Asks the others how far they have come.
    std::string missing(Need need) {
        if (need.from >= 0) return ranks_text({need.from});
        n_started_of_.assign(ranks(), 0);
        tell_others(Notice::Kind::asks_who_is_here, 0, "");
        const auto lacks_rank = [&](int rank) { return rank != rank_ && n_started_of_[static_cast<std::size_t>(rank)] <= need.number; };
        std::vector<int> lacking;
        const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(300);
        do {
            back_off(rounds_before_sleep);
            take_notices();
            lacking.clear();
            for (int rank = 0; rank < size_; rank++) {
                if (lacks_rank(rank)) lacking.push_back(rank);
            }
        } while (!lacking.empty() && Clock::now() < deadline);
        return ranks_text(lacking);
    }

private:
    // What is known of a rank that goes on no more.
    struct Gone {
        std::string why;  // empty if it goes on
        bool has_failed = false;
        std::uint64_t n_collectives = 0, n_sends = 0;
        int rank = 0;
    };
    static bool lacks(const Gone &gone, Need need) noexcept {
        if (need.from < 0) return gone.n_collectives <= need.number;
        return gone.has_failed || (gone.rank == need.from && gone.n_sends <= need.number);
    }

    std::size_t ranks() const noexcept { return static_cast<std::size_t>(size_); }

    // Before each exchange.
    void begin() {
        world_.check_usable();
        world_.advance_lines();
        line_->is_sending();
    }

    std::unique_ptr<MpiExchange<Handle>> collective() {
        begin();
        return std::make_unique<MpiExchange<Handle>>(*this, Need{-1, n_started_++});
    }

    // Calls f(first, how many) for parts of at most `most`; once with nothing if there is nothing.
    template <class F>
    static void for_each_part(std::size_t n, std::size_t most, F f) {
        std::size_t first = 0;
        do {
            const std::size_t some = std::min(most, n - first);
            f(first, static_cast<int>(some));
            first += some;
        } while (first < n);
    }

    void start_gather(MpiExchange<Handle> &exchange, const std::byte *own, std::byte *all, std::size_t bytes) {
        if (bytes > most_bytes_) return swap_in_parts(exchange, [=](std::size_t) { return own; }, all, bytes);
        const int n = static_cast<int>(bytes);
        exchange.start("MPI_Iallgather", [&](const Calls &mpi, Handle *request) {
            return mpi.iallgather(own, n, mpi.byte, all, n, mpi.byte, communicator_, request);
        });
    }

    // Sends part_for(rank) to each rank, and receives as much from each. For more than a call of the library can count.
    template <class PartFor>
    void swap_in_parts(MpiExchange<Handle> &exchange, PartFor part_for, std::byte *all, std::size_t bytes) {
        const int tag = static_cast<int>(Tag::part);
        for (int rank = 0; rank < size_; rank++) {
            const auto place = static_cast<std::size_t>(rank);
            if (rank == rank_) {
                std::memcpy(all + place * bytes, part_for(place), bytes);
                continue;
            }
            for_each_part(bytes, most_bytes_, [&](std::size_t first, int n) {
                exchange.start("MPI_Irecv", [&](const Calls &mpi, Handle *request) {
                    return mpi.irecv(all + place * bytes + first, n, mpi.byte, rank, tag, communicator_, request);
                });
                exchange.start("MPI_Isend", [&](const Calls &mpi, Handle *request) {
                    return mpi.isend(part_for(place) + first, n, mpi.byte, rank, tag, communicator_, request);
                });
            });
        }
    }

    void tell(int rank, Notice::Kind kind, std::uint64_t n_collectives, const std::string &why) {
        line_->tell(rank, kind, n_collectives, n_sent_[static_cast<std::size_t>(rank)], why);
    }
    void tell_others(Notice::Kind kind, std::uint64_t n_collectives, const std::string &why) {
        for (int rank = 0; rank < size_; rank++) {
            if (rank != rank_) tell(rank, kind, n_collectives, why);
        }
    }
    void tell_last(Notice::Kind kind, std::uint64_t n_collectives, const std::string &why) {
        if (!std::exchange(has_told_last_, true)) tell_others(kind, n_collectives, why);
    }

    void take_notices() {
        Notice notice{};
        while (line_->next(notice)) {
            const auto place = static_cast<std::size_t>(notice.rank);
            if (place >= ranks()) continue;
            switch (notice.kind) {
                case Notice::Kind::left:
                    gone_[place] = {left_text(notice.rank), false, notice.n_collectives, notice.n_sends, notice.rank};
                    break;
                case Notice::Kind::failed:
                    gone_[place] = {notice.why.data(), true, notice.n_collectives, notice.n_sends, notice.rank};
                    break;
                case Notice::Kind::asks_who_is_here: tell(notice.rank, Notice::Kind::is_here, n_started_, ""); break;
                case Notice::Kind::is_here:
                    if (place < n_started_of_.size()) n_started_of_[place] = notice.n_collectives;
                    break;
            }
        }
    }

    World<Handle> &world_;
    const std::string text_;
    const std::size_t most_bytes_;
    std::unique_ptr<Line<Handle>> line_;
    const Handle communicator_;
    const int rank_, size_;
    std::uint64_t n_started_ = 0, n_completed_ = 0;
    std::vector<std::uint64_t> n_sent_, n_received_;  // of each rank
    std::vector<Gone> gone_;
    std::vector<std::uint64_t> n_started_of_;  // each rank's answer to missing()
    bool has_failed_ = false, has_told_last_ = false;
};

template <class Handle>
std::unique_ptr<GroupEngine> engine_of(const MpiInterface<Handle> &calls, const MpiLibrary &library, std::chrono::milliseconds timeout,
                                       std::size_t most_bytes) {
    using Calls = MpiInterface<Handle>;
    World<Handle> &world = World<Handle>::get(calls);
    try {
        world.check_usable();
    } catch (const Error &error) {
        fail(error.code(), "group_create: %s", error.what());
    }
    int size = 0, rank = 0;
    world.call("MPI_Comm_size", [&](const Calls &mpi) { return mpi.comm_size(mpi.world, &size); });
    world.call("MPI_Comm_rank", [&](const Calls &mpi) { return mpi.comm_rank(mpi.world, &rank); });
    const Launch launched = launch();
    if (size == 1 && launched.size > 1) {
        fail(Status::unavailable,
             "group_create: the launcher has started %d processes (%s), but %s (%s) sees one: it is not the launcher's MPI; "
             "TENSORLIB_MPI=PATH names another library",
             launched.size, launched.variable.c_str(), library.version.c_str(), library.path.c_str());
    }
    struct Duplicate {
        Handle communicator, request;
    };
    auto duplicate = std::make_unique<Duplicate>();
    world.call("MPI_Comm_idup", [&](const Calls &mpi) { return mpi.comm_idup(mpi.world, &duplicate->communicator, &duplicate->request); });
    const Clock::time_point deadline = Clock::now() + timeout;
    for (int round = 0; !world.test(duplicate->request); round++) {
        back_off(round);
        if (Clock::now() < deadline) continue;
        world.note_given_up();
        static_cast<void>(duplicate.release());  // MPI still uses it
        fail(Status::group, "group_create: rank %d has waited %lld ms for the other processes to make the group", rank,
             static_cast<long long>(timeout.count()));
    }
    return std::make_unique<MpiEngine<Handle>>(world, library.version + ", " + library.path, most_bytes, duplicate->communicator);
}

}  // namespace

std::unique_ptr<GroupEngine> mpi_engine(std::chrono::milliseconds timeout, std::size_t most_bytes) {
    const MpiLibrary &library = mpi_library();
    return std::visit([&](const auto &calls) { return engine_of(calls, library, timeout, most_bytes); }, library.calls);
}

}  // namespace tensorlib::core
