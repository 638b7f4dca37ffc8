# TENSORLIB_CUDA=ON: the CUDA language. Needs only nvcc: no GPU, no driver, no cuBLAS.
# TENSORLIB_CUDA=simt: the same sources on the simulated GPU, compiled by the C++ compiler.
string(TOLOWER "${TENSORLIB_CUDA}" cuda_mode)
if(cuda_mode STREQUAL "simt")
  add_subdirectory(tests/simt)
  return()
endif()

# Set before the language is enabled, so that both kinds of sources use the same host compiler; CMake would
# choose its own.
set(CMAKE_CUDA_ARCHITECTURES ${TENSORLIB_CUDA_ARCHITECTURES})
if(NOT CMAKE_CUDA_HOST_COMPILER)
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "TENSORLIB_CUDA is ON, but there is no CUDA compiler: install the CUDA Toolkit 12.8 or later and "
    "put nvcc on the PATH, set CMAKE_CUDA_COMPILER or CUDACXX to it, or let `cargo xtask cuda-toolkit` get one.")
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.8)
  message(FATAL_ERROR "nvcc is ${CMAKE_CUDA_COMPILER_VERSION}: 12.8 or later is needed (${CMAKE_CUDA_COMPILER})")
endif()
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)

# The runtime, linked statically so that programs start on machines without a driver. CMake 3.25 cannot read
# toolkit 13 with find_package(CUDAToolkit); enabling the language already provides everything needed.
find_library(TENSORLIB_CUDART cudart_static HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} REQUIRED)

# CMake 3.25 does not know that nvcc supports C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
# Register spills are errors.
set(TENSORLIB_CUDA_OPTIONS -Xptxas=-warn-spills,-Werror)
