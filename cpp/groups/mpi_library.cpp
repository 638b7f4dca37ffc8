#include "groups/mpi_library.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "base/shared_library.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tensorlib::core {

namespace {

// Finds symbols, and remembers the first that is missing.
class Finder {
public:
    explicit Finder(void *library) : library_(library) {}

    template <class T>
    void find(T &symbol, const char *name) {
        symbol = reinterpret_cast<T>(find_symbol(library_, name));
        if (!symbol && missing_.empty()) missing_ = name;
    }
    const std::string &missing() const noexcept { return missing_; }

private:
    void *library_;
    std::string missing_;
};

template <class Handle>
void find_calls(Finder &finder, MpiInterface<Handle> &calls) {
    finder.find(calls.init_thread, "MPI_Init_thread");
    finder.find(calls.initialized, "MPI_Initialized");
    finder.find(calls.finalized, "MPI_Finalized");
    finder.find(calls.query_thread, "MPI_Query_thread");
    finder.find(calls.is_thread_main, "MPI_Is_thread_main");
    finder.find(calls.finalize, "MPI_Finalize");
    finder.find(calls.comm_idup, "MPI_Comm_idup");
    finder.find(calls.comm_split, "MPI_Comm_split");
    finder.find(calls.comm_free, "MPI_Comm_free");
    finder.find(calls.comm_rank, "MPI_Comm_rank");
    finder.find(calls.comm_size, "MPI_Comm_size");
    finder.find(calls.comm_set_errhandler, "MPI_Comm_set_errhandler");
    finder.find(calls.comm_create_keyval, "MPI_Comm_create_keyval");
    finder.find(calls.comm_set_attr, "MPI_Comm_set_attr");
    finder.find(calls.iallgather, "MPI_Iallgather");
    finder.find(calls.ialltoall, "MPI_Ialltoall");
    finder.find(calls.ibcast, "MPI_Ibcast");
    finder.find(calls.iallreduce, "MPI_Iallreduce");
    finder.find(calls.isend, "MPI_Isend");
    finder.find(calls.irecv, "MPI_Irecv");
    finder.find(calls.test, "MPI_Test");
    finder.find(calls.cancel, "MPI_Cancel");
    finder.find(calls.error_string, "MPI_Error_string");
}

MpiInterface<int> mpich(Finder &finder) {
    MpiInterface<int> calls{};
    find_calls(finder, calls);
    calls.world = 0x44000000;
    calls.self = 0x44000001;
    calls.byte = 0x4c00010d;
    calls.f32 = 0x4c00040a;
    calls.f64 = 0x4c00080b;
    calls.i32 = 0x4c000439;
    calls.i64 = 0x4c00083a;
    calls.max = 0x58000001;
    calls.sum = 0x58000003;
    calls.errors_return = 0x54000001;
    calls.ignored_status = reinterpret_cast<void *>(std::uintptr_t{1});
    calls.any_source = -2;
    calls.thread_serialized = 2;
    calls.thread_multiple = 3;
    return calls;
}

MpiInterface<void *> open_mpi(Finder &finder) {
    MpiInterface<void *> calls{};
    find_calls(finder, calls);
    finder.find(calls.world, "ompi_mpi_comm_world");
    finder.find(calls.self, "ompi_mpi_comm_self");
    finder.find(calls.byte, "ompi_mpi_byte");
    finder.find(calls.f32, "ompi_mpi_float");
    finder.find(calls.f64, "ompi_mpi_double");
    finder.find(calls.i32, "ompi_mpi_int32_t");
    finder.find(calls.i64, "ompi_mpi_int64_t");
    finder.find(calls.sum, "ompi_mpi_op_sum");
    finder.find(calls.max, "ompi_mpi_op_max");
    finder.find(calls.errors_return, "ompi_mpi_errors_return");
    calls.ignored_status = nullptr;
    calls.any_source = -1;
    calls.thread_serialized = 2;
    calls.thread_multiple = 3;
    return calls;
}

// MPI 5.0, appendix A.
MpiInterface<void *> standard(Finder &finder) {
    MpiInterface<void *> calls{};
    find_calls(finder, calls);
    const auto handle = [](std::uintptr_t value) { return reinterpret_cast<void *>(value); };
    calls.world = handle(0x101);
    calls.self = handle(0x102);
    calls.byte = handle(0x247);
    calls.f32 = handle(0x210);
    calls.f64 = handle(0x214);
    calls.i32 = handle(0x250);
    calls.i64 = handle(0x258);
    calls.sum = handle(0x21);
    calls.max = handle(0x23);
    calls.errors_return = handle(0x143);
    calls.ignored_status = nullptr;
    calls.any_source = -1;
    calls.thread_serialized = 2048;
    calls.thread_multiple = 4096;
    return calls;
}

bool contains(std::string_view text, std::string_view part) noexcept { return text.find(part) != std::string_view::npos; }

// The members of the agreement on MPICH's binary interface, by what they say about themselves.
bool is_like_mpich(std::string_view version) {
    constexpr std::array<std::string_view, 5> members{"MPICH", "Intel", "MVAPICH", "CRAY", "ParaStation"};
    return std::ranges::any_of(members, [&](std::string_view member) { return contains(version, member); });
}

// "MPICH Version: 4.0.2", without what follows a comma, and with single spaces.
std::string first_line(const std::string &version) {
    std::string line;
    for (const char c : version.substr(0, version.find_first_of("\n,"))) {
        const bool is_space = c == ' ' || c == '\t';
        if (!is_space || (!line.empty() && line.back() != ' ')) line += is_space ? ' ' : c;
    }
    return line;
}

// Whether an opened library can be used; otherwise `why` says why not. Null is what the program itself has loaded.
bool take(void *opened, const std::string &name, MpiLibrary &library, std::string &why) {
    Finder finder(opened);
    int (*get_version)(char *, int *) = nullptr;
    finder.find(get_version, "MPI_Get_library_version");
    if (!get_version) {
        why = name + " is no MPI library: it has no MPI_Get_library_version";
        return false;
    }
    std::vector<char> text(16384, '\0');
    int length = 0;
    get_version(text.data(), &length);
    const std::string version(text.data());
    library.version = first_line(version);
    library.path = file_of_symbol(reinterpret_cast<const void *>(get_version));
    if (library.path.empty()) library.path = name;
    // A library of the standard interface may be made of one with another, so its name is asked first.
    if (contains(library.path.substr(library.path.rfind('/') + 1), "mpi_abi")) {
        library.calls = standard(finder);
    } else if (find_symbol(opened, "ompi_mpi_comm_world")) {
        library.calls = open_mpi(finder);
    } else if (is_like_mpich(version)) {
        library.calls = mpich(finder);
    } else {
        why = name + " (" + library.version + ") is neither Open MPI, nor like MPICH, nor the standard's libmpi_abi";
        return false;
    }
    if (finder.missing().empty()) return true;
    why = name + " (" + library.version + ") has no " + finder.missing();
    return false;
}

#if defined(__APPLE__)
constexpr const char *open_mpi_name = "libmpi.40.dylib", *standard_name = "libmpi_abi.1.dylib";
constexpr std::array mpich_names{"libmpi.12.dylib", "libmpich.12.dylib"};
#else
constexpr const char *open_mpi_name = "libmpi.so.40", *standard_name = "libmpi_abi.so.1";
// Debian's package has its own name.
constexpr std::array mpich_names{"libmpi.so.12", "libmpich.so.12"};
#endif

// Where the library is looked for, the launcher's own first.
std::vector<const char *> names() {
    std::vector<const char *> all(mpich_names.begin(), mpich_names.end());
    const bool is_pmi = !platform::environment("PMI_SIZE").empty() && platform::environment("OMPI_COMM_WORLD_SIZE").empty();
    all.insert(is_pmi ? all.end() : all.begin(), open_mpi_name);
    all.push_back(standard_name);
    return all;
}

// A library that was opened, or the reason why there is none.
struct Search {
    MpiLibrary library;
    std::string failure;

    Search() {
        const std::string wanted = platform::environment("TENSORLIB_MPI");
        if (!wanted.empty()) {
            failure = attempt(wanted);
            if (!failure.empty()) failure = "TENSORLIB_MPI: " + failure;
            return;
        }
        std::string ignored;
        if (find_symbol(nullptr, "MPI_Get_library_version") && take(nullptr, "this program", library, ignored)) return;
        for (const char *name : names()) {
            void *loaded = loaded_library(name, Symbols::global);
            if (loaded && take(loaded, name, library, ignored)) return;
        }
        for (const char *name : names()) {
            const std::string why = attempt(name);
            if (why.empty()) {
                failure.clear();
                return;
            }
            failure += (failure.empty() ? "" : "; ") + why;
        }
    }

private:
    // Open MPI's plug-ins need the symbols of the library itself.
    std::string attempt(const std::string &name) {
        std::string why;
        void *opened = open_library(name.c_str(), Symbols::global, &why);
        if (opened) take(opened, name, library, why);
        return why;
    }
};

}  // namespace

const MpiLibrary &mpi_library() {
    static const Search &search = *new Search;  // outlives whoever exchanges while the process ends
    if (search.failure.empty()) return search.library;
    fail(Status::unavailable, "group_create: no MPI library was found (TENSORLIB_MPI=PATH names one): %s", search.failure.c_str());
}

Launch launch() {
    // Set by Open MPI; by MPICH, Intel MPI and others with PMI; by MVAPICH; by Slurm's srun.
    for (const char *variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
        const std::string value = platform::environment(variable);
        int size = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
        if (error == std::errc() && end == value.data() + value.size() && size >= 1) return {variable, size};
    }
    return {};
}

}  // namespace tensorlib::core
