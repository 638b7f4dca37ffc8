// tl_bench_micro: the limits of the machine and how close the engine comes to them, on one ISA.
//
//   tl_bench_micro --isas                names the ISAs that this CPU can run
//   TENSORLIB_ISA=avx2 tl_bench_micro      measures one of them; without the variable the best one
//     --only chain                         one section of `sections` below; may be repeated
//     --types q4_0,q6_K                    only these types in the sections packing, weights, codes, experts, sparse and accuracy
//     --seconds S                          for each row, default 1.5
//     --json FILE                          the rows of products and weights for programs too, an object a line
//     --openblas-core NAME                 other kernels than those of the ISA; "default": its own
//                                          choice
//
// Every row's limits and contenders run repeatedly in turn: if a shared machine slows down or changes its clock, that
// affects all of them. A row marked * had more than 5 % of a core taken by others meanwhile.
#include "base/cpu_features.hpp"
#include "base/platform.hpp"
#include "onednn.hpp"
#include "openblas.hpp"
#include "sections.hpp"
#include "support.hpp"

#include <tensorlib/error.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>

namespace tensorlib::bench {

#define TL_ISA_ENTRY(isa)     \
    namespace isa {           \
    void limits(Limits &all); \
    }
#include "simd_isas.inc"
#undef TL_ISA_ENTRY

Limits limits_of(const char *name) {
    Limits all{};
#define TL_ISA_ENTRY(isa) \
    if (std::strcmp(name, #isa) == 0) isa::limits(all);
#include "simd_isas.inc"
#undef TL_ISA_ENTRY
    if (!all.multiply_add) die(std::string("no limits for the ISA ") + name);
    return all;
}

std::int64_t run_chains(void (*chains)(std::int64_t, float *), std::int64_t ops_per_round, core::ThreadPool &pool) {
    const std::int64_t chunks = 8 * std::int64_t{pool.size()};
    const std::int64_t rounds = 50'000'000 / ops_per_round;
    auto task = [&](std::int64_t, int) noexcept {
        float sink;
        chains(rounds, &sink);
    };
    pool.run(chunks, task);
    return chunks * rounds * ops_per_round;
}

void run_read(const Limits &limits, core::ThreadPool &pool, const float *from, std::int64_t n, bool four) {
    const std::int64_t chunks = pool.size() == 1 ? 1 : 4 * std::int64_t{pool.size()}, part = n / chunks / 1024 * 1024;
    auto task = [&](std::int64_t chunk, int) noexcept {
        float sink;
        (four ? limits.read_4 : limits.read_1)(part, from + chunk * part, &sink);
    };
    pool.run(chunks, task);
}

namespace {

// In the order of the report.
constexpr struct {
    const char *name;
    void (*report)(const Bench &);
} sections[] = {{"chain", report_chain},
                {"kernels", report_kernels},
                {"packing", report_packing},
                {"codes", report_codes},
                {"products", report_products},
                {"weights", report_weights},
                {"experts", report_experts},
                {"sparse", report_sparse},
                {"add", report_add},
                {"copies", report_copies},
                {"tiles", report_tiles},
                {"elementwise", report_elementwise},
                {"reductions", report_reductions},
                {"norms", report_norms},
                {"steps", report_steps},
                {"joined", report_joined},
                {"attention", report_attention},
                {"recurrent", report_recurrent},
                {"convolutions", report_convolutions},
                {"formats", report_formats},
                {"accuracy", report_accuracy},
                {"threads", report_threads}};

std::string section_names() {
    std::string names;
    for (const auto &section : sections) {
        if (!names.empty()) names += '|';
        names += section.name;
    }
    return names;
}

struct Options {
    std::vector<std::string> only;  // empty: all
    std::string openblas_core, json;
    std::vector<std::string> types;
    double seconds = 1.5;
};

Options read_options(int argc, char **argv) {
    Options options;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        if (word == "--isas") {
            for (std::size_t l = 0; l < core::isa_count(); l++) std::printf("%s\n", core::isa_at(l).name);
            std::exit(0);
        } else if (word == "--only" && i + 1 < argc) {
            options.only.push_back(argv[++i]);
        } else if (word == "--types" && i + 1 < argc) {
            std::stringstream list(argv[++i]);
            for (std::string type; std::getline(list, type, ',');) options.types.push_back(type);
        } else if (word == "--json" && i + 1 < argc) {
            options.json = argv[++i];
        } else if (word == "--openblas-core" && i + 1 < argc) {
            options.openblas_core = argv[++i];
        } else if (word == "--seconds" && i + 1 < argc && std::atof(argv[i + 1]) > 0) {
            options.seconds = std::atof(argv[++i]);
        } else {
            die("'" + word + "' is no option: --isas, --only " + section_names() +
                ", --types LIST, --seconds S, --json FILE, --openblas-core NAME");
        }
    }
    return options;
}

void report(const Options &options) {
    const core::Isa &isa = core::choose_isa(core::platform::environment("TENSORLIB_ISA"));
    const std::unique_ptr<Rows> rows = options.json.empty() ? std::make_unique<Rows>() : std::make_unique<Rows>(options.json);
    Bench bench{isa, limits_of(isa.name), {}, {1}, options.seconds, options.types, *rows};
    if (const int all = core::platform::usable_cpus(); all > 1) bench.threads.push_back(all);

    char date[32] = "";
    const std::time_t time = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&time));
    std::printf("\n== %s ==\n%s, CPU: %s, threads: %d, %s\n", isa.name, date, core::cpu_name().c_str(), bench.threads.back(),
                memory_hierarchy().c_str());
    std::printf("compiler: " __VERSION__ ", " TENSORLIB_FLAGS "; load average %s\n", load_average().c_str());
    rows->add({{"section", std::string("run")},
               {"isa", std::string(isa.name)},
               {"date", std::string(date)},
               {"cpu", core::cpu_name()},
               {"load", load_average()}});
    std::unique_ptr<Peer> peers[] = {std::make_unique<OpenBlas>(isa.name, options.openblas_core), std::make_unique<OneDnn>(isa.name)};
    for (auto &peer : peers) {
        std::printf("%s: %s\n", peer->name(), peer->description().c_str());
        if (peer->there()) bench.peers.push_back(std::move(peer));
    }

    // The chain comes first, while the process is fresh. Once malloc has freed something large, it keeps memory that it
    // would otherwise request from the system, and planning 4,000 nodes then looks several times as fast as in most
    // programs.
    for (const std::string &only : options.only) {
        if (std::none_of(std::begin(sections), std::end(sections), [&](const auto &section) { return only == section.name; }))
            die("no section '" + only + "': " + section_names());
    }
    for (const auto &section : sections) {
        if (!options.only.empty() && std::find(options.only.begin(), options.only.end(), section.name) == options.only.end()) continue;
        section.report(bench);
        std::fflush(stdout);
    }
    std::printf("load average afterwards %s\n", load_average().c_str());
}

}  // namespace

}  // namespace tensorlib::bench

int main(int argc, char **argv) {
    try {
        tensorlib::bench::report(tensorlib::bench::read_options(argc, argv));
    } catch (const std::exception &error) {
        tensorlib::bench::die(error.what());
    }
}
