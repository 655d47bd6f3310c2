// Any text either fails with Error(bad_input) or gives a graph; a sound graph
// prints and parses back to an equal one.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "graph/text.h"
#include "lowwater/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lowwater::Graph graph;
  try {
    graph = lowwater::parse_graph({reinterpret_cast<const char*>(data), size});
  } catch (const lowwater::Error& error) {
    if (error.kind() != lowwater::ErrorKind::bad_input) std::abort();
    return 0;
  }
  if (!lowwater::lint(graph).empty()) return 0;
  const std::string text = lowwater::print_graph(graph);
  const lowwater::Graph again = lowwater::parse_graph(text);
  if (!lowwater::first_difference(graph, again).empty()) std::abort();
  if (lowwater::print_graph(again) != text) std::abort();
  return 0;
}
