#include "coordinator/orchestration/sweep_table.h"

#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using google::protobuf::util::MessageDifferencer;

struct Told {
  std::vector<SweepId> packs, unpacked;
};

// A table that tells what becomes of its sweeps.
class TableThatTells {
 public:
  explicit TableThatTells(Told& told)
      : table_({.packs = [&told](const Sweep& sweep) { told.packs.push_back(sweep.id); },
                .unpacked = [&told](const Sweep& sweep) { told.unpacked.push_back(sweep.id); }},
               memory_) {}
  SweepTable& table() { return table_; }

 private:
  ColdMemory memory_;
  SweepTable table_;
};

bool Over(const Sweep&) { return true; }

v1::SweepSpec SpecNamed(const std::string& name) {
  v1::SweepSpec spec;
  spec.set_name(name);
  spec.set_description("what it is for");
  spec.mutable_base()->mutable_training()->set_steps(70);
  spec.add_axes()->set_field("seed");
  spec.set_priority(-3);
  spec.set_group("night");
  spec.mutable_resources()->set_memory_mib(500);
  spec.mutable_retry()->set_max_crashes(9);
  return spec;
}

// One that has ended, with no field as it is by itself.
Sweep EndedSweep(SweepId id, const std::string& name) {
  Sweep sweep;
  sweep.id = id;
  sweep.SetSpec(SpecNamed(name));
  sweep.state = v1::SWEEP_CANCELLED;
  sweep.points = 1'000'000'000'000;
  sweep.kept = 77;
  sweep.trials_told = 78;
  sweep.trials_known = 4;
  sweep.next_point = 12;
  sweep.paused = true;
  sweep.revision = 5;
  sweep.request_id = "request of " + name;
  sweep.request_digest = std::string(32, 'a') + std::string(32, '7');
  sweep.submitted = WallTime{1'800'000'000'123};
  sweep.ended = WallTime{1'800'000'360'456};
  for (const int trial : {3, 4, 5, 9, 11, 12, 2'000'000'000}) sweep.trials.push_back(TrialId(trial));
  sweep.withdrawn = 2;
  sweep.CountOf(v1::SUCCEEDED) = 4;
  sweep.CountOf(v1::DIVERGED) = 1;
  sweep.CountOf(v1::FAILED) = 2;
  sweep.train.total = 5;
  sweep.train.weight_total = 350.5;
  sweep.evaluate.total = 7;
  sweep.evaluate.weight_total = 0.7;
  sweep.version = 41;
  sweep.notices_told = 3;
  sweep.notices = {"it was paused", "it was cancelled"};
  return sweep;
}

void ExpectSame(const Sweep& is, const Sweep& was) {
  EXPECT_EQ(is.id, was.id);
  EXPECT_TRUE(MessageDifferencer::Equals(is.spec, was.spec)) << is.spec.DebugString();
  EXPECT_TRUE(MessageDifferencer::Equals(is.WholeSpec(), was.WholeSpec()));
  EXPECT_EQ(is.steps, was.steps);
  EXPECT_EQ(is.request, was.request);
  EXPECT_EQ(is.state, was.state);
  EXPECT_EQ(is.points, was.points);
  EXPECT_EQ(is.kept, was.kept);
  EXPECT_EQ(is.trials_told, was.trials_told);
  EXPECT_EQ(is.trials_known, was.trials_known);
  EXPECT_EQ(is.next_point, was.next_point);
  EXPECT_EQ(is.paused, was.paused);
  EXPECT_EQ(is.revision, was.revision);
  EXPECT_EQ(is.request_id, was.request_id);
  EXPECT_EQ(is.request_digest, was.request_digest);
  EXPECT_EQ(is.submitted, was.submitted);
  EXPECT_EQ(is.ended, was.ended);
  EXPECT_EQ(is.trials, was.trials);
  EXPECT_EQ(is.withdrawn, was.withdrawn);
  EXPECT_EQ(is.counts, was.counts);
  EXPECT_EQ(is.train.total, was.train.total);
  EXPECT_EQ(is.train.weight_total, was.train.weight_total);
  EXPECT_EQ(is.evaluate.total, was.evaluate.total);
  EXPECT_EQ(is.evaluate.weight_total, was.evaluate.weight_total);
  EXPECT_EQ(is.version, was.version);
  EXPECT_EQ(is.notices_told, was.notices_told);
  EXPECT_EQ(is.notices, was.notices);
}

TEST(SweepTableTest, AnEndedSweepComesBackFromItsPackAsItWas) {
  Told told;
  TableThatTells that_tells(told);
  SweepTable& table = that_tells.table();
  table.Add(EndedSweep(SweepId(7), "all"));
  table.NoteEnd(SweepId(7));
  table.Pack(Over);
  EXPECT_EQ(told.packs, std::vector{SweepId(7)});
  const Sweep was = EndedSweep(SweepId(7), "all");
  ExpectSame(*table.View(SweepId(7)), was);
  table.ForEach([&](const Sweep& sweep) { ExpectSame(sweep, was); });
  EXPECT_TRUE(told.unpacked.empty());
  ExpectSame(table.at(SweepId(7)), was);
  EXPECT_EQ(told.unpacked, std::vector{SweepId(7)});
  // And once more, without having been told of its end again.
  table.Pack(Over);
  EXPECT_EQ(told.packs.size(), 2u);
  ExpectSame(*table.View(SweepId(7)), was);
}

TEST(SweepTableTest, OfManyNoticesTheLatestStay) {
  Told told;
  TableThatTells that_tells(told);
  SweepTable& table = that_tells.table();
  Sweep sweep = EndedSweep(SweepId(1), "loud");
  sweep.notices_told = 20;
  for (int number = 5; number <= 20; ++number) sweep.notices.push_back("notice " + std::to_string(number));
  table.Add(std::move(sweep));
  table.NoteEnd(SweepId(1));
  table.Pack(Over);
  const SweepView view = table.View(SweepId(1));
  EXPECT_EQ(view->notices_told, 20u);
  ASSERT_EQ(view->notices.size(), 8u);
  EXPECT_EQ(view->notices.front(), "notice 13");
  EXPECT_EQ(view->notices.back(), "notice 20");
}

TEST(SweepTableTest, WhatASweepDoesNotSayItDoesNotSayAfterwards) {
  Told told;
  TableThatTells that_tells(told);
  SweepTable& table = that_tells.table();
  Sweep sweep;
  sweep.id = SweepId(1);
  v1::SweepSpec spec;
  spec.set_name("bare");
  sweep.SetSpec(spec);
  sweep.state = v1::COMPLETE;
  sweep.request_digest = "no digest";
  table.Add(std::move(sweep));
  table.NoteEnd(SweepId(1));
  table.Pack(Over);
  ASSERT_EQ(told.packs.size(), 1u);
  const SweepView view = table.View(SweepId(1));
  EXPECT_TRUE(MessageDifferencer::Equals(view->WholeSpec(), spec));
  EXPECT_EQ(view->kept, std::nullopt);
  EXPECT_EQ(view->ended, std::nullopt);
  EXPECT_EQ(view->request_digest, "no digest");
  EXPECT_FALSE(view->paused);
  EXPECT_TRUE(view->trials.empty());
}

TEST(SweepTableTest, OnlyWhatIsOverIsPacked) {
  Told told;
  TableThatTells that_tells(told);
  SweepTable& table = that_tells.table();
  Sweep active = EndedSweep(SweepId(1), "active");
  active.state = v1::ACTIVE;
  table.Add(std::move(active));
  Sweep open = EndedSweep(SweepId(2), "open");
  open.CountOf(v1::RUNNING) = 1;
  table.Add(std::move(open));
  Sweep pruned = EndedSweep(SweepId(3), "pruned");
  pruned.pruner = std::make_unique<Pruner>(v1::PruningSpec());
  table.Add(std::move(pruned));
  Sweep large = EndedSweep(SweepId(4), "large");
  large.trials.clear();
  for (int trial = 1; trial <= 5000; ++trial) large.trials.push_back(TrialId(trial));
  table.Add(std::move(large));
  table.Add(EndedSweep(SweepId(5), "charged"));
  table.Add(EndedSweep(SweepId(6), "never told of"));
  for (const int id : {1, 2, 3, 4, 5}) table.NoteEnd(SweepId(id));
  table.Pack([](const Sweep& sweep) { return sweep.id != SweepId(5); });
  EXPECT_TRUE(told.packs.empty());

  // The trial of one has ended, and the attempt of another.
  table.at(SweepId(2)).CountOf(v1::RUNNING) = 0;
  table.Pack(Over);
  EXPECT_EQ(told.packs, (std::vector{SweepId(2), SweepId(5)}));
  EXPECT_TRUE(told.unpacked.empty());
}

TEST(SweepTableTest, PackedSweepsAreFoundByNameTheNewestFirst) {
  Told told;
  TableThatTells that_tells(told);
  SweepTable& table = that_tells.table();
  for (const int id : {3, 1, 2}) {
    table.Add(EndedSweep(SweepId(id), id == 2 ? "b" : "a"));
    if (id != 1) table.NoteEnd(SweepId(id));
  }
  table.Pack(Over);
  EXPECT_EQ(told.packs.size(), 2u);
  EXPECT_EQ(table.FindNewest("a"), SweepId(3));
  EXPECT_EQ(table.FindNewest("b"), SweepId(2));
  EXPECT_EQ(table.FindNewest("c"), std::nullopt);
  EXPECT_EQ(table.FindNewest(""), std::nullopt);
  EXPECT_EQ(table.NewestNames(2), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table.NewestNames(10), (std::vector<std::string>{"a", "b", "a"}));
  EXPECT_EQ(table.IdsBackwards(SweepId(), 10), (std::vector{SweepId(3), SweepId(2), SweepId(1)}));
  EXPECT_TRUE(table.contains(SweepId(2)));
  EXPECT_FALSE(table.contains(SweepId(4)));
  EXPECT_EQ(table.size(), 3u);
}

TEST(SweepTableTest, NamesAreFoundAcrossGapsOfIds) {
  Told told;
  TableThatTells that_tells(told);
  SweepTable& table = that_tells.table();
  EXPECT_EQ(table.FindNewest("far"), std::nullopt);
  table.Add(EndedSweep(SweepId(5000), "far"));
  table.Add(EndedSweep(SweepId(7), "near"));
  EXPECT_EQ(table.FindNewest("far"), SweepId(5000));
  EXPECT_EQ(table.FindNewest("near"), SweepId(7));
  EXPECT_EQ(table.FindNewest(""), std::nullopt);  // No hash of a gap is taken for a sweep.
}

}  // namespace
}  // namespace inlier
