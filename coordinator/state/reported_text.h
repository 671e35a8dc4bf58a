// Texts of trials and workers as they are stored: always UTF-8, also when the sender's bytes are not.
#ifndef INLIER_COORDINATOR_STATE_REPORTED_TEXT_H_
#define INLIER_COORDINATOR_STATE_REPORTED_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace inlier {

// At most `bytes` of the text, with " ..." where it was cut.
inline std::string Shortened(const std::string& text, std::size_t bytes) {
  const std::string_view part = CutUtf8(text, bytes);
  std::string shown = ReplaceInvalidUtf8(part);
  if (part.size() < text.size()) shown += " ...";
  return shown;
}

// The same for all texts of a message, uncut.
template <typename Message>
Message AsUtf8(Message message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->is_repeated() || field->type() != google::protobuf::FieldDescriptor::TYPE_STRING) continue;
    std::string scratch;
    const std::string& text = reflection.GetStringReference(message, field, &scratch);
    if (!IsUtf8(text)) reflection.SetString(&message, field, ReplaceInvalidUtf8(text));
  }
  return message;
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_REPORTED_TEXT_H_
