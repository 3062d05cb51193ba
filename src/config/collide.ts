import type { Loose } from "./check.ts";
import type { ListenAddress } from "./listen.ts";

/** An address of which both parts could be read. */
export const complete = ({ host, port }: Loose<ListenAddress> = {}): ListenAddress | undefined =>
  host === undefined || port === undefined ? undefined : { host, port };

const EVERYWHERE: readonly string[] = ["0.0.0.0", "::"];

/** Whether two listeners would want one port. Port 0 is a new one each time. */
export function collide(one: ListenAddress, two: ListenAddress): boolean {
  if (one.port !== two.port || one.port === 0) return false;
  return one.host === two.host || EVERYWHERE.includes(one.host) || EVERYWHERE.includes(two.host);
}
