#include "base/service/awake_pollers.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace inlier {
namespace {

// Less than half of what a thread waits before it sleeps.
constexpr std::chrono::milliseconds kEvery{400};

// Nobody can listen there: the calls never leave the process.
constexpr char kNowhere[] = "unix:/dev/null/nobody";

}  // namespace

struct AwakePollers::State {
  // REQUIRES: the lock, and no call under way.
  void Call() {
    context.emplace();
    context->set_wait_for_ready(true);
    context->set_deadline(std::chrono::system_clock::now() + kEvery);
    under_way = true;
    stub.UnaryCall(&*context, "/nobody/Nothing", grpc::StubOptions(), &nothing, &answer,
                   [this](const grpc::Status&) { Ended(); });
  }

  void Ended() {
    const std::lock_guard lock(mutex);
    ++events;
    under_way = false;
    if (!stopping) return Call();
    ended.notify_all();
  }

  grpc::GenericStub stub{grpc::CreateChannel(kNowhere, grpc::InsecureChannelCredentials())};
  const grpc::ByteBuffer nothing{nullptr, 0};
  grpc::ByteBuffer answer;
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<grpc::ClientContext> context;
  std::uint64_t events = 0;
  bool under_way = false;
  bool stopping = false;
};

std::shared_ptr<AwakePollers> AwakePollers::Get() {
  static std::mutex mutex;
  static std::weak_ptr<AwakePollers> shared;
  const std::lock_guard lock(mutex);
  std::shared_ptr<AwakePollers> pollers = shared.lock();
  if (pollers == nullptr) shared = pollers = std::make_shared<AwakePollers>();
  return pollers;
}

AwakePollers::AwakePollers() : state_(std::make_unique<State>()) {
  const std::lock_guard lock(state_->mutex);
  state_->Call();
}

AwakePollers::~AwakePollers() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->context->TryCancel();
  state_->ended.wait(lock, [this] { return !state_->under_way; });
}

std::uint64_t AwakePollers::events() const {
  const std::lock_guard lock(state_->mutex);
  return state_->events;
}

}  // namespace inlier
