/** Aborts with the first Ctrl-C or SIGTERM: for what goes on until it is told to end. A second signal ends the process as usual. */
export function interrupted(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    controller.abort();
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  return controller.signal;
}
