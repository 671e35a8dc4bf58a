#include "cli/terminal/screen.h"

#include <langinfo.h>
#include <ncurses.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/output.h"

namespace inlier {
namespace {

constexpr int kColumnsMin = 40;
constexpr int kRowsMin = 8;

// Signals that end the process at once unless the program catches them.
constexpr int kFatal[] = {SIGHUP, SIGQUIT, SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPIPE};

termios before;

// Restores the terminal, then ends the process as the signal would have. Only calls that a handler may make.
void OnFatalSignal(int number) {
  static constexpr char kRestore[] = "\x1b[0m\x1b[?1049l\x1b[?1l\x1b>\x1b[?25h";
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, kRestore, sizeof(kRestore) - 1);
  tcsetattr(STDOUT_FILENO, TCSANOW, &before);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
  raise(number);
}

void CatchFatal(bool on) {
  for (const int number : kFatal) {
    struct sigaction present {};
    sigaction(number, nullptr, &present);
    if (present.sa_handler != (on ? SIG_DFL : OnFatalSignal)) continue;  // Ignored, or another's.
    struct sigaction action {};
    action.sa_handler = on ? OnFatalSignal : SIG_DFL;
    sigaction(number, &action, nullptr);
  }
}

// The characters of drawings are UTF-8, also where the user's locale is "C".
void UseUtf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
}

enum Colour : short { kNoColour, kGoodColour, kBadColour, kWarnColour, kBarColour };

attr_t AttributesOf(Style style, bool colours) {
  const auto colour = [colours](Colour of, attr_t otherwise) {
    return colours ? static_cast<attr_t>(COLOR_PAIR(of)) : otherwise;
  };
  switch (style) {
    case Style::kPlain:
      break;
    case Style::kDim:
      return A_DIM;
    case Style::kStrong:
      return A_BOLD;
    case Style::kGood:
      return colour(kGoodColour, A_NORMAL);
    case Style::kBad:
      return colour(kBadColour, A_BOLD);
    case Style::kWarn:
      return colour(kWarnColour, A_BOLD);
    case Style::kBar:
      return colour(kBarColour, A_NORMAL);
  }
  return A_NORMAL;
}

bool StartColours() {
  const char* no_color = std::getenv("NO_COLOR");
  if ((no_color != nullptr && *no_color != '\0') || !has_colors() || start_color() == ERR) return false;
  const short ground = use_default_colors() == OK ? -1 : COLOR_BLACK;
  init_pair(kGoodColour, COLOR_GREEN, ground);
  init_pair(kBadColour, COLOR_RED, ground);
  init_pair(kWarnColour, COLOR_YELLOW, ground);
  init_pair(kBarColour, COLOR_CYAN, ground);
  return true;
}

Key KeyOf(int code) {
  using enum Key;
  constexpr int kEscape = 27, kControlL = 12;
  static constexpr std::pair<int, Key> kKeys[] = {
      {'q', kQuit},      {'Q', kQuit},         {kEscape, kBack},      {KEY_BACKSPACE, kBack},
      {KEY_LEFT, kBack}, {'k', kUp},           {KEY_UP, kUp},         {'j', kDown},
      {KEY_DOWN, kDown}, {KEY_PPAGE, kPageUp}, {' ', kPageDown},      {KEY_NPAGE, kPageDown},
      {'\n', kEnter},    {'\r', kEnter},       {KEY_ENTER, kEnter},   {KEY_RIGHT, kEnter},
      {'p', kPause},     {'?', kHelp},         {'h', kHelp},          {'y', kYes},
      {'Y', kYes},       {kControlL, kRedraw}, {KEY_RESIZE, kResized}};
  const auto* found =
      std::find_if(std::begin(kKeys), std::end(kKeys), [code](const auto& key) { return key.first == code; });
  return found == std::end(kKeys) ? kOther : found->second;
}

bool HungUp() {
  winsize size{};
  return ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0;
}

}  // namespace

bool Screen::IsUsable() {
  if (!StdinIsTerminal() || !StdoutIsTerminal()) return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || *term == '\0' || std::strcmp(term, "dumb") == 0) return false;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kColumnsMin &&
         size.ws_row >= kRowsMin;
}

absl::StatusOr<std::unique_ptr<Screen>> Screen::Open() {
  UseUtf8();
  tcgetattr(STDOUT_FILENO, &before);
  // newterm, because initscr ends the process where TERM is not known.
  if (newterm(nullptr, stdout, stdin) == nullptr) {
    const char* term = std::getenv("TERM");
    return absl::FailedPreconditionError(absl::StrCat("the terminal ", term == nullptr ? "" : term,
                                                      " (TERM) is not known on this machine; use --plain"));
  }
  std::unique_ptr<Screen> screen(new Screen);
  CatchFatal(true);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  set_escdelay(50);
  curs_set(0);
  screen->colours_ = StartColours();
  return screen;
}

Screen::~Screen() {
  curs_set(1);
  endwin();
  CatchFatal(false);
}

ScreenSize Screen::size() const { return {getmaxx(stdscr), getmaxy(stdscr)}; }

void Screen::Show(const Drawing& drawing) {
  erase();
  const int rows = std::min(static_cast<int>(drawing.size()), getmaxy(stdscr));
  for (int row = 0; row < rows; ++row) {
    const StyledLine& line = drawing[static_cast<std::size_t>(row)];
    move(row, 0);
    for (const Span& span : line.spans()) {
      attrset(AttributesOf(span.style, colours_) | (line.selected() ? A_REVERSE : A_NORMAL));
      addstr(span.text.c_str());
    }
    attrset(A_NORMAL);
  }
  refresh();
}

Key Screen::NextKey(Duration wait) {
  wtimeout(stdscr, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(wait).count()));
  const int code = getch();
  if (code == ERR) return HungUp() ? Key::kHangUp : Key::kNone;
  const Key key = KeyOf(code);
  if (key == Key::kRedraw || key == Key::kResized) clearok(stdscr, TRUE);
  return key;
}

}  // namespace inlier
