// The interface that a device implements: devices that can be opened, and backends, which are opened devices.
#pragma once

#include "base/patience.hpp"
#include "base/ref.hpp"
#include "graph/device_memory.hpp"
#include "runtime/kernel.hpp"

#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

namespace tensorlib::core {

class Trace;

// That a backend may be joined of.
constexpr std::size_t max_parts = 32;

struct BackendParams {
    int n_threads = 0;  // 0 = all that this process may use
    bool allow_tf32 = false;
};

struct DeviceProps {
    std::string description;
    std::uint64_t memory_total = 0, memory_free = 0;
    std::int32_t capability = 0;
    bool simulated = false;
};

// A device of this machine. Lives as long as the process.
class Device {
public:
    virtual ~Device() = default;
    virtual const char *name() const noexcept = 0;
    virtual DeviceProps props() const = 0;
    virtual DeviceMemory &memory() const noexcept = 0;
    virtual Ref<Backend> open(const BackendParams &params) const = 0;
};

// Asked by a backend on the calling thread while a step runs, so that a long one can be stopped between chunks.
class StepWatch {
public:
    // Whether the step is to go on. Once it is not, the backend leaves out the rest of the step and returns.
    virtual bool goes_on() noexcept = 0;

protected:
    ~StepWatch() = default;
};

class Backend : public RefCounted {
public:
    explicit Backend(const Device &device);

    const Device &device() const noexcept { return device_; }
    // Never used twice in a process: plans are kept by it, and do not keep the backend alive.
    std::uint64_t serial() const noexcept { return serial_; }
    // Whether plans may fuse nodes: unless TENSORLIB_FUSE is 0. Throws Error(invalid_argument) in the constructor where it is neither 0
    // nor 1.
    bool fuses() const noexcept { return fuses_; }

    // The backends that it is joined of, in the order of joining; of any other one itself. Steps and blocks name them by their index here.
    virtual std::span<Backend *const> parts() const noexcept { return {&self_, 1}; }
    // The part that computes on such memory, or none.
    std::optional<std::size_t> part_on(const DeviceMemory &memory) const noexcept;

    virtual int n_threads() const noexcept = 0;
    virtual const char *isa() const noexcept = 0;
    // Bytes that the backend keeps of constants.
    virtual std::size_t packed_bytes() const noexcept { return 0; }

    // The kernel that takes the node, and how; refusals() is what those said that are preferred to this one (all, where it is null). Not
    // for a joined one: its parts are asked.
    Choice choose(const Problem &problem) const noexcept;
    // Makes the copies of constants that the plan for `node` lists as planned, or finds those that exist. Returns the ones that there is no
    // memory for, a bit each. For the holder of the turn.
    virtual unsigned make_copies(const Tensor & /*node*/, KernelPlan & /*plan*/) noexcept { return 0; }
    std::string refusals(const Problem &problem, const Kernel *chosen) const;

    // Throws where this backend cannot be used at present: Error(unavailable) in a forked child, Error(device) after
    // a device's failure.
    virtual void check_usable(const char *what) const = 0;

    // What a backend keeps with a plan, to run its steps faster the next time. May outlive the backend.
    struct Recording {
        virtual ~Recording() = default;
    };

    // Whether execute() may return before a step is done, so that others can be handed theirs meanwhile.
    virtual bool returns_before_done() const noexcept { return false; }

    // A run begins: its steps see what was written to the device's memory before.
    virtual void begin() {}
    // Runs or enqueues a step. Steps take effect in the order of the calls.
    virtual void execute(const Step &step) = 0;
    // Who is asked while steps run, until the next call; null: nobody. For the holder of the turn.
    void set_watch(StepWatch *watch) noexcept;
    // The same, with a trace's event where there is one.
    void run_step(const Step &step) {
        if (trace_) {
            run_traced(step);
        } else {
            execute(step);
        }
    }
    // All of a plan's steps, always the same ones with the same recording, which is null the first time and the
    // backend's to make.
    virtual void execute_all(std::span<const Step> steps, std::unique_ptr<Recording> &recording);
    // Returns when all that was enqueued is done; throws Error(device) where it failed.
    virtual void finish() = 0;
    // After an error: returns when nothing that was enqueued can run any more.
    virtual void drain() noexcept {}

    // Whether plans compute in blocks of the backend; else in their contexts'.
    virtual bool has_own_blocks() const noexcept { return false; }
    // A part's, of that many bytes at least, for the holder of the turn: the same for all plans. Throws Error(out_of_memory).
    virtual std::byte *own_block(std::size_t /*part*/, std::size_t /*bytes*/) { return nullptr; }
    // A constant's bytes on a part whose device is not the constant's, copied when first asked for. Of a joined backend.
    virtual const std::byte *constant_on(std::size_t part, const Tensor &root);

    // To be called once, before any run: a timeline of all runs in that file, unless the path is empty. See Trace::open().
    void start_trace(const std::string &path);
    // Null where there is none.
    Trace *trace() const noexcept { return trace_.get(); }

    // One graph runs at a time: the second caller waits. A call from inside a callback, this backend's or another's, does not wait, but
    // throws Error(busy) where the turn is taken: two that wait for each other's callbacks would do so for ever. A joined backend's turn
    // are those of all its parts, taken in the order of their serial numbers, so that two never wait for each other.
    class Turn {
    public:
        // Waits as long as that takes, or where the patience has a limit no longer; throws Error(busy) then.
        explicit Turn(Backend &backend, const char *what, const Patience &patience = Patience(0));
        ~Turn() { give_back(); }
        Turn(const Turn &) = delete;
        Turn &operator=(const Turn &) = delete;

    private:
        void take(Backend &part, bool may_wait, const char *what, const Patience &patience);
        void give_back() noexcept;
        Backend &backend_;
        std::size_t n_taken_ = 0;
    };

protected:
    ~Backend() override;

    StepWatch *watch() const noexcept { return watch_; }
    virtual Choice choose_kernel(const Problem &problem) const noexcept = 0;
    virtual std::string kernels_refusals(const Problem &problem, const Kernel *chosen) const = 0;
    // parts() by their serial numbers.
    virtual std::span<Backend *const> parts_in_turn() const noexcept { return parts(); }

private:
    void run_traced(const Step &step);
    bool refuses(const Problem &problem) const noexcept;

    const Device &device_;
    const std::uint64_t serial_;
    const bool fuses_;
    const std::bitset<op_end> refused_;  // by TENSORLIB_REFUSE
    Backend *const self_ = this;
    std::unique_ptr<Trace> trace_;
    StepWatch *watch_ = nullptr;
    std::timed_mutex turn_;
    // Who holds the turn; written by the holder only, so comparing it with oneself needs no lock.
    std::atomic<std::thread::id> holder_{};
};

}  // namespace tensorlib::core
