# Run by `cmake --install` (cmake/Install.cmake): what the programs themselves write, and what names the prefix.
file(MAKE_DIRECTORY ${INLIER_MADE})

function(inlier_output file)
  execute_process(COMMAND ${INLIER_PROGRAM} ${ARGN} OUTPUT_FILE ${INLIER_MADE}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

inlier_output(inlier completion bash)
inlier_output(_inlier completion zsh)
inlier_output(inlier.fish completion fish)
file(INSTALL ${INLIER_MADE}/inlier DESTINATION ${INLIER_SHARE}/bash-completion/completions)
file(INSTALL ${INLIER_MADE}/_inlier DESTINATION ${INLIER_SHARE}/zsh/site-functions)
file(INSTALL ${INLIER_MADE}/inlier.fish DESTINATION ${INLIER_SHARE}/fish/vendor_completions.d)

# The manual page is the help of all commands, as it is printed.
execute_process(COMMAND ${INLIER_PROGRAM} --help-all OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\\" "\\e" help "${help}")
string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" help "${help}")
file(WRITE ${INLIER_MADE}/inlier.1 ".TH INLIER 1
.SH NAME
inlier \\- ablation sweeps of outlier-free transformers, from YAML to a table
.SH USAGE
.nf
${help}
.fi
.SH FILES
.nf
\\&.inlier/inlier.db            results of `inlier up` and `inlier run` (SQLite)
~/.config/inlier/client.yaml the coordinator that commands use
/etc/inlier/                 configurations of the daemons under systemd
.fi
.SH SEE ALSO
inlier-coordinator --help, inlier-worker --help, ${INLIER_DOC}
")
file(INSTALL ${INLIER_MADE}/inlier.1 DESTINATION ${INLIER_MAN})

foreach(unit inlier-coordinator inlier-worker)
  configure_file(${INLIER_SOURCE}/deploy/systemd/${unit}.service.in ${INLIER_MADE}/${unit}.service @ONLY)
  file(INSTALL ${INLIER_MADE}/${unit}.service DESTINATION ${INLIER_UNITS})
endforeach()
file(INSTALL ${INLIER_SOURCE}/deploy/coordinator.yaml ${INLIER_SOURCE}/deploy/worker.yaml DESTINATION ${INLIER_DOC})
