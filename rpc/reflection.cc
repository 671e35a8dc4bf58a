#include "rpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/support/status_code_enum.h>

#include <set>

namespace inlier {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

// Adds the file after those that it imports.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
             grpc::reflection::v1alpha::FileDescriptorResponse& response) {
  if (!added.insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), added, response);
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  response.add_file_descriptor_proto(proto.SerializeAsString());
}

const FileDescriptor* FileOf(const ServerReflectionRequest& request) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      return pool.FindFileByName(request.file_by_filename());
    case ServerReflectionRequest::kFileContainingSymbol:
      return pool.FindFileContainingSymbol(request.file_containing_symbol());
    case ServerReflectionRequest::kFileContainingExtension: {
      const auto& asked = request.file_containing_extension();
      const auto* type = pool.FindMessageTypeByName(asked.containing_type());
      const auto* field =
          type == nullptr ? nullptr : pool.FindExtensionByNumber(type, asked.extension_number());
      return field == nullptr ? nullptr : field->file();
    }
    default:
      return nullptr;
  }
}

void AddExtensions(const std::string& type_name, ServerReflectionResponse& response) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  const auto* type = pool.FindMessageTypeByName(type_name);
  if (type == nullptr) return;
  auto& numbers = *response.mutable_all_extension_numbers_response();
  numbers.set_base_type_name(type_name);
  std::vector<const google::protobuf::FieldDescriptor*> extensions;
  pool.FindAllExtensions(type, &extensions);
  for (const auto* extension : extensions) numbers.add_extension_number(extension->number());
}

}  // namespace

ServerReflectionResponse Reflect(const ServerReflectionRequest& request,
                                 const std::vector<std::string>& services) {
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  if (request.message_request_case() == ServerReflectionRequest::kListServices) {
    auto& list = *response.mutable_list_services_response();
    for (const std::string& service : services) list.add_service()->set_name(service);
  } else if (request.message_request_case() == ServerReflectionRequest::kAllExtensionNumbersOfType) {
    AddExtensions(request.all_extension_numbers_of_type(), response);
  } else if (const FileDescriptor* file = FileOf(request); file != nullptr) {
    std::set<const FileDescriptor*> added;
    AddFile(*file, added, *response.mutable_file_descriptor_response());
  }
  if (response.message_response_case() == ServerReflectionResponse::MESSAGE_RESPONSE_NOT_SET) {
    auto& error = *response.mutable_error_response();
    error.set_error_code(grpc::StatusCode::NOT_FOUND);
    error.set_error_message(
        "the server has no such file, symbol or extension; list_services lists its services");
  }
  return response;
}

}  // namespace inlier
