import { millis } from "../core/ids.ts";
import { type Clock, pause } from "../platform/clock.ts";
import type { AdminClient } from "./client.ts";
import { lookAtProfile, type ProfileLook } from "./profile-look.ts";

/** Fast enough for a progress bar to look alive. */
const LOOK_EVERY = millis(250);

interface Following {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Looks at the profile again and again until the signal aborts or the caller has seen enough. */
export async function* followProfile(
  client: AdminClient,
  name: string,
  { clock, signal }: Following,
): AsyncGenerator<ProfileLook, undefined> {
  while (!signal.aborted) {
    const [{ profiles }, { replicas }] = await Promise.all([
      client.listProfiles({ name }, { signal }),
      client.listReplicas({ profile: name }, { signal }),
    ]);
    yield lookAtProfile(
      profiles.find((profile) => profile.name === name),
      replicas,
    );
    await pause(clock, LOOK_EVERY, signal);
  }
  return undefined;
}
