import { lookAtSource } from "../agent/weights/look.ts";
import type { LookAtModel } from "../control/control-plane.ts";
import { millis } from "../core/ids.ts";
import { resolveEngine } from "../engines/list.ts";
import type { Clock } from "../platform/clock.ts";
import { createDownloader, type Downloader } from "../platform/fetch/download.ts";

/** A control plane asks once and soon gives up: the nodes that fetch the model are the ones that must be patient. */
const RETRY = { tries: 1, firstDelay: millis(0), maxDelay: millis(0) };
const IDLE = millis(3_000);

/** Asks models' sources by the same ways and with the same variables as the nodes do. */
export function modelLook(
  clock: Clock,
  env: Readonly<Record<string, string | undefined>>,
): { readonly look: LookAtModel; readonly downloader: Downloader } {
  const downloader = createDownloader({ env, clock, retry: RETRY, idleTimeout: IDLE });
  const look: LookAtModel = ({ model, engine }, signal) =>
    lookAtSource(model, {
      choose: (offered) => resolveEngine(engine, offered),
      context: { downloader, env },
      signal,
    });
  return { look, downloader };
}
