// Several users have sweeps of one name: each call takes the caller's own, and notes that there are others.
#include <gtest/gtest.h>

#include <string>

#include "rpc/rpc.h"
#include "tests/coordinator/services/guarded_fixture.h"

namespace inlier {
namespace {

class SweepNamesTest : public GuardedTest {
 protected:
  struct Seen {
    grpc::Status status;
    std::string note;
  };

  void Submit(const std::string& token, const std::string& name) {
    ASSERT_TRUE(GuardedTest::Submit(Channel(WithToken(token)), SmallSweep(name, 1)).ok());
  }

  template <typename Request, typename Response>
  Seen Call(const std::string& token,
            grpc::Status (v1::SweepService::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
            const std::string& sweep, Response& response) {
    grpc::ClientContext context;
    const auto stub = v1::SweepService::NewStub(Channel(WithToken(token)));
    Seen seen{((*stub).*method)(&context, OfSweep<Request>(sweep), &response), ""};
    const auto note = context.GetServerTrailingMetadata().find(kNoteHeader);
    if (note != context.GetServerTrailingMetadata().end())
      seen.note = std::string(note->second.data(), note->second.size());
    return seen;
  }

  // Which sweep each of the calls that read takes, and the note of the last one.
  std::string Read(const std::string& token, const std::string& sweep) {
    using Stub = v1::SweepService::Stub;
    v1::SweepStatus status;
    const std::string note = Call<v1::GetSweepRequest>(token, &Stub::GetSweep, sweep, status).note;
    v1::Table table;
    EXPECT_EQ(Call<v1::BuildTableRequest>(token, &Stub::BuildTable, sweep, table).note, note);
    EXPECT_EQ(table.sweeps(0), status.sweep_id());
    v1::ListTrialsResponse trials;
    EXPECT_EQ(Call<v1::ListTrialsRequest>(token, &Stub::ListTrials, sweep, trials).note, note);
    EXPECT_EQ(trials.trials(0).sweep_id(), status.sweep_id());
    v1::SweepMatrix matrix;
    EXPECT_EQ(Call<v1::GetMatrixRequest>(token, &Stub::GetMatrix, sweep, matrix).note, note);
    EXPECT_EQ("s-" + std::to_string(matrix.numbers(0)), status.sweep_id());  // Each sweep has one trial.
    EXPECT_GT(matrix.trainings(0), 0u);
    v1::Explanation why;
    EXPECT_EQ(Call<v1::ExplainRequest>(token, &Stub::Explain, sweep, why).note, note);
    const auto watched = OfSweep<v1::WatchSweepRequest>(sweep);
    grpc::ClientContext context;
    v1::SweepUpdate update;
    const auto watch = v1::SweepService::NewStub(Channel(WithToken(token)))->WatchSweep(&context, watched);
    EXPECT_TRUE(watch->Read(&update));
    EXPECT_EQ(update.status().sweep_id(), status.sweep_id());
    context.TryCancel();
    return status.sweep_id() + (note.empty() ? "" : "; " + note);
  }
};

TEST_F(SweepNamesTest, ANameIsTheCallersOwnSweepAndOthersAreNamed) {
  const std::string ada = AddToken(Role::kSubmit, "ada"), bob = AddToken(Role::kSubmit, "bob");
  const std::string eve = AddToken(Role::kSubmit, "eve"), reader = AddToken(Role::kRead, "reader");
  Start();
  Submit(ada, "mine");
  Submit(ada, "alone");
  EXPECT_EQ(Read(ada, "mine"), "s-1");
  EXPECT_EQ(Read(reader, "mine"), "s-1");
  EXPECT_EQ(Read(bob, "mine"), "s-1; \"mine\" is s-1 of ada");
  Submit(bob, "mine");
  EXPECT_EQ(Read(ada, "mine"),
            "s-1; \"mine\" is s-1 of ada; there are also s-3 of bob: name one of them by its id");
  EXPECT_EQ(Read(bob, "mine"),
            "s-3; \"mine\" is s-3 of bob; there are also s-1 of ada: name one of them by its id");
  EXPECT_EQ(Read(eve, "mine"), Read(reader, "mine"));
  EXPECT_EQ(Read(reader, "mine").substr(0, 4), "s-3;");
  EXPECT_EQ(Read(reader, "s-1"), "s-1");
  const std::string before = Read(ada, "mine");
  coordinator_.reset();
  Start();
  EXPECT_EQ(Read(ada, "mine"), before) << "after a restart";
  EXPECT_EQ(Read(ada, "alone"), "s-2");
}

TEST_F(SweepNamesTest, AChangeIsOfTheCallersOwnSweep) {
  const std::string ada = AddToken(Role::kSubmit, "ada"), bob = AddToken(Role::kAdmin, "bob");
  Start();
  Submit(ada, "mine");
  Submit(bob, "mine");
  using Stub = v1::SweepService::Stub;
  v1::PauseSweepResponse paused;
  EXPECT_TRUE(Call<v1::PauseSweepRequest>(ada, &Stub::PauseSweep, "mine", paused).status.ok());
  v1::CancelResponse cancelled;
  EXPECT_NE(Call<v1::CancelRequest>(bob, &Stub::Cancel, "mine", cancelled).note, "");
  v1::SweepStatus first, second;
  Call<v1::GetSweepRequest>(bob, &Stub::GetSweep, "s-1", first);
  Call<v1::GetSweepRequest>(bob, &Stub::GetSweep, "s-2", second);
  EXPECT_TRUE(first.paused());
  EXPECT_EQ(first.state(), v1::ACTIVE);
  EXPECT_EQ(second.state(), v1::SWEEP_CANCELLED);
}

}  // namespace
}  // namespace inlier
