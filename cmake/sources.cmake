# TENSORLIB_SOURCES: the location of cpp/ and capi/, as links in the build tree. As with the layers' links, every path
# that a compiler reads is the same relative to any build tree, so a compiler cache that ignores the tree's own path
# (CCACHE_BASEDIR) recognises an object in the build of a Rust crate or of a package.
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
