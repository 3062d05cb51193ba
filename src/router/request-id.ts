import { randomUUID } from "node:crypto";

const SANE_REQUEST_ID = /^[\w.-]{1,128}$/;

export const newRequestId = (): string => `req_${randomUUID()}`;

/** The client's own id when it can stand in a log line and a header, else a new one. */
export const requestIdOf = (given: string | readonly string[] | undefined): string =>
  typeof given === "string" && SANE_REQUEST_ID.test(given) ? given : newRequestId();
