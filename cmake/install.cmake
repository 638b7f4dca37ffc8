# The result of `cmake --install`: libraries, headers, tensorlib.pc, tensorlib-cpp.pc and tensorlibConfig.cmake, all
# relocatable unless a directory was given as an absolute path.
include(CMakePackageConfigHelpers)

install(TARGETS tensorlib tensorlib_cpp EXPORT tensorlib-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/capi/include/ ${PROJECT_SOURCE_DIR}/cpp/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tensorlib)
install(EXPORT tensorlib-targets NAMESPACE tensorlib:: DESTINATION ${config_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tensorlibConfig.cmake.in ${PROJECT_BINARY_DIR}/tensorlibConfig.cmake
  INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tensorlibConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tensorlibConfig.cmake ${PROJECT_BINARY_DIR}/tensorlibConfigVersion.cmake DESTINATION ${config_dir})

# A program that links the shared library needs nothing else; one that links the archive also needs the C++ runtime.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(TENSORLIB_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
  set(TENSORLIB_PC_PREFIX "\${pcfiledir}/${to_prefix}")
endif()
foreach(directory LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${directory}}")
    set(TENSORLIB_PC_${directory} ${CMAKE_INSTALL_${directory}})
  else()
    set(TENSORLIB_PC_${directory} "\${prefix}/${CMAKE_INSTALL_${directory}}")
  endif()
endforeach()
set(TENSORLIB_PC_RUNTIME "-lstdc++ -lm -pthread")
# Opens libraries at run time: MPI's, and cuBLASLt. The system's C library may have that in a library of its own.
foreach(library ${CMAKE_DL_LIBS})
  string(APPEND TENSORLIB_PC_RUNTIME " -l${library}")
endforeach()
if(TENSORLIB_CUDART)
  # A part of the toolkit, which users may not have.
  install(FILES ${TENSORLIB_CUDART} DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set(TENSORLIB_PC_RUNTIME "-lcudart_static ${TENSORLIB_PC_RUNTIME} -ldl -lrt")
endif()
if(BUILD_SHARED_LIBS)
  set(TENSORLIB_PC_LIBS "")
else()
  set(TENSORLIB_PC_LIBS " ${TENSORLIB_PC_RUNTIME}")
endif()
set(TENSORLIB_PC_NAME tensorlib)
set(TENSORLIB_PC_ABOUT "the C ABI")
set(TENSORLIB_PC_LIBRARY tensorlib)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tensorlib.pc.in ${PROJECT_BINARY_DIR}/tensorlib.pc @ONLY)
# The C++ API is always an archive.
set(TENSORLIB_PC_NAME tensorlib-cpp)
set(TENSORLIB_PC_ABOUT "the C++ API")
set(TENSORLIB_PC_LIBRARY tensorlib_cpp)
set(TENSORLIB_PC_LIBS " ${TENSORLIB_PC_RUNTIME}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/tensorlib.pc.in ${PROJECT_BINARY_DIR}/tensorlib-cpp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tensorlib.pc ${PROJECT_BINARY_DIR}/tensorlib-cpp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
