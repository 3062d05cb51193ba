/** What the service manager is told of this process. */
export type ServiceWord = "READY=1" | "STOPPING=1";

const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 2 | 0x80000;
const MSG_NOSIGNAL = 0x4000;

/**
 * Tells systemd, when it started this process and wants to know (NOTIFY_SOCKET). Node has no datagram sockets of this kind, and
 * a helper process would have ended before systemd looks whose word it was. False: nobody wants to know, or nobody heard it.
 */
export async function notifyService(
  word: ServiceWord,
  env: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const path = env["NOTIFY_SOCKET"] ?? "";
  if (path === "" || process.platform !== "linux") return false;
  const { default: koffi } = await import("koffi");
  const libc = koffi.load("libc.so.6");
  const socket = libc.func("int socket(int domain, int type, int protocol)");
  const sendto = libc.func(
    "int64_t sendto(int fd, const void *data, size_t size, int flags, const void *address, uint32_t length)",
  );
  const close = libc.func("int close(int fd)");
  const fd = Number(socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0));
  if (fd < 0) return false;
  const data = Buffer.from(word);
  const address = socketAddress(path);
  const sent = Number(sendto(fd, data, data.length, MSG_NOSIGNAL, address, address.length));
  close(fd);
  return sent === data.length;
}

/** struct sockaddr_un; a name that begins with @ is an abstract one, which begins with a zero byte. */
function socketAddress(path: string): Buffer {
  const name = path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`;
  const family = Buffer.alloc(2);
  family.writeUInt16LE(AF_UNIX);
  return Buffer.concat([family, Buffer.from(name)]);
}
