# Reads the headers of gRPC and of the protocol once instead of once for each compilation: some 3 s each.
#
# For a first build without ccache. With ccache leave it off: a precompiled header differs from checkout to checkout, and so
# would everything that reads it. File by file it would hide missing includes.
option(TRIBUTARY_PRECOMPILED "Precompile the headers of gRPC and of the protocol (off: each compilation reads them)" OFF)

# tributary_precompiled_headers(NAME [COLD] HEADERS header... DEPENDS lib...): a set of headers. COLD: for targets that are
# tributary_cold; a compiler takes a precompiled header only at the level of optimisation it was made with.
function(tributary_precompiled_headers name)
  cmake_parse_arguments(ARG "COLD" "" "HEADERS;DEPENDS" ${ARGN})
  if(NOT TRIBUTARY_PRECOMPILED)
    return()
  endif()
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc "// A precompiled header needs a target, and a target a source.\n")
  add_library(${name} STATIC ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PUBLIC tributary_options ${ARG_DEPENDS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  if(ARG_COLD)
    tributary_cold(${name})
  endif()
endfunction()

# tributary_precompiled(TARGET NAME): TARGET reads the set NAME.
function(tributary_precompiled target name)
  if(TRIBUTARY_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
