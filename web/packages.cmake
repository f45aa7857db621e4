# The libraries of others, as find_package finds them elsewhere. Their headers are those of this system's packages; yaml-cpp and zlib are
# compiled from the sources of theirs, which scripts/web.sh fetches into VGA_SOURCES.
set(headers ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
# One folder per library, as the headers of this machine's C library must not be seen.
foreach(folder CLI boost eigen3/Eigen fmt nlohmann tl)
  cmake_path(GET folder FILENAME name)
  find_path(VGA_HEADERS_${name} ${folder} PATHS /usr/include /usr/local/include NO_DEFAULT_PATH REQUIRED)
  mark_as_advanced(VGA_HEADERS_${name})
  file(CREATE_LINK ${VGA_HEADERS_${name}}/${folder} ${headers}/${name} SYMBOLIC)
endforeach()

# vga_package(<name> <target>): find_package(<name>) finds this target. Version numbers are those of the system's packages.
function(vga_package name)
  string(TOLOWER ${name} lower)
  file(WRITE ${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/${lower}-config.cmake "")
  file(WRITE ${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/${lower}-config-version.cmake
       "set(PACKAGE_VERSION 0)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
endfunction()
foreach(package "fmt fmt::fmt" "fmt fmt::fmt-header-only" "nlohmann_json nlohmann_json::nlohmann_json" "tl-expected tl::expected"
                "CLI11 CLI11::CLI11" "Boost Boost::headers" "Eigen3 Eigen3::Eigen")
  separate_arguments(package)
  list(POP_FRONT package name)
  vga_package(${name})
  add_library(${package} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${package} SYSTEM INTERFACE ${headers})
endforeach()
target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)

file(GLOB yaml_sources ${VGA_SOURCES}/yaml-cpp-*/src/*.cpp)
file(GLOB yaml_headers ${VGA_SOURCES}/yaml-cpp-*/include)
add_library(yaml-cpp STATIC ${yaml_sources})
target_include_directories(yaml-cpp SYSTEM PUBLIC ${yaml_headers})
target_compile_definitions(yaml-cpp PUBLIC YAML_CPP_STATIC_DEFINE)
target_compile_options(yaml-cpp PRIVATE -w)
vga_package(yaml-cpp)

file(GLOB zlib_headers ${VGA_SOURCES}/zlib-*/zlib.h)
cmake_path(GET zlib_headers PARENT_PATH zlib)
add_library(zlib STATIC ${zlib}/adler32.c ${zlib}/crc32.c ${zlib}/inffast.c ${zlib}/inflate.c ${zlib}/inftrees.c ${zlib}/zutil.c)
set_target_properties(zlib PROPERTIES UNITY_BUILD OFF)
add_library(ZLIB::ZLIB ALIAS zlib)
target_include_directories(zlib SYSTEM PUBLIC ${zlib})
target_compile_options(zlib PRIVATE -w)
vga_package(ZLIB)
set(ZLIB_FOUND TRUE)
