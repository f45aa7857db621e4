# -Werror was on for everybody who built the checkout.
file(READ ${BUILD_DIR}/compile_commands.json commands)
if(NOT commands MATCHES "-Wall")
  message(FATAL_ERROR "${BUILD_DIR}/compile_commands.json has no options of this project")
endif()
if(commands MATCHES "-Werror")
  message(FATAL_ERROR "-Werror is on without VGA_WARNINGS_AS_ERRORS")
endif()
