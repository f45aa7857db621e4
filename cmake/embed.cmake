# Script part of vga_embed: writes the bytes of files as C++ arrays.
get_filename_component(header_name ${HEADER} NAME)
set(declarations "")
set(definitions "")
foreach(pair IN LISTS PAIRS)
  string(REGEX REPLACE "=.*$" "" variable "${pair}")
  string(REGEX REPLACE "^[^=]+=" "" file "${pair}")
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR bytes "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(APPEND declarations "extern const std::string_view ${variable};\n")
  string(APPEND definitions
    "static const unsigned char ${variable}_bytes[] = {${hex}0};\n"
    "const std::string_view ${variable}{reinterpret_cast<const char*>(${variable}_bytes), ${bytes}};\n")
endforeach()
file(WRITE ${HEADER} "// Generated from files at build time.\n#pragma once\n#include <string_view>\nnamespace ${NAMESPACE} {\n${declarations}}\n")
file(WRITE ${SOURCE} "// Generated from files at build time.\n#include \"${header_name}\"\nnamespace ${NAMESPACE} {\n${definitions}}\n")
