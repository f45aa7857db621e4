# The compiler of the module: clang in PyPI's package ziglang, with its wasi-libc and the sources of its C++ library.
# scripts/web.sh installs it and names the folder in VGA_ZIG.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VGA_ZIG)

set(zig ${VGA_ZIG}/zig)
set(CMAKE_C_COMPILER ${zig} cc)
set(CMAKE_CXX_COMPILER ${zig} c++)
# What CMake would find out by linking a program, for which zig would build a C++ library that the module does not use.
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
  set(CMAKE_${language}_COMPILER_ID Clang)
  set(CMAKE_${language}_COMPILER_VERSION 22.1.8)
  set(CMAKE_${language}_COMPILER_FRONTEND_VARIANT GNU)
  set(CMAKE_${language}_STANDARD_COMPUTED_DEFAULT 17)
endforeach()
# Exceptions are the processor's own. The vector of a 32-bit size: what Boost 1.74 takes of the standard library has left it.
set(target -target wasm32-wasi -mcpu=generic+exception_handling+multivalue+reference_types)
list(JOIN target " " target)
set(CMAKE_C_FLAGS_INIT "${target} -fno-sanitize=undefined")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT} -fwasm-exceptions -D_LIBCPP_HAS_FILESYSTEM=1 -Wno-macro-redefined \
-D_LIBCPP_ENABLE_CXX17_REMOVED_UNARY_BINARY_FUNCTION -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_GETPID")

foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "${zig} ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "${zig} ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "${zig} ranlib <TARGET>")
endforeach()
# As a C program: zig would add its own C++ library, which knows no exceptions here (web/runtime.cmake).
set(CMAKE_CXX_LINK_EXECUTABLE
    "${zig} cc ${target} <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")

# Nothing of this machine's programs and libraries fits, and its headers are taken one library at a time (web/packages.cmake).
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
