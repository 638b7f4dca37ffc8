// The operands of a case's operation, and its attributes, KEY=VALUE. An absent attribute is 0, which stands for its
// default.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tensorlib/group.hpp>
#include <tensorlib/tensorlib.hpp>
#include <utility>
#include <vector>

namespace tl = tensorlib;

class CaseOperands {
public:
    explicit CaseOperands(const tl::Context &context) : context_(context) {}

    // For an operation without operands.
    const tl::Context &context() const { return context_; }
    void add(std::optional<tl::Tensor> operand) { operands_.push_back(std::move(operand)); }

    // Throws for one that is left out, and for one that is missing: the line has `none` for the former.
    const tl::Tensor &at(std::size_t i) const { return operands_.at(i).value(); }
    std::vector<tl::Tensor> all() const {
        std::vector<tl::Tensor> given;
        for (const auto &operand : operands_) given.push_back(operand.value());
        return given;
    }
    const std::optional<tl::Tensor> &at_if_given(std::size_t i) const { return operands_.at(i); }

private:
    const tl::Context &context_;
    std::vector<std::optional<tl::Tensor>> operands_;
};

class CaseAttrs {
public:
    void set(const std::string &name, const std::string &value) { values_[name] = value; }

    // The only group of the cases: that of one rank.
    static const tl::Group &group() {
        static const tl::Group self("self");
        return self;
    }

    // "" where it is absent.
    std::string text(const std::string &name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? "" : found->second;
    }
    std::vector<std::int64_t> ints(const std::string &name) const {
        std::vector<std::int64_t> values;
        std::istringstream in(text(name));
        for (std::string word; std::getline(in, word, ',');) values.push_back(std::stoll(word));
        return values;
    }
    std::int64_t integer(const std::string &name) const {
        const auto values = ints(name);
        return values.empty() ? 0 : values[0];
    }
    double number(const std::string &name) const { return std::strtod(text(name).c_str(), nullptr); }
    template <std::size_t N>
    std::array<std::int64_t, N> list(const std::string &name) const {
        const auto given = ints(name);
        if (!given.empty() && given.size() != N) throw std::runtime_error(name + ": another number of values");
        std::array<std::int64_t, N> values{};
        std::copy(given.begin(), given.end(), values.begin());
        return values;
    }
    tl::Dims dims(const std::string &name) const { return tl::Dims(ints(name)); }
    // The place of a word among others.
    std::int32_t choice(const std::string &name, std::initializer_list<const char *> words) const {
        const std::string given = text(name);
        if (given.empty()) return 0;
        const auto found = std::find(words.begin(), words.end(), given);
        if (found == words.end()) throw std::runtime_error(name + ": not one of its words: " + given);
        return static_cast<std::int32_t>(found - words.begin());
    }

private:
    std::map<std::string, std::string> values_;
};
