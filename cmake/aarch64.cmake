# Programs for AArch64, built on any machine and run by tests/support/run_aarch64: how the Arm code is tested where
# there is no such machine. Object by object, with that machine's compiler beside the host's, for few files are needed
# and none of the host's libraries: fmt is its headers, GoogleTest its sources.

find_program(MINFER_AARCH64_CC aarch64-linux-gnu-gcc)
find_program(MINFER_AARCH64_CXX aarch64-linux-gnu-g++)
find_path(MINFER_GTEST_SOURCE src/gtest-all.cc PATHS /usr/src/googletest/googletest NO_DEFAULT_PATH)

# The decoders and encoders of src/quant, and what they need.
set(MINFER_AARCH64_QUANT arithmetic decode encode encoders encoders_neon encoders_scalar)
list(TRANSFORM MINFER_AARCH64_QUANT PREPEND quant/)
list(APPEND MINFER_AARCH64_QUANT gguf/types base/cpu_features base/error)
list(TRANSFORM MINFER_AARCH64_QUANT REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/src/\\1.cpp")

# minfer_aarch64_objects(VARIABLE source.cpp ...)
# Objects of these sources, absolute or relative to the folder at hand, each with the options that its own folder's
# CMakeLists.txt gives it (COMPILE_OPTIONS); VARIABLE becomes the list of them.
function(minfer_aarch64_objects variable)
    # fmt's headers alone: the host's other headers are not that machine's.
    get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
    set(include ${CMAKE_BINARY_DIR}/aarch64/include)
    file(MAKE_DIRECTORY ${include})
    file(CREATE_LINK ${fmt_include}/fmt ${include}/fmt SYMBOLIC)
    set(objects)
    foreach(source IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH source)
        cmake_path(GET source PARENT_PATH folder)
        set(options -O1)  # of tests, of which there is more to compile than to run
        if(folder MATCHES "^${CMAKE_SOURCE_DIR}/src/")
            get_source_file_property(options ${source} DIRECTORY ${folder} COMPILE_OPTIONS)
            if(NOT options)  # NOTFOUND
                set(options)
            endif()
            list(APPEND options -O2)
        endif()
        file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
        string(REGEX REPLACE "^(\\.\\./)+|\\.[a-z]+$" "" name ${name})
        string(REPLACE "/" "_" name ${name})
        set(object ${CMAKE_CURRENT_BINARY_DIR}/aarch64/${name}.o)
        add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d VERBATIM
            COMMENT "Building for AArch64: ${name}.o"
            COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/aarch64
            COMMAND ${ccache_launcher} ${MINFER_AARCH64_CXX} -std=c++20 ${options} -ffp-contract=off
                -Wall -Wextra -Wpedantic -Wshadow -Werror -DFMT_HEADER_ONLY
                -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/tests -isystem ${include}
                -isystem ${MINFER_GTEST_SOURCE}/include -isystem ${MINFER_GTEST_SOURCE}
                -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object})
        list(APPEND objects ${object})
    endforeach()
    set(${variable} ${objects} PARENT_SCOPE)
endfunction()

# minfer_aarch64_program(NAME object.o ...)
# Links ${CMAKE_CURRENT_BINARY_DIR}/aarch64/NAME, of which some target has to depend.
function(minfer_aarch64_program name)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/aarch64/${name})
    add_custom_command(OUTPUT ${program} DEPENDS ${ARGN} VERBATIM COMMENT "Linking for AArch64: ${name}"
        COMMAND ${MINFER_AARCH64_CXX} -o ${program} ${ARGN})
endfunction()
