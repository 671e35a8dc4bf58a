// Folder trees, and the places where images are searched.
#include "core/images/image_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/images/image_folder.h"
#include "tests/core/images/image_files.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Two classes, "ant" and "bee", with an image for validation each and three for training.
class ImageTree {
 public:
  explicit ImageTree(const std::string& validation = "validation") : validation_(validation) {
    Write("train/bee/2.png", PngBytes(Ramp(4, 4, 3)));
    Write("train/bee/deep/1.JPEG", JpegBytes(Ramp(4, 4, 3)));
    Write("train/ant/x.png", PngBytes(Ramp(3, 4, 1)));
    Write("train/README.md", "not an image");
    Write("train/ant/notes.txt", "not an image");
    Write("train/ant/._x.png", "a hidden file");
    Write(validation + "/ant/y.png", PngBytes(Ramp(5, 4, 1)));
    Write(validation + "/bee/y.png", PngBytes(Ramp(6, 4, 1)));
  }
  void Write(const std::string& name, const std::string& content) const {
    fs::create_directories((folder_ / name).parent_path());
    folder_.Write(name, content);
  }
  void Remove(const std::string& name) const { fs::remove_all(folder_ / name); }
  fs::path Path(const std::string& name) const { return folder_ / name; }
  const fs::path& path() const { return folder_.path(); }
  absl::StatusOr<ImageSource> Open(int threads = 2) const {
    return OpenImageSource(path(), threads, nullptr);
  }
  std::string Digest() const { return Open()->content_digest; }
  std::string Problem() const {
    const auto source = Open();
    EXPECT_FALSE(source.ok());
    EXPECT_EQ(source.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(source.status().message());
  }

 private:
  TemporaryFolder folder_;
  std::string validation_;
};

TEST(ImageSourceTest, AFolderIsAClassAndItsFilesAreInOrder) {
  for (const char* validation : {"validation", "val", "test"}) {
    const ImageTree tree(validation);
    const auto source = tree.Open().value();
    EXPECT_EQ(source.class_names, (std::vector<std::string>{"ant", "bee"}));
    ASSERT_EQ(source.train->size(), 3);
    EXPECT_EQ(source.train->LabelOf(0), 0);
    EXPECT_EQ(source.train->LabelOf(1), 1);
    EXPECT_EQ(source.train->LabelOf(2), 1);
    EXPECT_EQ(source.train->ImageOf(0).value(), Ramp(3, 4, 1));
    EXPECT_EQ(source.train->ImageOf(1).value(), Ramp(4, 4, 3));
    ASSERT_EQ(source.validation->size(), 2);
    EXPECT_EQ(source.validation->LabelOf(1), 1);
    EXPECT_EQ(source.validation->ImageOf(1).value(), Ramp(6, 4, 1));
  }
}

TEST(ImageSourceTest, ValidationIsPreferredToTest) {
  const ImageTree tree;
  tree.Write("test/ant/z.png", PngBytes(Ramp(9, 4, 1)));
  tree.Write("test/bee/z.png", PngBytes(Ramp(9, 4, 1)));
  EXPECT_EQ(tree.Open()->validation->ImageOf(0)->height, 5);
}

TEST(ImageSourceTest, TheDigestNamesPathsAndContents) {
  const ImageTree a, b;
  EXPECT_EQ(a.Digest(), b.Digest());
  EXPECT_EQ(a.Open(1)->content_digest, a.Open(8)->content_digest);
  b.Write("train/ant/x.png", PngBytes(Ramp(4, 3, 1)));
  EXPECT_NE(a.Digest(), b.Digest());
  const ImageTree moved;
  fs::rename(moved.Path("train/bee/2.png"), moved.Path("train/bee/3.png"));
  EXPECT_NE(a.Digest(), moved.Digest());
}

TEST(ImageSourceTest, ProgressGoesUpToAll) {
  const ImageTree tree;
  std::vector<double> fractions;
  ASSERT_TRUE(OpenImageSource(tree.path(), 1, [&](std::string_view phase, double fraction) {
                EXPECT_EQ(phase, "read images");
                fractions.push_back(fraction);
              }).ok());
  EXPECT_EQ(fractions, (std::vector<double>{0.2, 0.4, 0.6, 0.8, 1}));
}

TEST(ImageSourceTest, OtherClassesForValidationAreRefused) {
  const ImageTree tree;
  tree.Write("train/cat/c.png", PngBytes(Ramp(2, 2, 1)));
  EXPECT_EQ(tree.Problem(),
            "data.images.path: training and validation must have the same classes, a folder each; " +
                tree.Path("validation").string() + " lacks cat");
  tree.Write("validation/dog/c.png", PngBytes(Ramp(2, 2, 1)));
  EXPECT_THAT(tree.Problem(), HasSubstr("; " + tree.Path("train").string() + " lacks dog; " +
                                        tree.Path("validation").string() + " lacks cat"));
}

TEST(ImageSourceTest, AFolderWithoutImagesOrClassesIsRefused) {
  const ImageTree tree;
  fs::create_directories(tree.Path("train/cat"));
  EXPECT_EQ(tree.Problem(), "data.images.path: no .png, .jpg or .jpeg file in " +
                                tree.Path("train/cat").string() + "; put images there, or remove the folder");
  tree.Remove("train");
  EXPECT_THAT(tree.Problem(), HasSubstr(tree.path().string() + " has neither IDX files"));
  fs::create_directories(tree.Path("train"));
  EXPECT_EQ(tree.Problem(), "data.images.path: no classes in " + tree.Path("train").string() +
                                ": make one folder for each, with its images in it");
}

TEST(ImageSourceTest, AFileThatIsNoImageIsNamed) {
  const ImageTree tree;
  tree.Write("validation/bee/a.jpg", "GIF89a");
  EXPECT_EQ(tree.Problem(),
            tree.Path("validation/bee/a.jpg").string() +
                ": neither a PNG nor a JPEG: convert it to one of them, or take it out of the "
                "folder");
}

TEST(ImageSourceTest, AnImageOfAnotherFormatIsNotLeftOutInSilence) {
  const ImageTree tree;
  tree.Write("train/ant/b.GIF", "GIF89a");
  EXPECT_THAT(tree.Problem(), HasSubstr("data.images.path: " + tree.Path("train/ant/b.GIF").string() +
                                        ": neither a PNG nor a JPEG: convert it"));
}

TEST(ImageSourceTest, AFileWithADamagedBodyIsNamedWhenItIsRead) {
  const ImageTree tree;
  const std::string whole = PngBytes(Ramp(40, 40, 3));
  tree.Write("validation/bee/a.png", whole.substr(0, whole.size() / 2));
  const auto source = tree.Open().value();
  EXPECT_THAT(std::string(source.validation->ImageOf(1).status().message()),
              testing::StartsWith(tree.Path("validation/bee/a.png").string() + ": a damaged PNG ("));
}

TEST(ImageSourceTest, IdxFilesBecomeClassesByNumber) {
  TemporaryFolder folder;
  folder.Write("train-images-idx3-ubyte", IdxImages({Ramp(2, 2, 1), Ramp(2, 2, 1)}));
  folder.Write("train-labels-idx1-ubyte", IdxLabels({1, 0}));
  folder.Write("t10k-images-idx3-ubyte.gz", Gzip(IdxImages({Image(2, 2, 1)})));
  folder.Write("t10k-labels-idx1-ubyte", IdxLabels({2}));
  const auto source = OpenImageSource(folder.path(), 1, nullptr).value();
  EXPECT_EQ(source.class_names, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(source.train->size(), 2);
  EXPECT_EQ(source.validation->ImageOf(0).value(), Image(2, 2, 1));
  fs::remove(folder / "t10k-images-idx3-ubyte.gz");
  EXPECT_THAT(std::string(OpenImageSource(folder.path(), 1, nullptr).status().message()),
              HasSubstr("no file " + (folder / "t10k-images-idx3-ubyte").string()));
}

TEST(ImageSourceTest, ADataSetIsAFolderOfTheDataFolder) {
  TemporaryFolder data;
  fs::create_directories(data / "mine/train");
  v1::ImageDataSpec spec;
  spec.set_dataset("mine");
  EXPECT_EQ(FindImages(spec, data.path()).value(), data / "mine");
  spec.set_dataset("yours");
  const auto missing = FindImages(spec, data.path()).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(missing.message()),
            "data.images.dataset: no images \"yours\" in " + data.path().string() +
                " (there are: mine); put a folder of IDX files or of image files there, or name one with "
                "data.images.path");
  spec.set_dataset("../mine");
  EXPECT_EQ(std::string(FindImages(spec, data.path()).status().message()),
            "data.images.dataset: \"../mine\" is not the name of a data set; a folder is named with "
            "data.images.path");
}

TEST(ImageSourceTest, FashionMnistIsThatOfDebiansPackageOrHasARemedy) {
  const fs::path package = "/usr/share/datasets/fashion-mnist";
  TemporaryFolder data;
  v1::ImageDataSpec spec;
  spec.set_dataset("fashion-mnist");
  const auto found = FindImages(spec, data.path());
  if (fs::is_directory(package)) {
    EXPECT_EQ(found.value(), package);
    return;
  }
  EXPECT_EQ(std::string(found.status().message()),
            "data.images.dataset: no images \"fashion-mnist\" in " + data.path().string() +
                " (no images in it); get them with `make images` (tools/setup/setup images), or install "
                "Debian's package dataset-fashion-mnist");
}

TEST(ImageSourceTest, AMissingPathIsNamed) {
  v1::ImageDataSpec spec;
  spec.set_path("/nowhere/images");
  EXPECT_THAT(
      std::string(FindImages(spec, "/").status().message()),
      HasSubstr("data.images.path: no folder /nowhere/images on this machine; name one of IDX files"));
}

}  // namespace
}  // namespace inlier
