import type { Launch } from "../engine.ts";

/** Both take their words for it from the web server that they are built on. */
export const tlsArgs = ({ tls }: Pick<Launch, "tls">): readonly string[] =>
  tls === undefined ? [] : ["--ssl-certfile", tls.certFile, "--ssl-keyfile", tls.keyFile];
