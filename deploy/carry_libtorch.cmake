# Run while inlier-trial is installed (cmake/Install.cmake): puts the libraries of LibTorch that the program needs into INLIER_CARRIED.
string(REGEX REPLACE "([][+.*()^$?|\\\\])" "\\\\\\1" folder "${INLIER_TORCH_DIR}")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${INLIER_TRIAL} RESOLVED_DEPENDENCIES_VAR needed UNRESOLVED_DEPENDENCIES_VAR missing
     POST_INCLUDE_REGEXES "^${folder}/" POST_EXCLUDE_REGEXES ".*")
if(missing OR NOT needed)
  message(FATAL_ERROR "inlier-trial needs libraries that were not found: ${missing}. Its LibTorch is ${INLIER_TORCH_DIR}; build it again with `make build`.")
endif()
file(INSTALL ${needed} DESTINATION ${INLIER_CARRIED} FOLLOW_SYMLINK_CHAIN)
