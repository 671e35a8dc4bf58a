# Run while the package inlier-trial is made (cmake/Packages.cmake): puts the libraries of LibTorch that the program needs next to it, and their place
# into the program.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${INLIER_TRIAL} RESOLVED_DEPENDENCIES_VAR needed UNRESOLVED_DEPENDENCIES_VAR missing
     POST_INCLUDE_REGEXES "^${INLIER_TORCH_DIR}/" POST_EXCLUDE_REGEXES ".*")
if(missing OR NOT needed)
  message(FATAL_ERROR "inlier-trial needs libraries that were not found: ${missing}. Its LibTorch is ${INLIER_TORCH_DIR}; build it again with `make build`.")
endif()
file(INSTALL ${needed} DESTINATION ${INLIER_CARRIED} FOLLOW_SYMLINK_CHAIN)
file(RPATH_SET FILE ${INLIER_TRIAL} NEW_RPATH "${INLIER_CARRIED_PATH}")
