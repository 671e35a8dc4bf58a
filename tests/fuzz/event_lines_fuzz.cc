// A child's event descriptor: any bytes, in any pieces. Memory stays bounded, reported text is printable, and
// cutting the stream elsewhere changes nothing.
#include "base/check.h"
#include "tests/fuzz/fuzz.h"
#include "worker/processes/event_reader.h"

namespace inlier {
namespace {

constexpr std::size_t kLineBytesMax = 1024;

struct Read {
  std::vector<std::string> events;
  std::uint64_t garbage = 0;
};

Read ReadAll(std::string_view input, std::size_t piece) {
  EventReader reader(kLineBytesMax);
  std::vector<v1::TrialEvent> events;
  std::vector<std::string> reported;
  while (!input.empty()) {
    for (std::string& text : reader.Feed(input.substr(0, piece), events)) reported.push_back(std::move(text));
    input.remove_prefix(std::min(piece, input.size()));
  }
  for (std::string& text : reader.Finish(events)) reported.push_back(std::move(text));
  INLIER_CHECK(reported.size() <= EventReader::kGarbageReportedMax);
  for (const std::string& text : reported)
    INLIER_CHECK(text.find('\n') == std::string::npos && text.size() < 2000);
  Read read{{}, reader.garbage_lines()};
  for (const v1::TrialEvent& event : events) read.events.push_back(event.SerializeAsString());
  return read;
}

}  // namespace

void FuzzOne(std::string_view input) {
  const Read whole = ReadAll(input, input.size() + 1);
  const Read pieces = ReadAll(input, 7);
  INLIER_CHECK(whole.events == pieces.events && whole.garbage == pieces.garbage);
}

std::vector<std::string> FuzzSeeds() {
  return {
      R"({"started":{"pid":"7","build":"x","threads":1},"time_unix_ms":"1700000000000"}
{"progress":{"phase":"train","step":"5","steps_total":"10","loss":2.5,"rate":1e3}}
{"measurement":{"name":"train_loss","step":"5","value":"NaN","site":"layers.0","final":false}}
{"checkpoint":{"step":"5","path":"checkpoint-5.safetensors","sha256":"aa","bytes":"10","final":true}}
{"log":{"text":"a \u00e9 \ud83d\ude00 line"}}
{"outcome":{"kind":"FAILED","failure":"CRASHED","message":"it fell"}}
)",
      "{}\n\n{\"progress\": {\"step\": 1}} trailing\r\n" + std::string(3000, 'x') +
          "\n{\"log\":{\"text\":\"" + std::string(900, '[') + "\"}}\n",
      "{\"log\":" + std::string(500, '[') + std::string(500, ']') +
          "}\nSegmentation fault \x01\xff\n{\"unknown\": {\"a\": [1, {}]}}",
  };
}

std::string FuzzMutate(std::string input, FuzzRandom& random) {
  return MutateBytes(std::move(input), random);
}

}  // namespace inlier
