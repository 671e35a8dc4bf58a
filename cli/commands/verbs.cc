#include "cli/commands/verbs.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/commands.h"

namespace inlier {
namespace {

struct Verb {
  void (*add)(CLI::App& app, Session& session);
  const char* group;
  const char* examples;  // A line each.
};

constexpr char kRun[] = "Run", kObserve[] = "Observe", kResults[] = "Results", kControl[] = "Control",
               kOrder[] = "Order", kOperate[] = "Operate";

constexpr Verb kVerbs[] = {
    {AddRunCommand, kRun,
     "inlier run sweeps/smoke.yaml --dir /tmp/state\n"
     "inlier run sweeps/from-scratch.yaml --set training.steps=100"},
    {AddUpCommand, kRun, "inlier up --dir /tmp/state --slots 2"},
    {AddCheckCommand, kRun, "inlier check sweeps/bondarenko-table2.yaml --scale small"},
    {AddConvertCommand, kRun,
     "inlier convert wandb-sweep.yaml -o sweep.yaml\n"
     "inlier convert config.yaml --description inlier-program.yaml"},
    {AddSubmitCommand, kRun, "inlier submit sweeps/smoke.yaml --watch"},
    {AddOptimizeCommand, kRun, "inlier optimize s-3"},
    {AddStatusCommand, kObserve, "inlier status\ninlier status smoke --failed"},
    {AddListCommand, kOrder,
     "inlier list --tag paper --owner me\n"
     "inlier list --where \"max_inf_norm > 100\"\n"
     "inlier list --removed"},
    {AddTagCommand, kOrder, "inlier tag smoke +paper -draft"},
    {AddNoteCommand, kOrder, "inlier note smoke \"seeds 1 to 3 only\"\ninlier note smoke --file note.md"},
    {AddRenameCommand, kOrder, "inlier rename s-3 softmax-of-opt"},
    {AddArchiveCommand, kOrder, "inlier archive smoke"},
    {AddUnarchiveCommand, kOrder, "inlier unarchive smoke"},
    {AddRemoveCommand, kOrder, "inlier remove smoke\ninlier remove s-3 s-4 --yes"},
    {AddRestoreCommand, kOrder, "inlier restore s-3"},
    {AddWatchCommand, kObserve, "inlier watch smoke\ninlier watch s-3 --plain"},
    {AddTopCommand, kObserve, "inlier top"},
    {AddTableCommand, kResults, "inlier table smoke\ninlier table smoke --format latex -o smoke.tex"},
    {AddPlotCommand, kResults, "inlier plot smoke -o smoke.svg"},
    {AddPageCommand, kObserve, "inlier page smoke"},
    {AddQueryCommand, kResults,
     "inlier query \"SELECT trial, label, perplexity FROM results WHERE sweep_id = 's-1'\""},
    {AddExportCommand, kResults, "inlier export t-17 my-model"},
    {AddImportCommand, kResults,
     "inlier import runs.csv --measurements loss,accuracy\n"
     "inlier import mlruns --experiment tuning --dry-run"},
    {AddAnalyzeCommand, kResults, "inlier analyze my-model --corpus gcide"},
    {AddLogsCommand, kObserve, "inlier logs t-17 --tail 20\ninlier logs t-17 --follow"},
    {AddCancelCommand, kControl, "inlier cancel t-17\ninlier cancel smoke --yes"},
    {AddRetryCommand, kControl, "inlier retry smoke"},
    {AddPauseCommand, kControl, "inlier pause smoke --now"},
    {AddResumeCommand, kControl, "inlier resume smoke"},
    {AddEditCommand, kControl, "inlier edit smoke --set priority=3\ninlier edit smoke new.yaml --dry-run"},
    {AddWhyCommand, kObserve, "inlier why t-17\ninlier why smoke"},
    {AddWorkersCommand, kObserve, "inlier workers"},
    {AddFleetCommand, kOperate,
     "inlier fleet slurm --worker-config /shared/worker.yaml --partition gpu --gres gpu:1 --maximum 8 "
     "--time-limit 240\n"
     "inlier fleet status\ninlier fleet scale --maximum 16\ninlier fleet stop --now"},
    {AddWhereCommand, kObserve, "inlier where"},
    {AddAuditCommand, kOperate, "inlier audit --sweep smoke"},
    {AddGcCommand, kOperate,
     "inlier gc --dry-run\n"
     "inlier gc --keep-best 3 --by perplexity --keep-last 1 --keep paper"},
    {AddDrainCommand, kControl, "inlier drain vm\ninlier drain vm --resume"},
    {AddBackupCommand, kOperate, "inlier backup /backups/inlier.db"},
    {AddDoctorCommand, kOperate, "inlier doctor --repair"},
    {AddTokenCommand, kOperate, "inlier token add --role submit --name alice"},
    {AddParamsCommand, kOperate, "inlier params optimizer"},
    {AddMeasurementsCommand, kOperate,
     "inlier measurements --filter kurtosis\ninlier measurements smoke --json"},
    {AddProgramCommand, kOperate, "inlier program test mygpt --set steps=20\ninlier program source s-3"},
    {AddCompletionCommand, kOperate, "source <(inlier completion bash)"},
    {AddCompleteCommand, kHiddenGroup, ""},
};

}  // namespace

void AddVerbs(CLI::App& app, Session& session) {
  for (const Verb& verb : kVerbs) {
    verb.add(app, session);
    CLI::App* command = app.get_subcommands({}).back();
    command->group(verb.group);
    if (*verb.examples != '\0')
      command->footer(
          absl::StrCat("Examples:\n  ", absl::StrReplaceAll(verb.examples, {{"\n", "\n  "}}), "\n"));
  }
}

}  // namespace inlier
