import { LlmgwError } from "../core/errors.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import { factsOf, isGoodFor, SERVER_AUTH } from "../pki/certificate.ts";
import { FollowedTls } from "../pki/follow.ts";

interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The certificate that a router shows to clients; files that are replaced are taken without a restart. Rejects with every
 * problem at once when they cannot be used. `where` is their key in the configuration.
 */
export async function followRouterTls(
  { cert, key }: { readonly cert: string; readonly key: string },
  where: string,
  { clock, logger }: Surroundings,
): Promise<FollowedTls> {
  const opened = await FollowedTls.open({ files: { cert, key }, where, clock, logger });
  if (!opened.ok) throw new LlmgwError("BAD_CONFIG", `the certificates cannot be used:\n${opened.error.join("\n")}`);
  if (isGoodFor(factsOf(opened.value.current.certificate), SERVER_AUTH)) return opened.value;
  opened.value.close();
  throw new LlmgwError(
    "BAD_CONFIG",
    `${where}.cert: ${cert} is no certificate for servers (extended key usage serverAuth is missing): \`llmgw ctl cert issue-server\` makes one`,
  );
}
