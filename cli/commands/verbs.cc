#include "cli/commands/verbs.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

struct Verb {
  const char* name;
  const char* group;
  const char* examples;  // A line each.
};

constexpr char kRun[] = "Run", kObserve[] = "Observe", kResults[] = "Results", kControl[] = "Control",
               kOperate[] = "Operate";

constexpr Verb kVerbs[] = {
    {"run", kRun,
     "inlier run sweeps/smoke.yaml --dir /tmp/state\n"
     "inlier run sweeps/from-scratch.yaml --set training.steps=100"},
    {"up", kRun, "inlier up --dir /tmp/state --slots 2"},
    {"check", kRun, "inlier check sweeps/bondarenko-table2.yaml --scale small"},
    {"submit", kRun, "inlier submit sweeps/smoke.yaml --watch"},
    {"status", kObserve, "inlier status\ninlier status smoke --failed"},
    {"watch", kObserve, "inlier watch smoke\ninlier watch s-3 --plain"},
    {"top", kObserve, "inlier top"},
    {"why", kObserve, "inlier why t-17\ninlier why smoke"},
    {"logs", kObserve, "inlier logs t-17 --tail 20\ninlier logs t-17 --follow"},
    {"workers", kObserve, "inlier workers"},
    {"where", kObserve, "inlier where"},
    {"page", kObserve, "inlier page smoke"},
    {"table", kResults, "inlier table smoke\ninlier table smoke --format latex -o smoke.tex"},
    {"plot", kResults, "inlier plot smoke -o smoke.svg"},
    {"query", kResults,
     "inlier query \"SELECT trial, label, perplexity FROM results WHERE sweep_id = 's-1'\""},
    {"export", kResults, "inlier export t-17 my-model"},
    {"analyze", kResults, "inlier analyze my-model --corpus gcide"},
    {"cancel", kControl, "inlier cancel t-17\ninlier cancel smoke --yes"},
    {"retry", kControl, "inlier retry smoke"},
    {"pause", kControl, "inlier pause smoke --now"},
    {"resume", kControl, "inlier resume smoke"},
    {"edit", kControl, "inlier edit smoke --set priority=3\ninlier edit smoke new.yaml --dry-run"},
    {"drain", kControl, "inlier drain vm\ninlier drain vm --resume"},
    {"fleet", kOperate,
     "inlier fleet slurm --worker-config /shared/worker.yaml --partition gpu --gres gpu:1 --maximum 8 "
     "--time-limit 240\n"
     "inlier fleet status\ninlier fleet scale --maximum 16\ninlier fleet stop --now"},
    {"audit", kOperate, "inlier audit --sweep smoke"},
    {"gc", kOperate, "inlier gc --dry-run"},
    {"backup", kOperate, "inlier backup /backups/inlier.db"},
    {"doctor", kOperate, "inlier doctor --repair"},
    {"token", kOperate, "inlier token add --role submit --name alice"},
    {"params", kOperate, "inlier params optimizer"},
    {"completion", kOperate, "source <(inlier completion bash)"},
};

}  // namespace

void DescribeVerbs(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    const auto* found = std::find_if(std::begin(kVerbs), std::end(kVerbs), [command](const Verb& verb) {
      return command->get_name() == verb.name;
    });
    if (found == std::end(kVerbs)) continue;
    const Verb& verb = *found;
    command->group(verb.group);
    std::string text = "Examples:\n";
    for (std::string_view rest = verb.examples; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      absl::StrAppend(&text, "  ", std::string(rest.substr(0, end)), "\n");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    command->footer(text);
  }
}

}  // namespace inlier
