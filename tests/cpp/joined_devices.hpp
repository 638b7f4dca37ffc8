// Devices for tests of joined backends. They compute as the CPU does, in memory that is slow, limited, or fails on request.
#pragma once

#include "base/fail.hpp"
#include "cpu/cpu_backend.hpp"
#include "graph/tensor_data.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "runtime/joined_backend.hpp"
#include "support.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace support {

namespace core = tensorlib::core;

class StrangeMemory final : public core::DeviceMemory {
public:
    explicit StrangeMemory(std::string device) : device_(std::move(device)) {}
    bool delays = false;      // transfers sleep for up to 0.1 ms
    int acquires_left = -1;   // this many more succeed; below 0: all
    int transfers_left = -1;  // as many writes and reads succeed; below 0: all

    const char *device() const noexcept override { return device_.c_str(); }
    bool host_accessible() const noexcept override { return false; }
    std::size_t alignment() const noexcept override { return 128; }
    void *acquire(std::size_t size) override {
        if (acquires_left == 0) return nullptr;
        if (acquires_left > 0) acquires_left--;
        return core::host_memory().acquire(size);
    }
    void release(void *memory, std::size_t size) noexcept override { core::host_memory().release(memory, size); }
    void zero(void *memory, std::size_t size) override { core::host_memory().zero(memory, size); }
    void write(void *to, const void *from, std::size_t size) override {
        transfer();
        core::host_memory().write(to, from, size);
    }
    void read(void *to, const void *from, std::size_t size) override {
        transfer();
        core::host_memory().read(to, from, size);
    }
    void mark_used(void *memory, std::size_t size) noexcept override { core::host_memory().mark_used(memory, size); }
    void mark_unused(void *memory, std::size_t size) noexcept override { core::host_memory().mark_unused(memory, size); }

private:
    void transfer() {
        if (delays) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 100));
        if (transfers_left == 0) core::fail(tensorlib::Status::device, "%s: the transfer failed", device());
        if (transfers_left > 0) transfers_left--;
    }
    const std::string device_;
    std::mt19937 random_{1};
};

// Computes later than it is told to, as a GPU does: on a thread of its own, after a while. Transfers do not wait for it.
class LateBackend final : public core::CpuBackend {
public:
    LateBackend(const core::Device &device, const core::BackendParams &params) : CpuBackend(device, params), worker_([this] { work(); }) {}
    bool returns_before_done() const noexcept override { return true; }
    void execute(const core::Step &step) override {
        const std::lock_guard guard(lock_);
        steps_.push_back(&step);
        changed_.notify_all();
    }
    void execute_all(std::span<const core::Step> steps, std::unique_ptr<Recording> &) override {
        for (const core::Step &step : steps) execute(step);
    }
    void finish() override {
        std::unique_lock guard(lock_);
        changed_.wait(guard, [&] { return steps_.empty(); });
    }
    void drain() noexcept override { finish(); }

private:
    ~LateBackend() override {
        {
            const std::lock_guard guard(lock_);
            stop_ = true;
        }
        changed_.notify_all();
        worker_.join();
    }
    void work() {
        std::unique_lock guard(lock_);
        for (;;) {
            changed_.wait(guard, [&] { return stop_ || !steps_.empty(); });
            if (stop_) return;
            const core::Step &step = *steps_.front();
            guard.unlock();
            std::this_thread::sleep_for(std::chrono::microseconds(random_() % 200));
            CpuBackend::execute(step);
            guard.lock();
            steps_.pop_front();
            changed_.notify_all();
        }
    }
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<const core::Step *> steps_;  // the first one is being computed
    bool stop_ = false;
    std::mt19937 random_{2};
    std::thread worker_;
};

class StrangeDevice final : public core::Device {
public:
    explicit StrangeDevice(const std::string &name) : memory_(name), name_(name) {}
    bool is_late = false;  // whether backends that are opened from now on are LateBackends
    const char *name() const noexcept override { return name_.c_str(); }
    core::DeviceProps props() const override { return {}; }
    core::DeviceMemory &memory() const noexcept override { return memory_; }
    core::Ref<core::Backend> open(const core::BackendParams &params) const override {
        if (is_late) return core::Ref<core::Backend>::adopt(new LateBackend(*this, params));
        return core::Ref<core::Backend>::adopt(new core::CpuBackend(*this, params));
    }
    mutable StrangeMemory memory_;

private:
    const std::string name_;
};

// Products on two devices by turns, with copies between each two, and an output on the first one.
class TwoDevices {
public:
    TwoDevices(const core::Device &a, const core::Device &b) {
        for (const core::Device *device : {&a, &b}) {
            core::ContextParams params;
            params.memory = &device->memory();
            contexts_.push_back(core::Context::create(params));
        }
        x_ = new_leaf(0, {16, 3}, 1);
        core::Tensor *y = x_;
        for (std::size_t i = 0; i < 6; i++) {
            core::Tensor *product[] = {new_leaf(i % 2, {16, 16}, static_cast<std::uint32_t>(2 + i)), y};
            core::Tensor *result[] = {core::build_node(*contexts_[0], core::Op::mul_mat, product)};
            y = core::build_node(*contexts_[0], core::Op::tanh, result);
        }
        core::Tensor *outputs[] = {output_ = y};
        graph_ = core::Graph::create(*contexts_[0], outputs);
        core::Tensor *two[] = {new_leaf(1, {1}, 20), new_leaf(1, {1}, 21)};
        const float values[] = {1, 2};
        core::write_f32(*two[0], values, 1);
        core::write_f32(*two[1], values + 1, 1);
        outputs[0] = sum_ = core::build_node(*contexts_[1], core::Op::add, two);
        alone_ = core::Graph::create(*contexts_[1], outputs);
    }
    void compute(core::Backend &backend) { core::compute(*graph_, backend); }
    std::vector<float> read() const {
        std::vector<float> values(16 * 3);
        core::read_f32(*output_, values.data(), values.size());
        return values;
    }
    std::vector<float> computed(core::Backend &backend) {
        compute(backend);
        return read();
    }
    // 1 + 2 on the second device.
    float alone_on(core::Backend &backend) {
        core::compute(*alone_, backend);
        float value;
        core::read_f32(*sum_, &value, 1);
        return value;
    }

private:
    core::Tensor *new_leaf(std::size_t device, std::vector<std::int64_t> ne, std::uint32_t seed) {
        core::Tensor *t = contexts_[device]->new_leaf(core::contiguous_layout("leaf", core::DType::f32, ne));
        std::vector<float> values(static_cast<std::size_t>(t->layout.n_elements()));
        for (std::size_t i = 0; i < values.size(); i++) values[i] = value(seed, static_cast<std::uint32_t>(i)) / 16;
        core::write_f32(*t, values.data(), values.size());
        return t;
    }
    std::vector<core::Ref<core::Context>> contexts_;
    core::Tensor *x_ = nullptr, *output_ = nullptr, *sum_ = nullptr;
    core::Ref<core::Graph> graph_, alone_;
};

}  // namespace support
