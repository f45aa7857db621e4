# Layers: libraries that configure, build, link and install alone, each from a folder of its own:
#   cmake -S libvgpualloc/core -B build
# builds that layer and those that it sees; the top level builds all. Included after project().
include_guard(GLOBAL)

option(VGA_INSTALL "Generate install rules" ${PROJECT_IS_TOP_LEVEL})
option(VGA_INSTALLED_LAYERS "Take lower layers from an installed package instead of building them" OFF)
option(VGA_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
option(VGA_VERIFY_EACH_STEP "Check the invariants after every ledger operation" OFF)
option(VGA_BUILD_FUZZ "Build the fuzz targets, where the compiler is clang" OFF)
if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(VGA_BUILD_FUZZ OFF)
endif()
option(VGA_COVERAGE "Instrument for gcov" OFF)
set(VGA_OPTIMIZED_LAYERS "" CACHE STRING "Layers that are optimised where the rest is not, as tests spend their time there")
set(VGA_SANITIZE "" CACHE STRING "Semicolon list of sanitizers, e.g. address;undefined")

get_filename_component(vga_root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
set(VGA_ROOT ${vga_root} CACHE INTERNAL "The checkout")
file(STRINGS ${VGA_ROOT}/libvgpualloc/core/include/vgpualloc/version.hpp version_line REGEX "version = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${version_line}")
set(VGA_VERSION ${version} CACHE INTERNAL "Of all layers")
set_property(GLOBAL PROPERTY VGA_LAYERS "")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND CMAKE_PROJECT_NAME MATCHES "^vgpualloc_")
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

include(GNUInstallDirs)
set(VGA_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/vgpualloc CACHE INTERNAL "Of the CMake package")
include(${VGA_ROOT}/cmake/VgaOptions.cmake)
include(${VGA_ROOT}/cmake/VgaEmbed.cmake)

# vga_layer(<name>): the library vgpualloc::<name>, made of src/ with the public headers in include/. The
# layers that it sees (layers.cmake) come with it.
function(vga_layer name)
  set(target vgpualloc_${name})
  vga_layers_seen_by(${name} links)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/*.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS include/*.hpp include/*.h)
  add_library(${target} STATIC ${sources})
  add_library(vgpualloc::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF
                        CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${headers})
  target_include_directories(${target} PRIVATE src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # In position-independent code g++ inlines no function that another library might replace at load time; none may here.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  target_link_libraries(${target} PUBLIC ${links})
  if(name IN_LIST VGA_OPTIMIZED_LAYERS)
    target_compile_options(${target} PRIVATE -O1)
  endif()
  vga_use_options(${target})
  set_property(GLOBAL APPEND PROPERTY VGA_LAYERS ${target})
  if(VGA_INSTALL)
    install(TARGETS ${target} EXPORT vgpualloc-${name} FILE_SET HEADERS COMPONENT ${name} ARCHIVE COMPONENT ${name})
    install(EXPORT vgpualloc-${name} NAMESPACE vgpualloc:: DESTINATION ${VGA_CONFIG_DIR} COMPONENT ${name})
    vga_install_package(${name})
  endif()
endfunction()

# vga_layers_seen_by(<name> <result>): the targets of the layers that one sees, which are added where they are not there yet.
function(vga_layers_seen_by name result)
  include(${VGA_ROOT}/cmake/layers.cmake)
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
  elseif(name STREQUAL "text")
    add_subdirectory(${VGA_ROOT}/formats/text ${CMAKE_BINARY_DIR}/layers/text)
  else()
    add_subdirectory(${VGA_ROOT}/libvgpualloc/${name} ${CMAKE_BINARY_DIR}/layers/${name})
  endif()
endfunction()

# vga_install_package(<component>): find_package(vgpualloc) finds the layers that are installed beside it.
function(vga_install_package component)
  include(CMakePackageConfigHelpers)
  file(READ ${VGA_ROOT}/cmake/layers.cmake VGA_LAYER_TABLE)
  configure_package_config_file(${VGA_ROOT}/cmake/vgpuallocConfig.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/vgpuallocConfig.cmake INSTALL_DESTINATION ${VGA_CONFIG_DIR})
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/vgpuallocConfigVersion.cmake
    VERSION ${VGA_VERSION} COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vgpuallocConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/vgpuallocConfigVersion.cmake
    DESTINATION ${VGA_CONFIG_DIR} COMPONENT ${component})
endfunction()
