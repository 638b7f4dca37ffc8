// Shared by the measuring programs: shapes, repeated timing in turn, and who else used the machine meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tensorlib::bench {

// ---- Shapes

// A line of shapes.txt: "mul_mat k=4096 m=4096 n=1".
struct Shape {
    std::string op;
    std::int64_t k = 0, m = 0, n = 0, nodes = 0, experts = 0, used = 0;
};

// Exits with a message naming the line where the file is missing or not of that form.
std::vector<Shape> read_shapes(const char *path, const std::string &op);

// ---- Time

double now();  // seconds

// What many repetitions took, in seconds. The best one is what the machine can do; the median what it did.
struct Times {
    double best = 0, median = 0;
    // (upper quartile - lower quartile) / median
    double spread = 0;
    int runs = 0;
};

// One way to do the work. `run` does it once.
struct Contender {
    std::string name;
    std::function<void()> run;
    std::vector<double> seconds{};

    Times times() const;
};

// Runs the contenders in turn, again and again, for about `budget` seconds but at least three turns each. Machines are
// shared and change their clock: only what ran in turn can be compared. In a turn the first run is not counted (it
// finds the other contender's data in the caches), then runs are counted for 20 ms, one at least. `pause` seconds lie
// between turns, for contenders whose threads go on spinning after they are done.
void in_turn(std::span<Contender> contenders, double budget, double pause);

// ---- The machine

// Processor time that all others used on this machine between the making and the call, in cores; negative where the
// system does not tell.
class Others {
public:
    Others();
    double cores() const;

private:
    double started_, busy_, own_;
};

std::string load_average();
// Describes caches and pages, as far as the system tells.
std::string memory_hierarchy();

[[noreturn]] void die(const std::string &message);
// Ends the program where a result is wrong: a wrong but fast contender must not get a row.
void check(bool right, const std::string &what);

// Integers from -8 to 7 as floats: sums of 4,096 products stay below 2^24, so every result is exact in whatever order
// it was added up, and can be compared with ==.
void fill(std::span<float> values, std::uint64_t seed);

// Near to normal: sums of four bytes of a generator, multiplied by `unit`; 148 units of standard deviation.
void fill_normal(std::span<float> values, std::uint32_t seed, float unit);

}  // namespace tensorlib::bench
