// The rows of a report once more for programs: a JSON object a line, where `--json FILE` asks for it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <variant>

namespace tensorlib::bench {

class Rows {
public:
    struct Field {
        const char *name;
        std::variant<bool, std::int64_t, double, std::string> value;
    };

    Rows() = default;  // nobody asked: add() does nothing
    // Ends the program where the file cannot be written.
    explicit Rows(const std::string &path);
    ~Rows();
    Rows(const Rows &) = delete;
    Rows &operator=(const Rows &) = delete;

    void add(std::initializer_list<Field> fields) const;

private:
    std::FILE *file_ = nullptr;
};

}  // namespace tensorlib::bench
