#include "runtime/trace.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "ops/op_def.hpp"
#include "runtime/backend.hpp"
#include "runtime/program.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <new>

namespace tensorlib::core {

namespace {

constexpr const char *what = "backend_create: TENSORLIB_TRACE";

// One write to the file, some 300 records.
constexpr std::size_t buffer_size = 64 << 10;

// The names that this process has used, so that a backend does not empty the file of an earlier one. The list only
// grows. It is lock-free, because a lock that is held while another thread forks is never released in the child.
struct Name {
    explicit Name(std::string n) : name(std::move(n)) {}
    const std::string name;
    std::atomic<bool> taken{true};
    Name *next = nullptr;
};
std::atomic<Name *> names{nullptr};

// The caller that gets it may use the name; null if it is taken.
Name *take(const std::string &name) {
    std::unique_ptr<Name> added;
    Name *first = names.load(std::memory_order_acquire);
    for (;;) {
        for (Name *n = first; n; n = n->next) {
            if (n->name == name) return n->taken.exchange(true, std::memory_order_acq_rel) ? nullptr : n;
        }
        if (!added) added = std::make_unique<Name>(name);
        added->next = first;
        if (names.compare_exchange_weak(first, added.get(), std::memory_order_acq_rel, std::memory_order_acquire)) return added.release();
    }
}

std::unique_ptr<platform::LogFile> open_free(const std::string &path) {
    constexpr int most = 10000;
    for (int n = 1; n <= most; n++) {
        const std::string name = n == 1 ? path : path + "." + std::to_string(n);
        Name *const ours = take(name);
        if (!ours) continue;
        try {
            if (auto file = platform::LogFile::open(what, name)) return file;
        } catch (...) {
            ours->taken.store(false, std::memory_order_release);
            throw;
        }
        // Another process writes there. The name stays taken: asking again is not worthwhile.
    }
    fail(Status::io, "%s: %s and %d names after it are in use", what, path.c_str(), most - 1);
}

}  // namespace

void Trace::FreePages::operator()(Chunk *pages) const noexcept { platform::free_pages(pages, track_capacity * sizeof(Chunk)); }

std::unique_ptr<Trace> Trace::open(const std::string &path, const Backend &backend) {
    if (path.empty()) return nullptr;
    return std::unique_ptr<Trace>(new Trace(open_free(path), backend));
}

Trace::Trace(std::unique_ptr<platform::LogFile> file, const Backend &backend)
    : file_(std::move(file)), process_(platform::process_id()), tracks_(static_cast<std::size_t>(backend.n_threads())) {
    for (Track &track : tracks_) {
        track.chunks.reset(static_cast<Chunk *>(platform::allocate_pages(track_capacity * sizeof(Chunk))));
        if (!track.chunks) throw std::bad_alloc();
    }
    events_.reserve(event_capacity);
    // The longest record is that of a step with a name of 200 bytes, six bytes each when escaped.
    buffer_.reserve(buffer_size + (4 << 10));
    write_head(backend);
    write_out();
    if (ended_) fail(Status::io, "%s: %s cannot be written", what, file_->path().c_str());
}

Trace::~Trace() {
    if (process_ != platform::process_id()) return;
    flush();
    try {
        write_tail();
    } catch (...) {  // no memory: the file lacks its closing bracket, as after a crash
    }
}

void Trace::make_room(std::int64_t n_chunks) noexcept {
    const auto needed = static_cast<std::size_t>(std::min<std::int64_t>(n_chunks, track_capacity));
    for (const Track &track : tracks_) {
        if (track.used + needed > track_capacity) {
            flush();
            return;
        }
    }
}

void Trace::push(const Event &event) noexcept {
    if (events_.size() == event_capacity) flush();
    if (events_.size() < event_capacity) events_.push_back(event);
}

void Trace::flush() noexcept {
    const std::int64_t begin = now();
    try {
        write_all();
    } catch (...) {  // no memory for a line of text
        ended_ = true;
        buffer_.clear();
    }
    events_.clear();
    for (Track &track : tracks_) track.used = 0;
    // Shown where it occurs, because it delays the next event; written to the file the next time.
    events_.push_back({begin, now(), "write trace", nullptr, {}});
}

void Trace::write_all() {
    for (const Event &event : events_) write_event(event);
    for (std::size_t t = 0; t < tracks_.size(); t++) {
        for (std::size_t i = 0; i < tracks_[t].used; i++) write_chunk(static_cast<int>(t), tracks_[t].chunks.get()[i]);
    }
    write_out();
}

// ---- Runs

Trace::Run::Run(Trace *trace, std::size_t n_nodes) noexcept : trace_(trace) {
    if (!trace_) return;
    begin_ = now();
    facts_ = {n_nodes, 0, true, false, true};
}

void Trace::Run::planned(std::span<const Step> steps, bool made) noexcept {
    if (!trace_) return;
    trace_->first_step_ = steps.data();
    facts_.n_steps = steps.size();
    facts_.plan_made = made;
}

Trace::Run::~Run() {
    if (!trace_) return;
    trace_->push({begin_, now(), "graph", nullptr, facts_});
    trace_->flush();
}

// ---- Records

void Trace::write_head(const Backend &backend) {
    const auto name = [&](const char *kind, int thread, const std::string &value) {
        begin_record("M", thread, 0, 0, kind);
        buffer_ += "{\"name\":";
        text(value);
        end_record();
    };
    buffer_ += "[\n";
    name("process_name", 0,
         format_text("tensorlib %s, %s, %d thread%s", backend.device().name(), backend.isa(), backend.n_threads(),
                     backend.n_threads() == 1 ? "" : "s"));
    for (int t = 0; t < backend.n_threads(); t++) {
        name("thread_name", t, t == 0 ? "caller" : "worker " + std::to_string(t));
        begin_record("M", t, 0, 0, "thread_sort_index");
        number("{\"sort_index\":", t);
        end_record();
    }
}

// The last record, the only one without a trailing comma.
void Trace::write_tail() {
    std::uint64_t lost = 0;
    for (const Track &track : tracks_) lost += track.lost;
    ended_ = false;
    begin_record("M", 0, 0, 0, "process_labels");
    buffer_ += "{\"labels\":";
    text(lost == 0 ? std::string("complete") : std::to_string(lost) + " chunks left out");
    buffer_ += "}}\n]\n";
    write_out();
}

void Trace::write_event(const Event &event) {
    begin_record("X", 0, event.begin, event.end, event.name);
    if (event.step) {
        write_step(*event.step, 1e-9 * static_cast<double>(event.end - event.begin));
    } else if (event.graph.is_graph) {
        number("{\"nodes\":", static_cast<double>(event.graph.n_nodes));
        number(",\"steps\":", static_cast<double>(event.graph.n_steps));
        buffer_ += event.graph.plan_made ? ",\"plan\":\"made\"" : ",\"plan\":\"reused\"";
        if (event.graph.failed) buffer_ += ",\"failed\":true";
    } else {
        buffer_ += '{';
    }
    end_record();
}

void Trace::write_step(const Step &step, double seconds) {
    const Tensor &node = *step.node;
    const Cost cost = op_def(node.op).cost(node);
    number("{\"step\":", static_cast<double>(&step - first_step_));
    buffer_ += ",\"kernel\":";
    text(step.kernel->name);
    if (!step.prologue.empty()) {
        buffer_ += ",\"prologue\":";
        text(program_text(step.prologue));
    }
    if (step.joins() && !step.program.empty()) {
        buffer_ += ",\"program\":";
        text(program_text(step.program));
    }
    buffer_ += ",\"node\":";
    text(node.context->name_of(node).c_str());
    buffer_ += ",\"shape\":";
    text(layout_text(node.layout));
    buffer_ += ",\"operands\":[";
    for (std::size_t s = 0; s < node.n_src; s++) {
        buffer_ += s == 0 ? "" : ",";
        text(node.src[s] ? layout_text(node.src[s]->layout).c_str() : "left out");
    }
    buffer_ += ']';
    number(",\"flops\":", cost.flops);
    number(",\"bytes\":", cost.bytes);
    if (seconds > 0) {
        fraction(",\"GFLOP/s\":", 1e-9 * cost.flops / seconds);
        fraction(",\"GB/s\":", 1e-9 * cost.bytes / seconds);
    }
}

void Trace::write_chunk(int thread, const Chunk &chunk) {
    begin_record("X", thread, chunk.begin, chunk.end, chunk.step->kernel->name);
    number("{\"step\":", static_cast<double>(chunk.step - first_step_));
    buffer_ += ",\"stage\":";
    text(stage_names[chunk.round_and_stage & 3]);
    number(",\"round\":", chunk.round_and_stage >> 2);
    number(",\"chunk\":", chunk.chunk);
    end_record();
}

void Trace::begin_record(const char *kind, int thread, std::int64_t begin, std::int64_t end, const char *name) {
    char head[160];
    const int n =
        std::snprintf(head, sizeof head, "{\"ph\":\"%s\",\"pid\":%lld,\"tid\":%d,", kind, static_cast<long long>(process_), thread);
    buffer_.append(head, static_cast<std::size_t>(n));
    if (kind[0] == 'X') {
        // The format's unit is microseconds.
        const std::int64_t lasted = end - begin;
        const int m = std::snprintf(head, sizeof head, "\"ts\":%lld.%03lld,\"dur\":%lld.%03lld,", static_cast<long long>(begin / 1000),
                                    static_cast<long long>(begin % 1000), static_cast<long long>(lasted / 1000),
                                    static_cast<long long>(lasted % 1000));
        buffer_.append(head, static_cast<std::size_t>(m));
    }
    buffer_ += "\"name\":";
    text(name);
    buffer_ += ",\"args\":";
}

// Rounded to an integer, because the locale affects the decimal point of a fraction.
void Trace::number(const char *key, double value) {
    char digits[400];  // the largest double has 309
    const int n = std::snprintf(digits, sizeof digits, "%s%.0f", key, value);
    buffer_.append(digits, static_cast<std::size_t>(n));
}

// With three decimal places.
void Trace::fraction(const char *key, double value) {
    const double whole = std::floor(value);
    number(key, whole);
    char places[8];
    const int n = std::snprintf(places, sizeof places, ".%03d", static_cast<int>(1000 * (value - whole)));
    buffer_.append(places, static_cast<std::size_t>(n));
}

// Quoted. Names are users' text: bytes that are no UTF-8 become U+FFFD one by one, and long names are cut.
void Trace::text(std::string_view value) {
    constexpr std::size_t most = 200;
    const bool cut = value.size() > most;
    if (cut) {
        // Does not cut inside a character: moves back over its continuation bytes.
        std::size_t end = most;
        while (end > most - 3 && (static_cast<unsigned char>(value[end]) & 0xC0) == 0x80) end--;
        value = value.substr(0, end);
    }
    buffer_ += '"';
    for (const char c : value) {  // UTF-8, as names are
        if (c == '"' || c == '\\') buffer_ += '\\';
        if (static_cast<unsigned char>(c) >= 0x20) {
            buffer_ += c;
        } else {
            char code[8];
            buffer_.append(code, static_cast<std::size_t>(std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c))));
        }
    }
    buffer_ += cut ? "...\"" : "\"";
}

void Trace::end_record() {
    buffer_ += "}},\n";
    if (buffer_.size() >= buffer_size) write_out();
}

void Trace::write_out() {
    if (!ended_ && !file_->append(buffer_.data(), buffer_.size())) ended_ = true;
    buffer_.clear();
}

}  // namespace tensorlib::core
