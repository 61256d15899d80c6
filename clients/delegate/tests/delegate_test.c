/* The delegate from C: what is in the header, compiled as C11.
 * usage: delegate_c_test FOLDER, which delegate_models has filled */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tributary_delegate.h"

static int faults = 0;

#define EXPECT(condition)                                                    \
  do {                                                                       \
    if (!(condition)) {                                                      \
      printf("line %d: not so: %s (last error: %s)\n", __LINE__, #condition, \
             tributary_delegate_last_error());                               \
      ++faults;                                                              \
    }                                                                        \
  } while (0)

static char path[4096];
static const char* path_of(const char* folder, const char* name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int last_error_has(const char* text) { return strstr(tributary_delegate_last_error(), text) != NULL; }

/* Two rows, so that the open dimension counts. */
static void affine_numbers_are_right(const char* folder) {
  const tributary_delegate_dimension rows = {"N", 2};
  const tributary_delegate_options options = {
      .struct_size = sizeof options, .dimensions = &rows, .dimension_count = 1};
  tributary_delegate* delegate = NULL;
  EXPECT(tributary_delegate_open_file(path_of(folder, "affine.onnx"), &options, &delegate) ==
         TRIBUTARY_DELEGATE_OK);
  EXPECT(tributary_delegate_input_count(delegate) == 1 && tributary_delegate_output_count(delegate) == 1);
  tributary_delegate_port port = {.struct_size = sizeof port};
  EXPECT(tributary_delegate_input(delegate, 0, &port) == TRIBUTARY_DELEGATE_OK);
  EXPECT(strcmp(port.name, "x") == 0 && port.type == TRIBUTARY_DELEGATE_FLOAT32 && port.rank == 2);
  EXPECT(port.shape[0] == 2 && port.shape[1] == 2 && port.bytes == 16);
  EXPECT(tributary_delegate_output(delegate, 0, &port) == TRIBUTARY_DELEGATE_OK);
  EXPECT(strcmp(port.name, "y") == 0 && port.shape[0] == 2 && port.shape[1] == 3 && port.bytes == 24);

  const float x[4] = {1, 1, 2, -1};
  const float expected[6] = {5.5f, 7, 8.5f, -1.5f, -1, -0.5f};
  float y[6] = {0};
  tributary_delegate_input_array input = {x, sizeof x, TRIBUTARY_DELEGATE_FLOAT32};
  tributary_delegate_output_array output = {y, sizeof y, TRIBUTARY_DELEGATE_FLOAT32};
  EXPECT(tributary_delegate_run(delegate, &input, 1, &output, 1) == TRIBUTARY_DELEGATE_OK);
  for (int i = 0; i < 6; ++i) EXPECT(fabsf(y[i] - expected[i]) < 1e-6f);

  /* Each wrong argument is refused, and the outputs stay. */
  memset(y, 0, sizeof y);
  input.bytes = 12;
  EXPECT(tributary_delegate_run(delegate, &input, 1, &output, 1) == TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
  EXPECT(last_error_has("inputs[0]") && last_error_has("12 bytes; 16 are expected"));
  input.bytes = sizeof x;
  input.type = TRIBUTARY_DELEGATE_INT8;
  EXPECT(tributary_delegate_run(delegate, &input, 1, &output, 1) == TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
  input.type = TRIBUTARY_DELEGATE_FLOAT32;
  input.data = (const char*)x + 1;
  EXPECT(tributary_delegate_run(delegate, &input, 1, &output, 1) == TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
  EXPECT(last_error_has("aligned"));
  input.data = NULL;
  EXPECT(tributary_delegate_run(delegate, &input, 1, &output, 1) == TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
  input.data = x;
  output.bytes = 28;
  EXPECT(tributary_delegate_run(delegate, &input, 1, &output, 1) == TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
  EXPECT(last_error_has("outputs[0]"));
  output.bytes = sizeof y;
  EXPECT(tributary_delegate_run(delegate, &input, 0, &output, 1) == TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
  EXPECT(tributary_delegate_run(delegate, &input, 1, &output, 2) == TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
  EXPECT(tributary_delegate_run(delegate, NULL, 1, &output, 1) == TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
  EXPECT(tributary_delegate_run(delegate, &input, 1, NULL, 1) == TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
  for (int i = 0; i < 6; ++i) EXPECT(y[i] == 0);
  EXPECT(tributary_delegate_run(delegate, &input, 1, &output, 1) == TRIBUTARY_DELEGATE_OK && y[0] == 5.5f);
  tributary_delegate_close(delegate);
}

/* The plan says of each node where it runs; the unit's model and the processor are within one step of each
 * other. */
static void quantised_layers_run_on_the_unit(const char* folder) {
  static uint8_t image[3 * 64], bytes[2][8 * 64];
  static float shares[8 * 64];
  for (size_t i = 0; i < sizeof image; ++i) image[i] = (uint8_t)(37 * i % 251);
  const char* const accelerators[2] = {"cpu", "tensor-model"};
  for (int a = 0; a < 2; ++a) {
    const tributary_delegate_options options = {
        .struct_size = sizeof options, .accelerator = accelerators[a], .lanes = 8};
    tributary_delegate* delegate = NULL;
    EXPECT(tributary_delegate_open_file(path_of(folder, "layers.onnx"), &options, &delegate) ==
           TRIBUTARY_DELEGATE_OK);
    tributary_delegate_plan plan = {.struct_size = sizeof plan};
    EXPECT(tributary_delegate_plan_of(delegate, &plan) == TRIBUTARY_DELEGATE_OK);
    EXPECT(plan.multiply_accumulates == 8 * 64 * 27 && plan.memory_bytes > 0);
    EXPECT(plan.accelerator_multiply_accumulates == (a == 0 ? 0 : plan.multiply_accumulates));
    EXPECT(a == 0 ? plan.cycles == 0 : plan.cycles > plan.transfer_cycles && plan.transfer_cycles > 0);
    EXPECT(plan.multiply_accumulates_per_cycle == (a == 0 ? 0u : 64u));
    size_t on_accelerator = 0, softmax = 0;
    EXPECT(plan.nodes == tributary_delegate_node_count(delegate) && plan.nodes > 2);
    for (size_t n = 0; n < plan.nodes; ++n) {
      tributary_delegate_node node = {.struct_size = sizeof node};
      EXPECT(tributary_delegate_node_at(delegate, n, &node) == TRIBUTARY_DELEGATE_OK);
      on_accelerator += (size_t)node.on_accelerator;
      if (strcmp(node.operation, "Conv") == 0)
        EXPECT((node.cycles > 0) == (a == 1) && strcmp(node.why_not, "") == 0);
      if (strcmp(node.operation, "Softmax") != 0) continue;
      ++softmax;
      EXPECT(node.on_accelerator == 0 && strcmp(node.runs_on, "processor") == 0);
      EXPECT((strcmp(node.why_not, "") != 0) == (a == 1));
    }
    EXPECT(softmax == 1 && on_accelerator == plan.accelerator_nodes && (on_accelerator > 0) == (a == 1));
    const tributary_delegate_input_array input = {image, sizeof image, TRIBUTARY_DELEGATE_UINT8};
    const tributary_delegate_output_array outputs[2] = {{bytes[a], sizeof bytes[a], TRIBUTARY_DELEGATE_UINT8},
                                                        {shares, sizeof shares, TRIBUTARY_DELEGATE_FLOAT32}};
    EXPECT(tributary_delegate_run(delegate, &input, 1, outputs, 2) == TRIBUTARY_DELEGATE_OK);
    tributary_delegate_close(delegate);
  }
  int different = 0;
  for (size_t i = 0; i < sizeof bytes[0]; ++i) {
    EXPECT(abs(bytes[0][i] - bytes[1][i]) <= 1);
    different += bytes[0][i] != bytes[0][0];
  }
  EXPECT(different > 50);
}

static void strict_names_the_node(const char* folder) {
  tributary_delegate_options options = {
      .struct_size = sizeof options, .accelerator = "tensor-model", .strict = 1};
  tributary_delegate* delegate = NULL;
  EXPECT(tributary_delegate_open_file(path_of(folder, "layers.onnx"), &options, &delegate) ==
         TRIBUTARY_DELEGATE_FAILED_PRECONDITION);
  EXPECT(delegate == NULL && last_error_has("Softmax") && last_error_has("layers.onnx"));
  options.accelerator = "cpu";
  EXPECT(tributary_delegate_open_file(path_of(folder, "layers.onnx"), &options, &delegate) ==
         TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
}

static void files_that_cannot_be_opened(const char* folder) {
  tributary_delegate* delegate = (tributary_delegate*)path;
  EXPECT(tributary_delegate_open_file(path_of(folder, "none.onnx"), NULL, &delegate) ==
         TRIBUTARY_DELEGATE_NOT_FOUND);
  EXPECT(delegate == NULL && last_error_has("none.onnx"));
  EXPECT(tributary_delegate_open_file(folder, NULL, &delegate) == TRIBUTARY_DELEGATE_FAILED_PRECONDITION);
  EXPECT(tributary_delegate_open_file("/dev/zero", NULL, &delegate) ==
         TRIBUTARY_DELEGATE_FAILED_PRECONDITION);
  EXPECT(tributary_delegate_open_file(path_of(folder, "unknown.onnx"), NULL, &delegate) ==
         TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
  EXPECT(last_error_has("Fourier"));
  const tributary_delegate_options small = {.struct_size = sizeof small, .memory_bytes = 10};
  EXPECT(tributary_delegate_open_file(path_of(folder, "affine.onnx"), &small, &delegate) ==
         TRIBUTARY_DELEGATE_EXHAUSTED);
  EXPECT(delegate == NULL);
}

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  EXPECT(strcmp(tributary_delegate_last_error(), "") == 0);
  char version[32];
  const uint32_t number = tributary_delegate_version();
  snprintf(version, sizeof version, "%u.%u.%u", number / 10000, number / 100 % 100, number % 100);
  EXPECT(strcmp(version, tributary_delegate_version_text()) == 0);
  affine_numbers_are_right(argv[1]);
  quantised_layers_run_on_the_unit(argv[1]);
  strict_names_the_node(argv[1]);
  files_that_cannot_be_opened(argv[1]);
  printf("%d faults\n", faults);
  return faults == 0 ? 0 : 1;
}
