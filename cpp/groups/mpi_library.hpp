// The MPI library of a machine, opened at run time. There are three binary interfaces: MPICH's, whose handles are integers, and
// those of Open MPI and of the standard (MPI 5), whose handles are pointers with different values.
#pragma once

#include "dtype/dtype.hpp"

#include <string>
#include <variant>

namespace tensorlib::core {

// The calls and constants in use. Their meanings are those of the MPI standard.
template <class Handle>
struct MpiInterface {
    using Flag = int (*)(int *);
    using Exchange = int (*)(const void *, int, Handle, void *, int, Handle, Handle, Handle *);

    int (*init_thread)(int *, char ***, int, int *);
    Flag initialized, finalized, query_thread, is_thread_main;
    int (*finalize)();
    int (*comm_idup)(Handle, Handle *, Handle *);
    int (*comm_split)(Handle, int, int, Handle *);
    int (*comm_free)(Handle *);
    int (*comm_rank)(Handle, int *);
    int (*comm_size)(Handle, int *);
    int (*comm_set_errhandler)(Handle, Handle);
    int (*comm_create_keyval)(int (*copy)(Handle, int, void *, void *, void *, int *), int (*erase)(Handle, int, void *, void *), int *,
                              void *);
    int (*comm_set_attr)(Handle, int, void *);
    Exchange iallgather, ialltoall;
    int (*ibcast)(void *, int, Handle, int, Handle, Handle *);
    int (*iallreduce)(const void *, void *, int, Handle, Handle, Handle, Handle *);
    int (*isend)(const void *, int, Handle, int, int, Handle, Handle *);
    int (*irecv)(void *, int, Handle, int, int, Handle, Handle *);
    int (*test)(Handle *, int *, void *);
    int (*cancel)(Handle *);
    int (*error_string)(int, char *, int *);

    Handle world, self, byte, f32, f64, i32, i64, sum, max, errors_return;
    void *ignored_status;
    int any_source, thread_serialized, thread_multiple;
};

struct MpiLibrary {
    std::variant<MpiInterface<int>, MpiInterface<void *>> calls;
    std::string path;
    std::string version;  // the first line of its own text
};

// The library, opened once per process: TENSORLIB_MPI if it is set, one that the process has loaded already, or one that the
// system finds, first that of the launcher which started the process. Throws Error(unavailable) with what was tried.
const MpiLibrary &mpi_library();

// What a launcher, such as mpirun, has told this process about its ranks.
struct Launch {
    std::string variable;  // the environment's; empty without a launcher
    int size = 1;
};
Launch launch();

}  // namespace tensorlib::core
