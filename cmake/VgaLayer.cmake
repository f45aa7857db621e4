# Layers: libraries that configure, build, link and install alone, each from a folder of its own:
#   cmake -S libvgpualloc/core -B build
# builds that layer and those that it sees; the top level builds all. Included after project().
include_guard(GLOBAL)

option(VGA_INSTALL "Generate install rules" ${PROJECT_IS_TOP_LEVEL})
option(VGA_INSTALLED_LAYERS "Take lower layers from an installed package instead of building them" OFF)
option(VGA_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
option(VGA_VERIFY_EACH_STEP "Check the invariants after every ledger operation" OFF)
option(VGA_BARE_SYSTEM "For a system without threads, signals and clocks of CPU time, as a page in a browser is" OFF)
option(VGA_BUILD_FUZZ "Build the fuzz targets, where the compiler is clang" OFF)
if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(VGA_BUILD_FUZZ OFF)
endif()
option(VGA_COVERAGE "Instrument for gcov" OFF)
set(VGA_OPTIMIZED_LAYERS "" CACHE STRING "Layers that are optimised where the rest is not, as tests spend their time there")
set(VGA_SANITIZE "" CACHE STRING "Semicolon list of sanitizers, e.g. address;undefined")
# Of a unity build: batches of 8, the default, take twice as long to compile, as each reads the headers again.
if(NOT CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)
endif()

get_filename_component(vga_root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
set(VGA_ROOT ${vga_root} CACHE INTERNAL "The checkout")
file(STRINGS ${VGA_ROOT}/libvgpualloc/core/include/vgpualloc/version.hpp version_line REGEX "version = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${version_line}")
set(VGA_VERSION ${version} CACHE INTERNAL "Of all layers")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND CMAKE_PROJECT_NAME MATCHES "^vgpualloc_")
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

include(GNUInstallDirs)
set(VGA_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/vgpualloc CACHE INTERNAL "Of the CMake package")
include(FeatureSummary)
include(${VGA_ROOT}/cmake/layers.cmake)
include(${VGA_ROOT}/cmake/VgaOptions.cmake)
include(${VGA_ROOT}/cmake/VgaEmbed.cmake)

# vga_library(<target> <name> <sources>...): a static library, vgpualloc::<name>, as all of them are compiled.
function(vga_library target name)
  add_library(${target} STATIC ${ARGN})
  add_library(vgpualloc::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF
                        CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
  # In position-independent code g++ inlines no function that another library might replace at load time; none may here.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  vga_use_options(${target})
endfunction()

# vga_layer(<name> [<arguments of find_dependency>...]): the library vgpualloc::<name>, made of src/ with the public headers in
# include/. The layers that it sees (layers.cmake) come with it, and installed the packages that it needs.
function(vga_layer name)
  set(target vgpualloc_${name})
  vga_layers_seen_by(${name} links)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/*.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS include/*.hpp include/*.h)
  vga_library(${target} ${name} ${sources})
  set_target_properties(${target} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${headers})
  target_include_directories(${target} PRIVATE src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${links})
  if(name IN_LIST VGA_OPTIMIZED_LAYERS)
    target_compile_options(${target} PRIVATE -O1)
  endif()
  if(VGA_INSTALL)
    install(TARGETS ${target} EXPORT vgpualloc-${name} FILE_SET HEADERS COMPONENT ${name} ARCHIVE COMPONENT ${name})
    vga_install_package(${name} ${ARGN})
  endif()
endfunction()

# vga_part(<target> <name> <sources>...): a library that an upper layer is made of, vgpualloc::<name> where that layer is installed,
# with headers in include/.
function(vga_part target name)
  vga_library(${target} ${name} ${ARGN})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# vga_install_upper_layer(<name> PARTS <targets>... HEADERS <folders>... PACKAGES <arguments of find_dependency>...): of the parts'
# headers those in the folders below the checkout, and what they include.
function(vga_install_upper_layer name)
  if(NOT VGA_INSTALL)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "PARTS;HEADERS;PACKAGES" ${ARGN})
  set(folders)
  foreach(target IN LISTS ARG_PARTS)
    get_target_property(folder ${target} SOURCE_DIR)
    list(APPEND folders ${folder}/include)
  endforeach()
  list(TRANSFORM ARG_HEADERS PREPEND ${VGA_ROOT}/)
  list(TRANSFORM ARG_HEADERS APPEND /*.h* OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE new CONFIGURE_DEPENDS ${patterns})
  set(headers)
  while(new)
    list(POP_FRONT new header)
    if(header IN_LIST headers)
      continue()
    endif()
    list(APPEND headers ${header})
    file(STRINGS ${header} lines REGEX "^#include \"vgpu")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
      foreach(folder IN LISTS folders)
        if(EXISTS ${folder}/${included})
          list(APPEND new ${folder}/${included})
        endif()
      endforeach()
    endforeach()
  endwhile()
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "^.*/include/(.*)/[^/]*$" "\\1" folder ${header})
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT ${name})
  endforeach()
  install(TARGETS ${ARG_PARTS} EXPORT vgpualloc-${name} ARCHIVE COMPONENT ${name})
  vga_install_package(${name} ${ARG_PACKAGES})
endfunction()

# vga_layers_seen_by(<name> <result>): the targets of the layers that one sees, which are added where they are not there yet.
function(vga_layers_seen_by name result)
  foreach(lower IN LISTS vgpualloc_sees_${name})
    vga_need_layer(${lower})
  endforeach()
  list(TRANSFORM vgpualloc_sees_${name} PREPEND vgpualloc:: OUTPUT_VARIABLE targets)
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# Adds a layer unless it is there: from the checkout, or from where it is installed.
function(vga_need_layer name)
  if(TARGET vgpualloc::${name})
    return()
  endif()
  if(VGA_INSTALLED_LAYERS)
    find_package(vgpualloc ${VGA_VERSION} CONFIG REQUIRED COMPONENTS ${name})
  else()
    set(folder libvgpualloc/${name})
    if(name IN_LIST vgpualloc_upper_layers)
      set(folder ${name})
    elseif(name STREQUAL "text")
      set(folder formats/text)
    endif()
    add_subdirectory(${VGA_ROOT}/${folder} ${CMAKE_BINARY_DIR}/layers/${name})
  endif()
endfunction()

# vga_install_package(<component> <arguments of find_dependency>...): find_package(vgpualloc) finds the layers that are installed
# beside it, and for this one the packages that it needs.
function(vga_install_package component)
  install(EXPORT vgpualloc-${component} NAMESPACE vgpualloc:: DESTINATION ${VGA_CONFIG_DIR} COMPONENT ${component})
  list(TRANSFORM ARGN REPLACE "(.+)" "find_dependency(\\1)\n" OUTPUT_VARIABLE packages)
  list(JOIN packages "" packages)
  set(packages_file ${CMAKE_CURRENT_BINARY_DIR}/vgpualloc-${component}-packages.cmake)
  file(CONFIGURE OUTPUT ${packages_file} CONTENT "${packages}" @ONLY)
  include(CMakePackageConfigHelpers)
  file(READ ${VGA_ROOT}/cmake/layers.cmake VGA_LAYER_TABLE)
  configure_package_config_file(${VGA_ROOT}/cmake/vgpuallocConfig.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/vgpuallocConfig.cmake INSTALL_DESTINATION ${VGA_CONFIG_DIR})
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/vgpuallocConfigVersion.cmake
    VERSION ${VGA_VERSION} COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vgpuallocConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/vgpuallocConfigVersion.cmake
    ${packages_file} DESTINATION ${VGA_CONFIG_DIR} COMPONENT ${component})
endfunction()
