/*
 * An LD_PRELOAD library: the Nth file call below one folder fails, stalls, is torn, kills the process or cuts the power
 * of the file system. It can also record every change, for a simulation of power cuts. `disk-faults.ts` builds and
 * controls it.
 *
 *   DF_DIR          the folder to watch, with links resolved
 *   DF_CTL          a file of 4096 bytes, outside of DF_DIR, that is mapped as `struct control`: the harness writes it to
 *                   arm and disarm while the program runs, and reads what was seen and hit
 *   DF_TRACE        optional: appends every change to this file
 *   DF_TIME_OFFSET  optional: seconds to add to the clock, to make data old
 *   DF_NOSYNC       optional, a control: fsync and fdatasync do nothing and report success
 *
 * It replaces the dynamic symbols of libc that libuv and the SQLite inside Node call. Stores through mmap (SQLite's
 * -shm) are not seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x544c4644u /* DFLT */

enum op { OP_WRITE = 1, OP_FSYNC = 2, OP_FTRUNCATE = 4, OP_OPEN = 8, OP_UNLINK = 16, OP_RENAME = 32, OP_LINK = 64, OP_READ = 128 };
enum kind { K_DB = 1, K_WAL = 2, K_SHM = 4, K_JOURNAL = 8, K_LOCK = 16, K_DIR = 32, K_OTHER = 64 };
enum action {
  A_ERROR = 1,       /* fail with err */
  A_SHORT = 2,       /* a write does half and reports that; other calls fail with err */
  A_KILL_BEFORE = 3, /* SIGKILL instead of the call */
  A_KILL_MID = 4,    /* a write does half, then SIGKILL */
  A_KILL_AFTER = 5,  /* the call, then SIGKILL */
  A_DELAY = 6,       /* the call, after delay_ms */
  A_SHORT_FULL = 7,  /* the first one does half and reports that; the rest fail with err */
  A_CUT_BEFORE = 8,  /* FS_IOC_SHUTDOWN of the file system, which drops unsynced data, then the call */
  A_CUT_MID = 9,     /* a write does half, then the same */
  A_CUT_AFTER = 10,  /* the call, then the same */
  A_DONE_ERROR = 11, /* the call works, and reports err */
  A_LIE = 12,        /* nothing is done, and success reported: a control, a disk that lies */
};

struct control {
  uint32_t magic;
  _Atomic uint32_t armed;
  uint32_t ops;       /* mask of enum op */
  uint32_t kinds;     /* mask of enum kind */
  uint32_t nth;       /* the first matching call to hit, from 1 */
  uint32_t count;     /* how many to hit; 0xffffffff for all that follow */
  uint32_t action;
  int32_t err;
  uint32_t delay_ms;
  uint32_t trace_on;
  _Atomic uint64_t seen;  /* matching calls since it was armed */
  _Atomic uint64_t fired;
  _Atomic uint64_t total; /* all calls below DF_DIR but reads */
  _Atomic uint64_t seq;   /* records in the trace */
  _Atomic uint32_t last_op, last_kind;
  _Atomic uint64_t syncs; /* fsyncs that succeeded */
};

static struct control *ctl;
static char dir[4096];
static size_t dirlen;
static int nosync;
static long time_offset;
static int trace_fd = -1;
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER;

#define MAXFD 65536
static _Atomic unsigned char fdkind[MAXFD]; /* 0: not below DF_DIR, else enum kind */

#define REAL(ret, name, ...) static ret (*real_##name)(__VA_ARGS__)
REAL(int, open, const char *, int, ...);
REAL(int, open64, const char *, int, ...);
REAL(int, openat, int, const char *, int, ...);
REAL(int, openat64, int, const char *, int, ...);
REAL(ssize_t, write, int, const void *, size_t);
REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
REAL(ssize_t, pread64, int, void *, size_t, off64_t);
REAL(int, fsync, int);
REAL(int, fdatasync, int);
REAL(int, ftruncate64, int, off64_t);
REAL(int, unlink, const char *);
REAL(int, rename, const char *, const char *);
REAL(int, link, const char *, const char *);
REAL(int, close, int);
REAL(int, clock_gettime, clockid_t, struct timespec *);
REAL(int, gettimeofday, struct timeval *, void *);
REAL(time_t, time, time_t *);

static void resolve(void) {
  if (real_pwrite64) return;
#define GET(name) real_##name = dlsym(RTLD_NEXT, #name)
  GET(open); GET(open64); GET(openat); GET(openat64); GET(write); GET(pread64); GET(fsync); GET(fdatasync); GET(ftruncate64);
  GET(unlink); GET(rename); GET(link); GET(close); GET(clock_gettime); GET(gettimeofday); GET(time);
  GET(pwrite64);
}

__attribute__((constructor)) static void begin(void) {
  resolve();
  const char *d = getenv("DF_DIR"), *c = getenv("DF_CTL"), *t = getenv("DF_TRACE"), *o = getenv("DF_TIME_OFFSET");
  nosync = getenv("DF_NOSYNC") != NULL;
  if (o) time_offset = atol(o);
  if (d) { snprintf(dir, sizeof dir, "%s", d); dirlen = strlen(dir); }
  if (c) {
    int fd = real_open64(c, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
      if (real_ftruncate64(fd, 4096) == 0) {
        void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED) { ctl = p; ctl->magic = MAGIC; }
      }
      real_close(fd);
    }
  }
  if (t) trace_fd = real_open64(t, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int below(const char *path) {
  char cwd[4096]; /* PostgreSQL opens its files relative to the data folder. */
  if (dirlen && path && path[0] != '/') return getcwd(cwd, sizeof cwd) && below(cwd);
  return dirlen && path && strncmp(path, dir, dirlen) == 0 && (path[dirlen] == '/' || path[dirlen] == 0);
}
static int ends(const char *s, const char *e) { size_t a = strlen(s), b = strlen(e); return a >= b && strcmp(s + a - b, e) == 0; }
static int kind_of(const char *path) {
  struct stat st;
  if (ends(path, "serving.lock")) return K_LOCK;
  if (ends(path, "-wal")) return K_WAL;
  if (ends(path, "-shm")) return K_SHM;
  if (ends(path, "-journal")) return K_JOURNAL;
  if (ends(path, ".db")) return K_DB;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return K_DIR;
  return K_OTHER;
}
/* Not every close goes through the symbol that is replaced here, so the number may belong to a socket by now. */
static int kind_fd(int fd) {
  if (fd < 0 || fd >= MAXFD) return 0;
  int kind = atomic_load_explicit(&fdkind[fd], memory_order_relaxed);
  struct stat st;
  if (!kind || (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))) return kind;
  atomic_store(&fdkind[fd], 0);
  return 0;
}
static void path_fd(int fd, char *out, size_t n) {
  char link[64]; snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t k = readlink(link, out, n - 1); out[k > 0 ? k : 0] = 0;
}

/* What to do with this call, 0 for nothing; *first: whether it is the first one hit. */
static int hit(int op, int kind, int *first) {
  if (!ctl) return 0;
  if (op != OP_READ) atomic_fetch_add(&ctl->total, 1);
  if (!atomic_load(&ctl->armed) || !(ctl->ops & op) || !(ctl->kinds & kind)) return 0;
  uint64_t n = atomic_fetch_add(&ctl->seen, 1) + 1;
  if (n < ctl->nth) return 0;
  if (ctl->count != 0xffffffffu && n >= (uint64_t)ctl->nth + ctl->count) return 0;
  *first = atomic_fetch_add(&ctl->fired, 1) == 0;
  atomic_store(&ctl->last_op, op); atomic_store(&ctl->last_kind, kind);
  return ctl->action;
}
static void die(void) { syscall(SYS_kill, getpid(), SIGKILL); for (;;) pause(); }
static void cut(void) {
  uint32_t flag = 2; /* EXT4_GOING_FLAGS_NOLOGFLUSH, XFS_FSOP_GOING_FLAGS_NOLOGFLUSH */
  char up[4096]; snprintf(up, sizeof up, "%s", dir);
  int fd = -1;
  while ((fd = real_open64(up, O_RDONLY | O_CLOEXEC)) < 0) { char *s = strrchr(up, '/'); if (!s || s == up) return; *s = 0; }
  if (ioctl(fd, _IOR('X', 125, uint32_t), &flag) != 0) dprintf(2, "diskfault: shutdown failed: %d\n", errno);
  real_close(fd);
}
static void nap(void) { usleep(1000 * (useconds_t)ctl->delay_ms); }

/* ---- trace: u32 length of the rest, u64 seq, u8 op, u64 ino, i64 offset, u32 path length, path, u32 data length, data ---- */
enum t { T_CREATE = 1, T_WRITE = 2, T_TRUNC = 3, T_SYNC_BEGIN = 4, T_SYNC_END = 5, T_UNLINK = 6, T_RENAME = 7, T_LINK = 8, T_OPEN = 9 };
static void put(int op, uint64_t ino, int64_t off, const char *path, const void *data, uint32_t n) {
  uint32_t pl = path ? strlen(path) : 0, len = 8 + 1 + 8 + 8 + 4 + pl + 4 + n;
  uint64_t seq = atomic_fetch_add(&ctl->seq, 1) + 1;
  unsigned char *b = malloc(len + 4), *p = b;
#define P(v, k) memcpy(p, v, k), p += k
  unsigned char o = op;
  P(&len, 4); P(&seq, 8); P(&o, 1); P(&ino, 8); P(&off, 8); P(&pl, 4); if (pl) P(path, pl); P(&n, 4); if (n) P(data, n);
  for (size_t done = 0; done < len + 4;) { ssize_t k = real_write(trace_fd, b + done, len + 4 - done); if (k <= 0) break; done += k; }
  free(b);
}
static int tracing(void) { return trace_fd >= 0 && ctl && ctl->trace_on; }
static uint64_t ino_fd(int fd) { struct stat st; return fstat(fd, &st) == 0 ? st.st_ino : 0; }

/* ---- open ---- */
static int after_open(int fd, const char *path, int kind, int created, int flags) {
  if (fd >= 0 && fd < MAXFD) atomic_store(&fdkind[fd], kind);
  if (fd >= 0 && kind && tracing()) {
    put(created ? T_CREATE : T_OPEN, ino_fd(fd), 0, path, NULL, 0);
    if (!created && (flags & O_TRUNC)) put(T_TRUNC, ino_fd(fd), 0, NULL, NULL, 0);
  }
  return fd;
}
static int do_open(int at, const char *path, int flags, mode_t mode) {
  resolve();
  int ours = below(path), kind = ours ? kind_of(path) : 0, first = 0;
  if (!ours) {
    int fd = real_openat64(at, path, flags, mode);
    if (fd >= 0 && fd < MAXFD) atomic_store(&fdkind[fd], 0);
    return fd;
  }
  int a = hit(OP_OPEN, kind, &first);
  if (a == A_ERROR || a == A_SHORT || a == A_SHORT_FULL) { errno = ctl->err; return -1; }
  if (a == A_KILL_BEFORE || a == A_KILL_MID) die();
  if (a == A_CUT_BEFORE || a == A_CUT_MID) cut();
  if (a == A_DELAY) nap();
  if (tracing()) pthread_mutex_lock(&trace_lock);
  struct stat st; int created = (flags & O_CREAT) && stat(path, &st) != 0;
  int fd = after_open(real_openat64(at, path, flags, mode), path, kind, created, flags);
  int e = errno;
  if (tracing()) pthread_mutex_unlock(&trace_lock);
  if (a == A_KILL_AFTER) die();
  if (a == A_CUT_AFTER) cut();
  errno = e;
  return fd;
}
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list v; va_start(v, flags); mode = va_arg(v, int); va_end(v); }
int open(const char *path, int flags, ...) { MODE return do_open(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return do_open(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE return do_open(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE return do_open(at, path, flags, mode); }
int close(int fd) { resolve(); if (fd >= 0 && fd < MAXFD) atomic_store(&fdkind[fd], 0); return real_close(fd); }

/* ---- write ---- */
static ssize_t raw_write(int fd, const void *b, size_t n, off64_t off, int positioned) {
  if (n == 0) return 0;
  if (!tracing() || !kind_fd(fd)) return positioned ? real_pwrite64(fd, b, n, off) : real_write(fd, b, n);
  pthread_mutex_lock(&trace_lock);
  off64_t at = positioned ? off : lseek64(fd, 0, SEEK_CUR);
  ssize_t k = positioned ? real_pwrite64(fd, b, n, off) : real_write(fd, b, n);
  int e = errno;
  if (k > 0) put(T_WRITE, ino_fd(fd), at, NULL, b, k);
  pthread_mutex_unlock(&trace_lock);
  errno = e;
  return k;
}
static ssize_t do_write(int fd, const void *b, size_t n, off64_t off, int positioned) {
  resolve();
  int kind = kind_fd(fd), first = 0;
  if (!kind) return positioned ? real_pwrite64(fd, b, n, off) : real_write(fd, b, n);
  int a = hit(OP_WRITE, kind, &first);
  ssize_t k;
  switch (a) {
    case A_ERROR: errno = ctl->err; return -1;
    case A_LIE: return n;
    case A_SHORT: return raw_write(fd, b, n > 1 ? n / 2 : n, off, positioned);
    case A_SHORT_FULL:
      if (first && n > 1) return raw_write(fd, b, n / 2, off, positioned);
      errno = ctl->err; return -1;
    case A_KILL_BEFORE: die(); break;
    case A_KILL_MID: raw_write(fd, b, n / 2, off, positioned); die(); break;
    case A_CUT_BEFORE: cut(); break;
    case A_CUT_MID: raw_write(fd, b, n / 2, off, positioned); cut(); break;
    case A_DELAY: nap(); break;
  }
  k = raw_write(fd, b, n, off, positioned);
  int e = errno;
  if (a == A_KILL_AFTER) die();
  if (a == A_CUT_AFTER) cut();
  if (a == A_DONE_ERROR) { errno = ctl->err; return -1; }
  errno = e;
  return k;
}
ssize_t write(int fd, const void *b, size_t n) { return do_write(fd, b, n, 0, 0); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t off) { return do_write(fd, b, n, off, 1); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t off) { return do_write(fd, b, n, off, 1); }

/* ---- read ---- */
ssize_t pread64(int fd, void *b, size_t n, off64_t off) {
  resolve();
  int kind = kind_fd(fd), first = 0;
  int a = kind ? hit(OP_READ, kind, &first) : 0;
  if (a == A_ERROR) { errno = ctl->err; return -1; }
  if (a == A_SHORT) return real_pread64(fd, b, n / 2, off);
  if (a == A_KILL_BEFORE) die();
  if (a == A_DELAY) nap();
  return real_pread64(fd, b, n, off);
}
ssize_t pread(int fd, void *b, size_t n, off_t off) { return pread64(fd, b, n, off); }

/* ---- fsync, ftruncate ---- */
static int do_sync(int fd, int (*real)(int)) {
  int kind = kind_fd(fd), first = 0;
  if (!kind) return real(fd);
  int a = hit(OP_FSYNC, kind, &first);
  if (a == A_ERROR || a == A_SHORT || a == A_SHORT_FULL) { errno = ctl->err; return -1; }
  if (a == A_LIE) return 0;
  if (a == A_KILL_BEFORE || a == A_KILL_MID) die();
  if (a == A_CUT_BEFORE || a == A_CUT_MID) cut();
  if (a == A_DELAY) nap();
  uint64_t ino = 0; char path[4096]; path[0] = 0;
  if (tracing()) {
    ino = ino_fd(fd); path_fd(fd, path, sizeof path);
    pthread_mutex_lock(&trace_lock); put(T_SYNC_BEGIN, ino, kind, path, NULL, 0); pthread_mutex_unlock(&trace_lock);
  }
  int r = nosync ? 0 : real(fd), e = errno;
  if (r == 0 && ctl) atomic_fetch_add(&ctl->syncs, 1);
  if (tracing()) { pthread_mutex_lock(&trace_lock); put(T_SYNC_END, ino, r == 0 && !nosync, path, NULL, 0); pthread_mutex_unlock(&trace_lock); }
  if (a == A_KILL_AFTER) die();
  if (a == A_CUT_AFTER) cut();
  if (a == A_DONE_ERROR) { errno = ctl->err; return -1; }
  errno = e;
  return r;
}
int fsync(int fd) { resolve(); return do_sync(fd, real_fsync); }
int fdatasync(int fd) { resolve(); return do_sync(fd, real_fdatasync); }
int ftruncate64(int fd, off64_t size) {
  resolve();
  int kind = kind_fd(fd), first = 0;
  if (!kind) return real_ftruncate64(fd, size);
  int a = hit(OP_FTRUNCATE, kind, &first);
  if (a == A_ERROR || a == A_SHORT || a == A_SHORT_FULL) { errno = ctl->err; return -1; }
  if (a == A_KILL_BEFORE || a == A_KILL_MID) die();
  if (a == A_CUT_BEFORE || a == A_CUT_MID) cut();
  if (a == A_DELAY) nap();
  if (tracing()) pthread_mutex_lock(&trace_lock);
  int r = real_ftruncate64(fd, size), e = errno;
  if (tracing()) { if (r == 0) put(T_TRUNC, ino_fd(fd), size, NULL, NULL, 0); pthread_mutex_unlock(&trace_lock); }
  if (a == A_KILL_AFTER) die();
  if (a == A_CUT_AFTER) cut();
  errno = e;
  return r;
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* ---- names ---- */
static int names(int op, int t, const char *a, const char *b, int (*one)(const char *), int (*two)(const char *, const char *)) {
  const char *ours = below(a) ? a : b && below(b) ? b : NULL;
  if (!ours) return one ? one(a) : two(a, b);
  int first = 0, x = hit(op, kind_of(ours), &first);
  if (x == A_ERROR || x == A_SHORT || x == A_SHORT_FULL) { errno = ctl->err; return -1; }
  if (x == A_KILL_BEFORE || x == A_KILL_MID) die();
  if (x == A_CUT_BEFORE || x == A_CUT_MID) cut();
  if (x == A_DELAY) nap();
  if (tracing()) pthread_mutex_lock(&trace_lock);
  int r = one ? one(a) : two(a, b), e = errno;
  if (tracing()) { if (r == 0) put(t, 0, 0, a, b, b ? strlen(b) : 0); pthread_mutex_unlock(&trace_lock); }
  if (x == A_KILL_AFTER) die();
  if (x == A_CUT_AFTER) cut();
  errno = e;
  return r;
}
int unlink(const char *p) { resolve(); return names(OP_UNLINK, T_UNLINK, p, NULL, real_unlink, NULL); }
int rename(const char *a, const char *b) { resolve(); return names(OP_RENAME, T_RENAME, a, b, NULL, real_rename); }
int link(const char *a, const char *b) { resolve(); return names(OP_LINK, T_LINK, a, b, NULL, real_link); }

/* ---- time ---- */
int clock_gettime(clockid_t c, struct timespec *ts) {
  resolve();
  int r = real_clock_gettime(c, ts);
  if (r == 0 && time_offset && (c == CLOCK_REALTIME || c == CLOCK_REALTIME_COARSE)) ts->tv_sec += time_offset;
  return r;
}
int gettimeofday(struct timeval *tv, void *tz) {
  resolve();
  int r = real_gettimeofday(tv, tz);
  if (r == 0 && time_offset) tv->tv_sec += time_offset;
  return r;
}
time_t time(time_t *t) { resolve(); time_t x = real_time(NULL) + time_offset; if (t) *t = x; return x; }
