// The cost of a node: a chain of small adds, built and computed through the C ABI, as every language does it.
#include "sections.hpp"
#include "support.hpp"

#include <tensorlib/tensorlib.h>

#include <cstdio>

namespace tensorlib::bench {

namespace {

tl_error error_of_last_call() {
    tl_error error{};
    error.struct_size = sizeof error;
    return error;
}

#define TRY(call)                                                               \
    do {                                                                        \
        tl_error err = error_of_last_call();                                    \
        if ((call) != TL_STATUS_OK) die(std::string(#call ": ") + err.message); \
    } while (false)

// One round: a reset context, a leaf, the nodes, the graph. Times of its parts in seconds.
struct Chain {
    tl_context *context = nullptr;
    tl_graph *graph = nullptr;
    tl_tensor *first = nullptr, *last = nullptr;
    double constructors = 0, graph_time = 0;

    Chain() { TRY(tl_context_create(nullptr, &context, &err)); }
    ~Chain() {
        tl_graph_free(graph);
        tl_context_free(context);
    }
    Chain(const Chain &) = delete;
    Chain &operator=(const Chain &) = delete;

    void build(const Shape &shape) {
        tl_graph_free(graph);
        graph = nullptr;
        TRY(tl_context_reset(context, &err));
        first = tl_tensor_new_1d(context, TL_TYPE_F32, shape.n);
        tl_tensor *step = tl_tensor_new_1d(context, TL_TYPE_F32, shape.n);
        last = first;
        const double start = now();
        for (std::int64_t i = 0; i < shape.nodes; i++) last = tl_add(context, last, step);
        const double built = now();
        TRY(tl_graph_create(context, &last, 1, &graph, &err));
        constructors = built - start;
        graph_time = now() - built;
        const std::vector<float> ones(static_cast<std::size_t>(shape.n), 1);
        TRY(tl_tensor_write_f32(step, ones.data(), ones.size(), &err));
    }

    void check_result(const Shape &shape) const {
        std::vector<float> values(static_cast<std::size_t>(shape.n));
        TRY(tl_tensor_read_f32(last, values.data(), values.size(), &err));
        for (const float value : values) check(value == static_cast<float>(shape.nodes), "chain of adds");
    }
};

tl_backend *open_cpu(int threads) {
    tl_backend_params params;
    tl_backend_params_init(&params, sizeof params);
    params.n_threads = threads;
    tl_backend *backend = nullptr;
    TRY(tl_backend_create("cpu", &params, &backend, &err));
    return backend;
}

void print(const Shape &shape, const std::string &what, const Contender &contender, bool disturbed) {
    const Times t = contender.times();
    const double per_node = 1e9 / static_cast<double>(shape.nodes);
    std::printf("%c %-58s %8.1f %8.1f %5.1f %% ns per node\n", disturbed ? '*' : ' ', what.c_str(), t.best * per_node, t.median * per_node,
                100 * t.spread);
}

// What a graph's first run takes longer than its second: of the best of each, as either may be interrupted.
struct Planning {
    Contender first{"", {}}, second{"", {}};

    void run(const Chain &chain, tl_backend *cpu) {
        const double start = now();
        TRY(tl_graph_compute(chain.graph, cpu, &err));
        const double middle = now();
        TRY(tl_graph_compute(chain.graph, cpu, &err));
        first.seconds.push_back(middle - start);
        second.seconds.push_back(now() - middle);
    }
    void print(const Shape &shape, const char *what, bool disturbed) const {
        const double seconds = first.times().best - second.times().best;
        std::printf("%c %-58s %8.1f %26s\n", disturbed ? '*' : ' ', what, seconds * 1e9 / static_cast<double>(shape.nodes), "ns per node");
    }
};

// Rebuilds the graph each time: in a context that has a plan for such a graph, and in one that has none.
void report_building(const Bench &bench, const Shape &shape) {
    tl_backend *cpu = open_cpu(1);
    Chain chain;
    Contender constructors{"", {}}, graph{"", {}};
    Planning taken, made;
    chain.build(shape);
    TRY(tl_graph_compute(chain.graph, cpu, &err));
    chain.check_result(shape);
    const Others others;
    for (const double end = now() + bench.budget; now() < end;) {
        chain.build(shape);
        constructors.seconds.push_back(chain.constructors);
        graph.seconds.push_back(chain.graph_time);
        taken.run(chain, cpu);
        Chain fresh;
        fresh.build(shape);
        made.run(fresh, cpu);
    }
    const bool disturbed = others.cores() > 0.05;
    print(shape, "building: constructors (tl_add)", constructors, disturbed);
    print(shape, "building: graph (tl_graph_create)", graph, disturbed);
    taken.print(shape, "building: plan of an earlier graph taken over", disturbed);
    made.print(shape, "building: plan made, in a new context", disturbed);
    tl_backend_free(cpu);
}

}  // namespace

void report_chain(const Bench &bench) {
    for (const Shape &shape : read_shapes(TENSORLIB_SHAPES, "chain")) {
        std::printf("\nchain of %lld adds of %lld floats%34s %8s %8s %7s\n", static_cast<long long>(shape.nodes),
                    static_cast<long long>(shape.n), "", "best", "median", "spread");
        std::vector<Contender> contenders;
        std::vector<tl_backend *> backends;
        // A chain for each backend: a graph keeps the plans of several, but the data would travel between the cores.
        std::vector<Chain> chains(bench.threads.size());
        for (std::size_t i = 0; i < chains.size(); i++) {
            chains[i].build(shape);
            tl_backend *cpu = backends.emplace_back(open_cpu(bench.threads[i]));
            TRY(tl_graph_compute(chains[i].graph, cpu, &err));
            chains[i].check_result(shape);
            contenders.push_back({"computing, " + std::to_string(bench.threads[i]) + (i == 0 ? " thread" : " threads"),
                                  [graph = chains[i].graph, cpu] { TRY(tl_graph_compute(graph, cpu, &err)); }});
        }
        const Others others;
        in_turn(contenders, bench.budget, 0);
        const bool disturbed = others.cores() > 0.05;
        for (const Contender &contender : contenders) print(shape, contender.name, contender, disturbed);
        report_building(bench, shape);
        for (tl_backend *cpu : backends) tl_backend_free(cpu);
    }
}

}  // namespace tensorlib::bench
