# What every target of this project is compiled with.
add_library(vga_options INTERFACE)
# Deterministic floating point: g++ contracts a*b+c by default even with -std=c++20, which moves FGD placements.
target_compile_options(vga_options INTERFACE
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast> $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
# g++ 12 sees an overlap in "text" + std::string where there is none (gcc.gnu.org/PR105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(vga_options INTERFACE -Wno-restrict)
endif()
# The buffer of std::stable_sort, which libstdc++ itself takes, is deprecated in it.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(vga_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
endif()
if(VGA_WARNINGS_AS_ERRORS)
  target_compile_options(vga_options INTERFACE -Werror)
endif()
foreach(sanitizer IN LISTS VGA_SANITIZE)
  target_compile_options(vga_options INTERFACE -fsanitize=${sanitizer} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(vga_options INTERFACE -fsanitize=${sanitizer})
endforeach()
# GNU ld takes three times as long as LLVM's linker for programs with debug information and sanitizers.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld VGA_HAS_LLD)
  if(VGA_HAS_LLD)
    target_link_options(vga_options INTERFACE -fuse-ld=lld)
  endif()
endif()
# Counters of the product's lines, and libFuzzer's; the programs of tests do without.
add_library(vga_counters INTERFACE)
if(VGA_BUILD_FUZZ)
  target_compile_options(vga_counters INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(VGA_COVERAGE)
  target_compile_options(vga_counters INTERFACE --coverage)
  target_link_options(vga_options INTERFACE --coverage)
endif()

# Install nothing themselves; link the options only inside the build tree.
function(vga_use_options target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:vga_options> $<BUILD_INTERFACE:vga_counters>)
endfunction()
function(vga_use_test_options target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:vga_options>)
endfunction()
