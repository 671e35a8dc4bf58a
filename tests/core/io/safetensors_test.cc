// The file format, and hostile files: a status that names the file and the tensor, never a crash.
#include "core/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/peak_memory.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SafetensorsTest : public ::testing::Test {
 protected:
  // A file of the given header text and as many data bytes, with any announced header length.
  std::filesystem::path Write(const std::string& header, std::size_t data_bytes,
                              std::int64_t announced = -1) {
    const std::filesystem::path path = folder_ / "hostile.safetensors";
    std::ofstream file(path, std::ios::binary);
    const std::uint64_t length = announced < 0 ? header.size() : static_cast<std::uint64_t>(announced);
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header << std::string(data_bytes, '\1');
    return path;
  }

  // The message of opening such a file; it must name the file.
  std::string ErrorOf(const std::string& header, std::size_t data_bytes, std::int64_t announced = -1) {
    const std::filesystem::path path = Write(header, data_bytes, announced);
    const auto reader = SafetensorsReader::Open(path);
    if (reader.ok()) return "opened";
    EXPECT_EQ(reader.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(reader.status().message()), HasSubstr(path.string()));
    return std::string(reader.status().message());
  }

  // Names of the files in the folder.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    return names;
  }

  const TemporaryFolder folder_;
};

TEST_F(SafetensorsTest, EveryTypeAndShapeComesBackWithItsBits) {
  torch::manual_seed(1);
  TensorMap tensors;
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    tensors[std::string("float.") + c10::toString(type)] = torch::randn({3, 5}).to(type);
  }
  for (const at::ScalarType type : {at::kLong, at::kInt, at::kByte}) {
    tensors[std::string("int.") + c10::toString(type)] = torch::randint(0, 200, {7}, torch::dtype(type));
  }
  tensors["bool"] = torch::randint(0, 2, {2, 3}).to(at::kBool);
  tensors["scalar"] = torch::scalar_tensor(2.5);
  tensors["empty"] = torch::empty({0, 4});
  tensors["strided"] = torch::arange(12.0).view({3, 4}).transpose(0, 1);
  tensors["nan"] = torch::full({1}, std::nan(""));
  const StringMap metadata = {{"spec", "{\"a\": \"\xc3\xa9\"}"}, {"step", "12"}};
  const auto path = folder_ / "model.safetensors";
  ASSERT_TRUE(SaveSafetensors(path, tensors, metadata).ok());

  StringMap read_metadata;
  const auto read = LoadSafetensors(path, &read_metadata).value();
  EXPECT_EQ(read_metadata, metadata);
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor& back = read.at(name);
    EXPECT_EQ(back.scalar_type(), tensor.scalar_type()) << name;
    ASSERT_EQ(back.sizes(), tensor.sizes()) << name;
    const at::Tensor bytes = tensor.contiguous();
    EXPECT_EQ(std::memcmp(back.data_ptr(), bytes.data_ptr(), bytes.nbytes()), 0) << name;
  }
  EXPECT_THAT(Files(), ElementsAre("model.safetensors"));
}

TEST_F(SafetensorsTest, TheBytesAreThoseOfTheFormat) {
  const auto path = folder_ / "a.safetensors";
  ASSERT_TRUE(SaveSafetensors(path, {{"b", torch::tensor({1, 2}, at::kByte)}, {"w", torch::tensor({1.0F})}},
                              {{"k", "v"}})
                  .ok());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::string header =
      R"({"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})";
  std::string padded = header;
  padded.resize((header.size() + 7) / 8 * 8, ' ');
  std::string expected(8, '\0');
  expected[0] = static_cast<char>(padded.size());
  expected += padded + std::string("\x00\x00\x80\x3f\x01\x02", 6);
  EXPECT_EQ(bytes, expected);
}

TEST_F(SafetensorsTest, SavingReplacesTheOldFileAndLeavesAnOpenReaderItsOwn) {
  const auto path = folder_ / "a.safetensors";
  ASSERT_TRUE(SaveSafetensors(path, {{"w", torch::ones({2})}}).ok());
  const auto reader = SafetensorsReader::Open(path).value();
  ASSERT_TRUE(SaveSafetensors(path, {{"w", torch::zeros({3})}}).ok());
  EXPECT_TRUE(reader.Load("w")->equal(torch::ones({2})));
  EXPECT_TRUE(LoadSafetensors(path)->at("w").equal(torch::zeros({3})));
  EXPECT_THAT(Files(), ElementsAre("a.safetensors"));
}

TEST_F(SafetensorsTest, AFailedSaveLeavesTheOldFileAndNothingElse) {
  const auto path = folder_ / "a.safetensors";
  ASSERT_TRUE(SaveSafetensors(path, {{"w", torch::ones({2})}}).ok());
  std::filesystem::create_directory(folder_ / "b.safetensors");
  EXPECT_FALSE(SaveSafetensors(folder_ / "b.safetensors", {{"w", torch::ones({2})}}).ok());
  const absl::Status status =
      SaveSafetensors(path, {{"good", torch::ones({2})}, {"odd", torch::ones({2}, at::kComplexFloat)}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tensor \"odd\" cannot be stored: ComplexFloat"));
  EXPECT_TRUE(LoadSafetensors(path)->at("w").equal(torch::ones({2})));
  EXPECT_THAT(Files(), ::testing::UnorderedElementsAre("a.safetensors", "b.safetensors"));
}

TEST_F(SafetensorsTest, AMissingFolderIsNamed) {
  const absl::Status status = SaveSafetensors(folder_ / "none/a.safetensors", {{"w", torch::ones({2})}});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("none/a.safetensors"));
}

TEST_F(SafetensorsTest, TextThatIsNotUtf8IsRefused) {
  const absl::Status status =
      SaveSafetensors(folder_ / "a.safetensors", {{"w", torch::ones({2})}}, {{"k", "\xff"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Files().empty());
}

TEST_F(SafetensorsTest, AMissingFileAndAMissingTensorAreNotFound) {
  const auto missing = SafetensorsReader::Open(folder_ / "none.safetensors");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("none.safetensors"));
  const auto path = folder_ / "a.safetensors";
  ASSERT_TRUE(SaveSafetensors(path, {{"w", torch::ones({2})}}).ok());
  const auto tensor = SafetensorsReader::Open(path)->Load("v");
  EXPECT_EQ(tensor.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(tensor.status().message()), HasSubstr("no tensor \"v\""));
}

TEST_F(SafetensorsTest, AFolderIsNotAFile) {
  const auto reader = SafetensorsReader::Open(folder_.path());
  EXPECT_FALSE(reader.ok());
  EXPECT_THAT(std::string(reader.status().message()), HasSubstr(folder_.path().string()));
}

TEST_F(SafetensorsTest, ADamagedHeaderIsExplained) {
  EXPECT_THAT(ErrorOf("{}", 0, 3),
              HasSubstr("announces a header that is longer than the 2 bytes after its length"));
  EXPECT_THAT(ErrorOf("{}", 0, std::int64_t{1} << 62),
              HasSubstr("announces a header that is longer than the 2 bytes"));
  EXPECT_THAT(ErrorOf("not json", 0), HasSubstr("the header is not JSON"));
  EXPECT_THAT(ErrorOf("", 0), HasSubstr("the header is not JSON"));
  EXPECT_THAT(ErrorOf(std::string(100'000, '['), 0), HasSubstr("the header is not a JSON object"));
  EXPECT_THAT(ErrorOf("[]", 0), HasSubstr("the header is not a JSON object"));
  EXPECT_THAT(ErrorOf(R"({"__metadata__": []})", 0), HasSubstr("__metadata__ is not an object"));
  EXPECT_THAT(ErrorOf(R"({"__metadata__": {"k": 1}})", 0),
              HasSubstr("a value of its __metadata__ is not a string"));
}

TEST_F(SafetensorsTest, AFileOfLessThanALengthIsExplained) {
  const auto path = folder_ / "short.safetensors";
  std::ofstream(path) << "1234";
  EXPECT_THAT(std::string(SafetensorsReader::Open(path).status().message()), HasSubstr("only 4 bytes long"));
}

// A sparse file: the length fits the file, and nothing of it may be allocated.
TEST_F(SafetensorsTest, AHugeHeaderIsRefusedWithoutBeingRead) {
  const auto path = Write("{}", 0, std::int64_t{1} << 40);
  ASSERT_EQ(::truncate(path.c_str(), (std::int64_t{1} << 40) + 8), 0);
  EXPECT_THAT(std::string(SafetensorsReader::Open(path).status().message()),
              HasSubstr("is over the limit of 100000000"));
}

TEST_F(SafetensorsTest, AHostileHeaderTakesASmallMultipleOfItsBytes) {
  constexpr std::size_t kBytes = 10'000'000;
  const auto filled = [](std::string text, const std::string& again, const std::string& end) {
    while (text.size() < kBytes) text += again;
    return text + end;
  };
  std::string names = "{";
  for (int i = 0; names.size() < kBytes; ++i)
    names += "\"" + std::to_string(i) + "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},";
  const std::string entry = "{\"a\": {\"dtype\": \"U8\", ";
  for (const std::string& header :
       {std::string(kBytes, '['), filled("{\"a\":", "{\"b\":", ""), filled(entry + "\"more\": ", "[", ""),
        filled(entry + "\"shape\": [", "1,", "1]}}"), filled(entry + "\"more\": [", "1,", "1]}}"),
        filled("{\"__metadata__\": {\"a\": \"", "x", "\"}}"), names + "\"x\":{}}"}) {
    const auto path = Write(header, 0);
    EXPECT_LT(PeakMib([&path] { (void)SafetensorsReader::Open(path); }), 64) << header.substr(0, 60);
  }
}

TEST_F(SafetensorsTest, FieldsOfOtherNamesAreIgnored) {
  const auto path = Write(R"({"a": {"dtype": "U8", "more": {"x": [1, {"y": null}], "dtype": 3}, "shape": [2],
                               "data_offsets": [0, 2], "last": [[], {}]}, "__metadata__": {"k": "v"}})",
                          2);
  const auto reader = SafetensorsReader::Open(path).value();
  EXPECT_EQ(reader.entries().at("a").shape, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(reader.metadata().at("k"), "v");
}

TEST_F(SafetensorsTest, ADamagedEntryIsExplainedWithItsTensor) {
  const auto entry = [&](const std::string& fields, std::size_t data_bytes) {
    const std::string message = ErrorOf("{\"layer.w\": " + fields + "}", data_bytes);
    EXPECT_THAT(message, HasSubstr("tensor number 1 of its header: "));
    return message;
  };
  EXPECT_THAT(entry("3", 0), HasSubstr("not an object"));
  EXPECT_THAT(entry(R"({"shape": [1], "data_offsets": [0, 4]})", 4), HasSubstr("no dtype"));
  EXPECT_THAT(entry(R"({"dtype": "F8_E5M2", "shape": [1], "data_offsets": [0, 1]})", 1),
              HasSubstr("dtype is not one of"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "data_offsets": [0, 4]})", 4), HasSubstr("no shape"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]})", 4),
              HasSubstr("not a whole number"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [1.5], "data_offsets": [0, 4]})", 4),
              HasSubstr("not a whole number"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [9223372036854775808], "data_offsets": [0, 4]})", 4),
              HasSubstr("too large"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]})", 0),
              HasSubstr("too large"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [2]})", 8), HasSubstr("data_offsets is not a pair"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [2], "data_offsets": [0]})", 8),
              HasSubstr("data_offsets is not a pair"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]})", 8),
              HasSubstr("data_offsets is not a pair"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]})", 8),
              HasSubstr("outside the 8 bytes"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 8]})", 7),
              HasSubstr("its bytes lie outside the 7 bytes"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 18446744073709551615]})", 8),
              HasSubstr("outside"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 4]})", 4),
              HasSubstr("its shape and dtype need more or fewer bytes than it has"));
  EXPECT_THAT(entry(R"({"dtype": "F32", "shape": [1], "data_offsets": [4, 8]})", 8),
              HasSubstr("bytes before it belong to no tensor"));
}

TEST_F(SafetensorsTest, TensorsThatShareOrMissBytesAreRefused) {
  EXPECT_THAT(ErrorOf(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
                          "b": {"dtype": "U8", "shape": [4], "data_offsets": [3, 7]}})",
                      7),
              HasSubstr("tensor number 2 of its header: its bytes overlap"));
  EXPECT_THAT(ErrorOf(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
                          "a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})",
                      4),
              HasSubstr("tensor number 2 of its header: its name occurs twice"));
  EXPECT_THAT(ErrorOf(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})", 6),
              HasSubstr("2 bytes at the end belong to no tensor"));
}

TEST_F(SafetensorsTest, ABoolThatIsNeitherIsRefusedWhenLoaded) {
  std::filesystem::path path = Write(R"({"m": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}})", 2);
  EXPECT_TRUE(SafetensorsReader::Open(path)->Load("m")->all().item<bool>());
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\2');
  file.close();
  const auto loaded = SafetensorsReader::Open(path)->Load("m");
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(loaded.status().message()),
              HasSubstr("tensor number 1 of its header: a BOOL that is neither 0 nor 1"));
}

TEST_F(SafetensorsTest, AFileCutWhileOpenGivesAStatus) {
  const auto path = folder_ / "a.safetensors";
  ASSERT_TRUE(SaveSafetensors(path, {{"w", torch::ones({100})}}).ok());
  const auto reader = SafetensorsReader::Open(path);
  ASSERT_EQ(::truncate(path.c_str(), 200), 0);
  EXPECT_THAT(std::string(reader->Load("w").status().message()),
              HasSubstr("became shorter while it was read"));
}

// Every prefix of a valid file, and every flip of one bit of its header, is read or refused.
TEST_F(SafetensorsTest, NoDamageToAGoodFileCrashesTheReader) {
  const auto good = folder_ / "good.safetensors";
  ASSERT_TRUE(
      SaveSafetensors(good, {{"a", torch::ones({2, 3})}, {"b", torch::ones({2}, at::kLong)}}, {{"k", "v"}})
          .ok());
  std::ifstream file(good, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto path = folder_ / "damaged.safetensors";
  const auto try_file = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    const auto reader = SafetensorsReader::Open(path);
    if (!reader.ok()) return false;
    return reader->LoadAll().ok();
  };
  ASSERT_TRUE(try_file(bytes));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(try_file(bytes.substr(0, length))) << length;
  const std::size_t header_end = bytes.size() - 2 * 3 * 4 - 2 * 8;
  for (std::size_t bit = 0; bit < header_end * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    try_file(damaged);  // A flip inside a name makes another good file.
  }
}

}  // namespace
}  // namespace inlier
