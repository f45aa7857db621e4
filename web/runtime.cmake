# The C++ library with exceptions. The one that zig builds for WebAssembly has none, so it is compiled here from the sources that zig
# brings along.
set(sources ${VGA_ZIG}/lib)
file(GLOB library ${sources}/libcxx/src/*.cpp ${sources}/libcxx/src/filesystem/*.cpp ${sources}/libcxx/src/ryu/*.cpp
     ${sources}/libcxxabi/src/*.cpp)
# Threads, what another file is compiled in place of, and what is for other systems.
list(FILTER library EXCLUDE REGEX "/(atomic|barrier|condition_variable.*|future|mutex.*|shared_mutex|thread|filesystem/int128_builtins\
|cxa_noexception|cxa_thread_atexit|stdlib_new_delete|filesystem/.*_win32)\\.cpp$")
add_library(cxx_runtime STATIC ${library} ${sources}/libunwind/src/Unwind-wasm.c ${CMAKE_CURRENT_LIST_DIR}/exception_tag.c)
set_target_properties(cxx_runtime PROPERTIES CXX_STANDARD 23 C_STANDARD 23 UNITY_BUILD OFF)
target_include_directories(cxx_runtime PRIVATE ${sources}/libcxx/src ${sources}/libcxx/libc ${sources}/libcxxabi/include
                           ${sources}/libunwind/include ${sources}/libunwind/src)
target_compile_options(cxx_runtime PRIVATE -w -fwasm-exceptions)
target_compile_definitions(cxx_runtime PRIVATE
  $<$<COMPILE_LANGUAGE:CXX>:_LIBCPP_BUILDING_LIBRARY> $<$<COMPILE_LANGUAGE:CXX>:LIBCXX_BUILDING_LIBCXXABI>
  $<$<COMPILE_LANGUAGE:CXX>:_LIBCPP_HAS_MUSL_LIBC=0> # it says that there is copy_file_range
  LIBC_NAMESPACE=__llvm_libc_common_utils _LIBUNWIND_HIDE_SYMBOLS _LIBUNWIND_HAS_NO_THREADS _LIBCXXABI_HAS_NO_THREADS)
