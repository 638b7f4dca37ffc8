// What a process has of MPI: the library's calls, and lines, on which ranks tell each other who leaves, fails or is missing. Engines of
// groups (mpi.cpp) exchange tensors over them.
#pragma once

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "base/wait.hpp"
#include "groups/mpi_library.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tensorlib::core {

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
            const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
            const std::lock_guard lock(lines_lock_);
            const auto is_sending = [](const auto &line) { return line->is_sending(); };
            for (int round = 0; !has_given_up_.load() && !lines_.empty(); round++) {
                std::erase_if(lines_, [](const auto &line) { return line->has_ended(); });
                const std::chrono::steady_clock::duration waited = std::chrono::steady_clock::now() - begin;
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

}  // namespace tensorlib::core
