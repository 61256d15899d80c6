# cmake -DSOURCE=folder -DGIT=program -DOUTPUT=header -P commit.cmake
#
# Writes the commit of the tree into a header if it differs from the header's. After a commit a build then
# compiles one file and links the programs. Without git, or if SOURCE is no work tree of its own, the commit
# is empty.
set(commit "")
if(GIT)
  execute_process(COMMAND "${GIT}" -C "${SOURCE}" rev-parse --show-toplevel --short=7 HEAD
                  OUTPUT_VARIABLE lines ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result)
  if(result EQUAL 0)
    string(REPLACE "\n" ";" lines "${lines}")
    list(GET lines 0 top)
    file(REAL_PATH "${SOURCE}" source)
    # A tree that was unpacked inside another repository has no commit.
    if(top STREQUAL source)
      list(GET lines 1 commit)
    endif()
  endif()
endif()
set(content "#define TRIBUTARY_COMMIT \"${commit}\"\n")
set(present "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" present)
endif()
if(NOT content STREQUAL present)
  file(WRITE "${OUTPUT}" "${content}")
endif()
