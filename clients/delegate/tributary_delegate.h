/* libtributary_delegate: ONNX graphs on the processor and on the tensor unit, for any language that can call
 * C.
 *
 * A delegate is an opened graph: checked, divided between the processor and an accelerator, its memory
 * planned. docs/delegate.md has an example; docs/graphs.md says which graphs are taken.
 *
 * Errors. A function that can fail returns TRIBUTARY_DELEGATE_OK or another status. The text of the last
 * failure is kept for each thread: see tributary_delegate_last_error. No call ends the process or throws,
 * whatever the model and the arguments are, as long as pointers are NULL or valid and sizes do not exceed
 * what they point to.
 *
 * Ownership. The library copies what it is given, and keeps none of the caller's pointers after a call. Text
 * and shapes that it gives belong to the delegate and live until tributary_delegate_close.
 *
 * Threads. Different delegates may be used at the same time. Any number of threads may inspect one delegate.
 * It runs one call of tributary_delegate_run at a time: a second one is refused with
 * TRIBUTARY_DELEGATE_UNAVAILABLE. No other call on a delegate may be under way when it is closed.
 *
 * Growth. Structs begin with `struct_size`: set it to sizeof of the struct. Later versions add fields at the
 * end. A library older than its caller refuses options that it does not know, unless they are 0, and sets
 * results that it does not know to 0. */
#ifndef TRIBUTARY_DELEGATE_H
#define TRIBUTARY_DELEGATE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TRIBUTARY_DELEGATE_API __attribute__((visibility("default")))
#else
#define TRIBUTARY_DELEGATE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers as in gRPC. */
typedef int32_t tributary_delegate_status;
enum {
  TRIBUTARY_DELEGATE_OK = 0,
  TRIBUTARY_DELEGATE_INVALID_ARGUMENT =
      3,                            /* an argument or the model; the text names it, or node and field */
  TRIBUTARY_DELEGATE_NOT_FOUND = 5, /* there is no such file */
  TRIBUTARY_DELEGATE_PERMISSION_DENIED = 7, /* the file may not be read */
  TRIBUTARY_DELEGATE_EXHAUSTED = 8,         /* the graph needs more memory than is allowed or left */
  TRIBUTARY_DELEGATE_FAILED_PRECONDITION =
      9,                              /* `strict`: a node would not run on the accelerator; no regular file */
  TRIBUTARY_DELEGATE_INTERNAL = 13,   /* a fault of the library */
  TRIBUTARY_DELEGATE_UNAVAILABLE = 14 /* try again: another thread runs this delegate, or reading failed */
};

/* Elements of arrays. A bool is a byte, 0 or 1. */
enum {
  TRIBUTARY_DELEGATE_FLOAT32 = 1,
  TRIBUTARY_DELEGATE_INT8 = 2,
  TRIBUTARY_DELEGATE_UINT8 = 3,
  TRIBUTARY_DELEGATE_INT32 = 4,
  TRIBUTARY_DELEGATE_INT64 = 5,
  TRIBUTARY_DELEGATE_BOOL = 6
};

enum {
  TRIBUTARY_DELEGATE_INTEGERS = 0, /* quantised layers are computed in integers */
  TRIBUTARY_DELEGATE_FLOATS = 1    /* every node for itself, as the file has it: the reference */
};

typedef struct tributary_delegate tributary_delegate;

/* The version of the library: 10000 · major + 100 · minor + patch. Every library of one soname takes the
 * calls of this header. */
TRIBUTARY_DELEGATE_API uint32_t tributary_delegate_version(void);
/* "0.1.0" */
TRIBUTARY_DELEGATE_API const char* tributary_delegate_version_text(void);

/* What the last call of this thread that failed found wrong: ASCII, one line, at most 2,047 characters. ""
 * before the first failure. Valid until the next failure of this thread. */
TRIBUTARY_DELEGATE_API const char* tributary_delegate_last_error(void);

/* The size of a dimension that the file leaves open; those that nobody names are 1. */
typedef struct tributary_delegate_dimension {
  const char* name; /* as the file has it: "N" */
  int64_t size;     /* from 1 on */
} tributary_delegate_dimension;

typedef struct tributary_delegate_options {
  size_t struct_size;
  const char* accelerator; /* computes quantised layers: "cpu", or "tensor-model", the tensor unit's bits and
                              cycles on the processor; NULL: "cpu" */
  uint64_t memory_bytes;   /* for constants, results and scratch of the graph; 0: 256 MiB */
  uint32_t lanes;          /* rows and columns of the tensor unit: 8, 16 or 32; 0: 16 */
  int32_t strict; /* not 0: refuse a graph of which the processor would compute more than QuantizeLinear and
                     DequantizeLinear; needs an accelerator other than "cpu" */
  int32_t arithmetic;                             /* TRIBUTARY_DELEGATE_INTEGERS or _FLOATS */
  uint32_t reserved;                              /* 0 */
  const tributary_delegate_dimension* dimensions; /* `dimension_count` of them; NULL if there are none */
  size_t dimension_count;                         /* at most 1,000 */
} tributary_delegate_options;

/* Opens the ONNX file at `path`, at most 2 GiB. `options` NULL: all 0. On success *delegate is a new
 * delegate, to be closed by the caller; on failure NULL. */
TRIBUTARY_DELEGATE_API tributary_delegate_status tributary_delegate_open_file(
    const char* path, const tributary_delegate_options* options, tributary_delegate** delegate);
/* The same for `size` bytes of an ONNX file, which may be freed after the call. */
TRIBUTARY_DELEGATE_API tributary_delegate_status tributary_delegate_open_memory(
    const void* bytes, size_t size, const tributary_delegate_options* options, tributary_delegate** delegate);
/* NULL: nothing happens. */
TRIBUTARY_DELEGATE_API void tributary_delegate_close(tributary_delegate* delegate);

/* An input or output of the graph: a row-major array. */
typedef struct tributary_delegate_port {
  size_t struct_size;
  const char* name;
  const int64_t* shape; /* `rank` sizes */
  size_t rank;
  size_t bytes; /* of all elements */
  int32_t type; /* of an element: TRIBUTARY_DELEGATE_FLOAT32 … */
  uint32_t reserved;
} tributary_delegate_port;

/* 0 for NULL. */
TRIBUTARY_DELEGATE_API size_t tributary_delegate_input_count(const tributary_delegate* delegate);
TRIBUTARY_DELEGATE_API size_t tributary_delegate_output_count(const tributary_delegate* delegate);
TRIBUTARY_DELEGATE_API tributary_delegate_status tributary_delegate_input(const tributary_delegate* delegate,
                                                                          size_t index,
                                                                          tributary_delegate_port* port);
TRIBUTARY_DELEGATE_API tributary_delegate_status tributary_delegate_output(const tributary_delegate* delegate,
                                                                           size_t index,
                                                                           tributary_delegate_port* port);

/* A node of the graph that a run computes, in the order of the graph. Nodes whose inputs are all known were
 * computed when the graph was opened, and are not among them. */
typedef struct tributary_delegate_node {
  size_t struct_size;
  const char* name;
  const char* operation;  /* "Conv" */
  const char* result;     /* its first output: "float32 [1, 16, 14, 14]" */
  const char* runs_on;    /* "processor", "tensor unit (model)" */
  const char* arithmetic; /* "int8" within a quantised layer, else "float32" or the type of the result */
  const char* layer;      /* the quantised layer that it is a part of; "": none */
  const char* why_not;    /* why it is not on the accelerator; with "cpu": why it is no part of a quantised
                             layer, if    it might be expected to be one; else "" */
  int64_t multiply_accumulates;
  uint64_t cycles;        /* of the accelerator in a run, at the node that gives a layer's sums; else 0 */
  int32_t on_accelerator; /* 1 or 0 */
  uint32_t reserved;
} tributary_delegate_node;

TRIBUTARY_DELEGATE_API size_t tributary_delegate_node_count(const tributary_delegate* delegate);
TRIBUTARY_DELEGATE_API tributary_delegate_status
tributary_delegate_node_at(const tributary_delegate* delegate, size_t index, tributary_delegate_node* node);

/* What a run takes, and the part of it that the accelerator computes. */
typedef struct tributary_delegate_plan {
  size_t struct_size;
  uint64_t memory_bytes;
  size_t nodes;
  size_t accelerator_nodes;
  int64_t multiply_accumulates;
  int64_t accelerator_multiply_accumulates;
  uint64_t cycles;                         /* of the accelerator, transfers included; 0: not counted */
  uint64_t transfer_cycles;                /* of them */
  uint64_t multiply_accumulates_per_cycle; /* of the accelerator, at most; 0: not counted */
} tributary_delegate_plan;

TRIBUTARY_DELEGATE_API tributary_delegate_status
tributary_delegate_plan_of(const tributary_delegate* delegate, tributary_delegate_plan* plan);

/* Arrays of a run, in the order of the graph's inputs and outputs. `bytes` and `type` must be those of the
 * port; `data` is aligned to the size of an element. */
typedef struct tributary_delegate_input_array {
  const void* data;
  size_t bytes;
  int32_t type;
} tributary_delegate_input_array;

typedef struct tributary_delegate_output_array {
  void* data;
  size_t bytes;
  int32_t type;
} tributary_delegate_output_array;

/* Computes the outputs. One array for each input and each output of the graph; they must not overlap.
 * Outputs are written only if the run succeeds. Errors: INVALID_ARGUMENT for arrays that do not fit, and for
 * values that a node cannot take, such as an index out of range; UNAVAILABLE. */
TRIBUTARY_DELEGATE_API tributary_delegate_status tributary_delegate_run(
    tributary_delegate* delegate, const tributary_delegate_input_array* inputs, size_t input_count,
    const tributary_delegate_output_array* outputs, size_t output_count);

#ifdef __cplusplus
}
#endif

#endif /* TRIBUTARY_DELEGATE_H */
