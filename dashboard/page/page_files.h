// The files of the page, which are in the program: those of this folder, and vendor/echarts.js as "echarts.js".
#ifndef INLIER_DASHBOARD_PAGE_PAGE_FILES_H_
#define INLIER_DASHBOARD_PAGE_PAGE_FILES_H_

#include <string_view>
#include <vector>

namespace inlier {

struct PageFile {
  std::string_view name;  // "index.html".
  std::string_view content_type;
  std::string_view content;
};

const std::vector<PageFile>& PageFiles();

}  // namespace inlier

#endif  // INLIER_DASHBOARD_PAGE_PAGE_FILES_H_
