#include "support.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace tensorlib::bench {

void die(const std::string &message) {
    std::fprintf(stderr, "bench: %s\n", message.c_str());
    std::exit(1);
}

void check(bool right, const std::string &what) {
    if (!right) die("wrong result: " + what);
}

std::vector<Shape> read_shapes(const char *path, const std::string &op) {
    std::ifstream file(path);
    if (!file) die(std::string("cannot read ") + path);
    std::vector<Shape> shapes;
    std::string line;
    for (int number = 1; std::getline(file, line); number++) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream words(line);
        Shape shape;
        words >> shape.op;
        for (std::string word; words >> word;) {
            const std::size_t equals = word.find('=');
            const std::string name = word.substr(0, equals);
            const long long value = equals == std::string::npos ? 0 : std::atoll(word.c_str() + equals + 1);
            std::int64_t *field = name == "k"         ? &shape.k
                                  : name == "m"       ? &shape.m
                                  : name == "n"       ? &shape.n
                                  : name == "nodes"   ? &shape.nodes
                                  : name == "experts" ? &shape.experts
                                  : name == "used"    ? &shape.used
                                                      : nullptr;
            if (!field || value < 1)
                die(std::string(path) + ":" + std::to_string(number) + ": '" + word + "' is no k=, m=, n=, nodes=, experts=, used=");
            *field = value;
        }
        if (shape.op == op) shapes.push_back(shape);
    }
    if (shapes.empty()) die(std::string(path) + ": no " + op);
    return shapes;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Times Contender::times() const {
    Times times;
    if (seconds.empty()) return times;
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    const auto at = [&](double part) { return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))]; };
    times.best = sorted.front();
    times.median = at(0.5);
    times.spread = (at(0.75) - at(0.25)) / times.median;
    times.runs = static_cast<int>(sorted.size());
    return times;
}

void in_turn(std::span<Contender> contenders, double budget, double pause) {
    constexpr double turn = 0.020;
    const double end = now() + budget;
    for (int round = 0; round < 3 || now() < end; round++) {
        for (Contender &contender : contenders) {
            if (pause > 0) std::this_thread::sleep_for(std::chrono::duration<double>(pause));
            contender.run();
            const double turn_end = now() + turn;
            do {
                const double start = now();
                contender.run();
                contender.seconds.push_back(now() - start);
            } while (now() < turn_end);
        }
    }
}

namespace {

// Seconds that all processors spent on anything but waiting; negative where the system does not tell.
double busy_seconds() {
#if defined(__linux__)
    std::ifstream stat("/proc/stat");
    std::string name;
    double user = 0, nice = 0, system = 0, idle, io, irq = 0, soft = 0;
    if (stat >> name >> user >> nice >> system >> idle >> io >> irq >> soft) {
        return (user + nice + system + irq + soft) / static_cast<double>(sysconf(_SC_CLK_TCK));
    }
#endif
    return -1;
}

double own_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

Others::Others() : started_(now()), busy_(busy_seconds()), own_(own_seconds()) {}

double Others::cores() const {
    if (busy_ < 0) return -1;
    const double others = (busy_seconds() - busy_) - (own_seconds() - own_);
    return std::max(0.0, others / (now() - started_));
}

std::string load_average() {
    std::ifstream file("/proc/loadavg");
    std::string one, five, fifteen;
    if (!(file >> one >> five >> fifteen)) return "unknown";
    return one + " " + five + " " + fifteen;
}

std::string memory_hierarchy() {
    std::string text;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    const struct {
        const char *name;
        int key;
    } caches[] = {{"L1d", _SC_LEVEL1_DCACHE_SIZE}, {"L2", _SC_LEVEL2_CACHE_SIZE}, {"L3", _SC_LEVEL3_CACHE_SIZE}};
    for (const auto &cache : caches) {
        const long bytes = sysconf(cache.key);
        if (bytes > 0) text += std::string(cache.name) + " " + std::to_string(bytes >> 10) + " KiB, ";
    }
#endif
    std::ifstream pages("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    return text + "large pages: " + (std::getline(pages, line) ? line : "unknown");
}

void fill(std::span<float> values, std::uint64_t seed) {
    // A multiplicative generator's upper bits; quality does not matter, repeatability does.
    std::uint64_t state = seed * 2 + 1;
    for (float &value : values) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        value = static_cast<float>(static_cast<int>(state >> 60) - 8);
    }
}

void fill_normal(std::span<float> values, std::uint32_t seed, float unit) {
    std::uint32_t x = seed;
    for (float &value : values) {
        x = x * 1664525u + 1013904223u;
        const std::uint32_t y = x ^ (x >> 15);
        value = static_cast<float>(static_cast<int>((y & 255) + (y >> 8 & 255) + (y >> 16 & 255) + (y >> 24)) - 510) * unit;
    }
}

}  // namespace tensorlib::bench
