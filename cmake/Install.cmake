# `cmake --install`: programs, completions, a manual page, systemd units and examples of configurations. LibTorch stays where the build
# found it; inlier-trial has its path.
include(GNUInstallDirs)

if(TARGET inlier-trial)
  set_target_properties(inlier-trial PROPERTIES INSTALL_RPATH ${INLIER_TORCH_DIR}/lib)
endif()
foreach(program inlier inlier-coordinator inlier-worker inlier-trial)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

if(TARGET inlier)
  # At installation, when the program and the prefix are known.
  install(CODE "set(INLIER_PROGRAM \"$<TARGET_FILE:inlier>\")
set(INLIER_BIN \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
set(INLIER_DOC \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\")
set(INLIER_MAN \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")
set(INLIER_SHARE \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
set(INLIER_UNITS \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\")
set(INLIER_SOURCE \"${CMAKE_SOURCE_DIR}\")
set(INLIER_MADE \"${CMAKE_BINARY_DIR}/install\")")
  install(SCRIPT ${CMAKE_SOURCE_DIR}/deploy/install_made.cmake)
endif()
