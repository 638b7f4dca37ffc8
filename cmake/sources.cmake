# TENSORLIB_SOURCES: where cpp/ and capi/ are taken from, links to them in the build tree. As with the layers' links,
# everything that a compiler reads lies, by name, at the same place of every build tree, and a compiler cache that leaves
# the tree's own name out (CCACHE_BASEDIR) knows an object again in the build of a Rust crate or of a package.
set(TENSORLIB_SOURCES ${PROJECT_BINARY_DIR}/src)
file(MAKE_DIRECTORY ${TENSORLIB_SOURCES})
foreach(folder cpp capi)
  if(NOT EXISTS ${TENSORLIB_SOURCES}/${folder})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${TENSORLIB_SOURCES}/${folder} SYMBOLIC RESULT linked)
    if(NOT linked EQUAL 0)
      set(TENSORLIB_SOURCES ${PROJECT_SOURCE_DIR}) # a system without links
      break()
    endif()
  endif()
endforeach()
