// `node bin/llmgw …`, on whatever Node: hand over to the shell launcher, which finds the right one.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const launcher = fileURLToPath(new URL("../bin/llmgw", import.meta.url));
const argv = process.argv.slice(2);

if (typeof process.execve === "function") {
  process.execve("/bin/sh", ["sh", launcher, ...argv], process.env);
}

// An older Node cannot replace itself. The fourth channel tells the child when this process is gone, however it ended
// (see src/main.ts), so that `kill -9` of the pid that was started still ends the role.
const child = spawn("/bin/sh", [launcher, ...argv], {
  stdio: ["inherit", "inherit", "inherit", "ipc"],
  env: { ...process.env, LLMGW_LAUNCHER: String(process.pid) },
});
for (const signal of ["SIGTERM", "SIGHUP", "SIGUSR2"]) process.on(signal, () => child.kill(signal));
// A terminal sends Ctrl-C to the child as well; passing it on again would count as a second, hard one.
process.on("SIGINT", () => {
  if (!process.stdin.isTTY) child.kill("SIGINT");
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
