# vga_embed(<target> <namespace> <variable>=<file>...): makes each file's bytes available as
# `extern const std::string_view <namespace>::<variable>` in the generated header "<target>_embedded.hpp". Without a
# file ("<variable>=") the text is empty.
function(vga_embed target namespace)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  set(header ${dir}/${target}_embedded.hpp)
  set(source ${dir}/${target}_embedded.cpp)
  set(files)
  foreach(pair IN LISTS ARGN)
    string(REGEX REPLACE "^[^=]+=" "" file "${pair}")
    list(APPEND files ${file})
  endforeach()
  add_custom_command(
    OUTPUT ${header} ${source}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DSOURCE=${source} -DNAMESPACE=${namespace} "-DPAIRS=${ARGN}"
            -P ${VGA_ROOT}/cmake/embed.cmake
    DEPENDS ${files} ${VGA_ROOT}/cmake/embed.cmake
    COMMENT "Embedding files into ${target}" VERBATIM)
  target_sources(${target} PRIVATE ${source} ${header})
  # An object file of its own: a program that brings its own texts leaves it out (vgpusim_without_extras).
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_include_directories(${target} PRIVATE ${dir})
endfunction()

# vga_embed_documents(<target> <namespace> <variable>=<JSON file>...): makes each file a table,
# `extern const std::span<const document_token> <namespace>::<variable>` of the same header. No JSON is read when the program runs.
function(vga_embed_documents target namespace)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  set(header ${dir}/${target}_embedded.hpp)
  set(source ${dir}/${target}_embedded.cpp)
  set(files)
  foreach(pair IN LISTS ARGN)
    string(REGEX REPLACE "^[^=]+=" "" file "${pair}")
    list(APPEND files ${file})
  endforeach()
  add_custom_command(
    OUTPUT ${header} ${source}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DSOURCE=${source} -DNAMESPACE=${namespace} "-DPAIRS=${ARGN}"
            -P ${VGA_ROOT}/cmake/embed_documents.cmake
    DEPENDS ${files} ${VGA_ROOT}/cmake/embed_documents.cmake
    COMMENT "Embedding documents into ${target}" VERBATIM)
  target_sources(${target} PRIVATE ${source} ${header})
  target_include_directories(${target} PRIVATE ${dir})
endfunction()
