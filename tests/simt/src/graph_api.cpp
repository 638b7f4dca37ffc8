// Capture of a stream's work into a graph, and its replay.
#include "state.hpp"

#include <algorithm>

using namespace simt;

namespace {

// Nodes that nothing of the origin's comes after.
bool has_unjoined_nodes(const Graph &graph, const std::vector<int> &last) {
    std::vector<bool> joined(graph.nodes.size());
    std::vector<int> open = last;
    while (!open.empty()) {
        const auto node = static_cast<std::size_t>(open.back());
        open.pop_back();
        if (joined[node]) continue;
        joined[node] = true;
        open.insert(open.end(), graph.nodes[node].needs.begin(), graph.nodes[node].needs.end());
    }
    return std::find(joined.begin(), joined.end(), false) != joined.end();
}

void close_capture(Capture &capture) {
    capture.open = false;
    for (const auto &weak : capture.members) {
        if (const auto stream = weak.lock()) {
            stream->capture.reset();
            stream->frontier.clear();
        }
    }
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    return call("cudaStreamBeginCapture", plain, [&]() -> cudaError_t {
        const auto stream = find_stream(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
        if (stream == stream->device->legacy)
            return refuse(cudaErrorStreamCaptureUnsupported, "cudaStreamBeginCapture of the legacy stream");
        if (stream->capture) return cudaErrorIllegalState;
        auto capture = std::make_shared<Capture>();
        capture->mode = mode;
        capture->thread = std::this_thread::get_id();
        capture->origin = stream;
        capture->members.push_back(stream);
        capture->graph.device = stream->device;
        capture->graph.n_chains = 1;
        stream->capture = capture;
        stream->chain = 0;
        stream->frontier.clear();
        state().timeline.captures.push_back(capture);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph) {
    return call("cudaStreamEndCapture", plain, [&]() -> cudaError_t {
        const auto stream = find_stream(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!graph) return cudaErrorInvalidValue;
        *graph = nullptr;
        if (!stream->capture) return cudaErrorIllegalState;
        const std::shared_ptr<Capture> capture = stream->capture;
        if (capture->origin.lock() != stream) {
            invalidate(*capture);
            return cudaErrorStreamCaptureUnmatched;
        }
        if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
            return cudaErrorStreamCaptureWrongThread;
        const std::vector<int> last = stream->frontier;
        close_capture(*capture);
        if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
        if (has_unjoined_nodes(capture->graph, last))
            return refuse(cudaErrorStreamCaptureUnjoined, "cudaStreamEndCapture: forked work is not joined");
        *graph = reinterpret_cast<cudaGraph_t>(state().timeline.graphs.add(std::make_shared<Graph>(capture->graph)));
        return cudaSuccess;
    });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus *status) {
    return call("cudaStreamIsCapturing", plain, [&]() -> cudaError_t {
        const auto stream = find_stream(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!status) return cudaErrorInvalidValue;
        *status = !stream->capture           ? cudaStreamCaptureStatusNone
                  : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                             : cudaStreamCaptureStatusActive;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *handle, cudaGraph_t graph_handle, unsigned long long flags) {
    return call("cudaGraphInstantiate", plain, [&]() -> cudaError_t {
        const auto graph = state().timeline.graphs.find(graph_handle);
        if (!handle || !graph || flags != 0) return cudaErrorInvalidValue;
        auto exec = std::make_shared<GraphExec>();
        exec->graph = *graph;
        for (int i = 0; i < graph->n_chains; i++) exec->slots.push_back(state().timeline.take_slot());
        *handle = reinterpret_cast<cudaGraphExec_t>(state().timeline.execs.add(exec));
        return cudaSuccess;
    });
}

// The nodes' clocks are known now: each comes after its needs and after all that the launch comes after, and what
// the stream gets later comes after all nodes.
cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
    return call("cudaGraphLaunch", plain, [&]() -> cudaError_t {
        const auto exec = state().timeline.execs.find(handle);
        const auto stream = find_stream(stream_handle);
        if (!exec) return cudaErrorInvalidValue;
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (const cudaError_t e = refuse_capturing(*stream, "cudaGraphLaunch")) return e;
        if (exec->graph.device != stream->device)
            return refuse(cudaErrorInvalidValue, "cudaGraphLaunch: the graph was captured on another device");
        Timeline &timeline = state().timeline;
        stream->clock.join(exec->last);
        Task &task = append_task(*stream);
        task.exec = exec;
        task.needs.push_back(exec->last_launch);
        for (const GraphNode &node : exec->graph.nodes) {
            const int slot = exec->slots[static_cast<std::size_t>(node.chain)];
            const Point point{slot, ++timeline.issued[static_cast<std::size_t>(slot)]};
            Clock clock = task.clock;
            for (const int need : node.needs) clock.join(task.node_clocks[static_cast<std::size_t>(need)]);
            clock.raise(slot, point.number);
            stream->clock.join(clock);
            task.node_points.push_back(point);
            task.node_clocks.push_back(std::move(clock));
        }
        exec->last = stream->clock;
        exec->last_launch = task.point;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    return call("cudaGraphExecDestroy", plain, [&] { return state().timeline.execs.remove(exec) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return call("cudaGraphDestroy", plain, [&] { return state().timeline.graphs.remove(graph) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t *nodes, std::size_t *n_nodes) {
    return call("cudaGraphGetNodes", plain, [&]() -> cudaError_t {
        const auto graph = state().timeline.graphs.find(handle);
        if (!graph || !n_nodes) return cudaErrorInvalidValue;
        const std::size_t n = graph->nodes.size();
        for (std::size_t i = 0; nodes && i < *n_nodes; i++) {
            nodes[i] = i < n ? reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode *>(&graph->nodes[i])) : nullptr;
        }
        *n_nodes = nodes ? std::min(n, *n_nodes) : n;
        return cudaSuccess;
    });
}
