// Streams, events, captures, and the order in which queued work runs.
#pragma once

#include "clock.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace simt {

struct Device;
struct Stream;
struct Capture;

// What a task or a node of a graph does. It can run many times.
struct Work {
    std::string name;  // for reports: "kernel add_f32", "copy of 64 bytes to the device"
    std::function<void()> run;
    std::uint32_t n_blocks = 0;    // of a kernel
    const void *pinned = nullptr;  // in pinned host memory, which must live until then
};

// A node's work with its place among the others of its graph.
struct GraphNode {
    std::shared_ptr<const Work> work;
    std::vector<int> needs;
    int chain = 0;  // which of the captured streams it came from
};
struct Graph {
    std::vector<GraphNode> nodes;
    int n_chains = 0;
    Device *device = nullptr;
};
struct GraphExec {
    Graph graph;
    std::vector<int> slots;  // one per chain, for the nodes' clocks
    Clock last;              // launches of one executable graph do not overlap
    Point last_launch;
    ~GraphExec();
};

struct Task {
    Point point;
    Clock clock;
    std::shared_ptr<const Work> work;  // none: only waits
    std::vector<Point> needs;          // of other streams, which must have run
    std::shared_ptr<GraphExec> exec;   // or a graph: the nodes' points and clocks
    std::vector<Point> node_points;
    std::vector<Clock> node_clocks;
};

struct Stream {
    Device *device = nullptr;
    int slot = 0;
    int serial = 0;  // for reports
    std::deque<Task> queue;
    Clock clock;  // of the last task queued
    int polls = 0;
    std::shared_ptr<Capture> capture;
    std::vector<int> frontier;  // captured nodes that its next node needs
    int chain = -1;
    bool destroyed = false;
    ~Stream();
};

struct Event {
    Device *device = nullptr;
    bool timed = true;
    bool recorded = false;
    Point point;
    Clock clock;
    std::shared_ptr<std::chrono::steady_clock::time_point> time;
    int polls = 0;
    std::shared_ptr<Capture> capture;  // last recorded inside this capture
    std::vector<int> frontier;
};

struct Capture {
    Graph graph;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    std::thread::id thread;
    std::weak_ptr<Stream> origin;
    std::vector<std::weak_ptr<Stream>> members;
    bool invalid = false;
    bool open = true;
};

// Handles are numbers that never come back, so that a stale one is known for what it is.
template <class T>
class Handles {
public:
    std::uintptr_t add(std::shared_ptr<T> object) {
        next_ += 16;
        objects_.emplace(next_, std::move(object));
        return next_;
    }
    std::shared_ptr<T> find(const void *handle) const {
        const auto it = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
        return it == objects_.end() ? nullptr : it->second;
    }
    bool remove(const void *handle) { return objects_.erase(reinterpret_cast<std::uintptr_t>(handle)) > 0; }
    void clear() { objects_.clear(); }

private:
    std::uintptr_t next_ = 0x51000;
    std::map<std::uintptr_t, std::shared_ptr<T>> objects_;
};

// Work that has run or is running; accesses name it by the numbers of its range.
struct RunRecord {
    std::uint32_t first_tag;
    Point point;
    std::string name;
    int stream_serial;
};

// All streams of all devices, and what has run.
struct Timeline {
    std::vector<std::uint32_t> issued, done;  // per slot
    std::vector<int> free_slots;
    Clock host;                                    // what the host knows to be done
    std::vector<std::shared_ptr<Stream>> streams;  // also destroyed ones that have work left
    Handles<Stream> stream_handles;
    Handles<Event> events;
    Handles<Graph> graphs;
    Handles<GraphExec> execs;
    std::vector<std::weak_ptr<Capture>> captures;
    std::deque<RunRecord> records;
    std::vector<std::uint32_t> floors;  // per slot: tags below are of work that happened before what the slot runs next
    std::uint32_t next_tag = 2;
    int n_streams_made = 0;
    bool eager = false;

    int take_slot();
    bool is_done(Point p) const noexcept { return p.slot < 0 || done[static_cast<std::size_t>(p.slot)] >= p.number; }
};

// A live stream for a handle, null for an unknown one. Null and cudaStreamLegacy are the device's own stream.
std::shared_ptr<Stream> find_stream(cudaStream_t handle);
std::shared_ptr<Stream> new_stream(Device &device);

// Appends work to a stream, or to the graph that it captures.
cudaError_t enqueue(Stream &stream, Work work);

// A task with its number and clock; whoever calls adds what it waits for and does.
Task &append_task(Stream &stream);

// Runs what must have run for this point to be done, and no more (unless the seed is an eager one).
void run_to(Point point);
// The host knows what a stream has been given.
void synchronise(Stream &stream);
void synchronise(Device &device);
void drop_queue(Device &device);

// The capture that keeps the calling thread from potentially unsafe calls, if any.
std::shared_ptr<Capture> forbidding_capture();
void invalidate(Capture &capture);
// The error of a call that a capturing stream does not take, which also spoils the capture.
cudaError_t refuse_capturing(Stream &stream, const char *call);

}  // namespace simt
