// The process that runs users' SQL: reads statements from its standard input, which is a socket, and answers
// there, until the socket is closed.
//
// SQLite gets a heap of kQueryHeapBytes; the process is nice, is the first that the kernel ends when memory
// runs out, leaves no core, and ends soon after the time of a statement is over.
#ifndef INLIER_COORDINATOR_QUERIES_QUERY_ANSWERER_H_
#define INLIER_COORDINATOR_QUERIES_QUERY_ANSWERER_H_

#include <filesystem>

namespace inlier {

// With this first argument a program calls AnswerQueries with its second, the database.
inline constexpr char kAnswerQueriesFlag[] = "--answer-queries";

// Returns the exit status of the process.
int AnswerQueries(const std::filesystem::path& database);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_QUERIES_QUERY_ANSWERER_H_
