# Warnings are errors in lowwater's own code; never exported.
add_library(lowwater_warnings INTERFACE)
target_compile_options(lowwater_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wnull-dereference -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports false positives of these inside std::string and std::variant at -O2.
  target_compile_options(lowwater_warnings INTERFACE
    -Wno-null-dereference -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
    -Wno-array-bounds $<$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>:-Wno-dangling-reference> -Wno-missing-field-initializers)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(lowwater_warnings INTERFACE -Wno-missing-field-initializers
    -Wno-missing-designated-field-initializers -Wno-unknown-warning-option)
endif()
