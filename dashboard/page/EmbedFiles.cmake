# cmake -DOUT=page_files.cc -DFILES="index.html=/path/index.html;..." -P EmbedFiles.cmake: the files as bytes in a C++ source.
set(arrays "")
set(entries "")
set(number 0)
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")
foreach(file IN LISTS FILES)
  string(REGEX MATCH "^([^=]+)=(.+)$" _ "${file}")
  set(name ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX MATCH "[a-z]+$" ending ${name})
  string(APPEND arrays "const unsigned char kFile${number}[] = {${bytes}};\n")
  string(APPEND entries "      {\"${name}\", \"${type_${ending}}\", {reinterpret_cast<const char*>(kFile${number}), ${size}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Written by dashboard/page/EmbedFiles.cmake.
#include \"dashboard/page/page_files.h\"

namespace inlier {
namespace {

${arrays}
}  // namespace

const std::vector<PageFile>& PageFiles() {
  static const std::vector<PageFile> files = {
${entries}  };
  return files;
}

}  // namespace inlier
")
