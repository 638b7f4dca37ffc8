#include "rows.hpp"

#include "support.hpp"

#include <cmath>

namespace tensorlib::bench {

namespace {

std::string text(bool value) { return value ? "true" : "false"; }
std::string text(std::int64_t value) { return std::to_string(value); }

std::string text(double value) {
    if (!std::isfinite(value)) return "null";  // JSON has no other word for it
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", value);
    return digits;
}

std::string text(const std::string &value) {
    std::string quoted = "\"";
    for (const char c : value) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return quoted + '"';
}

}  // namespace

Rows::Rows(const std::string &path) : file_(std::fopen(path.c_str(), "w")) {
    if (!file_) die("cannot write " + path);
}

Rows::~Rows() {
    if (file_) std::fclose(file_);
}

void Rows::add(std::initializer_list<Field> fields) const {
    if (!file_) return;
    std::string line;
    for (const Field &field : fields) {
        line += line.empty() ? "{" : ", ";
        line += text(std::string(field.name)) + ": " + std::visit([](const auto &value) { return text(value); }, field.value);
    }
    line += "}\n";
    // A run takes minutes: what it has measured so far is worth keeping. A full disk must not pass for a whole run.
    if (std::fputs(line.c_str(), file_) < 0 || std::fflush(file_) != 0) die("cannot write a row");
}

}  // namespace tensorlib::bench
