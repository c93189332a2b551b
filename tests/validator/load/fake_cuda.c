/* A CUDA driver and a cuBLAS for tests: memory of the host, a clock of its own, and faults.
 *
 * Types and names are those of cuda.h and cublas_api.h: with -DHEADERS and their folder in the include path this
 * file is compiled against them, and a call that differs is refused. FAKE_CUDA holds words: rates in GB/s or TFLOPS
 * (`memory=2700`), and what goes wrong (`oom`, `ecc=20`: the 20th call that waits, `hang`, `flip`).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HEADERS
#include <cuda.h>
#include <cublas_api.h>
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *, CUevent, CUevent);
#else
typedef int CUdevice, CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct { char bytes[16]; } CUuuid;
typedef struct cublasContext *cublasHandle_t;
typedef int cublasStatus_t, cublasOperation_t, cudaDataType, cublasComputeType_t, cublasGemmAlgo_t;
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuDeviceGetUuid cuDeviceGetUuid_v2
#endif
enum { OK = 0, INVALID = 1, OOM = 2, NO_DEVICE = 100, ECC = 214, TWICE = 704 };

struct CUctx_st { int gpu; };
struct CUstream_st { double now; int waits; };
struct CUevent_st { double at; };
struct cublasContext { CUstream stream; };
static struct CUctx_st contexts[8];
static CUcontext current;
static int started, broken, peered[8];
static struct CUstream_st *the_stream;

static const char *fault(const char *name) { /* the text after the word, NULL where it is not said */
  const char *all = getenv("FAKE_CUDA");
  size_t long_ = strlen(name);
  for (const char *at = all; at && *at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
    if (!strncmp(at, name, long_) && strchr("= ", at[long_])) return at + long_;
  return NULL;
}
static double number(const char *name, double otherwise) {
  const char *said = fault(name);
  return said && *said == '=' ? atof(said + 1) : otherwise;
}
static int gpus(void) { return (int)number("gpus", 2); }
#define READY if (!started) return 3; if (broken) return broken; if (!current) return 201

CUresult cuInit(unsigned flags) {
  if (fault("noinit")) return NO_DEVICE;
  started = 1;
  return flags ? INVALID : OK;
}
CUresult cuDriverGetVersion(int *out) { *out = 13010; return OK; }
CUresult cuGetErrorName(CUresult code, const char **out) {
  *out = code == OOM ? "CUDA_ERROR_OUT_OF_MEMORY" : code == ECC ? "CUDA_ERROR_ECC_UNCORRECTABLE"
       : code == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : NULL;
  return *out ? OK : INVALID;
}
CUresult cuDeviceGetCount(int *out) { *out = gpus(); return started ? OK : 3; }
CUresult cuDeviceGet(CUdevice *out, int ordinal) {
  if (ordinal >= gpus()) return 101;
  *out = ordinal;
  return OK;
}
CUresult cuDeviceGetUuid(CUuuid *out, CUdevice gpu) {
  memset(out->bytes, 0xA0 + gpu, 16);
  return OK;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice gpu) {
  contexts[gpu].gpu = gpu;
  *out = &contexts[gpu];
  return OK;
}
CUresult cuCtxSetCurrent(CUcontext context) { current = context; return started ? OK : 3; }
CUresult cuDeviceCanAccessPeer(int *out, CUdevice gpu, CUdevice other) {
  *out = gpu != other && !fault("alone");
  return OK;
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  READY;
  if (flags) return INVALID;
  if (peered[peer->gpu]) return TWICE;
  peered[peer->gpu] = 1;
  return OK;
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t size) {
  READY;
  if (fault("oom") || !size) return OOM;
  *out = (CUdeviceptr)(uintptr_t)malloc(size);
  memset((void *)(uintptr_t)*out, 0xEE, size);
  return OK;
}
CUresult cuMemFree(CUdeviceptr at) { READY; free((void *)(uintptr_t)at); return OK; }
CUresult cuMemHostAlloc(void **out, size_t size, unsigned flags) {
  READY;
  *out = malloc(size);
  return flags ? INVALID : OK;
}
CUresult cuMemFreeHost(void *at) { READY; free(at); return OK; }

/* What has been asked for takes its time on the stream's own clock, in seconds. */
static CUresult copied(const char *rate, double otherwise, void *target, const void *source, size_t size, int times,
                       CUstream stream) {
  READY;
  memmove(target, source, size);
  if (fault("flip") && !strcmp(fault("flip") + 1, rate)) ((char *)target)[size / 2] ^= 4;
  stream->now += times * (double)size / number(rate, otherwise) / 1e9;
  return OK;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
  return copied("to_device", 55, (void *)(uintptr_t)to, from, size, 1, stream);
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream) {
  return copied("to_host", 54, to, (void *)(uintptr_t)from, size, 1, stream);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return copied("memory", 2700, (void *)(uintptr_t)to, (void *)(uintptr_t)from, size, 2, stream);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t size,
                           CUstream stream) {
  if (here->gpu == there->gpu || !peered[there->gpu]) return INVALID;
  return copied("peers", 390, (void *)(uintptr_t)to, (void *)(uintptr_t)from, size, 1, stream);
}

CUresult cuStreamCreate(CUstream *out, unsigned flags) {
  READY;
  the_stream = *out = calloc(1, sizeof **out);
  return flags ? INVALID : OK;
}
CUresult cuStreamSynchronize(CUstream stream) {
  READY;
  stream->waits++;
  if (fault("hang")) for (;;) pause();
  if (stream->waits == (int)number("die", -1)) abort();
  if (stream->waits == (int)number("ecc", -1)) broken = ECC; /* every later call says the same */
  return broken;
}
CUresult cuEventCreate(CUevent *out, unsigned flags) {
  READY;
  *out = calloc(1, sizeof **out);
  return flags ? INVALID : OK;
}
CUresult cuEventRecord(CUevent event, CUstream stream) { READY; event->at = stream->now; return OK; }
CUresult cuEventElapsedTime(float *out, CUevent begin, CUevent end) {
  READY;
  *out = (float)((end->at - begin->at) * 1000);
  return OK;
}
CUresult cuEventDestroy(CUevent event) { free(event); return broken; }

/* cuBLAS: libcublas is another library, and knows streams of this one. */
#ifdef HEADERS
typedef cudaStream_t Stream;
#else
typedef CUstream Stream;
#endif
cublasStatus_t cublasCreate_v2(cublasHandle_t *out) {
  if (!current || fault("noblas")) return 1;
  *out = calloc(1, sizeof **out);
  return 0;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, Stream stream) {
  handle->stream = stream;
  return 0;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *out) {
  *out = 130100;
  return handle ? 0 : 1;
}
static float of_half(uint16_t raw) { /* normal numbers and zero */
  uint32_t sign = (uint32_t)(raw & 0x8000) << 16, exponent = raw >> 10 & 31, rest = raw & 0x3FF;
  uint32_t bits = exponent ? sign | (exponent + 112) << 23 | rest << 13 : sign;
  float found;
  memcpy(&found, &bits, 4);
  return found;
}
static float of_bf16(uint16_t raw) {
  uint32_t bits = (uint32_t)raw << 16;
  float found;
  memcpy(&found, &bits, 4);
  return found;
}
static float at(const void *all, cudaDataType kind, int row, int column, int lead) {
  uint16_t raw = ((const uint16_t *)all)[row + (size_t)column * lead];
  return kind == 14 ? of_bf16(raw) : of_half(raw);
}
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t turn_a, cublasOperation_t turn_b, int m, int n,
                            int k, const void *alpha, const void *a, cudaDataType kind_a, int lead_a, const void *b,
                            cudaDataType kind_b, int lead_b, const void *beta, void *c, cudaDataType kind_c,
                            int lead_c, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  static int calls;
  if ((kind_a != 14 && kind_a != 2) || kind_b != kind_a || kind_c != 0 || compute != 68 || algorithm != -1) return 7;
  if (*(const float *)alpha != 1 || *(const float *)beta != 0) return 7;
  float *out = c;
  for (int row = 0; row < m; row++)
    for (int column = 0; column < n; column++) {
      float sum = 0;
      for (int i = 0; i < k; i++)
        sum += at(a, kind_a, turn_a ? i : row, turn_a ? row : i, lead_a) *
               at(b, kind_b, turn_b ? column : i, turn_b ? i : column, lead_b);
      out[row + (size_t)column * lead_c] = sum;
    }
  calls++;
  if (fault("flip") && !strcmp(fault("flip") + 1, "product")) out[m + 1] += 0.5f; /* one element, by one bit */
  if (calls == (int)number("flipped", -1)) out[m + 1] += 0.5f;
  handle->stream->now += 2.0 * m * n * k / number("product", 700) / 1e12;
  return 0;
}
