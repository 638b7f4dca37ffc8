// The interface that a device implements: devices, which can be opened, and backends, which are opened devices.
#pragma once

#include "base/patience.hpp"
#include "base/ref.hpp"
#include "base/step_watch.hpp"
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

// The most backends that can be joined into one.
constexpr std::size_t max_parts = 32;

struct BackendParams {
    int n_threads = 0;  // 0 = all processors that this process may use
    bool allow_tf32 = false;
};

struct DeviceProps {
    std::string description;
    std::uint64_t memory_total = 0, memory_free = 0;
    std::int32_t capability = 0;
    bool simulated = false;
};

// A device of this machine. It lives as long as the process.
class Device {
public:
    virtual ~Device() = default;
    virtual const char *name() const noexcept = 0;
    virtual DeviceProps props() const = 0;
    virtual DeviceMemory &memory() const noexcept = 0;
    virtual Ref<Backend> open(const BackendParams &params) const = 0;
};

class Backend : public RefCounted {
public:
    explicit Backend(const Device &device);

    const Device &device() const noexcept { return device_; }
    // Never used twice in a process. Plans refer to a backend by this number and do not keep it alive.
    std::uint64_t serial() const noexcept { return serial_; }
    // Whether plans may fuse nodes: yes, unless TENSORLIB_FUSE is 0. The constructor throws Error(invalid_argument) if
    // it is neither 0 nor 1.
    bool fuses() const noexcept { return fuses_; }

    // The backends that it consists of, in the order of joining; itself for a single backend. Steps and blocks refer to
    // them by index.
    virtual std::span<Backend *const> parts() const noexcept { return {&self_, 1}; }
    // The part that computes on this memory, if there is one.
    std::optional<std::size_t> part_on(const DeviceMemory &memory) const noexcept;

    virtual int n_threads() const noexcept = 0;
    virtual const char *isa() const noexcept = 0;
    // The bytes that the backend keeps for copies of constants.
    virtual std::size_t packed_bytes() const noexcept { return 0; }

    // Whether kernels honour Problem::batch_invariant, or refuse.
    virtual bool has_batch_invariant_kernels() const noexcept { return false; }

    // The kernel that takes the node, and its plan. refusals() is what the kernels that precede it said, or all of them
    // if it is null. Not for a joined backend: ask its parts.
    Choice choose(const Problem &problem) const noexcept;
    // Makes or finds the copies of constants that the plan for `node` lists as planned. Returns a bit for each copy
    // that there is no memory for. Call with the turn held.
    virtual unsigned make_copies(const Tensor & /*node*/, KernelPlan & /*plan*/) noexcept { return 0; }
    std::string refusals(const Problem &problem, const Kernel *chosen) const;

    // Throws if this backend cannot be used now: Error(unavailable) in a forked child, Error(device) after a failure of
    // the device.
    virtual void check_usable(const char *what) const = 0;

    // What a backend stores with a plan to run its steps faster the next time. May outlive the backend.
    struct Recording {
        virtual ~Recording() = default;
    };

    // Whether execute() may return before a step is done, so that other backends get their steps meanwhile.
    virtual bool returns_before_done() const noexcept { return false; }

    // Begins a run: its steps see everything that was written to the device's memory before.
    virtual void begin() {}
    // Runs or enqueues a step. Steps take effect in the order of the calls.
    virtual void execute(const Step &step) = 0;
    // Sets the watch that is asked while steps run, until the next call; null for none. Call with the turn held.
    void set_watch(StepWatch *watch) noexcept;
    // As execute(), and records an event if there is a trace.
    void run_step(const Step &step) {
        if (trace_) {
            run_traced(step);
        } else {
            execute(step);
        }
    }
    // Runs all steps of a plan. Each call for a recording passes identical steps. The recording is null the first time,
    // and the backend makes it.
    virtual void execute_all(std::span<const Step> steps, std::unique_ptr<Recording> &recording);
    // Returns when all enqueued work is done; throws Error(device) if it failed.
    virtual void finish() = 0;
    // After an error: returns when no enqueued work can run any more.
    virtual void drain() noexcept {}

    // Whether plans compute in blocks of the backend; otherwise in blocks of their contexts.
    virtual bool has_own_blocks() const noexcept { return false; }
    // A part's block of at least this many bytes, which all plans share. Call with the turn held. Throws
    // Error(out_of_memory).
    virtual std::byte *own_block(std::size_t /*part*/, std::size_t /*bytes*/) { return nullptr; }
    // Neither uses nor frees them any more, because something that cannot be stopped may still write there.
    virtual void forget_own_blocks() noexcept {}
    // For a joined backend: a constant's bytes on a part whose device is not the constant's, copied when first asked
    // for.
    virtual const std::byte *constant_on(std::size_t part, const Tensor &root);

    // Writes a timeline of all runs to this file, unless the path is empty. Call it once, before any run. See
    // Trace::open().
    void start_trace(const std::string &path);
    // Null if there is no trace.
    Trace *trace() const noexcept { return trace_.get(); }

    // One graph runs at a time, and the second caller waits. A call from inside a callback, of this backend or another,
    // does not wait: it throws Error(busy) if the turn is taken, because two callbacks that wait for each other would
    // wait forever. A joined backend's turn consists of the turns of all its parts, taken in the order of their serial
    // numbers, so two never wait for each other.
    class Turn {
    public:
        // Waits for the turn. If the patience has a limit, waits no longer than that and throws Error(busy).
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
    // parts(), sorted by serial number.
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
    // The thread that holds the turn. Only the holder writes it, so comparing it with one's own id needs no lock.
    std::atomic<std::thread::id> holder_{};
};

}  // namespace tensorlib::core
