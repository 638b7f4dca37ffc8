// A strict JSON reader (RFC 8259) for the engine's output: any invalid byte is an error that names its place.
#pragma once

#include "base/utf8.hpp"

#include <charconv>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace support {

struct Json {
    enum class Kind { null, boolean, number, string, array, object };
    Kind kind = Kind::null;
    bool boolean = false;
    double number = 0;
    std::string string;
    std::vector<Json> array;
    std::map<std::string, Json> object;

    // Throws where this is no object or lacks the key.
    const Json &operator[](const std::string &key) const {
        const auto found = object.find(key);
        if (found == object.end()) throw std::runtime_error("no key '" + key + "'");
        return found->second;
    }
    bool has(const std::string &key) const { return object.count(key) != 0; }
};

class JsonReader {
public:
    static Json read(std::string_view text) {
        JsonReader reader(text);
        if (core_valid(text) != text.size()) throw std::runtime_error("no UTF-8 at byte " + std::to_string(core_valid(text)));
        Json value = reader.value(0);
        reader.blanks();
        if (reader.at_ != text.size()) reader.wrong("something after the value");
        return value;
    }

private:
    explicit JsonReader(std::string_view text) : text_(text) {}
    static std::size_t core_valid(std::string_view text) { return tensorlib::core::valid_utf8(text); }

    [[noreturn]] void wrong(const std::string &what) const { throw std::runtime_error(what + " at byte " + std::to_string(at_)); }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void blanks() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) at_++;
    }
    void expect(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) wrong("expected '" + std::string(word) + "'");
        at_ += word.size();
    }
    bool take(char c) {
        blanks();
        if (peek() != c) return false;
        at_++;
        return true;
    }

    Json value(int depth) {
        if (depth > 16) wrong("too deep");
        blanks();
        Json v;
        switch (peek()) {
            case '{':
                v.kind = Json::Kind::object;
                at_++;
                if (take('}')) return v;
                do {
                    blanks();
                    std::string key = string();
                    if (!take(':')) wrong("expected ':'");
                    if (!v.object.emplace(std::move(key), value(depth + 1)).second) wrong("a key twice");
                } while (take(','));
                if (!take('}')) wrong("expected '}'");
                return v;
            case '[':
                v.kind = Json::Kind::array;
                at_++;
                if (take(']')) return v;
                do v.array.push_back(value(depth + 1));
                while (take(','));
                if (!take(']')) wrong("expected ']'");
                return v;
            case '"':
                v.kind = Json::Kind::string;
                v.string = string();
                return v;
            case 't':
            case 'f':
                v.kind = Json::Kind::boolean;
                v.boolean = peek() == 't';
                expect(v.boolean ? "true" : "false");
                return v;
            case 'n': expect("null"); return v;
            default:
                v.kind = Json::Kind::number;
                v.number = number();
                return v;
        }
    }

    void digits() {
        if (peek() < '0' || peek() > '9') wrong("expected a digit");
        while (peek() >= '0' && peek() <= '9') at_++;
    }
    double number() {
        const std::size_t begin = at_;
        if (peek() == '-') at_++;
        if (peek() == '0') {
            at_++;
        } else {
            digits();
        }
        if (peek() == '.') at_++, digits();
        if (peek() == 'e' || peek() == 'E') {
            at_++;
            if (peek() == '+' || peek() == '-') at_++;
            digits();
        }
        double result = 0;
        std::from_chars(text_.data() + begin, text_.data() + at_, result);
        return result;
    }

    std::string string() {
        if (peek() != '"') wrong("expected a string");
        std::string out;
        for (at_++;; at_++) {
            if (at_ >= text_.size()) wrong("a string without end");
            const char c = text_[at_];
            if (c == '"') break;
            if (static_cast<unsigned char>(c) < 0x20) wrong("a control character");
            if (c != '\\') {
                out += c;
                continue;
            }
            at_++;
            constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
            if (const std::size_t letter = letters.find(peek()); peek() && letter != std::string_view::npos) {
                out += meant[letter];
            } else if (peek() == 'u') {
                unsigned code = 0;
                const auto [end, error] = std::from_chars(text_.data() + at_ + 1, text_.data() + std::min(at_ + 5, text_.size()), code, 16);
                // The engine escapes control characters alone.
                if (error != std::errc() || end != text_.data() + at_ + 5 || code >= 0x20) wrong("a code that is not to be escaped");
                out += static_cast<char>(code);
                at_ += 4;
            } else {
                wrong("a bad escape");
            }
        }
        at_++;
        return out;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace support
