// Images become the pixels that Pillow and torchvision make of the same bytes (pillow.tsv, make_pillow_cases.py).
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/images/image_augmentation.h"
#include "core/images/image_colors.h"
#include "core/images/image_file.h"
#include "core/images/image_geometry.h"
#include "tests/core/images/image_files.h"

namespace inlier {
namespace {

int Number(const std::string& text) {
  int value = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &value)) << text;
  return value;
}

Image Applied(const std::vector<std::string>& operation, const Image& image) {
  if (operation[0] == "resize") {
    return Resize(image, Number(operation[2]), Number(operation[3]),
                  operation[1] == "bilinear" ? ResizeFilter::kBilinear : ResizeFilter::kBicubic);
  }
  if (operation[0] == "middle")
    return ResizeToMiddle(image, Number(operation[1]), Number(operation[2]), ResizeFilter::kBicubic);
  EXPECT_EQ(operation[0], "decode");
  return image;
}

TEST(PillowTest, EveryImageHasThePixelsOfPillow) {
  std::ifstream file(INLIER_PILLOW_CASES);
  int rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    ASSERT_EQ(cells.size(), 6u) << line;
    SCOPED_TRACE(cells[0] + " " + cells[1]);
    const auto image = DecodeImage(absl::HexStringToBytes(cells[2])).value();
    const std::string pixels = absl::HexStringToBytes(cells[5]);
    EXPECT_EQ(Applied(absl::StrSplit(cells[1], ' '), ToChannels(image, 3)),
              ImageOf(Number(cells[3]), Number(cells[4]), 3, {pixels.begin(), pixels.end()}));
  }
  EXPECT_EQ(rows, 88);
}

// A strip of which only a square is kept: as the whole one, scaled and cut.
TEST(PillowTest, OnlyTheSquareInTheMiddleIsComputed) {
  const Image strip = Ramp(3, 400, 3);
  const Image whole = Resize(strip, 5, 666, ResizeFilter::kBicubic);
  EXPECT_EQ(PrepareImage(strip, 5, 3), Crop(whole, 0, 330, 5, 5));  // (666 - 5) / 2 = 330.5, to the even 330.
  EXPECT_EQ(PrepareImage(Ramp(1, 1'000'000, 1), 3'000, 1).width, 3'000);  // As a whole 3 * 10^9 pixels wide.
}

}  // namespace
}  // namespace inlier
