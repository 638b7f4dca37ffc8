#include "cuda/cuda_devices.hpp"

#include "base/platform.hpp"
#include "cuda/cuda_device.hpp"

#include <cstdlib>
#include <memory>
#include <vector>

namespace tensorlib::core {

namespace {

std::string version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

// Turing: the oldest architecture that our kernels' images support.
constexpr int oldest_capability = 75;

struct Devices {
    std::vector<std::unique_ptr<CudaDevice>> owned;
    std::vector<const Device *> list;
    std::string absence;

    Devices() {
        int count = 0;
        const cudaError_t status = cudaGetDeviceCount(&count);
        if (status != cudaSuccess) {
            cudaGetLastError();
            absence = reason(status);
            return;
        }
        for (int i = 0; i < count; i++) {
            cudaDeviceProp props;
            if (cudaGetDeviceProperties(&props, i) != cudaSuccess) {
                cudaGetLastError();
            } else if (props.major * 10 + props.minor < oldest_capability) {
                absence = std::string(props.name) + " has compute capability " + std::to_string(props.major) + "." +
                          std::to_string(props.minor) + ", 7.5 is needed";
            } else {
                add(i, props);
            }
        }
        if (list.empty() && absence.empty()) absence = "the driver finds no GPU";
    }

    void add(int physical, const cudaDeviceProp &props) {
        const int copies = physical == 0 ? virtual_devices() : 1;
        for (int i = 0; i < copies; i++) {
            owned.push_back(std::make_unique<CudaDevice>(static_cast<int>(list.size()), physical, props));
            list.push_back(owned.back().get());
        }
    }

    static int virtual_devices() {
        const int wanted = std::atoi(platform::environment("TENSORLIB_CUDA_VIRTUAL_DEVICES").c_str());
        return wanted >= 1 && wanted <= 64 ? wanted : 1;
    }

    static std::string reason(cudaError_t status) {
        if (status == cudaErrorNoDevice) return "the driver finds no GPU";
        if (status == cudaErrorInsufficientDriver) {
            int driver = 0, needed = 0;
            if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "no NVIDIA driver is installed";
            cudaRuntimeGetVersion(&needed);
            return "the NVIDIA driver is too old: it knows CUDA " + version_text(driver) + ", this library is built with " +
                   version_text(needed);
        }
        return cudaGetErrorString(status);
    }
};

// Never destroyed: at exit, the driver may end before our statics.
const Devices &devices() {
    static const Devices *all = new Devices;
    return *all;
}

}  // namespace

std::span<const Device *const> cuda_devices() noexcept {
    try {
        return devices().list;
    } catch (...) {
        return {};  // no memory for the list; the next call tries again
    }
}

std::string cuda_absence() { return devices().absence; }

}  // namespace tensorlib::core
