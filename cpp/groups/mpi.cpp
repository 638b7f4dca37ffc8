#include "groups/mpi.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "base/wait.hpp"
#include "groups/mpi_library.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tensorlib::core {

namespace {

using Clock = std::chrono::steady_clock;

template <class Handle>
class Line;

// For an element that must not be lost for want of memory.
template <class T>
void make_room(std::vector<T> &all) {
    if (all.size() == all.capacity()) all.reserve(2 * all.size() + 4);
}

// What the process has of MPI.
template <class Handle>
class World {
public:
    using Calls = MpiInterface<Handle>;

    // Starts MPI at the first call, unless the program has.
    static World &get(const Calls &calls) {
        static World &world = *new World(calls);  // never freed: groups may outlive static objects
        return world;
    }

    const Calls &calls;

    // Calls MPI. Throws Error(group) if that fails.
    template <class F>
    void call(const char *name, F f) {
        const auto lock = lock_calls();
        const int code = f(calls);
        if (code == 0) return;
        std::array<char, 1024> text{};
        int length = 0;
        calls.error_string(code, text.data(), &length);
        fail(Status::group, "%s has failed: %s", name, text.data());
    }

    bool test(Handle &request) {
        int is_done = 0;
        call("MPI_Test", [&](const Calls &mpi) { return mpi.test(&request, &is_done, mpi.ignored_status); });
        return is_done != 0;
    }

    // Whether this process may call MPI: it is not a fork of the one that started it, and MPI is not finalized.
    bool is_usable() const noexcept {
        int is_finalized = 0;
        return process_ == platform::process_id() && calls.finalized(&is_finalized) == 0 && is_finalized == 0;
    }
    void check_usable() const {
        if (process_ != platform::process_id())
            fail(Status::group, "this process was forked from the one that started MPI, which alone can use its groups");
        if (!is_usable()) fail(Status::group, "MPI was finalized");
        int is_main = 1;
        if (is_for_main_thread_ && calls.is_thread_main(&is_main) == 0 && is_main == 0) {
            fail(Status::unsupported,
                 "the program has started MPI for its main thread only: compute graphs with groups there, or start MPI with "
                 "MPI_Init_thread and MPI_THREAD_MULTIPLE");
        }
    }

    // Lines whose groups have not gone.
    void note_live(Line<Handle> &line) {
        const std::lock_guard lock(lines_lock_);
        live_.push_back(&line);
    }
    void forget_live(Line<Handle> &line) {
        const std::lock_guard lock(lines_lock_);
        std::erase(live_, &line);
    }
    // For a line whose group has gone. It goes on until the other ranks have what was sent on it, and have ended it too.
    // Without memory it stays the caller's.
    void add(std::unique_ptr<Line<Handle>> &line) {
        const std::lock_guard lock(lines_lock_);
        make_room(lines_);
        std::erase(live_, line.get());
        line->is_live = false;
        lines_.push_back(std::move(line));
        n_lines_.store(lines_.size(), std::memory_order_relaxed);
    }
    void advance_lines() {
        if (n_lines_.load(std::memory_order_relaxed) == 0) return;
        const std::lock_guard lock(lines_lock_);
        std::erase_if(lines_, [](const auto &line) { return line->has_ended(); });
        n_lines_.store(lines_.size(), std::memory_order_relaxed);
    }

    // Something was given up that MPI still does, so that it cannot be finalized: it would wait.
    void note_given_up() noexcept { has_given_up_.store(true, std::memory_order_relaxed); }

private:
    explicit World(const Calls &own) : calls(own), process_(platform::process_id()) {
        int is_initialized = 0, is_finalized = 0, provided = 0;
        call("MPI_Initialized", [&](const Calls &mpi) { return mpi.initialized(&is_initialized); });
        call("MPI_Finalized", [&](const Calls &mpi) { return mpi.finalized(&is_finalized); });
        if (is_finalized != 0) fail(Status::unavailable, "group_create: MPI was finalized, and cannot be started again");
        if (is_initialized == 0) {
            call("MPI_Init_thread", [&](const Calls &mpi) { return mpi.init_thread(nullptr, nullptr, mpi.thread_multiple, &provided); });
            call("MPI_Comm_set_errhandler", [&](const Calls &mpi) { return mpi.comm_set_errhandler(mpi.world, mpi.errors_return); });
            ending() = this;
            std::atexit([] { ending()->finalize(); });
        } else {
            call("MPI_Query_thread", [&](const Calls &mpi) { return mpi.query_thread(&provided); });
        }
        int key = 0;
        call("MPI_Comm_create_keyval", [&](const Calls &mpi) { return mpi.comm_create_keyval(copy_nothing, end, &key, this); });
        call("MPI_Comm_set_attr", [&](const Calls &mpi) { return mpi.comm_set_attr(mpi.self, key, nullptr); });
        is_for_one_thread_ = provided < calls.thread_multiple;
        is_for_main_thread_ = provided < calls.thread_serialized;
    }

    static World *&ending() {
        static World *world = nullptr;
        return world;
    }

    // A rank that ends without this makes the launcher stop the others, which is right if an exchange cannot be completed.
    void finalize() noexcept {
        if (is_usable() && has_ended_lines()) calls.finalize();
    }

    // MPI calls this when it is finalized, by whomever: while it still works, no message may be expected any more.
    static int end(Handle, int, void *, void *world) noexcept {
        static_cast<World *>(world)->has_ended_lines();
        return 0;
    }
    static int copy_nothing(Handle, int, void *, void *, void *, int *is_copied) noexcept {
        *is_copied = 0;
        return 0;
    }

    // False if something was given up, or is not received by the others within ten seconds.
    bool has_ended_lines() noexcept {
        try {
            const Clock::time_point begin = Clock::now();
            const std::lock_guard lock(lines_lock_);
            const auto is_sending = [](const auto &line) { return line->is_sending(); };
            for (int round = 0; !has_given_up_.load() && !lines_.empty(); round++) {
                std::erase_if(lines_, [](const auto &line) { return line->has_ended(); });
                const Clock::duration waited = Clock::now() - begin;
                if (waited > std::chrono::seconds(2) && std::ranges::none_of(lines_, is_sending)) break;
                if (waited > std::chrono::seconds(10)) return false;
                back_off(round);
            }
            if (has_given_up_.load()) return false;
            for (const auto &line : lines_) line->stop_listening();
            for (Line<Handle> *line : live_) line->stop_listening();
            return true;
        } catch (...) {
            return false;
        }
    }

    // One call at a time, if MPI asks for that. The program must not call MPI meanwhile.
    std::unique_lock<std::mutex> lock_calls() {
        return is_for_one_thread_ ? std::unique_lock(calls_lock_) : std::unique_lock<std::mutex>();
    }

    const std::int64_t process_;
    bool is_for_one_thread_ = false, is_for_main_thread_ = false;
    std::mutex calls_lock_, lines_lock_;
    std::vector<Line<Handle> *> live_;
    std::vector<std::unique_ptr<Line<Handle>>> lines_;
    std::atomic<std::size_t> n_lines_{0};
    std::atomic<bool> has_given_up_{false};
};

// What ranks tell each other apart from exchanges. The first two kinds are a rank's last notice.
struct Notice {
    enum class Kind : std::int32_t { left, failed, asks_who_is_here, is_here };
    Kind kind;
    std::int32_t rank;
    std::uint64_t n_collectives;  // that this rank has completed, or for is_here started
    std::uint64_t n_sends;        // to the receiver
    std::array<char, 488> why;

    bool is_last() const noexcept { return kind == Kind::left || kind == Kind::failed; }
};
static_assert(sizeof(Notice) == 512);

enum class Tag : int { transfer, part, notice };

// A communicator, and the messages on it that nobody waits for. A rank frees it when all others have told it that they send
// nothing more: the library may give a later communicator the same number, which would receive what the first one has not.
template <class Handle>
class Line {
public:
    using Calls = MpiInterface<Handle>;

    // Takes over the communicator.
    Line(World<Handle> &world, Handle communicator) : world_(world), communicator_(communicator) {
        world_.call("MPI_Comm_set_errhandler", [&](const Calls &mpi) { return mpi.comm_set_errhandler(communicator_, mpi.errors_return); });
        world_.call("MPI_Comm_rank", [&](const Calls &mpi) { return mpi.comm_rank(communicator_, &rank_); });
        world_.call("MPI_Comm_size", [&](const Calls &mpi) { return mpi.comm_size(communicator_, &size_); });
        world_.note_live(*this);
        is_live = true;
        listen();
    }
    // A line with messages on their way must not be destroyed.
    ~Line() {
        try {
            if (!world_.is_usable()) return;
            if (is_live) world_.forget_live(*this);
            stop_listening();
        } catch (...) {
            world_.note_given_up();
        }
    }
    Line(const Line &) = delete;
    Line &operator=(const Line &) = delete;

    Handle communicator() const noexcept { return communicator_; }
    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }

    void send_copy(const std::byte *bytes, std::size_t n, int to, Tag tag) {
        make_room(sent_);
        Message message{std::vector<std::byte>(bytes, bytes + n), {}};
        world_.call("MPI_Isend", [&](const Calls &mpi) {
            return mpi.isend(message.bytes.data(), static_cast<int>(n), mpi.byte, to, static_cast<int>(tag), communicator_,
                             &message.request);
        });
        sent_.push_back(std::move(message));
    }
    // Drops the messages that have gone. True: there are others.
    bool is_sending() {
        std::erase_if(sent_, [&](Message &message) { return world_.test(message.request); });
        return !sent_.empty();
    }

    void tell(int rank, Notice::Kind kind, std::uint64_t n_collectives, std::uint64_t n_sends, const std::string &why) {
        Notice notice{kind, rank_, n_collectives, n_sends, {}};
        std::copy_n(why.begin(), std::min(why.size(), notice.why.size() - 1), notice.why.begin());
        send_copy(reinterpret_cast<const std::byte *>(&notice), sizeof notice, rank, Tag::notice);
    }
    // False if there is none now.
    bool next(Notice &notice) {
        if (!is_listening_ || !world_.test(notice_request_)) return false;
        is_listening_ = false;
        notice = *notice_;
        if (notice.is_last()) n_last_++;
        listen();
        return true;
    }
    // It is cancelled, or has received a notice that is nobody's business any more.
    void stop_listening() {
        if (!std::exchange(is_listening_, false)) return;
        world_.call("MPI_Cancel", [&](const Calls &mpi) { return mpi.cancel(&notice_request_); });
        for (int round = 0; !world_.test(notice_request_); round++) back_off(round);
    }

    // After this rank's last notice: frees the communicator once all others have sent theirs.
    bool has_ended() {
        Notice notice{};
        while (next(notice)) {
        }
        if (is_sending() || is_listening_) return false;
        if (!keeps_communicator) world_.call("MPI_Comm_free", [&](const Calls &mpi) { return mpi.comm_free(&communicator_); });
        return true;
    }
    bool keeps_communicator = false;  // requests that were given up are of it
    bool is_live = false;             // its group has not gone

private:
    struct Message {
        std::vector<std::byte> bytes;
        Handle request{};
    };

    void listen() {
        if (n_last_ + 1 == size_) return;
        world_.call("MPI_Irecv", [&](const Calls &mpi) {
            return mpi.irecv(notice_.get(), sizeof *notice_, mpi.byte, mpi.any_source, static_cast<int>(Tag::notice), communicator_,
                             &notice_request_);
        });
        is_listening_ = true;
    }

    World<Handle> &world_;
    Handle communicator_;
    int rank_ = 0, size_ = 1;
    std::vector<Message> sent_;
    int n_last_ = 0;  // ranks that have sent their last notice
    bool is_listening_ = false;
    const std::unique_ptr<Notice> notice_ = std::make_unique<Notice>();
    Handle notice_request_{};
};

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
