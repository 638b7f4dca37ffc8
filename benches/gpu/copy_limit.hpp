// What the card's memory can do: the runtime's own copy from device to device.
#pragma once

#include <cstddef>
#include <vector>

namespace tensorlib::bench {

// Two sets of buffers on one device, and copies from each of one set to its partner. More bytes than any L2 holds.
class CopyLimit {
public:
    // `bytes` in each of `n_buffers` on either side. Ends the program where the device has not the memory.
    CopyLimit(int device, std::size_t bytes, int n_buffers);
    ~CopyLimit();
    CopyLimit(const CopyLimit &) = delete;
    CopyLimit &operator=(const CopyLimit &) = delete;

    // Copies all of them and waits.
    void run() const;
    // Bytes read and written by a run.
    double traffic() const { return 2.0 * static_cast<double>(bytes_) * static_cast<double>(from_.size()); }

private:
    std::size_t bytes_;
    std::vector<void *> from_, to_;
};

}  // namespace tensorlib::bench
