// Calls on streams and events.
#include "state.hpp"

#include <algorithm>

using namespace simt;

namespace {

cudaError_t bad_handle(const char *what) { return refuse(cudaErrorInvalidResourceHandle, "%s: not a live handle", what); }

// What a query answers: the first one finds the work unfinished, the second finds it done. So a program that asks
// once and goes on is caught, and one that asks in a loop ends.
cudaError_t answer(bool done, int &polls) {
    if (done) return cudaSuccess;
    return polls++ == 0 ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t refuse_captured(Event &event, const char *what) {
    if (!event.capture) return cudaSuccess;
    if (event.capture->open) invalidate(*event.capture);
    return refuse(cudaErrorCapturedEvent, "%s of an event that was last recorded inside a capture", what);
}

void reach(Event &event) {
    run_to(event.point);
    state().timeline.host.join(event.clock);
}

cudaError_t create_event(cudaEvent_t *handle, unsigned flags) {
    if (!handle || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) != 0) return cudaErrorInvalidValue;
    auto event = std::make_shared<Event>();
    event->device = &current_device();
    event->timed = (flags & cudaEventDisableTiming) == 0;
    *handle = reinterpret_cast<cudaEvent_t>(state().timeline.events.add(event));
    return cudaSuccess;
}

cudaError_t wait_in_capture(Stream &stream, const std::shared_ptr<Stream> &shared, Event &event) {
    if (!event.capture->open) return refuse(cudaErrorCapturedEvent, "cudaStreamWaitEvent: the event's capture has ended");
    if (event.capture->invalid) return cudaErrorStreamCaptureInvalidated;
    if (stream.capture && stream.capture != event.capture) {
        invalidate(*stream.capture);
        invalidate(*event.capture);
        return cudaErrorStreamCaptureMerge;
    }
    if (&stream == stream.device->legacy.get()) {
        invalidate(*event.capture);
        return cudaErrorStreamCaptureImplicit;
    }
    if (!stream.capture) {
        stream.capture = event.capture;
        stream.frontier.clear();
        stream.chain = event.capture->graph.n_chains++;
        event.capture->members.push_back(shared);
    }
    for (const int node : event.frontier) {
        if (std::find(stream.frontier.begin(), stream.frontier.end(), node) == stream.frontier.end()) stream.frontier.push_back(node);
    }
    return cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *handle, unsigned flags) {
    return call("cudaStreamCreateWithFlags", plain, [&]() -> cudaError_t {
        if (!handle) return cudaErrorInvalidValue;
        if (flags != cudaStreamNonBlocking) {
            return refuse(cudaErrorInvalidValue, "cudaStreamCreateWithFlags: only cudaStreamNonBlocking streams are simulated");
        }
        *handle = reinterpret_cast<cudaStream_t>(state().timeline.stream_handles.add(new_stream(current_device())));
        return cudaSuccess;
    });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    return call("cudaStreamDestroy", plain, [&]() -> cudaError_t {
        const auto stream = state().timeline.stream_handles.find(handle);
        if (!stream) return bad_handle("cudaStreamDestroy");
        if (const cudaError_t e = refuse_capturing(*stream, "cudaStreamDestroy")) return e;
        state().timeline.stream_handles.remove(handle);
        stream->destroyed = true;
        if (stream->queue.empty()) std::erase(state().timeline.streams, stream);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    return call("cudaStreamSynchronize", unsafe_during_capture, [&]() -> cudaError_t {
        const auto stream = find_stream(handle);
        if (!stream) return bad_handle("cudaStreamSynchronize");
        if (const cudaError_t e = refuse_capturing(*stream, "cudaStreamSynchronize")) return e;
        synchronise(*stream);
        return health(*stream->device);
    });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
    return call("cudaStreamQuery", unsafe_during_capture, [&]() -> cudaError_t {
        const auto stream = find_stream(handle);
        if (!stream) return bad_handle("cudaStreamQuery");
        if (const cudaError_t e = refuse_capturing(*stream, "cudaStreamQuery")) return e;
        const cudaError_t result = answer(stream->queue.empty(), stream->polls);
        if (result != cudaSuccess) return result;
        synchronise(*stream);
        return health(*stream->device);
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t event_handle, unsigned flags) {
    return call("cudaStreamWaitEvent", plain, [&]() -> cudaError_t {
        const auto stream = find_stream(stream_handle);
        const auto event = state().timeline.events.find(event_handle);
        if (!stream || !event) return bad_handle("cudaStreamWaitEvent");
        if (flags != 0) return cudaErrorInvalidValue;
        if (stream->capture && stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
        if (event->capture) return wait_in_capture(*stream, stream, *event);
        if (!event->recorded) return cudaSuccess;
        if (stream->capture) {
            invalidate(*stream->capture);
            return refuse(cudaErrorStreamCaptureIsolation, "cudaStreamWaitEvent: the event was recorded outside of the stream's capture");
        }
        stream->clock.join(event->clock);
        append_task(*stream).needs.push_back(event->point);
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return call("cudaEventCreate", plain, [&] { return create_event(event, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    return call("cudaEventCreateWithFlags", plain, [&] { return create_event(event, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call("cudaEventDestroy", plain,
                [&] { return state().timeline.events.remove(event) ? cudaSuccess : bad_handle("cudaEventDestroy"); });
}

cudaError_t cudaEventRecord(cudaEvent_t event_handle, cudaStream_t stream_handle) {
    return call("cudaEventRecord", plain, [&]() -> cudaError_t {
        const auto stream = find_stream(stream_handle);
        const auto event = state().timeline.events.find(event_handle);
        if (!stream || !event) return bad_handle("cudaEventRecord");
        if (event->device != stream->device)
            return refuse(cudaErrorInvalidResourceHandle, "cudaEventRecord: event and stream are of different devices");
        if (stream->capture) {
            if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
            event->capture = stream->capture;
            event->frontier = stream->frontier;
            return cudaSuccess;
        }
        event->capture.reset();
        event->time = std::make_shared<std::chrono::steady_clock::time_point>();
        Task &task = append_task(*stream);
        task.work =
            std::make_shared<const Work>(Work{"event", [time = event->time] { *time = std::chrono::steady_clock::now(); }, 0, nullptr});
        event->recorded = true;
        event->point = task.point;
        event->clock = task.clock;
        event->polls = 0;
        return cudaSuccess;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
    return call("cudaEventSynchronize", unsafe_during_capture, [&]() -> cudaError_t {
        const auto event = state().timeline.events.find(handle);
        if (!event) return bad_handle("cudaEventSynchronize");
        if (const cudaError_t e = refuse_captured(*event, "cudaEventSynchronize")) return e;
        reach(*event);
        return health(*event->device);
    });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
    return call("cudaEventQuery", unsafe_during_capture, [&]() -> cudaError_t {
        const auto event = state().timeline.events.find(handle);
        if (!event) return bad_handle("cudaEventQuery");
        if (const cudaError_t e = refuse_captured(*event, "cudaEventQuery")) return e;
        const cudaError_t result = answer(state().timeline.is_done(event->point), event->polls);
        if (result != cudaSuccess) return result;
        reach(*event);
        return health(*event->device);
    });
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start_handle, cudaEvent_t end_handle) {
    return call("cudaEventElapsedTime", plain, [&]() -> cudaError_t {
        const auto start = state().timeline.events.find(start_handle), end = state().timeline.events.find(end_handle);
        if (!milliseconds) return cudaErrorInvalidValue;
        if (!start || !end || !start->timed || !end->timed || !start->recorded || !end->recorded) return bad_handle("cudaEventElapsedTime");
        if (start->capture || end->capture) return cudaErrorCapturedEvent;
        if (!state().timeline.is_done(start->point) || !state().timeline.is_done(end->point)) return cudaErrorNotReady;
        *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *start->time).count();
        return cudaSuccess;
    });
}
