// Answers people's SQL as inlier-coordinator --answer-queries does.
#include <string>

#include "coordinator/queries/query_answerer.h"

int main(int argc, char** argv) {
  if (argc != 3 || argv[1] != std::string(inlier::kAnswerQueriesFlag)) return 2;
  return inlier::AnswerQueries(argv[2]);
}
