#include <grpcpp/grpcpp.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "cmake/precompiled/messages.h"
#include "inlier/v1/artifact_service.grpc.pb.h"
#include "inlier/v1/sweep_service.grpc.pb.h"
#include "inlier/v1/worker_service.grpc.pb.h"
