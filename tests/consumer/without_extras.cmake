# Configuring succeeds without dygraphs, libcurl, OpenSSL and HiGHS, and says what is left out.
# Usage: cmake -DROOT=CHECKOUT -DWORK=FOLDER -DGENERATOR=NAME -DCOMPILER=PATH -P without_extras.cmake
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${ROOT} -B ${WORK} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DVGA_CHARTS=OFF -DVGA_SOLVER=OFF
          -DCMAKE_DISABLE_FIND_PACKAGE_CURL=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "configuring failed:\n${output}")
endif()
if(NOT output MATCHES "features have been disabled:.*vgpusim bound.*vgpusim fetch.*curves in report.html")
  message(FATAL_ERROR "it does not say what is left out:\n${output}")
endif()
