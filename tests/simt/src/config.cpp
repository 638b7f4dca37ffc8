#include "config.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace simt {

namespace {

[[noreturn]] void refuse(const char *variable, std::string_view value, const char *valid) {
    std::fprintf(stderr, "simulated GPU: %s is \"%.*s\": %s\n", variable, static_cast<int>(value.size()), value.data(), valid);
    std::fflush(nullptr);
    std::_Exit(2);
}

// The whole text as a number, or false.
bool parse(std::string_view text, std::uint64_t &value) {
    if (text.empty() || text.size() > 20) return false;
    std::uint64_t v = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return false;
        const std::uint64_t next = v * 10 + static_cast<std::uint64_t>(c - '0');
        if (next / 10 != v) return false;
        v = next;
    }
    value = v;
    return true;
}

std::uint64_t number(const char *variable, std::uint64_t fallback, std::uint64_t least, std::uint64_t most, const char *valid) {
    const char *text = std::getenv(variable);
    if (!text || !*text) return fallback;
    std::uint64_t value = 0;
    if (!parse(text, value) || value < least || value > most) refuse(variable, text, valid);
    return value;
}

// Calls that can be told to fail; the name of a misspelt one would never be met.
constexpr const char *calls[] = {
#define SIMT_CALL(name) #name,
#include "calls.inc"
#undef SIMT_CALL
};

bool is_call(std::string_view name) {
    for (const char *call : calls) {
        if (name == call) return true;
    }
    return false;
}

cudaError_t usual_failure(std::string_view call) {
    if (call == "cudaMalloc" || call == "cudaMallocHost" || call == "cudaHostAlloc") return cudaErrorMemoryAllocation;
    if (call == "launch") return cudaErrorLaunchOutOfResources;
    return cudaErrorUnknown;
}

bool known_code(std::uint64_t code) {
    switch (code) {
#define SIMT_ERROR(name, number, text) case number:
#include "simt/error_list.inc"
#undef SIMT_ERROR
        return code != 0;
        default: return false;
    }
}

constexpr const char *fail_syntax = "call:n or call:n=code is valid, several with commas, such as cudaMalloc:3 or launch:5=719";

PlannedFailure parse_failure(std::string_view text) {
    const char *variable = "TENSORLIB_SIMT_FAIL";
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) refuse(variable, text, fail_syntax);
    PlannedFailure failure;
    failure.call = text.substr(0, colon);
    if (!is_call(failure.call)) refuse(variable, text, "no such call: launch and the runtime's calls (src/calls.inc) are valid");
    std::string_view rest = text.substr(colon + 1);
    const std::size_t equals = rest.find('=');
    failure.code = usual_failure(failure.call);
    if (equals != std::string_view::npos) {
        std::uint64_t code = 0;
        if (!parse(rest.substr(equals + 1), code) || !known_code(code)) refuse(variable, text, "the code must be a CUDA error number");
        failure.code = static_cast<cudaError_t>(code);
        rest = rest.substr(0, equals);
    }
    if (!parse(rest, failure.n) || failure.n == 0) refuse(variable, text, fail_syntax);
    return failure;
}

}  // namespace

Config read_config() {
    Config config;
    config.seed = number("TENSORLIB_SIMT_SEED", config.seed, 0, ~std::uint64_t{0}, "a whole number is valid");
    config.devices = static_cast<int>(number("TENSORLIB_SIMT_DEVICES", 1, 0, 16, "0 to 16 are valid"));
    config.memory = number("TENSORLIB_SIMT_MEMORY", config.memory, 4096, std::uint64_t{1} << 40, "4096 to 2^40 bytes are valid");
    if (const char *driver = std::getenv("TENSORLIB_SIMT_DRIVER"); driver && *driver) {
        const std::string_view name = driver;
        if (name == "none") {
            config.driver = Driver::none;
        } else if (name == "old") {
            config.driver = Driver::old;
        } else if (name != "ok") {
            refuse("TENSORLIB_SIMT_DRIVER", name, "ok, none and old are valid");
        }
    }
    if (const char *failures = std::getenv("TENSORLIB_SIMT_FAIL"); failures && *failures) {
        std::string_view rest = failures;
        for (;;) {
            const std::size_t comma = rest.find(',');
            config.failures.push_back(parse_failure(rest.substr(0, comma)));
            if (comma == std::string_view::npos) break;
            rest = rest.substr(comma + 1);
        }
    }
    return config;
}

}  // namespace simt
