/* A driver's library, as little of it as the reader asks: its ABI is what nvidia-ml-py declares.
 *
 * Faults are words in FAKE_NVML: lost, old, cut, norecovery, deadhandle, nocount, corrupt, mixedfabric.
 * Structures of a version carry it in their first word; a library that does not know it says 25.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, TOO_SMALL = 7,
       CORRUPT = 14, LOST = 15, UNKNOWN = 999, VERSION = 25 };
enum { GPUS = 2, PLACES = 7, LINKS = 18 };

typedef struct { int index; int place; } Device;
static Device devices[GPUS] = {{0, -1}, {1, -1}};
static Device slices[GPUS][PLACES];

static int has(const char *word) {
  const char *all = getenv("FAKE_NVML");
  return all != NULL && strstr(all, word) != NULL;
}
static int gone(const Device *d) { return d->index == 1 && has("lost"); }
static int say(char *out, unsigned size, const char *text) {
  if (strlen(text) + 1 > size) return TOO_SMALL;
  strcpy(out, text);
  return OK;
}
#define ANSWER(d) do { if (gone(d)) return LOST; } while (0)

int nvmlInit_v2(void) { return has("noinit") ? 9 : OK; }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "said by the fake"; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { return say(out, size, "580.105.08"); }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = GPUS; return has("nocount") ? UNKNOWN : OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **out) {
  if (index == 1 && has("deadhandle")) return LOST;
  *out = &devices[index];
  return OK;
}
int nvmlDeviceGetName(Device *d, char *out, unsigned size) {
  ANSWER(d);
  if (has("latin")) return say(out, size, "NVIDIA \xff");
  return say(out, size, "NVIDIA H100 80GB HBM3");
}
int nvmlDeviceGetUUID(Device *d, char *out, unsigned size) {
  ANSWER(d);
  return say(out, size, d->index ? "GPU-1" : "GPU-0");
}
int nvmlDeviceGetSerial(Device *d, char *out, unsigned size) { ANSWER(d); return say(out, size, "165"); }
int nvmlDeviceGetVbiosVersion(Device *d, char *out, unsigned size) {
  ANSWER(d);
  return say(out, size, "96.00.99.00.01");
}
int nvmlDeviceGetInforomImageVersion(Device *d, char *out, unsigned size) {
  ANSWER(d);
  return say(out, size, "G520.0200.00.05");
}
int nvmlDeviceGetGspFirmwareVersion(Device *d, char *out) { ANSWER(d); strcpy(out, "580.105.08"); return OK; }
typedef struct {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
} Pci;
int nvmlDeviceGetPciInfo_v3(Device *d, Pci *out) {
  ANSWER(d);
  memset(out, 0, sizeof *out);
  out->id = 0x233010DE;
  strcpy(out->bus_id, "00000000:1B:00.0");
  return OK;
}
int nvmlDeviceGetMemoryInfo(Device *d, uint64_t *out) {
  ANSWER(d);
  out[0] = 81559ull << 20;
  out[1] = out[0];
  out[2] = 0;
  return OK;
}
int nvmlDeviceValidateInforom(Device *d) {
  ANSWER(d);
  if (has("noinforom")) return NO_PERMISSION;
  return has("corrupt") ? CORRUPT : OK;
}
int nvmlDeviceGetPersistenceMode(Device *d, unsigned *out) { ANSWER(d); *out = 1; return OK; }
int nvmlDeviceGetComputeMode(Device *d, unsigned *out) { ANSWER(d); *out = 0; return OK; }
int nvmlDeviceGetEccMode(Device *d, unsigned *now, unsigned *next) { ANSWER(d); *now = *next = 1; return OK; }
int nvmlDeviceGetMigMode(Device *d, unsigned *now, unsigned *next) {
  ANSWER(d);
  if (has("nomig")) return NOT_SUPPORTED;
  *now = *next = has("cut") ? 1 : 0;
  return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(Device *d, unsigned *out) {
  ANSWER(d);
  if (has("noplaces")) return UNKNOWN;
  *out = PLACES;
  return OK;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Device *d, unsigned place, Device **out) {
  ANSWER(d);
  if (has("nohandles")) return NO_PERMISSION;
  if (place == 3) return NOT_FOUND;
  slices[d->index][place].index = d->index;
  slices[d->index][place].place = (int)place;
  *out = &slices[d->index][place];
  return OK;
}
typedef struct {
  unsigned sm, copy, decoder, encoder, jpeg, ofa, gpu_slices, compute_slices;
  uint64_t memory;
} Attributes;
int nvmlDeviceGetAttributes_v2(Device *d, Attributes *out) {
  if (d->place < 0) return INVALID;
  if (has("noattributes")) return UNKNOWN;
  memset(out, 0, sizeof *out);
  out->gpu_slices = out->compute_slices = 1;
  out->memory = 9728;
  return OK;
}
typedef struct {
  uint32_t field, scope;
  int64_t time, latency;
  uint32_t type, code;
  union { double d; unsigned ui; unsigned long ul; uint64_t ull; int64_t sll; int si; } value;
} Field;
int nvmlDeviceGetFieldValues(Device *d, int count, Field *values) {
  ANSWER(d);
  if (has("nofields")) return UNKNOWN;
  for (int n = 0; n < count; n++) {
    values[n].code = OK;
    values[n].type = 1;
    switch (values[n].field) {
    case 230: /* drivers before 570 do not know it, and say so in the value, not in the call */
      if (has("norecovery")) values[n].code = NOT_SUPPORTED;
      values[n].value.ui = 1;
      break;
    case 91: values[n].value.ui = has("nolinks") ? 0 : LINKS;
      if (has("nolinkcount")) values[n].code = NOT_SUPPORTED;
      if (has("strangetype")) values[n].type = 0;
      break;
    case 162:
      if (has("norecoveries")) values[n].code = NOT_SUPPORTED;
      values[n].type = 3;
      values[n].value.ull = values[n].scope == 5;
      break;
    default: values[n].code = INVALID;
    }
  }
  return OK;
}
typedef struct { unsigned version, channel, tpc; } Repair;
int nvmlDeviceGetRepairStatus(Device *d, Repair *out) {
  ANSWER(d);
  if (out->version != (sizeof *out | 1u << 24)) return VERSION;
  out->channel = 0;
  out->tpc = 1;
  return OK;
}
typedef struct { unsigned version, bad; } Unrepairable;
#ifndef OLD
int nvmlDeviceGetUnrepairableMemoryFlag_v1(Device *d, Unrepairable *out) {
  ANSWER(d);
  if (out->version != (sizeof *out | 1u << 24)) return VERSION;
  out->bad = 0;
  return OK;
}
int nvmlDeviceGetCurrentClocksEventReasons(Device *d, uint64_t *out) { ANSWER(d); *out = 0x9; return OK; }
#endif
int nvmlDeviceGetCurrentClocksThrottleReasons(Device *d, uint64_t *out) { ANSWER(d); *out = 0x1; return OK; }
int nvmlDeviceGetRemappedRows(Device *d, unsigned *cor, unsigned *unc, unsigned *pending, unsigned *failed) {
  ANSWER(d);
  if (has("norows")) return NOT_SUPPORTED;
  *cor = 3;
  *unc = 2;
  *pending = 1;
  *failed = 0;
  return OK;
}
int nvmlDeviceGetRetiredPages(Device *d, unsigned cause, unsigned *count, uint64_t *pages) {
  ANSWER(d);
  if (!has("pages")) return NOT_SUPPORTED;
  unsigned here = cause ? 1 : 2;
  if (pages == NULL || *count < here) { *count = here; return TOO_SMALL; }
  for (unsigned n = 0; n < here; n++) pages[n] = 4096ull * (n + 1);
  *count = here;
  return OK;
}
int nvmlDeviceGetRetiredPagesPendingStatus(Device *d, unsigned *out) {
  ANSWER(d);
  if (!has("pages")) return NOT_SUPPORTED;
  *out = 1;
  return OK;
}
typedef struct {
  unsigned version;
  uint64_t agg_parity, agg_secded, agg_cor, parity, secded, cor, l2, sm, pcie, mcu, other;
  unsigned over;
} Sram;
int nvmlDeviceGetSramEccErrorStatus(Device *d, Sram *out) {
  ANSWER(d);
  if (has("nosram")) return NOT_SUPPORTED;
  if (out->version != (sizeof *out | 1u << 24)) return VERSION;
  out->parity = 2;
  out->secded = 3;
  out->over = 1;
  return OK;
}
int nvmlDeviceGetMemoryErrorCounter(Device *d, unsigned kind, unsigned counter, unsigned where, uint64_t *out) {
  ANSWER(d);
  if (kind != 1 || counter != 0) return INVALID;
  *out = where == 7 ? 70 : where == 2 ? 20 : 0;
  return OK;
}
typedef struct { unsigned version; int margin; } Margin;
int nvmlDeviceGetMarginTemperature(Device *d, Margin *out) {
  ANSWER(d);
  if (has("nomargin")) return NOT_SUPPORTED;
  if (out->version != (sizeof *out | 1u << 24)) return VERSION;
  out->margin = -2;
  return OK;
}
int nvmlDeviceGetTemperatureThreshold(Device *d, unsigned which, unsigned *out) {
  ANSWER(d);
  if (has("nothreshold")) return NOT_SUPPORTED;
  *out = which == 1 ? 87 : 0;
  return OK;
}
int nvmlDeviceGetTemperature(Device *d, unsigned which, unsigned *out) {
  ANSWER(d);
  if (has("nosensor")) return NOT_SUPPORTED;
  *out = which == 0 ? 30 : 0;
  return OK;
}
int nvmlDeviceGetEnforcedPowerLimit(Device *d, unsigned *out) { ANSWER(d); *out = 600000; return OK; }
int nvmlDeviceGetPowerManagementDefaultLimit(Device *d, unsigned *out) { ANSWER(d); *out = 700000; return OK; }
int nvmlDeviceGetMaxClockInfo(Device *d, unsigned kind, unsigned *out) {
  ANSWER(d);
  *out = kind == 1 ? 1980 : 0;
  return OK;
}
int nvmlDeviceGetMaxPcieLinkGeneration(Device *d, unsigned *out) { ANSWER(d); *out = 5; return OK; }
int nvmlDeviceGetCurrPcieLinkWidth(Device *d, unsigned *out) { ANSWER(d); *out = 8; return OK; }
int nvmlDeviceGetNvLinkState(Device *d, unsigned link, unsigned *out) {
  ANSWER(d);
  *out = link != 4;
  return OK;
}
int nvmlDeviceGetP2PStatus(Device *d, Device *other, unsigned what, unsigned *out) {
  ANSWER(d);
  if (has("nop2p") || what != 2) return NOT_SUPPORTED;
  *out = d->index == 0 && other->index == 1 ? 5 : 0;
  return OK;
}
typedef struct {
  unsigned version;
  uint8_t cluster[16];
  unsigned status, clique, state, health;
  uint8_t summary;
} FabricInfo;
int nvmlDeviceGetGpuFabricInfoV(Device *d, FabricInfo *out) {
  ANSWER(d);
  unsigned known = has("fabric2") ? (36u | 2u << 24) : ((unsigned)sizeof *out | 3u << 24);
  if (has("nofabric")) return NOT_SUPPORTED;
  if (out->version != known) return VERSION;
  memset(out->cluster, 0xAB, 16);
  out->status = 0;
  out->clique = 7;
  out->state = 3;
  out->health = 0x10;
  return OK;
}
typedef struct { unsigned pid; uint64_t memory; unsigned gpu_instance, compute_instance; } Process;
int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, unsigned *count, Process *out) {
  ANSWER(d);
  if (has("noprocesses")) return NO_PERMISSION;
  if (out == NULL || *count < 1) { *count = 1; return TOO_SMALL; }
  *count = 1;
  out[0].pid = 4711;
  out[0].memory = 1 << 20;
  return OK;
}
int nvmlDeviceGetUtilizationRates(Device *d, unsigned *out) {
  ANSWER(d);
  out[0] = 42;
  out[1] = 0;
  return OK;
}
int nvmlDeviceGetPowerUsage(Device *d, unsigned *out) { ANSWER(d); *out = 655000; return OK; }
int nvmlDeviceGetClockInfo(Device *d, unsigned kind, unsigned *out) {
  ANSWER(d);
  *out = kind == 1 ? 1755 : 0;
  return OK;
}
int nvmlDeviceGetCurrPcieLinkGeneration(Device *d, unsigned *out) { ANSWER(d); *out = 4; return OK; }
int nvmlDeviceGetTotalEccErrors(Device *d, unsigned kind, unsigned counter, uint64_t *out) {
  ANSWER(d);
  if (kind != 1 || counter != 0) return INVALID;
  *out = 25;
  return OK;
}
