# lowwater_stage(<name> [LINKS stages...] [PRIVATE_LINKS libraries...])
#
# One folder, one static library. Each stage's headers are published through a
# folder of its own that holds nothing but a link to src/<name>:
#
#   build/seams/graph/graph -> src/graph          #include "graph/graph.h"
#
# so that a target sees the headers of the stages that it links, and an include
# from the right-hand side of the flow does not compile.
function(lowwater_stage name)
  cmake_parse_arguments(ARG "" "" "LINKS;PRIVATE_LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc
       ${CMAKE_SOURCE_DIR}/src/${name}/*/*.cc)
  set(seam ${CMAKE_BINARY_DIR}/seams/${name})
  file(MAKE_DIRECTORY ${seam})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${seam}/${name} SYMBOLIC)
  add_library(lowwater_${name} STATIC ${sources})
  target_include_directories(lowwater_${name} PUBLIC
    $<BUILD_INTERFACE:${seam}> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
  foreach(link ${ARG_LINKS})
    target_link_libraries(lowwater_${name} PUBLIC lowwater_${link})
  endforeach()
  target_link_libraries(lowwater_${name} PRIVATE ${ARG_PRIVATE_LINKS} lowwater_warnings)
endfunction()
