// A program exported without model.eval() computes something else than the user
// wants at test time: dropout is random, statistics are those of the batch.
#include <algorithm>
#include <array>

#include "graph/import_builder.h"

namespace lowwater {
namespace {

const Arg* find_arg(const Schema& schema, const std::vector<Arg>& args, std::string_view name) {
  for (std::size_t i = 0; i < schema.args.size(); ++i) {
    if (schema.args[i].name == name) return &args[i];
  }
  return nullptr;
}

bool is_true(const Arg* arg) {
  const bool* value = arg ? std::get_if<bool>(arg) : nullptr;
  return value && *value;
}

bool is_positive(const Arg* arg) {
  const double* value = arg ? std::get_if<double>(arg) : nullptr;
  return value && *value > 0;
}

bool is_tensor(const Arg* arg) { return arg && std::holds_alternative<Ref>(*arg); }

// (input, p, train) -> one tensor
constexpr std::array<std::string_view, 8> kDropouts = {"aten::dropout",
                                                       "aten::dropout_",
                                                       "aten::feature_dropout",
                                                       "aten::feature_dropout_",
                                                       "aten::alpha_dropout",
                                                       "aten::alpha_dropout_",
                                                       "aten::feature_alpha_dropout",
                                                       "aten::feature_alpha_dropout_"};

bool is_dropout(std::string_view op) {
  return std::find(kDropouts.begin(), kDropouts.end(), op) != kDropouts.end();
}

bool drops_at_random(const ProgramNode& node, const Schema& schema, const std::vector<Arg>& args) {
  const auto arg = [&](std::string_view name) { return find_arg(schema, args, name); };
  if (node.op == "aten::scaled_dot_product_attention") return is_positive(arg("dropout_p"));
  if (node.op == "aten::native_dropout")
    return is_positive(arg("p")) && *arg("train") != Arg(false);  // None means true
  if (is_dropout(node.op)) return is_positive(arg("p")) && is_true(arg("train"));
  return is_true(arg("train")) && is_positive(arg("dropout"));  // lstm, gru, rnn
}

// Statistics of the batch although running ones exist. Without running ones
// (track_running_stats=False) the batch's are what the model means.
bool ignores_running_statistics(const ProgramNode& node, const Schema& schema,
                                const std::vector<Arg>& args) {
  const auto arg = [&](std::string_view name) { return find_arg(schema, args, name); };
  if (!is_tensor(arg("running_mean"))) return false;
  if (node.op == "aten::instance_norm") return is_true(arg("use_input_stats"));
  if (node.op.starts_with("aten::_batch_norm_with_update")) return true;
  return is_true(arg("training")) || is_true(arg("train"));
}

}  // namespace

std::optional<Ref> passes_through(const ProgramNode& node, const std::vector<Arg>& args) {
  if (!is_dropout(node.op) || args.size() != 3 || args[2] != Arg(false)) return std::nullopt;
  const Ref* input = std::get_if<Ref>(&args[0]);
  return input ? std::optional<Ref>(*input) : std::nullopt;
}

void check_inference_mode(const Importer& importer, const ProgramNode& node, const Schema& schema,
                          const std::vector<Arg>& args) {
  const char* what = drops_at_random(node, schema, args) ? "dropout is active"
                     : ignores_running_statistics(node, schema, args)
                         ? "batch normalisation uses the batch's statistics"
                         : nullptr;
  if (what) {
    refuse_node(importer, node, std::string(what) + ": the model was exported in training mode",
                "call model.eval() before torch.export.export");
  }
}

}  // namespace lowwater
