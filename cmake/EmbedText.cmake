# embed_text(OUTPUT out.cc TEMPLATE in.cc.in VARIABLE NAME FILES a.sql …): NAME in the template becomes one C++ raw string a file, each
# preceded by its name, as `{"0001_initial", R"…"},`. Written at configure time; a change of a file runs it again.
function(embed_text)
  cmake_parse_arguments(ARG "" "OUTPUT;TEMPLATE;VARIABLE" "FILES" ${ARGN})
  set(entries "")
  foreach(file IN LISTS ARG_FILES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(stem ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND entries "{\"${stem}\", R\"inlier_text(${text})inlier_text\"},\n")
  endforeach()
  set(${ARG_VARIABLE} "${entries}")
  configure_file(${ARG_TEMPLATE} ${ARG_OUTPUT} @ONLY)
endfunction()
