# Enforces the direction of dependencies: each folder of cpp/ is an OBJECT library that can include only from the
# folders below it. A folder of links in the build tree for each library holds only the folders that it may include.

# tensorlib_layer(<name> SEES <folder>... SOURCES <file>...)
#
# Folders are relative to cpp/; a layer that includes its own folder has to name it.
function(tensorlib_layer name)
  cmake_parse_arguments(ARG "" "" "SEES;SOURCES;OPTIONS;DEFINITIONS" ${ARGN})
  set(sources)
  foreach(source ${ARG_SOURCES})
    list(APPEND sources ${TENSORLIB_SOURCES}/cpp/${source})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${TENSORLIB_SOURCES}/cpp/${source} PROPERTIES COMPILE_OPTIONS "${options}")
    endif()
  endforeach()
  add_library(tensorlib_${name} OBJECT ${sources})
  set(root ${PROJECT_BINARY_DIR}/layers/${name})
  foreach(folder ${ARG_SEES})
    get_filename_component(parent ${root}/${folder} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    if(NOT EXISTS ${root}/${folder})
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/cpp/${folder} ${root}/${folder} SYMBOLIC RESULT linked)
      if(NOT linked EQUAL 0)
        # A system without links builds, but without the check.
        set(root ${PROJECT_SOURCE_DIR}/cpp)
        break()
      endif()
    endif()
  endforeach()
  target_include_directories(tensorlib_${name} PRIVATE ${root} ${TENSORLIB_SOURCES}/cpp/include)
  target_compile_definitions(tensorlib_${name} PRIVATE ${ARG_DEFINITIONS})
  target_compile_options(tensorlib_${name} PRIVATE ${ARG_OPTIONS})
  tensorlib_warnings(tensorlib_${name})
  if(NOT name STREQUAL "cuda") # the simulated GPU's lanes have stacks of their own
    tensorlib_small_stack(tensorlib_${name})
  endif()
  tensorlib_precompile(tensorlib_${name})
  set_property(GLOBAL APPEND PROPERTY TENSORLIB_LAYERS tensorlib_${name})
endfunction()

# Compiles the standard library's headers once for all layers: reading them is a third of a build's time. A compiler
# cache works better without this, so of xtask's builds only one precompiles; in the others each source has to include
# what it uses. CMake's own CMAKE_DISABLE_PRECOMPILE_HEADERS turns it off too.
function(tensorlib_precompile target)
  if(CMAKE_CXX_COMPILER_LAUNCHER OR TENSORLIB_CUDA)
    return()
  endif()
  if(target MATCHES "_simd_")
    return() # they include no standard headers
  elseif(NOT target STREQUAL "tensorlib_base")
    target_precompile_headers(${target} REUSE_FROM tensorlib_base)
  else()
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <limits> <memory> <mutex>
      <optional> <span> <string> <string_view> <thread> <utility> <vector>)
  endif()
  # GCC uses a precompiled header only with the options that it was compiled with.
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# A host's thread may have a stack of 128 KiB, musl's default. No function takes more than 16 KiB of it, and each
# touches the pages of its frame in order, so that a stack overflow faults at the guard page and never writes below it.
# Instrumented code has larger frames.
include(CheckCXXCompilerFlag)
if(NOT WIN32) # Windows touches each page anyway; GCC 12 cannot compile some functions with both
  check_cxx_compiler_flag(-fstack-clash-protection TENSORLIB_HAS_STACK_CLASH_PROTECTION)
endif()
check_cxx_compiler_flag(-Wframe-larger-than=16384 TENSORLIB_HAS_FRAME_WARNING)
function(tensorlib_small_stack target)
  if(TENSORLIB_SANITIZE)
    return()
  endif()
  if(TENSORLIB_HAS_STACK_CLASH_PROTECTION)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fstack-clash-protection>)
  endif()
  if(TENSORLIB_HAS_FRAME_WARNING)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wframe-larger-than=16384>)
  endif()
endfunction()

function(tensorlib_warnings target)
  # nvcc passes generated code to the host compiler that is not pedantic.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
  if(TENSORLIB_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>
      $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
  endif()
endfunction()

# Links the CUDA runtime and its dependencies, if there is one. A static library is installed together with it.
function(tensorlib_link_cudart target scope)
  if(TENSORLIB_CUDART)
    target_link_libraries(${target} ${scope} $<BUILD_INTERFACE:${TENSORLIB_CUDART}>
      $<INSTALL_INTERFACE:\${_IMPORT_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libcudart_static.a> ${CMAKE_DL_LIBS} rt)
  endif()
endfunction()
