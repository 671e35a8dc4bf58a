// Scripts for gnuplot: words of people run nothing, and real gnuplot draws every kind.
#include "cli/plots/gnuplot_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "cli/plots/picture_writer.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

TEST(GnuplotTextTest, IsOneConstantOnOneLine) {
  EXPECT_EQ(GnuplotText("plain"), "'plain'");
  EXPECT_EQ(GnuplotText("it's"), "'it’s'");
  EXPECT_EQ(GnuplotText("a\nsystem(\"id\")"), "'a\\nsystem(\"id\")'");
  EXPECT_EQ(GnuplotText("'; system('id'); '"), "'’; system(’id’); ’'");
  EXPECT_EQ(GnuplotText("\xff\x1b[2J"), "'\\xff\\x1b[2J'");
  EXPECT_THAT(GnuplotText(std::string(500, 'x')), HasSubstr("xx…'"));
}

class PictureTest : public testing::Test {
 protected:
  std::string Draw(const Figure& figure, const std::string& name) {
    const auto files = FilesOf(folder_ / name).value();
    EXPECT_EQ(WriteFigure(figure, files), absl::OkStatus());
    std::stringstream text;
    text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return text.str();
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

// Two series of two points, with hostile words everywhere.
Figure Hostile(const std::string& word) {
  Figure figure;
  figure.title = figure.x_title = figure.y_title = figure.x_heading = figure.y_heading = figure.value_title =
      word;
  figure.notes = {word, word};
  figure.series_headings = {word, word};
  for (const std::string& label : {word, word + "2"}) {
    FigureSeries series;
    series.labels = {label, word};
    series.level_name = word;
    series.points = {{.x = 1, .y = Summarise({1, 2}), .trial = "t-1"},
                     {.x = 2, .y = Summarise({2, 4}), .trial = "t-2"}};
    figure.series.push_back(series);
  }
  figure.rows = {word, word};
  figure.columns = {word, word};
  figure.cells = {{Summarise({1}), Summarise({2})}, {Summarise({3}), Summary()}};
  return figure;
}

TEST_F(PictureTest, WordsOfPeopleRunNothing) {
  const std::string made = (folder_ / "made").string();
  const std::string touch = "touch " + made;
  const std::string words[] = {"\"",
                               "'",
                               "`" + touch + "`",
                               "\"; system(\"" + touch + "\"); \"",
                               "'; system('" + touch + "'); '",
                               "a\nsystem(\"" + touch + "\")\n",
                               "@x ^2 _y {/Bold z} $(" + touch + ")",
                               "%s%n%d 100%",
                               "\\",
                               "\\'",
                               "</text><script>",
                               "x'.system('" + touch + "').'",
                               "\xff\xc3",
                               "#",
                               "\\\n",
                               "{",
                               "|" + touch,
                               "«γ» ▁token"};
  for (int kind = v1::FigureSpec::Kind_MIN; kind <= v1::FigureSpec::Kind_MAX; ++kind) {
    std::string all;
    for (const std::string& word : words) absl::StrAppend(&all, word);
    Figure figure = Hostile(all);
    figure.kind = static_cast<v1::FigureSpec::Kind>(kind);
    figure.series[0].labels[0] = words[static_cast<std::size_t>(kind) % std::size(words)];
    const std::string svg = Draw(figure, "all.svg");
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, Not(HasSubstr("<script>")));
    EXPECT_FALSE(fs::exists(made)) << kind;
  }
  for (const std::string& word : words) {
    for (const auto kind : {v1::FigureSpec::BARS, v1::FigureSpec::TOKENS}) {
      Figure figure = Hostile(word);
      figure.kind = kind;
      EXPECT_THAT(Draw(figure, "one.svg"), HasSubstr("</svg>")) << word;
      EXPECT_FALSE(fs::exists(made)) << word;
    }
  }
}

TEST_F(PictureTest, ThePictureHasTheWordsAsTheyAre) {
  Figure figure = Hostile("50% of_it^2 {a} & 'b'");
  figure.kind = v1::FigureSpec::BARS;
  EXPECT_THAT(Draw(figure, "a.svg"), HasSubstr("<text>50% of_it^2 {a} &amp; ’b’</text>"));
}

TEST_F(PictureTest, FilesAreWhatTheirNamesSay) {
  const Figure figure = Hostile("x");
  EXPECT_THAT(Draw(figure, "a.pdf"), testing::StartsWith("%PDF-"));
  EXPECT_THAT(Draw(figure, "a.png"), testing::StartsWith("\x89PNG\r\n"));
  EXPECT_THAT(Draw(figure, "a.svg"), testing::StartsWith("<?xml"));
  EXPECT_THAT(Draw(figure, "b.csv"), testing::StartsWith("x,x,x,x mean,std,n,min,max\r\n"));
  EXPECT_FALSE(fs::exists(folder_ / "b.svg"));
  EXPECT_TRUE(fs::exists(folder_ / "a.csv"));
  EXPECT_EQ(FilesOf(folder_ / "a.jpeg").status().code(), absl::StatusCode::kInvalidArgument);
}

// Width and height of a PNG.
std::pair<unsigned, unsigned> SizeOf(const std::string& png) {
  const auto number = [&png](std::size_t at) {
    unsigned value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(png.at(at + i));
    return value;
  };
  return {number(16), number(20)};
}

TEST_F(PictureTest, OnlyAPngHasDotsAnInch) {
  Figure figure = Hostile("x");
  figure.width_mm = 127;
  figure.height_mm = 63.5;
  EXPECT_EQ(SizeOf(Draw(figure, "a.png")), std::pair(960u, 480u));
  const FigureFiles fine = FilesOf(folder_ / "b.png", 300).value();
  EXPECT_EQ(WriteFigure(figure, fine), absl::OkStatus());
  std::stringstream png;
  png << std::ifstream(folder_ / "b.png", std::ios::binary).rdbuf();
  EXPECT_EQ(SizeOf(png.str()), std::pair(1500u, 750u));
  for (const char* name : {"a.svg", "a.pdf", "a.csv"})
    EXPECT_EQ(FilesOf(name, 300).status().message(),
              std::string("--dpi 300: ") + name +
                  " has no pixels; give it a name that ends in .png, or --format png, or leave out --dpi");
}

TEST_F(PictureTest, ALargeGridIsOneImageInTheFile) {
  Figure figure;
  figure.kind = v1::FigureSpec::DIMENSIONS;
  for (int row = 0; row < 12; ++row) {
    figure.rows.push_back(absl::StrCat(row + 1));
    std::vector<Summary>& cells = figure.cells.emplace_back();
    for (int column = 0; column < 768; ++column) cells.push_back(Summarise({1.0 * (row + column % 7)}));
  }
  for (int column = 0; column < 768; ++column) figure.columns.push_back(absl::StrCat(column));
  const std::string svg = Draw(figure, "a.svg");
  EXPECT_THAT(svg, HasSubstr("data:image/png;base64"));
  EXPECT_LT(svg.size(), 200'000u);
  figure.rows.resize(1);  // gnuplot has no image of one row.
  figure.cells.resize(1);
  EXPECT_THAT(Draw(figure, "b.svg"), HasSubstr("</svg>"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 4);
}

TEST_F(PictureTest, FilesThatAreThereAreNamed) {
  const auto files = FilesOf(folder_ / "a.svg");
  EXPECT_TRUE(CheckAbsent({*files}).ok());
  std::ofstream(folder_ / "a.csv") << "mine";
  const absl::Status status = CheckAbsent({*files});
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a.csv: there already; --force"));
}

TEST_F(PictureTest, WithoutGnuplotTheErrorNamesThePackage) {
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", folder_.c_str(), 1);
  const absl::Status status = WriteFigure(Hostile("x"), *FilesOf(folder_ / "a.svg"));
  const absl::Status numbers = WriteFigure(Hostile("x"), *FilesOf(folder_ / "b.csv"));
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("apt-get install gnuplot-nox"));
  EXPECT_FALSE(fs::exists(folder_ / "a.csv"));
  EXPECT_TRUE(numbers.ok());
}

TEST(GnuplotScriptTest, EightSeriesDifferByDashToo) {
  Figure figure;
  for (int i = 0; i < 8; ++i) {
    FigureSeries& series = figure.series.emplace_back();
    series.points = {{.x = 1, .y = Summarise({1}), .trial = ""}};
  }
  const std::string script = GnuplotScript(figure, PictureFormat::kSvg, kDpi, "d", "p");
  EXPECT_THAT(script, HasSubstr("index 0 using 1:2 with lines linecolor rgb '#0072B2' dashtype 1"));
  EXPECT_THAT(script, HasSubstr("index 7 using 1:2 with lines linecolor rgb '#0072B2' dashtype 2"));
}

TEST(GnuplotScriptTest, ABandOnALogarithmicAxisStaysAboveZero) {
  Figure figure;
  figure.log_y = true;
  figure.series.emplace_back().points = {{.x = 3, .y = Summarise({1, 100}), .trial = ""}};
  EXPECT_THAT(GnuplotData(figure), testing::StartsWith("3 50.5 1 120.5"));
}

}  // namespace
}  // namespace inlier
