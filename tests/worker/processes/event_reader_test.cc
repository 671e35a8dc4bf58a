#include "worker/processes/event_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kPoint[] = R"({"measurement":{"name":"train_loss","step":"3","value":2.5}})";

std::vector<std::pair<std::string, bool>> Split(LineSplitter& splitter,
                                                const std::vector<std::string>& pieces) {
  std::vector<std::pair<std::string, bool>> lines;
  const auto keep = [&](const LineSplitter::Line& line) { lines.emplace_back(line.text, line.cut); };
  for (const std::string& piece : pieces) splitter.Feed(piece, keep);
  splitter.Finish(keep);
  return lines;
}

TEST(LineSplitterTest, LinesAreTheSameHoweverTheBytesArrive) {
  const std::string text = "one\n\ntwo\nthree";
  for (size_t size = 1; size <= text.size(); ++size) {
    LineSplitter splitter(100);
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
    EXPECT_THAT(Split(splitter, pieces), ElementsAre(std::pair("one", false), std::pair("", false),
                                                     std::pair("two", false), std::pair("three", false)));
  }
}

TEST(LineSplitterTest, ALongLineIsGivenOnceCutAndTheNextIsWhole) {
  LineSplitter splitter(4);
  EXPECT_THAT(Split(splitter, {"abcd\nabcde", "fgh", "ijk\nxy\n"}),
              ElementsAre(std::pair("abcd", false), std::pair("abcd", true), std::pair("xy", false)));
}

TEST(EventReaderTest, EventsAreReadInOrderAndEmptyLinesAreNothing) {
  EventReader reader(1000);
  std::vector<v1::TrialEvent> events;
  EXPECT_THAT(
      reader.Feed(std::string(kPoint) + "\n\n \r\n{\"outcome\":{\"kind\":\"SUCCEEDED\"}}\r\n", events),
      IsEmpty());
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].measurement().step(), 3u);
  EXPECT_EQ(events[0].measurement().value(), 2.5);
  EXPECT_EQ(events[1].outcome().kind(), v1::Outcome::SUCCEEDED);
  EXPECT_EQ(reader.garbage_lines(), 0u);
}

TEST(EventReaderTest, InfinityAndNanSurvive) {
  EventReader reader(1000);
  std::vector<v1::TrialEvent> events;
  reader.Feed("{\"measurement\":{\"value\":\"NaN\"}}\n{\"measurement\":{\"value\":\"-Infinity\"}}\n", events);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_TRUE(std::isnan(events[0].measurement().value()));
  EXPECT_EQ(events[1].measurement().value(), -INFINITY);
}

TEST(EventReaderTest, GarbageIsCountedQuotedAndReadOver) {
  EventReader reader(1000);
  std::vector<v1::TrialEvent> events;
  const auto messages =
      reader.Feed(std::string("boom \x1b[31m\x01\n{}\n") + kPoint + "\n[1,2]\nagain\nagain\n", events);
  EXPECT_THAT(events, SizeIs(1));
  EXPECT_EQ(reader.garbage_lines(), 5u);
  EXPECT_EQ(reader.first_garbage(), "boom \\x1b[31m\\x01");
  ASSERT_THAT(messages, SizeIs(3));
  EXPECT_EQ(
      messages[0],
      "the trial wrote a line on its event descriptor that is not a JSON event: \"boom \\x1b[31m\\x01\"");
  EXPECT_THAT(messages[1], HasSubstr("a JSON object without an event: \"{}\""));
  EXPECT_THAT(messages[2], HasSubstr("further ones are only counted"));
}

TEST(EventReaderTest, AnEndlessLineCostsNoMemoryAndIsOneLineOfGarbage) {
  EventReader reader(64);
  std::vector<v1::TrialEvent> events;
  std::vector<std::string> messages;
  for (int i = 0; i < 1000; ++i) {
    for (auto& message : reader.Feed(std::string(1000, 'x'), events)) messages.push_back(message);
  }
  for (auto& message : reader.Feed(std::string("\n") + kPoint, events)) messages.push_back(message);
  EXPECT_THAT(reader.Finish(events), IsEmpty());
  EXPECT_EQ(reader.garbage_lines(), 1u);
  EXPECT_THAT(events, SizeIs(1));
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_THAT(messages[0],
              HasSubstr("longer than 64 bytes (line_bytes_max): \"" + std::string(64, 'x') + "\""));
}

TEST(EventReaderTest, ALastLineWithoutALineFeedIsRead) {
  EventReader reader(1000);
  std::vector<v1::TrialEvent> events;
  reader.Feed(kPoint, events);
  EXPECT_THAT(events, IsEmpty());
  reader.Finish(events);
  EXPECT_THAT(events, SizeIs(1));
}

TEST(EventReaderTest, DeeplyNestedJsonIsGarbage) {
  EventReader reader(1 << 20);
  std::vector<v1::TrialEvent> events;
  reader.Feed(std::string(100000, '[') + "\n", events);
  EXPECT_THAT(events, IsEmpty());
  EXPECT_EQ(reader.garbage_lines(), 1u);
}

TEST(PrintableTest, KeepsTextAndUmlautsAndCutsLongText) {
  EXPECT_EQ(Printable("größer\tals", 100), "größer\\tals");
  EXPECT_EQ(Printable("abcdef", 3), "abc…");
  EXPECT_EQ(Printable("größer", 3), "gr…");
  EXPECT_EQ(Printable("gr\xf6\xdf"
                      "er",
                      100),
            "gr\xef\xbf\xbd\xef\xbf\xbd"
            "er");
}

}  // namespace
}  // namespace inlier
