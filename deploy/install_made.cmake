# Run by `cmake --install` for each program (cmake/Install.cmake): its manual page, which is its help; its systemd units, which name the prefix; the
# completions of the command line.
file(MAKE_DIRECTORY ${INLIER_MADE})

function(inlier_output file)
  execute_process(COMMAND ${INLIER_PROGRAM} ${ARGN} OUTPUT_FILE ${INLIER_MADE}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# inlier_manual(SECTION FILES SEE_ALSO HELP...): makes the page of this program.
function(inlier_manual section files see_also)
  execute_process(COMMAND ${INLIER_PROGRAM} ${ARGN} OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\\" "\\e" help "${help}")
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" help "${help}")
  string(TOUPPER ${INLIER_NAME} title)
  string(REPLACE "-" "\\-" name ${INLIER_NAME})
  file(WRITE ${INLIER_MADE}/${INLIER_NAME}.${section} ".TH ${title} ${section}
.SH NAME
${name} \\- ${INLIER_ABOUT}
.SH USAGE
.nf
${help}
.fi
.SH FILES
.nf
${files}
.fi
.SH SEE ALSO
${see_also}
")
endfunction()

set(section 1)
if(INLIER_NAME STREQUAL "inlier")
  inlier_output(inlier completion bash)
  inlier_output(_inlier completion zsh)
  inlier_output(inlier.fish completion fish)
  file(INSTALL ${INLIER_MADE}/inlier DESTINATION ${INLIER_SHARE}/bash-completion/completions)
  file(INSTALL ${INLIER_MADE}/_inlier DESTINATION ${INLIER_SHARE}/zsh/site-functions)
  file(INSTALL ${INLIER_MADE}/inlier.fish DESTINATION ${INLIER_SHARE}/fish/vendor_completions.d)
  inlier_manual(${section} "\\&.inlier/inlier.db            results of `inlier up` and `inlier run` (SQLite)
~/.config/inlier/client.yaml the coordinator that commands use"
    "inlier\\-coordinator(8), inlier\\-worker(8), inlier\\-trial(1), ${INLIER_DOC}" --help-all)
elseif(INLIER_NAME STREQUAL "inlier-trial")
  inlier_manual(${section} "spec.json                    the specification of an attempt, written by its worker"
    "inlier(1), inlier\\-worker(8)" --help)
else()
  string(REPLACE "inlier-" "" daemon ${INLIER_NAME})
  set(section 8)
  inlier_manual(${section} "/etc/inlier/${daemon}.yaml   configuration under systemd; an example is in ${INLIER_DOC}"
    "inlier(1), systemctl(1), journalctl(1)" --help)
  set(units ${INLIER_NAME}.service)
  if(daemon STREQUAL "coordinator")
    list(APPEND units inlier-backup.service inlier-backup.timer)
  endif()
  foreach(unit IN LISTS units)
    configure_file(${INLIER_SOURCE}/deploy/systemd/${unit}.in ${INLIER_MADE}/${unit} @ONLY)
    file(INSTALL ${INLIER_MADE}/${unit} DESTINATION ${INLIER_UNITS})
  endforeach()
endif()
# Here, not in the function: the list of installed files is a variable of this scope.
file(INSTALL ${INLIER_MADE}/${INLIER_NAME}.${section} DESTINATION ${INLIER_MAN}/man${section})
