// Small files, read whole and written aside then renamed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lowwater {

// Throws Error(bad_input) naming the file.
std::string read_text_file(const std::string& path);

// Throws Error(machine); nothing half-written stays.
void write_text_file(const std::string& path, std::string_view text);

// Calls `write(temporary)` with the name of a new file beside `path`, then
// renames it to `path`. On any exception the temporary is removed.
void write_aside(const std::string& path, const std::function<void(const std::string&)>& write);

}  // namespace lowwater
