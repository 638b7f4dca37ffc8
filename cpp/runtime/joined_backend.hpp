// Several backends joined into one, which computes graphs whose tensors lie on several devices.
//
// A plan says which part runs which step, and what is copied in between (runtime/placement.hpp, planner_schedule.cpp).
// This file has the run, the blocks on each device that plans compute in, and the copies of constants. These copies
// stay, because constants are read again and again on devices that are not theirs. Blocks and copies belong to the
// backend, so no context's mem_limit counts them.
#pragma once

#include "graph/context.hpp"
#include "runtime/backend.hpp"

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tensorlib::core {

// Both throw Error(invalid_argument) if there are none or more than max_parts, if one is itself joined, or if two use
// one device.
void check_part_count(std::size_t n);
Ref<Backend> join_backends(std::span<Backend *const> parts);

// Copies of constants on devices other than their own. Each lives until its context or the backend ends.
class ConstantCopies final : public TensorWatcher {
public:
    // Call with the backend's turn held. Throws Error(out_of_memory), Error(device).
    const std::byte *find_or_make(const Tensor &root, DeviceMemory &memory);
    std::size_t bytes() const noexcept;
    // Frees all copies, and makes no more.
    void end() noexcept;
    bool ended() const noexcept override { return ended_.load(std::memory_order_acquire); }

    void tensors_gone(const Context &context) noexcept override;
    Ref<const StandIn> copy_of(const Tensor &) noexcept override { return {}; }
    void stands_in(const Tensor &, const StandIn &) noexcept override {}

private:
    struct Entry {
        DeviceMemory *memory;
        std::byte *data;
        std::size_t bytes;
    };
    ~ConstantCopies() override = default;
    const std::byte *find(const Tensor &root, const DeviceMemory &memory) const noexcept;

    mutable std::mutex lock_;  // contexts may end at any time
    std::unordered_map<const Tensor *, std::vector<Entry>> entries_;
    std::atomic<bool> ended_{false};
};

class JoinedBackend final : public Backend {
public:
    explicit JoinedBackend(std::span<Backend *const> parts);

    std::span<Backend *const> parts() const noexcept override { return parts_; }
    int n_threads() const noexcept override;
    const char *isa() const noexcept override { return isa_.c_str(); }
    std::size_t packed_bytes() const noexcept override;
    void check_usable(const char *what) const override;
    void begin() override;
    void execute(const Step &step) override;
    void execute_all(std::span<const Step> steps, std::unique_ptr<Recording> &recording) override;
    void finish() override;
    void drain() noexcept override;
    bool has_own_blocks() const noexcept override { return true; }
    std::byte *own_block(std::size_t part, std::size_t bytes) override;
    void forget_own_blocks() noexcept override { std::ranges::fill(blocks_, Block{}); }
    const std::byte *constant_on(std::size_t part, const Tensor &root) override;

private:
    // The parts as one device. Its name joins theirs, "cpu+cuda:0", and contexts that are made for it lie on the first
    // part.
    class JoinedDevice final : public Device {
    public:
        explicit JoinedDevice(std::span<Backend *const> parts);
        const char *name() const noexcept override { return name_.c_str(); }
        DeviceProps props() const override { return first_.props(); }
        DeviceMemory &memory() const noexcept override { return first_.memory(); }
        Ref<Backend> open(const BackendParams &params) const override;

    private:
        std::string name_;
        const Device &first_;
    };

    JoinedBackend(std::span<Backend *const> parts, std::unique_ptr<const JoinedDevice> device);
    ~JoinedBackend() override;
    std::span<Backend *const> parts_in_turn() const noexcept override { return in_turn_; }
    Choice choose_kernel(const Problem &) const noexcept override { return {}; }
    std::string kernels_refusals(const Problem &, const Kernel *) const override { return "its parts have kernels"; }
    void copy(const Copy &copy);
    void copy_all(std::span<const Copy> copies);

    struct Block {
        void *memory = nullptr;
        std::size_t size = 0;
    };
    const std::unique_ptr<const JoinedDevice> joined_;
    std::vector<Ref<Backend>> owned_;
    std::vector<Backend *> parts_, in_turn_;
    std::string isa_;
    std::vector<Block> blocks_;
    std::vector<std::byte> stage_;  // buffers copies between two devices whose memory the host cannot access
    const Ref<ConstantCopies> constants_ = Ref<ConstantCopies>::adopt(new ConstantCopies);
};

}  // namespace tensorlib::core
