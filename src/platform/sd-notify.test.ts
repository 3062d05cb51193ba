import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { notifyService } from "./sd-notify.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-notify-"));
afterAll(() => rm(root, { recursive: true, force: true }));

/** Node cannot listen on such a socket; where there is no python3, this is not tried. */
const LISTENER = `import socket, sys
name = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\\0" + name[1:] if name.startswith("@") else name)
print("bound", flush=True)
print(s.recv(100).decode(), flush=True)`;

const python = spawn("python3", ["-c", ""], { stdio: "ignore" });
const hasPython = await Promise.race([
  once(python, "exit").then(([code]) => code === 0),
  once(python, "error").then(() => false),
]);

test.skipIf(!hasPython || process.platform !== "linux").each([
  { name: "a path", socket: join(root, "notify") },
  { name: "an abstract name", socket: `@llmgw-notify-${String(process.pid)}` },
])("reaches the service manager at $name (skipped without python3)", async ({ socket }) => {
  const listener = spawn("python3", ["-c", LISTENER, socket], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  listener.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  const closed = once(listener, "close");
  await expect.poll(() => said, { timeout: 10_000 }).toBe("bound\n");
  expect(await notifyService("READY=1", { NOTIFY_SOCKET: socket })).toBe(true);
  await closed;
  expect(said).toBe("bound\nREADY=1\n");
});

test("nobody who wants to know is no fault", async () => {
  expect(await notifyService("READY=1", {})).toBe(false);
});

test("nobody who listens is no fault", async () => {
  expect(await notifyService("STOPPING=1", { NOTIFY_SOCKET: join(root, "nobody") })).toBe(false);
});
