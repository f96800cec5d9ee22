# How every target of minfer is built, and two functions that declare one in a line.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

# Paths are hashed relative to the checkout, so that a fresh clone finds what another one compiled.
find_program(CCACHE ccache)
if(CCACHE)
    set(ccache_launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache_launcher})
    set(CMAKE_C_COMPILER_LAUNCHER ${ccache_launcher})
endif()

add_library(minfer_flags INTERFACE)
# The arithmetic of docs/numerics.md depends on these: no contraction but where the source says fma, and no fast-math.
target_compile_options(minfer_flags INTERFACE -ffp-contract=off -fno-fast-math)
target_compile_options(minfer_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)
target_include_directories(minfer_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(MINFER_SANITIZE)
    target_compile_options(minfer_flags INTERFACE -fsanitize=${MINFER_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
    target_link_options(minfer_flags INTERFACE -fsanitize=${MINFER_SANITIZE})
endif()
if(MINFER_FUZZ)
    target_compile_options(minfer_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# minfer_library(NAME SOURCES a.cpp ... [DEPENDS base gguf] [LINK fmt::fmt] [LINK_PRIVATE ...])
# The static library of one folder of src/. DEPENDS names folders below it (scripts/check-layers checks the includes).
function(minfer_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LINK;LINK_PRIVATE")
    add_library(minfer_${name} STATIC ${arg_SOURCES})
    target_link_libraries(minfer_${name} PUBLIC minfer_flags ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE})
    foreach(dependency ${arg_DEPENDS})
        target_link_libraries(minfer_${name} PUBLIC minfer_${dependency})
    endforeach()
endfunction()

# minfer_test(NAME SOURCES a_test.cpp ... [DEPENDS gguf] [LINK ...] [LABELS bits] [TIMEOUT seconds])
# One GoogleTest program; each of its tests is a test of ctest. LABELS say which further builds run it as well
# (scripts/test): `bits` clang, `hostile` AddressSanitizer and UBSan, `threads` ThreadSanitizer. Others are for `ctest -L`.
function(minfer_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPENDS;LINK;LABELS")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 600)
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE minfer_flags minfer_test_support GTest::gtest_main GTest::gmock ${arg_LINK})
    foreach(dependency ${arg_DEPENDS})
        target_link_libraries(${name} PRIVATE minfer_${dependency})
    endforeach()
    foreach(label IN LISTS arg_LABELS)
        if(TARGET minfer_tests_${label})
            add_dependencies(minfer_tests_${label} ${name})
        endif()
    endforeach()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()

# minfer_python_test(NAME script.py [ARGS ...] [TIMEOUT seconds])
# A test in Python, run by the oracles' interpreter with the oracles' folder in MINFER_ORACLES.
function(minfer_python_test name script)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "ARGS")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 600)
    endif()
    add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/support/run_python ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${arg_ARGS})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()

# minfer_fuzz(NAME SOURCES x_fuzz.cpp [DEPENDS gguf] [CORPUS folder])
# A libFuzzer program, in builds with MINFER_FUZZ alone; there it is a test that runs a while, for longer hunts run it by
# hand. It starts from the files of CORPUS and keeps what it finds in the build folder. It sees what a build for fuzzing
# instruments: everything of minfer's.
function(minfer_fuzz name)
    if(NOT MINFER_FUZZ)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS" "SOURCES;DEPENDS")
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE minfer_flags)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    foreach(dependency ${arg_DEPENDS})
        target_link_libraries(${name} PRIVATE minfer_${dependency})
    endforeach()
    add_dependencies(minfer_fuzzers ${name})
    set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}_corpus)
    file(MAKE_DIRECTORY ${found})
    add_test(NAME ${name} COMMAND ${name} -max_total_time=10 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
             ${found} ${arg_CORPUS})
    set_tests_properties(${name} PROPERTIES LABELS fuzz)
endfunction()
add_custom_target(minfer_fuzzers)

# What `scripts/test clang`, `asan` and `tsan` build of the tests.
foreach(label bits hostile threads)
    add_custom_target(minfer_tests_${label})
endforeach()
