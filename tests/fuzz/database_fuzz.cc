// A damaged inlier.db: opening, loading and recovering it gives a clear error or a state that holds together,
// never a crash or a hang. An input is a list of patches (four bytes of offset, one of length, the bytes) to
// a database in the middle of its work.
#include <cstring>

#include "base/status.h"
#include "tests/coordinator/harness.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

namespace inlier {
namespace {

const std::string& WorkingDatabase() {
  static const std::string bytes = [] {
    const TemporaryFolder keep(MemoryFolder());
    {
      Harness harness(Harness::DefaultOptions(), keep.path());
      harness.Submit(SmallSweep("story", 3, {8, 4}));
      HandWorker worker("w", 2);
      for (int round = 0; round < 3; ++round) {
        harness.Sync(worker);
        for (const auto& [token, assignment] : std::map(worker.running())) {
          worker.Emit(token, MeasurementEvent("train_loss", 2.5, false));
          if (token == 2) worker.Emit(token, FailureEvent(v1::CRASHED, "it fell"));
          if (token != 2 && token != 4) worker.Finish(token);
        }
      }
      harness.Sync(worker);
      harness.Crash();  // Opening moves the log into the file.
      for (const auto& entry : std::filesystem::recursive_directory_iterator(keep.path())) {
        if (entry.path().filename() == "inlier.db") return *ReadFile(entry.path());
      }
    }
    INLIER_CHECK(false);
    return std::string();
  }();
  return bytes;
}

}  // namespace

void FuzzOne(std::string_view input) {
  std::string bytes = WorkingDatabase();
  while (input.size() >= 5) {
    std::uint32_t at = 0;
    std::memcpy(&at, input.data(), 4);
    const std::size_t length = static_cast<unsigned char>(input[4]);
    input.remove_prefix(5);
    const std::string_view patch = input.substr(0, length);
    input.remove_prefix(patch.size());
    bytes.replace(at % bytes.size(), std::min(patch.size(), bytes.size() - at % bytes.size()),
                  patch.substr(0, bytes.size() - at % bytes.size()));
  }
  const TemporaryFolder folder(MemoryFolder());
  folder.Write("inlier.db", bytes);
  const auto database = Database::Open(folder.path());
  if (!database.ok()) {
    INLIER_CHECK(!database.status().message().empty());
    return;
  }
  Store store(**database);
  auto snapshot = store.Load();
  if (!snapshot.ok()) {
    INLIER_CHECK(!snapshot.status().message().empty());
    return;
  }
  Orchestrator orchestrator(Harness::DefaultOptions());
  Effects effects;
  const Moment now{Timestamp{std::chrono::hours(2)}, WallTime{1'700'000'900'000}};
  const absl::Status recovered = orchestrator.Recover(*std::move(snapshot), now, effects);
  INLIER_CHECK(recovered.ok() || !recovered.message().empty());
}

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds = {""};
  // A patch in each of the pages, and one over the file's head.
  for (std::uint32_t page = 0; page < WorkingDatabase().size() / 4096; ++page) {
    const std::uint32_t at = page * 4096 + 100;
    std::string patch(reinterpret_cast<const char*>(&at), 4);
    patch += '\x04';
    patch += WorkingDatabase().substr(at, 4);
    seeds.push_back(patch);
  }
  // The texts of states: other states, where the schema would not let them be.
  for (const std::string word :
       {"PENDING", "RUNNING", "SUCCEEDED", "FAILED", "TRAIN_STAGE", "ACTIVE", "COMPLETE", "bert", "story"}) {
    for (std::size_t at = WorkingDatabase().find(word); at != std::string::npos && seeds.size() < 400;
         at = WorkingDatabase().find(word, at + 1)) {
      const auto offset = static_cast<std::uint32_t>(at);
      std::string patch(reinterpret_cast<const char*>(&offset), 4);
      patch += static_cast<char>(word.size());
      patch += word;
      seeds.push_back(patch);
    }
  }
  return seeds;
}

std::string FuzzMutate(std::string input, FuzzRandom& random) {
  if (input.size() < 6 || random() % 3 == 0) {
    const auto at = static_cast<std::uint32_t>(random() % WorkingDatabase().size());
    const std::size_t length = 1 + random() % 8;
    std::string patch(reinterpret_cast<const char*>(&at), 4);
    patch += static_cast<char>(length);
    for (std::size_t i = 0; i < length; ++i) patch += static_cast<char>(random() % 3 == 0 ? 0 : random());
    return input + patch;
  }
  // Mostly the bytes written, seldom where.
  const std::size_t at = random() % 4 == 0 ? random() % input.size() : 5 + random() % (input.size() - 5);
  input[at] = static_cast<char>(random());
  return input;
}

}  // namespace inlier
