/*
 * Cuts the power of a mounted file system: nothing that is not on its device by now gets there any more
 * (FS_IOC_SHUTDOWN with NOLOGFLUSH; ext4, XFS). Needs root.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

int main(int count, char **arguments) {
  uint32_t flags = 2;
  int folder = count == 2 ? open(arguments[1], O_RDONLY) : -1;
  if (folder < 0 || ioctl(folder, _IOR('X', 125, uint32_t), &flags) != 0) {
    perror("fscut");
    return 1;
  }
  return 0;
}
