#include "spec/schema/message_form.h"

#include <map>

#include "base/digest.h"

namespace inlier {
namespace {

using google::protobuf::FileDescriptor;

// Leaves out protobuf's own files, which differ by its version and mean the same.
void AddFiles(const FileDescriptor& file, std::map<std::string, const FileDescriptor*>& files) {
  if (file.package() == "google.protobuf" || !files.emplace(file.name(), &file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) AddFiles(*file.dependency(i), files);
}

}  // namespace

std::string FormDigest(const google::protobuf::Descriptor& message) {
  std::map<std::string, const FileDescriptor*> files;
  AddFiles(*message.file(), files);
  Sha256 digest;
  digest.Update(message.full_name());
  for (const auto& [name, file] : files) {
    digest.Update("\n");
    digest.Update(file->DebugString());
  }
  return digest.HexDigest();
}

}  // namespace inlier
