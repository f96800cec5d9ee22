// datetime.strftime in the C locale.
#pragma once

#include <string>

#include "chat/jinja/template.h"

namespace minfer::chat::jinja {

std::string strftime(const Clock& clock, const std::string& format);

}  // namespace minfer::chat::jinja
