// Whether a long step goes on.
#pragma once

namespace tensorlib::core {

// A backend asks this on the calling thread while a step runs, so that a long step can be stopped between chunks.
class StepWatch {
public:
    // Whether the step continues. If not, the backend skips the rest of the step and returns.
    virtual bool goes_on() noexcept = 0;

protected:
    ~StepWatch() = default;
};

}  // namespace tensorlib::core
