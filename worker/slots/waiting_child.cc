#include "worker/slots/waiting_child.h"

#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/check.h"

namespace inlier {
namespace {

namespace asio = boost::asio;

constexpr Duration kEndGrace = std::chrono::seconds(5);

}  // namespace

struct WaitingChild::Waiting {
  explicit Waiting(asio::io_context& io) : timer(io), gone(io, asio::steady_timer::time_point::max()) {}

  std::unique_ptr<TrialProcess> process;
  bool ending = false, ended = false;
  asio::steady_timer timer;  // Until it has waited too long; while it ends: until it is killed.
  asio::steady_timer gone;   // Cancelled when it has ended.

  static asio::awaitable<void> End(std::shared_ptr<Waiting> self) {
    self->ending = true;
    self->process->CloseInput();
    self->timer.expires_after(kEndGrace);
    self->timer.async_wait([self](const boost::system::error_code& error) {
      if (!error) self->process->Signal(SIGKILL);
    });
    co_await self->process->WaitForExit();
    self->ended = true;
    self->timer.cancel();
    self->gone.cancel();
  }
};

WaitingChild::WaitingChild(asio::io_context& io) : io_(io) {}

WaitingChild::~WaitingChild() { Kill(); }

void WaitingChild::Keep(std::unique_ptr<TrialProcess> process) {
  INLIER_CHECK(waiting_ == nullptr || waiting_->ending);
  process->Redirect([](std::string_view) {}, [](std::string_view) {});
  waiting_ = std::make_shared<Waiting>(io_);
  waiting_->process = std::move(process);
  waiting_->timer.expires_after(kWait);
  waiting_->timer.async_wait([self = waiting_](const boost::system::error_code& error) {
    if (!error && self->process && !self->ending)
      asio::co_spawn(self->timer.get_executor(), Waiting::End(self), asio::detached);
  });
}

std::unique_ptr<TrialProcess> WaitingChild::Take() {
  if (waiting_ == nullptr || waiting_->ending || waiting_->process->HasEnded()) return nullptr;
  waiting_->timer.cancel();
  return std::move(std::exchange(waiting_, nullptr)->process);
}

asio::awaitable<void> WaitingChild::End() {
  const std::shared_ptr<Waiting> waiting = std::exchange(waiting_, nullptr);
  if (waiting == nullptr) co_return;
  if (!waiting->ending) co_return co_await Waiting::End(waiting);
  boost::system::error_code error;
  if (!waiting->ended) co_await waiting->gone.async_wait(asio::redirect_error(asio::use_awaitable, error));
}

void WaitingChild::Kill() {
  const std::shared_ptr<Waiting> waiting = std::exchange(waiting_, nullptr);
  if (waiting == nullptr) return;
  if (waiting->ending) {
    waiting->process->Signal(SIGKILL);
  } else {
    waiting->timer.cancel();
    waiting->process.reset();
  }
}

}  // namespace inlier
