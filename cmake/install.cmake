# What `cmake --install` gives: libraries, headers, tensorlib.pc and tensorlibConfig.cmake, all relocatable.
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

# A program that links the shared library needs nothing else; one that links the archive needs the C++ runtime too.
file(RELATIVE_PATH TENSORLIB_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" TENSORLIB_PC_TO_PREFIX ${TENSORLIB_PC_TO_PREFIX})
set(TENSORLIB_PC_RUNTIME "-lstdc++ -lm -pthread")
if(TENSORLIB_CUDART)
  # Part of the toolkit that users need not have.
  install(FILES ${TENSORLIB_CUDART} DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set(TENSORLIB_PC_RUNTIME "-lcudart_static ${TENSORLIB_PC_RUNTIME} -ldl -lrt")
endif()
if(BUILD_SHARED_LIBS)
  set(TENSORLIB_PC_LIBS "")
else()
  set(TENSORLIB_PC_LIBS " ${TENSORLIB_PC_RUNTIME}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/tensorlib.pc.in ${PROJECT_BINARY_DIR}/tensorlib.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tensorlib.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
