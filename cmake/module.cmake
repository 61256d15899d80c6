# tributary_cold(TARGET): it runs once or rarely and is compiled for a short build. What it calls often lies in other libraries.
function(tributary_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# tributary_numeric(TARGET): its loops make tests take minutes where a preset compiles without optimisation.
function(tributary_numeric target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O1>)
endfunction()

# tributary_module(NAME [COLD | NUMERIC] [FOLDERS folder...] [DEPENDS lib...] [TEST_DEPENDS lib...] [EXCLUDE regex])
#
# A folder is a module. Its *.cc (or those of FOLDERS) make the library tributary_NAME, its *_test.cc the test
# binary NAME_test, its *_fuzz.cc (with TRIBUTARY_FUZZ) one fuzzer each. main.cc belongs to an executable. COLD is
# tributary_cold, NUMERIC tributary_numeric. Files that match EXCLUDE are left to the folder's own CMakeLists.txt. With TRIBUTARY_UNITY (cmake/unity.cmake) names in
# anonymous namespaces must differ within a module, and within its tests.
function(tributary_module name)
  cmake_parse_arguments(ARG "COLD;NUMERIC" "EXCLUDE" "FOLDERS;DEPENDS;TEST_DEPENDS" ${ARGN})
  if(NOT ARG_FOLDERS)
    set(ARG_FOLDERS .)
  endif()
  list(TRANSFORM ARG_FOLDERS APPEND "/*.cc" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${ARG_EXCLUDE}")
  endif()
  set(tests ${sources})
  set(fuzzers ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|/main)\\.cc$")

  if(sources)
    add_library(tributary_${name} STATIC ${sources})
    target_link_libraries(tributary_${name} PUBLIC tributary_options ${ARG_DEPENDS})
    tributary_unity(tributary_${name})
    if(ARG_COLD)
      tributary_cold(tributary_${name})
    elseif(ARG_NUMERIC)
      tributary_numeric(tributary_${name})
    endif()
  else()
    add_library(tributary_${name} INTERFACE)
    target_link_libraries(tributary_${name} INTERFACE tributary_options ${ARG_DEPENDS})
  endif()

  if(TRIBUTARY_TESTS AND tests)
    tributary_test(${name}_test SOURCES ${tests} DEPENDS tributary_${name} ${ARG_TEST_DEPENDS})
  endif()
  if(TRIBUTARY_FUZZ)
    # A build without tests does not have what is made for tests alone.
    list(TRANSFORM ARG_TEST_DEPENDS REPLACE "(.+)" "$<TARGET_NAME_IF_EXISTS:\\1>" OUTPUT_VARIABLE helpers)
    foreach(file ${fuzzers})
      get_filename_component(fuzzer ${file} NAME_WE)
      add_executable(${fuzzer} ${file})
      target_link_libraries(${fuzzer} PRIVATE tributary_${name} ${helpers})
      target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()

# tributary_test(NAME SOURCES file... [DEPENDS lib...] [LABELS label...] [PROCESSORS n])
#
# PROCESSORS: how many each of the tests needs, so that ctest -j starts no other beside it that would take one away.
function(tributary_test name)
  cmake_parse_arguments(ARG "" "PROCESSORS" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 1)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  tributary_unity(${name})
  tributary_cold(${name})
  target_compile_definitions(${name} PRIVATE
    TRIBUTARY_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TRIBUTARY_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT 300 PROCESSORS ${ARG_PROCESSORS} LABELS "${ARG_LABELS}")
endfunction()
