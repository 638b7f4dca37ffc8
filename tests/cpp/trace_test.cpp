// TENSORLIB_TRACE: every step and every chunk appears once and where it belongs, files are complete whatever happens, and
// errors name the path.
#include "runtime/trace.hpp"
#include "api/devices.hpp"
#include "gguf_files.hpp"
#include "json.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "runtime/joined_backend.hpp"
#include "runtime/plan_cache.hpp"
#include "support.hpp"

#include <csignal>
#include <filesystem>
#include <set>
#include <thread>
#include <tuple>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace core = tl::core;
namespace fs = std::filesystem;
using support::Json;

struct Folder : support::TempFolder {
    std::string operator/(const std::string &name) const { return path(name); }
    std::size_t files() const { return names().size(); }
};

struct Event {
    std::string name;
    int thread;
    double begin, end;
    Json args;
    bool is_step() const { return args.has("kernel"); }
    bool is_chunk() const { return args.has("chunk"); }
    bool is_graph() const { return name == "graph"; }
};

// The complete events of a text; everything in it is checked to be of the form.
std::vector<Event> events_in(const std::string &text) {
    std::vector<Event> events;
    Json all;
    try {
        all = support::JsonReader::read(text);
    } catch (const std::exception &e) {
        ADD_FAILURE() << e.what() << " of " << text.size();
        return events;
    }
    for (const Json &record : all.array) {
        EXPECT_EQ(record["pid"].number, getpid());
        if (record["ph"].string == "M") continue;
        EXPECT_EQ(record["ph"].string, "X");
        Event e{record["name"].string, static_cast<int>(record["tid"].number), record["ts"].number, 0, record["args"]};
        e.end = e.begin + record["dur"].number;
        EXPECT_GE(e.end, e.begin);
        events.push_back(e);
    }
    return events;
}

std::vector<Event> events_of(const std::string &path) { return events_in(support::file_text(path)); }

// Timestamps have three places of a number that has ten before the point: a double is off by 2^-19 of a microsecond.
constexpr double epsilon = 1e-5;
bool within(const Event &inner, const Event &outer) { return inner.begin >= outer.begin - epsilon && inner.end <= outer.end + epsilon; }

template <class Test>
std::vector<Event> which(const std::vector<Event> &events, Test test) {
    std::vector<Event> some;
    std::copy_if(events.begin(), events.end(), std::back_inserter(some), test);
    return some;
}
std::vector<Event> steps_of(const std::vector<Event> &events) {
    return which(events, [](const Event &e) { return e.is_step(); });
}
std::vector<Event> chunks_of(const std::vector<Event> &events) {
    return which(events, [](const Event &e) { return e.is_chunk(); });
}
std::vector<Event> graphs_of(const std::vector<Event> &events) {
    return which(events, [](const Event &e) { return e.is_graph(); });
}

core::Ref<core::Backend> open(const std::string &path, int threads) {
    const support::Environment trace("TENSORLIB_TRACE", path.c_str());
    core::BackendParams params;
    params.n_threads = threads;
    return core::open_backend("cpu", params);
}

// Products with one stage, two, and one that is set up first, a view, a sum that is worth several threads and one that is not.
struct Model {
    core::Ref<core::Context> context = core::Context::create({});
    core::Ref<core::Graph> graph;

    core::Tensor *leaf(std::vector<std::int64_t> ne, core::DType type = core::DType::f32) {
        return context->new_leaf(core::contiguous_layout("test", type, ne));
    }
    core::Tensor *node(core::Op op, std::vector<core::Tensor *> src) { return core::build_node(*context, op, src); }

    Model() {
        core::Tensor *product = node(core::Op::mul_mat, {leaf({256, 300}), leaf({256, 200})});
        context->set_name(*product, "first product");
        core::Tensor *coded = node(core::Op::mul_mat, {leaf({256, 512}, core::DType::q4_0), leaf({256, 40})});
        core::Tensor *column = node(core::Op::mul_mat, {leaf({512, 300}), leaf({512, 1})});
        core::Tensor *large = node(core::Op::add, {leaf({1 << 18}), leaf({1 << 18})});
        core::Tensor *small = node(core::Op::add, {leaf({64}), leaf({64})});
        core::Tensor *experts = node(core::Op::mul_mat_id, {leaf({256, 64, 4}), leaf({256, 1, 3}), leaf({2, 3}, core::DType::i32)});
        core::Tensor *outputs[] = {product, coded, node(core::Op::transpose, {column}), large, experts, small};
        graph = core::Graph::create(*context, outputs);
    }
    const core::Plan &plan(std::uint64_t backend) const { return *core::PlanCache::of(*context).find(*graph, backend); }
};

// One run's events against the plan that it followed.
void expect_run(const std::vector<Event> &events, const Event &graph, const core::Plan &plan, int threads) {
    const auto inside = which(events, [&](const Event &e) { return within(e, graph); });
    const auto steps = steps_of(inside), chunks = chunks_of(inside);
    ASSERT_EQ(steps.size(), plan.steps().size());
    std::size_t n_chunks = 0;
    for (std::size_t i = 0; i < steps.size(); i++) {
        const core::Step &step = plan.steps()[i];
        EXPECT_EQ(steps[i].args["step"].number, static_cast<double>(i));
        EXPECT_EQ(steps[i].name, core::op_name(step.node->op));
        EXPECT_EQ(steps[i].args["kernel"].string, step.kernel->name);
        EXPECT_EQ(steps[i].args["shape"].string, core::layout_text(step.node->layout));
        EXPECT_EQ(steps[i].args["operands"].array.size(), step.node->n_src);
        EXPECT_EQ(steps[i].args["flops"].number, core::op_def(step.node->op).cost(*step.node).flops);
        EXPECT_EQ(steps[i].args["bytes"].number, core::op_def(step.node->op).cost(*step.node).bytes);
        EXPECT_EQ(steps[i].thread, 0);
        if (i > 0) {
            EXPECT_GE(steps[i].begin, steps[i - 1].end - epsilon);
        }
        std::set<std::tuple<std::string, double, double>> seen;
        for (const Event &chunk : chunks) {
            if (chunk.args["step"].number != static_cast<double>(i)) continue;
            EXPECT_TRUE(within(chunk, steps[i])) << step.kernel->name;
            EXPECT_EQ(chunk.name, step.kernel->name);
            EXPECT_TRUE(seen.emplace(chunk.args["stage"].string, chunk.args["round"].number, chunk.args["chunk"].number).second)
                << "a chunk twice";
        }
        step.plan.for_each_stage([&](core::Stage stage, std::int64_t round) {
            const std::int64_t n = step.plan.chunks(stage);
            const std::string name = core::stage_names[static_cast<std::size_t>(stage)];
            for (std::int64_t c = 0; c < n; c++) EXPECT_EQ(seen.count({name, static_cast<double>(round), static_cast<double>(c)}), 1u);
            n_chunks += static_cast<std::size_t>(n);
        });
    }
    EXPECT_EQ(chunks.size(), n_chunks);
    // A thread does one thing at a time.
    std::vector<double> busy_until(static_cast<std::size_t>(threads), 0);
    auto in_time = chunks;
    std::sort(in_time.begin(), in_time.end(), [](const Event &a, const Event &b) { return a.begin < b.begin; });
    for (const Event &chunk : in_time) {
        ASSERT_GE(chunk.thread, 0);
        ASSERT_LT(chunk.thread, threads);
        double &until = busy_until[static_cast<std::size_t>(chunk.thread)];
        EXPECT_GE(chunk.begin, until - epsilon);
        until = chunk.end;
    }
}

TEST(Trace, has_every_step_and_every_chunk_once_where_they_belong) {
    for (const int threads : {1, 2, 5}) {
        const Folder folder;
        Model model;
        auto cpu = open(folder / "t.json", threads);
        const std::uint64_t serial = cpu->serial();
        constexpr std::size_t runs = 3;
        for (std::size_t r = 0; r < runs; r++) core::compute(*model.graph, *cpu);
        cpu = {};
        const auto events = events_of(folder / "t.json");
        const auto graphs = graphs_of(events);
        ASSERT_EQ(graphs.size(), runs);
        EXPECT_EQ(which(events, [](const Event &e) { return e.name == "plan"; }).size(), 1u);
        for (std::size_t r = 0; r < runs; r++) {
            EXPECT_EQ(graphs[r].args["plan"].string, r == 0 ? "made" : "reused");
            EXPECT_EQ(graphs[r].args["nodes"].number, static_cast<double>(model.graph->nodes().size()));
            EXPECT_FALSE(graphs[r].args.has("failed"));
            expect_run(events, graphs[r], model.plan(serial), threads);
        }
        EXPECT_EQ(steps_of(events)[0].args["node"].string, "first product");
        // The sum of 64 woke nobody.
        const double last = static_cast<double>(model.plan(serial).steps().size() - 1);
        for (const Event &chunk : chunks_of(events)) {
            if (chunk.args["step"].number == last) {
                EXPECT_EQ(chunk.thread, 0);
            }
        }
    }
}

TEST(Trace, names_processes_and_threads) {
    const Folder folder;
    open(folder / "t.json", 3);
    const Json all = support::JsonReader::read(support::file_text(folder / "t.json"));
    std::map<double, std::string> names;
    std::string process;
    for (const Json &record : all.array) {
        if (record["name"].string == "thread_name") names[record["tid"].number] = record["args"]["name"].string;
        if (record["name"].string == "process_name") process = record["args"]["name"].string;
    }
    EXPECT_EQ(names, (std::map<double, std::string>{{0, "caller"}, {1, "worker 1"}, {2, "worker 2"}}));
    EXPECT_NE(process.find("cpu"), std::string::npos);
    EXPECT_EQ(all.array.back()["args"]["labels"].string, "complete");
}

// Each part of a joined backend has a file: with its own steps, of all parts' one, and with what is copied to it.
TEST(Trace, joined_parts_have_their_own_steps_and_copies) {
    const support::Environment devices("TENSORLIB_CPU_VIRTUAL_DEVICES", "1");
    const Folder folder;
    constexpr std::size_t runs = 2;
    std::vector<std::size_t> steps_on;
    {
        std::vector<core::Ref<core::Backend>> owned;
        {
            const support::Environment trace("TENSORLIB_TRACE", (folder / "t.json").c_str());
            for (const char *name : {"cpu", "cpu:0"}) owned.push_back(core::open_backend(name, {1, false}));
        }
        core::Backend *parts[] = {owned[0].get(), owned[1].get()};
        const auto joined = core::join_backends(parts);
        core::ContextParams params;
        params.memory = &parts[1]->device().memory();
        const auto here = core::Context::create({}), there = core::Context::create(params);
        const auto leaf = [](core::Context &context, std::vector<std::int64_t> ne) {
            return context.new_leaf(core::contiguous_layout("test", core::DType::f32, ne));
        };
        core::Tensor *first[] = {leaf(*here, {64, 512}), leaf(*here, {64, 1})};
        core::Tensor *second[] = {leaf(*there, {512, 256}), core::build_node(*here, core::Op::mul_mat, first)};
        core::Tensor *output = core::build_node(*here, core::Op::mul_mat, second);
        const auto graph = core::Graph::create(*here, {&output, 1});
        for (std::size_t r = 0; r < runs; r++) core::compute(*graph, *joined);
        const core::Plan &plan = *core::PlanCache::of(*here).find(*graph, joined->serial());
        steps_on.resize(2);
        for (const core::Step &step : plan.steps()) steps_on[step.part]++;
    }
    EXPECT_EQ(steps_on, (std::vector<std::size_t>{1, 1}));
    for (std::size_t p = 0; p < 2; p++) {
        const auto events = events_of(folder / (p == 0 ? "t.json" : "t.json.2"));
        EXPECT_EQ(graphs_of(events).size(), runs);
        const auto steps = steps_of(events);
        ASSERT_EQ(steps.size(), runs * steps_on[p]) << p;
        for (const Event &step : steps) EXPECT_EQ(step.args["step"].number, static_cast<double>(p));
        // The vector of 512 goes there, the result comes back.
        EXPECT_EQ(which(events, [](const Event &e) { return e.name == "copy"; }).size(), runs) << p;
        for (const Event &chunk : chunks_of(events)) EXPECT_EQ(chunk.args["step"].number, static_cast<double>(p));
    }
}

TEST(Trace, any_name_makes_valid_json) {
    const std::string e_acute = "\xC3\xA9";
    const std::string letters(199, 'x');
    const struct {
        std::string name, shown;
    } cases[] = {
        {"a \"quoted\" \\ name", "a \"quoted\" \\ name"},
        {"tab\tline\nbell\a\x01\x1f\x7f", "tab\tline\nbell\a\x01\x1f\x7f"},
        {"caf\xC3\xA9", "caf\xC3\xA9"},
        {letters + e_acute + "tail", letters + "..."},
        {"</script>{}[],", "</script>{}[],"},
    };
    const Folder folder;
    auto cpu = open(folder / "t.json", 1);
    for (const auto &c : cases) {
        Model model;
        model.context->set_name(*model.graph->nodes()[0], c.name.c_str());
        core::compute(*model.graph, *cpu);
    }
    cpu = {};
    const auto first = which(events_of(folder / "t.json"), [](const Event &e) { return e.is_step() && e.args["step"].number == 0; });
    ASSERT_EQ(first.size(), std::size(cases));
    for (std::size_t i = 0; i < first.size(); i++) {
        EXPECT_EQ(first[i].args["node"].string, cases[i].shown);
    }
}

TEST(Trace, backends_have_a_file_each_one_after_the_other_too) {
    const Folder folder;
    Model a, b, c;
    auto first = open(folder / "t.json", 2), second = open(folder / "t.json", 2);
    core::compute(*a.graph, *first);
    core::compute(*b.graph, *second);
    core::compute(*b.graph, *second);
    first = {};
    // The name of one that is gone is not used again: its trace is to stay.
    auto third = open(folder / "t.json", 1);
    for (int i = 0; i < 3; i++) core::compute(*c.graph, *third);
    second = {};
    third = {};
    EXPECT_EQ(graphs_of(events_of(folder / "t.json")).size(), 1u);
    EXPECT_EQ(graphs_of(events_of(folder / "t.json.2")).size(), 2u);
    EXPECT_EQ(graphs_of(events_of(folder / "t.json.3")).size(), 3u);
    EXPECT_EQ(folder.files(), 3u);
}

TEST(Trace, backends_of_many_threads_do_not_get_in_each_others_way) {
    const Folder folder;
    constexpr int n = 8;
    // The environment is the process': set once for all of them.
    const support::Environment trace("TENSORLIB_TRACE", (folder / "t.json").c_str());
    std::vector<std::thread> threads;
    for (int i = 0; i < n; i++) {
        threads.emplace_back([] {
            core::BackendParams params;
            params.n_threads = 2;
            const auto cpu = core::open_backend("cpu", params);
            Model model;
            for (int r = 0; r < 5; r++) core::compute(*model.graph, *cpu);
        });
    }
    for (auto &thread : threads) thread.join();
    EXPECT_EQ(folder.files(), std::size_t{n});
    for (int i = 0; i < n; i++)
        EXPECT_EQ(graphs_of(events_of(folder / (i == 0 ? "t.json" : "t.json." + std::to_string(i + 1)))).size(), 5u);
}

TEST(Trace, a_run_that_ends_early_is_there_as_far_as_it_went) {
    const Folder folder;
    Model model;
    auto cpu = open(folder / "t.json", 2);
    const std::uint64_t serial = cpu->serial();
    core::set_progress(*model.graph, [](void *, std::size_t done, std::size_t) { return done < 2; }, nullptr);
    support::expect_error(tl::Status::aborted, {"2 of"}, [&] { core::compute(*model.graph, *cpu); });
    core::set_progress(*model.graph, nullptr, nullptr);
    core::compute(*model.graph, *cpu);
    cpu = {};
    const auto events = events_of(folder / "t.json");
    const auto graphs = graphs_of(events);
    ASSERT_EQ(graphs.size(), 2u);
    EXPECT_TRUE(graphs[0].args.has("failed"));
    EXPECT_EQ(which(steps_of(events), [&](const Event &e) { return within(e, graphs[0]); }).size(), 2u);
    expect_run(events, graphs[1], model.plan(serial), 2);
}

TEST(Trace, a_graph_that_cannot_be_planned_is_there) {
    const Folder folder;
    auto cpu = open(folder / "t.json", 2);
    core::ContextParams params;
    params.no_alloc = true;
    const auto shapes = core::Context::create(params);
    core::Tensor *a = shapes->new_leaf(core::contiguous_layout("test", core::DType::f32, std::vector<std::int64_t>{4}));
    core::Tensor *src[] = {a, a};
    core::Tensor *sum = core::build_node(*shapes, core::Op::add, src);
    const auto graph = core::Graph::create(*shapes, {&sum, 1});
    support::expect_error(tl::Status::invalid_argument, {"no data"}, [&] { core::compute(*graph, *cpu); });
    cpu = {};
    const auto graphs = graphs_of(events_of(folder / "t.json"));
    ASSERT_EQ(graphs.size(), 1u);
    EXPECT_TRUE(graphs[0].args.has("failed"));
}

// More steps, and more chunks of one step, than the buffers hold.
TEST(Trace, long_runs_are_written_in_parts) {
    const support::Environment fuse("TENSORLIB_FUSE", "0");  // a step for each node
    const Folder folder;
    const auto context = core::Context::create({});
    core::Tensor *one = context->new_leaf(core::contiguous_layout("test", core::DType::f32, std::vector<std::int64_t>{8}));
    core::Tensor *last = one;
    constexpr std::size_t nodes = 5000;  // of which the buffer takes 4,096
    for (std::size_t i = 0; i < nodes; i++) {
        core::Tensor *src[] = {last, one};
        last = core::build_node(*context, core::Op::add, src);
    }
    const auto graph = core::Graph::create(*context, {&last, 1});
    auto cpu = open(folder / "t.json", 2);
    core::compute(*graph, *cpu);
    cpu = {};
    const auto events = events_of(folder / "t.json");
    EXPECT_EQ(steps_of(events).size(), nodes);
    EXPECT_EQ(chunks_of(events).size(), nodes);
    EXPECT_GE(which(events, [](const Event &e) { return e.name == "write trace"; }).size(), 2u);
}

TEST(Trace, chunks_beyond_a_threads_buffer_are_counted) {
    const Folder folder;
    Model model;
    auto cpu = open({}, 2);
    const std::uint64_t serial = cpu->serial();
    core::compute(*model.graph, *cpu);
    auto trace = core::Trace::open(folder / "t.json", *cpu);
    constexpr std::int64_t kept = 8192, given = 8200;
    {
        core::Trace::Run run(trace.get(), 1);
        run.planned(model.plan(serial).steps(), false);
        trace->make_room(given);
        for (std::int64_t i = 0; i < given; i++)
            trace->chunk(1, model.plan(serial).steps()[0], core::Stage::compute, 0, i, core::Trace::now());
        // There is room again for what fits.
        trace->make_room(100);
        for (std::int64_t i = 0; i < 100; i++)
            trace->chunk(1, model.plan(serial).steps()[0], core::Stage::compute, 1, i, core::Trace::now());
    }
    trace.reset();
    const std::string text = support::file_text(folder / "t.json");
    EXPECT_EQ(chunks_of(events_in(text)).size(), static_cast<std::size_t>(kept + 100));
    EXPECT_NE(text.find("\"8 chunks left out\""), std::string::npos);
}

TEST(Trace, nothing_is_written_where_it_is_not_asked_for) {
    const Folder folder;
    const auto cpu = open("", 1);
    EXPECT_EQ(cpu->trace(), nullptr);
    EXPECT_EQ(folder.files(), 0u);
}

TEST(Trace, a_path_that_cannot_be_written_is_an_error_of_opening_the_backend) {
    const Folder folder;
    const std::string missing = folder / "no/such/t.json", here = folder / "";
    support::expect_error(tl::Status::io, {"backend_create", "TENSORLIB_TRACE", missing.c_str()}, [&] { open(missing, 1); });
    support::expect_error(tl::Status::io, {"TENSORLIB_TRACE", here.c_str()}, [&] { open(here, 1); });
    support::expect_error(tl::Status::io, {"/dev/null", "regular file"}, [&] { open("/dev/null", 1); });
    // Nobody reads from it: refused without waiting.
    const std::string pipe = folder / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    support::expect_error(tl::Status::io, {pipe.c_str()}, [&] { open(pipe, 1); });
    // Once the path can be written, it works, under its own name.
    fs::create_directories(folder / "no/such");
    open(missing, 1);
    EXPECT_TRUE(fs::exists(missing));
}

// ---- Processes

// Runs f in a child and gives its exit status; 100 for one that ended otherwise, -1 for a signal.
template <class F>
int in_child(F f) {
    const pid_t child = fork();
    if (child == 0) {
        try {
            _exit(f());
        } catch (...) {
            _exit(100);
        }
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Trace, a_forked_child_leaves_the_parents_file_alone) {
    const Folder folder;
    Model model;
    auto cpu = open(folder / "t.json", 2);
    core::compute(*model.graph, *cpu);
    EXPECT_EQ(in_child([&] {
                  try {
                      core::compute(*model.graph, *cpu);
                      return 1;
                  } catch (const tl::Error &error) {
                      if (error.code() != tl::Status::unavailable) return 2;
                  }
                  cpu = {};
                  // Its own goes elsewhere. One thread: the thread sanitizer allows a child no more.
                  Model own;
                  auto fresh = open(folder / "t.json", 1);
                  core::compute(*own.graph, *fresh);
                  return 0;
              }),
              0);
    core::compute(*model.graph, *cpu);
    cpu = {};
    EXPECT_EQ(graphs_of(events_of(folder / "t.json")).size(), 2u);
    EXPECT_EQ(folder.files(), 2u);
    EXPECT_NE(support::file_text(folder / "t.json.2").find("\"graph\""), std::string::npos);
}

TEST(Trace, another_process_does_not_write_into_a_file_in_use_but_replaces_a_finished_one) {
#if defined(TL_PORTABLE)
    GTEST_SKIP() << "files are not locked by the portable fallback";
#endif
    const Folder folder;
    // The child is first: it holds the name while the parent asks for it.
    int ready[2], go[2];
    ASSERT_EQ(pipe(ready), 0);
    ASSERT_EQ(pipe(go), 0);
    char byte = 'x';
    const pid_t child = fork();
    if (child == 0) {
        auto cpu = open(folder / "t.json", 1);
        if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) _exit(1);
        Model model;
        core::compute(*model.graph, *cpu);
        cpu = {};
        _exit(0);
    }
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    auto cpu = open(folder / "t.json", 1);
    EXPECT_TRUE(fs::exists(folder / "t.json.2"));
    ASSERT_EQ(write(go[1], &byte, 1), 1);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    for (const int end : {ready[0], ready[1], go[0], go[1]}) close(end);
    cpu = {};
    const std::string left = support::file_text(folder / "t.json");
    EXPECT_NE(left.find("\"graph\""), std::string::npos);
    EXPECT_NO_THROW(support::JsonReader::read(left));
    EXPECT_EQ(folder.files(), 2u);
    // Processes one after the other: the name is the last one's.
    for (const int runs : {2, 1, 0}) {
        EXPECT_EQ(in_child([&] {
                      Model model;
                      const auto last = open(folder / "u.json", 1);
                      for (int i = 0; i < runs; i++) core::compute(*model.graph, *last);
                      return 0;
                  }),
                  0);
        const Json all = support::JsonReader::read(support::file_text(folder / "u.json"));
        EXPECT_EQ(std::count_if(all.array.begin(), all.array.end(), [](const Json &r) { return r["name"].string == "graph"; }), runs);
    }
    EXPECT_EQ(folder.files(), 3u);
}

TEST(Trace, what_a_crash_leaves_lacks_the_bracket_alone) {
    const Folder folder;
    EXPECT_EQ(in_child([&] {
                  Model model;
                  const auto cpu = open(folder / "t.json", 2);
                  for (int i = 0; i < 2; i++) core::compute(*model.graph, *cpu);
                  return raise(SIGKILL);
              }),
              -1);
    std::string text = support::file_text(folder / "t.json");
    ASSERT_GT(text.size(), 2u);
    ASSERT_EQ(text.substr(text.size() - 2), ",\n");
    text.replace(text.size() - 2, 2, "]");
    const Json all = support::JsonReader::read(text);
    EXPECT_EQ(std::count_if(all.array.begin(), all.array.end(), [](const Json &r) { return r["name"].string == "graph"; }), 2);
}

// A limit on the size of files stands for a full disk: both fail a write.
TEST(Trace, a_disk_that_fills_up_ends_the_trace_and_nothing_else) {
    const Folder folder;
    EXPECT_EQ(in_child([&] {
                  signal(SIGXFSZ, SIG_IGN);
                  const rlimit limit{20000, 20000};
                  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
                  Model model;
                  const auto cpu = open(folder / "t.json", 2);
                  for (int i = 0; i < 50; i++) core::compute(*model.graph, *cpu);
                  // No byte can be written: opening fails.
                  const rlimit none{0, 20000};
                  if (setrlimit(RLIMIT_FSIZE, &none) != 0) return 3;
                  try {
                      open(folder / "u.json", 1);
                      return 4;
                  } catch (const tl::Error &error) {
                      return error.code() == tl::Status::io ? 0 : 5;
                  }
              }),
              0);
    const std::string text = support::file_text(folder / "t.json");
    EXPECT_LE(text.size(), 20000u);
    ASSERT_GT(text.size(), 2u);
#if !defined(TL_PORTABLE)  // which cannot take back what was written of a line
    EXPECT_EQ(text.substr(text.size() - 2), ",\n") << "whole lines";
#endif
}

}  // namespace
