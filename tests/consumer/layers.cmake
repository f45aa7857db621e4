# Every layer is configured, built, installed and tested alone, in an empty folder, with its own packages and nothing else, on the
# layers below it as they are installed; and a program uses it. Its tests need GoogleTest besides.
# Usage: cmake -DROOT=CHECKOUT -DWORK=FOLDER -DGENERATOR=NAME -DCOMPILER=PATH -P layers.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
set(packages nlohmann_json yaml-cpp Boost Eigen3 fmt CLI11 GTest OpenSSL ZLIB CURL)
set(packages_of_text nlohmann_json yaml-cpp)
set(packages_of_plan Boost Eigen3)
set(packages_of_kubernetes fmt yaml-cpp)
set(packages_of_operate yaml-cpp)
set(packages_of_compat yaml-cpp)
set(packages_of_c_api yaml-cpp)
set(packages_of_tests_kubernetes nlohmann_json) # recorded annotations

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed:\n${output}")
  endif()
endfunction()

# what_is_missing(<result> <packages>...): options that hide all other packages.
function(what_is_missing result)
  set(options)
  foreach(package IN LISTS packages)
    if(NOT package IN_LIST ARGN)
      list(APPEND options -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
    endif()
  endforeach()
  set(${result} ${options} PARENT_SCOPE)
endfunction()

foreach(layer core text plan kubernetes operate compat c_api)
  set(source ${ROOT}/libvgpualloc/${layer})
  if(layer STREQUAL "text")
    set(source ${ROOT}/formats/text)
  endif()
  what_is_missing(without ${packages_of_${layer}})
  set(common -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0
      -DCMAKE_UNITY_BUILD=ON -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  run("configuring ${layer}" ${CMAKE_COMMAND} -S ${source} -B ${WORK}/${layer} ${common} ${without} -DVGA_INSTALLED_LAYERS=ON)
  run("building ${layer}" ${CMAKE_COMMAND} --build ${WORK}/${layer})
  run("installing ${layer}" ${CMAKE_COMMAND} --install ${WORK}/${layer} --prefix ${WORK}/prefix
      --component ${layer})
  run("configuring a program on ${layer}" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/layers -B ${WORK}/program_${layer}
      ${common} ${without} -DLAYER=${layer})
  run("building a program on ${layer}" ${CMAKE_COMMAND} --build ${WORK}/program_${layer})
  run("the program on ${layer}" ${WORK}/program_${layer}/program)
  if(NOT layer STREQUAL "c_api") # the program in C is its test
    what_is_missing(without ${packages_of_${layer}} ${packages_of_tests_${layer}} GTest)
    run("configuring the tests of ${layer}" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/layer_tests -B ${WORK}/tests_${layer}
        ${common} ${without} -DLAYER=${layer})
    run("building the tests of ${layer}" ${CMAKE_COMMAND} --build ${WORK}/tests_${layer})
    run("the tests of ${layer}" ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/tests_${layer} --output-on-failure)
  endif()
  message("${layer}: configured, built, installed, used and tested alone")
endforeach()
