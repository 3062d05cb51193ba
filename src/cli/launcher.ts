/**
 * An older Node cannot become this one, so it stays as our parent and holds a channel. The channel's end means that the
 * parent was killed; then this process has to go the same way, at once, as if the signal had been its own.
 */
export function dieWithLauncher(): void {
  if (process.env["LLMGW_LAUNCHER"] === undefined) return;
  delete process.env["LLMGW_LAUNCHER"];
  const die = (): void => {
    process.kill(process.pid, "SIGKILL");
  };
  // It may have been killed while this one was still loading.
  if (process.channel === undefined) die();
  process.on("disconnect", die);
  // A listener alone would keep a command alive that has done its work.
  process.channel?.unref();
}
