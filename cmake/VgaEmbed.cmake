# vga_generate_texts(<target> <namespace> <script> <variable>=<file>... <result>): the header "<target>_embedded.hpp" and its source, which
# a script of this folder writes from files. <result>: the source.
function(vga_generate_texts target namespace script pairs result)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  set(header ${dir}/${target}_embedded.hpp)
  set(source ${dir}/${target}_embedded.cpp)
  set(files)
  foreach(pair IN LISTS pairs)
    string(REGEX REPLACE "^[^=]+=" "" file "${pair}")
    list(APPEND files ${file})
  endforeach()
  add_custom_command(
    OUTPUT ${header} ${source}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DSOURCE=${source} -DNAMESPACE=${namespace} "-DPAIRS=${pairs}"
            -P ${VGA_ROOT}/cmake/${script}
    DEPENDS ${files} ${VGA_ROOT}/cmake/${script}
    COMMENT "Embedding files into ${target}" VERBATIM)
  target_sources(${target} PRIVATE ${source} ${header})
  target_include_directories(${target} PRIVATE ${dir})
  set(${result} ${source} PARENT_SCOPE)
endfunction()

# vga_embed(<target> <namespace> <variable>=<file>...): makes each file's bytes available as
# `extern const std::string_view <namespace>::<variable>` in the generated header "<target>_embedded.hpp". Without a
# file ("<variable>=") the text is empty.
function(vga_embed target namespace)
  vga_generate_texts(${target} ${namespace} embed.cmake "${ARGN}" source)
  # An object file of its own: a program that brings its own texts leaves it out (vgpusim_without_extras).
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# vga_embed_documents(<target> <namespace> <variable>=<JSON file>...): makes each file a table,
# `extern const std::span<const document_token> <namespace>::<variable>` of the same header. No JSON is read when the program runs.
function(vga_embed_documents target namespace)
  vga_generate_texts(${target} ${namespace} embed_documents.cmake "${ARGN}" source)
endfunction()
