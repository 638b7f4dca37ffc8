# How kernel files are compiled for the simulated GPU.

set(TENSORLIB_SIMT_DIR ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "where the simulated GPU is")

# tensorlib_simt_kernel_sources(<target> <file.cu>...)
# Each access of a kernel must reach the simulator as the source has it: the thread sanitizer's instrumentation makes
# the calls, and optimisations that merge or widen accesses, or turn loops into calls, are off. The option is for
# the compiler alone: at link time it would bring the sanitizer's own library. What the address sanitizer would check
# the simulator checks itself, and both together do not go.
function(tensorlib_simt_kernel_sources target)
  set(options -fsanitize=thread --param=tsan-instrument-func-entry-exit=0 -O2 -fno-tree-vectorize
      -fno-tree-loop-distribute-patterns -ffp-contract=off -Wno-unknown-pragmas -Wno-attributes
      -include ${TENSORLIB_SIMT_DIR}/include/simt/kernel_prelude.h)
  if(TENSORLIB_SANITIZE MATCHES address)
    # -fsanitize=address,thread is refused when it is read, so the one goes before the other comes.
    list(PREPEND options -fno-sanitize=address)
  endif()
  if(NOT TENSORLIB_SANITIZE MATCHES undefined)
    # A member read through a misaligned vector pointer is not seen as an access of the vector. The compiler's check
    # calls the simulator, unless the sanitizer's library is there anyway.
    list(APPEND options -fsanitize=alignment)
  endif()
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-x;c++;${options}")
endfunction()
