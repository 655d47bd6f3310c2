// Calls: how arguments become boxed values, what results come back, the
// operators on sizes, and the schema table.
#include "exec/call.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "exec/scripted_allocator.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

using c10::IValue;
using Ints = std::vector<std::int64_t>;

std::vector<IValue> call(const std::string& op, const std::vector<Arg>& args,
                         const std::vector<IValue>& values = {}) {
  const c10::InferenceMode inference;
  return PreparedCall(op, args, c10::kCPU).run(values);
}

at::Tensor tensor_result(const std::string& op, const std::vector<Arg>& args,
                         const std::vector<IValue>& values = {}) {
  return call(op, args, values).at(0).toTensor();
}

ErrorKind refusal(const std::string& op, const std::vector<Arg>& args) {
  try {
    PreparedCall(op, args, c10::kCPU);
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), op);
    return error.kind();
  }
  ADD_FAILURE() << op << " was accepted";
  return ErrorKind::interrupted;
}

TEST(PreparedCall, OperandsAreFilledInByNumber) {
  const at::Tensor a = at::arange(6, at::kFloat), b = at::arange(6, at::kFloat) * 10;
  PreparedCall sub("aten::sub.Tensor", {Ref{1}, Ref{0}}, c10::kCPU);  // alpha by default
  const std::vector<IValue> values = {a, b};
  EXPECT_TRUE(at::equal(sub.run(values).at(0).toTensor(), b - a));
  const std::vector<IValue> swapped = {b, a};
  EXPECT_TRUE(at::equal(sub.run(swapped).at(0).toTensor(), a - b));
}

TEST(PreparedCall, KeepsNoOperandAlive) {
  PreparedCall relu("aten::relu", {Ref{0}}, c10::kCPU);
  PreparedCall fails("aten::view", {Ref{0}, Ints{5}}, c10::kCPU);
  std::vector<IValue> values = {at::randn({4})};
  relu.run(values);
  EXPECT_THROW(fails.run(values), c10::Error);
  EXPECT_EQ(values[0].toTensor().use_count(), 1);
}

TEST(PreparedCall, NumbersFollowTheSchema) {
  const at::Tensor x = at::arange(4, at::kFloat);
  // double where the program has an int: leaky_relu's slope is a Scalar, eps a float.
  EXPECT_TRUE(at::equal(tensor_result("aten::clamp", {Ref{0}, std::int64_t{1}, 2.5}, {x}),
                        x.clamp(1, 2.5)));
  const at::Tensor w = at::randn({4});
  EXPECT_TRUE(at::equal(
      tensor_result("aten::layer_norm",
                    {Ref{0}, Ints{4}, Ref{1}, std::monostate{}, std::int64_t{1}, false}, {x, w}),
      tensor_result("aten::layer_norm", {Ref{0}, Ints{4}, Ref{1}, std::monostate{}, 1.0, false},
                    {x, w})));
  // float[]? from ints.
  const at::Tensor image = at::randn({1, 1, 2, 2});
  EXPECT_EQ(
      tensor_result("aten::upsample_nearest2d.vec", {Ref{0}, std::monostate{}, Ints{2, 3}}, {image})
          .sizes(),
      at::IntArrayRef({1, 1, 4, 6}));
  // One int for int[2].
  EXPECT_EQ(tensor_result("aten::avg_pool2d", {Ref{0}, std::int64_t{2}}, {image}).sizes(),
            at::IntArrayRef({1, 1, 1, 1}));
  // Empty lists fit every list type.
  EXPECT_EQ(tensor_result("aten::sum.dim_IntList", {Ref{0}, std::vector<double>{}}, {image}).dim(),
            0);
}

TEST(PreparedCall, AWrappedNumberDoesNotPromote) {
  const at::Tensor half = at::ones({2}, at::kHalf), ints = at::ones({2}, at::kInt);
  EXPECT_EQ(tensor_result("aten::mul.Tensor", {Ref{0}, WrappedNumber{2.5}}, {half}).scalar_type(),
            at::kHalf);
  EXPECT_EQ(tensor_result("aten::mul.Tensor", {Ref{0}, WrappedNumber{std::int64_t{2}}}, {ints})
                .scalar_type(),
            at::kInt);
  EXPECT_EQ(tensor_result("aten::mul.Tensor", {Ref{0}, WrappedNumber{2.5}}, {ints}).scalar_type(),
            at::kFloat);
  EXPECT_EQ(tensor_result("aten::mul.Tensor", {Ref{0}, std::int64_t{2}}, {half}).scalar_type(),
            at::kHalf);
  // The same for a number that is known only at run time.
  EXPECT_EQ(tensor_result("aten::mul.Tensor", {Ref{0}, Ref{1}}, {half, 2.5}).scalar_type(),
            at::kHalf);
  const auto complex = tensor_result("aten::mul.Tensor",
                                     {Ref{0}, WrappedNumber{std::complex<double>(0, 1)}}, {half});
  EXPECT_TRUE(complex.is_complex());
}

// A number known only at run time allocates what a constant does: records are
// made with constants.
TEST(PreparedCall, WrappedNumbersAreNotPartOfTheScript) {
  install_cpu_allocator();
  Slab slab(c10::kCPU, 4096);
  const std::vector<IValue> values = {at::ones({8}, at::kFloat), 2.5};
  const auto events = [&](const Arg& factor) {
    const c10::InferenceMode inference;
    PreparedCall mul("aten::mul.Tensor", {Ref{0}, factor}, c10::kCPU);
    const RecordScope scope(slab, 64);
    const std::vector<IValue> kept = mul.run(values);
    return scope.events();
  };
  EXPECT_EQ(events(Ref{1}), events(2.5));
  EXPECT_EQ(events(Ref{1}).back().is_alloc, false);  // PyTorch's own cast of the number
  EXPECT_EQ(slab.account().live, 0);
}

TEST(PreparedCall, Enumerations) {
  const at::Tensor x = at::randn({1, 2, 3, 3});
  const at::Tensor y = tensor_result("aten::_to_copy",
                                     {Ref{0}, DType::bf16, Layout::strided, DeviceArg::plan_device,
                                      std::monostate{}, false, MemoryFormat::channels_last},
                                     {x});
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(tensor_result("aten::zeros", {Ints{2}, DType::boolean}).scalar_type(), at::kBool);
  const at::Tensor p = x.permute({0, 2, 3, 1});
  EXPECT_EQ(tensor_result("aten::clone", {Ref{0}, MemoryFormat::preserve}, {p}).strides(),
            p.strides());
  EXPECT_TRUE(
      tensor_result("aten::clone", {Ref{0}, MemoryFormat::contiguous}, {p}).is_contiguous());
  EXPECT_EQ(tensor_result("aten::einsum", {std::string("ij,jk->ik"), RefList{{Ref{0}, Ref{1}}}},
                          {at::randn({2, 3}), at::randn({3, 4})})
                .sizes(),
            at::IntArrayRef({2, 4}));
}

// The meta device stands for CUDA: no memory, but tensors that know their place.
TEST(PreparedCall, Devices) {
  const auto device_of = [](const std::vector<Arg>& args) {
    return PreparedCall("aten::zeros", args, c10::kMeta).run({}).at(0).toTensor().device();
  };
  const Arg absent = std::monostate{};
  EXPECT_EQ(device_of({Ints{2}, absent, absent, DeviceArg::plan_device}), c10::kMeta);
  EXPECT_EQ(device_of({Ints{2}, absent, absent, DeviceArg::host}), c10::kCPU);
  EXPECT_EQ(device_of({Ints{2}}), c10::kMeta);  // a factory follows the plan
  // With an operand, the operand decides.
  PreparedCall like("aten::zeros_like", {Ref{0}}, c10::kMeta);
  const std::vector<IValue> values = {at::ones({2})};
  EXPECT_EQ(like.run(values).at(0).toTensor().device(), c10::kCPU);
}

TEST(PreparedCall, Lists) {
  const at::Tensor a = at::randn({2, 3}), b = at::randn({2, 3});
  EXPECT_TRUE(at::equal(
      tensor_result("aten::cat", {RefList{{Ref{0}, Ref{1}, Ref{0}}}, std::int64_t{1}}, {a, b}),
      at::cat({a, b, a}, 1)));
  // Tensor?[]: index has an absent first dimension.
  const at::Tensor index = at::tensor({2, 0});
  EXPECT_TRUE(at::equal(
      tensor_result("aten::index.Tensor", {Ref{0}, RefList{{Ref{-1}, Ref{1}}}}, {a, index}),
      at::cat({a.select(1, 2).unsqueeze(1), a.select(1, 0).unsqueeze(1)}, 1)));
  // Integers known at run time among known ones.
  EXPECT_EQ(tensor_result("aten::reshape", {Ref{0}, MixedInts{{-1, 2}, {Ref{1}, Ref{-1}}}}, {a, 3})
                .sizes(),
            at::IntArrayRef({3, 2}));
  EXPECT_EQ(tensor_result("aten::reshape", {Ref{0}, MixedInts{{3, 2}, {}}}, {a}).sizes(),
            at::IntArrayRef({3, 2}));
  EXPECT_EQ(tensor_result("aten::slice.Tensor", {Ref{0}, std::int64_t{1}, Ref{1}, std::monostate{}},
                          {a, 1})
                .sizes(),
            at::IntArrayRef({2, 2}));
}

TEST(PreparedCall, ResultsAreFlattened) {
  const at::Tensor x = at::randn({4, 6});
  EXPECT_EQ(call("aten::split.Tensor", {Ref{0}, std::int64_t{4}, std::int64_t{1}}, {x}).size(), 2u);
  EXPECT_EQ(call("aten::topk", {Ref{0}, std::int64_t{2}}, {x}).size(), 2u);
  EXPECT_EQ(call("aten::sym_size.int", {Ref{0}, std::int64_t{1}}, {x}).at(0).toInt(), 6);
  EXPECT_EQ(call("aten::unbind.int", {Ref{0}}, {x}).size(), 4u);
}

TEST(PreparedCall, AViewThatStridesForbidIsACopy) {
  const at::Tensor x = at::arange(6, at::kFloat).view({2, 3});
  const at::Tensor t = x.t();
  const at::Tensor view = tensor_result("aten::view", {Ref{0}, Ints{6}}, {x});
  EXPECT_TRUE(view.is_alias_of(x));
  EXPECT_THROW(t.view({6}), c10::Error);
  const at::Tensor copy = tensor_result("aten::view", {Ref{0}, Ints{6}}, {t});
  EXPECT_FALSE(copy.is_alias_of(x));
  EXPECT_TRUE(at::equal(copy, t.reshape({6})));
  EXPECT_TRUE(at::equal(tensor_result("aten::_unsafe_view", {Ref{0}, Ints{2, -1}}, {t}),
                        t.reshape({2, 3})));
}

TEST(PreparedCall, Select) {
  const at::Tensor a = at::randn({2, 3}).t(), b = at::randn({3, 2});
  const std::vector<Arg> args = {Ref{0}, Ref{1}, Ref{2}};
  const at::Tensor chosen = tensor_result("lowwater::select", args, {true, a, b});
  EXPECT_TRUE(at::equal(chosen, a));
  EXPECT_FALSE(chosen.is_alias_of(a));
  EXPECT_EQ(chosen.strides(), b.strides());  // the layout does not depend on the choice
  EXPECT_TRUE(
      at::equal(tensor_result("lowwater::select", args, {at::zeros({1}, at::kBool), a, b}), b));
  EXPECT_EQ(call("lowwater::select", {true, std::int64_t{3}, std::int64_t{4}}).at(0).toInt(), 3);
}

TEST(PreparedCall, Refusals) {
  EXPECT_EQ(refusal("aten::no_such_operator", {}), ErrorKind::unsupported);
  EXPECT_EQ(refusal("aten::add.no_such_overload", {}), ErrorKind::unsupported);
  EXPECT_EQ(refusal("sym::no_such", {std::int64_t{1}}), ErrorKind::unsupported);
  EXPECT_EQ(refusal("sym::add", {std::int64_t{1}}), ErrorKind::unsupported);
  EXPECT_EQ(refusal("aten::relu", {Ref{0}, std::int64_t{1}}), ErrorKind::internal);  // too many
  EXPECT_EQ(refusal("aten::topk", {Ref{0}}), ErrorKind::internal);                   // no default
  EXPECT_EQ(refusal("aten::topk", {Ref{0}, 1.5}), ErrorKind::internal);              // int k
  EXPECT_EQ(refusal("aten::reshape", {Ref{0}, std::vector<double>{1.0}}), ErrorKind::internal);
  EXPECT_EQ(refusal("aten::relu", {RefList{{Ref{0}}}}), ErrorKind::internal);
}

IValue sym(const std::string& name, const std::vector<IValue>& operands) {
  std::vector<Arg> args;
  for (std::size_t i = 0; i < operands.size(); ++i)
    args.emplace_back(Ref{static_cast<std::int32_t>(i)});
  return call("sym::" + name, args, operands).at(0);
}

TEST(Sizes, FollowPython) {
  EXPECT_EQ(sym("add", {2, 3}).toInt(), 5);
  EXPECT_EQ(sym("add", {true, 1}).toInt(), 2);
  EXPECT_EQ(sym("sub", {2, 0.5}).toDouble(), 1.5);
  EXPECT_EQ(sym("mul", {-4, 3}).toInt(), -12);
  EXPECT_EQ(sym("floordiv", {-7, 2}).toInt(), -4);
  EXPECT_EQ(sym("floordiv", {7, -2}).toInt(), -4);
  EXPECT_EQ(sym("floordiv", {-8, 2}).toInt(), -4);
  EXPECT_EQ(sym("floordiv", {7.5, 2}).toDouble(), 3.0);
  EXPECT_EQ(sym("mod", {-7, 2}).toInt(), 1);
  EXPECT_EQ(sym("mod", {7, -2}).toInt(), -1);
  EXPECT_EQ(sym("mod", {-7.5, 2}).toDouble(), 0.5);
  EXPECT_EQ(sym("truediv", {7, 2}).toDouble(), 3.5);
  EXPECT_EQ(sym("pow", {3, 5}).toInt(), 243);
  EXPECT_EQ(sym("pow", {-1, 1000000007}).toInt(), -1);
  EXPECT_EQ(sym("pow", {2, -1}).toDouble(), 0.5);
  EXPECT_EQ(sym("max", {2, 7}).toInt(), 7);
  EXPECT_EQ(sym("min", {2, 7}).toInt(), 2);
  EXPECT_TRUE(sym("eq", {2, 2.0}).toBool());
  EXPECT_TRUE(sym("ne", {2, 3}).toBool());
  EXPECT_TRUE(sym("lt", {2, 3}).toBool());
  EXPECT_FALSE(sym("gt", {2, 2}).toBool());
  EXPECT_TRUE(sym("ge", {2, 2}).toBool());
  EXPECT_TRUE(sym("le", {2, 2}).toBool());
  EXPECT_TRUE(sym("and", {true, true}).isBool());
  EXPECT_FALSE(sym("and", {true, false}).toBool());
  EXPECT_TRUE(sym("or", {true, false}).toBool());
  EXPECT_EQ(sym("and", {6, 3}).toInt(), 2);
  EXPECT_TRUE(sym("not", {0}).toBool());
  EXPECT_EQ(sym("neg", {3}).toInt(), -3);
  EXPECT_EQ(sym("neg", {true}).toInt(), -1);
  EXPECT_EQ(sym("abs", {-3}).toInt(), 3);
  EXPECT_EQ(sym("sqrt", {9}).toDouble(), 3.0);
  EXPECT_EQ(sym("float", {3}).toDouble(), 3.0);
  EXPECT_EQ(sym("int", {-3.7}).toInt(), -3);
  EXPECT_EQ(sym("trunc", {-3.7}).toInt(), -3);
  EXPECT_EQ(sym("floor", {-3.2}).toInt(), -4);
  EXPECT_EQ(sym("ceil", {3.2}).toInt(), 4);
  EXPECT_EQ(sym("ite", {false, 1, 2}).toInt(), 2);
}

TEST(Sizes, OfTensors) {
  EXPECT_TRUE(sym("truth", {at::tensor({2.5})}).toBool());
  EXPECT_FALSE(sym("truth", {at::tensor({0})}).toBool());
  EXPECT_TRUE(sym("not", {at::zeros({1}, at::kBool)}).toBool());
  EXPECT_EQ(sym("int", {at::tensor({7})}).toInt(), 7);
  EXPECT_EQ(sym("float", {at::tensor({7})}).toDouble(), 7.0);
}

TEST(Sizes, RefuseWhatHasNoAnswer) {
  const std::int64_t largest = INT64_MAX;
  EXPECT_THROW(sym("floordiv", {1, 0}), Error);
  EXPECT_THROW(sym("mod", {1, 0}), Error);
  EXPECT_THROW(sym("truediv", {1, 0}), Error);
  EXPECT_THROW(sym("add", {largest, 1}), Error);
  EXPECT_THROW(sym("mul", {largest, 2}), Error);
  EXPECT_THROW(sym("pow", {10, 30}), Error);
  EXPECT_THROW(sym("neg", {INT64_MIN}), Error);
  EXPECT_THROW(sym("floordiv", {INT64_MIN, -1}), Error);
  EXPECT_THROW(sym("int", {1e300}), Error);
}

TEST(Schemas, EqualTheSnapshot) {
  std::ifstream file(LOWWATER_TEST_DATA "/schemas.json");
  std::stringstream text;
  text << file.rdbuf();
  const SchemaTable snapshot = schema_table_from_json(text.str());
  const SchemaTable installed = dump_schemas();
  EXPECT_EQ(installed.torch_version.substr(0, 6), "2.11.0");
  EXPECT_GT(installed.schemas.size(), 2500u);
  int compared = 0;
  for (const auto& [name, schema] : installed.schemas) {
    const Schema* known = snapshot.find(name);
    if (known == nullptr || !name.starts_with("aten::")) continue;
    ++compared;
    EXPECT_EQ(schema.random, known->random) << name;
    EXPECT_EQ(schema.data_dependent, known->data_dependent) << name;
    ASSERT_EQ(schema.args.size(), known->args.size()) << name;
    for (std::size_t i = 0; i < schema.args.size(); ++i) {
      const SchemaArg& a = schema.args[i];
      const SchemaArg& b = known->args[i];
      EXPECT_EQ(a.name, b.name) << name;
      EXPECT_EQ(a.type, b.type) << name << " " << a.name;
      EXPECT_EQ(a.optional, b.optional) << name << " " << a.name;
      EXPECT_EQ(a.kwarg_only, b.kwarg_only) << name << " " << a.name;
      EXPECT_EQ(a.has_default, b.has_default) << name << " " << a.name;
      EXPECT_EQ(a.default_value, b.default_value) << name << " " << a.name;
      EXPECT_EQ(a.alias, b.alias) << name << " " << a.name;
      EXPECT_EQ(a.is_write, b.is_write) << name << " " << a.name;
    }
    ASSERT_EQ(schema.returns.size(), known->returns.size()) << name;
    for (std::size_t i = 0; i < schema.returns.size(); ++i) {
      if (schema.returns[i].type == SchemaType::other) continue;  // Dict(int, Tensor)
      EXPECT_EQ(schema.returns[i].type, known->returns[i].type) << name;
      EXPECT_EQ(schema.returns[i].alias, known->returns[i].alias) << name;
      EXPECT_EQ(schema.returns[i].is_write, known->returns[i].is_write) << name;
    }
  }
  EXPECT_GT(compared, 1500);
}

}  // namespace
}  // namespace lowwater
