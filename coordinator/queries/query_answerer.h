// The process that runs people's SQL: reads statements from its standard input, which is a socket, and answers
// there, until the socket is closed.
//
// SQLite gets a heap of kQueryHeapBytes; the process is nice, is the first that the kernel ends when memory runs
// out, leaves no core, and ends by itself soon after the time of a statement is over.
#ifndef INLIER_COORDINATOR_QUERIES_QUERY_ANSWERER_H_
#define INLIER_COORDINATOR_QUERIES_QUERY_ANSWERER_H_

#include <filesystem>

namespace inlier {

// The first argument of a program that is to call AnswerQueries with its second, the database.
inline constexpr char kAnswerQueriesFlag[] = "--answer-queries";

// The exit status of the process.
int AnswerQueries(const std::filesystem::path& database);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_QUERIES_QUERY_ANSWERER_H_
