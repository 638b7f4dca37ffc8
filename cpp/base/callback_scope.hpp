// The functions of custom operations, while they compute on a thread. A run calls them and holds locks, so calls that need
// these would wait for the run, and the run for them: they are refused.
#pragma once

namespace tensorlib::core {

class CallbackScope {
public:
    // `operation`: the operation's name, for messages, which outlives the scope.
    explicit CallbackScope(const char *operation) noexcept;
    ~CallbackScope();
    CallbackScope(const CallbackScope &) = delete;
    CallbackScope &operator=(const CallbackScope &) = delete;

private:
    const char *outer_;
};

// Throws Error(invalid_argument), with a message headed by `what`, while this thread computes a custom operation.
void refuse_in_callback(const char *what);

}  // namespace tensorlib::core
