# Run at every build (cmake -P): writes OUTPUT from INPUT with the git commit, and touches it only when it changed.
execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=12 --dirty --exclude=*
                OUTPUT_VARIABLE INLIER_GIT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT INLIER_GIT_COMMIT)
  set(INLIER_GIT_COMMIT "unknown")
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
