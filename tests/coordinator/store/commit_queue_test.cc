// Which batch goes before which: control first, but never past bulk of its own stream.
#include "coordinator/store/commit_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CommitQueueTest : public ::testing::Test {
 protected:
  // The name of its event identifies a batch.
  void PushBulk(const std::string& name, std::vector<Token> tokens, const std::string& incarnation = "") {
    ChangeBatch batch{.lane = Lane::kBulk, .changes = {}};
    batch.Add(EventRow{.at = {}, .kind = name, .worker = "", .message = ""});
    for (const Token token : tokens)
      batch.Add(MeasurementRow{.token = token, .name = "train_loss", .site = ""});
    if (!incarnation.empty()) batch.Add(WorkerAcknowledged{incarnation, 1});
    queue_.Push(std::move(batch), nullptr, now_);
  }
  void PushControl(const std::string& name, std::vector<Token> tokens, const std::string& incarnation = "") {
    ChangeBatch batch;
    batch.Add(EventRow{.at = {}, .kind = name, .worker = "", .message = ""});
    for (const Token token : tokens) batch.Add(AttemptEnded{.token = token, .failure = {}, .message = ""});
    if (!incarnation.empty()) batch.Add(WorkerAcknowledged{incarnation, 2});
    queue_.Push(std::move(batch), nullptr, now_);
  }
  std::vector<std::string> Take(std::uint64_t rows_max = 1000) {
    std::vector<std::string> names;
    for (const QueuedBatch& queued : queue_.Take(rows_max))
      names.push_back(std::get<EventRow>(queued.batch.changes[0]).kind);
    return names;
  }

  CommitQueue queue_;
  Timestamp now_;
};

TEST_F(CommitQueueTest, ControlOvertakesBulkOfOtherStreams) {
  PushBulk("b1", {1});
  PushBulk("b2", {2});
  PushControl("c1", {3});
  EXPECT_THAT(Take(), ElementsAre("c1", "b1", "b2"));
  EXPECT_TRUE(queue_.empty());
}

TEST_F(CommitQueueTest, ControlWaitsForTheBulkOfItsToken) {
  PushBulk("b1", {1});
  PushBulk("b2", {2});
  PushBulk("b3", {1});
  PushControl("c1", {1});
  EXPECT_THAT(Take(), ElementsAre("b1", "b3", "c1", "b2"));
}

TEST_F(CommitQueueTest, AcknowledgementWaitsForTheBulkOfItsWorker) {
  PushBulk("b1", {1}, "w-1");
  PushBulk("b2", {2}, "w-2");
  PushControl("c1", {}, "w-2");
  EXPECT_THAT(Take(), ElementsAre("b2", "c1", "b1"));
}

// Its row must not be gone when an acknowledgement is written to it.
TEST_F(CommitQueueTest, TheEndOfAWorkersRowWaitsForTheBulkOfItsWorker) {
  PushBulk("b1", {1}, "w");
  PushBulk("b2", {2}, "other");
  ChangeBatch batch;
  batch.Add(EventRow{.at = {}, .kind = "gone", .worker = "", .message = ""});
  batch.Add(WorkerForgotten{"w"});
  queue_.Push(std::move(batch), nullptr, now_);
  EXPECT_THAT(Take(), ElementsAre("b1", "gone", "b2"));
}

TEST_F(CommitQueueTest, BulkThatSharesAStreamWithPulledBulkGoesToo) {
  PushBulk("b1", {1});
  PushBulk("b2", {1, 2});
  PushBulk("b3", {9});
  PushControl("c1", {2});
  EXPECT_THAT(Take(), ElementsAre("b1", "b2", "c1", "b3"));
}

TEST_F(CommitQueueTest, LaterBulkIsNotPulledInFront) {
  PushControl("c1", {1});
  PushBulk("b1", {1});
  PushControl("c2", {3});
  EXPECT_THAT(Take(), ElementsAre("c1", "c2", "b1"));
}

TEST_F(CommitQueueTest, TransactionEndsAtTheRowLimit) {
  PushControl("c1", {1});
  PushControl("c2", {2});
  PushControl("c3", {3});
  EXPECT_THAT(Take(4), ElementsAre("c1", "c2"));
  EXPECT_THAT(Take(1), ElementsAre("c3"));
  EXPECT_THAT(Take(1), IsEmpty());
}

TEST_F(CommitQueueTest, BatchLargerThanTheLimitGoesAlone) {
  PushBulk("b1", std::vector<Token>(50, 1));
  PushBulk("b2", {2});
  EXPECT_THAT(Take(10), ElementsAre("b1"));
  EXPECT_THAT(Take(10), ElementsAre("b2"));
}

TEST_F(CommitQueueTest, BulkDoesNotFillInWhileControlIsLeft) {
  PushBulk("b1", {9});
  PushControl("c1", {1});
  PushControl("c2", std::vector<Token>(50, 2));
  EXPECT_THAT(Take(10), ElementsAre("c1"));
  EXPECT_THAT(Take(100), ElementsAre("c2", "b1"));
}

TEST_F(CommitQueueTest, ControlTakesSomeBulkAlongAndNotAll) {
  for (const char* name : {"b1", "b2", "b3", "b4"}) PushBulk(name, std::vector<Token>(300, 9));
  PushControl("c1", {1});
  EXPECT_THAT(Take(4096), ElementsAre("c1", "b1", "b2"));
  // However large it is, the first goes along: control without end does not starve it.
  PushControl("c2", {1});
  PushBulk("b5", std::vector<Token>(1000, 9));
  EXPECT_THAT(Take(4096), ElementsAre("c2", "b3", "b4"));
  PushControl("c3", {1});
  EXPECT_THAT(Take(4096), ElementsAre("c3", "b5"));
}

TEST_F(CommitQueueTest, CountsReturnToZero) {
  PushBulk("b1", {1}, "w-1");
  PushControl("c1", {1});
  EXPECT_EQ(queue_.batches(), 2u);
  EXPECT_EQ(queue_.rows(), 5u);
  EXPECT_GT(queue_.bulk_bytes(), 0u);
  Take();
  EXPECT_EQ(queue_.batches(), 0u);
  EXPECT_EQ(queue_.rows(), 0u);
  EXPECT_EQ(queue_.bytes(), 0u);
  EXPECT_EQ(queue_.bulk_bytes(), 0u);
  EXPECT_FALSE(queue_.oldest_bulk().has_value());
}

// Any mixture of pushes and takes: every batch comes out once, and those of one stream in the order they went
// in.
TEST_F(CommitQueueTest, NoStreamIsEverReordered) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    std::map<std::string, std::vector<Token>> tokens_of;
    std::map<Token, std::vector<std::string>> pushed;
    std::map<Token, std::vector<std::string>> taken;
    std::size_t out = 0;
    const auto take = [&](int rows) {
      for (const std::string& name : Take(static_cast<std::uint64_t>(rows))) {
        ++out;
        for (const Token token : tokens_of[name]) taken[token].push_back(name);
      }
    };
    for (int i = 0; i < 40; ++i) {
      const bool bulk = below(3) != 0;
      std::vector<Token> tokens = {static_cast<Token>(1 + below(6))};
      if (below(3) == 0) tokens.push_back(tokens[0] + 1);
      const std::string name = (bulk ? "b" : "c") + std::to_string(i);
      bulk ? PushBulk(name, tokens) : PushControl(name, tokens);
      tokens_of[name] = tokens;
      for (const Token token : tokens) pushed[token].push_back(name);
      if (below(4) == 0) take(1 + below(20));
    }
    while (!queue_.empty()) take(1 + below(20));
    EXPECT_EQ(out, 40u);
    for (const auto& [token, names] : pushed)
      ASSERT_EQ(names, taken[token]) << "round " << round << " token " << token;
  }
}

}  // namespace
}  // namespace inlier
