#include "bench/scale/scale_client.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/uuid.h"
#include "base/version.h"
#include "bench/dispatch/load_report.h"
#include "rpc/rpc.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

void Die(const std::string& message) {
  std::fprintf(stderr, "scale_load: error: %s\n", message.c_str());
  std::exit(1);
}

std::shared_ptr<grpc::Channel> OwnConnection(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 5);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5);
  arguments.SetMaxReceiveMessageSize(kRpcMessageBytesMax);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

v1::SweepSpec GridSweep(const std::string& name, int axes, std::uint32_t values, std::uint32_t first) {
  static constexpr const char* kFields[] = {"seed", "training.batch_size", "training.gradient_accumulation",
                                            "training.steps"};
  INLIER_CHECK(axes >= 1 && axes <= 4);
  v1::SweepSpec sweep;
  sweep.set_name(name);
  *sweep.mutable_base() = LoadTrial();
  for (int i = 0; i < axes; ++i) {
    v1::Axis& axis = *sweep.add_axes();
    axis.set_field(kFields[i]);
    const std::uint32_t from = i == 0 ? first : 1;
    for (std::uint32_t value = from; value < from + values; ++value)
      axis.add_values()->set_number_value(value);
  }
  return sweep;
}

TimedSubmission Submit(v1::SweepService::Stub& stub, const v1::SweepSpec& sweep) {
  v1::SubmitSweepRequest request;
  request.set_request_id(RandomUuid());
  request.set_max_trials(SweepGrid::kSizeMax);
  *request.mutable_sweep() = sweep;
  grpc::ClientContext context;
  TimedSubmission submitted;
  const Timestamp started = MonotonicNow();
  const grpc::Status status = stub.SubmitSweep(&context, request, &submitted.response);
  submitted.milliseconds = 1e3 * ToSeconds(MonotonicNow() - started);
  if (!status.ok()) Die(absl::StrCat("SubmitSweep: ", status.error_message()));
  return submitted;
}

HandWorker::HandWorker(const std::string& address, std::string incarnation, std::uint32_t slots,
                       std::vector<std::uint64_t> tokens)
    : stub_(v1::WorkerService::NewStub(OwnConnection(address))),
      incarnation_(std::move(incarnation)),
      slots_(slots),
      tokens_(std::move(tokens)),
      sync_id_(static_cast<std::uint64_t>(MonotonicNow().since_start.count())) {}

v1::CoordinatorSync HandWorker::Sync(const std::vector<v1::NumberedEvent>& events) {
  v1::WorkerSync sync;
  sync.set_incarnation(incarnation_);
  sync.set_name(incarnation_);
  sync.set_host("bench");
  sync.set_version(Version());
  sync.set_sync_id(++sync_id_);
  for (std::uint32_t i = 0; i < slots_; ++i) {
    v1::Slot& slot = *sync.add_slots();
    slot.set_index(i);
    slot.set_device("cpu");
    slot.set_threads(1);
  }
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    v1::AttemptReport& report = *sync.add_attempts();
    report.set_token(tokens_[i]);
    report.set_slot(static_cast<std::uint32_t>(i));
  }
  for (const v1::NumberedEvent& event : events) *sync.add_events() = event;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  v1::CoordinatorSync answer;
  const grpc::Status status = stub_->Sync(&context, sync, &answer);
  if (!status.ok()) Die(absl::StrCat("Sync of ", incarnation_, ": ", status.error_message()));
  tokens_.clear();
  for (const v1::Assignment& assignment : answer.desired()) tokens_.push_back(assignment.token());
  return answer;
}

}  // namespace inlier
