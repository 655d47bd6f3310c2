// Any text as a symbolic size: refused with an Error, or evaluated within 64 bits.
#include <cstdlib>

#include "graph/srepr.h"
#include "lowwater/error.h"

using namespace lowwater;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bindings bindings = {{"s0", 5}, {"s1", 1}};
  try {
    const Expr expr = parse_srepr({reinterpret_cast<const char*>(data), size});
    expr_text(expr);
    for (const std::string& symbol : expr_symbols(expr)) require(symbol.size() <= size);
    const Interval64 interval = enclose(expr, bindings, {{"u0", {0, 9}}});
    if (const auto solution = solve_affine(expr, 12, bindings))
      require(!bindings.contains(solution->symbol));
    // What is known lies in the interval (a NaN lies nowhere).
    if (const auto number = evaluate(expr, bindings)) require(!(as_real(*number) > interval.high));
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::bad_input || error.kind() == ErrorKind::unsupported);
  }
  return 0;
}
