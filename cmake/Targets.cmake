# How every target of the project is built: language level, warnings, sanitizers, and the helpers
# inlier_library, inlier_program and inlier_test.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

option(INLIER_WERROR "Warnings are errors" OFF)
set(INLIER_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, for example address,undefined")

find_program(INLIER_CCACHE ccache)
if(INLIER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Differences that ccache must ignore to work with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${INLIER_CCACHE})
endif()

add_library(inlier_options INTERFACE)
target_include_directories(inlier_options INTERFACE ${CMAKE_SOURCE_DIR})
# A member that designated initializers leave out has its default.
target_compile_options(inlier_options INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
if(CMAKE_UNITY_BUILD)
  # The files of a unity build are no headers, and the compiler, which sees many at once, takes optionals for uninitialized. The preset dev warns.
  target_compile_options(inlier_options INTERFACE -Wno-subobject-linkage -Wno-maybe-uninitialized)
endif()
if(INLIER_WERROR)
  target_compile_options(inlier_options INTERFACE -Werror)
endif()
if(INLIER_SANITIZE)
  target_compile_options(inlier_options INTERFACE -fsanitize=${INLIER_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(inlier_options INTERFACE -fsanitize=${INLIER_SANITIZE})
endif()

# At most two translation units that include LibTorch are compiled at once (each needs over a gigabyte).
set_property(GLOBAL APPEND PROPERTY JOB_POOLS torch_compile=2)

include(Precompiled)

# inlier_library(NAME SOURCES a.cc b.cc LIBS x y [HEADERS messages|services|tensors]): HEADERS are those of cmake/Precompiled.cmake.
function(inlier_library name)
  cmake_parse_arguments(ARG "" "HEADERS" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC inlier_options ${ARG_LIBS})
  if(ARG_HEADERS)
    inlier_precompiled(${name} ${ARG_HEADERS})
  endif()
endfunction()

# inlier_program(NAME SOURCES a.cc LIBS x y [HEADERS kind]): lands in <build>/bin.
function(inlier_program name)
  cmake_parse_arguments(ARG "" "HEADERS" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE inlier_options ${ARG_LIBS})
  if(ARG_HEADERS)
    inlier_precompiled(${name} ${ARG_HEADERS})
  endif()
endfunction()

# inlier_fast_malloc(NAME): a daemon whose threads free memory of other threads is half as fast again with
# jemalloc as with glibc's allocator. Sanitizers bring their own.
function(inlier_fast_malloc name)
  if(INLIER_JEMALLOC AND NOT INLIER_SANITIZE)
    target_link_libraries(${name} PRIVATE -Wl,--no-as-needed ${INLIER_JEMALLOC} -Wl,--as-needed)
  endif()
endfunction()

# Tests share the processors: threads of OpenMP must not spin while they wait. Two programs of two threads each on two
# cores otherwise take a minute for a second's work.
set(INLIER_TEST_ENVIRONMENT OMP_WAIT_POLICY=passive)

add_custom_target(golden_tests)  # Built by `make golden`.

# inlier_test_program(NAME SOURCES a_test.cc LIBS x y [HEADERS kind]): lands in <build>/tests, without a case of ctest.
function(inlier_test_program name)
  cmake_parse_arguments(ARG "" "HEADERS" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE inlier_options ${ARG_LIBS} GTest::gmock GTest::gtest GTest::gtest_main)
  if(ARG_HEADERS)
    inlier_precompiled(${name} ${ARG_HEADERS})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()

# inlier_test(NAME SOURCES a_test.cc LIBS x y LABEL unit|adapter|golden|integration|lint [TIMEOUT seconds] [HEADERS kind] [WHOLE]):
# one GoogleTest program; each TEST becomes a case of ctest, or the whole program is one case with WHOLE
# (for programs whose start is slow, such as those that load LibTorch).
function(inlier_test name)
  cmake_parse_arguments(ARG "WHOLE" "LABEL;TIMEOUT;HEADERS" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  inlier_test_program(${name} SOURCES ${ARG_SOURCES} LIBS ${ARG_LIBS} HEADERS ${ARG_HEADERS})
  if(ARG_LABEL STREQUAL "golden")
    add_dependencies(golden_tests ${name})
  endif()
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${INLIER_TEST_ENVIRONMENT}")
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${INLIER_TEST_ENVIRONMENT}")
  endif()
endfunction()
