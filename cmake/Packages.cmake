# `make packages`: a Debian package of each program, by CPack, below /usr; what only packages have is left out of `cmake --install`.
#
# inlier-trial carries the libraries of a LibTorch without CUDA, which is no Debian package; one with CUDA is too large for that and
# stays where the build found it: the machine that the package is installed on needs it at the same place.
set(INLIER_PACKAGE_MAINTAINER "inlier, built from source <root@localhost>" CACHE STRING "Maintainer that the Debian packages name")
set(debian ${CMAKE_SOURCE_DIR}/deploy/debian)

# Carried libraries: $ORIGIN is the folder of the program.
set(carried_libraries lib/inlier)
set(carried_path "$ORIGIN/../${carried_libraries}")

# inlier_control(PROGRAM FILE... [FROM TEMPLATE-PROGRAM]): makes the control files of a package from the templates in deploy/debian.
function(inlier_control program)
  cmake_parse_arguments(ARG "" "DAEMON" "" ${ARGN})
  set(INLIER_PACKAGE ${program})
  set(INLIER_DAEMON ${ARG_DAEMON})
  string(REPLACE "inlier-" "" INLIER_ROLE ${ARG_DAEMON})
  set(INLIER_STATE inlier-${INLIER_ROLE})
  if(INLIER_ROLE STREQUAL "coordinator")
    set(INLIER_STATE inlier)
  endif()
  set(made)
  foreach(file IN LISTS ARG_UNPARSED_ARGUMENTS)
    configure_file(${debian}/${file}.in ${CMAKE_BINARY_DIR}/debian/${program}/${file} @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    list(APPEND made ${CMAKE_BINARY_DIR}/debian/${program}/${file})
  endforeach()
  string(TOUPPER ${program} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${made} PARENT_SCOPE)
endfunction()

# The Debian names of what the packages put outside of /usr/bin.
set(CPACK_COMPONENTS_ALL)
foreach(program inlier inlier-coordinator inlier-worker inlier-trial)
  if(TARGET ${program})
    list(APPEND CPACK_COMPONENTS_ALL ${program})
    string(TOUPPER ${program} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${program})
    set(CPACK_DEBIAN_${upper}_DESCRIPTION "${INLIER_ABOUT_${program}}")
    install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/${program} RENAME copyright COMPONENT ${program} EXCLUDE_FROM_ALL)
  endif()
endforeach()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/sweeps DESTINATION share/doc/inlier COMPONENT inlier EXCLUDE_FROM_ALL FILES_MATCHING PATTERN *.yaml)
set(CPACK_DEBIAN_INLIER_PACKAGE_RECOMMENDS "inlier-coordinator, inlier-worker, gnuplot-nox")

foreach(daemon coordinator worker)
  install(FILES ${CMAKE_SOURCE_DIR}/deploy/${daemon}.yaml DESTINATION /etc/inlier COMPONENT inlier-${daemon} EXCLUDE_FROM_ALL)
  string(TOUPPER ${daemon} upper)
  set(CPACK_DEBIAN_INLIER-${upper}_PACKAGE_DEPENDS adduser)
  inlier_control(inlier-${daemon} conffiles postinst prerm postrm DAEMON inlier-${daemon})
endforeach()

if(TARGET inlier-trial)
  # A worker and its inlier-trial are of one version.
  set(CPACK_COMPONENT_INLIER-WORKER_DEPENDS inlier-trial)
  set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
  # It stops the worker, whose program it is.
  inlier_control(inlier-trial prerm DAEMON inlier-worker)
  # The program that fetches texts, and the link by which programs of this prefix find them (base/data/data_dir.h).
  set(get_corpora lib/inlier/corpora)
  install(PROGRAMS ${CMAKE_SOURCE_DIR}/cmake/corpora/get-corpora DESTINATION ${get_corpora} COMPONENT inlier-trial EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_SOURCE_DIR}/cmake/corpora/packages.sha256 ${CMAKE_SOURCE_DIR}/cmake/corpora/to_text.pl DESTINATION ${get_corpora} COMPONENT inlier-trial EXCLUDE_FROM_ALL)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/tests/golden/tokenizers DESTINATION ${get_corpora} COMPONENT inlier-trial EXCLUDE_FROM_ALL
          FILES_MATCHING PATTERN *-vocab.* PATTERN *-merges.txt)
  install(CODE "file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/inlier\")
file(CREATE_LINK /var/lib/inlier-corpora \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/inlier/corpora\" SYMBOLIC)" COMPONENT inlier-trial EXCLUDE_FROM_ALL)
  if(NOT EXISTS ${INLIER_TORCH_DIR}/lib/libtorch_cuda.so)
    # Room for the other path in the program, where LibTorch's own is a short one.
    set_property(TARGET inlier-trial APPEND PROPERTY BUILD_RPATH ${carried_path})
    install(CODE "set(INLIER_TRIAL \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/inlier-trial\")
set(INLIER_CARRIED \"\${CMAKE_INSTALL_PREFIX}/${carried_libraries}\")
set(INLIER_CARRIED_PATH [=[${carried_path}]=])
set(INLIER_TORCH_DIR \"${INLIER_TORCH_DIR}\")" COMPONENT inlier-trial EXCLUDE_FROM_ALL)
    install(SCRIPT ${debian}/carry_libtorch.cmake COMPONENT inlier-trial EXCLUDE_FROM_ALL)
    file(GLOB licences ${INLIER_TORCH_DIR}/../torch-*.dist-info/licenses)
    if(licences)
      install(DIRECTORY ${licences}/ DESTINATION share/doc/inlier-trial/libtorch COMPONENT inlier-trial EXCLUDE_FROM_ALL)
    endif()
  endif()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME inlier)
set(CPACK_PACKAGE_CONTACT "${INLIER_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/packages)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${INLIER_TORCH_DIR}/lib)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
