// A dead worker's outbox: the journal holds any bytes. The next worker opens its own, takes over what is
// whole, and can give, keep and forget it.
#include "base/check.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "worker/outbox.h"

namespace inlier {
namespace {

void WriteDead(const TemporaryFolder& state, std::string_view journal) {
  std::filesystem::create_directories(state / "outbox/dead");
  state.Write("outbox/dead/lock", "");
  state.Write("outbox/dead/journal", journal);
}

}  // namespace

void FuzzOne(std::string_view input) {
  const TemporaryFolder state(MemoryFolder());
  WriteDead(state, input);
  const auto outbox = Outbox::Open(state.path(), "living", 100).value();
  INLIER_CHECK(!std::filesystem::exists(state / "outbox/dead"));
  const auto pending = outbox->Pending(0, 1000000, 1 << 30);
  INLIER_CHECK(pending.size() == outbox->size());
  outbox->Acknowledge(outbox->last_sequence());
  INLIER_CHECK(outbox->size() == 0);
  INLIER_CHECK(outbox->Compact().ok());
}

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const int count : {1, 5, 150}) {
    const TemporaryFolder state(MemoryFolder());
    const auto outbox = Outbox::Open(state.path(), "dead", 1000).value();
    for (int i = 0; i < count; ++i) {
      Outbox::Entry entry{static_cast<std::uint64_t>(i), "st-1", {}};
      if (i % 3 == 0) entry.event.mutable_outcome()->set_kind(v1::Outcome::SUCCEEDED);
      if (i % 3 == 1) entry.event.mutable_log()->set_text("line");
      if (i % 3 == 2) entry.event.mutable_measurement()->set_value(1);
      INLIER_CHECK(outbox->Append({entry}).ok());
    }
    seeds.push_back(*ReadFile(state / "outbox/dead/journal"));
  }
  return seeds;
}

std::string FuzzMutate(std::string input, FuzzRandom& random) {
  return MutateBytes(std::move(input), random);
}

}  // namespace inlier
