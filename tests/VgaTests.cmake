# How programs of tests are made.
# What the files of a program have in common, GoogleTest above all, is then compiled once for several of them.
option(VGA_UNITY_TESTS "Compile several files of a test program as one" ON)

# vga_add_tests(<name> LABELS <labels> LIBRARIES <libs> SOURCES <files> [SHARDS <n>]): one program, which ctest runs once,
# or <n> times with a share of its cases each. A process for every case would cost more than most cases do. What became of
# each case is in the program's own report below gtest/, which scripts/count_tests.py counts.
function(vga_add_tests name)
  cmake_parse_arguments(ARG "" "SHARDS" "LABELS;LIBRARIES;SOURCES;ENVIRONMENT" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  target_compile_definitions(${name} PRIVATE VGA_SOURCE_DIR="${VGA_ROOT}")
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest_main GTest::gmock)
  vga_use_test_options(${name})
  if(TARGET core_tests AND ARG_LABELS MATCHES "^(unit|property)$")
    add_dependencies(core_tests ${name})
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${VGA_UNITY_TESTS} UNITY_BUILD_BATCH_SIZE 16)
  # No decision of the product is made in a test's own code, and the optimiser takes a third of the time that compiling unit
  # tests takes (half with sanitizers).
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(ARG_LABELS STREQUAL "unit")
    target_compile_options(${name} PRIVATE -O0)
  elseif(VGA_OPTIMIZED_LAYERS)
    target_compile_options(${name} PRIVATE -O1)
  endif()
  # Nor do these: the library is compiled with them, and a null pointer ends a test in any case.
  if(VGA_SANITIZE MATCHES "undefined")
    target_compile_options(${name} PRIVATE -fno-sanitize=null,alignment,vptr,object-size)
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    set(test ${name})
    if(ARG_SHARDS GREATER 1)
      string(APPEND test .${shard})
    endif()
    math(EXPR shard_index "${shard} - 1")
    add_test(NAME ${test} COMMAND ${name} --gtest_brief=1 --gtest_output=xml:${PROJECT_BINARY_DIR}/gtest/${test}.xml)
    set_tests_properties(${test} PROPERTIES LABELS "${ARG_LABELS}" COST ${ARG_SHARDS}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard_index};${ARG_ENVIRONMENT}")
  endforeach()
endfunction()
