/*
 * An LD_PRELOAD library: a process that runs as if on a machine of its own, with another clock and another address.
 * `other-host.ts` builds it.
 *
 *   OH_CLOCK_S       optional: seconds to add to the wall clock; the monotonic one stays
 *   OH_ADDRESS       optional: the IPv4 address for connections to OH_PORT, so that a receiver can tell who sends
 *   OH_PORT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_gettimeofday)(struct timeval *, void *);
static int (*real_connect)(int, const struct sockaddr *, socklen_t);
static long clock_s;
static struct sockaddr_in own = {.sin_family = AF_INET};
static in_port_t port;

/* Other libraries may ask for the time before this one is initialised. */
static void resolve(void) {
  static int done;
  if (done) return;
  done = 1;
  real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  real_gettimeofday = dlsym(RTLD_NEXT, "gettimeofday");
  real_connect = dlsym(RTLD_NEXT, "connect");
  const char *s = getenv("OH_CLOCK_S"), *a = getenv("OH_ADDRESS"), *p = getenv("OH_PORT");
  if (s) clock_s = atol(s);
  if (a && p && inet_pton(AF_INET, a, &own.sin_addr) == 1) port = htons(atoi(p));
}

__attribute__((constructor)) static void init(void) { resolve(); }

int clock_gettime(clockid_t c, struct timespec *ts) {
  resolve();
  int r = real_clock_gettime(c, ts);
  if (r == 0 && (c == CLOCK_REALTIME || c == CLOCK_REALTIME_COARSE)) ts->tv_sec += clock_s;
  return r;
}

int gettimeofday(struct timeval *tv, void *tz) {
  resolve();
  int r = real_gettimeofday(tv, tz);
  if (r == 0) tv->tv_sec += clock_s;
  return r;
}

time_t time(time_t *t) {
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  if (t) *t = ts.tv_sec;
  return ts.tv_sec;
}

int connect(int fd, const struct sockaddr *to, socklen_t len) {
  resolve();
  if (port && to->sa_family == AF_INET && ((const struct sockaddr_in *)to)->sin_port == port) {
    /* The kernel chooses a port at connect(), when it knows both ends; otherwise ports would run out. */
    int yes = 1;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&own, sizeof own) != 0) return -1;
  }
  return real_connect(fd, to, len);
}
