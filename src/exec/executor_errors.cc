#include "exec/executor_errors.h"

#include <c10/util/Exception.h>

#include <new>

#include "exec/device.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

// PyTorch appends C++ stack traces and tips on further lines.
std::string first_line(const std::string& message) { return message.substr(0, message.find('\n')); }

[[noreturn]] void throw_out_of_memory(const std::string& op, const std::string& where, Bytes bytes,
                                      const std::string& message) {
  std::string what = "out of memory in " + op;
  if (bytes > 0) what += ", which allocates " + format_bytes(bytes);
  if (!message.empty()) what += " (" + message + ")";
  throw Error(ErrorKind::machine, what, where, "free memory on the device or lower the budget");
}

}  // namespace

void rethrow_as_error(const std::string& op, const std::string& where, Bytes bytes) {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    throw_out_of_memory(op, where, bytes, first_line(error.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(op, where, bytes, {});
  } catch (const c10::IndexError& error) {
    throw Error(ErrorKind::bad_input, op + ": " + first_line(error.what_without_backtrace()),
                where);
  } catch (const c10::Error& error) {
    const std::string message = first_line(error.what_without_backtrace());
    if (is_out_of_memory(message)) throw_out_of_memory(op, where, bytes, message);
    const bool device = message.find("CUDA error") != std::string::npos;
    throw Error(device ? ErrorKind::machine : ErrorKind::internal, op + " failed: " + message,
                where);
  } catch (const std::exception& error) {
    if (is_out_of_memory(error.what()))
      throw_out_of_memory(op, where, bytes, first_line(error.what()));
    throw Error(ErrorKind::internal, op + " failed: " + first_line(error.what()), where);
  }
}

}  // namespace lowwater
