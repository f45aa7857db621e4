# How programs of tests are made, also those of one layer alone (tests/consumer/layer_tests).
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

# The folders of unit tests by layer of the library. Each folder is a program, which links its layer and those that this one sees.
set(vgpualloc_tests_core core model catalog mode packing policy alloc local metrics verify)
set(vgpualloc_tests_text catalog_text)
set(vgpualloc_tests_plan plan)
set(vgpualloc_tests_kubernetes dialect kube explain live requirements)
set(vgpualloc_tests_operate operate)
set(vgpualloc_tests_compat compat)

# vga_unit_module(<folder> <libraries>...): one program per folder of tests/unit, its sources every *_test.cpp of it, and examples
# of the docs.
function(vga_unit_module module)
  set(folder ${VGA_ROOT}/tests/unit)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/${module}/*_test.cpp ${folder}/${module}/example/*.cpp)
  if(sources)
    vga_add_tests(unit_${module} LABELS unit LIBRARIES ${ARGN} SOURCES ${sources})
    target_include_directories(unit_${module} PRIVATE ${folder})
  endif()
endfunction()

# vga_unit_layer(<layer>): the tests of one layer. They see its private headers and those of the layers below it.
include(${VGA_ROOT}/cmake/layers.cmake)
function(vga_private_headers_of layer result)
  set(folders ${VGA_ROOT}/libvgpualloc/${layer}/src)
  foreach(lower IN LISTS vgpualloc_sees_${layer})
    vga_private_headers_of(${lower} below)
    list(APPEND folders ${below})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(${result} ${folders} PARENT_SCOPE)
endfunction()
function(vga_unit_layer layer)
  vga_private_headers_of(${layer} folders)
  foreach(module IN LISTS vgpualloc_tests_${layer})
    vga_unit_module(${module} vgpualloc::${layer})
    target_include_directories(unit_${module} PRIVATE ${folders})
  endforeach()
  if(TARGET unit_dialect)
    target_link_libraries(unit_dialect PRIVATE nlohmann_json::nlohmann_json) # recorded annotations
  endif()
endfunction()
