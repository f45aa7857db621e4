# Every layer is configured, built, installed and tested alone, in an empty folder, with its own packages and nothing else, on the
# layers below it as they are installed; and a program uses it. Its unit tests are those that the build of the whole has compiled,
# linked with the layer as it was built alone. They need GoogleTest besides.
# Usage: cmake -DROOT=CHECKOUT -DBUILD=FOLDER -DWORK=FOLDER -DNINJA=PATH -DCOMPILER=PATH -P layers.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
set(packages nlohmann_json yaml-cpp Boost Eigen3 fmt CLI11 GTest OpenSSL ZLIB CURL)
set(packages_of_text nlohmann_json yaml-cpp)
set(packages_of_plan Boost Eigen3)
set(packages_of_kubernetes fmt yaml-cpp)
set(packages_of_operate yaml-cpp)
set(packages_of_compat yaml-cpp)
set(packages_of_c_api yaml-cpp)
set(packages_of_operations yaml-cpp fmt OpenSSL ZLIB)
set(packages_of_facade yaml-cpp fmt OpenSSL ZLIB)
set(headers_of_tests_kubernetes nlohmann) # recorded annotations
set(headers_of_tests_operations nlohmann)
set(headers_of_tests_facade nlohmann)
set(objects_of_unit_operations decision_history) # logs, as the C interface writes them
set(layers_of_unit_operations c_api)
include(${CMAKE_CURRENT_LIST_DIR}/../unit_layers.cmake)
include(${ROOT}/cmake/layers.cmake)

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

# The compiler sees all packages of the system: what it has read is looked at.
function(check_headers_of_tests layer objects)
  execute_process(COMMAND ${NINJA} -C ${BUILD} -t deps ${objects} OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
  foreach(folder nlohmann yaml-cpp boost Eigen fmt CLI openssl curl)
    if(headers MATCHES "\n *([^\n]*/${folder}/[^\n]*)" AND NOT folder IN_LIST headers_of_tests_${layer})
      message(FATAL_ERROR "tests of ${layer} include ${CMAKE_MATCH_1}")
    endif()
  endforeach()
endfunction()

set(layers ${vgpualloc_layers} ${vgpualloc_upper_layers})
list(REMOVE_ITEM layers vgpualloc) # nothing but all of them under one name
foreach(layer IN LISTS layers)
  set(source ${ROOT}/libvgpualloc/${layer})
  if(layer STREQUAL "text")
    set(source ${ROOT}/formats/text)
  elseif(layer IN_LIST vgpualloc_upper_layers)
    set(source ${ROOT}/${layer})
  endif()
  what_is_missing(without ${packages_of_${layer}})
  set(common -G Ninja -DCMAKE_MAKE_PROGRAM=${NINJA} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0
      -DCMAKE_UNITY_BUILD=ON -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  run("configuring ${layer}" ${CMAKE_COMMAND} -S ${source} -B ${WORK}/${layer} ${common} ${without} -DVGA_INSTALLED_LAYERS=ON)
  run("building ${layer}" ${CMAKE_COMMAND} --build ${WORK}/${layer})
  run("installing ${layer}" ${CMAKE_COMMAND} --install ${WORK}/${layer} --prefix ${WORK}/prefix
      --component ${layer})
  run("configuring a program on ${layer}" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/layers -B ${WORK}/program_${layer}
      ${common} ${without} -DLAYER=${layer})
  run("building a program on ${layer}" ${CMAKE_COMMAND} --build ${WORK}/program_${layer})
  run("the program on ${layer}" ${WORK}/program_${layer}/program)
  foreach(module IN LISTS vgpualloc_tests_${layer}) # none of c_api: the program in C is its test
    set(patterns unit_${module} ${objects_of_unit_${module}})
    list(TRANSFORM patterns REPLACE "(.+)" "${BUILD}/tests/unit/CMakeFiles/\\1.dir/*.o")
    file(GLOB_RECURSE objects RELATIVE ${BUILD} ${patterns})
    if(NOT objects)
      message(FATAL_ERROR "no object of unit_${module} in ${BUILD}")
    endif()
    check_headers_of_tests(${layer} "${objects}")
    list(TRANSFORM objects PREPEND ${BUILD}/)
    list(JOIN objects "|" objects)
    list(JOIN layers_of_unit_${module} "|" besides)
    run("configuring unit_${module}" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/layer_tests -B ${WORK}/unit_${module} ${common}
        "-DLAYERS=${layer}|${besides}" "-DOBJECTS=${objects}")
    run("linking unit_${module}" ${CMAKE_COMMAND} --build ${WORK}/unit_${module})
    run("unit_${module}" ${WORK}/unit_${module}/layer_test --gtest_brief=1)
  endforeach()
  message("${layer}: configured, built, installed, used and tested alone")
endforeach()
