/*
 * A stand-in for the driver's library, for tests alone: it has the functions of NVML that llmgw calls, and answers them from
 * a text file beside itself, FILE.so.1.answers, one answer a line, `KEY = VALUE`. A value `!N` makes the call end with code N,
 * `hang` never come back, `crash` take the process down. A key that is not there ends with 3 (not supported).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUCCESS 0
#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3
#define NOT_FOUND 6

typedef void *device;
typedef unsigned int u32;
typedef unsigned long long u64;

typedef struct {
  char legacy[16];
  u32 domain, bus, device, id, subsystem;
  char bus_id[32];
} pci_info;
typedef struct {
  u64 total, free, used;
} memory_info;
typedef struct {
  u32 version;
  unsigned char cluster[16];
  u32 status, clique;
  unsigned char state;
  u32 health;
} fabric_info;

static int answer(const char *key, char *value, size_t size) {
  Dl_info self;
  char path[4096], line[512];
  if (!dladdr((void *)answer, &self)) return 999;
  snprintf(path, sizeof path, "%s.answers", self.dli_fname);
  FILE *file = fopen(path, "r");
  if (!file) return 999;
  int code = NOT_SUPPORTED;
  while (fgets(line, sizeof line, file)) {
    char *equals = strstr(line, " = ");
    if (!equals) continue;
    *equals = 0;
    if (strcmp(line, key)) continue;
    char *text = equals + 3;
    text[strcspn(text, "\n")] = 0;
    if (!strcmp(text, "hang")) for (;;) pause();
    if (!strcmp(text, "crash")) abort();
    if (text[0] == '!') code = atoi(text + 1);
    else { snprintf(value, size, "%s", text); code = SUCCESS; }
    break;
  }
  fclose(file);
  return code;
}

/* Handles are numbers: a card's is 1000 + 100 * index, a slice's that plus its own number plus one. */
static char *name_of(device d, char *out) {
  int id = (int)(size_t)d - 1000;
  if (id % 100) sprintf(out, "gpu %d slice %d", id / 100, id % 100 - 1);
  else sprintf(out, "gpu %d", id / 100);
  return out;
}

static int of_device(device d, const char *what, char *value, size_t size) {
  char name[64], key[128];
  snprintf(key, sizeof key, "%s %s", name_of(d, name), what);
  return answer(key, value, size);
}

static int numbers(device d, const char *what, u64 out[4]) {
  char value[256] = "";
  int code = of_device(d, what, value, sizeof value);
  if (code == SUCCESS) sscanf(value, "%llu %llu %llu %llu", &out[0], &out[1], &out[2], &out[3]);
  return code;
}

int nvmlInit_v2(void) {
  char value[64];
  int code = answer("init", value, sizeof value);
  return code == NOT_SUPPORTED ? SUCCESS : code;
}
int nvmlShutdown(void) { return SUCCESS; }
int nvmlSystemGetDriverVersion(char *out, u32 size) { return answer("driver", out, size); }
int nvmlDeviceGetCount_v2(u32 *count) {
  char value[64];
  int code = answer("count", value, sizeof value);
  if (code == SUCCESS) *count = (u32)strtoul(value, NULL, 10);
  return code;
}
int nvmlDeviceGetHandleByIndex_v2(u32 index, device *out) {
  char value[64];
  *out = (device)(size_t)(1000 + 100 * index);
  int code = of_device(*out, "handle", value, sizeof value);
  return code == NOT_SUPPORTED ? SUCCESS : code;
}
int nvmlDeviceGetUUID(device d, char *out, u32 size) { return of_device(d, "uuid", out, size); }
int nvmlDeviceGetName(device d, char *out, u32 size) { return of_device(d, "name", out, size); }
int nvmlDeviceGetPciInfo_v3(device d, pci_info *out) { return of_device(d, "bus", out->bus_id, sizeof out->bus_id); }
int nvmlDeviceGetMemoryInfo(device d, memory_info *out) {
  u64 n[4] = {0};
  int code = numbers(d, "memory", n);
  out->total = n[0], out->free = n[1], out->used = n[2];
  return code;
}
int nvmlDeviceGetCudaComputeCapability(device d, int *major, int *minor) {
  u64 n[4] = {0};
  int code = numbers(d, "compute", n);
  *major = (int)n[0], *minor = (int)n[1];
  return code;
}
int nvmlDeviceGetMigMode(device d, u32 *current, u32 *pending) {
  u64 n[4] = {0};
  int code = numbers(d, "mig", n);
  *current = (u32)n[0], *pending = (u32)n[1];
  return code;
}
int nvmlDeviceGetMaxMigDeviceCount(device d, u32 *out) {
  u64 n[4] = {0};
  int code = numbers(d, "slices", n);
  *out = (u32)n[0];
  return code;
}
int nvmlDeviceGetMigDeviceHandleByIndex(device d, u32 index, device *out) {
  char value[256];
  *out = (device)((size_t)d + index + 1);
  return of_device(*out, "uuid", value, sizeof value) == SUCCESS ? SUCCESS : NOT_FOUND;
}
int nvmlDeviceGetTotalEccErrors(device d, u32 type, u32 counter, u64 *out) {
  u64 n[4] = {0};
  if (type != 1 || counter != 0) return INVALID_ARGUMENT;
  int code = numbers(d, "ecc", n);
  *out = n[0];
  return code;
}
int nvmlDeviceGetRemappedRows(device d, u32 *corrected, u32 *uncorrected, u32 *pending, u32 *failed) {
  u64 n[4] = {0};
  int code = numbers(d, "remapped", n);
  *corrected = (u32)n[0], *uncorrected = (u32)n[1], *pending = (u32)n[2], *failed = (u32)n[3];
  return code;
}
int nvmlDeviceGetRetiredPagesPendingStatus(device d, u32 *out) {
  u64 n[4] = {0};
  int code = numbers(d, "retired", n);
  *out = (u32)n[0];
  return code;
}
int nvmlDeviceGetNumaNodeId(device d, u32 *out) {
  u64 n[4] = {0};
  int code = numbers(d, "numa", n);
  *out = (u32)n[0];
  return code;
}
int nvmlDeviceGetGpuFabricInfoV(device d, fabric_info *out) {
  u64 n[4] = {0};
  if (out->version != ((2u << 24) | sizeof *out)) return INVALID_ARGUMENT;
  int code = numbers(d, "fabric", n);
  out->state = (unsigned char)n[0], out->status = (u32)n[1], out->clique = (u32)n[2];
  return code;
}

typedef struct {
  u32 pid;
  u64 used;
  u32 gpu_instance, compute_instance;
} process_info;

/* `gpu N pids` is the numbers of the processes that hold its memory. */
int nvmlDeviceGetComputeRunningProcesses_v3(device d, u32 *count, process_info *out) {
  char value[256] = "", *at = value, *end;
  int code = of_device(d, "pids", value, sizeof value);
  u32 room = *count;
  *count = 0;
  if (code != SUCCESS) return code;
  for (u64 pid = strtoull(at, &end, 10); end != at; pid = strtoull(at = end, &end, 10)) {
    if (*count == room) return 7;
    out[*count].pid = (u32)pid;
    out[(*count)++].used = 1 << 20;
  }
  return SUCCESS;
}

/* `gpu N links` is how many there are; `gpu N link L = KIND ADDRESS` is one that is up. */
static int link_of(device d, u32 link, u32 *kind, char *remote) {
  char key[32], value[128] = "";
  u64 n[4] = {0};
  if (numbers(d, "links", n) != SUCCESS) return NOT_SUPPORTED;
  if (link >= n[0]) return INVALID_ARGUMENT;
  snprintf(key, sizeof key, "link %u", link);
  int code = of_device(d, key, value, sizeof value);
  if (code == SUCCESS) sscanf(value, "%u %31s", kind, remote);
  return code;
}
int nvmlDeviceGetNvLinkState(device d, u32 link, u32 *active) {
  u32 kind;
  char remote[32];
  int code = link_of(d, link, &kind, remote);
  *active = code == SUCCESS;
  return code == NOT_SUPPORTED && numbers(d, "links", (u64[4]){0}) == SUCCESS ? SUCCESS : code;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(device d, u32 link, u32 *kind) {
  char remote[32];
  return link_of(d, link, kind, remote);
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(device d, u32 link, pci_info *out) {
  u32 kind;
  return link_of(d, link, &kind, out->bus_id);
}

static int pair(const char *what, device a, device b, u32 *out) {
  char key[64], value[64];
  snprintf(key, sizeof key, "%s %d %d", what, ((int)(size_t)a - 1000) / 100, ((int)(size_t)b - 1000) / 100);
  int code = answer(key, value, sizeof value);
  if (code == NOT_SUPPORTED) code = answer(what, value, sizeof value);
  if (code == SUCCESS) *out = (u32)strtoul(value, NULL, 10);
  return code;
}
int nvmlDeviceGetTopologyCommonAncestor(device a, device b, u32 *out) { return pair("ancestor", a, b, out); }
int nvmlDeviceGetP2PStatus(device a, device b, u32 capability, u32 *out) {
  return capability == 2 ? pair("p2p", a, b, out) : INVALID_ARGUMENT;
}
