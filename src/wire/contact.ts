import type { Millis } from "../core/ids.ts";

/**
 * Whether the other end of a stream is still there. A connection whose packets go nowhere looks open for hours, and
 * writing to it succeeds: only what comes back proves anything. Both ends keep one. The times are those of a clock that
 * never steps.
 */
export interface Contact {
  /** How often the other end is to be heard. */
  readonly interval: Millis;
  readonly lastHeard: Millis;
  /** When this end last looked. */
  readonly lastLooked: Millis;
}

/** Two intervals of silence: one late answer is a hiccup. */
const SILENT_INTERVALS = 2;
/** A look that comes later than this was held up, and with it the reading of what has arrived. */
const LATE_INTERVALS = 1.5;

/** The stream was opened. */
export const newContact = (interval: Millis, now: Millis): Contact => ({ interval, lastHeard: now, lastLooked: now });

/** Something was received, whatever it was. */
export const heard = (contact: Contact, now: Millis): Contact => ({ ...contact, lastHeard: now });

export interface Look {
  readonly contact: Contact;
  /** The stream is to be closed. It says nothing about the other end but that it cannot be heard. */
  readonly halfOpen: boolean;
}

/**
 * To be asked several times an interval; a half-open stream is found that much after two intervals. An end that was itself
 * stopped for a while (SIGSTOP, a suspended machine) first gets the time to read what has arrived meanwhile.
 */
export function lookAt(contact: Contact, now: Millis): Look {
  const late = now - contact.lastLooked > LATE_INTERVALS * contact.interval;
  const silent = now - contact.lastHeard >= SILENT_INTERVALS * contact.interval;
  return { contact: { ...contact, lastLooked: now }, halfOpen: silent && !late };
}
