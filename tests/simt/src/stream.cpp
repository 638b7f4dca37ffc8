#include "stream.hpp"

#include "access.hpp"
#include "state.hpp"

#include <algorithm>

namespace simt {

int Timeline::take_slot() {
    if (!free_slots.empty()) {
        const int slot = free_slots.back();
        free_slots.pop_back();
        floors[static_cast<std::size_t>(slot)] = 0;
        return slot;
    }
    issued.push_back(0);
    done.push_back(0);
    floors.push_back(0);
    return static_cast<int>(issued.size()) - 1;
}

// A slot's numbers go on under its next owner, whose work counts as later than the old one's.
Stream::~Stream() { state().timeline.free_slots.push_back(slot); }
GraphExec::~GraphExec() {
    for (const int slot : slots) state().timeline.free_slots.push_back(slot);
}

std::shared_ptr<Stream> new_stream(Device &device) {
    Timeline &timeline = state().timeline;
    auto stream = std::make_shared<Stream>();
    stream->device = &device;
    stream->slot = timeline.take_slot();
    stream->serial = timeline.n_streams_made++;
    timeline.streams.push_back(stream);
    return stream;
}

std::shared_ptr<Stream> find_stream(cudaStream_t handle) {
    if (handle == nullptr || handle == cudaStreamLegacy) return current_device().legacy;
    return state().timeline.stream_handles.find(handle);
}

namespace {

// Forgets what all work to come is ordered after: what the host will queue, and what it has queued already. A stream's
// clocks only grow, so its next task speaks for all.
void retire_records() {
    Timeline &timeline = state().timeline;
    const auto ordered = [&](Point point) {
        if (!timeline.host.includes(point.slot, point.number)) return false;
        return std::all_of(timeline.streams.begin(), timeline.streams.end(), [&](const auto &stream) {
            return stream->queue.empty() || stream->queue.front().clock.includes(point.slot, point.number);
        });
    };
    while (!timeline.records.empty() && ordered(timeline.records.front().point)) timeline.records.pop_front();
}

void run_work(const Stream &stream, const Work &work, Point point, const Clock &clock) {
    Device &device = *stream.device;
    if (device.dead) return;
    device.memory.open();
    begin_run(device, work, point, clock, stream.serial);
    try {
        work.run();
    } catch (const WorkFault &fault) {
        kill_device(device, fault.code, fault.text);
    }
    end_run();
}

// The nodes in some order that their needs allow.
void run_graph(const Stream &stream, const Task &task) {
    const std::vector<GraphNode> &nodes = task.exec->graph.nodes;
    std::vector<int> left(nodes.size());
    std::vector<std::vector<int>> after(nodes.size());
    std::vector<int> ready;
    for (std::size_t i = 0; i < nodes.size(); i++) {
        left[i] = static_cast<int>(nodes[i].needs.size());
        for (const int need : nodes[i].needs) after[static_cast<std::size_t>(need)].push_back(static_cast<int>(i));
        if (left[i] == 0) ready.push_back(static_cast<int>(i));
    }
    while (!ready.empty()) {
        const std::size_t pick = state().random.below(static_cast<std::uint32_t>(ready.size()));
        const auto node = static_cast<std::size_t>(ready[pick]);
        ready[pick] = ready.back();
        ready.pop_back();
        run_work(stream, *nodes[node].work, task.node_points[node], task.node_clocks[node]);
        for (const int next : after[node]) {
            if (--left[static_cast<std::size_t>(next)] == 0) ready.push_back(next);
        }
    }
}

void run_front(Stream &stream) {
    Timeline &timeline = state().timeline;
    const Task task = std::move(stream.queue.front());
    stream.queue.pop_front();
    for (const Point &need : task.needs) run_to(need);
    if (task.exec) run_graph(stream, task);
    if (task.work) run_work(stream, *task.work, task.point, task.clock);
    // A fault may have dropped the queue, and counted all of it as done.
    auto &done = timeline.done[static_cast<std::size_t>(stream.slot)];
    done = std::max(done, task.point.number);
}

void forget_drained_streams() {
    auto &streams = state().timeline.streams;
    std::erase_if(streams, [](const auto &stream) { return stream->destroyed && stream->queue.empty(); });
}

// A task of some stream that waits for nothing, as a GPU might run it any time.
void run_some_other_work() {
    std::vector<Stream *> able;
    for (const auto &stream : state().timeline.streams) {
        if (stream->queue.empty()) continue;
        const auto &needs = stream->queue.front().needs;
        if (std::all_of(needs.begin(), needs.end(), [](Point p) { return state().timeline.is_done(p); })) able.push_back(stream.get());
    }
    if (!able.empty()) run_front(*able[state().random.below(static_cast<std::uint32_t>(able.size()))]);
}

}  // namespace

void run_to(Point point) {
    Timeline &timeline = state().timeline;
    while (!timeline.is_done(point)) {
        Stream *owner = nullptr;
        for (const auto &stream : timeline.streams) {
            if (stream->slot == point.slot) owner = stream.get();
        }
        if (!owner || owner->queue.empty()) die("internal: nothing left to run of slot %d before %u", point.slot, point.number);
        run_front(*owner);
    }
}

void synchronise(Stream &stream) {
    const Point last{stream.slot, state().timeline.issued[static_cast<std::size_t>(stream.slot)]};
    while (state().timeline.eager && !state().timeline.is_done(last)) run_some_other_work();
    run_to(last);
    state().timeline.host.join(stream.clock);
    retire_records();
    forget_drained_streams();
}

void synchronise(Device &device) {
    auto &streams = state().timeline.streams;
    for (;;) {
        std::vector<Stream *> busy;
        for (const auto &stream : streams) {
            if (stream->device == &device && !stream->queue.empty()) busy.push_back(stream.get());
        }
        if (busy.empty()) break;
        run_front(*busy[state().random.below(static_cast<std::uint32_t>(busy.size()))]);
    }
    for (const auto &stream : streams) {
        if (stream->device == &device) state().timeline.host.join(stream->clock);
    }
    retire_records();
    forget_drained_streams();
}

void drop_queue(Device &device) {
    for (const auto &stream : state().timeline.streams) {
        if (stream->device != &device) continue;
        stream->queue.clear();
        state().timeline.done[static_cast<std::size_t>(stream->slot)] = state().timeline.issued[static_cast<std::size_t>(stream->slot)];
    }
}

Task &append_task(Stream &stream) {
    Timeline &timeline = state().timeline;
    Task task;
    task.point = {stream.slot, ++timeline.issued[static_cast<std::size_t>(stream.slot)]};
    stream.clock.join(timeline.host);
    stream.clock.raise(stream.slot, task.point.number);
    task.clock = stream.clock;
    stream.queue.push_back(std::move(task));
    stream.polls = 0;
    return stream.queue.back();
}

cudaError_t enqueue(Stream &stream, Work work) {
    if (stream.device->dead) return health(*stream.device);
    auto shared = std::make_shared<const Work>(std::move(work));
    if (stream.capture) {
        if (stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
        Graph &graph = stream.capture->graph;
        graph.nodes.push_back({std::move(shared), stream.frontier, stream.chain});
        stream.frontier = {static_cast<int>(graph.nodes.size()) - 1};
        return cudaSuccess;
    }
    append_task(stream).work = std::move(shared);
    return cudaSuccess;
}

std::shared_ptr<Capture> forbidding_capture() {
    std::erase_if(state().timeline.captures, [](const auto &weak) {
        const auto capture = weak.lock();
        return !capture || !capture->open;
    });
    for (const auto &weak : state().timeline.captures) {
        auto capture = weak.lock();
        if (capture->mode == cudaStreamCaptureModeGlobal) return capture;
        if (capture->mode == cudaStreamCaptureModeThreadLocal && capture->thread == std::this_thread::get_id()) return capture;
    }
    return nullptr;
}

void invalidate(Capture &capture) { capture.invalid = true; }

cudaError_t refuse_capturing(Stream &stream, const char *call) {
    if (!stream.capture) return cudaSuccess;
    invalidate(*stream.capture);
    return refuse(cudaErrorStreamCaptureUnsupported, "%s of a stream that is capturing", call);
}

}  // namespace simt
