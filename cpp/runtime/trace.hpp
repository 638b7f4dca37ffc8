// TENSORLIB_TRACE=file: a timeline of a backend's runs, for https://ui.perfetto.dev.
//
//   track 0, the caller   |graph                                            | |write trace|
//                          |plan| |mul_mat                    ||add         |
//                                 |chunk||chunk||chunk||chunk| |chunk||chunk|
//   track 1, a worker              |chunk||chunk||chunk|        |chunk|
//
// The file has Chrome's JSON events, one per line. It is complete when the backend is freed. After a crash, it has
// whole lines up to the last run, which Perfetto accepts without the closing bracket.
//
// Each thread records into its own buffer, allocated when the backend is opened. The caller writes the buffers out
// between runs, and between stages if one might not hold the next stage. So nothing is allocated, locked or shared
// inside a chunk. Everything except chunk() requires the backend's turn and that no chunk runs.
#pragma once

#include "base/files.hpp"
#include "runtime/kernel.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensorlib::core {

class Trace {
public:
    // Null if the path is empty. Each backend has its own file: path, or path.2, path.3, ... if this process has used
    // the name before, or another process is writing there. Throws Error(io) naming the path.
    static std::unique_ptr<Trace> open(const std::string &path, const Backend &backend);
    // In a forked child nothing is written, because the file is the parent's.
    ~Trace();
    Trace(const Trace &) = delete;
    Trace &operator=(const Trace &) = delete;

    // Nanoseconds of the clock that all events use. It does not jump, and all processes of a machine share it.
    static std::int64_t now() noexcept {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }

    // Call before a stage of this many chunks.
    void make_room(std::int64_t n_chunks) noexcept;
    // A chunk has just ended on this thread.
    void chunk(int thread, const Step &step, Stage stage, std::int64_t round, std::int64_t chunk, std::int64_t begin) noexcept {
        Track &track = tracks_[static_cast<std::size_t>(thread)];
        if (track.used == track_capacity) {
            track.lost++;
            return;
        }
        track.chunks.get()[track.used++] = {begin, now(), &step, static_cast<std::uint32_t>(round) << 2 | static_cast<std::uint32_t>(stage),
                                            static_cast<std::uint32_t>(chunk)};
    }

    // Lasts from its construction to its end, on the caller's track: a step, or something else with a name. Does
    // nothing if `trace` is null.
    class Span {
    public:
        Span(Trace *trace, const char *name, const Step *step = nullptr) noexcept
            : trace_(trace), name_(name), step_(step), begin_(trace ? now() : 0) {}
        ~Span() {
            if (trace_) trace_->push({begin_, now(), name_, step_, {}});
        }
        Span(const Span &) = delete;
        Span &operator=(const Span &) = delete;

    private:
        Trace *trace_;
        const char *name_;
        const Step *step_;
        std::int64_t begin_;
    };

    // The run of a graph. Writes out at its end, while the steps still exist.
    class Run {
    public:
        Run(Trace *trace, std::size_t n_nodes) noexcept;
        ~Run();
        Run(const Run &) = delete;
        Run &operator=(const Run &) = delete;
        void planned(std::span<const Step> steps, bool made) noexcept;
        void done() noexcept { facts_.failed = false; }

    private:
        friend class Trace;
        struct Facts {
            std::size_t n_nodes = 0, n_steps = 0;
            bool is_graph = false, plan_made = false, failed = false;
        };

        Trace *trace_;
        std::int64_t begin_ = 0;
        Facts facts_;
    };

private:
    // On the caller's track.
    struct Event {
        std::int64_t begin, end;
        const char *name;  // static
        const Step *step;  // or null
        Run::Facts graph;
    };
    struct Chunk {
        std::int64_t begin, end;
        const Step *step;
        std::uint32_t round_and_stage;  // the stage takes two bits
        std::uint32_t chunk;
    };
    // 32 bytes each: 256 KiB per thread, which the system provides page by page on first use.
    static constexpr std::size_t track_capacity = 8192;
    // 56 bytes each: 224 KiB.
    static constexpr std::size_t event_capacity = 4096;
    struct FreePages {
        void operator()(Chunk *pages) const noexcept;
    };
    // Written by its thread within chunks, and by the caller between stages; the pool orders the two.
    struct alignas(64) Track {
        std::unique_ptr<Chunk, FreePages> chunks;
        std::size_t used = 0;
        std::uint64_t lost = 0;  // no room: chunks of one stage beyond the capacity
    };

    Trace(std::unique_ptr<platform::LogFile> file, const Backend &backend);

    void push(const Event &event) noexcept;
    void flush() noexcept;
    void write_all();
    void write_head(const Backend &backend);
    void write_tail();
    void write_event(const Event &event);
    void write_step(const Step &step, double seconds);
    void write_chunk(int thread, const Chunk &chunk);
    void begin_record(const char *kind, int thread, std::int64_t begin, std::int64_t end, const char *name);
    void number(const char *key, double value);
    void fraction(const char *key, double value);
    void text(std::string_view value);
    void end_record();
    void write_out();

    std::unique_ptr<platform::LogFile> file_;
    const std::int64_t process_;
    std::vector<Track> tracks_;
    std::vector<Event> events_;
    const Step *first_step_ = nullptr;  // of the running plan
    std::string buffer_;                // whole records, written to the file at once
    bool ended_ = false;                // the file could not be written, so nothing more is
};

}  // namespace tensorlib::core
