# The direction of dependencies, enforced: each folder of cpp/ is an OBJECT library that can include only from the
# folders below it. For each one a folder of links in the build tree holds just what it may see.

# tensorlib_layer(<name> SEES <folder>... SOURCES <file>...)
# Folders are given relative to cpp/; a layer sees its own folder if it names it.
function(tensorlib_layer name)
  cmake_parse_arguments(ARG "" "" "SEES;SOURCES;OPTIONS;DEFINITIONS" ${ARGN})
  add_library(tensorlib_${name} OBJECT ${ARG_SOURCES})
  set(root ${PROJECT_BINARY_DIR}/layers/${name})
  foreach(folder ${ARG_SEES})
    get_filename_component(parent ${root}/${folder} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    if(NOT EXISTS ${root}/${folder})
      file(CREATE_LINK ${PROJECT_SOURCE_DIR}/cpp/${folder} ${root}/${folder} SYMBOLIC RESULT linked)
      if(NOT linked EQUAL 0)
        # A system without links: it builds, only the check is lost.
        set(root ${PROJECT_SOURCE_DIR}/cpp)
        break()
      endif()
    endif()
  endforeach()
  target_include_directories(tensorlib_${name} PRIVATE ${root} ${PROJECT_SOURCE_DIR}/cpp/include)
  target_compile_definitions(tensorlib_${name} PRIVATE ${ARG_DEFINITIONS})
  target_compile_options(tensorlib_${name} PRIVATE ${ARG_OPTIONS})
  tensorlib_warnings(tensorlib_${name})
  set_property(GLOBAL APPEND PROPERTY TENSORLIB_LAYERS tensorlib_${name})
endfunction()

function(tensorlib_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic)
  if(TENSORLIB_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
