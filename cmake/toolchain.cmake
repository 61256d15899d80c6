# Compiler and linker settings that every target shares.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
# A cross compiler finds only linkers that bear its prefix.
if(MOLD_PROGRAM AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()

# GCC looks through its heap for garbage again and again, an eighth of a compilation of ours. Where each core has memory
# enough, it may wait until a gigabyte is in use.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR memory_mib_of_a_core "${memory_mib} / ${cores}")
  if(memory_mib_of_a_core GREATER_EQUAL 4096)
    add_compile_options(--param=ggc-min-heapsize=1048576)
  endif()
endif()

# A board computes the bits of a PC. The baseline of amd64 has no fused multiply-add; arm64 has, and GCC would use it wherever a
# product meets a sum. Vector code says itself where it fuses.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  add_compile_options(-ffp-contract=off)
endif()

add_library(tributary_options INTERFACE)
target_include_directories(tributary_options INTERFACE ${PROJECT_SOURCE_DIR})
target_link_libraries(tributary_options INTERFACE fmt::fmt)
target_compile_options(tributary_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror=return-type)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(tributary_options INTERFACE -Wthread-safety)
endif()

# Libraries also keep the compiler's intermediate form, with the types of all their files, for tests/static/odr.sh. The machine
# code beside it is the same.
option(TRIBUTARY_ODR "Libraries can be checked for what is defined twice" OFF)
if(TRIBUTARY_ODR)
  target_compile_options(tributary_options INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,STATIC_LIBRARY>:-flto>
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,STATIC_LIBRARY>:-ffat-lto-objects>)
  add_link_options(-fno-lto)
endif()

# The instruction sets that vector code is compiled for, beside the compiler's own. Kernels keep arrays of vectors in registers,
# which rules scalable vectors out.
set(TRIBUTARY_VECTORS "HWY_AVX3_DL|HWY_AVX3|HWY_AVX2|HWY_SSE4|HWY_NEON" CACHE STRING "Highway's targets for vector code")
add_compile_definitions("HWY_DISABLED_TARGETS=(~(${TRIBUTARY_VECTORS}|HWY_EMU128|HWY_SCALAR))")

if(TRIBUTARY_SANITIZE)
  add_compile_options(-fsanitize=${TRIBUTARY_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TRIBUTARY_SANITIZE})
  add_compile_definitions(TRIBUTARY_SANITIZED)  # for tests that measure memory or limit it
endif()
if(TRIBUTARY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
