#include "core/images/idx_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "tests/core/images/image_files.h"
#include "tests/support/peak_memory.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::HasSubstr;

const std::vector<Image> kThree = {Ramp(2, 3, 1), ImageOf(2, 3, 1, {0, 1, 2, 253, 254, 255}), Image(2, 3, 1)};
const std::string kThreeLabels = {4, 0, 7};

// The message of IdxPart for these two files.
std::string ProblemWith(const std::string& images, const std::string& labels) {
  TemporaryFolder folder;
  folder.Write("train-images-idx3-ubyte", images);
  folder.Write("train-labels-idx1-ubyte", labels);
  const auto part = IdxPart::Read(folder.path(), "train");
  EXPECT_FALSE(part.ok());
  EXPECT_EQ(part.status().code(), absl::StatusCode::kInvalidArgument);
  std::string message(part.status().message());
  EXPECT_EQ(message.find(folder.path().string()), 0) << message;
  return message.substr(folder.path().string().size() + 1);
}

TEST(IdxFileTest, ImagesAndLabelsAreReadInTheirOrder) {
  TemporaryFolder folder;
  folder.Write("train-images-idx3-ubyte", IdxImages(kThree));
  folder.Write("train-labels-idx1-ubyte", IdxLabels(kThreeLabels));
  const auto part = IdxPart::Read(folder.path(), "train").value();
  ASSERT_EQ(part.size(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(part.ImageOf(i), kThree[i]);
    EXPECT_EQ(part.LabelOf(i), kThreeLabels[i]);
  }
  EXPECT_EQ(part.LargestLabel(), 7);
  EXPECT_TRUE(HasIdxPart(folder.path(), "train"));
  EXPECT_FALSE(HasIdxPart(folder.path(), "t10k"));
}

TEST(IdxFileTest, GzipChangesNeitherImagesNorDigest) {
  TemporaryFolder plain, compressed;
  plain.Write("t10k-images-idx3-ubyte", IdxImages(kThree));
  plain.Write("t10k-labels-idx1-ubyte", IdxLabels(kThreeLabels));
  // Two members, one after the other, as a gzip file may have.
  const std::string images = IdxImages(kThree);
  compressed.Write("t10k-images-idx3-ubyte.gz", Gzip(images.substr(0, 20)) + Gzip(images.substr(20)));
  compressed.Write("t10k-labels-idx1-ubyte.gz", Gzip(IdxLabels(kThreeLabels)));
  const auto a = IdxPart::Read(plain.path(), "t10k"), b = IdxPart::Read(compressed.path(), "t10k");
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_EQ(b->ImageOf(1), kThree[1]);
  EXPECT_EQ(a->ContentDigest(), b->ContentDigest());
}

TEST(IdxFileTest, TheDigestFollowsPixelsAndLabels) {
  const auto digest = [](std::vector<Image> images, const std::string& labels) {
    TemporaryFolder folder;
    folder.Write("train-images-idx3-ubyte", IdxImages(images));
    folder.Write("train-labels-idx1-ubyte", IdxLabels(labels));
    return IdxPart::Read(folder.path(), "train")->ContentDigest();
  };
  std::vector<Image> others = kThree;
  others[2].bytes[5] = 1;
  EXPECT_EQ(digest(kThree, kThreeLabels), digest(kThree, kThreeLabels));
  EXPECT_NE(digest(kThree, kThreeLabels), digest(others, kThreeLabels));
  EXPECT_NE(digest(kThree, kThreeLabels), digest(kThree, {4, 1, 7}));
}

TEST(IdxFileTest, AFourthAxisIsTheChannels) {
  TemporaryFolder folder;
  const std::vector<Image> images = {Ramp(2, 2, 3), Image(2, 2, 3)};
  folder.Write("train-images-idx4-ubyte", IdxImages(images));
  folder.Write("train-labels-idx1-ubyte", IdxLabels({1, 0}));
  const auto part = IdxPart::Read(folder.path(), "train").value();
  EXPECT_EQ(part.ImageOf(0), images[0]);
  EXPECT_EQ(part.ImageOf(1), images[1]);
}

TEST(IdxFileTest, FilesThatAreNotIdxAreNamed) {
  EXPECT_EQ(ProblemWith("P5\n", IdxLabels(kThreeLabels)),
            "train-images-idx3-ubyte: not an IDX file: it has less than four bytes");
  EXPECT_EQ(
      ProblemWith(BigEndian({2050, 1, 1, 1}) + "x", IdxLabels({1})),
      "train-images-idx3-ubyte: not an IDX file of bytes: it does not begin with 2051 (images), 2052 or 2049 "
      "(labels)");
  EXPECT_EQ(ProblemWith(IdxLabels({1}), IdxLabels({1})),
            "train-images-idx3-ubyte: labels, where images are needed");
  EXPECT_EQ(ProblemWith(IdxImages(kThree), IdxImages(kThree)),
            "train-labels-idx1-ubyte: images, where labels are needed");
  EXPECT_EQ(ProblemWith(BigEndian({2051, 1, 2}), IdxLabels({1})),
            "train-images-idx3-ubyte: truncated: it ends within its header");
  EXPECT_THAT(ProblemWith(BigEndian({2052, 1, 1, 1, 2}) + "xx", IdxLabels({1})),
              HasSubstr("train-images-idx3-ubyte: images of 1x1 with 2 channels are not supported"));
  EXPECT_THAT(ProblemWith(BigEndian({2051, 1, 0, 4}), IdxLabels({1})), HasSubstr("images of 0x4 with 1"));
}

TEST(IdxFileTest, FilesThatDifferFromTheirHeaderAreRefused) {
  std::string images = IdxImages(kThree);
  images.pop_back();
  EXPECT_EQ(ProblemWith(images, IdxLabels(kThreeLabels)),
            "train-images-idx3-ubyte: truncated: its header promises 3 images in 18 bytes, and there are 17; "
            "fetch it again");
  EXPECT_EQ(
      ProblemWith(IdxImages(kThree), IdxLabels(kThreeLabels) + "x"),
      "train-labels-idx1-ubyte: too long: its header promises 3 labels in 3 bytes, and there are more; fetch "
      "it again");
  EXPECT_THAT(ProblemWith(IdxImages(kThree), IdxLabels({1, 2})),
              testing::AllOf(HasSubstr("train-labels-idx1-ubyte: 2 labels for the 3 images of "),
                             HasSubstr("train-images-idx3-ubyte; fetch both from the same place")));
  EXPECT_EQ(ProblemWith(BigEndian({2051, 0, 2, 3}), IdxLabels("")),
            "train-images-idx3-ubyte: no images in it");
}

TEST(IdxFileTest, DamagedGzipIsNamed) {
  const std::string whole = Gzip(IdxImages(kThree));
  EXPECT_EQ(ProblemWith(whole.substr(0, whole.size() - 12), IdxLabels(kThreeLabels)),
            "train-images-idx3-ubyte: truncated: its gzip stream ends early; fetch it again");
  std::string damaged = whole;
  damaged[damaged.size() - 6] ^= 1;  // In the check sum.
  EXPECT_EQ(ProblemWith(damaged, IdxLabels(kThreeLabels)),
            "train-images-idx3-ubyte: its gzip stream is damaged (incorrect data check); fetch it again");
}

// The size in a header is known before its images are decompressed, and no more of them is read.
TEST(IdxFileTest, GzipCannotTakeMoreMemoryThanTheHeaderPromises) {
  constexpr std::uint32_t kImages = 1000;
  const std::string labels = Gzip(IdxLabels(std::string(kImages, '\0')));
  const std::string zeros = Gzip(std::string(256 << 20, '\0'));
  const auto problem = [&](const std::string& images, double mib_max) {
    TemporaryFolder folder;
    folder.Write("train-images-idx3-ubyte.gz", images);
    folder.Write("train-labels-idx1-ubyte.gz", labels);
    EXPECT_LT(PeakMib([&] { (void)IdxPart::Read(folder.path(), "train"); }), mib_max);
    return std::string(IdxPart::Read(folder.path(), "train").status().message());
  };
  EXPECT_THAT(problem(zeros, 16), HasSubstr("not an IDX file of bytes"));
  EXPECT_THAT(problem(Gzip(BigEndian({2051, kImages, 28, 28})) + zeros, 16),
              HasSubstr("too long: its header promises 1000 images in 784000 bytes, and there are more"));
  EXPECT_THAT(
      problem(Gzip(BigEndian({2051, kImages, 16384, 16384})), 16),
      HasSubstr("truncated: its header promises 1000 images in 268435456000 bytes, and there are at most "));
  EXPECT_THAT(problem(Gzip(BigEndian({2051, 1 << 30, 1, 1})) + zeros, 16),
              HasSubstr("1000 labels for the 1073741824 images of "));
}

TEST(IdxFileTest, AMissingFileIsNamed) {
  TemporaryFolder folder;
  folder.Write("train-images-idx3-ubyte", IdxImages(kThree));
  const auto part = IdxPart::Read(folder.path(), "train");
  EXPECT_EQ(part.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(part.status().message()), "no file " + (folder / "train-labels-idx1-ubyte").string() +
                                                      ", with or without .gz: fetch the data set again");
}

// Fashion-MNIST as Debian ships it.
TEST(IdxFileTest, FashionMnistHasSixThousandImagesOfEachClass) {
  const std::filesystem::path folder = std::filesystem::path(INLIER_TEST_DATA_DIR) / "fashion-mnist";
  ASSERT_TRUE(HasIdxPart(folder, "train")) << "not fetched: run `make images`";
  for (const auto& [name, each] : {std::pair("train", 6000), std::pair("t10k", 1000)}) {
    const auto part = IdxPart::Read(folder, name).value();
    ASSERT_EQ(part.size(), 10 * each);
    EXPECT_EQ(part.LargestLabel(), 9);
    std::array<int, 10> counts = {};
    for (std::int64_t i = 0; i < part.size(); ++i) ++counts[part.LabelOf(i)];
    for (const int count : counts) EXPECT_EQ(count, each);
    EXPECT_EQ(part.ImageOf(0).height, 28);
    EXPECT_EQ(part.ImageOf(0).width, 28);
    EXPECT_EQ(part.ImageOf(0).channels, 1);
  }
}

}  // namespace
}  // namespace inlier
